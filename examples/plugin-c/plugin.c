// A plugin in C: a device that knows one kernel, saxpy, and runs it on this machine.
//
//   cc -std=c99 -shared -fPIC -fvisibility=hidden -Iinclude -o libexample.so examples/plugin-c/plugin.c
//   OFFKIT_PLUGINS=./libexample.so offkit devices
//
// Commands are done before the function that submits them returns, so events are always complete, and nothing has to be
// kept for later. The functions that a plugin cannot do without are marked; the others make it a good one.
#include <offkit_pi.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What the handles point to is ours to say. Nothing is kept of platforms, devices, contexts, queues and events: a byte is
// enough for them. There is one platform with one device, and they are always there.
struct _pi_mem { size_t size; float data[]; };
struct _pi_program { bool is_known; };
struct _pi_kernel { bool has_a; float a; pi_mem memory[2]; };

static char the_platform, the_device;

// Hosts ask how many there are, then for so many.
static pi_result list(void *thing, pi_uint32 room, void **things, pi_uint32 *count) {
  if (count) *count = 1;
  if (things && room) things[0] = thing;
  return PI_SUCCESS;
}

// Hosts ask how long an answer is, then for the answer.
static pi_result answer(const void *value, size_t length, size_t room, void *to, size_t *length_to) {
  if (length_to) *length_to = length;
  if (to && room < length) return PI_INVALID_VALUE;
  if (to) memcpy(to, value, length);
  return PI_SUCCESS;
}

#define TEXT(text) answer(text, sizeof text, room, to, length_to)
#define VALUE(type, value) do { type the_value = value; return answer(&the_value, sizeof the_value, room, to, length_to); } while (0)

// Makes an object with room for more bytes behind it, all zeros.
static pi_result create(size_t size, size_t more, void *to) {
  void *object = more <= SIZE_MAX - size ? calloc(1, size + more) : NULL;
  if (object) memcpy(to, &object, sizeof object);
  return object ? PI_SUCCESS : PI_OUT_OF_HOST_MEMORY;
}

// Needed.
static pi_result platforms_get(pi_uint32 room, pi_platform *platforms, pi_uint32 *count) {
  return list(&the_platform, room, (void **)platforms, count);
}

static pi_result platform_info(pi_platform platform, pi_platform_info name, size_t room, void *to, size_t *length_to) {
  switch (name) {
    case PI_PLATFORM_INFO_NAME: return TEXT("Example");
    case PI_PLATFORM_INFO_VENDOR: return TEXT("offkit");
    default: return PI_INVALID_VALUE;
  }
}

// Needed.
static pi_result devices_get(pi_platform platform, pi_device_type types, pi_uint32 room, pi_device *devices, pi_uint32 *count) {
  if (types & (PI_DEVICE_TYPE_ACC | PI_DEVICE_TYPE_DEFAULT)) return list(&the_device, room, (void **)devices, count);
  return PI_DEVICE_NOT_FOUND;
}

// Needed.
static pi_result device_info(pi_device device, pi_device_info name, size_t room, void *to, size_t *length_to) {
  switch (name) {
    case PI_DEVICE_INFO_NAME: return TEXT("Example in C");
    case PI_DEVICE_INFO_VENDOR: return TEXT("offkit");
    case PI_DEVICE_INFO_DRIVER_VERSION: return TEXT("1.0");
    case PI_DEVICE_INFO_TYPE: VALUE(pi_device_type, PI_DEVICE_TYPE_ACC);
    case PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE: VALUE(size_t, 256);
    default: return PI_INVALID_VALUE;
  }
}

// Code is good if it has the name of the kernel in it, as text or as SPIR-V.
static bool is_known(const char *code, size_t length) {
  for (; length >= 5; code++, length--) {
    if (memcmp(code, "saxpy", 5) == 0) return true;
  }
  return false;
}

static pi_result select_binary(pi_device device, pi_device_binary *images, pi_uint32 count, pi_uint32 *selected) {
  for (*selected = 0; *selected < count; ++*selected) {
    const struct pi_device_binary_struct *image = images[*selected];
    if (is_known((const char *)image->BinaryStart, (size_t)(image->BinaryEnd - image->BinaryStart))) return PI_SUCCESS;
  }
  return PI_INVALID_BINARY;
}

// Needed, as are the other functions that create something.
static pi_result context_create(const pi_context_properties *properties, pi_uint32 count, const pi_device *devices,
                                pi_context_notify notify, void *data, pi_context *context) {
  return create(1, 0, context);
}

static pi_result queue_create(pi_context context, pi_device device, pi_queue_properties properties, pi_queue *queue) {
  if (properties & ~PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) return PI_INVALID_QUEUE_PROPERTIES;
  return create(1, 0, queue);
}

static pi_result buffer_create(pi_context context, pi_mem_flags flags, size_t size, void *host, pi_mem *memory,
                               const pi_mem_properties *properties) {
  if (flags & PI_MEM_FLAGS_HOST_PTR_USE) return PI_INVALID_OPERATION;
  if (create(sizeof **memory, size, memory) != PI_SUCCESS) return PI_MEM_OBJECT_ALLOCATION_FAILURE;
  (*memory)->size = size;
  if (flags & PI_MEM_FLAGS_HOST_PTR_COPY) memcpy((*memory)->data, host, size);
  return PI_SUCCESS;
}

static pi_result program_create(pi_context context, const void *code, size_t length, pi_program *program) {
  if (create(sizeof **program, 0, program) != PI_SUCCESS) return PI_OUT_OF_HOST_MEMORY;
  (*program)->is_known = is_known(code, length);
  return PI_SUCCESS;
}

