// compiled as: CL3.0
// Calls by the addresses of functions. Clang 22 crashes on them where pointers are private if nothing else is said, and
// where they are stored.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef int (*unary)(int);
typedef unary (*chooser)(int);

int half_of(int x) { return x / 2; }
int next(int x) { return (x & 0xffff) + 1; }
int mixed(int x) { return x ^ 0x5a5a; }
__attribute__((noinline)) unary chosen(int n) { return n & 4 ? (n & 1 ? mixed : next) : half_of; }
__attribute__((noinline)) unary other(int n) { return n & 2 ? next : mixed; }

// Functions of other types are told apart by what they take.
float scaled(float x, int by) { return x * (by & 7); }
float shifted(float x, int by) { return x + (by & 63); }
void count(int *counter, const int *values) { *counter += values[0] & 15; }
void mark(int *counter, const int *values) { *counter |= values[1] & 0xff00; }

__attribute__((noinline)) int turned(unary first, int x, unary second) { return second(first(x)); }

struct pair { int a, b; };
struct pair swapped(struct pair p) { struct pair q = {p.b, p.a}; return q; }
struct pair doubled(struct pair p) { struct pair q = {(p.a & 0xffff) * 2, (p.b & 0xffff) * 2}; return q; }

int applied(unary f, int x, int times) {
    for (int j = 0; j < times; j++) x = f(x);
    return x;
}

kernel void differing(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int x = in[i];
    unary one = x & 1 ? half_of : next;
    chooser choose = x & 2 ? chosen : other;
    out[4 * i] = one(x);
    out[4 * i + 1] = choose(x)(in[i + 1]);
    out[4 * i + 2] = applied(choose(in[i + 2]), x, i & 7);
    out[4 * i + 3] = one == half_of;
}

kernel void signatures(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    out[4 * i] = turned(chosen(in[i + 1]), in[i], other(in[i + 4]));
    out[4 * i + 1] = turned(in[i] & 4 ? chosen(in[i + 2]) : other(in[i + 3]), in[i + 1], chosen(in[i]));
    int counter = in[i] & 0xffff;
    int values[2] = {in[i + 4], in[i + 5]};
    void (*change)(int *, const int *) = in[i] & 8 ? count : mark;
    change(&counter, values);
    out[4 * i + 2] = counter;
    float (*scale)(float, int) = in[i] & 16 ? scaled : shifted;
    out[4 * i + 3] = (int)scale((float)(in[i] & 1023), in[i + 1]);
}

kernel void structures(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    struct pair (*turn)(struct pair) = in[i] & 1 ? swapped : doubled;
    struct pair p = {in[i], in[i + 1]};
    p = turn(p);
    out[4 * i] = p.a;
    out[4 * i + 1] = p.b;
    p = (in[i + 2] & 1 ? doubled : turn)(p);
    out[4 * i + 2] = p.a;
    out[4 * i + 3] = p.b;
}
