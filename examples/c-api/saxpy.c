// saxpy from C: y = a x + y on a device, by a kernel in one file that calls a function in another.
//
//   cc saxpy.c -loffkit -o saxpy
//   ./saxpy app.syclbin library.syclbin
//
// docs/c-api.md shows how the two files are made.
#include <offkit.h>

#include <stdio.h>
#include <stdlib.h>

// Ends the program if something failed, and says what.
static void check(offkit_error *error) {
  if (!error)
    return;
  fprintf(stderr, "saxpy: %s (error %d)\n", offkit_error_message(error), (int)offkit_error_code(error));
  offkit_error_free(error);
  exit(1);
}

enum { COUNT = 1024 };

int main(int argc, char **argv) {
  // The images of all files.
  offkit_registry *registry;
  check(offkit_registry_create(&registry));
  for (int i = 1; i < argc; ++i)
    check(offkit_registry_open(registry, argv[i], NULL));

  // The first device that takes an image of the kernel.
  offkit_runtime *runtime;
  offkit_device *device;
  const char *name;
  check(offkit_runtime_create(&runtime));
  check(offkit_runtime_choose(runtime, NULL, registry, "saxpy", &device));
  check(offkit_device_name(device, &name));
  printf("on %s\n", name);

  // The kernel with all images that it needs, built for the device.
  offkit_context *context;
  offkit_queue *queue;
  offkit_collection *collection;
  offkit_kernel *kernel;
  const offkit_device *devices[] = {device};
  check(offkit_context_create(devices, 1, &context));
  check(offkit_queue_create(context, device, OFFKIT_QUEUE_PROFILING, &queue));
  check(offkit_registry_collect(registry, "saxpy", device, &collection));
  check(offkit_collection_build(collection, context, &kernel));
  printf("%s, of %zu images\n", offkit_kernel_signature(kernel), offkit_collection_image_count(collection));

  // The launch.
  float a = 2.5f, x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  offkit_buffer *x_buffer, *y_buffer;
  check(offkit_buffer_create(context, x, sizeof x, &x_buffer));
  check(offkit_buffer_create(context, y, sizeof y, &y_buffer));
  const offkit_argument arguments[] = {
      offkit_value(&a, sizeof a),
      offkit_buffer_argument(x_buffer),
      offkit_buffer_argument(y_buffer),
  };
  const offkit_range range = {.dimensions = 1, .global = {COUNT}};
  offkit_event *launch;
  offkit_profile profile;
  check(offkit_kernel_launch(kernel, queue, &range, arguments, 3, NULL, 0, &launch));
  check(offkit_event_wait(launch));
  check(offkit_event_profile(launch, &profile));
  check(offkit_buffer_read(y_buffer, queue, 0, y, sizeof y, NULL, 0));
  printf("2.5 * %d + 1 = %g%s\n", COUNT - 1, y[COUNT - 1], profile.ended >= profile.started ? "" : " in no time");

  offkit_event_free(launch);
  offkit_buffer_free(x_buffer);
  offkit_buffer_free(y_buffer);
  offkit_kernel_free(kernel);
  offkit_collection_free(collection);
  offkit_queue_free(queue);
  offkit_context_free(context);
  offkit_device_free(device);
  offkit_runtime_free(runtime);
  offkit_registry_free(registry);
  return 0;
}
