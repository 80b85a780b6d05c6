// offkit.h: load, link and launch device code, from C and C++. Link with -loffkit.
//
// How it goes: a runtime finds the devices of this machine. A registry keeps device images, from files, from memory or
// from the program itself. A kernel is found there by its name, with the images it needs, is built for a device, and is
// launched in a queue. docs/c-api.md has an example; examples/c-api is one that can be run.
//
// Errors. A function that can fail returns an `offkit_error *`: NULL if it did what it says. An error tells what
// happened as a code and as text, and is freed by offkit_error_free. What a failed function was to make is set to NULL;
// other results stay as they were.
//
// Objects. What a function makes belongs to the caller, who frees it by offkit_..._free. That takes NULL as well, and is
// never too early: whatever is still needed, by a command that runs or by another object, stays until it is no longer.
//
// Text. A `const char *` from a function is UTF-8, ends with a zero byte, belongs to the object that it was asked of, and
// stays until that is freed. Text that a function takes is only used during the call. Bytes come as an `offkit_bytes`.
//
// Threads. All functions may be called from any thread at any time, with the same objects, too; but nobody may use an
// object while another thread frees it. There is nothing to set up before the first call.
//
// Sizes and offsets are in bytes unless something else is said.
#ifndef OFFKIT_H
#define OFFKIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define OFFKIT_API __attribute__((visibility("default")))
#else
#define OFFKIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Why a function failed.
typedef struct offkit_error offkit_error;
// The devices of this machine.
typedef struct offkit_runtime offkit_runtime;
// Something that runs kernels.
typedef struct offkit_device offkit_device;
// What a device was divided into.
typedef struct offkit_parts offkit_parts;
// Devices of one driver that share memory and programs.
typedef struct offkit_context offkit_context;
// Where commands for one device are submitted.
typedef struct offkit_queue offkit_queue;
// Device images, and what each offers and needs.
typedef struct offkit_registry offkit_registry;
// What came of registering a file: its images, to withdraw them.
typedef struct offkit_library offkit_library;
// A kernel with all images that it needs on a device.
typedef struct offkit_collection offkit_collection;
// A kernel that was built for a device.
typedef struct offkit_kernel offkit_kernel;
// Memory that a kernel reaches through an argument.
typedef struct offkit_buffer offkit_buffer;
// Memory with an address that is the same for kernels and host: unified shared memory.
typedef struct offkit_usm offkit_usm;
// The progress of a command.
typedef struct offkit_event offkit_event;
// Device code for some devices, in one of three states.
typedef struct offkit_bundle offkit_bundle;
// Bytes that a function returned.
typedef struct offkit_bytes offkit_bytes;

// ---------------------------------------------------------------------------------------------------------- errors

// What kind of error it is. Later versions may have more.
typedef enum offkit_code {
  // No error.
  OFFKIT_SUCCESS = 0,
  // A null pointer, text that is not UTF-8, a number that means nothing, objects that do not belong together.
  OFFKIT_ERROR_INVALID = 1,
  // There is no such device, or no device at all.
  OFFKIT_ERROR_NO_DEVICE = 2,
  // There is no kernel or no specialization constant of that name.
  OFFKIT_ERROR_NOT_FOUND = 3,
  // The name fits several kernels, or several images supply a symbol.
  OFFKIT_ERROR_AMBIGUOUS = 4,
  // A kernel needs a symbol that no image supplies.
  OFFKIT_ERROR_UNRESOLVED = 5,
  // The device takes none of the images.
  OFFKIT_ERROR_INCOMPATIBLE = 6,
  // A file cannot be read.
  OFFKIT_ERROR_READ = 7,
  // A file or bytes are damaged, or something else than what was asked for.
  OFFKIT_ERROR_FORMAT = 8,
  // A kernel bundle is in another state than what was asked for.
  OFFKIT_ERROR_STATE = 9,
  // The device's compiler or linker refuses code; the text has its log.
  OFFKIT_ERROR_BUILD = 10,
  // The arguments of a launch are not those that the kernel takes.
  OFFKIT_ERROR_ARGUMENT = 11,
  // The device refuses a command, or a command failed.
  OFFKIT_ERROR_DEVICE = 12,
  // There is not enough memory.
  OFFKIT_ERROR_MEMORY = 13,
  // The device or its driver cannot do that.
  OFFKIT_ERROR_UNSUPPORTED = 14,
  // An image was withdrawn: its library was unloaded, perhaps.
  OFFKIT_ERROR_WITHDRAWN = 15,
  // A defect of offkit.
  OFFKIT_ERROR_INTERNAL = 16
} offkit_code;

