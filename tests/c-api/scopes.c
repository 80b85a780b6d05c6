// Loads libraries, and runs kernels of one argument, as the command line says, word by word:
//
//   local:PATH global:PATH  dlopen with RTLD_LOCAL, with RTLD_GLOBAL
//   promote:PATH            dlopen with RTLD_NOLOAD and RTLD_GLOBAL
//   replace:PATH            puts PATH.new in the place of PATH
//   remove:PATH             removes PATH
//   close                   dlclose of what was loaded last
//   open:PATH               offkit_device_dlopen with OFFKIT_VISIBILITY_GLOBAL
//   ask:PATH                offkit_device_dlopen with OFFKIT_VISIBILITY_LOCAL; later kernels ask for it
//   forget                  offkit_device_dlclose of what was opened last
//   rule:NUMBER             offkit_registry_set_exporter_rule
//   start:KERNEL            launches it without waiting; it runs until the fifth number is 1 (see `spin` below)
//   finish                  lets that kernel end, waits for it, and prints the numbers
//   images                  where the images of the process are
//   KERNEL                  runs it on the numbers from 1 to 4
//   sym:KERNEL              the same by offkit_device_dlsym of what was opened last
#include <offkit.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4, MOST = 16 };

static void *loaded[MOST];
static offkit_library *opened[MOST];
static size_t loaded_count, opened_count, asked_count;
static const offkit_library *asked[MOST];
static offkit_device *device;
static offkit_context *context;
static offkit_queue *queue;
static offkit_registry *registry;

static int check(offkit_error *error) {
  if (!error)
    return 1;
  printf("error %d: %s\n", (int)offkit_error_code(error), offkit_error_message(error));
  offkit_error_free(error);
  return 0;
}

static void load(const char *path, int flags) {
  if (!(loaded[loaded_count++] = dlopen(path, flags))) {
    printf("%s\n", dlerror());
    exit(1);
  }
}

static void run(offkit_collection *collection) {
  offkit_kernel *kernel = NULL;
  offkit_buffer *buffer = NULL;
  offkit_event *launch = NULL;
  int numbers[COUNT] = {1, 2, 3, 4};
  const offkit_range range = {.dimensions = 1, .global = {COUNT}};
  if (check(offkit_collection_build(collection, context, &kernel)) &&
      check(offkit_buffer_create(context, numbers, sizeof numbers, &buffer))) {
    const offkit_argument argument = offkit_buffer_argument(buffer);
    if (check(offkit_kernel_launch(kernel, queue, &range, &argument, 1, NULL, 0, &launch)) &&
        check(offkit_buffer_read(buffer, queue, 0, numbers, sizeof numbers, (const offkit_event *const[]){launch}, 1)))
      printf("%d %d %d %d\n", numbers[0], numbers[1], numbers[2], numbers[3]);
  }
  offkit_event_free(launch);
  offkit_buffer_free(buffer);
  offkit_kernel_free(kernel);
  offkit_collection_free(collection);
}

// A launch that waits for the host: the kernel sets the sixth number when it runs, and goes on when the fifth is set.
static struct {
  offkit_usm *memory;
  offkit_event *launch;
} spinning;

static void start(offkit_collection *collection) {
  offkit_kernel *kernel = NULL;
  const int numbers[COUNT + 2] = {1, 2, 3, 4, 0, 0};
  const offkit_range range = {.dimensions = 1, .global = {1}};
  if (check(offkit_collection_build(collection, context, &kernel)) &&
      check(offkit_usm_create(context, device, OFFKIT_USM_SHARED, sizeof numbers, 0, &spinning.memory)) &&
      check(offkit_usm_write(spinning.memory, queue, 0, numbers, sizeof numbers, NULL, 0))) {
    const offkit_argument argument = offkit_usm_argument(spinning.memory, 0);
    if (check(offkit_kernel_launch(kernel, queue, &range, &argument, 1, NULL, 0, &spinning.launch))) {
      volatile int *shared = offkit_usm_address(spinning.memory);
      while (!shared[COUNT + 1])
        ;
      printf("it runs\n");
    }
  }
  offkit_kernel_free(kernel);
  offkit_collection_free(collection);
}

