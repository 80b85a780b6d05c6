// What the tests launch.
kernel void add(int n, global int *p) { p[get_global_id(0)] += n; }

kernel void put(int n, global int *p) { p[get_global_id(0)] = n; }

kernel void saxpy(float a, global const float *x, global float *y) {
  size_t i = get_global_id(0);
  y[i] += a * x[i];
}

kernel void sum(global const float *x, global float *out, local float *scratch) {
  size_t i = get_local_id(0);
  scratch[i] = x[get_global_id(0)];
  for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < step) scratch[i] += scratch[i + step];
  }
  if (i == 0) out[get_group_id(0)] = scratch[0];
}

kernel void ids(global uint *out) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  out[(z * 4 + y) * 4 + x] = 1 + get_group_id(0) + 10 * get_local_id(1) + 100 * get_work_dim();
}

kernel void follow(global ulong *list) { *(global int *)list[0] += 1; }