// The kind of an error; OFFKIT_SUCCESS for NULL.
OFFKIT_API offkit_code offkit_error_code(const offkit_error *error);
// What happened, for people: one or more lines. The empty text for NULL.
OFFKIT_API const char *offkit_error_message(const offkit_error *error);
OFFKIT_API void offkit_error_free(offkit_error *error);

// ----------------------------------------------------------------------------------------------- runtime and devices

// What kind of device it is.
typedef enum offkit_device_type {
  OFFKIT_DEVICE_OTHER = 0,
  OFFKIT_DEVICE_CPU = 1,
  OFFKIT_DEVICE_GPU = 2,
  OFFKIT_DEVICE_ACCELERATOR = 3
} offkit_device_type;

// A runtime. Devices come from plugins: the CPU device, which is part of this library, and the shared libraries that
// offkit finds (docs/plugins.md). OFFKIT_PLUGINS and ONEAPI_DEVICE_SELECTOR work as for offkit itself.
OFFKIT_API offkit_error *offkit_runtime_create(offkit_runtime **runtime);
// How many devices there are. This loads all plugins.
OFFKIT_API offkit_error *offkit_runtime_device_count(offkit_runtime *runtime, size_t *count);
// The device with a number, from 0. OFFKIT_ERROR_NO_DEVICE if there is none.
OFFKIT_API offkit_error *offkit_runtime_device(offkit_runtime *runtime, size_t number, offkit_device **device);
// The device that `selector` means: a number, the name of a plugin, a kind (cpu, gpu), or a part of the device's name.
// NULL means the first device. OFFKIT_ERROR_NO_DEVICE lists the devices there are.
OFFKIT_API offkit_error *offkit_runtime_select(offkit_runtime *runtime, const char *selector, offkit_device **device);
// The device for a kernel of a registry: the one that `selector` means, if it takes an image of the kernel; without a
// selector (NULL) the first that takes one. OFFKIT_ERROR_INCOMPATIBLE says why the devices take none.
OFFKIT_API offkit_error *offkit_runtime_choose(offkit_runtime *runtime, const char *selector,
    const offkit_registry *registry, const char *kernel, offkit_device **device);
// Why plugins, and drivers below them, were left out so far, a line for each; the empty text if none was.
OFFKIT_API offkit_error *offkit_runtime_failures(offkit_runtime *runtime, const char **failures);
OFFKIT_API void offkit_runtime_free(offkit_runtime *runtime);

OFFKIT_API offkit_error *offkit_device_name(const offkit_device *device, const char **name);
OFFKIT_API offkit_error *offkit_device_vendor(const offkit_device *device, const char **vendor);
// The version of the device's driver.
OFFKIT_API offkit_error *offkit_device_version(const offkit_device *device, const char **version);
OFFKIT_API offkit_error *offkit_device_get_type(const offkit_device *device, offkit_device_type *type);
// The most work-items a work-group can have.
OFFKIT_API offkit_error *offkit_device_max_group_size(const offkit_device *device, size_t *size);
// How many work-groups run at the same time.
OFFKIT_API offkit_error *offkit_device_compute_units(const offkit_device *device, uint32_t *count);
// The bytes of global memory.
OFFKIT_API offkit_error *offkit_device_memory_size(const offkit_device *device, uint64_t *size);
// Whether both are the same device of the same driver, whichever runtimes they came from.
OFFKIT_API offkit_error *offkit_device_is_same(const offkit_device *device, const offkit_device *other, bool *same);
OFFKIT_API void offkit_device_free(offkit_device *device);

// How a device is divided, and what the numbers beside it mean.
typedef enum offkit_partition {
  // One number: the compute units of every part.
  OFFKIT_PARTITION_EQUALLY = 1,
  // A part for each number, of so many compute units.
  OFFKIT_PARTITION_BY_COUNTS = 2,
  // One number: what the units of a part share, as CL_DEVICE_AFFINITY_DOMAIN_* say it.
  OFFKIT_PARTITION_BY_AFFINITY = 3
} offkit_partition;

