// An app: kernels that call functions they only declare.
#include "library.h"

#define TILE 16

// y = a x + y
kernel void saxpy(float a, global const float *x, global float *y) {
  size_t i = get_global_id(0);
  y[i] = axpy(a, x[i], y[i]);
}

// c = a b, all n by n and row by row, in tiles that the work-group shares: n must be a multiple
// of TILE and the work-group TILE by TILE.
kernel void __attribute__((reqd_work_group_size(TILE, TILE, 1)))
matmul(uint n, global const float *a, global const float *b, global float *c) {
  local float a_tile[TILE][TILE];
  local float b_tile[TILE][TILE];
  size_t row = get_global_id(1), column = get_global_id(0);
  size_t r = get_local_id(1), k = get_local_id(0);
  float sum = 0;
  for (uint tile = 0; tile < n; tile += TILE) {
    a_tile[r][k] = a[row * n + tile + k];
    b_tile[r][k] = b[(tile + r) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; ++i)
      sum = multiply_add(a_tile[r][i], b_tile[i][k], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

// One number for each work-group: all of its elements combined. The work-group's size is a power
// of two, and `scratch` holds a float for each of its work-items.
kernel void reduce(global const float *x, global float *partial, local float *scratch) {
  size_t l = get_local_id(0);
  scratch[l] = x[get_global_id(0)];
  for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < stride)
      scratch[l] = combine(scratch[l], scratch[l + stride]);
  }
  if (l == 0)
    partial[get_group_id(0)] = scratch[0];
}
