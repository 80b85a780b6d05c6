// compiled as: CL1.2 CL2.0 CL3.0
// Vector types: literals, operators, components, comparisons, casts.
#pragma OPENCL FP_CONTRACT OFF

kernel void operators(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int4 a = (int4)(in[i], in[i + 1], in[i + 2], in[i + 3]), b = a.wzyx;
    int4 c = (a + b * 3) ^ (a >> 3) | ~b & (a << (int4)(1, 2, 3, 4));
    c -= a / (b & 0xffff | 1) + a % (int4)7;
    out[4 * i] = c.x;
    out[4 * i + 1] = c.y;
    out[4 * i + 2] = c.z;
    out[4 * i + 3] = c.w;
}

kernel void comparisons(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int4 a = (int4)(in[i], in[i + 1], in[i + 2], in[i + 3]), b = a.yzwx;
    int4 less = a < b, equal = (a & 3) == (b & 3);
    int4 chosen = less ? a : b;
    int4 logic = (less && equal) || !a;
    float4 f = (float4)((float)in[i]), g = (float4)(1.0f, -1.0f, 1e9f, 0.0f);
    int4 greater = f >= g;
    out[4 * i] = less.x + equal.y * 2 + logic.z * 4;
    out[4 * i + 1] = chosen.x ^ chosen.y ^ chosen.z ^ chosen.w;
    out[4 * i + 2] = greater.x + greater.y * 2 + greater.z * 4 + greater.w * 8;
    char3 small = (char3)((char)in[i]);
    char3 mask = small > (char3)(1, 2, 3);
    out[4 * i + 3] = mask.x + mask.y * 2 + mask.z * 4;
}

kernel void components(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    short8 v = (short8)((short4)((short)in[i], 1, 2, 3), (short2)(4, (short)in[i + 1]), 6, 7);
    v.s07 = v.s70;
    v.odd = v.even + (short)1;
    v.lo.hi = v.hi.lo;
    short4 w = v.s0246;
    w.xw += (short2)(10, 20);
    v[in[i] & 7] = -1;
    int sum = 0;
    for (int j = 0; j < 8; j++) sum = sum * 5 + v[j];
    out[4 * i] = sum;
    out[4 * i + 1] = w.x * 1000 + w.w;
    out[4 * i + 2] = v.s3 + v.S5 * 3 + w.z;
    uchar16 bytes = (uchar16)(in[i] & 255);
    bytes.s5 = 9;
    bytes.sABCD = bytes.s0123 + bytes.s5555;
    out[4 * i + 3] = bytes.sA + bytes.sf * 256 + bytes.sD * 65536;
}

kernel void arrays_of_vectors(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    float3 points[4];
    for (int j = 0; j < 4; j++) points[j] = (float3)((float)(in[i + j] & 255), (float)j, 0.5f);
    float3 sum = (float3)0.0f;
    for (int j = 0; j < (in[i] & 3) + 1; j++) sum += points[j] * points[3 - j].zxy;
    out[4 * i] = (int)sum.x;
    out[4 * i + 1] = (int)sum.y;
    out[4 * i + 2] = (int)(sum.z * 2.0f);
    int2 pairs[2] = {(int2)(1, in[i]), (int2)(in[i + 1])};
    pairs[in[i] & 1].x = 77;
    int2 *p = &pairs[in[i + 1] & 1];
    p->y += 3;
    out[4 * i + 3] = pairs[0].x + pairs[0].y * 2 + pairs[1].x * 3 + pairs[1].y * 4;
}

kernel void memory(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    global int4 *target = (global int4 *)out;
    const global int2 *source = (const global int2 *)in;
    int2 pair = source[i / 2];
    target[i] = (int4)(pair, pair.yx);
    target[i].z ^= 0xff;
    ((global uchar4 *)(out + 4 * i))[1].w = 5;
}

kernel void reinterpretation(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    uchar4 bytes = as_uchar4(in[i]);
    short2 halves = as_short2(bytes.wzyx);
    out[4 * i] = as_int(halves.yx);
    out[4 * i + 1] = (int)(as_long((int2)(in[i], in[i + 1])) >> 12);
    out[4 * i + 2] = as_int3((float4)(1.0f, 2.0f, 3.0f, 4.0f)).z;
    out[4 * i + 3] = as_int(as_float(in[i] & 0x7f7fffff));
}
