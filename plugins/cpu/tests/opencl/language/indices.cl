// compiled as: CL1.2 CL3.0
// Indices of 32 bits, some of which wrap between neighbours: the address of a vector of items is none of its first then.

kernel void before(global int *out, global const int *in) {
    uint i = get_global_id(0);
    uint left = i - 1;
    if (i > 0) out[4 * i] = in[left];
    if (i > 5) out[4 * i + 1] = in[i - 6u] + in[left];
}

kernel void around(global int *out, global const int *in) {
    uint i = get_global_id(0);
    if (i > 1) {
        global const int *place = in + (size_t)(i - 2u);
        out[4 * i] = place[in[i] & 1];
        out[4 * i + 2] = place[1];
    }
}

kernel void backwards(global int *out, global const int *in) {
    int i = get_global_id(0);
    int last = 63;
    out[4 * (last - i)] = in[i];
    out[4 * (last - i) + 3] = in[2 * i & 63];
}

kernel void far_away(global int *out, global const int *in) {
    uint i = get_global_id(0);
    uint wrapped = i + 0xfffffff8u;
    if (wrapped < 64) out[4 * i] = in[wrapped];
    else out[4 * i + 1] = in[i * 0x10000001u & 63];
}

kernel void widened(global int *out, global const int *in) {
    uint i = get_global_id(0);
    uint left = i - 4;
    ulong wide = left;
    out[4 * i] = (int)(wide >> 8);
    out[4 * i + 1] = (int)(wide >> 32);
    out[4 * i + 2] = (int)((long)(int)left >> 16);
    out[4 * i + 3] = wide > 0xffffffffu;
}
