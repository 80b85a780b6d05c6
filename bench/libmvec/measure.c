// Measures the mathematics of compiled kernels beside glibc's libmvec, on one thread:
// measure MODULE SECONDS SAMPLES [FUNCTION...]
//
// MODULE is kernels.cl as SPIR-V. Prints a line for each function and precision: its name, OpenCL's bound, how many
// numbers a nanosecond the kernel computes, libmvec's functions for AVX-512 and those for AVX2 (in buffers that the first
// cache holds; the least time of turns that take SECONDS in all), and the errors of the kernel and of both of libmvec's in
// units in the last place, over so many numbers of all magnitudes, with the arguments at which they are. Exits with 3 where something
// is missing.
#define CL_TARGET_OPENCL_VERSION 300
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <float.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cpu/common.h"

// Numbers that the first cache holds, and how often a launch goes through them, so that launching is no part of it.
enum { COUNT = 1 << 10, ROWS = 64, EDGES = 1 << 15 };

typedef long double Exact;
#include "error.h"

typedef struct {
  const char *name;
  int arguments;
  double low, high, bound;
  Exact (*unary)(Exact);
  Exact (*binary)(Exact, Exact);
} Function;

static const Function FUNCTIONS[] = {
#define UNARY(name, low, high, bound) {#name, 1, low, high, bound, name##l, NULL},
#define BINARY(name, low, high, bound) {#name, 2, low, high, bound, NULL, name##l},
#include "functions.h"
};

// What is measured at a time, in one precision.
typedef struct {
  const Function *function;
  int is_double;
  cl_command_queue queue;
  cl_kernel kernel;
  // libmvec's functions for AVX-512 and AVX2.
  void *wide, *narrow;
  void *x, *y, *result;
} Work;

static void run_kernel(const Work *work, size_t rows) {
  size_t range[2] = {COUNT, rows};
  must(clEnqueueNDRangeKernel(work->queue, work->kernel, 2, NULL, range, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  must(clFinish(work->queue), "clFinish");
}

// Loops over the buffers that call a function of libmvec.
#define LOOP(name, features, field, vector, number, load, store)                                                       \
  __attribute__((target(features))) static void name(const Work *work, size_t rows) {                                 \
    const number *x = work->x, *y = work->y;                                                                           \
    number *result = work->result;                                                                                     \
    size_t step = sizeof(vector) / sizeof(number);                                                                     \
    if (work->function->arguments == 1) {                                                                              \
      vector (*function)(vector) = (vector(*)(vector))work->field;                                                     \
      for (; rows; --rows)                                                                                             \
        for (size_t i = 0; i < COUNT; i += step)                                                                       \
          store(result + i, function(load(x + i)));                                                                    \
    } else {                                                                                                           \
      vector (*function)(vector, vector) = (vector(*)(vector, vector))work->field;                                     \
      for (; rows; --rows)                                                                                             \
        for (size_t i = 0; i < COUNT; i += step)                                                                       \
          store(result + i, function(load(x + i), load(y + i)));                                                       \
    }                                                                                                                  \
  }
LOOP(run_wide_f32, "avx512f", wide, __m512, float, _mm512_loadu_ps, _mm512_storeu_ps)
LOOP(run_wide_f64, "avx512f", wide, __m512d, double, _mm512_loadu_pd, _mm512_storeu_pd)
LOOP(run_narrow_f32, "avx2", narrow, __m256, float, _mm256_loadu_ps, _mm256_storeu_ps)
LOOP(run_narrow_f64, "avx2", narrow, __m256d, double, _mm256_loadu_pd, _mm256_storeu_pd)

typedef void (*Run)(const Work *, size_t rows);

static void put(const Work *work, void *to, size_t at, double value) {
  if (work->is_double)
    ((double *)to)[at] = value;
  else
    ((float *)to)[at] = value;
}

static double get(const Work *work, const void *from, size_t at) {
  return work->is_double ? ((const double *)from)[at] : ((const float *)from)[at];
}

// Numbers a nanosecond: each in turn, so that what else the machine does hits all alike.
static void time_all(const Work *work, double seconds, const Run *runs, double *rates, int count) {
  unsigned long long seed = 1;
  for (size_t i = 0; i < 2 * COUNT; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    double part = (double)(seed >> 33) / (1ull << 31);
    put(work, i < COUNT ? work->x : work->y, i % COUNT,
        work->function->low + part * (work->function->high - work->function->low));
  }
  // Better code is made behind meanwhile.
  for (double began = now(); now() - began < 0.3;)
    run_kernel(work, ROWS);
  double least[8] = {0}, began = now();
  do
    for (int k = 0; k < count; ++k) {
      runs[k](work, 1);
      double before = now();
      runs[k](work, ROWS);
      double time = (now() - before) / ROWS;
      if (!least[k] || time < least[k])
        least[k] = time;
    }
  while (now() - began < seconds);
  for (int k = 0; k < count; ++k)
    rates[k] = COUNT / least[k] / 1e9;
}

// Those of the tests in crates/offkit-compile/tests/mathematics.rs: numbers at which functions change what they do, with
// their neighbours and of both signs.
static size_t edges(const Work *work, double *found) {
  static const double OTHERS[] = {0.25,   0.75,   1e5,     1e10,  1e30,  1e9,   1e-20,  INFINITY, NAN,   88.722, 87.336, 103.97, 38.53,
                                  44.85,  89.416, 10.05,   126,   149,   150,   65536,  FLT_MAX,  709.78, 708.4, 744.44, 745.14,
                                  710.48, 308.25, 323.31,  1022,  1074,  1075,  DBL_MAX};
  double all[4096];
  size_t count = 0, number = 0;
  for (int k = 0; k <= 34; ++k)
    all[count++] = k, all[count++] = k + 0.5, all[count++] = k * M_PI / 4;
  for (int k = work->is_double ? -1074 : -149; k <= (work->is_double ? 1023 : 127); ++k)
    all[count++] = ldexp(1, k);
  for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; ++k)
    all[count++] = OTHERS[k];
  for (size_t k = 0; k < count; ++k)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int way = -1; way <= 1; ++way) {
        double to = way * (double)INFINITY, value = sign * all[k];
        found[number++] = !way              ? value
                          : work->is_double ? nextafter(value, to)
                                            : (double)nextafterf((float)value, (float)to);
      }
  return number;
}

