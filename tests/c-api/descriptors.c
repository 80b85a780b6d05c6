// Registers a SPIR-V module with the kernel `fill` by descriptors that are made by hand, on the heap, as compilers of all
// times made them; what has no meaning in them is garbage.
//
//   descriptors MODULE
#include <offkit.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void __sycl_register_lib(const void *descriptor);
void __sycl_unregister_lib(const void *descriptor);

typedef struct {
  void *address;
  const char *name;
  uint64_t size;
  int32_t flags, reserved;
} old_entry;

typedef struct {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  const char *name;
  uint64_t size, data;
  void *auxiliary;
} new_entry;

typedef struct {
  const char *name;
  void *value;
  uint32_t type;
  uint64_t size;
} property;

typedef struct {
  const char *name;
  property *begin, *end;
} property_set;

typedef struct {
  uint16_t version;
  uint8_t kind, format;
  const void *pointers[11];
} image;

typedef struct {
  uint16_t version, image_count;
  image *images;
  void *host_entries[2];
} descriptor;

_Static_assert(sizeof(old_entry) == 32 && sizeof(new_entry) == 56, "entries");
_Static_assert(sizeof(property) == 32 && sizeof(property_set) == 24 && sizeof(descriptor) == 32, "descriptors");

static void *garbage(size_t size) {
  void *memory = malloc(size);
  memset(memory, 0xcc, size);
  return memory;
}

static void must(offkit_error *error) {
  if (!error)
    return;
  fprintf(stderr, "%s\n", offkit_error_message(error));
  exit(1);
}

static void require(int condition, const char *what) {
  if (condition)
    return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static offkit_registry *registry;

static size_t image_count(void) {
  size_t count;
  must(offkit_registry_image_count(registry, &count));
  return count;
}

static void run(const offkit_kernel *kernel, const offkit_context *context, const offkit_queue *queue) {
  int value = 7, numbers[4] = {0};
  offkit_buffer *buffer;
  offkit_event *event;
  must(offkit_buffer_create(context, NULL, sizeof numbers, &buffer));
  const offkit_range range = {1, {0}, {4}, {0}};
  const offkit_argument arguments[] = {offkit_value(&value, sizeof value), offkit_buffer_argument(buffer)};
  must(offkit_kernel_launch(kernel, queue, &range, arguments, 2, NULL, 0, &event));
  must(offkit_event_wait(event));
  must(offkit_buffer_read(buffer, queue, 0, numbers, sizeof numbers, NULL, 0));
  require(numbers[0] == 7 && numbers[3] == 10, "the kernel fills");
  offkit_event_free(event);
  offkit_buffer_free(buffer);
}

// Registers an image of a version, with old or new entries, in one format or another.
static void check(int version, int kind, int format, int is_new, const char *module, size_t size,
                  const offkit_device *device, const offkit_context *context, const offkit_queue *queue) {
  char *code = garbage(size), *name = garbage(5), *target = garbage(7), *set_name = garbage(32);
  memcpy(code, module, size);
  strcpy(name, "fill");
  strcpy(target, "spir64");
  strcpy(set_name, "SYCL/misc properties");

  old_entry *old = garbage(sizeof *old);
  old->name = name;
  new_entry *entry = garbage(sizeof *entry);
  *entry = (new_entry){.version = 1, .kind = (uint16_t)kind, .name = name};
  property *optimized = garbage(sizeof *optimized);
  optimized->name = name;
  optimized->type = 1;
  optimized->size = 3;
  property_set *set = garbage(sizeof *set);
  *set = (property_set){set_name, optimized, optimized + 1};

  image *images = garbage(sizeof *images);
  images->version = (uint16_t)version;
  images->kind = (uint8_t)kind;
  images->format = (uint8_t)format;
  int at = 0;
  images->pointers[at++] = target;
  images->pointers[at++] = NULL;
  if (version > 1)
    images->pointers[at++] = NULL;
  if (version < 3) {
    images->pointers[at++] = NULL;
    images->pointers[at++] = NULL;
  }
  images->pointers[at++] = code;
  images->pointers[at++] = code + size;
  images->pointers[at++] = is_new ? (void *)entry : (void *)old;
  images->pointers[at++] = is_new ? (void *)(entry + 1) : (void *)(old + 1);
  if (version > 1) {
    images->pointers[at++] = set;
    images->pointers[at++] = set + 1;
  }
  descriptor *registered = garbage(sizeof *registered);
  registered->version = 1;
  registered->image_count = 1;
  registered->images = images;
  registered->host_entries[0] = registered->host_entries[1] = NULL;

  // What is registered twice is there twice, until it is unregistered twice.
  __sycl_register_lib(registered);
  require(image_count() == 1, "one image");
  __sycl_register_lib(registered);
  require(image_count() == 2, "two images");
  offkit_collection *collection;
  offkit_kernel *kernel;
  must(offkit_registry_collect(registry, "fill", device, &collection));
  must(offkit_collection_build(collection, context, &kernel));
  offkit_collection_free(collection);
  __sycl_unregister_lib(registered);
  require(image_count() == 1, "one image is left");
  __sycl_unregister_lib(registered);
  require(image_count() == 0, "none is left");
  __sycl_unregister_lib(registered);

  // Nothing of it is needed any more.
  free(registered);
  free(images);
  free(set);
  free(optimized);
  free(entry);
  free(old);
  free(set_name);
  free(target);
  free(name);
  memset(code, 0xcc, size);
  free(code);
  run(kernel, context, queue);
  offkit_kernel_free(kernel);
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file)
    return 2;
  static char module[1 << 16];
  size_t size = fread(module, 1, sizeof module, file);
  fclose(file);

  offkit_runtime *runtime;
  offkit_device *device;
  offkit_context *context;
  offkit_queue *queue;
  must(offkit_registry_of_process(&registry));
  must(offkit_runtime_create(&runtime));
  must(offkit_runtime_select(runtime, "cpu", &device));
  must(offkit_context_create((const offkit_device *[]){device}, 1, &context));
  must(offkit_queue_create(context, device, 0, &queue));

  // Version, kind (of DPC++, of LLVM), format (0 is to be found out, 2 is SPIR-V), whether entries are new.
  check(1, 4, 2, 0, module, size, device, context, queue);
  check(2, 4, 0, 0, module, size, device, context, queue);
  check(2, 4, 2, 1, module, size, device, context, queue);
  check(3, 4, 2, 0, module, size, device, context, queue);
  check(3, 8, 0, 1, module, size, device, context, queue);
  // Nothing is nothing.
  __sycl_register_lib(NULL);
  __sycl_unregister_lib(NULL);
  require(image_count() == 0, "nothing is registered");

  offkit_queue_free(queue);
  offkit_context_free(context);
  offkit_device_free(device);
  offkit_runtime_free(runtime);
  offkit_registry_free(registry);
  puts("done");
  return 0;
}
