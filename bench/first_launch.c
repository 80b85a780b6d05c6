// What it takes to register a library's device images with liboffkit.so, and to launch a kernel of them for the first
// time: `first_launch LIBRARY KERNEL DEVICE`. The kernel gets 16 numbers to read and 16 to write. Seconds, as JSON; without
// a kernel, registering alone.
#include <offkit.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 16 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void must(offkit_error *error) {
  if (!error)
    return;
  fprintf(stderr, "%s\n", offkit_error_message(error));
  exit(1);
}

int main(int count, char **words) {
  offkit_registry *registry;
  must(offkit_registry_of_process(&registry));
  double start = now();
  if (!dlopen(words[1], RTLD_NOW | RTLD_GLOBAL))
    return fprintf(stderr, "%s\n", dlerror()), 1;
  double registered = now();
  size_t images;
  must(offkit_registry_image_count(registry, &images));
  printf("{\"images\": %zu, \"register\": %.9f", images, registered - start);
  if (count > 3) {
    offkit_runtime *runtime;
    offkit_device *device;
    offkit_context *context;
    offkit_queue *queue;
    offkit_collection *collection;
    offkit_kernel *kernel;
    offkit_usm *memory;
    offkit_event *launch;
    const size_t size = COUNT * sizeof(float);
    float numbers[COUNT];
    for (int i = 0; i < COUNT; ++i)
      numbers[i] = (float)(i + 1) / 32;
    start = now();
    must(offkit_runtime_create(&runtime));
    must(offkit_runtime_select(runtime, words[3], &device));
    must(offkit_context_create((const offkit_device *[]){device}, 1, &context));
    must(offkit_queue_create(context, device, OFFKIT_QUEUE_IN_ORDER, &queue));
    double ready = now();
    must(offkit_registry_collect(registry, words[2], device, &collection));
    must(offkit_collection_build(collection, context, &kernel));
    double built = now();
    must(offkit_usm_create(context, device, OFFKIT_USM_SHARED, 2 * size, 0, &memory));
    must(offkit_usm_write(memory, queue, 0, numbers, size, NULL, 0));
    const offkit_argument arguments[] = {offkit_usm_argument(memory, 0), offkit_usm_argument(memory, size)};
    const offkit_range range = {.dimensions = 1, .global = {COUNT}};
    double before = now();
    must(offkit_kernel_launch(kernel, queue, &range, arguments, 2, NULL, 0, &launch));
    must(offkit_event_wait(launch));
    double done = now();
    must(offkit_usm_read(memory, queue, size, numbers, size, NULL, 0));
    printf(", \"ready\": %.9f, \"build\": %.9f, \"launch\": %.9f, \"first\": %.9g", ready - start, built - ready,
           done - before, numbers[0]);
  }
  printf("}\n");
  fflush(stdout);
  // Nothing is measured from here on.
  _Exit(0);
}