// Divides a device into parts, which are devices as well. OFFKIT_ERROR_UNSUPPORTED if it cannot be divided, or not so:
// the CPU device is divided equally and by counts.
OFFKIT_API offkit_error *offkit_device_partition(const offkit_device *device, offkit_partition how,
    const size_t *numbers, size_t count, offkit_parts **parts);
OFFKIT_API size_t offkit_parts_count(const offkit_parts *parts);
// The part with a number, from 0. It may outlive `parts`.
OFFKIT_API offkit_error *offkit_parts_device(const offkit_parts *parts, size_t number, offkit_device **device);
OFFKIT_API void offkit_parts_free(offkit_parts *parts);

// ------------------------------------------------------------------------------------------------ contexts and queues

// A context of one or more devices, all of one driver.
OFFKIT_API offkit_error *offkit_context_create(const offkit_device *const *devices, size_t count,
    offkit_context **context);
OFFKIT_API void offkit_context_free(offkit_context *context);

// How a queue works, combined with |.
enum {
  // Commands run one after the other.
  OFFKIT_QUEUE_IN_ORDER = 0,
  // Commands may overtake each other; only the events that they wait for order them.
  OFFKIT_QUEUE_OUT_OF_ORDER = 1,
  // Events know when their commands ran: offkit_event_profile.
  OFFKIT_QUEUE_PROFILING = 2
};

// A queue for a device of the context.
OFFKIT_API offkit_error *offkit_queue_create(const offkit_context *context, const offkit_device *device,
    uint32_t flags, offkit_queue **queue);
// Waits until all commands submitted so far are done. That one of them failed is told by its event, not here.
OFFKIT_API offkit_error *offkit_queue_finish(const offkit_queue *queue);
// Makes an event that completes when the events have; with none, when all commands submitted before have.
OFFKIT_API offkit_error *offkit_queue_marker(const offkit_queue *queue, const offkit_event *const *wait,
    size_t wait_count, offkit_event **event);
// The same, and commands submitted later wait for it. `event` may be NULL.
OFFKIT_API offkit_error *offkit_queue_barrier(const offkit_queue *queue, const offkit_event *const *wait,
    size_t wait_count, offkit_event **event);
// Frees the queue. Commands that were submitted are done nevertheless.
OFFKIT_API void offkit_queue_free(offkit_queue *queue);

// --------------------------------------------------------------------------------------------------- device images

// A registry without images.
OFFKIT_API offkit_error *offkit_registry_create(offkit_registry **registry);
// The registry of this process: the images of the program and the libraries it is made of, if they were wrapped and are
// registered here (see the end of this file). There is one; freeing the object does not empty it.
OFFKIT_API offkit_error *offkit_registry_of_process(offkit_registry **registry);
// Registers all images of a file: a SYCLBIN, a program, a library, an archive, bare SPIR-V, or another kind that offkit
// reads. The file is read again when an image of it is needed. What is damaged is left out: offkit_library_problems.
// `library` may be NULL.
OFFKIT_API offkit_error *offkit_registry_open(const offkit_registry *registry, const char *path,
    offkit_library **library);
// The same of a file in memory, which messages call `name`. The bytes are copied. `library` may be NULL.
OFFKIT_API offkit_error *offkit_registry_add(const offkit_registry *registry, const char *name, const void *bytes,
    size_t size, offkit_library **library);
// Withdraws the images of a library. Kernels that were built of them live on. To withdraw them again is no error.
OFFKIT_API offkit_error *offkit_registry_withdraw(const offkit_registry *registry, const offkit_library *library);
// How many images there are.
OFFKIT_API offkit_error *offkit_registry_image_count(const offkit_registry *registry, size_t *count);
// Where the image with a number is, from 0, in the order in which they came: `app.syclbin!0/ir/0`.
OFFKIT_API offkit_error *offkit_registry_image(const offkit_registry *registry, size_t number,
    const char **location);
// Finds a kernel, lets the device choose among the images that have it, and collects the images that these need:
// who supplies what they import, and so on. `kernel` is its name as it stands in the image, without the compiler's
// prefix, or demangled. OFFKIT_ERROR_NOT_FOUND lists names that are alike, OFFKIT_ERROR_INCOMPATIBLE says why the
// device takes no image, OFFKIT_ERROR_UNRESOLVED which symbol is missing and who needs it.
OFFKIT_API offkit_error *offkit_registry_collect(const offkit_registry *registry, const char *kernel,
    const offkit_device *device, offkit_collection **collection);
