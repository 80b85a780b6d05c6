// The kernels of ../cpu/kernels.cl as they are written in CUDA: the same algorithms, names and arguments. `nvcc -O3` of it is
// what the code that offkit makes of SPIR-V is measured beside.
//
// Local memory that is an argument there is the launch's dynamic shared memory here. The pointers there are not `restrict`,
// which tells a compiler more: -DRESTRICT=__restrict__ makes them so here.
#include <cuda_fp16.h>

#ifndef RESTRICT
#define RESTRICT
#endif

#define KERNEL extern "C" __global__ void

static __device__ int global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ int global_id_y() { return blockIdx.y * blockDim.y + threadIdx.y; }

KERNEL empty() {}

KERNEL vector_add(const float *RESTRICT a, const float *RESTRICT b, float *RESTRICT c) {
  size_t i = global_id();
  c[i] = a[i] + b[i];
}

KERNEL saxpy(float a, const float *RESTRICT x, float *RESTRICT y, int count) {
  int i = global_id();
  if (i < count)
    y[i] = a * x[i] + 1.0f;
}

KERNEL stencil(const float *RESTRICT in, float *RESTRICT out, int width, int height) {
  int x = global_id(), y = global_id_y(), i = y * width + x;
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

KERNEL gather(const int *RESTRICT index, const float *RESTRICT from, float *RESTRICT to) {
  size_t i = global_id();
  to[i] = from[index[i]];
}

KERNEL matrix_naive(const float *RESTRICT a, const float *RESTRICT b, float *RESTRICT c, int n) {
  int column = global_id(), row = global_id_y();
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

#define TILE 16
KERNEL matrix_tiled(const float *RESTRICT a, const float *RESTRICT b, float *RESTRICT c, int n) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, column = global_id(), row = global_id_y();
  float sum = 0;
  for (int tile = 0; tile < n; tile += TILE) {
    left[y][x] = a[row * n + tile + x];
    right[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; ++k)
      sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

KERNEL transpose(const float *RESTRICT in, float *RESTRICT out, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE, row = blockIdx.y * TILE;
  tile[y][x] = in[(row + y) * width + column + x];
  __syncthreads();
  out[(column + y) * height + row + x] = tile[x][y];
}

static __device__ float4 pull(float4 on, float4 by, float4 so_far) {
  float x = by.x - on.x, y = by.y - on.y, z = by.z - on.z;
  float distance = x * x + y * y + z * z + 0.01f, inverse = rsqrtf(distance);
  float force = by.w * inverse * inverse * inverse;
  so_far.x += x * force;
  so_far.y += y * force;
  so_far.z += z * force;
  return so_far;
}

KERNEL bodies(const float4 *RESTRICT place, float4 *RESTRICT force, int count) {
  size_t i = global_id();
  float4 own = place[i], sum = make_float4(0, 0, 0, 0);
  for (int k = 0; k < count; ++k)
    sum = pull(own, place[k], sum);
  force[i] = sum;
}

KERNEL bodies_tiled(const float4 *RESTRICT place, float4 *RESTRICT force, int count) {
  extern __shared__ float4 bodies_tile[];
  int i = global_id(), own_index = threadIdx.x, size = blockDim.x;
  float4 own = place[i], sum = make_float4(0, 0, 0, 0);
  for (int first = 0; first < count; first += size) {
    bodies_tile[own_index] = place[first + own_index];
    __syncthreads();
    for (int k = 0; k < size; ++k)
      sum = pull(own, bodies_tile[k], sum);
    __syncthreads();
  }
  force[i] = sum;
}

static __device__ float normal(float x) {
  float k = 1 / (1 + 0.2316419f * fabsf(x));
  float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * expf(-0.5f * x * x) * sum;
  return x < 0 ? tail : 1 - tail;
}

KERNEL options(const float *RESTRICT price, const float *RESTRICT strike, const float *RESTRICT years,
               float *RESTRICT call) {
  size_t i = global_id();
  float s = price[i], k = strike[i], t = years[i], rate = 0.02f, spread = 0.3f * sqrtf(t);
  float first = (logf(s / k) + (rate + 0.045f) * t) / spread;
  call[i] = s * normal(first) - k * expf(-rate * t) * normal(first - spread);
}

KERNEL waves(const float *RESTRICT in, float *RESTRICT out) {
  size_t i = global_id();
  out[i] = sinf(in[i]) * cosf(3 * in[i]);
}

KERNEL mandelbrot(int *RESTRICT out, int width, int height, int most) {
  int column = global_id(), row = global_id_y(), round = 0;
  float cx = 3.0f * column / width - 2.0f, cy = 2.0f * row / height - 1.0f, x = 0, y = 0;
  while (round < most && x * x + y * y < 4) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++round;
  }
  out[row * width + column] = round;
}

KERNEL reduce(const float *RESTRICT in, float *RESTRICT out) {
  extern __shared__ float part[];
  int own = threadIdx.x;
  part[own] = in[global_id()];
  for (int half_size = blockDim.x / 2; half_size > 0; half_size /= 2) {
    __syncthreads();
    if (own < half_size)
      part[own] += part[own + half_size];
  }
  if (own == 0)
    out[blockIdx.x] = part[0];
}

KERNEL scan(const float *RESTRICT in, float *RESTRICT out) {
  extern __shared__ float part[];
  int own = threadIdx.x, size = blockDim.x;
  part[own] = in[global_id()];
  __syncthreads();
  for (int distance = 1; distance < size; distance *= 2) {
    float before = own >= distance ? part[own - distance] : 0;
    __syncthreads();
    part[own] += before;
    __syncthreads();
  }
  out[global_id()] = part[own];
}

#define BINS 256
KERNEL histogram(const int *RESTRICT in, int *bins) { atomicAdd(&bins[in[global_id()]], 1); }

KERNEL histogram_local(const int *RESTRICT in, int *bins, int each) {
  __shared__ int own[BINS];
  int item = threadIdx.x, size = blockDim.x, first = blockIdx.x * size * each;
  for (int bin = item; bin < BINS; bin += size)
    own[bin] = 0;
  __syncthreads();
  for (int k = 0; k < each; ++k)
    atomicAdd(&own[in[first + k * size + item]], 1);
  __syncthreads();
  for (int bin = item; bin < BINS; bin += size)
    atomicAdd(&bins[bin], own[bin]);
}

KERNEL sort_step(const int *RESTRICT in, int *RESTRICT out, int distance, int run) {
  int i = global_id(), other = i ^ distance;
  int own = in[i], that = in[other];
  bool is_low = (i & distance) == 0, goes_up = (i & run) == 0;
  out[i] = is_low == goes_up ? min(own, that) : max(own, that);
}

KERNEL sparse(const int *RESTRICT first, const int *RESTRICT column, const float *RESTRICT value,
              const float *RESTRICT x, float *RESTRICT y) {
  size_t row = global_id();
  float sum = 0;
  for (int k = first[row]; k < first[row + 1]; ++k)
    sum += value[k] * x[column[k]];
  y[row] = sum;
}

KERNEL fourier_step(const float2 *RESTRICT in, float2 *RESTRICT out, int half_size) {
  int i = global_id(), k = i & (half_size - 1), left = 2 * i - k, right = left + half_size;
  float angle = -3.14159265f * k / half_size;
  float2 turn = make_float2(__cosf(angle), __sinf(angle)), a = in[left], b = in[right];
  float2 turned = make_float2(turn.x * b.x - turn.y * b.y, turn.x * b.y + turn.y * b.x);
  out[left] = make_float2(a.x + turned.x, a.y + turned.y);
  out[right] = make_float2(a.x - turned.x, a.y - turned.y);
}

#define RADIUS 3
KERNEL convolve(const float *RESTRICT in, const float *RESTRICT weight, float *RESTRICT out, int width,
                int height) {
  int x = global_id(), y = global_id_y();
  if (x < RADIUS || y < RADIUS || x >= width - RADIUS || y >= height - RADIUS)
    return;
  float sum = 0;
  for (int dy = -RADIUS; dy <= RADIUS; ++dy)
    for (int dx = -RADIUS; dx <= RADIUS; ++dx)
      sum += weight[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS] * in[(y + dy) * width + x + dx];
  out[y * width + x] = sum;
}

KERNEL mix_bits(const int *RESTRICT in, int *RESTRICT out, int rounds) {
  unsigned x = in[global_id()];
  for (int k = 0; k < rounds; ++k) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[global_id()] = x;
}

KERNEL polynomial_f64(const double *RESTRICT in, double *RESTRICT out) {
  double x = in[global_id()], sum = 0;
  for (int k = 0; k < 64; ++k)
    sum = sum * x + 0.5;
  out[global_id()] = sum;
}

KERNEL exp_f64(const double *RESTRICT in, double *RESTRICT out) { out[global_id()] = exp(in[global_id()]); }

KERNEL saxpy_f16(const __half *RESTRICT x, __half *RESTRICT y) {
  size_t i = global_id();
  y[i] = __float2half(1.5f) * x[i] + __float2half(1.0f);
}

static __device__ float warp_sum(float value) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffff, value, distance);
  return value;
}

KERNEL reduce_sub_groups(const float *RESTRICT in, float *RESTRICT out) {
  extern __shared__ float part[];
  float sum = warp_sum(in[global_id()]);
  if (threadIdx.x % warpSize == 0)
    part[threadIdx.x / warpSize] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int k = 0; k < blockDim.x / warpSize; ++k)
      all += part[k];
    out[blockIdx.x] = all;
  }
}
