// What vectors of NEON are compared with the interpreter in: each kernel writes `out`, of which there is a word for each work-item.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

kernel void tail(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  if (i % 3 != 1)
    out[i] = in[i] * 2654435761u + n;
}

kernel void floats(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  float x = (int)in[i] * 0.001f, y = (int)in[(i + 1) % n] * 0.5f + 3.0f;
  out[i] = as_uint(x * y + 2.0f) ^ as_uint(sqrt(fabs(x))) ^ as_uint(floor(y) - rint(x)) ^ (x < y ? 1u : 2u);
}

kernel void doubles(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  double x = in[i], sum = 0;
  for (uint k = 0; k < in[i] % 13; ++k)
    sum += x / (k + 1.5);
  ulong bits = as_ulong(sum);
  out[i] = (uint)bits ^ (uint)(bits >> 32) ^ (uint)(long)(sum * 0.25);
}

kernel void gathered(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  uint sum = 0;
  for (uint k = 0; k < 4; ++k)
    sum += in[in[(i * 7 + k) % n] % n];
  out[n - 1 - i] = sum;
}

kernel void integers(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  uint x = in[i], y = in[(i + 5) % n] | 1;
  uint r = x / y + x % y + mul_hi(x, y) + popcount(x) + clz(y) + rotate(x, y);
  r += (uint)((int)x >> (y & 31)) + max((int)x, (int)y) + add_sat((int)x, (int)y) + abs_diff(x, y);
  ulong wide = (ulong)x * y + ((ulong)y << 33);
  r += (uint)(wide >> 7) + (uint)(wide % (x | 3));
  r += (uchar)x * (short)y + upsample((ushort)x, (ushort)y) + hadd((char)x, (char)y);
  out[i] = r;
}

kernel void ways(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  uint x = in[i];
  switch (x & 7) {
  case 0: x += 5; break;
  case 1: x ^= 0x55;
  case 2: x *= 3; break;
  case 5: while (x % 11) ++x; break;
  case 6: return;
  default: x = x > 1000 ? x - 1000 : ~x;
  }
  out[i] = x;
}

kernel void wide(global uint4 *out, global const uint4 *in, uint n) {
  size_t i = get_global_id(0);
  if (i < n / 4) {
    uint4 x = in[i];
    out[i] = x.wzyx + (uint4)(1, 2, 3, 4) * x.xxyy + convert_uint4(convert_float4(x >> 12) * 0.5f);
  }
}

kernel void turned(global uint *out, global const uint *in, uint n) {
  local uint room[64], sums[1];
  size_t i = get_local_id(0), size = get_local_size(0);
  room[i] = in[get_global_id(0)];
  if (i == 0)
    sums[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t step = 1; step < size; step *= 2) {
    uint other = i >= step ? room[i - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    room[i] += other;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  atomic_add((local int *)sums, (int)(room[size - 1 - i] & 1023));
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = room[size - 1 - i] ^ sums[0];
}

kernel void together(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  uint x = in[i];
  out[i] = sub_group_reduce_add(x) + sub_group_scan_inclusive_max(x) + sub_group_broadcast(x, 1) +
           (sub_group_any(x > 9) ? 1 : 0) + work_group_reduce_min(x);
}

kernel void counted(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  atomic_inc((global int *)out + in[i] % 16);
  atomic_max((global int *)out + 16 + in[i] % 4, (int)(in[i] >> 1));
}

kernel void halves(global uint *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  float x = vload_half(i, (global const half *)in) + 1.5f;
  vstore_half_rtz(x * 0.75f, i, (global half *)out);
}

kernel void functions(global float *out, global const uint *in, uint n) {
  size_t i = get_global_id(0);
  float x = (in[i] % 20000) * 0.001f + 0.01f;
  out[i] = exp(-x) + sin(x) * cos(x * 0.5f) + log(x) + pow(x, 1.25f) + tanh(x) + atan2(x, 3.0f) + erf(x);
}