// Of all magnitudes, and more of moderate ones.
static double sample(const Work *work, unsigned long long *state, size_t index) {
  unsigned long long words[2];
  for (int k = 0; k < 2; ++k) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    words[k] = *state ^ *state >> 29;
  }
  double fraction = words[1] / 0x1p64, value = ldexp(1 + fraction, (words[0] >> 32) % 20);
  switch (index % 4) {
  case 0:
    if (work->is_double)
      memcpy(&value, words, sizeof value);
    else {
      unsigned bits = words[0] >> 32;
      float single;
      memcpy(&single, &bits, sizeof single);
      value = single;
    }
    return value;
  case 1:
    return value;
  case 2:
    return -value;
  default:
    return 4 * fraction - 2;
  }
}

typedef struct {
  double error, at[2];
} Worst;

static void measure_errors(const Work *work, const Run *runs, Worst *worst, int count, size_t samples) {
  static double found[EDGES];
  static Exact exact[COUNT];
  const Function *function = work->function;
  size_t number = edges(work, found), at = 0;
  // Edges of two numbers are each a sample of all pairs.
  unsigned long long states[2] = {3, 7}, choice = 5;
  for (size_t round = 0; round < samples / COUNT; ++round) {
    for (size_t i = 0; i < COUNT; ++i, ++at) {
      double x = sample(work, &states[0], at), y = sample(work, &states[1], at);
      if (function->arguments == 1 ? at < number : round % 4 == 0) {
        choice = choice * 6364136223846793005ull + 1442695040888963407ull;
        x = found[function->arguments == 1 ? at : (choice >> 33) % number];
        y = found[(choice >> 13) % number];
      }
      put(work, work->x, i, x);
      put(work, work->y, i, y);
      Exact first = get(work, work->x, i), second = get(work, work->y, i);
      exact[i] = function->unary ? function->unary(first) : function->binary(first, second);
    }
    for (int k = 0; k < count; ++k) {
      runs[k](work, 1);
      for (size_t i = 0; i < COUNT; ++i) {
        double one = error(work->is_double, get(work, work->result, i), exact[i]);
        if (one > worst[k].error)
          worst[k] = (Worst){one, {get(work, work->x, i), get(work, work->y, i)}};
      }
    }
  }
}

