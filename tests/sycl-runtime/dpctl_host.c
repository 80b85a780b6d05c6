// Runs saxpy on a real libsycl of any release, through the C library of dpctl, which is built for that release: so there
// are no headers of SYCL, and no Python.
//
//   dpctl_host libDPCTLSyclInterface.so FLOAT POINTER [FILE.spv]
//
// FLOAT and POINTER are the numbers that this dpctl has for arguments of those types. Without a file, memory is copied
// and no kernel is run: dpctl gives SPIR-V to OpenCL itself, past libsycl.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024 };

static void *library;

static void fail(const char *text) {
  fprintf(stderr, "%s\n", text ? text : "no reason given");
  exit(1);
}

// A function of the library; releases differ in some names.
static void *function(const char *name, const char *other) {
  void *found = dlsym(library, name);
  if (!found && other) found = dlsym(library, other);
  if (!found) fail(dlerror());
  return found;
}

#define FUNCTION(result, name, ...) result (*name)(__VA_ARGS__) = function("DPCTL" #name, NULL)

static void *made(void *thing, const char *what) {
  if (!thing) fail(what);
  return thing;
}

static void *kernel_of(const char *file_name, void *context, void *device) {
  static char il[1 << 20];
  FILE *file = fopen(file_name, "rb");
  if (!file) fail("the file cannot be read");
  size_t size = fread(il, 1, sizeof il, file);
  fclose(file);
  // Up to 0.11 a program, and made without naming a device.
  if (dlsym(library, "DPCTLProgram_CreateFromSpirv")) {
    FUNCTION(void *, Program_CreateFromSpirv, void *, const void *, size_t, const char *);
    FUNCTION(void *, Program_GetKernel, void *, const char *);
    return Program_GetKernel(made(Program_CreateFromSpirv(context, il, size, ""), "no program"), "saxpy");
  }
  FUNCTION(void *, KernelBundle_CreateFromSpirv, void *, void *, const void *, size_t, const char *);
  FUNCTION(void *, KernelBundle_GetKernel, void *, const char *);
  return KernelBundle_GetKernel(made(KernelBundle_CreateFromSpirv(context, device, il, size, ""), "no program"), "saxpy");
}

int main(int argc, char **argv) {
  if (argc < 4) fail("usage: dpctl_host libDPCTLSyclInterface.so FLOAT POINTER [FILE.spv]");
  library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail(dlerror());
  FUNCTION(void *, FilterSelector_Create, const char *);
  FUNCTION(void *, Device_CreateFromSelector, void *);
  FUNCTION(const char *, Device_GetName, void *);
  FUNCTION(void *, Queue_CreateForDevice, void *, void *, int);
  FUNCTION(void *, Queue_GetContext, void *);
  FUNCTION(void, Queue_Memcpy, void *, void *, const void *, size_t);
  FUNCTION(void *, Queue_SubmitRange, void *, void *, void **, int *, size_t, const size_t *, size_t, void **, size_t);
  FUNCTION(void, Queue_Wait, void *);
  FUNCTION(void *, malloc_shared, size_t, void *);

  void *device = made(Device_CreateFromSelector(FilterSelector_Create("opencl:cpu")), "no device");
  void *queue = made(Queue_CreateForDevice(device, NULL, 0), "no queue");
  float a = 2.5f, start[N], *x = malloc_shared(sizeof start, queue), *y = malloc_shared(sizeof start, queue);
  for (int i = 0; i < N; ++i) x[i] = (float)i / 3, start[i] = 1.0f - (float)i;
  Queue_Memcpy(queue, y, start, sizeof start);
  Queue_Wait(queue);
  if (argc > 4) {
    void *kernel = made(kernel_of(argv[4], Queue_GetContext(queue), device), "no kernel");
    void *arguments[] = {&a, x, y};
    int kinds[] = {atoi(argv[2]), atoi(argv[3]), atoi(argv[3])};
    size_t count = N;
    made(Queue_SubmitRange(kernel, queue, arguments, kinds, 3, &count, 1, NULL, 0), "the kernel cannot be launched");
    Queue_Wait(queue);
  }
  for (int i = 0; i < N; ++i)
    if (y[i] != (argc > 4 ? fmaf(a, x[i], start[i]) : start[i])) fail("an element is wrong");
  printf("%d elements are right on %s\n", N, Device_GetName(device));
  return 0;
}
