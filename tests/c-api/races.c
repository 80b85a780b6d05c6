// Threads load and unload a library with device code while others look for a kernel that needs it, build and launch it, until
// it has been launched a few times.
//
//   races LIBRARY
//   races --memory FILE   registers a copy of an offload binary in memory instead, as a library does that is loaded
#include <offkit.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void __sycl_register_lib(const void *registered, size_t size);
void __sycl_unregister_lib(const void *registered, size_t size);

enum { WANTED = 4, MOST = 4000, THREADS = 2 };

static offkit_registry *registry;
static offkit_device *device;
static offkit_context *context;
static atomic_int failures, launched, looking = THREADS;
// How long the library stays: longer and longer, until a kernel was built with it.
static atomic_int stay_ms;
// An offload binary in memory belongs to the object that has the memory, and serves what that serves.
static unsigned char copies[THREADS][1 << 16];

static void stay(void) {
  const int ms = stay_ms;
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, NULL);
  stay_ms = ms < 250 ? 2 * ms + 1 : ms;
}

static void must(offkit_error *error) {
  if (!error)
    return;
  fprintf(stderr, "%s\n", offkit_error_message(error));
  offkit_error_free(error);
  ++failures;
}

static void *loads(void *path) {
  while (looking) {
    // For all: a library by itself serves itself alone.
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      ++failures;
      return NULL;
    }
    stay();
    dlclose(library);
  }
  return NULL;
}

static void *registers(void *path) {
  static atomic_int number;
  unsigned char *bytes = copies[number++];
  while (looking) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
      perror(path);
      ++failures;
      return NULL;
    }
    const size_t size = (size_t)ftell(file);
    rewind(file);
    if (size > sizeof *copies || fread(bytes, 1, size, file) != size) {
      fprintf(stderr, "%s: %zu bytes\n", (const char *)path, size);
      ++failures;
      return NULL;
    }
    fclose(file);
    __sycl_register_lib(bytes, size);
    stay();
    __sycl_unregister_lib(bytes, size);
    // Whoever still reads it is seen by the thread sanitizer.
    memset(bytes, 0, size);
  }
  return NULL;
}

static void *looks(void *data) {
  (void)data;
  offkit_queue *queue;
  must(offkit_queue_create(context, device, 0, &queue));
  for (int i = 0; i < MOST && launched < WANTED; ++i) {
    offkit_collection *collection = NULL;
    offkit_kernel *kernel = NULL;
    offkit_error *error = offkit_registry_collect(registry, "saxpy", device, &collection);
    if (!error)
      error = offkit_collection_build(collection, context, &kernel);
    if (error) {
      // The library was away when the kernel was looked for, or left before it was built.
      offkit_code code = offkit_error_code(error);
      if (code == OFFKIT_ERROR_UNRESOLVED || code == OFFKIT_ERROR_WITHDRAWN)
        offkit_error_free(error);
      else
        must(error);
    } else {
      float a = 2, x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
      offkit_buffer *x_buffer, *y_buffer;
      offkit_event *event;
      must(offkit_buffer_create(context, x, sizeof x, &x_buffer));
      must(offkit_buffer_create(context, y, sizeof y, &y_buffer));
      const offkit_range range = {1, {0}, {8}, {0}};
      const offkit_argument arguments[] = {offkit_value(&a, sizeof a), offkit_buffer_argument(x_buffer),
                                           offkit_buffer_argument(y_buffer)};
      must(offkit_kernel_launch(kernel, queue, &range, arguments, 3, NULL, 0, &event));
      const offkit_event *events[] = {event};
      must(offkit_buffer_read(y_buffer, queue, 0, y, sizeof y, events, 1));
      for (int n = 0; n < 8; ++n)
        if (y[n] != 2 * x[n]) {
          fprintf(stderr, "y[%d] is %g\n", n, y[n]);
          ++failures;
        }
      ++launched;
      stay_ms = 0;
      offkit_event_free(event);
      offkit_buffer_free(x_buffer);
      offkit_buffer_free(y_buffer);
    }
    offkit_kernel_free(kernel);
    offkit_collection_free(collection);
  }
  offkit_queue_free(queue);
  --looking;
  return NULL;
}

int main(int argc, char **argv) {
  const int in_memory = argc == 3 && !strcmp(argv[1], "--memory");
  if (argc != 2 && !in_memory)
    return 2;
  offkit_runtime *runtime;
  must(offkit_registry_of_process(&registry));
  must(offkit_runtime_create(&runtime));
  must(offkit_runtime_select(runtime, "cpu", &device));
  const offkit_device *devices[] = {device};
  must(offkit_context_create(devices, 1, &context));
  size_t before = 0, after = 0;
  must(offkit_registry_image_count(registry, &before));
  pthread_t threads[2 * THREADS];
  for (int i = 0; i < THREADS; ++i)
    failures += pthread_create(&threads[i], NULL, in_memory ? registers : loads, argv[argc - 1]) != 0;
  for (int i = THREADS; i < 2 * THREADS; ++i)
    failures += pthread_create(&threads[i], NULL, looks, NULL) != 0;
  for (int i = 0; i < 2 * THREADS; ++i)
    pthread_join(threads[i], NULL);

  if (launched < WANTED) {
    fprintf(stderr, "the kernel was launched %d times\n", launched);
    ++failures;
  }
  // What was there in the end is what was there in the beginning.
  must(offkit_registry_image_count(registry, &after));
  if (before == 0 || after != before) {
    fprintf(stderr, "%zu images before, %zu after\n", before, after);
    ++failures;
  }
  offkit_context_free(context);
  offkit_device_free(device);
  offkit_runtime_free(runtime);
  offkit_registry_free(registry);
  if (!failures)
    puts("done");
  return failures != 0;
}
