// The kernels that `./dev bench cpu` runs on every driver; `../cpu.py` says with what.

kernel void empty(void) {}

kernel void vector_add(global const float *a, global const float *b, global float *c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}

kernel void saxpy(float a, global const float *x, global float *y, int count) {
  int i = get_global_id(0);
  if (i < count)
    y[i] = a * x[i] + 1.0f;
}

kernel void stencil(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1), i = y * width + x;
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

kernel void gather(global const int *index, global const float *from, global float *to) {
  size_t i = get_global_id(0);
  to[i] = from[index[i]];
}

kernel void matrix_naive(global const float *a, global const float *b, global float *c, int n) {
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

#define TILE 16
kernel void matrix_tiled(global const float *a, global const float *b, global float *c, int n) {
  local float left[TILE][TILE], right[TILE][TILE];
  int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int tile = 0; tile < n; tile += TILE) {
    left[y][x] = a[row * n + tile + x];
    right[y][x] = b[(tile + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k)
      sum += left[y][k] * right[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void transpose(global const float *in, global float *out, int width, int height) {
  local float tile[TILE][TILE + 1];
  int x = get_local_id(0), y = get_local_id(1), column = get_group_id(0) * TILE, row = get_group_id(1) * TILE;
  tile[y][x] = in[(row + y) * width + column + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(column + y) * height + row + x] = tile[x][y];
}

float4 pull(float4 on, float4 by, float4 so_far) {
  float3 way = by.xyz - on.xyz;
  float distance = dot(way, way) + 0.01f, inverse = rsqrt(distance);
  so_far.xyz += way * (by.w * inverse * inverse * inverse);
  return so_far;
}

kernel void bodies(global const float4 *place, global float4 *force, int count) {
  size_t i = get_global_id(0);
  float4 own = place[i], sum = 0;
  for (int k = 0; k < count; ++k)
    sum = pull(own, place[k], sum);
  force[i] = sum;
}

kernel void bodies_tiled(global const float4 *place, global float4 *force, int count, local float4 *tile) {
  size_t i = get_global_id(0), own_index = get_local_id(0), size = get_local_size(0);
  float4 own = place[i], sum = 0;
  for (int first = 0; first < count; first += size) {
    tile[own_index] = place[first + own_index];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < size; ++k)
      sum = pull(own, tile[k], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  force[i] = sum;
}

float normal(float x) {
  float k = 1 / (1 + 0.2316419f * fabs(x));
  float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * exp(-0.5f * x * x) * sum;
  return x < 0 ? tail : 1 - tail;
}

kernel void options(global const float *price, global const float *strike, global const float *years,
                    global float *call) {
  size_t i = get_global_id(0);
  float s = price[i], k = strike[i], t = years[i], rate = 0.02f, spread = 0.3f * sqrt(t);
  float first = (log(s / k) + (rate + 0.045f) * t) / spread;
  call[i] = s * normal(first) - k * exp(-rate * t) * normal(first - spread);
}

kernel void waves(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  out[i] = sin(in[i]) * cos(3 * in[i]);
}

kernel void mandelbrot(global int *out, int width, int height, int most) {
  int column = get_global_id(0), row = get_global_id(1), round = 0;
  float cx = 3.0f * column / width - 2.0f, cy = 2.0f * row / height - 1.0f, x = 0, y = 0;
  while (round < most && x * x + y * y < 4) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++round;
  }
  out[row * width + column] = round;
}

kernel void reduce(global const float *in, global float *out, local float *part) {
  size_t own = get_local_id(0);
  part[own] = in[get_global_id(0)];
  for (size_t half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (own < half_size)
      part[own] += part[own + half_size];
  }
  if (own == 0)
    out[get_group_id(0)] = part[0];
}

kernel void scan(global const float *in, global float *out, local float *part) {
  size_t own = get_local_id(0), size = get_local_size(0);
  part[own] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t distance = 1; distance < size; distance *= 2) {
    float before = own >= distance ? part[own - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    part[own] += before;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = part[own];
}

#define BINS 256
kernel void histogram(global const int *in, global int *bins) { atomic_inc(&bins[in[get_global_id(0)]]); }

kernel void histogram_local(global const int *in, global int *bins, int each) {
  local int own[BINS];
  int item = get_local_id(0), size = get_local_size(0), first = get_group_id(0) * size * each;
  for (int bin = item; bin < BINS; bin += size)
    own[bin] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < each; ++k)
    atomic_inc(&own[in[first + k * size + item]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int bin = item; bin < BINS; bin += size)
    atomic_add(&bins[bin], own[bin]);
}

kernel void sort_step(global const int *in, global int *out, int distance, int run) {
  int i = get_global_id(0), other = i ^ distance;
  int own = in[i], that = in[other];
  bool is_low = (i & distance) == 0, goes_up = (i & run) == 0;
  out[i] = is_low == goes_up ? min(own, that) : max(own, that);
}

kernel void sparse(global const int *first, global const int *column, global const float *value,
                   global const float *x, global float *y) {
  size_t row = get_global_id(0);
  float sum = 0;
  for (int k = first[row]; k < first[row + 1]; ++k)
    sum += value[k] * x[column[k]];
  y[row] = sum;
}

kernel void fourier_step(global const float2 *in, global float2 *out, int half_size) {
  int i = get_global_id(0), k = i & (half_size - 1), left = 2 * i - k, right = left + half_size;
  float angle = -3.14159265f * k / half_size;
  float2 turn = (float2)(native_cos(angle), native_sin(angle)), a = in[left], b = in[right];
  float2 turned = (float2)(turn.x * b.x - turn.y * b.y, turn.x * b.y + turn.y * b.x);
  out[left] = a + turned;
  out[right] = a - turned;
}

#define RADIUS 3
kernel void convolve(global const float *in, constant float *weight, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < RADIUS || y < RADIUS || x >= width - RADIUS || y >= height - RADIUS)
    return;
  float sum = 0;
  for (int dy = -RADIUS; dy <= RADIUS; ++dy)
    for (int dx = -RADIUS; dx <= RADIUS; ++dx)
      sum += weight[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS] * in[(y + dy) * width + x + dx];
  out[y * width + x] = sum;
}

kernel void mix_bits(global const int *in, global int *out, int rounds) {
  uint x = in[get_global_id(0)];
  for (int k = 0; k < rounds; ++k) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[get_global_id(0)] = x;
}

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void polynomial_f64(global const double *in, global double *out) {
  double x = in[get_global_id(0)], sum = 0;
  for (int k = 0; k < 64; ++k)
    sum = sum * x + 0.5;
  out[get_global_id(0)] = sum;
}

kernel void exp_f64(global const double *in, global double *out) {
  out[get_global_id(0)] = exp(in[get_global_id(0)]);
}
#endif

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void saxpy_f16(global const half *x, global half *y) {
  size_t i = get_global_id(0);
  y[i] = (half)1.5f * x[i] + (half)1.0f;
}
#endif

#if defined(__opencl_c_subgroups) || defined(cl_khr_subgroups)
kernel void reduce_sub_groups(global const float *in, global float *out, local float *part) {
  float sum = sub_group_reduce_add(in[get_global_id(0)]);
  if (get_sub_group_local_id() == 0)
    part[get_sub_group_id()] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    float all = 0;
    for (uint k = 0; k < get_num_sub_groups(); ++k)
      all += part[k];
    out[get_group_id(0)] = all;
  }
}
#endif
