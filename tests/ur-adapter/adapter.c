// An adapter of Unified Runtime with one device that knows two kernels, in any form of the tables: `saxpy`; and `outside`,
// which writes what a sampler reads outside of images to the first byte of an image.
//
// VERSION: the version that it speaks, 11 or 12. FORM: 0 to 3, as in offkit-ur's `Form::ALL`. ODD: one function of
// kernels more than any release has. CRASH: loading it ends the process. BUSY: whoever asks for devices while another
// thread does is told that there are none. CUDA: it says of its device and kernels what NVIDIA's adapter says: kernels count
// the arguments that were set. MUTE: it does not tell how far a launch is while it runs. NAME: the name of its platform, if
// it is not Kitchen.

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

typedef uint32_t result;
enum { SUCCESS = 0, DEVICE_NOT_FOUND = 18, INVALID_ENUMERATION = 53, INVALID_KERNEL_NAME = 29, UNSUPPORTED_VERSION = 43, ADAPTER_SPECIFIC = 66 };

#ifndef NAME
#define NAME "Kitchen"
#endif

#ifdef CRASH
__attribute__((constructor)) static void crash(void) { abort(); }
#endif

// What all handles point to but those of memory, samplers, the other kernel and parts of the device.
static int object, outside, parts[2];

struct memory {
  size_t size, width;
  char *bytes;
};

struct sampler {
  uint32_t addressing;
};

static struct memory *image;
static struct sampler *sampler;
static unsigned parts_left = 2;

static float factor;
static struct memory *vectors[2];
// A launch that nobody has waited for, and whether a buffer went meanwhile.
static bool is_running, is_early;

static result give(const void *answer, size_t length, size_t size, void *value, size_t *size_ret) {
  if (value && size >= length)
    memcpy(value, answer, length);
  if (size_ret)
    *size_ret = length;
  return SUCCESS;
}

static result give_text(const char *text, size_t size, void *value, size_t *size_ret) {
  return give(text, strlen(text) + 1, size, value, size_ret);
}

static result give_number(uint32_t number, size_t size, void *value, size_t *size_ret) {
  return give(&number, sizeof number, size, value, size_ret);
}

static result list_one(uint32_t room, void **handles, uint32_t *count) {
  if (handles && room)
    *handles = &object;
  if (count)
    *count = 1;
  return SUCCESS;
}

static result adapter_last_error(void *adapter, const char **message, int32_t *error) {
  *message = is_early ? "a buffer went before its launch" : "the toaster is on fire";
  *error = 451;
  return SUCCESS;
}

#if FORM == 0
static result platform_get(void **adapters, uint32_t adapter_count, uint32_t room, void **platforms, uint32_t *count) {
  return *adapters == &object && adapter_count == 1 ? list_one(room, platforms, count) : INVALID_ENUMERATION;
}
#else
static result platform_get(void *adapter, uint32_t room, void **platforms, uint32_t *count) {
  return adapter == &object ? list_one(room, platforms, count) : INVALID_ENUMERATION;
}
#endif

static result platform_info(void *platform, uint32_t name, size_t size, void *value, size_t *size_ret) {
  switch (name) {
  case 1: return give_text(NAME, size, value, size_ret);
  case 6: return give_number(3, size, value, size_ret); // CUDA
  default: return INVALID_ENUMERATION;
  }
}

static result device_get(void *platform, uint32_t type, uint32_t room, void **devices, uint32_t *count) {
#ifdef BUSY
  static atomic_int asking;
  bool is_alone = atomic_fetch_add(&asking, 1) == 0;
  thrd_sleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  atomic_fetch_sub(&asking, 1);
  if (!is_alone) return DEVICE_NOT_FOUND;
#endif
  return list_one(room, devices, count);
}