// Needed.
static pi_result program_build(pi_program program, pi_uint32 count, const pi_device *devices, const char *options,
                               pi_program_notify notify, void *data) {
  return program->is_known ? PI_SUCCESS : PI_BUILD_PROGRAM_FAILURE;
}

static pi_result kernel_create(pi_program program, const char *name, pi_kernel *kernel) {
  return strcmp(name, "saxpy") == 0 ? create(sizeof **kernel, 0, kernel) : PI_INVALID_KERNEL_NAME;
}

// Needed, for arguments that are values.
static pi_result set_value(pi_kernel kernel, pi_uint32 index, size_t size, const void *value) {
  if (index > 2) return PI_INVALID_ARG_INDEX;
  if (index != 0 || !value) return PI_INVALID_ARG_VALUE;
  if (size != sizeof kernel->a) return PI_INVALID_ARG_SIZE;
  memcpy(&kernel->a, value, size);
  kernel->has_a = true;
  return PI_SUCCESS;
}

// Needed, for arguments that are buffers.
static pi_result set_memory(pi_kernel kernel, pi_uint32 index, const pi_mem *memory) {
  if (index > 2) return PI_INVALID_ARG_INDEX;
  if (index == 0 || !memory) return PI_INVALID_ARG_VALUE;
  kernel->memory[index - 1] = *memory;
  return PI_SUCCESS;
}

// The event of a command that is done.
static pi_result done(pi_event *event) { return event ? create(1, 0, event) : PI_SUCCESS; }

// Needed.
static pi_result launch(pi_queue queue, pi_kernel kernel, pi_uint32 dimensions, const size_t *offset, const size_t *global,
                        const size_t *local, pi_uint32 count, const pi_event *wait, pi_event *event) {
  pi_mem x = kernel->memory[0], y = kernel->memory[1];
  size_t first = offset ? offset[0] : 0;
  if (dimensions != 1) return PI_INVALID_WORK_DIMENSION;
  if (!kernel->has_a || !x || !y) return PI_INVALID_KERNEL_ARGS;
  size_t length = (x->size < y->size ? x->size : y->size) / sizeof(float);
  if (first > length || global[0] > length - first) return PI_INVALID_GLOBAL_WORK_SIZE;
  for (size_t i = first; i < first + global[0]; i++) y->data[i] += kernel->a * x->data[i];
  return done(event);
}

// Needed.
static pi_result read_buffer(pi_queue queue, pi_mem memory, pi_bool blocking, size_t offset, size_t size, void *to,
                             pi_uint32 count, const pi_event *wait, pi_event *event) {
  if (offset > memory->size || size > memory->size - offset) return PI_INVALID_VALUE;
  memcpy(to, (char *)memory->data + offset, size);
  return done(event);
}

static pi_result write_buffer(pi_queue queue, pi_mem memory, pi_bool blocking, size_t offset, size_t size, const void *from,
                              pi_uint32 count, const pi_event *wait, pi_event *event) {
  if (offset > memory->size || size > memory->size - offset) return PI_INVALID_VALUE;
  memcpy((char *)memory->data + offset, from, size);
  return done(event);
}

// Needed.
static pi_result events_wait(pi_uint32 count, const pi_event *events) { return PI_SUCCESS; }

static pi_result event_info(pi_event event, pi_event_info name, size_t room, void *to, size_t *length_to) {
  if (name == PI_EVENT_INFO_COMMAND_EXECUTION_STATUS) VALUE(pi_event_status, PI_EVENT_COMPLETE);
  return PI_INVALID_VALUE;
}

static pi_result queue_finish(pi_queue queue) { return PI_SUCCESS; }

// There is no function that retains, so each object has one reference: the host's.
static pi_result context_release(pi_context context) { return free(context), PI_SUCCESS; }
static pi_result queue_release(pi_queue queue) { return free(queue), PI_SUCCESS; }
static pi_result memory_release(pi_mem memory) { return free(memory), PI_SUCCESS; }
static pi_result program_release(pi_program program) { return free(program), PI_SUCCESS; }
static pi_result kernel_release(pi_kernel kernel) { return free(kernel), PI_SUCCESS; }
static pi_result event_release(pi_event event) { return free(event), PI_SUCCESS; }

static const pi_functions_2_3 functions = {
  .piPlatformsGet = platforms_get, .piPlatformGetInfo = platform_info,
  .piDevicesGet = devices_get, .piDeviceGetInfo = device_info, .piextDeviceSelectBinary = select_binary,
  .piContextCreate = context_create, .piContextRelease = context_release,
  .piQueueCreate = queue_create, .piQueueFinish = queue_finish, .piQueueRelease = queue_release,
  .piMemBufferCreate = buffer_create, .piMemRelease = memory_release,
  .piProgramCreate = program_create, .piProgramBuild = program_build, .piProgramRelease = program_release,
  .piKernelCreate = kernel_create, .piKernelSetArg = set_value, .piextKernelSetArgMemObj = set_memory,
  .piKernelRelease = kernel_release,
  .piEnqueueKernelLaunch = launch, .piEnqueueMemBufferRead = read_buffer, .piEnqueueMemBufferWrite = write_buffer,
  .piEventsWait = events_wait, .piEventGetInfo = event_info, .piEventRelease = event_release,
};

// What hosts can read in the file before they load it.
OFFKIT_PI_NOTE("2.3");

// The one function that the library exports. Hosts offer one version after another, until one is taken.
pi_result piPluginInit(void *record) {
  pi_plugin_2_3 *plugin = record;
  if (!plugin || memcmp(plugin->PiVersion, PI_VERSION_2_3, sizeof plugin->PiVersion) != 0) return PI_INVALID_OPERATION;
  memcpy(plugin->PluginVersion, PI_VERSION_2_3, sizeof plugin->PluginVersion);
  plugin->PiFunctionTable = functions;
  return PI_SUCCESS;
}
