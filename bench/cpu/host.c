// Runs one kernel on the first OpenCL device that the loader finds, checks what it wrote, and times it:
//
//   host MODULE KERNEL GLOBAL LOCAL REFERENCE TOLERANCE SECONDS ARGUMENT...
//
// GLOBAL and LOCAL are like 64x64, LOCAL is - where the driver chooses. An argument is one of
//
//   random:TYPE:COUNT:LOW:HIGH   a buffer of numbers between these
//   steps:TYPE:COUNT:STEP        a buffer of 0, STEP, 2 STEP...
//   out:TYPE:COUNT               a buffer of zeros, whose contents after one launch are compared
//   f32:VALUE, i32:VALUE         a number
//   local:BYTES                  local memory
//
// TYPE is f16, f32, f64 or i32. What the first driver wrote is kept as REFERENCE, which the others' must equal, but for
// TOLERANCE, relative to the larger number or 1, in all but one of a thousand numbers: a rounding decides where a pixel of
// a fractal belongs. Prints milliseconds from the start to the first result, and seconds for one launch: least and median.
// With SECONDS below zero it waits so long behind the first result, and launches nothing more.
#define CL_TARGET_OPENCL_VERSION 300
#define _GNU_SOURCE
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum { ARGUMENTS = 16, LAUNCHES = 100000 };

typedef struct {
  char kind[8], type[8];
  double values[3];
  size_t size;
  void *bytes;
  cl_mem buffer;
} Argument;

static size_t width(const char *type) {
  return !strcmp(type, "f64") ? 8 : !strcmp(type, "f16") ? 2 : 4;
}

static void put(const char *type, void *to, size_t at, double value) {
  if (!strcmp(type, "f64"))
    ((double *)to)[at] = value;
  else if (!strcmp(type, "f32"))
    ((float *)to)[at] = value;
  else if (!strcmp(type, "f16"))
    ((_Float16 *)to)[at] = value;
  else
    ((int *)to)[at] = value;
}

static double get(const char *type, const void *from, size_t at) {
  return !strcmp(type, "f64")   ? ((double *)from)[at]
         : !strcmp(type, "f32") ? ((float *)from)[at]
         : !strcmp(type, "f16") ? (double)((_Float16 *)from)[at]
                                : ((int *)from)[at];
}

static int is(const Argument *argument, const char *kind) { return !strcmp(argument->kind, kind); }

static Argument parse(const char *word, unsigned long long *seed) {
  Argument it = {0};
  if (sscanf(word, "%7[a-z]:%7[a-z0-9]:%lf:%lf:%lf", it.kind, it.type, &it.values[0], &it.values[1], &it.values[2]) < 3) {
    *it.type = 0;
    if (sscanf(word, "%7[a-z0-9]:%lf", it.kind, &it.values[0]) != 2)
      fprintf(stderr, "no argument: %s\n", word), exit(2);
    it.size = is(&it, "local") ? (size_t)it.values[0] : 4;
    return it;
  }
  size_t count = it.values[0];
  it.size = count * width(it.type);
  it.bytes = aligned_alloc(4096, (it.size + 4095) / 4096 * 4096);
  for (size_t i = 0; i < count; ++i) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    double part = (double)(*seed >> 33) / (1ull << 31);
    put(it.type, it.bytes, i,
        is(&it, "random")  ? it.values[1] + part * (it.values[2] - it.values[1])
        : is(&it, "steps") ? it.values[1] * i
                           : 0);
  }
  return it;
}

static int sizes(const char *word, size_t *found) {
  return sscanf(word, "%zux%zux%zu", &found[0], &found[1], &found[2]);
}

