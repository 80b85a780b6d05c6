// compiled as: CL1.2 CL2.0 CL3.0
// Promotions, conversions and arithmetic of all types, without contraction so that floats come out the same.
#pragma OPENCL FP_CONTRACT OFF

kernel void promotions(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    char c = (char)in[i];
    uchar uc = (uchar)in[i];
    short s = (short)in[i];
    ushort us = (ushort)in[i];
    uint u = (uint)in[i];
    out[4 * i] = c + uc + s + us + (c < uc) + 2 * (in[i] < u) + 4 * (s < us) + 8 * (c == (char)uc);
    out[4 * i + 1] = (int)(c * 1000 + (u >> 3) - us);
    c += 100; uc -= 100; s *= 3; us <<= 2;
    out[4 * i + 2] = c ^ uc << 8 ^ s << 4 ^ us;
    out[4 * i + 3] = (int)((long)in[i] * in[i + 1] >> 7) + (int)((ulong)u * u >> 40);
}

kernel void divisions(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int a = in[i], b = in[i + 1] | 1;
    if (a == (-2147483647 - 1) && b == -1) b = 3;
    out[4 * i] = a / b * 3 + a % b;
    out[4 * i + 1] = (int)((uint)a / (uint)b + (uint)a % (uint)b);
    out[4 * i + 2] = (int)((long)a * 1000 / b + ((long)a << 20) % b) + (char)a / (char)(b | 1) + (short)a % (short)(b | 1);
    out[4 * i + 3] = a / 7 + a % 10 + (int)((uint)a / 7u) + (int)((uint)a % 1000u) + a / 16 + a % 16;
}

kernel void shifts(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int a = in[i], n = in[i + 1] & 31;
    out[4 * i] = (int)((uint)a << n) ^ a >> n;
    out[4 * i + 1] = (int)((uint)a >> n);
    out[4 * i + 2] = (int)((long)a >> (n + 16)) ^ (int)((ulong)(long)a >> (n + 20));
    out[4 * i + 3] = (char)(a << (n & 7)) + (uchar)((uchar)a >> (n & 7)) + ((short)a >> (n & 15));
}

kernel void floats(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    float a = (float)in[i], b = (float)in[i + 1] / 16.0f;
    float sum = a + b, product = a * b, quotient = a / (b * b + 1.0f);
    out[4 * i] = as_int(sum) ^ as_int(product);
    out[4 * i + 1] = (int)(quotient * 0.25f);
    out[4 * i + 2] = (a < b) + 2 * (a >= b) + 4 * (a == a) + 8 * (sum != product) + 16 * (!a) + 32 * (b != 0.0f);
    out[4 * i + 3] = as_int(-a) ^ as_int((float)(uint)in[i]) ^ as_int((float)((long)in[i] << 30));
}

kernel void doubles(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    double a = (double)in[i], b = (double)in[i + 1] / 3.0;
    double x = (a * b - a) / (b * b + 1.0);
    long bits = as_long(x);
    out[4 * i] = (int)bits;
    out[4 * i + 1] = (int)(bits >> 32);
    out[4 * i + 2] = (int)(float)x ^ (int)(long)(a * 0.5) ^ (int)(uint)(a < 0 ? -a : a);
    out[4 * i + 3] = as_int((float)b) + (a > b) + (int)(char)(b - (double)(long)b);
}

kernel void wide_integers(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    ulong x = (ulong)(uint)in[i] * 0x9e3779b97f4a7c15ul + (uint)in[i + 1];
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ul;
    x ^= x >> 32;
    long y = (long)x;
    out[4 * i] = (int)x;
    out[4 * i + 1] = (int)(x >> 32);
    out[4 * i + 2] = (int)(y / 1000003) + (int)(x % 1000003u);
    out[4 * i + 3] = (y < 0) + 2 * (y > (long)in[i]) + 4 * (x > (ulong)(uint)in[i]) + (int)(y % -77);
}

kernel void constants_of_the_language(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    out[4 * i] = 0x7fffffff ^ 0777 ^ 'A' ^ '\n' ^ (int)0x123456789abcdefL ^ in[i];
    out[4 * i + 1] = as_int(1.5e3f) ^ as_int(0x1.8p3f) ^ (int)1e9;
    out[4 * i + 2] = (int)sizeof(long) * 1000 + (int)sizeof(float3) * 100 + (int)sizeof(half) * 10 + (int)sizeof(size_t);
    out[4 * i + 3] = __OPENCL_C_VERSION__ > 0 && __LINE__ > 0;
}
