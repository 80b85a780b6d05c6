// Kernels, by their names.

#include "standin.h"

static size_t items(const unsigned blocks[3], const unsigned threads[3]) {
  return (size_t)blocks[0] * blocks[1] * blocks[2] * threads[0] * threads[1] * threads[2];
}

// y += a * x
static void saxpy(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float a = *(float *)arguments[0], *x = *(float **)arguments[1], *y = *(float **)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) y[i] += a * x[i];
}

// y = (a * x + y + x) / 2
static void saxpy_with_mean(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float a = *(float *)arguments[0], *x = *(float **)arguments[1], *y = *(float **)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) y[i] = (a * x[i] + y[i] + x[i]) / 2;
}

// What was launched: blocks, threads, shared memory, and where the block's memory is.
static void shape(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0];
  for (int i = 0; i < 3; i++) out[i] = blocks[i], out[3 + i] = threads[i];
  out[6] = shared;
  out[7] = (uint32_t)*(uint64_t *)arguments[1];
}

// Where ids begin, and how many dimensions there are, if the kernel is told.
static void ids(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  (void)blocks, (void)threads, (void)shared;
  memset(*(uint32_t **)arguments[0], 0, 16);
}

static void ids_with_offset(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  (void)blocks, (void)threads, (void)shared;
  memcpy(*(uint32_t **)arguments[0], arguments[1], 16);
}

static void empty(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  (void)arguments, (void)blocks, (void)threads, (void)shared;
}

// Of examples/shared-library and examples/build-systems.
static void matmul(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t n = *(uint32_t *)arguments[0];
  float *a = *(float **)arguments[1], *b = *(float **)arguments[2], *c = *(float **)arguments[3];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) {
    c[i] = 0;
    for (size_t k = 0; k < n; k++) c[i] += a[i / n * n + k] * b[k * n + i % n];
  }
}

static void reduce(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float *in = *(float **)arguments[0], *out = *(float **)arguments[1];
  (void)shared;
  for (size_t group = 0; group < blocks[0]; group++) {
    out[group] = 0;
    for (size_t i = 0; i < threads[0]; i++) out[group] += in[group * threads[0] + i];
  }
}

static void scale(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float a = *(float *)arguments[0], *x = *(float **)arguments[1];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) x[i] *= a;
}

// Of bench/cpu/kernels.cl.
static void vector_add(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float *a = *(float **)arguments[0], *b = *(float **)arguments[1], *c = *(float **)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) c[i] = a[i] + b[i];
}

// Those of bench/gpu/stress.cl.
static uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352d;
  x = (x ^ x >> 15) * 0x846ca68b;
  return x ^ x >> 16;
}

static void stress_hash(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0], a = *(uint32_t *)arguments[1], b = *(uint32_t *)arguments[2];
  uint32_t count = *(uint32_t *)arguments[3];
  (void)shared;
  for (uint32_t i = 0; i < items(blocks, threads) && i < count; i++) out[i] = mixed(i * a + b);
}

static void stress_mix(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0], *in = *(uint32_t **)arguments[1], a = *(uint32_t *)arguments[2];
  uint32_t count = *(uint32_t *)arguments[3];
  (void)shared;
  for (uint32_t i = 0; i < items(blocks, threads) && i < count; i++) out[i] = mixed(out[i] ^ in[(i + a) % count]);
}

static void stress_count(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0], value = *(uint32_t *)arguments[1], count = *(uint32_t *)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) out[i % count] += value;
}

static void stress_turn(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0];
  const unsigned one[3] = {1, 1, 1};
  size_t group = items(one, threads);
  (void)shared;
  for (size_t first = 0; first < items(blocks, threads); first += group) {
    for (size_t own = 0; own < group / 2; own++) {
      uint32_t word = out[first + own];
      out[first + own] = out[first + group - 1 - own];
      out[first + group - 1 - own] = word;
    }
    for (size_t own = 0; own < group; own++) out[first + own] += own;
  }
}

static const struct kernel KERNELS[] = {
    {"saxpy", saxpy, {4, 8, 8}, 3, 0},
    {"saxpy with mean", saxpy_with_mean, {4, 8, 8}, 3, 0},
    {"shape", shape, {8, 8}, 2, 1},
    {"ids", ids, {8}, 1, 0},
    {"ids_with_offset", ids_with_offset, {8, 16}, 2, 0},
    {"matmul", matmul, {4, 8, 8, 8}, 4, 0},
    {"reduce", reduce, {8, 8, 4}, 3, 0},
    {"scale", scale, {4, 8}, 2, 0},
    {"empty", empty, {0}, 0, 0},
    {"vector_add", vector_add, {8, 8, 8}, 3, 0},
    {"stress_hash", stress_hash, {8, 4, 4, 4}, 4, 0},
    {"stress_mix", stress_mix, {8, 8, 4, 4}, 4, 0},
    {"stress_count", stress_count, {8, 4, 4}, 3, 0},
    {"stress_turn", stress_turn, {8, 4}, 2, 0},
};

const struct kernel *find_kernel(const char *name) {
  for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
    if (!strcmp(KERNELS[i].name, name)) return &KERNELS[i];
  return NULL;
}
