// saxpy by kernels that are a part of the program, and of libraries that it loads: wrapped device images, registered as
// program and libraries are loaded.
//
//   offkit wrap app.syclbin -o app.o --runtime sycl-v3
//   offkit wrap library.syclbin -o library.o --runtime sycl-v3
//   cc -shared library.o -loffkit -o liblibrary.so
//   cc wrapped.c app.o -loffkit -o wrapped
//   ./wrapped ./liblibrary.so
//
// Linked with the library, the program needs no argument. APP_DEVICE chooses the device: `cpu`, `gpu`, a part of its name;
// without, it is the first.
#include <offkit.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 8 };

// Runs saxpy of the process's registry. Whatever fails, what was made is freed.
static offkit_error *saxpy(const offkit_registry *registry, float a, const float *x, float *y) {
  offkit_runtime *runtime = NULL;
  offkit_device *device = NULL;
  offkit_context *context = NULL;
  offkit_queue *queue = NULL;
  offkit_collection *collection = NULL;
  offkit_kernel *kernel = NULL;
  offkit_usm *memory = NULL;
  offkit_event *launch = NULL;
  const size_t size = COUNT * sizeof(float);
  const offkit_range range = {.dimensions = 1, .global = {COUNT}};
  offkit_error *error;
  if ((error = offkit_runtime_create(&runtime)) ||
      (error = offkit_runtime_select(runtime, getenv("APP_DEVICE"), &device)) ||
      (error = offkit_context_create((const offkit_device *[]){device}, 1, &context)) ||
      (error = offkit_queue_create(context, device, OFFKIT_QUEUE_IN_ORDER, &queue)) ||
      (error = offkit_registry_collect(registry, "saxpy", device, &collection)) ||
      (error = offkit_collection_build(collection, context, &kernel)) ||
      (error = offkit_usm_create(context, device, OFFKIT_USM_SHARED, 2 * size, 0, &memory)) ||
      (error = offkit_usm_write(memory, queue, 0, x, size, NULL, 0)) ||
      (error = offkit_usm_write(memory, queue, size, y, size, NULL, 0)))
    goto end;
  for (size_t i = 0; i < offkit_collection_image_count(collection); ++i)
    printf("%s\n", offkit_collection_image(collection, i));
  const offkit_argument arguments[] = {
      offkit_value(&a, sizeof a),
      offkit_usm_argument(memory, 0),
      offkit_usm_argument(memory, size),
  };
  if ((error = offkit_kernel_launch(kernel, queue, &range, arguments, 3, NULL, 0, &launch)))
    goto end;
  const offkit_event *events[] = {launch};
  error = offkit_usm_read(memory, queue, size, y, size, events, 1);
end:
  offkit_event_free(launch);
  offkit_usm_free(memory);
  offkit_kernel_free(kernel);
  offkit_collection_free(collection);
  offkit_queue_free(queue);
  offkit_context_free(context);
  offkit_device_free(device);
  offkit_runtime_free(runtime);
  return error;
}

int main(int argc, char **argv) {
  void *libraries[16];
  int count = 0, failed = 0;
  for (; count + 1 < argc && count < 16; ++count)
    // With RTLD_LOCAL the device functions of a library would serve its own kernels only.
    if (!(libraries[count] = dlopen(argv[count + 1], RTLD_NOW | RTLD_GLOBAL))) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }

  offkit_registry *registry = NULL;
  float x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  offkit_error *error = offkit_registry_of_process(&registry);
  if (!error)
    error = saxpy(registry, 2, x, y);
  if (error) {
    fprintf(stderr, "%s\n", offkit_error_message(error));
    offkit_error_free(error);
    failed = 1;
  } else {
    for (int i = 0; i < COUNT; ++i)
      printf("%g ", y[i]);
    printf("\n");
  }

  // Images leave with the library that they are in.
  while (count > 0)
    dlclose(libraries[--count]);
  size_t images = 0;
  error = offkit_registry_image_count(registry, &images);
  offkit_error_free(error);
  printf("%zu images stay\n", images);
  offkit_registry_free(registry);
  return failed;
}
