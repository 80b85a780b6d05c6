// compiled as: CL1.2 CL2.0 CL3.0
// Functions: arguments and results of every kind, calls in loops, kernels that call kernels.

struct pair { int first; short second; };
struct big { int values[12]; float4 vector; };

struct pair swap(struct pair p) {
    struct pair r = {p.second, (short)p.first};
    return r;
}

struct big fill(int seed, float4 v) {
    struct big b;
    for (int j = 0; j < 12; j++) b.values[j] = seed * j;
    b.vector = v * 2.0f;
    return b;
}

int total(struct big b, int upto) {
    int sum = 0;
    for (int j = 0; j < upto; j++) sum += b.values[j];
    b.values[0] = 1000;
    return sum + (int)b.vector.w;
}

void change(int *x, const int by) { *x += by; }
void change_all(int *x, int n) { for (int j = 0; j < n; j++) change(x + j, j); }
float3 scale(float3 v, float by) { return v.zyx * by; }
char narrow(int x) { return (char)x; }
uchar unsigned_narrow(int x) { return (uchar)x; }
bool odd(int x);
bool even(int x) { return (x & 1) == 0 && !odd(x); }
bool odd(int x) { return (x & 1) != 0; }
long wide(int a, uint b) { return (long)a * b; }
static inline int constant_result(void) { return 42; }

int many(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i, bool j) {
    return a + b + c + d + e + (int)f + (int)g + (int)h + (int)i + j;
}

kernel void values(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    struct pair p = {in[i], (short)in[i + 1]};
    struct pair q = swap(swap(p));
    struct big b = fill(in[i] & 255, (float4)(1.0f, 2.0f, 3.0f, (float)(in[i] & 15)));
    out[4 * i] = q.first + 3 * q.second;
    out[4 * i + 1] = total(b, in[i] & 7) + b.values[0];
    out[4 * i + 2] = narrow(in[i]) + 1000 * unsigned_narrow(in[i]);
    out[4 * i + 3] = even(in[i]) * 2 + odd(in[i]) + constant_result();
}

kernel void pointers(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int a[6] = {in[i], in[i + 1], 3};
    change_all(a, 6);
    change(&a[in[i] & 3], 100);
    float3 v = scale((float3)(1.0f, 2.0f, (float)(in[i] & 255)), 4.0f);
    out[4 * i] = a[0] + 2 * a[1] + 4 * a[2] + 8 * a[3];
    out[4 * i + 1] = a[4] * 16 + a[5];
    out[4 * i + 2] = (int)v.x + (int)v.z * 10000;
    out[4 * i + 3] = (int)(wide(in[i], 0x90000000u) >> 16);
}

kernel void many_arguments(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int x = in[i];
    out[4 * i] = many((char)x, (uchar)x, (short)x, (ushort)x, x, (uint)x, x, (ulong)x, (float)(x & 1023), x & 1);
}

kernel void inner(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    out[4 * i] = in[i] ^ 0x55;
}

kernel void outer(global int *out, global const int *in) {
    inner(out, in);
    out[4 * get_global_id(0) + 1] = 7;
}

int gcd(int a, int b) {
    while (b) {
        int t = a % b;
        a = b;
        b = t;
    }
    return a;
}

uint power(uint base, uint exponent, uint modulus) {
    uint result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = (uint)((ulong)result * base % modulus);
        base = (uint)((ulong)base * base % modulus);
    }
    return result;
}

kernel void algorithms(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    out[4 * i] = gcd(in[i] & 0xffff, in[i + 1] & 0xffff);
    out[4 * i + 1] = (int)power((uint)in[i], (uint)in[i + 1] & 1023, 1000003);
    uint crc = 0xffffffffu;
    for (int j = 0; j < 4; j++) {
        crc ^= (uint)in[i + j] & 0xff;
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    out[4 * i + 2] = (int)~crc;
    int sieve[64], primes = 0;
    for (int j = 0; j < 64; j++) sieve[j] = j > 1;
    for (int j = 2; j < 8; j++) if (sieve[j]) for (int k = j * j; k < 64; k += j) sieve[k] = 0;
    for (int j = 0; j < (in[i] & 63); j++) primes += sieve[j];
    out[4 * i + 3] = primes;
}