// libmvec's function for vectors of `lanes` numbers, by the names of x86's vector ABI.
static void *vector_function(void *library, const Work *work, char set, int lanes) {
  char name[64];
  snprintf(name, sizeof name, "_ZGV%cN%d%s_%s%s", set, lanes, work->function->arguments == 1 ? "v" : "vv",
           work->function->name, work->is_double ? "" : "f");
  return dlsym(library, name);
}

int main(int count, char **words) {
  if (count < 4)
    return fputs("measure MODULE SECONDS SAMPLES [FUNCTION...]\n", stderr), 2;
  void *library = dlopen("libmvec.so.1", RTLD_NOW);
  if (!library)
    return fprintf(stderr, "%s\n", dlerror()), 3;
  if (!__builtin_cpu_supports("avx512f"))
    return fputs("this processor has no AVX-512\n", stderr), 3;

  size_t size;
  char *module = contents(words[1], &size);
  if (!module)
    return perror(words[1]), 2;
  cl_device_id device;
  cl_int error;
  cl_context context = first_device(&device);
  cl_program program = clCreateProgramWithIL(context, module, size, &error);
  must(error, "clCreateProgramWithIL");
  must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  Work work = {.queue = clCreateCommandQueueWithProperties(context, device, NULL, &error)};
  must(error, "clCreateCommandQueueWithProperties");
  void **buffers[] = {&work.x, &work.y, &work.result};
  for (int k = 0; k < 3; ++k)
    *buffers[k] = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, COUNT * sizeof(double), 64);

  for (size_t k = 0; k < sizeof FUNCTIONS / sizeof *FUNCTIONS; ++k)
    for (work.is_double = 0; work.is_double < 2; ++work.is_double) {
      int is_wanted = count == 4;
      for (int word = 4; word < count; ++word)
        is_wanted |= !strcmp(words[word], FUNCTIONS[k].name);
      work.function = &FUNCTIONS[k];
      work.wide = vector_function(library, &work, 'e', work.is_double ? 8 : 16);
      work.narrow = vector_function(library, &work, 'd', work.is_double ? 4 : 8);
      if (!is_wanted)
        continue;
      if (!work.wide || !work.narrow) {
        fprintf(stderr, "SKIPPED: this release of libmvec has no %s\n", work.function->name);
        continue;
      }
      char name[32];
      snprintf(name, sizeof name, "%s_%s", work.function->name, work.is_double ? "f64" : "f32");
      work.kernel = clCreateKernel(program, name, &error);
      must(error, "clCreateKernel");
      for (int argument = 0; argument < 3; ++argument)
        must(clSetKernelArgSVMPointer(work.kernel, argument, *buffers[argument]), "clSetKernelArgSVMPointer");
      Run runs[] = {run_kernel, work.is_double ? run_wide_f64 : run_wide_f32, work.is_double ? run_narrow_f64 : run_narrow_f32};
      double rates[3];
      Worst worst[3] = {0};
      time_all(&work, atof(words[2]), runs, rates, 3);
      measure_errors(&work, runs, worst, 3, strtoull(words[3], NULL, 10));
      printf("%s %s %g %.4f %.4f %.4f %.3f %.3f %.3f %.9g,%.9g %.9g,%.9g %.9g,%.9g\n", work.function->name, work.is_double ? "f64" : "f32",
             work.function->bound, rates[0], rates[1], rates[2], worst[0].error, worst[1].error, worst[2].error,
             worst[0].at[0], worst[0].at[1], worst[1].at[0], worst[1].at[1], worst[2].at[0], worst[2].at[1]);
      fflush(stdout);
      clReleaseKernel(work.kernel);
    }
  // The device's threads have nothing left to do.
  _Exit(0);
}