static void finish(void) {
  int *numbers = offkit_usm_address(spinning.memory);
  ((volatile int *)numbers)[COUNT] = 1;
  if (check(offkit_event_wait(spinning.launch)))
    printf("%d %d %d %d\n", numbers[0], numbers[1], numbers[2], numbers[3]);
  offkit_event_free(spinning.launch);
  offkit_usm_free(spinning.memory);
}

static void step(const char *word) {
  const char *value = strchr(word, ':');
  const size_t length = value ? (size_t)(value++ - word) : strlen(word);
#define IS(name) (length == sizeof name - 1 && !strncmp(word, name, length))
  offkit_collection *collection = NULL;
  if (IS("local"))
    load(value, RTLD_NOW | RTLD_LOCAL);
  else if (IS("global"))
    load(value, RTLD_NOW | RTLD_GLOBAL);
  else if (IS("promote"))
    load(value, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  else if (IS("replace")) {
    char new[4096];
    snprintf(new, sizeof new, "%s.new", value);
    rename(new, value);
  } else if (IS("remove"))
    remove(value);
  else if (IS("close"))
    dlclose(loaded[--loaded_count]);
  else if (IS("open"))
    check(offkit_device_dlopen(registry, value, OFFKIT_VISIBILITY_GLOBAL, &opened[opened_count++]));
  else if (IS("ask")) {
    if (check(offkit_device_dlopen(registry, value, OFFKIT_VISIBILITY_LOCAL, &opened[opened_count++])))
      asked[asked_count++] = opened[opened_count - 1];
  } else if (IS("forget")) {
    if (asked_count && asked[asked_count - 1] == opened[opened_count - 1])
      --asked_count;
    check(offkit_device_dlclose(opened[--opened_count]));
  } else if (IS("rule"))
    check(offkit_registry_set_exporter_rule(registry, (offkit_exporter_rule)atoi(value)));
  else if (IS("sym")) {
    if (check(offkit_device_dlsym(opened[opened_count - 1], value, device, &collection)))
      run(collection);
  } else if (IS("start")) {
    if (check(offkit_registry_collect(registry, value, device, &collection)))
      start(collection);
  } else if (IS("finish"))
    finish();
  else if (IS("images")) {
    size_t count = 0;
    const char *location = NULL;
    check(offkit_registry_image_count(registry, &count));
    for (size_t number = 0; number < count; ++number)
      if (check(offkit_registry_image(registry, number, &location)))
        printf("%s\n", location);
  } else if (check(offkit_registry_collect_with(registry, word, device, asked, asked_count, &collection)))
    run(collection);
}

int main(int argc, char **argv) {
  offkit_runtime *runtime = NULL;
  if (!check(offkit_runtime_create(&runtime)) ||
      !check(offkit_runtime_select(runtime, getenv("SCOPES_DEVICE") ? getenv("SCOPES_DEVICE") : "cpu", &device)) ||
      !check(offkit_context_create((const offkit_device *[]){device}, 1, &context)) ||
      !check(offkit_queue_create(context, device, OFFKIT_QUEUE_IN_ORDER, &queue)) ||
      !check(offkit_registry_of_process(&registry)))
    return 1;
  for (int i = 1; i < argc; ++i) {
    step(argv[i]);
    fflush(stdout);
  }
  while (opened_count)
    check(offkit_device_dlclose(opened[--opened_count]));
  while (loaded_count)
    dlclose(loaded[--loaded_count]);
  offkit_registry_free(registry);
  offkit_queue_free(queue);
  offkit_context_free(context);
  offkit_device_free(device);
  offkit_runtime_free(runtime);
  return 0;
}
