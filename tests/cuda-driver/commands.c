// Commands: copies, fills and launches. What is wrong with their arguments is known when they are submitted.

#include "standin.h"

#define DEVICE(address, size) do { if (!memory_at((uintptr_t)(address), size)) return INVALID_VALUE; } while (0)

struct rows { size_t x, y; unsigned kind; unsigned char *host, *device; void *array; size_t pitch; };
struct copy { struct rows source, target; size_t width, height; };

static unsigned char *row_of(const struct rows *rows, size_t row) {
  return (rows->kind == 1 ? rows->host : rows->device) + row * rows->pitch;
}

static void copy_rows(void *data) {
  const struct copy *copy = data;
  for (size_t row = 0; row < copy->height; row++)
    memmove(row_of(&copy->target, row), row_of(&copy->source, row), copy->width);
}

static CUresult copy_bytes(void *target, const void *source, size_t size, handle stream) {
  const struct copy copy = {{.device = (void *)source}, {.device = target}, size, 1};
  submit(stream, copy_rows, &copy, sizeof copy);
  return 0;
}

EXPORT CUresult cuMemcpyAsync(void *target, void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  return copy_bytes(target, source, size, stream);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(void *target, const void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(target, size);
  return copy_bytes(target, source, size, stream);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *target, void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(source, size);
  return copy_bytes(target, source, size, stream);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(void *target, void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(target, size);
  DEVICE(source, size);
  return copy_bytes(target, source, size, stream);
}

EXPORT CUresult cuMemcpyPeerAsync(void *target, handle to, void *source, handle from, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  struct object *one = memory_at((uintptr_t)source, size), *other = memory_at((uintptr_t)target, size);
  if (!one || !other || one->device != from->device || other->device != to->device) return INVALID_VALUE;
  return copy_bytes(target, source, size, stream);
}

EXPORT CUresult cuMemcpy2DAsync_v2(const struct copy *copy, handle stream) {
  CALL();
  STREAM(stream);
  const struct rows *sides[] = {&copy->source, &copy->target};
  for (int i = 0; i < 2; i++) {
    if (sides[i]->pitch < copy->width) return INVALID_VALUE;
    for (size_t row = 0; sides[i]->kind == 2 && row < copy->height; row++) DEVICE(row_of(sides[i], row), copy->width);
  }
  submit(stream, copy_rows, copy, sizeof *copy);
  return 0;
}

// Rows of words, each of so many bytes.
struct fill { unsigned char *address; size_t pitch, width, height, word; unsigned value; };

static void fill_rows(void *data) {
  const struct fill *fill = data;
  for (size_t row = 0; row < fill->height; row++)
    for (size_t i = 0; i < fill->width; i++)
      memcpy(fill->address + row * fill->pitch + i * fill->word, &fill->value, fill->word);
}

static CUresult submit_fill(struct fill fill, handle stream) {
  STREAM(stream);
  if ((uintptr_t)fill.address % fill.word || fill.pitch % fill.word) return INVALID_VALUE;
  for (size_t row = 0; row < fill.height; row++) DEVICE(fill.address + row * fill.pitch, fill.width * fill.word);
  submit(stream, fill_rows, &fill, sizeof fill);
  return 0;
}

EXPORT CUresult cuMemsetD8Async(void *address, unsigned char value, size_t count, handle stream) {
  CALL();
  return submit_fill((struct fill){address, 0, count, 1, 1, value}, stream);
}

EXPORT CUresult cuMemsetD16Async(void *address, unsigned short value, size_t count, handle stream) {
  CALL();
  return submit_fill((struct fill){address, 0, count, 1, 2, value}, stream);
}

EXPORT CUresult cuMemsetD32Async(void *address, unsigned value, size_t count, handle stream) {
  CALL();
  return submit_fill((struct fill){address, 0, count, 1, 4, value}, stream);
}

EXPORT CUresult cuMemsetD2D8Async(void *address, size_t pitch, unsigned char value, size_t width, size_t height, handle stream) {
  CALL();
  return submit_fill((struct fill){address, pitch, width, height, 1, value}, stream);
}

EXPORT CUresult cuMemsetD2D32Async(void *address, size_t pitch, unsigned value, size_t width, size_t height, handle stream) {
  CALL();
  return submit_fill((struct fill){address, pitch, width, height, 4, value}, stream);
}

#ifndef OLD
EXPORT CUresult cuMemPrefetchAsync(void *address, size_t size, int device, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(address, size);
  return device < 0 ? INVALID_DEVICE : 0;
}

EXPORT CUresult cuMemAdvise(void *address, size_t size, unsigned advice, int device) {
  CALL();
  CURRENT();
  DEVICE(address, size);
  return advice < 1 || advice > 6 || device < -1 ? INVALID_VALUE : 0;
}
#endif

struct launch {
  struct function *function;
  const struct kernel *kernel;
  unsigned blocks[3], threads[3], shared;
  _Alignas(16) unsigned char values[4][16];
};

static void run(void *data) {
  struct launch *launch = data;
  const struct kernel *kernel = launch->kernel;
  void *arguments[4];
  // The module has to be there until the end.
  if (!is_function(launch->function)) {
    lost = LAUNCH_FAILED;
    return;
  }
  for (int i = 0; i < kernel->count; i++) {
    uintptr_t address;
    arguments[i] = launch->values[i];
    memcpy(&address, arguments[i], sizeof address);
    if (kernel->sizes[i] == 8 && i < kernel->count - kernel->locals && !memory_at(address, 1)) {
      lost = ILLEGAL_ADDRESS;
      return;
    }
  }
  kernel->run(arguments, launch->blocks, launch->threads, launch->shared);
}

EXPORT CUresult cuLaunchKernel(struct function *function, unsigned x, unsigned y, unsigned z, unsigned width, unsigned height,
                               unsigned depth_, unsigned shared, handle stream, void **arguments, void **extra) {
  CALL();
  STREAM(stream);
  if (extra || !x || !y || !z || (size_t)width * height * depth_ > 1024) return INVALID_VALUE;
  if (!is_function(function)) return INVALID_HANDLE;
  struct launch launch = {function, function->kernel, {x, y, z}, {width, height, depth_}, shared, {{0}}};
  for (int i = 0; i < launch.kernel->count; i++) memcpy(launch.values[i], arguments[i], launch.kernel->sizes[i]);
  submit(stream, run, &launch, sizeof launch);
  return 0;
}
