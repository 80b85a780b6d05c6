// The errors of libmvec's functions of one number of single precision, over all 2^32 of them: every [FUNCTION...]
//
// Prints a line for each function: its name, OpenCL's bound, the errors of those for AVX-512 and for AVX2 in units in the last
// place against double precision, and the arguments at which they are, as bits. What is zero, infinite or no number is to be that,
// with its sign; anything else is an infinite error. Exits with 3 where something is missing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Longer numbers would take three times as long.
typedef double Exact;
#include "error.h"

typedef struct {
  const char *name;
  double bound;
  Exact (*exact)(Exact);
} Function;

static const Function FUNCTIONS[] = {
#define UNARY(name, low, high, bound) {#name, bound, name},
#define BINARY(name, low, high, bound)
#include "functions.h"
};

enum { THREADS = 64, LANES = 16 };

typedef struct {
  const Function *function;
  __m512 (*wide)(__m512);
  __m256 (*narrow)(__m256);
  uint64_t first, end;
  double worst[2];
  uint32_t at[2];
} Work;

__attribute__((target("avx512f"))) static void compute(const Work *work, const float *x, float *wide, float *narrow) {
  _mm512_storeu_ps(wide, work->wide(_mm512_loadu_ps(x)));
  for (int i = 0; i < LANES; i += 8)
    _mm256_storeu_ps(narrow + i, work->narrow(_mm256_loadu_ps(x + i)));
}

static void *run(void *given) {
  Work *work = given;
  for (uint64_t bits = work->first; bits < work->end; bits += LANES) {
    float x[LANES], results[2][LANES];
    for (uint32_t i = 0; i < LANES; ++i) {
      uint32_t one = (uint32_t)bits + i;
      memcpy(&x[i], &one, sizeof one);
    }
    compute(work, x, results[0], results[1]);
    for (uint32_t i = 0; i < LANES; ++i) {
      double exact = work->function->exact(x[i]);
      for (int k = 0; k < 2; ++k) {
        double one = error(0, results[k][i], exact);
        if (one > work->worst[k]) {
          work->worst[k] = one;
          work->at[k] = (uint32_t)bits + i;
        }
      }
    }
  }
  return NULL;
}

int main(int count, char **words) {
  void *library = dlopen("libmvec.so.1", RTLD_NOW);
  if (!library)
    return fprintf(stderr, "%s\n", dlerror()), 3;
  if (!__builtin_cpu_supports("avx512f"))
    return fputs("this processor has no AVX-512\n", stderr), 3;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t threads = cores < 1 ? 1 : cores > THREADS ? THREADS : (uint64_t)cores;
  for (size_t k = 0; k < sizeof FUNCTIONS / sizeof *FUNCTIONS; ++k) {
    int is_wanted = count == 1;
    for (int word = 1; word < count; ++word)
      is_wanted |= !strcmp(words[word], FUNCTIONS[k].name);
    if (!is_wanted)
      continue;
    char wide[64], narrow[64];
    snprintf(wide, sizeof wide, "_ZGVeN16v_%sf", FUNCTIONS[k].name);
    snprintf(narrow, sizeof narrow, "_ZGVdN8v_%sf", FUNCTIONS[k].name);
    Work all[THREADS];
    pthread_t running[THREADS];
    for (uint64_t i = 0; i < threads; ++i) {
      uint64_t step = (1ull << 32) / threads / LANES * LANES;
      all[i] = (Work){.function = &FUNCTIONS[k], .first = i * step, .end = i + 1 == threads ? 1ull << 32 : (i + 1) * step};
      *(void **)&all[i].wide = dlsym(library, wide);
      *(void **)&all[i].narrow = dlsym(library, narrow);
      if (!all[i].wide || !all[i].narrow)
        return fprintf(stderr, "this release of libmvec has no %s\n", FUNCTIONS[k].name), 3;
      if (pthread_create(&running[i], NULL, run, &all[i]))
        return fputs("no thread\n", stderr), 2;
    }
    Work worst = {0};
    for (uint64_t i = 0; i < threads; ++i) {
      pthread_join(running[i], NULL);
      for (int set = 0; set < 2; ++set)
        if (all[i].worst[set] > worst.worst[set]) {
          worst.worst[set] = all[i].worst[set];
          worst.at[set] = all[i].at[set];
        }
    }
    printf("%s %g %.3f %.3f %#x %#x\n", FUNCTIONS[k].name, FUNCTIONS[k].bound, worst.worst[0], worst.worst[1], worst.at[0],
           worst.at[1]);
    fflush(stdout);
  }
}
