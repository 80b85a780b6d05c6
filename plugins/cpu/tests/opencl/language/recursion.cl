// compiled as: CL1.2 CL2.0 CL3.0
// Functions that call themselves, and each other. OpenCL C doesn't promise that it works; clang compiles it.

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

bool after(uint n, int *steps);
bool before(uint n, int *steps) {
    *steps += 1;
    if (n < 2) return n == 1;
    return n % 3 ? after(n - 1, steps) != before(n / 2, steps) : !after(n - 2, steps);
}
bool after(uint n, int *steps) {
    *steps += 10;
    return n == 0 || before(n - 1, steps) && !after(n / 3, steps);
}

struct state { int values[5]; char tag; };

struct state turn(struct state s, int n) {
    if (n == 0) return s;
    int keep[4];
    for (int j = 0; j < 4; j++) keep[j] = s.values[j] * n + j;
    s.values[n % 5] -= n;
    s.tag++;
    struct state t = turn(s, n - 1);
    t.values[(n + 1) % 5] += keep[n % 4] + s.values[n % 5];
    return t;
}

int branches(int n, int width) {
    int total = n;
    for (int j = 0; j < width; j++) {
        if ((n ^ j) & 1) total = total * 3 + (n > 0 ? branches(n - 1, width - (j & 1)) : j);
        else total -= j;
    }
    return total;
}

void hanoi(int n, int from, int to, int *moves) {
    if (n == 0) return;
    hanoi(n - 1, from, 6 - from - to, moves);
    moves[from] += to;
    moves[0]++;
    hanoi(n - 1, 6 - from - to, to, moves);
}

float4 halves(float4 v, int n) {
    if (n == 0) return v;
    float4 left = halves(v.yzwx * 0.5f, n - 1);
    return left + (n & 1 ? halves(v, n - 1) : v) * (float)n;
}

kernel void numbers(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int x = in[i] & 7;
    out[4 * i] = fibonacci(x + 5);
    out[4 * i + 1] = ackermann(x & 1, x + 3) + ackermann(2, x & 3);
    int steps = 0;
    out[4 * i + 2] = x & 2 ? before((uint)in[i + 1] & 31, &steps) : after((uint)in[i + 1] & 15, &steps);
    out[4 * i + 3] = steps;
}

kernel void frames(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    struct state s = {{in[i] & 255, in[i + 1] & 255, 3, 4, (int)i}, 'a'};
    struct state t = turn(s, in[i + 2] & 7);
    out[4 * i] = t.values[0] ^ t.values[1] << 8 ^ t.tag;
    out[4 * i + 1] = t.values[2] ^ t.values[3] << 4 ^ t.values[4] << 8;
    out[4 * i + 2] = s.values[1] + s.tag;
    int moves[4] = {0, 0, 0, 0};
    hanoi(in[i] & 3, 1, 3, moves);
    hanoi(in[i + 3] & 3, 2, 1, moves);
    out[4 * i + 3] = moves[0] + 100 * moves[1] + 10000 * moves[2] + 1000000 * moves[3];
}

kernel void loops(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int sum = 0;
    for (int n = 0; n < (in[i] & 3) + 1; n++) sum = sum * 7 + branches(n, (in[i + 1] & 1) + 2);
    out[4 * i] = sum;
    out[4 * i + 1] = branches(in[i + 2] & 3, 3);
    float4 v = halves((float4)(i, 1, 2, in[i] & 3), in[i + 1] & 3);
    out[4 * i + 2] = (int)(16 * (v.x + 2 * v.y));
    out[4 * i + 3] = (int)(16 * (v.z - v.w));
}