// The same where symbols are looked for in these libraries before all others, in this order, also if they were opened as
// OFFKIT_VISIBILITY_LOCAL.
OFFKIT_API offkit_error *offkit_registry_collect_with(const offkit_registry *registry, const char *kernel,
    const offkit_device *device, const offkit_library *const *libraries, size_t library_count,
    offkit_collection **collection);

// Which image supplies a symbol that several images export. docs/shared-libraries.md says who takes part.
typedef enum offkit_exporter_rule {
  // None: OFFKIT_ERROR_AMBIGUOUS names them all.
  OFFKIT_EXPORTER_UNIQUE = 0,
  // One of the library that comes first: in the loader's order for the program and its shared libraries, then in the
  // order in which files were opened.
  OFFKIT_EXPORTER_FIRST = 1,
  // One of the importer's own library, if it exports the symbol; otherwise the first.
  OFFKIT_EXPORTER_OWN_FIRST = 2
} offkit_exporter_rule;

// Changes the rule for what is collected from now on. It is OFFKIT_EXPORTER_FIRST in the registry of the process, and
// OFFKIT_EXPORTER_UNIQUE in others.
OFFKIT_API offkit_error *offkit_registry_set_exporter_rule(const offkit_registry *registry, offkit_exporter_rule rule);
OFFKIT_API void offkit_registry_free(offkit_registry *registry);

// Whom a library serves.
typedef enum offkit_visibility {
  // Itself, and collections that ask for it: offkit_registry_collect_with.
  OFFKIT_VISIBILITY_LOCAL = 0,
  // Everybody.
  OFFKIT_VISIBILITY_GLOBAL = 1
} offkit_visibility;

// Opens a library of device code, as dlopen does for host code: any file that offkit_registry_open takes. In the registry
// of the process, a shared library that is loaded is not opened again: this is the handle for it, and
// OFFKIT_VISIBILITY_GLOBAL lets it serve everybody although it was loaded with RTLD_LOCAL. OFFKIT_ERROR_FORMAT if there
// is no device code.
OFFKIT_API offkit_error *offkit_device_dlopen(const offkit_registry *registry, const char *path,
    offkit_visibility visibility, offkit_library **library);
// Finds a kernel of this library alone, and collects the images that it needs: of this library first, then of those
// that serve everybody.
OFFKIT_API offkit_error *offkit_device_dlsym(const offkit_library *library, const char *kernel,
    const offkit_device *device, offkit_collection **collection);
// Withdraws the images of the library and frees the object; those of a loaded shared library stay until that is unloaded.
// What was built of them lives on.
OFFKIT_API offkit_error *offkit_device_dlclose(offkit_library *library);

// How many images the file has.
OFFKIT_API size_t offkit_library_image_count(const offkit_library *library);
// What is damaged in the file, and was left out, a line for each problem; the empty text if nothing is.
OFFKIT_API const char *offkit_library_problems(const offkit_library *library);
// Frees the object. The images stay registered.
OFFKIT_API void offkit_library_free(offkit_library *library);

// How many images the kernel needs, its own included.
OFFKIT_API size_t offkit_collection_image_count(const offkit_collection *collection);
// Where the image with a number is, from 0: the kernel's own first. NULL if there is none.
OFFKIT_API const char *offkit_collection_image(const offkit_collection *collection, size_t number);
// Which image supplies which symbol to which, a line for each: `SYMBOL: IMPORTER <- EXPORTER`.
OFFKIT_API const char *offkit_collection_resolutions(const offkit_collection *collection);
// Builds the images for the device that the collection is for, which must be one of the context's, and links them.
OFFKIT_API offkit_error *offkit_collection_build(const offkit_collection *collection, const offkit_context *context,
    offkit_kernel **kernel);
OFFKIT_API void offkit_collection_free(offkit_collection *collection);

// ------------------------------------------------------------------------------------------------------------ memory

// A buffer of `size` bytes: a copy of those at `data`, or all 0 if that is NULL. A buffer of no bytes is a null pointer
// for kernels.
OFFKIT_API offkit_error *offkit_buffer_create(const offkit_context *context, const void *data, size_t size,
    offkit_buffer **buffer);
