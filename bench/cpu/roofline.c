// What the machine can do at most, with all its processors: `../cpu.py` prints it beside what kernels reach.
//
// Prints four numbers: GB/s of a copy (c = a) and of a triad (c = a + 3 b) over arrays of 64 MiB, each byte that is read or
// written counted once, and GFLOP/s of independent multiply-adds of f32 and of f64 in registers. The best of several rounds.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 16 << 20, ROUNDS = 12, STEPS = 1 << 22, CHAINS = 12, MOST = 256 };

typedef float Floats __attribute__((vector_size(64)));
typedef double Doubles __attribute__((vector_size(64)));

static float *a, *b, *c;
static int threads;
static pthread_barrier_t together;
static double best[4];
static atomic_int sink;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void copy(size_t first, size_t end) {
  for (size_t i = first; i < end; ++i)
    c[i] = a[i];
}

static void triad(size_t first, size_t end) {
  for (size_t i = first; i < end; ++i)
    c[i] = a[i] + 3 * b[i];
}

// Enough chains that none waits for its last result.
#define CHAINS_OF(NAME, TYPE)                                                                                        \
  static void NAME(void) {                                                                                           \
    TYPE sums[CHAINS], by = {0}, more = {0};                                                                         \
    by = by + 0.999f, more = more + 0.001f;                                                                          \
    for (int k = 0; k < CHAINS; ++k)                                                                                 \
      sums[k] = more * (float)k;                                                                                     \
    for (int step = 0; step < STEPS; ++step) {                                                                       \
      _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS; ++k) sums[k] = sums[k] * by + more;                       \
    }                                                                                                                \
    for (int k = 1; k < CHAINS; ++k)                                                                                 \
      sums[0] += sums[k];                                                                                            \
    atomic_fetch_add(&sink, (int)sums[0][0]);                                                                        \
  }
CHAINS_OF(floats, Floats)
CHAINS_OF(doubles, Doubles)

static void *work(void *number) {
  size_t own = (size_t)number, each = COUNT / threads, first = own * each;
  size_t end = own + 1 == (size_t)threads ? COUNT : first + each;
  for (size_t i = first; i < end; ++i)
    a[i] = b[i] = i % 7, c[i] = 0;
  for (int round = 0; round < ROUNDS; ++round)
    for (int what = 0; what < 4; ++what) {
      pthread_barrier_wait(&together);
      double start = now();
      switch (what) {
      case 0: copy(first, end); break;
      case 1: triad(first, end); break;
      case 2: floats(); break;
      default: doubles();
      }
      pthread_barrier_wait(&together);
      double time = now() - start, lanes = what == 2 ? 16 : 8;
      double rate = what < 2 ? (what + 2.0) * COUNT * sizeof *a / time : 2.0 * lanes * CHAINS * STEPS * threads / time;
      if (!own && rate / 1e9 > best[what])
        best[what] = rate / 1e9;
    }
  return NULL;
}

int main(void) {
  threads = sysconf(_SC_NPROCESSORS_ONLN);
  threads = threads < 1 ? 1 : threads > MOST ? MOST : threads;
  size_t size = COUNT * sizeof *a;
  a = aligned_alloc(4096, size), b = aligned_alloc(4096, size), c = aligned_alloc(4096, size);
  if (!a || !b || !c || pthread_barrier_init(&together, NULL, threads))
    return fputs("no memory\n", stderr), 1;
  pthread_t other[MOST];
  for (int i = 1; i < threads; ++i)
    if (pthread_create(&other[i], NULL, work, (void *)(size_t)i))
      return fputs("no thread\n", stderr), 1;
  work(NULL);
  for (int i = 1; i < threads; ++i)
    pthread_join(other[i], NULL);
  printf("%.2f %.2f %.1f %.1f\n", best[0], best[1], best[2], best[3]);
  return 0;
}