static result device_info(void *device, uint32_t name, size_t size, void *value, size_t *size_ret) {
  bool yes = true;
  uint32_t equally[] = {0x1086, 1};
  switch (name) {
  case 0: return give_number(3, size, value, size_ret); // a GPU
  case 3: return give_number(device == &object ? 2 : 1, size, value, size_ret);
  case 7: return give_number(0x72, size, value, size_ret); // denormals, infinities, nearest, fused
  case 29: // images
  case 53: return give(&yes, 1, size, value, size_ret);
#ifdef CUDA
  case 65: return give_text("nvptx-9.0", size, value, size_ret);
  case 68: return give_text("CUDA 13.0", size, value, size_ret);
  case 70: return give_text("9.0", size, value, size_ret);
#else
  case 65: return give_text("SPIR-V_1.4", size, value, size_ret);
  case 68: return give_text("7.5", size, value, size_ret);
#endif
  case 66: return give_text("Toaster", size, value, size_ret);
  case 76: return give(equally, sizeof *equally, size, value, size_ret);
  case 77: return give_number(parts_left, size, value, size_ret);
  case 79: return give(equally, device == &object ? 0 : sizeof equally, size, value, size_ret);
  case 83: return give_number(5, size, value, size_ret);
  default: return INVALID_ENUMERATION;
  }
}

struct partition {
  uint32_t stype;
  void *next;
  const uint32_t *properties;
  size_t count;
};

static result device_partition(void *device, const struct partition *how, uint32_t room, void **devices, uint32_t *count) {
  if (device != &object || how->stype != 26 || how->count != 1 || how->properties[0] != 0x1086 || how->properties[1] != 1)
    return INVALID_ENUMERATION;
  for (uint32_t i = 0; devices && i < room && i < 2; i++, parts_left--)
    devices[i] = &parts[i];
  if (count)
    *count = 2;
  return SUCCESS;
}

static result device_retain(void *device) {
  parts_left -= device != &object;
  return SUCCESS;
}

static result device_release(void *device) {
  parts_left += device != &object;
  return SUCCESS;
}

static result context_create(uint32_t count, void **devices, void *properties, void **context) {
  *context = &object;
  return SUCCESS;
}

static result nothing(void *handle) { return SUCCESS; }

static result finish(void *queue) {
  is_running = false;
  return SUCCESS;
}

static result queue_create(void *context, void *device, void *properties, void **queue) {
  *queue = &object;
  return SUCCESS;
}

static result buffer_create(void *context, uint32_t flags, size_t size, void **properties, void **buffer) {
  struct memory *memory = malloc(sizeof *memory);
  memory->size = size;
  memory->bytes = calloc(size, 1);
  if (properties)
    memcpy(memory->bytes, properties[2], size);
  *buffer = memory;
  return SUCCESS;
}

struct description {
  uint32_t stype;
  void *next;
  uint32_t type;
  size_t width, height, depth, images, row, slice;
  uint32_t levels, samples;
};

static result image_create(void *context, uint32_t flags, const uint32_t format[2], const struct description *shape, void *host,
                           void **made) {
  // Two dimensions, of red, green, blue and alpha in a byte each.
  if (shape->stype != 1 || shape->type != 0 || shape->samples || host || format[0] != 5 || format[1] != 10)
    return INVALID_ENUMERATION;
  result code = buffer_create(context, flags, 4 * shape->width * shape->height, 0, made);
  ((struct memory *)*made)->width = shape->width;
  return code;
}

static result image_info(struct memory *memory, uint32_t name, size_t size, void *value, size_t *size_ret) {
  uint32_t format[] = {5, 10};
  switch (name) {
  case 0: return give(format, sizeof format, size, value, size_ret);
  case 4: return give(&memory->width, sizeof memory->width, size, value, size_ret);
  default: return INVALID_ENUMERATION;
  }
}

struct sampling {
  uint32_t stype;
  void *next;
  bool is_normalized;
  uint32_t addressing, filter;
};

static result sampler_create(void *context, const struct sampling *how, struct sampler **made) {
  if (how->stype != 13 || how->is_normalized || how->filter != 0)
    return INVALID_ENUMERATION;
  *made = malloc(sizeof **made);
  (*made)->addressing = how->addressing;
  return SUCCESS;
}

static result sampler_release(struct sampler *sampler) {
  is_early |= is_running;
  free(sampler);
  return SUCCESS;
}

