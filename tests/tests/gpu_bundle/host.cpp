// As much of CUDA as `bench/gpu/kernels.cu` uses, on the host: the threads of a block switch by hand, one block after the
// other. The test puts the kernels behind this, and a table of them behind those.
#include <cmath>
#include <cstring>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __shared__ static
#define __cosf cosf
#define __sinf sinf

struct Index { unsigned x, y, z; };
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
typedef _Float16 __half;

static Index threadIdx, blockIdx, blockDim, gridDim;
enum { warpSize = 32, THREADS = 1024, STACK = 64 << 10 };

static ucontext_t scheduler, contexts[THREADS];
static char stacks[THREADS][STACK];
static bool done[THREADS];
static unsigned current;
static float lanes[THREADS];
static void (*kernel)(void **);
static void **given;
alignas(128) static char dynamic_shared[48 << 10];

static void __syncthreads() {
  Index own = threadIdx;
  swapcontext(&contexts[current], &scheduler);
  threadIdx = own;
}

// All threads of the block come to it together.
static float __shfl_xor_sync(unsigned, float value, int distance) {
  lanes[current] = value;
  __syncthreads();
  float other = lanes[current ^ distance];
  __syncthreads();
  return other;
}

static void atomicAdd(int *place, int value) { *place += value; }
static float2 make_float2(float x, float y) { return {x, y}; }
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
static __half __float2half(float x) { return (__half)x; }

template <typename... Types, size_t... Numbers>
static void call(void (*function)(Types...), void **arguments, std::index_sequence<Numbers...>) {
  function(*(Types *)arguments[Numbers]...);
}

template <typename... Types> static void call(void (*function)(Types...), void **arguments) {
  call(function, arguments, std::index_sequence_for<Types...>());
}

static void thread() {
  kernel(given);
  done[current] = true;
}

static void block() {
  unsigned count = blockDim.x * blockDim.y * blockDim.z, left = count;
  for (unsigned i = 0; i < count; ++i) {
    done[i] = false;
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = STACK;
    contexts[i].uc_link = &scheduler;
    makecontext(&contexts[i], thread, 0);
  }
  while (left)
    for (unsigned i = 0; i < count; ++i) {
      if (done[i])
        continue;
      current = i;
      threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
      swapcontext(&scheduler, &contexts[i]);
      left -= done[i];
    }
}

static void grid() {
  for (unsigned i = 0; i < gridDim.x * gridDim.y * gridDim.z; ++i) {
    blockIdx = {i % gridDim.x, i / gridDim.x % gridDim.y, i / gridDim.x / gridDim.y};
    block();
  }
}
