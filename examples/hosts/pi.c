// A program that knows PI 2.3 and nothing else runs saxpy of the worked example through a plugin, as the runtime of
// DPC++ 2021.2 would: it links the app's kernels with the functions that they import from the device library.
//
//   clang-22 --target=spirv64v1.1 -cl-std=CL3.0 -O1 -c examples/shared-library/app.cl -o app.spv
//   clang-22 --target=spirv64v1.1 -cl-std=CL3.0 -O1 -c examples/shared-library/library.cl -o library.spv
//   cc -Iinclude -o pi examples/hosts/pi.c -lm -ldl
//   ./pi liboffkit_plugin_cpu.so app.spv library.spv
#include <offkit_pi.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024 };

static pi_plugin_2_3 plugin = {.PiVersion = PI_VERSION_2_3};
static const pi_functions_2_3 *const pi = &plugin.PiFunctionTable;

static void check(pi_result code, const char *what) {
  if (code == PI_SUCCESS) return;
  fprintf(stderr, "%s: error %d\n", what, code);
  exit(1);
}

// Calls a function of the plugin's table.
#define PI(function, ...) check(pi->function(__VA_ARGS__), #function)

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
  pi_result (*init)(pi_plugin_2_3 *);
  *(void **)&init = dlsym(library, "piPluginInit");
  if (!init) fprintf(stderr, "%s\n", dlerror()), exit(1);
  check(init(&plugin), "piPluginInit");
  if (strcmp(plugin.PluginVersion, PI_VERSION_2_3)) fprintf(stderr, "it speaks another version\n"), exit(1);
}

static pi_program compiled(pi_context context, const char *name) {
  static char il[1 << 20];
  FILE *file = fopen(name, "rb");
  if (!file) perror(name), exit(1);
  size_t size = fread(il, 1, sizeof il, file);
  fclose(file);
  pi_program program;
  PI(piProgramCreate, context, il, size, &program);
  PI(piProgramCompile, program, 0, NULL, "", 0, NULL, NULL, NULL, NULL);
  return program;
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "usage: %s PLUGIN APP.spv LIBRARY.spv\n", argv[0]), 2;
  load(argv[1]);
  pi_platform platform;
  pi_device device;
  PI(piPlatformsGet, 1, &platform, NULL);
  PI(piDevicesGet, platform, PI_DEVICE_TYPE_ALL, 1, &device, NULL);
  char name[256] = "";
  PI(piDeviceGetInfo, device, PI_DEVICE_INFO_NAME, sizeof name, name, NULL);

  pi_context context;
  pi_queue queue;
  pi_program program, parts[] = {NULL, NULL};
  pi_kernel kernel;
  PI(piContextCreate, NULL, 1, &device, NULL, NULL, &context);
  PI(piQueueCreate, context, device, 0, &queue);
  for (int i = 0; i < 2; ++i) parts[i] = compiled(context, argv[2 + i]);
  PI(piProgramLink, context, 1, &device, "", 2, parts, NULL, NULL, &program);
  PI(piKernelCreate, program, "saxpy", &kernel);

  float a = 2.5f, x[N], y[N], result[N];
  for (int i = 0; i < N; ++i) x[i] = (float)i / 3, y[i] = 1.0f - (float)i;
  pi_mem buffers[2];
  pi_event launched;
  PI(piKernelSetArg, kernel, 0, sizeof a, &a);
  for (int i = 0; i < 2; ++i) {
    pi_mem_flags flags = PI_MEM_FLAGS_ACCESS_RW | PI_MEM_FLAGS_HOST_PTR_COPY;
    PI(piMemBufferCreate, context, flags, sizeof x, i ? y : x, &buffers[i], NULL);
    PI(piextKernelSetArgMemObj, kernel, (pi_uint32)i + 1, &buffers[i]);
  }
  size_t offset = 0, global = N;
  PI(piEnqueueKernelLaunch, queue, kernel, 1, &offset, &global, NULL, 0, NULL, &launched);
  PI(piEventsWait, 1, &launched);
  PI(piEnqueueMemBufferRead, queue, buffers[1], PI_TRUE, 0, sizeof result, result, 0, NULL, NULL);

  for (int i = 0; i < N; ++i)
    if (result[i] != fmaf(a, x[i], y[i])) return fprintf(stderr, "element %d is %g\n", i, result[i]), 1;
  printf("%d elements are right on %s\n", N, name);

  for (int i = 0; i < 2; ++i) PI(piMemRelease, buffers[i]), PI(piProgramRelease, parts[i]);
  PI(piEventRelease, launched);
  PI(piKernelRelease, kernel);
  PI(piProgramRelease, program);
  PI(piQueueRelease, queue);
  PI(piContextRelease, context);
  PI(piTearDown, NULL);
  return 0;
}