static result buffer_release(struct memory *memory) {
  is_early |= is_running;
  free(memory->bytes);
  free(memory);
  return SUCCESS;
}

static result program_create(void *context, void *il, size_t length, void *properties, void **program) {
  *program = &object;
  return SUCCESS;
}

#ifdef CUDA
static const char *code;

static result program_create_with_binary(void *context, uint32_t count, void **devices, const size_t *lengths,
                                         const char **binaries, void *properties, void **program) {
  code = *binaries;
  *program = &object;
  return code[*lengths] ? INVALID_ENUMERATION : SUCCESS; // A NUL is behind it.
}

static result program_compile(void *context, void *program, const char *options) { abort(); }

static result program_link(void *context, uint32_t count, void **programs, const char *options, void **program) {
  *program = &object;
  return SUCCESS;
}
#endif

static result program_build(void *context, void *program, const char *options) {
  return options && strstr(options, "burn") ? ADAPTER_SPECIFIC : SUCCESS;
}

static result program_build_info(void *p, void *d, uint32_t name, size_t size, void *value, size_t *size_ret) {
  return name == 2 ? give_text("", size, value, size_ret) : give_number(2, size, value, size_ret);
}

static result kernel_create(void *program, const char *name, void **kernel) {
#ifdef CUDA
  if (code && strncmp(code, ".version", 8))
    return INVALID_ENUMERATION;
#endif
  *kernel = strcmp(name, "outside") ? &object : &outside;
  return strcmp(name, "saxpy") && strcmp(name, "outside") ? INVALID_KERNEL_NAME : SUCCESS;
}

static result kernel_info(void *kernel, uint32_t name, size_t size, void *value, size_t *size_ret) {
#ifdef CUDA
  if (name == 1)
    return give_number(0, size, value, size_ret);
#endif
  if (kernel == &outside)
    return name == 1 ? give_number(2, size, value, size_ret) : give_text("outside", size, value, size_ret);
  return name == 1 ? give_number(3, size, value, size_ret) : give_text("saxpy", size, value, size_ret);
}

static result set_value(void *kernel, uint32_t index, size_t size, void *properties, const float *value) {
  factor = *value;
  return SUCCESS;
}

static result set_buffer(void *kernel, uint32_t index, void *properties, struct memory *memory) {
  *(kernel == &outside ? &image : &vectors[index - 1]) = memory;
  return SUCCESS;
}

static result set_sampler(void *kernel, uint32_t index, void *properties, struct sampler *value) {
  sampler = value;
  return kernel == &outside && index == 1 ? SUCCESS : INVALID_ENUMERATION;
}

static result run(void *kernel, const size_t *offset, const size_t *global, uint32_t events, void **event) {
  *event = &object;
  is_running = true;
  if (kernel == &outside) {
    *image->bytes = sampler->addressing;
    return SUCCESS;
  }
  float *x = (float *)vectors[0]->bytes, *y = (float *)vectors[1]->bytes;
  for (size_t i = offset[0]; i < offset[0] + global[0]; i++)
    y[i] += factor * x[i];
  return events == 0 ? SUCCESS : INVALID_ENUMERATION;
}

#define RANGE void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *global, const size_t *local
#define ORDER uint32_t events, void **list, void **event
#if FORM == 0
static result launch(RANGE, ORDER) { return run(kernel, offset, global, events, event); }
#elif FORM == 1
static result launch(RANGE, uint32_t count, void *properties, ORDER) { return run(kernel, offset, global, events, event); }
#elif FORM == 2
static result launch(RANGE, void *properties, ORDER) { return run(kernel, offset, global, events, event); }
#else
struct argument {
  uint32_t stype;
  void *next;
  uint32_t type, index;
  size_t size;
  union {
    const float *value;
    struct sampler *sampler;
    struct {
      struct memory *memory;
      uint32_t flags;
    } memory;
  } as;
};
static result launch(RANGE, uint32_t count, const struct argument *arguments, void *properties, ORDER) {
  for (const struct argument *argument = arguments; argument < arguments + count; argument++) {
    if (argument->stype != 0x5000)
      return INVALID_ENUMERATION;
    if (argument->type == 0)
      set_value(kernel, argument->index, argument->size, 0, argument->as.value);
    else if (argument->type == 4)
      set_sampler(kernel, argument->index, 0, argument->as.sampler);
    else
      set_buffer(kernel, argument->index, 0, argument->as.memory.memory);
  }
  return run(kernel, offset, global, events, event);
}
#endif

