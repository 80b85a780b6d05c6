// What the kernels of bench/cpu don't use: collectives, generic pointers, atomics of all kinds, structs, printf.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle_relative : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_non_uniform_arithmetic : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_clustered_reduce : enable

#ifndef WARP
#define WARP 32
#endif
#define WARPS __attribute__((intel_reqd_sub_group_size(WARP)))

WARPS kernel void sub_groups(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  int x = in[i];
  global int *own = out + 12 * i;
  own[0] = sub_group_reduce_add(x);
  own[1] = sub_group_scan_inclusive_max(x);
  own[2] = sub_group_scan_exclusive_add(x);
  own[3] = sub_group_shuffle_xor(x, 5);
  own[4] = sub_group_broadcast(x, 3);
  own[5] = sub_group_all(x > 3) + 2 * sub_group_any(x > 90) + 4 * get_sub_group_local_id();
  uint4 votes = sub_group_ballot(x & 1);
  own[6] = votes.x;
  own[7] = sub_group_ballot_bit_count(votes) + 100 * sub_group_ballot_exclusive_scan(votes);
  own[8] = sub_group_clustered_reduce_add(x, 4);
  own[9] = get_sub_group_size() + 100 * get_sub_group_id() + 1000 * get_num_sub_groups();
  // Not by all of them.
  own[10] = 0, own[11] = 0;
  if (x % 3 == 1) {
    own[10] = sub_group_non_uniform_reduce_add(x);
    own[11] = sub_group_non_uniform_scan_exclusive_add(x) + (sub_group_elect() ? 1000 : 0);
  }
}

WARPS kernel void wide_words(global const long *in, global long *out) {
  size_t i = get_global_id(0);
  out[2 * i] = sub_group_reduce_add(in[i]);
  out[2 * i + 1] = sub_group_shuffle_xor(in[i], 1);
}

kernel void work_groups(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  global int *own = out + 4 * i;
  own[0] = work_group_reduce_add(in[i]);
  own[1] = work_group_scan_inclusive_add(in[i]);
  own[2] = work_group_broadcast(in[i], 2);
  own[3] = work_group_any(in[i] == 7) + 2 * work_group_all(in[i] >= 0);
}

int read_any(const int *p) { return *p; }

kernel void generic_pointers(global const int *in, global int *out, local int *room) {
  size_t i = get_global_id(0), l = get_local_id(0);
  int own = in[i] + 5;
  room[l] = in[i] * 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int *p = in[i] % 3 == 0 ? (const int *)(in + i) : in[i] % 3 == 1 ? (const int *)(room + l) : &own;
  int kind = to_global(p) ? 1 : to_local(p) ? 2 : to_private(p) ? 3 : 0;
  out[i] = read_any(p) * 10 + kind;
}

typedef struct { int first; float second; long third; char rest[5]; } Given;

kernel void structs(global const int *in, global int *out, int4 by, char small) {
  size_t i = get_global_id(0);
  Given given = {in[i], 1.5f, in[i] * 7l, {1, 2, 3, 4, 5}};
  int table[8];
  for (int k = 0; k < 8; ++k)
    table[k] = k * in[i];
  given.rest[in[i] & 3] += small;
  out[i] = given.first + (int)given.third + given.rest[in[i] % 5] + table[in[i] & 7] + by.x * by.w;
}

constant int squares[6] = {0, 1, 4, 9, 16, 25};
global int counter = 40;
global int *global leads = &counter;

kernel void program_scope(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  out[i] = squares[in[i] % 6] + *leads;
}

kernel void atomics(global int *sums, global float *most, global long *wide) {
  int i = get_global_id(0);
  atomic_add(&sums[0], i);
  atomic_max(&sums[1], i);
  atomic_xor(&sums[2], i * 77);
  atomic_fetch_add_explicit((global atomic_int *)&sums[3], 2, memory_order_relaxed, memory_scope_device);
  atomic_fetch_or_explicit((global atomic_int *)&sums[4], 1 << (i & 15), memory_order_acq_rel, memory_scope_work_group);
  int seen = atomic_load_explicit((global atomic_int *)&sums[5], memory_order_acquire, memory_scope_device);
  while (!atomic_compare_exchange_weak((global atomic_int *)&sums[5], &seen, seen + i))
    ;
  if (i == 0)
    atomic_store_explicit((global atomic_int *)&sums[6], 9, memory_order_release, memory_scope_all_svm_devices);
  atom_add(&wide[0], (long)i << 30);
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
  if (i == 0)
    *most = 1;
}

kernel void mathematics(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  float x = in[i] * 0.01f, whole;
  int exponent;
  global float *own = out + 8 * i;
  own[0] = sin(x) + cos(x) * tan(x);
  own[1] = exp(x) + log(x + 2) + pow(x + 1, 1.5f);
  own[2] = atan2(x, 3.0f) + tanh(x) + erf(x);
  own[3] = fmod(x, 0.7f) + remainder(x, 0.3f) + fract(x, &whole) + whole;
  own[4] = frexp(x, &exponent) + exponent + ldexp(x, 3) + hypot(x, 2.0f) + cbrt(x);
  own[5] = rint(x) + round(x) + floor(x) + ceil(x) + trunc(x);
  own[6] = native_exp(x) + half_sqrt(x) + rsqrt(x + 1) + sinh(x) + expm1(x);
  own[7] = (float)(exp((double)x) + sqrt((double)x + 1)) + convert_int_sat_rte(x * 1e3f) % 97;
}

