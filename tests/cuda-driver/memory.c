// Memory. Giving it back waits for all that was submitted, as it does with the real driver.

#include "standin.h"

static CUresult allocate(enum kind kind, void **address, size_t size) {
  CURRENT();
  if (!size) return INVALID_VALUE;
  if (size > (size_t)4 << 30) return OUT_OF_MEMORY;
  struct object *made = new_object(kind);
  made->size = size;
  made->address = aligned_alloc(256, (size + 255) / 256 * 256);
  memset(made->address, 0xa5, size);
  *address = made->address;
  return 0;
}

static CUresult release(enum kind kind, void *address) {
  finish_all();
  struct object *known = memory_at((uintptr_t)address, 1);
  if (!known || known->address != address || known->kind != kind) return INVALID_VALUE;
  if (kind != REGISTERED) {
    memset(address, 0xdd, known->size);
    free(address);
  }
  return delete_object(known, kind);
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  CALL();
  CURRENT();
  *total = (size_t)80 << 30;
  *free_bytes = *total / 2;
  pthread_mutex_lock(&lock);
  for (struct object *object = objects; object; object = object->next)
    if (object->kind == DEVICE_MEMORY || object->kind == MANAGED_MEMORY) *free_bytes -= object->size;
  pthread_mutex_unlock(&lock);
  return 0;
}

EXPORT CUresult cuMemAlloc_v2(void **address, size_t size) {
  CALL();
  return allocate(DEVICE_MEMORY, address, size);
}

EXPORT CUresult cuMemAllocManaged(void **address, size_t size, unsigned flags) {
  CALL();
  return flags == 1 ? allocate(MANAGED_MEMORY, address, size) : INVALID_VALUE;
}

EXPORT CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  CALL();
  return flags == 3 ? allocate(HOST_MEMORY, address, size) : INVALID_VALUE;
}

EXPORT CUresult cuMemFree_v2(void *address) {
  END();
  CURRENT();
  struct object *known = memory_at((uintptr_t)address, 1);
  return release(known && known->kind == MANAGED_MEMORY ? MANAGED_MEMORY : DEVICE_MEMORY, address);
}

EXPORT CUresult cuMemFreeHost(void *address) {
  END();
  return release(HOST_MEMORY, address);
}

EXPORT CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags) {
  CALL();
  CURRENT();
  if (flags != 3 || memory_at((uintptr_t)address, size)) return INVALID_VALUE;
  struct object *made = new_object(REGISTERED);
  made->address = address;
  made->size = size;
  return 0;
}

EXPORT CUresult cuMemHostUnregister(void *address) {
  END();
  return release(REGISTERED, address);
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(void **address, void *host, unsigned flags) {
  CALL();
  *address = host;
  return flags ? INVALID_VALUE : 0;
}

EXPORT CUresult cuMemGetAddressRange_v2(void **base, size_t *size, void *address) {
  CALL();
  struct object *known = memory_at((uintptr_t)address, 1);
  if (!known) return INVALID_VALUE;
  *base = known->address;
  *size = known->size;
  return 0;
}

