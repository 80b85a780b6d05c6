// Starting, devices and their contexts.

#include "standin.h"

static struct object *primary[16];
static int retained[16];
static int peers[16][16];

EXPORT CUresult cuInit(unsigned flags) {
  CALL();
  if (number("STANDIN_INIT", 0)) return number("STANDIN_INIT", 0);
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (visible && !visible[0]) return NO_DEVICE;
  return flags ? INVALID_VALUE : 0;
}

EXPORT CUresult cuDriverGetVersion(int *version) {
  CALL();
  *version = number("STANDIN_CUDA", 12080);
  return 0;
}

static const struct { CUresult code; const char *name, *words; } ERRORS[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
};

static CUresult tell(CUresult code, const char **text, int words) {
  for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
    if (ERRORS[i].code == code) {
      *text = words ? ERRORS[i].words : ERRORS[i].name;
      return 0;
    }
  *text = NULL;
  return INVALID_VALUE;
}

EXPORT CUresult cuGetErrorName(CUresult code, const char **text) { return tell(code, text, 0); }
EXPORT CUresult cuGetErrorString(CUresult code, const char **text) { return tell(code, text, 1); }

EXPORT CUresult cuDeviceGetCount(int *count) {
  CALL();
  *count = number("STANDIN_DEVICES", 1);
  return 0;
}

EXPORT CUresult cuDeviceGet(int *device, int ordinal) {
  CALL();
  if (ordinal < 0 || ordinal >= number("STANDIN_DEVICES", 1)) return INVALID_DEVICE;
  *device = ordinal;
  return 0;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, int device) {
  CALL();
  snprintf(name, size, "NVIDIA Stand-in %d", device);
  return 0;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, unsigned attribute, int device) {
  CALL();
  (void)device;
  switch (attribute) {
  case 1: case 2: case 3: *value = 1024; return 0;
  case 4: *value = 64; return 0;
  case 5: *value = 2147483647; return 0;
  case 6: case 7: *value = 65535; return 0;
  case 8: *value = 49152; return 0;
  case 9: *value = 65536; return 0;
  case 10: *value = 32; return 0;
  case 13: *value = 1980000; return 0;
  case 16: *value = 132; return 0;
  case 32: *value = 1; return 0;
  case 33: *value = 0x1b + device; return 0;
  case 75: *value = number("STANDIN_CAPABILITY", 90) / 10; return 0;
  case 76: *value = number("STANDIN_CAPABILITY", 90) % 10; return 0;
  case 83: case 89: *value = 1; return 0;
  case 97: *value = 232448; return 0;
  default: *value = 0; return 0;
  }
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
  CALL();
  (void)device;
  *bytes = (size_t)80 << 30;
  return 0;
}

EXPORT CUresult cuDeviceGetUuid(unsigned char *uuid, int device) {
  CALL();
  memset(uuid, 0x40 + device, 16);
  return 0;
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, int device, int peer) {
  CALL();
  *can = device != peer;
  return 0;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(handle *context, int device) {
  CALL();
  if (!primary[device]) {
    primary[device] = new_object(CONTEXT);
    primary[device]->device = device;
  }
  retained[device]++;
  *context = primary[device];
  return 0;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  END();
  if (!retained[device]) return INVALID_CONTEXT;
  if (--retained[device]) return 0;
  finish_all();
  struct object *gone = primary[device];
  primary[device] = NULL;
  memset(peers[device], 0, sizeof peers[device]);
  return delete_object(gone, CONTEXT);
}

EXPORT CUresult cuCtxDestroy_v2(handle context) {
  END();
  finish_all();
  return delete_object(context, CONTEXT);
}

// Contexts that are lost can be made current: what is called then fails.
EXPORT CUresult cuCtxPushCurrent_v2(handle context) {
  if (!lost) CALL();
  if (!is_there(context, CONTEXT) || depth == 64) return INVALID_CONTEXT;
  stack[depth++] = context;
  return 0;
}

EXPORT CUresult cuCtxPopCurrent_v2(handle *context) {
  END();
  CURRENT();
  *context = stack[--depth];
  return 0;
}

EXPORT CUresult cuCtxEnablePeerAccess(handle peer, unsigned flags) {
  CALL();
  CURRENT();
  int *enabled = &peers[stack[depth - 1]->device][peer->device];
  if (flags) return INVALID_VALUE;
  if (*enabled) return PEER_ENABLED;
  *enabled = 1;
  return 0;
}