kernel void native_mathematics(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  float x = in[i] * 0.04f;
  global float *own = out + 8 * i;
  own[0] = native_exp(x) + native_log(x);
  own[1] = native_exp2(x) + native_log2(x);
  own[2] = native_exp10(x) + native_log10(x);
  own[3] = native_sin(x) - 2 * native_cos(x);
  own[4] = native_tan(x);
  own[5] = native_powr(x, 1.5f) + native_divide(x, 3.0f);
  own[6] = native_sqrt(x) + native_rsqrt(x);
  own[7] = native_recip(x) + rsqrt(x) + half_rsqrt(x + 1);
}

kernel void conversions(global const int *in, global int *out) {
  size_t i = get_global_id(0);
  int x = in[i];
  char4 bytes = as_char4(x * 0x01030507);
  short2 halves = convert_short2_sat((int2)(x * 4000, -x * 5000));
  ulong wide = mul_hi((ulong)x * 0x123456789abcdefUL, 0xfedcba987654321UL);
  out[4 * i] = bytes.x + bytes.y * 3 + bytes.z * 5 + bytes.w * 7 + popcount(x) + clz(x) + rotate(x, 5);
  out[4 * i + 1] = halves.x + halves.y + mad24(x, 3, 4) + abs_diff(x, 50) + hadd(x, 7);
  out[4 * i + 2] = (int)(wide >> 32) ^ (int)wide;
  out[4 * i + 3] = x / 7 + x % 5 + (uint)x / 9u + (x << (x & 31)) + bitselect(x, 0x55, 0xf0);
}

kernel void places(global uint *out) {
  size_t line = get_group_id(1) * get_local_size(1) + get_local_id(1);
  size_t column = get_group_id(0) * get_local_size(0) + get_local_id(0);
  global uint *own = out + 6 * (line * get_global_size(0) + column);
  own[0] = get_global_id(0) + 1000 * get_global_id(1) + 1000000 * get_global_id(2);
  own[1] = get_global_offset(0) + 1000 * get_global_offset(1) + 1000000 * get_global_offset(2);
  own[2] = get_global_size(0) + 1000 * get_global_size(1) + 1000000 * get_global_size(2);
  own[3] = get_num_groups(0) + 1000 * get_num_groups(1) + 1000000 * get_num_groups(2);
  own[4] = get_global_linear_id() + 1000000 * get_local_linear_id();
  own[5] = get_work_dim();
}

// Loops that count in 64 bits: what 32 suffice for, and what they do not.
kernel void counters(global const int *in, global long *out) {
  size_t i = get_global_id(0), size = get_local_size(0);
  long n = in[i], sums[10] = {0};
  ulong edge = 0x100000000ul;
  for (long k = 0; k < n; ++k)
    sums[0] += in[k & 31] * k;
  for (long k = n; k > 0; --k)
    sums[1] += in[k & 31] * k;
  for (long k = n; k >= 0; k -= 3)
    sums[2] += in[k & 31] * k;
  for (long k = -n; k < n; k += 2)
    sums[3] += in[k & 31] * k;
  for (ulong k = edge - n; k < edge + n; k += 7)
    sums[4] += in[k & 31] ^ k;
  for (ulong k = edge + n; k > edge - n; k -= 5)
    sums[5] += in[k & 31] ^ k;
  for (size_t k = size; k > 0; k /= 2)
    sums[6] += in[k & 31] * k;
  for (size_t k = 1; k < size * n; k *= 2)
    sums[7] += in[k & 31] * k;
  for (size_t k = n, other = 1; k != 0; --k, other = other * 3 + k)
    sums[8] += in[k & 31] ^ other;
  for (size_t k = 0, other = edge - 1; k < n; ++k, other = k & 1 ? other + n : other - n)
    sums[9] += in[k & 31] ^ other;
  for (int k = 0; k < 10; ++k)
    out[10 * i + k] = sums[k];
}

kernel void gammas(global float *x, global double *y, global int *signs) {
  size_t i = get_global_id(0);
  int sign, other;
  x[i] = tgamma(x[i]) + lgamma_r(x[i], &sign);
  y[i] = tgamma(y[i]) + lgamma(y[i]) + lgamma_r(-y[i], &other);
  signs[i] = sign + 4 * other;
}

// Last: behind it clang 22 fails with an error in its back end.
#ifndef NO_PRINTF
kernel void prints(global const int *in) {
  size_t i = get_global_id(0);
  if (i < 2)
    printf("%d %5.2v4f %s %x %c%c%c%d 100%%\n", in[i], (float4)(in[i], 0.5f, -1, 2), "text", in[i] * 1000, 'a' + in[i] % 20, (char)'b', 'c', -5);
}
#endif