OFFKIT_API size_t offkit_buffer_size(const offkit_buffer *buffer);
// Copies `size` bytes from `offset` on to the host, once the events are done, and waits for it.
OFFKIT_API offkit_error *offkit_buffer_read(const offkit_buffer *buffer, const offkit_queue *queue, size_t offset,
    void *data, size_t size, const offkit_event *const *wait, size_t wait_count);
// Copies `size` bytes to the buffer, from `offset` on, once the events are done, and waits for it.
OFFKIT_API offkit_error *offkit_buffer_write(const offkit_buffer *buffer, const offkit_queue *queue, size_t offset,
    const void *data, size_t size, const offkit_event *const *wait, size_t wait_count);
// Submits to fill `size` bytes, from `offset` on, with repetitions of the pattern, once the events are done. The pattern
// has a power of two of bytes, 128 at most; offset and size are multiples of that. `event` may be NULL.
OFFKIT_API offkit_error *offkit_buffer_fill(const offkit_buffer *buffer, const offkit_queue *queue, size_t offset,
    size_t size, const void *pattern, size_t pattern_size, const offkit_event *const *wait, size_t wait_count,
    offkit_event **event);
// Submits to copy `size` bytes from one buffer to another, or to another part of it, once the events are done. Parts that
// overlap are an error. `event` may be NULL.
OFFKIT_API offkit_error *offkit_buffer_copy(const offkit_buffer *from, size_t from_offset, const offkit_buffer *to,
    size_t to_offset, size_t size, const offkit_queue *queue, const offkit_event *const *wait, size_t wait_count,
    offkit_event **event);
OFFKIT_API void offkit_buffer_free(offkit_buffer *buffer);

// Who can reach an allocation of unified shared memory.
typedef enum offkit_usm_kind {
  // Memory of the host that the device can reach.
  OFFKIT_USM_HOST = 0,
  // Memory of the device that the host cannot reach.
  OFFKIT_USM_DEVICE = 1,
  // Memory that both can reach, and that may move between them.
  OFFKIT_USM_SHARED = 2
} offkit_usm_kind;

// `size` bytes with whatever is in them. `alignment` is in bytes, 0 for the device's choice.
// OFFKIT_ERROR_UNSUPPORTED or OFFKIT_ERROR_DEVICE if the device has no memory of that kind.
OFFKIT_API offkit_error *offkit_usm_create(const offkit_context *context, const offkit_device *device,
    offkit_usm_kind kind, size_t size, uint32_t alignment, offkit_usm **usm);
// The address of the first byte. The host may only use that of memory it can reach, and while no command uses it.
OFFKIT_API void *offkit_usm_address(const offkit_usm *usm);
OFFKIT_API size_t offkit_usm_size(const offkit_usm *usm);
// Copies bytes between the allocation, from `offset` on, and the host, once the events are done, and waits for it.
OFFKIT_API offkit_error *offkit_usm_read(const offkit_usm *usm, const offkit_queue *queue, size_t offset, void *data,
    size_t size, const offkit_event *const *wait, size_t wait_count);
OFFKIT_API offkit_error *offkit_usm_write(const offkit_usm *usm, const offkit_queue *queue, size_t offset,
    const void *data, size_t size, const offkit_event *const *wait, size_t wait_count);
// Submits to set `size` bytes, from `offset` on, to a value, once the events are done. `event` may be NULL.
OFFKIT_API offkit_error *offkit_usm_fill(const offkit_usm *usm, const offkit_queue *queue, size_t offset, size_t size,
    uint8_t value, const offkit_event *const *wait, size_t wait_count, offkit_event **event);
// Submits to copy `size` bytes from one allocation to another, or to another part of it, once the events are done. Parts
// that overlap are an error. `event` may be NULL.
OFFKIT_API offkit_error *offkit_usm_copy(const offkit_usm *from, size_t from_offset, const offkit_usm *to,
    size_t to_offset, size_t size, const offkit_queue *queue, const offkit_event *const *wait, size_t wait_count,
    offkit_event **event);
// Frees the allocation, once the commands that were given it are done. Its address means nothing from this call on.
OFFKIT_API void offkit_usm_free(offkit_usm *usm);

// ------------------------------------------------------------------------------------------------------------ kernels

