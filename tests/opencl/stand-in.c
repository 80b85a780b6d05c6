// An OpenCL driver of one device that answers queries, and does nothing else. DEVICES: what it has, 0 or 1; FAILS: what listing
// devices returns.
#include <string.h>

#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef FAILS
#define FAILS 0
#endif

static int answer(const void *from, unsigned long length, unsigned long size, void *value, unsigned long *size_ret) {
  if (size_ret) *size_ret = length;
  if (value) memcpy(value, from, length < size ? length : size);
  return 0;
}

static int text(const char *from, unsigned long size, void *value, unsigned long *size_ret) {
  return answer(from, strlen(from) + 1, size, value, size_ret);
}

static int platform_info(void *platform, unsigned name, unsigned long size, void *value, unsigned long *size_ret) {
  switch (name) {
  case 0x901: return text("OpenCL 1.2 for tests", size, value, size_ret);
  case 0x902: return text("Stand-in platform", size, value, size_ret);
  case 0x920: return text("STANDIN", size, value, size_ret);
  default: return text("", size, value, size_ret);
  }
}

static int device_info(void *device, unsigned name, unsigned long size, void *value, unsigned long *size_ret) {
  unsigned long kind = 4;
  switch (name) {
  case 0x1000: return answer(&kind, sizeof kind, size, value, size_ret);
  case 0x102b: return text("Stand-in device", size, value, size_ret);
  case 0x102d: return text("7.5", size, value, size_ret);
  default: return -30;
  }
}

static int devices(void *platform, unsigned long kind, unsigned room, void **places, unsigned *found);

// What every handle begins with: it has the functions of OpenCL 1.2.
static void *table[123] = {0, (void *)platform_info, (void *)devices, (void *)device_info};
static void *platform = table, *device = table;

static int devices(void *of, unsigned long kind, unsigned room, void **places, unsigned *found) {
  if (FAILS) return FAILS;
  if (DEVICES == 0) return -1;
  if (found) *found = 1;
  if (places) *places = &device;
  return 0;
}

static int platforms(unsigned room, void **places, unsigned *found) {
  if (found) *found = 1;
  if (places) *places = &platform;
  return 0;
}

void *clGetExtensionFunctionAddress(const char *name) {
  return strcmp(name, "clIcdGetPlatformIDsKHR") ? 0 : (void *)platforms;
}
