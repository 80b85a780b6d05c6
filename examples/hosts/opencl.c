// A program that knows OpenCL and nothing else runs saxpy of the worked example: it links the app's kernels with the
// functions that they import from the device library.
//
//   clang-22 --target=spirv64v1.1 -cl-std=CL3.0 -O1 -c examples/shared-library/app.cl -o app.spv
//   clang-22 --target=spirv64v1.1 -cl-std=CL3.0 -O1 -c examples/shared-library/library.cl -o library.spv
//   cc -o opencl examples/hosts/opencl.c -lm -lOpenCL
//   ./opencl app.spv library.spv
//
// The driver is whichever the loader finds: `offkit icd install` makes offkit's devices one.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1024 };

static void check(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, code);
  exit(1);
}

static cl_program compiled(cl_context context, const char *name) {
  static char il[1 << 20];
  FILE *file = fopen(name, "rb");
  if (!file) perror(name), exit(1);
  size_t size = fread(il, 1, sizeof il, file);
  fclose(file);
  cl_int code;
  cl_program program = clCreateProgramWithIL(context, il, size, &code);
  check(code, "clCreateProgramWithIL");
  check(clCompileProgram(program, 0, NULL, "", 0, NULL, NULL, NULL, NULL), "clCompileProgram");
  return program;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: %s APP.spv LIBRARY.spv\n", argv[0]), 2;
  cl_platform_id platform;
  cl_device_id device;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  char name[256] = "";
  check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");

  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  check(code, "clCreateCommandQueueWithProperties");
  cl_program parts[] = {compiled(context, argv[1]), compiled(context, argv[2])};
  cl_program program = clLinkProgram(context, 0, NULL, "", 2, parts, NULL, NULL, &code);
  check(code, "clLinkProgram");
  cl_kernel kernel = clCreateKernel(program, "saxpy", &code);
  check(code, "clCreateKernel");

  float a = 2.5f, x[N], y[N], result[N];
  for (int i = 0; i < N; ++i) x[i] = (float)i / 3, y[i] = 1.0f - (float)i;
  cl_mem buffers[2];
  for (int i = 0; i < 2; ++i) {
    buffers[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof x, i ? y : x, &code);
    check(code, "clCreateBuffer");
  }
  check(clSetKernelArg(kernel, 0, sizeof a, &a), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[0]), "clSetKernelArg");
  check(clSetKernelArg(kernel, 2, sizeof(cl_mem), &buffers[1]), "clSetKernelArg");
  size_t global = N;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, buffers[1], CL_TRUE, 0, sizeof result, result, 0, NULL, NULL), "clEnqueueReadBuffer");

  for (int i = 0; i < N; ++i)
    if (result[i] != fmaf(a, x[i], y[i])) return fprintf(stderr, "element %d is %g\n", i, result[i]), 1;
  printf("%d elements are right on %s\n", N, name);

  for (int i = 0; i < 2; ++i) clReleaseMemObject(buffers[i]), clReleaseProgram(parts[i]);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