// What an argument is.
typedef enum offkit_argument_kind {
  // `size` bytes at `pointer`: a number, a vector, a struct.
  OFFKIT_ARGUMENT_VALUE = 0,
  // The buffer `pointer`, an offkit_buffer.
  OFFKIT_ARGUMENT_BUFFER = 1,
  // The address of the byte `size` of the allocation `pointer`, an offkit_usm.
  OFFKIT_ARGUMENT_USM = 2,
  // The address `pointer`: that of memory the device can reach, or NULL.
  OFFKIT_ARGUMENT_ADDRESS = 3,
  // `size` bytes of local memory for each work-group.
  OFFKIT_ARGUMENT_LOCAL = 4
} offkit_argument_kind;

// An argument of a launch. The functions below make them. What `pointer` points to is used during the launch's call
// only; the launch itself keeps the memory that it is given.
typedef struct offkit_argument {
  offkit_argument_kind kind;
  size_t size;
  const void *pointer;
} offkit_argument;

static inline offkit_argument offkit_argument_of(offkit_argument_kind kind, const void *pointer, size_t size) {
  offkit_argument argument;
  argument.kind = kind;
  argument.size = size;
  argument.pointer = pointer;
  return argument;
}

// A value: `float a = 2.5f; offkit_value(&a, sizeof a)`.
static inline offkit_argument offkit_value(const void *value, size_t size) {
  return offkit_argument_of(OFFKIT_ARGUMENT_VALUE, value, size);
}

static inline offkit_argument offkit_buffer_argument(const offkit_buffer *buffer) {
  return offkit_argument_of(OFFKIT_ARGUMENT_BUFFER, buffer, 0);
}

static inline offkit_argument offkit_usm_argument(const offkit_usm *usm, size_t offset) {
  return offkit_argument_of(OFFKIT_ARGUMENT_USM, usm, offset);
}

static inline offkit_argument offkit_address(const void *address) {
  return offkit_argument_of(OFFKIT_ARGUMENT_ADDRESS, address, 0);
}

static inline offkit_argument offkit_local(size_t size) {
  return offkit_argument_of(OFFKIT_ARGUMENT_LOCAL, NULL, size);
}

// The index space of a launch: one work-item for every index.
typedef struct offkit_range {
  // 1, 2 or 3. Of the arrays below, only so many elements count.
  uint32_t dimensions;
  // The first index.
  size_t offset[3];
  // The number of indices.
  size_t global[3];
  // The work-items of a work-group; all 0 leaves it to the device.
  size_t local[3];
} offkit_range;

// The kernel's name as it stands in its image.
OFFKIT_API const char *offkit_kernel_name(const offkit_kernel *kernel);
// What the kernel takes, as text: `saxpy(f32, global const f32*, global f32*)`. The empty text if its image does
// not say it.
OFFKIT_API const char *offkit_kernel_signature(const offkit_kernel *kernel);
// Says whether launches from now on find addresses of unified shared memory in memory: in a struct, a list, a table. Without
// it they may reach only what they are given as arguments, and the device globals of their program.
OFFKIT_API offkit_error *offkit_kernel_set_indirect_access(const offkit_kernel *kernel, bool indirect);
// Submits a launch with these arguments, in order, for when the events are done. `event` may be NULL.
// OFFKIT_ERROR_ARGUMENT for arguments that do not fit what the image says about the kernel. That the kernel failed is
// told by its event.
OFFKIT_API offkit_error *offkit_kernel_launch(const offkit_kernel *kernel, const offkit_queue *queue,
    const offkit_range *range, const offkit_argument *arguments, size_t argument_count,
    const offkit_event *const *wait, size_t wait_count, offkit_event **event);
OFFKIT_API void offkit_kernel_free(offkit_kernel *kernel);

// ------------------------------------------------------------------------------------------------------------- events

// How far a command is.
typedef enum offkit_event_status {
  OFFKIT_EVENT_QUEUED = 0,
  OFFKIT_EVENT_SUBMITTED = 1,
  OFFKIT_EVENT_RUNNING = 2,
  OFFKIT_EVENT_COMPLETE = 3,
  OFFKIT_EVENT_FAILED = 4
} offkit_event_status;

// When things happened to a command: nanoseconds of the device's clock.
typedef struct offkit_profile {
  uint64_t queued;
  uint64_t submitted;
  uint64_t started;
  uint64_t ended;
} offkit_profile;