// Compares with what the first driver wrote, or keeps it.
static void check(const Argument *argument, const char *path, double tolerance) {
  size_t size, count = argument->size / width(argument->type), differ = 0, first = 0;
  char *expected = contents(path, &size);
  if (!expected) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(argument->bytes, 1, argument->size, file) != argument->size || fclose(file))
      perror(path), exit(2);
    return;
  }
  if (size != argument->size)
    fprintf(stderr, "%s has another size\n", path), exit(2);
  for (size_t i = 0; i < count; ++i) {
    double own = get(argument->type, argument->bytes, i), that = get(argument->type, expected, i);
    double most = tolerance * fmax(1, fmax(fabs(own), fabs(that)));
    if (!(fabs(own - that) <= most) && !(isnan(own) && isnan(that)) && !differ++)
      first = i;
  }
  if (differ > count / 1000) {
    fprintf(stderr, "%zu of %zu numbers differ; number %zu is %.9g, expected %.9g\n", differ, count, first,
            get(argument->type, argument->bytes, first), get(argument->type, expected, first));
    exit(4);
  }
  free(expected);
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int count, char **words) {
  if (count < 8 || count - 8 > ARGUMENTS)
    return fputs("host MODULE KERNEL GLOBAL LOCAL REFERENCE TOLERANCE SECONDS ARGUMENT...\n", stderr), 2;
  size_t global[3] = {1, 1, 1}, local[3] = {1, 1, 1}, size;
  cl_uint dimensions = sizes(words[3], global);
  const size_t *group = strcmp(words[4], "-") ? (sizes(words[4], local), local) : NULL;
  double seconds = atof(words[7]);
  unsigned long long seed = 1;
  Argument arguments[ARGUMENTS];
  int number = count - 8;
  for (int i = 0; i < number; ++i)
    arguments[i] = parse(words[8 + i], &seed);

  double start = now();
  char *module = contents(words[1], &size);
  if (!module)
    return perror(words[1]), 2;
  cl_device_id device;
  cl_int error;
  cl_context context = first_device(&device);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
  must(error, "clCreateCommandQueueWithProperties");
  int is_source = !!strstr(words[1], ".cl");
  cl_program program = is_source ? clCreateProgramWithSource(context, 1, (const char **)&module, &size, &error)
                                 : clCreateProgramWithIL(context, module, size, &error);
  must(error, "clCreateProgram");
  // OpenCL C 3.0 where there is one; PoCL 3.1 has it without sub-groups.
  if (clBuildProgram(program, 1, &device, is_source ? "-cl-std=CL3.0" : "", NULL, NULL))
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, words[2], &error);
  must(error, "clCreateKernel");
  for (int i = 0; i < number; ++i) {
    Argument *it = &arguments[i];
    float real = it->values[0];
    int whole = it->values[0];
    if (it->bytes) {
      it->buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, it->size, it->bytes, &error);
      must(error, "clCreateBuffer");
      must(clSetKernelArg(kernel, i, sizeof it->buffer, &it->buffer), "clSetKernelArg");
    } else {
      const void *value = is(it, "local") ? NULL : is(it, "f32") ? (const void *)&real : &whole;
      must(clSetKernelArg(kernel, i, it->size, value), "clSetKernelArg");
    }
  }
  must(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, group, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  must(clFinish(queue), "clFinish");
  double first = now() - start;
  for (int i = 0; i < number; ++i) {
    Argument *it = &arguments[i];
    if (!is(it, "out"))
      continue;
    must(clEnqueueReadBuffer(queue, it->buffer, CL_TRUE, 0, it->size, it->bytes, 0, NULL, NULL), "clEnqueueReadBuffer");
    check(it, words[5], atof(words[6]));
  }

  if (seconds < 0) {
    sleep((unsigned)-seconds);
    _Exit(0);
  }

  // Better code may be made behind; a fifth of the time is for that.
  double *times = malloc(LAUNCHES * sizeof *times), began = now();
  int launches = 0, warm = 0;
  while (launches < LAUNCHES && (launches < 3 || now() - began < seconds)) {
    double before = now();
    must(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, group, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    must(clFinish(queue), "clFinish");
    double time = now() - before;
    if (!warm && before - began >= seconds / 5)
      warm = 1, launches = 0;
    times[launches++] = time;
  }
  qsort(times, launches, sizeof *times, by_size);
  printf("%.3f %.9f %.9f\n", first * 1e3, times[0], times[launches / 2]);
  fflush(stdout);
  // Nothing is measured from here on.
  _Exit(0);
}