static result read(void *queue, struct memory *memory, bool blocking, size_t offset, size_t size, void *out, ORDER) {
  memcpy(out, memory->bytes + offset, size);
  *event = &object;
  return SUCCESS;
}

struct three {
  uint64_t x, y, z;
};

static result image_read(void *queue, struct memory *from, bool blocking, struct three origin, struct three region, size_t row,
                         size_t slice, char *out, ORDER) {
  for (uint64_t y = 0; y < region.y; y++)
    memcpy(out + y * (row ? row : 4 * region.x), from->bytes + 4 * ((origin.y + y) * from->width + origin.x), 4 * region.x);
  *event = &object;
  return SUCCESS;
}

static result event_info(void *event, uint32_t name, size_t size, void *value, size_t *size_ret) {
#ifdef MUTE
  if (is_running) return ADAPTER_SPECIFIC;
#endif
  return give_number(is_running ? 1 : 0, size, value, size_ret);
}

static result event_wait(uint32_t count, void **events) { return finish(0); }

#define TABLE(name) \
  __attribute__((visibility("default"))) result urGet##name##ProcAddrTable(uint32_t version, void **table) { \
    if (version != VERSION) \
      return UNSUPPORTED_VERSION;
#define DONE \
  return SUCCESS; \
  }

#if FORM == 0
TABLE(Global)
#else
TABLE(Adapter)
#endif
  table[0] = list_one;
  table[3] = adapter_last_error;
DONE
TABLE(Platform) // Nothing writes to its other places.
  table[0] = platform_get;
  table[1] = platform_info;
DONE
TABLE(Device)
  table[0] = device_get;
  table[1] = device_info;
  table[2] = device_retain;
  table[3] = device_release;
  table[4] = device_partition;
DONE
TABLE(Context)
  table[0] = context_create;
  table[1] = table[2] = nothing;
DONE
TABLE(Queue)
  table[1] = queue_create;
  table[2] = table[3] = nothing;
  table[6] = finish;
DONE
TABLE(Sampler)
  table[0] = sampler_create;
  table[1] = nothing;
  table[2] = sampler_release;
DONE
TABLE(Mem)
  table[0] = image_create;
  table[9] = image_info;
  table[1] = buffer_create;
  table[2] = nothing;
  table[3] = buffer_release;
DONE
TABLE(Program)
  table[0] = program_create;
#ifdef CUDA
  table[1] = program_create_with_binary;
  table[3] = program_compile;
  table[4] = program_link;
#endif
  table[2] = program_build;
  table[5] = table[6] = nothing;
  table[10] = program_build_info;
DONE
TABLE(Event)
  table[0] = event_info;
  table[2] = event_wait;
  table[3] = table[4] = nothing;
DONE
TABLE(Kernel)
  static const int sizes[] = {16, 17, 17, 13};
  table[sizes[FORM] - 1 + ODD] = 0;
  table[0] = kernel_create;
  table[1] = kernel_info;
  table[4] = table[5] = nothing;
#if FORM < 3
  table[9] = set_value;
  table[13] = set_sampler;
  table[14] = set_buffer;
#endif
DONE
TABLE(Enqueue)
  table[FORM == 3 ? 24 : 25] = 0;
  table[FORM == 3 ? 2 : 3] = read;
  table[FORM == 3 ? 9 : 10] = image_read;
#if FORM < 3
  table[0] = launch;
#endif
DONE
TABLE(EnqueueExp)
#if FORM == 3
  table[0] = launch;
#endif
DONE
#if FORM >= 2
TABLE(GraphExp)
  table[0] = 0;
DONE
#endif