// Waits until the command is done. OFFKIT_ERROR_DEVICE if it failed.
OFFKIT_API offkit_error *offkit_event_wait(const offkit_event *event);
OFFKIT_API offkit_error *offkit_event_get_status(const offkit_event *event, offkit_event_status *status);
// What is called when a command is done, on a thread of the runtime or of a driver, with OFFKIT_EVENT_COMPLETE or
// OFFKIT_EVENT_FAILED, and what was given with it. On drivers it must not wait for other commands.
typedef void (*offkit_event_function)(offkit_event_status status, void *data);
// Has the function called once; at once if the command is done already.
OFFKIT_API offkit_error *offkit_event_on_completion(const offkit_event *event, offkit_event_function function,
    void *data);
// When the command ran. It must be complete, and of a queue with OFFKIT_QUEUE_PROFILING.
OFFKIT_API offkit_error *offkit_event_profile(const offkit_event *event, offkit_profile *profile);
// Frees the event. This does not cancel the command.
OFFKIT_API void offkit_event_free(offkit_event *event);

// ----------------------------------------------------------------------------------------------------- kernel bundles

// The state of a bundle; the rules are those of SYCL's kernel bundles and sycl_ext_oneapi_syclbin.
typedef enum offkit_state {
  // To be compiled and linked.
  OFFKIT_STATE_INPUT = 0,
  // Compiled, to be linked.
  OFFKIT_STATE_OBJECT = 1,
  // Ready to run.
  OFFKIT_STATE_EXECUTABLE = 2
} offkit_state;

// The SYCLBIN that offkit_bundle_content writes.
typedef enum offkit_syclbin_version {
  // What SYCL runtimes of 2025 and 2026 read: version 1 in an offload binary.
  OFFKIT_SYCLBIN_V1 = 1,
  OFFKIT_SYCLBIN_V2 = 2
} offkit_syclbin_version;

// How offkit_bundle_link and offkit_bundle_build link: 0, or these.
enum {
  // Takes native code where the bundles' files have it beside code for the device's compiler, and all that it needs is
  // there as native code too.
  OFFKIT_LINK_FAST = 1,
  // Who supplies a symbol that several images export, as offkit_exporter_rule says; with neither, OFFKIT_EXPORTER_UNIQUE.
  // A library is what a bundle has of one file; they come in the order of the bundles.
  OFFKIT_LINK_FIRST = 2,
  OFFKIT_LINK_OWN_FIRST = 4
};

// A bundle of a SYCLBIN file, for devices of the context. OFFKIT_ERROR_STATE if the file is in another state.
OFFKIT_API offkit_error *offkit_bundle_open(const offkit_context *context, const offkit_device *const *devices,
    size_t device_count, const char *path, offkit_state state, offkit_bundle **bundle);
// The same of a SYCLBIN in memory, which messages call `name`. The bytes are copied.
OFFKIT_API offkit_error *offkit_bundle_from_bytes(const offkit_context *context, const offkit_device *const *devices,
    size_t device_count, const char *name, const void *bytes, size_t size, offkit_state state,
    offkit_bundle **bundle);
// A bundle of one SPIR-V module, in the input state.
OFFKIT_API offkit_error *offkit_bundle_from_spirv(const offkit_context *context, const offkit_device *const *devices,
    size_t device_count, const char *name, const void *bytes, size_t size, offkit_bundle **bundle);
// A bundle of all images of a registry that one of the devices takes.
OFFKIT_API offkit_error *offkit_bundle_of_registry(const offkit_context *context, const offkit_device *const *devices,
    size_t device_count, const offkit_registry *registry, offkit_state state, offkit_bundle **bundle);
// From input to object: every image is compiled. The bundle stays as it is.
OFFKIT_API offkit_error *offkit_bundle_compile(const offkit_bundle *input, offkit_bundle **object);
// From objects to an executable, for these devices; with none, for those that all bundles have. OFFKIT_ERROR_UNRESOLVED
// names a symbol that no image defines, and who imports it.
OFFKIT_API offkit_error *offkit_bundle_link(const offkit_bundle *const *objects, size_t count,
    const offkit_device *const *devices, size_t device_count, uint32_t flags, offkit_bundle **executable);
