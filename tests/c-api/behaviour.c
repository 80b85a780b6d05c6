// What offkit.h promises beyond the examples: errors and their codes, kernel bundles, kinds of memory, threads.
//
//   behaviour FOLDER     with app.syclbin (saxpy, needs axpy), library.syclbin (axpy), kernel.spv (fill) and
//                        input.syclbin (fill, input state)
#include <offkit.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int line_of_failure;

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                          \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    offkit_error *error_ = (call);                                                                                     \
    if (error_) {                                                                                                      \
      fprintf(stderr, "line %d: %s\n", __LINE__, offkit_error_message(error_));                                        \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
// The call fails with this code, and its text has these words.
#define FAILS(expected, words, call)                                                                                   \
  do {                                                                                                                 \
    line_of_failure = __LINE__;                                                                                        \
    fails(expected, words, call);                                                                                      \
  } while (0)

static void fails(offkit_code expected, const char *words, offkit_error *error) {
  if (!error || offkit_error_code(error) != expected || !strstr(offkit_error_message(error), words)) {
    fprintf(stderr, "line %d: expected error %d with `%s`, not %d: %s\n", line_of_failure, (int)expected, words,
            (int)offkit_error_code(error), offkit_error_message(error));
    exit(1);
  }
  offkit_error_free(error);
}

static char *file(const char *folder, const char *name) {
  char *path = malloc(strlen(folder) + strlen(name) + 2);
  sprintf(path, "%s/%s", folder, name);
  return path;
}

static void *content(const char *path, size_t *size) {
  FILE *stream = fopen(path, "rb");
  REQUIRE(stream);
  fseek(stream, 0, SEEK_END);
  *size = (size_t)ftell(stream);
  rewind(stream);
  void *bytes = malloc(*size);
  REQUIRE(fread(bytes, 1, *size, stream) == *size);
  fclose(stream);
  return bytes;
}

static offkit_runtime *runtime;
static offkit_device *device;
static offkit_context *context;
static offkit_queue *queue;

static const offkit_range eight = {1, {0}, {8}, {0}};

// fill(int value, global int *numbers): numbers[i] = value + i
static void run_fill(const offkit_kernel *kernel, int value) {
  offkit_buffer *buffer;
  offkit_event *event;
  CHECK(offkit_buffer_create(context, NULL, 8 * sizeof(int), &buffer));
  REQUIRE(offkit_buffer_size(buffer) == 8 * sizeof(int));
  const offkit_argument arguments[] = {offkit_value(&value, sizeof value), offkit_buffer_argument(buffer)};
  CHECK(offkit_kernel_launch(kernel, queue, &eight, arguments, 2, NULL, 0, &event));
  int numbers[8] = {0};
  const offkit_event *events[] = {event};
  CHECK(offkit_buffer_read(buffer, queue, sizeof(int), numbers + 1, 7 * sizeof(int), events, 1));
  offkit_event_status status;
  CHECK(offkit_event_get_status(event, &status));
  REQUIRE(status == OFFKIT_EVENT_COMPLETE);
  for (int i = 0; i < 8; ++i)
    REQUIRE(numbers[i] == (i ? value + i : 0));
  offkit_event_free(event);
  offkit_buffer_free(buffer);
}

static void note_status(offkit_event_status status, void *data) {
  // Another thread may look at it.
  __atomic_store_n((int *)data, (int)status, __ATOMIC_SEQ_CST);
}

static void fills_and_copies(void) {
  offkit_buffer *from, *to;
  offkit_event *events[4];
  const int pattern[2] = {7, 9};
  CHECK(offkit_buffer_create(context, NULL, 8 * sizeof(int), &from));
  CHECK(offkit_buffer_create(context, NULL, 8 * sizeof(int), &to));
  CHECK(offkit_buffer_fill(from, queue, 0, 8 * sizeof(int), pattern, sizeof pattern, NULL, 0, &events[0]));
  CHECK(offkit_buffer_copy(from, sizeof(int), to, 4 * sizeof(int), 3 * sizeof(int), queue,
                           (const offkit_event *const *)&events[0], 1, &events[1]));
  CHECK(offkit_queue_marker(queue, (const offkit_event *const *)events, 2, &events[2]));
  int numbers[8];
  CHECK(offkit_buffer_read(to, queue, 0, numbers, sizeof numbers, (const offkit_event *const *)&events[2], 1));
  const int expected[8] = {0, 0, 0, 0, 9, 7, 9, 0};
  REQUIRE(memcmp(numbers, expected, sizeof numbers) == 0);

  // Without events: behind everything before it, and before everything behind it.
  CHECK(offkit_buffer_fill(to, queue, 0, 8 * sizeof(int), pattern, sizeof(int), NULL, 0, NULL));
  CHECK(offkit_queue_barrier(queue, NULL, 0, &events[3]));
  CHECK(offkit_buffer_copy(to, 0, from, 0, 8 * sizeof(int), queue, NULL, 0, NULL));
  CHECK(offkit_queue_finish(queue));
  CHECK(offkit_buffer_read(from, queue, 0, numbers, sizeof numbers, NULL, 0));
  REQUIRE(numbers[0] == 7 && numbers[7] == 7);

  int status = -1;
  CHECK(offkit_event_on_completion(events[3], note_status, &status));
  CHECK(offkit_event_wait(events[3]));
  while (__atomic_load_n(&status, __ATOMIC_SEQ_CST) != OFFKIT_EVENT_COMPLETE) {
  }
  FAILS(OFFKIT_ERROR_INVALID, "the function is a null pointer", offkit_event_on_completion(events[3], NULL, NULL));
  FAILS(OFFKIT_ERROR_INVALID, "not within", offkit_buffer_copy(from, 4, to, 0, 8 * sizeof(int), queue, NULL, 0, NULL));
  FAILS(OFFKIT_ERROR_INVALID, "the pattern is a null pointer",
        offkit_buffer_fill(from, queue, 0, 8, NULL, 4, NULL, 0, NULL));
  for (int i = 0; i < 4; ++i)
    offkit_event_free(events[i]);
  offkit_buffer_free(from);
  offkit_buffer_free(to);

  offkit_usm *first, *second;
  offkit_event *filled, *copied;
  CHECK(offkit_usm_create(context, device, OFFKIT_USM_DEVICE, 8, 0, &first));
  CHECK(offkit_usm_create(context, device, OFFKIT_USM_DEVICE, 8, 0, &second));
  CHECK(offkit_usm_fill(first, queue, 0, 8, 0x11, NULL, 0, &filled));
  CHECK(offkit_usm_copy(first, 2, second, 4, 4, queue, (const offkit_event *const *)&filled, 1, &copied));
  unsigned char bytes[4];
  CHECK(offkit_usm_read(second, queue, 4, bytes, 4, (const offkit_event *const *)&copied, 1));
  REQUIRE(bytes[0] == 0x11 && bytes[3] == 0x11);
  offkit_event_free(filled);
  offkit_event_free(copied);
  offkit_usm_free(first);
  offkit_usm_free(second);
}

static void devices_and_null_pointers(void) {
  size_t count, group;
  uint32_t units;
  uint64_t memory;
  offkit_device_type type;
  const char *text, *again;
  CHECK(offkit_runtime_device_count(runtime, &count));
  REQUIRE(count > 0);
  offkit_device *other = (offkit_device *)&count;
  FAILS(OFFKIT_ERROR_NO_DEVICE, "no device 1000000", offkit_runtime_device(runtime, 1000000, &other));
  REQUIRE(!other);
  FAILS(OFFKIT_ERROR_NO_DEVICE, "no device is `toaster`; the devices are 0 (",
        offkit_runtime_select(runtime, "toaster", &other));
  FAILS(OFFKIT_ERROR_INVALID, "not UTF-8", offkit_runtime_select(runtime, "\xff", &other));
  FAILS(OFFKIT_ERROR_INVALID, "the runtime is a null pointer", offkit_runtime_select(NULL, "cpu", &other));
  FAILS(OFFKIT_ERROR_INVALID, "null pointer", offkit_runtime_select(runtime, "cpu", NULL));
  CHECK(offkit_runtime_device(runtime, 0, &other));
  CHECK(offkit_device_name(other, &text));
  CHECK(offkit_device_name(other, &again));
  REQUIRE(text == again && *text);
  CHECK(offkit_device_vendor(other, &again));
  REQUIRE(*again && *text);
  CHECK(offkit_device_version(other, &again));
  CHECK(offkit_device_get_type(device, &type));
  REQUIRE(type == OFFKIT_DEVICE_CPU);
  CHECK(offkit_device_max_group_size(device, &group));
  CHECK(offkit_device_compute_units(device, &units));
  CHECK(offkit_device_memory_size(device, &memory));
  REQUIRE(group > 0 && units > 0 && memory > 0);
  CHECK(offkit_runtime_failures(runtime, &text));
  offkit_device_free(other);

  offkit_context *none;
  FAILS(OFFKIT_ERROR_INVALID, "a context needs a device", offkit_context_create(NULL, 0, &none));
  FAILS(OFFKIT_ERROR_INVALID, "null pointer", offkit_context_create(NULL, 1, &none));
  const offkit_device *hole[] = {device, NULL};
  FAILS(OFFKIT_ERROR_INVALID, "element 1 of the devices is a null pointer", offkit_context_create(hole, 2, &none));
  offkit_queue *strange;
  FAILS(OFFKIT_ERROR_INVALID, "0x40 are no flags of a queue", offkit_queue_create(context, device, 0x40, &strange));

  // Nothing is freed nowhere.
  offkit_error_free(NULL);
  offkit_device_free(NULL);
  offkit_bundle_free(NULL);
  offkit_usm_free(NULL);
  REQUIRE(offkit_error_code(NULL) == OFFKIT_SUCCESS && !*offkit_error_message(NULL));
  REQUIRE(!offkit_usm_address(NULL) && !offkit_buffer_size(NULL) && !offkit_kernel_name(NULL));
}

static void registries(const char *folder) {
  offkit_registry *registry, *other;
  offkit_library *library;
  offkit_collection *collection;
  size_t count, size;
  char *app = file(folder, "app.syclbin"), *axpy = file(folder, "library.syclbin");
  CHECK(offkit_registry_create(&registry));
  FAILS(OFFKIT_ERROR_READ, "nowhere", offkit_registry_open(registry, "/nowhere/at/all", NULL));
  CHECK(offkit_registry_add(registry, "text", "some text", 9, &library));
  REQUIRE(offkit_library_image_count(library) == 0 && strstr(offkit_library_problems(library), "text"));
  offkit_library_free(library);
  FAILS(OFFKIT_ERROR_NOT_FOUND, "no kernel `saxpy`", offkit_registry_collect(registry, "saxpy", device, &collection));
  CHECK(offkit_registry_open(registry, app, NULL));
  FAILS(OFFKIT_ERROR_NOT_FOUND, "there are `saxpy`", offkit_registry_collect(registry, "saxpi", device, &collection));
  // Who needs what, and which file it is.
  FAILS(OFFKIT_ERROR_UNRESOLVED, "kernel `saxpy` needs", offkit_registry_collect(registry, "saxpy", device, &collection));
  FAILS(OFFKIT_ERROR_UNRESOLVED, "app.syclbin!1/ir/0",
        offkit_registry_collect(registry, "saxpy", device, &collection));

  void *bytes = content(axpy, &size);
  CHECK(offkit_registry_add(registry, "axpy", bytes, size, &library));
  free(bytes);
  REQUIRE(offkit_library_image_count(library) == 1 && !*offkit_library_problems(library));
  CHECK(offkit_registry_image_count(registry, &count));
  REQUIRE(count == 3);
  const char *location;
  CHECK(offkit_registry_image(registry, 2, &location));
  REQUIRE(strcmp(location, "axpy!0/ir/0") == 0);
  FAILS(OFFKIT_ERROR_INVALID, "there are 3", offkit_registry_image(registry, 3, &location));
  CHECK(offkit_registry_collect(registry, "saxpy", device, &collection));
  REQUIRE(offkit_collection_image_count(collection) == 2);
  REQUIRE(strcmp(offkit_collection_image(collection, 1), "axpy!0/ir/0") == 0);
  REQUIRE(!offkit_collection_image(collection, 2));
  REQUIRE(strstr(offkit_collection_resolutions(collection), "axpy: ") &&
          strstr(offkit_collection_resolutions(collection), " <- axpy!0/ir/0"));

  // What was built lives on when its images go, and when all else is freed.
  offkit_kernel *kernel;
  CHECK(offkit_collection_build(collection, context, &kernel));
  CHECK(offkit_registry_create(&other));
  FAILS(OFFKIT_ERROR_INVALID, "another registry", offkit_registry_withdraw(other, library));
  CHECK(offkit_registry_withdraw(registry, library));
  CHECK(offkit_registry_withdraw(registry, library));
  offkit_library_free(library);
  offkit_kernel *late;
  FAILS(OFFKIT_ERROR_WITHDRAWN, "withdrawn", offkit_collection_build(collection, context, &late));
  offkit_collection_free(collection);
  offkit_registry_free(other);
  offkit_registry_free(registry);
  REQUIRE(strcmp(offkit_kernel_name(kernel), "saxpy") == 0);
  REQUIRE(strstr(offkit_kernel_signature(kernel), "saxpy(f32"));
  FAILS(OFFKIT_ERROR_INVALID, "the kernel is a null", offkit_kernel_set_indirect_access(NULL, true));
  CHECK(offkit_kernel_set_indirect_access(kernel, true));
  CHECK(offkit_kernel_set_indirect_access(kernel, false));

  // Arguments are checked against the kernel's.
  float a = 2;
  double wide = 2;
  offkit_usm *x, *y, *device_memory, *none;
  CHECK(offkit_usm_create(context, device, OFFKIT_USM_HOST, 8 * sizeof(float), 0, &x));
  CHECK(offkit_usm_create(context, device, OFFKIT_USM_SHARED, 9 * sizeof(float), 64, &y));
  CHECK(offkit_usm_create(context, device, OFFKIT_USM_DEVICE, 8 * sizeof(float), 0, &device_memory));
  FAILS(OFFKIT_ERROR_INVALID, "kind", offkit_usm_create(context, device, (offkit_usm_kind)7, 4, 0, &none));
  offkit_argument arguments[3] = {offkit_value(&a, sizeof a), offkit_address(offkit_usm_address(x)),
                                  offkit_usm_argument(y, sizeof(float))};
  offkit_event *event;
  FAILS(OFFKIT_ERROR_ARGUMENT, "takes 3 arguments, 2 given",
        offkit_kernel_launch(kernel, queue, &eight, arguments, 2, NULL, 0, &event));
  REQUIRE(!event);
  arguments[0] = offkit_value(&wide, sizeof wide);
  FAILS(OFFKIT_ERROR_ARGUMENT, "argument 0", offkit_kernel_launch(kernel, queue, &eight, arguments, 3, NULL, 0, &event));
  arguments[0] = offkit_argument_of((offkit_argument_kind)9, NULL, 0);
  FAILS(OFFKIT_ERROR_INVALID, "argument 0", offkit_kernel_launch(kernel, queue, &eight, arguments, 3, NULL, 0, &event));
  arguments[0] = offkit_value(NULL, 4);
  FAILS(OFFKIT_ERROR_INVALID, "argument 0 is a null", offkit_kernel_launch(kernel, queue, &eight, arguments, 3, NULL, 0, &event));
  const offkit_range flat = {0, {0}, {8}, {0}};
  arguments[0] = offkit_value(&a, sizeof a);
  FAILS(OFFKIT_ERROR_INVALID, "0 dimensions", offkit_kernel_launch(kernel, queue, &flat, arguments, 3, NULL, 0, &event));

  // All three kinds of memory, addresses and offsets; the host reaches two of them.
  float *shared = offkit_usm_address(y), *host = offkit_usm_address(x);
  for (int i = 0; i < 8; ++i) {
    host[i] = (float)i;
    shared[i + 1] = 1;
  }
  shared[0] = -1;
  CHECK(offkit_kernel_launch(kernel, queue, &eight, arguments, 3, NULL, 0, NULL));
  CHECK(offkit_queue_finish(queue));
  for (int i = 0; i < 8; ++i)
    REQUIRE(shared[i + 1] == 2 * (float)i + 1);
  REQUIRE(shared[0] == -1);
  float back[8];
  CHECK(offkit_usm_write(device_memory, queue, 0, shared + 1, sizeof back, NULL, 0));
  CHECK(offkit_usm_read(device_memory, queue, 0, back, sizeof back, NULL, 0));
  REQUIRE(memcmp(back, shared + 1, sizeof back) == 0 && offkit_usm_size(device_memory) == sizeof back);
  FAILS(OFFKIT_ERROR_INVALID, "not within", offkit_usm_read(device_memory, queue, 4, back, sizeof back, NULL, 0));
  FAILS(OFFKIT_ERROR_INVALID, "overlap",
        offkit_usm_copy(device_memory, 0, device_memory, 4, 8, queue, NULL, 0, NULL));
  offkit_usm_free(x);
  offkit_usm_free(y);
  offkit_usm_free(device_memory);
  offkit_kernel_free(kernel);
  free(app);
  free(axpy);
}

static void bundles(const char *folder) {
  size_t size;
  const offkit_device *devices[] = {device};
  char *app = file(folder, "app.syclbin"), *axpy = file(folder, "library.syclbin");
  char *rival = file(folder, "rival.syclbin");
  char *spirv = file(folder, "kernel.spv"), *input_file = file(folder, "input.syclbin");
  offkit_bundle *input, *object, *executable, *other, *bundles[3];
  offkit_kernel *kernel;
  bool has;

  // From SPIR-V, step by step and at once.
  void *bytes = content(spirv, &size);
  CHECK(offkit_bundle_from_spirv(context, devices, 1, "kernel.spv", bytes, size, &input));
  free(bytes);
  REQUIRE(offkit_bundle_get_state(input) == OFFKIT_STATE_INPUT && offkit_bundle_kernel_count(input) == 1);
  REQUIRE(strcmp(offkit_bundle_kernel_name(input, 0), "fill") == 0 && !offkit_bundle_kernel_name(input, 1));
  CHECK(offkit_bundle_has_kernel(input, "fill", NULL, &has));
  REQUIRE(has);
  CHECK(offkit_bundle_has_kernel(input, "spill", device, &has));
  REQUIRE(!has);
  FAILS(OFFKIT_ERROR_STATE, "in the input state, not executable",
        offkit_bundle_kernel(input, "fill", device, &kernel));
  FAILS(OFFKIT_ERROR_INVALID, "0x6 are no flags of a link", offkit_bundle_build(input, 6, &executable));
  CHECK(offkit_bundle_build(input, OFFKIT_LINK_FIRST, &executable));
  CHECK(offkit_bundle_kernel(executable, "fill", device, &kernel));
  run_fill(kernel, 5);
  offkit_kernel_free(kernel);
  FAILS(OFFKIT_ERROR_NOT_FOUND, "`fill`", offkit_bundle_kernel(executable, "fil", device, &kernel));
  FAILS(OFFKIT_ERROR_STATE, "not input", offkit_bundle_compile(executable, &other));
  offkit_bundle_free(executable);
  CHECK(offkit_bundle_compile(input, &object));
  bundles[0] = object;
  bundles[1] = input;
  FAILS(OFFKIT_ERROR_STATE, "not object",
        offkit_bundle_link((const offkit_bundle *const *)bundles, 2, NULL, 0, 0, &executable));
  CHECK(offkit_bundle_link((const offkit_bundle *const *)bundles, 1, devices, 1, 0, &executable));
  CHECK(offkit_bundle_kernel(executable, "fill", device, &kernel));
  run_fill(kernel, 6);
  offkit_kernel_free(kernel);
  offkit_bundle_free(executable);
  offkit_bundle_free(object);

  // Content is a file of the same state.
  for (int version = 1; version <= 2; ++version) {
    offkit_bytes *written;
    CHECK(offkit_bundle_content(input, (offkit_syclbin_version)version, &written));
    FAILS(OFFKIT_ERROR_STATE, "does not match",
          offkit_bundle_from_bytes(context, devices, 1, "content", offkit_bytes_data(written),
                                   offkit_bytes_size(written), OFFKIT_STATE_OBJECT, &other));
    CHECK(offkit_bundle_from_bytes(context, devices, 1, "content", offkit_bytes_data(written),
                                   offkit_bytes_size(written), OFFKIT_STATE_INPUT, &other));
    offkit_bytes_free(written);
    REQUIRE(offkit_bundle_kernel_count(other) == 1);
    offkit_bundle_free(other);
  }
  offkit_bundle_free(input);

  // Two files, linked; and what is missing without the second.
  CHECK(offkit_bundle_open(context, devices, 1, app, OFFKIT_STATE_OBJECT, &bundles[0]));
  CHECK(offkit_bundle_open(context, devices, 1, axpy, OFFKIT_STATE_OBJECT, &bundles[1]));
  FAILS(OFFKIT_ERROR_UNRESOLVED, "No exported symbol",
        offkit_bundle_link((const offkit_bundle *const *)bundles, 1, NULL, 0, 0, &executable));
  CHECK(offkit_bundle_link((const offkit_bundle *const *)bundles, 2, NULL, 0, 0, &executable));
  FAILS(OFFKIT_ERROR_INVALID, "0x6",
        offkit_bundle_link((const offkit_bundle *const *)bundles, 2, NULL, 0, 6, &other));
  offkit_bundle_free(executable);
  // A third that exports the same.
  CHECK(offkit_bundle_open(context, devices, 1, rival, OFFKIT_STATE_OBJECT, &bundles[2]));
  FAILS(OFFKIT_ERROR_AMBIGUOUS, "rival.syclbin",
        offkit_bundle_link((const offkit_bundle *const *)bundles, 3, NULL, 0, 0, &executable));
  CHECK(offkit_bundle_link((const offkit_bundle *const *)bundles, 3, NULL, 0, OFFKIT_LINK_FIRST, &executable));
  offkit_bundle_free(executable);
  CHECK(offkit_bundle_link((const offkit_bundle *const *)bundles, 3, NULL, 0, OFFKIT_LINK_OWN_FIRST | OFFKIT_LINK_FAST,
                           &executable));
  CHECK(offkit_bundle_join((const offkit_bundle *const *)bundles, 2, &other));
  CHECK(offkit_bundle_has_kernel(other, "saxpy", device, &has));
  REQUIRE(has && offkit_bundle_get_state(other) == OFFKIT_STATE_OBJECT);
  offkit_bundle_free(other);
  offkit_bundle_free(executable);
  offkit_bundle_free(bundles[2]);
  offkit_bundle_free(bundles[0]);
  offkit_bundle_free(bundles[1]);

  CHECK(offkit_bundle_open(context, devices, 1, input_file, OFFKIT_STATE_INPUT, &input));
  REQUIRE(offkit_bundle_constant_count(input) == 0 && !offkit_bundle_constant_name(input, 0));
  int value = 1;
  offkit_bytes *none;
  FAILS(OFFKIT_ERROR_NOT_FOUND, "`size`", offkit_bundle_set_constant(input, "size", &value, sizeof value));
  FAILS(OFFKIT_ERROR_NOT_FOUND, "`size`", offkit_bundle_constant(input, "size", &none));
  offkit_bundle_free(input);
  FAILS(OFFKIT_ERROR_READ, "nowhere", offkit_bundle_open(context, devices, 1, "/nowhere", OFFKIT_STATE_INPUT, &other));
  FAILS(OFFKIT_ERROR_FORMAT, "not a SYCLBIN", offkit_bundle_open(context, devices, 1, spirv, OFFKIT_STATE_INPUT, &other));
  FAILS(OFFKIT_ERROR_FORMAT, "no SPIR-V", offkit_bundle_from_spirv(context, devices, 1, "text", "text", 4, &other));
  FAILS(OFFKIT_ERROR_INVALID, "no state", offkit_bundle_open(context, devices, 1, app, (offkit_state)3, &other));
  free(app);
  free(rival);
  free(axpy);
  free(spirv);
  free(input_file);
}

struct work {
  const offkit_kernel *kernel;
  int first;
};

static void *launches(void *data) {
  const struct work *work = data;
  for (int i = 0; i < 20; ++i)
    run_fill(work->kernel, work->first + i);
  return NULL;
}

// Threads share one kernel and one queue.
static void threads(const char *folder) {
  enum { COUNT = 4 };
  char *spirv = file(folder, "kernel.spv");
  offkit_registry *registry;
  offkit_collection *collection;
  offkit_kernel *kernel;
  CHECK(offkit_registry_create(&registry));
  CHECK(offkit_registry_open(registry, spirv, NULL));
  CHECK(offkit_registry_collect(registry, "fill", device, &collection));
  CHECK(offkit_collection_build(collection, context, &kernel));
  pthread_t threads[COUNT];
  struct work work[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    work[i].kernel = kernel;
    work[i].first = 1000 * i;
    REQUIRE(!pthread_create(&threads[i], NULL, launches, &work[i]));
  }
  for (int i = 0; i < COUNT; ++i)
    REQUIRE(!pthread_join(threads[i], NULL));
  offkit_kernel_free(kernel);
  offkit_collection_free(collection);
  offkit_registry_free(registry);
  free(spirv);
}

int main(int argc, char **argv) {
  REQUIRE(argc == 2);
  const offkit_device *devices[1];
  CHECK(offkit_runtime_create(&runtime));
  CHECK(offkit_runtime_select(runtime, "cpu", &device));
  devices[0] = device;
  CHECK(offkit_context_create(devices, 1, &context));
  CHECK(offkit_queue_create(context, device, OFFKIT_QUEUE_OUT_OF_ORDER | OFFKIT_QUEUE_PROFILING, &queue));
  devices_and_null_pointers();
  fills_and_copies();
  registries(argv[1]);
  bundles(argv[1]);
  threads(argv[1]);
  offkit_queue_free(queue);
  offkit_context_free(context);
  offkit_device_free(device);
  offkit_runtime_free(runtime);
  puts("done");
  return 0;
}