// From input to executable: compiled and linked.
OFFKIT_API offkit_error *offkit_bundle_build(const offkit_bundle *input, uint32_t flags, offkit_bundle **executable);
// One bundle of several in the same state, for the devices that all have.
OFFKIT_API offkit_error *offkit_bundle_join(const offkit_bundle *const *bundles, size_t count,
    offkit_bundle **joined);
OFFKIT_API offkit_state offkit_bundle_get_state(const offkit_bundle *bundle);
// Whether a kernel is there for a device; for any of the bundle's, if that is NULL.
OFFKIT_API offkit_error *offkit_bundle_has_kernel(const offkit_bundle *bundle, const char *name,
    const offkit_device *device, bool *has);
OFFKIT_API size_t offkit_bundle_kernel_count(const offkit_bundle *bundle);
// The name of the kernel with a number, from 0, as it stands in the images, in alphabetic order. NULL if there is none.
OFFKIT_API const char *offkit_bundle_kernel_name(const offkit_bundle *bundle, size_t number);
// A kernel of an executable bundle, for a device. What was read from a file is built for this.
OFFKIT_API offkit_error *offkit_bundle_kernel(const offkit_bundle *bundle, const char *name,
    const offkit_device *device, offkit_kernel **kernel);
OFFKIT_API size_t offkit_bundle_constant_count(const offkit_bundle *bundle);
// The symbolic name of the specialization constant with a number, from 0. NULL if there is none.
OFFKIT_API const char *offkit_bundle_constant_name(const offkit_bundle *bundle, size_t number);
// The value of a specialization constant: what was set, or else its default. OFFKIT_ERROR_NOT_FOUND if there is no such
// constant, or nothing tells its value.
OFFKIT_API offkit_error *offkit_bundle_constant(const offkit_bundle *bundle, const char *name, offkit_bytes **value);
// Sets the value of a specialization constant of an input bundle, as its bytes in memory. Bundles that were made of this
// one before keep what they have.
OFFKIT_API offkit_error *offkit_bundle_set_constant(offkit_bundle *bundle, const char *name, const void *value,
    size_t size);
OFFKIT_API size_t offkit_bundle_global_count(const offkit_bundle *bundle);
// The name of the device global with a number, from 0, as it stands in the images. NULL if there is none.
OFFKIT_API const char *offkit_bundle_global_name(const offkit_bundle *bundle, size_t number);
// The size of a device global in bytes. It may be named as in the images, in the code, or in the source.
// OFFKIT_ERROR_NOT_FOUND if there is no such one.
OFFKIT_API offkit_error *offkit_bundle_global_size(const offkit_bundle *bundle, const char *name, size_t *size);
// Reads `size` bytes of a device global of an executable bundle on the queue's device, from byte `offset` on, and waits
// for it. OFFKIT_ERROR_AMBIGUOUS if several images have one of their own by that name.
OFFKIT_API offkit_error *offkit_bundle_read_global(const offkit_bundle *bundle, const char *name,
    const offkit_queue *queue, size_t offset, void *data, size_t size);
// Writes them, for kernels that are launched from then on.
OFFKIT_API offkit_error *offkit_bundle_write_global(const offkit_bundle *bundle, const char *name,
    const offkit_queue *queue, size_t offset, const void *data, size_t size);
// The bundle as a SYCLBIN file of the same state.
OFFKIT_API offkit_error *offkit_bundle_content(const offkit_bundle *bundle, offkit_syclbin_version version,
    offkit_bytes **content);
OFFKIT_API void offkit_bundle_free(offkit_bundle *bundle);

OFFKIT_API const void *offkit_bytes_data(const offkit_bytes *bytes);
OFFKIT_API size_t offkit_bytes_size(const offkit_bytes *bytes);
OFFKIT_API void offkit_bytes_free(offkit_bytes *bytes);

// --------------------------------------------------------------------------------- registration of wrapped programs
//
// liboffkit.so also exports __sycl_register_lib, __sycl_unregister_lib, __tgt_register_lib and __tgt_unregister_lib,
// which programs with wrapped device code call as they are loaded and unloaded. They are not for calling by hand, and
// not declared here: docs/c-api.md says which forms they take, and who is called if a SYCL or OpenMP runtime has
// functions of the same names.

#ifdef __cplusplus
}
#endif

#endif
