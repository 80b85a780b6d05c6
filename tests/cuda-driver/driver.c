// A stand-in for NVIDIA's driver: answers the calls that offkit's plugin makes, on the host's memory, counts what is
// there, and fails as it is told. Commands are done when they are submitted. Kernels are known by their names.
//
// Compiled with -DOLD it lacks what drivers before CUDA 12.4 lack. Variables say what there is:
//
//   STANDIN_DEVICES     how many devices (1)
//   STANDIN_CAPABILITY  their compute capability, as 90 (90)
//   STANDIN_CUDA        the version of CUDA, as 12080 (12080)
//   STANDIN_INIT        what cuInit returns (0)
//   STANDIN_FAIL        FUNCTION:NUMBER:CODE, the call of the function, from 1, that fails with a code
//   STANDIN_STICKY      the same, and every later call that can fail does
//
// standin_fail and standin_sticky say the same to a process that runs; standin_live counts objects, and standin_calls
// the calls of a function.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

typedef int CUresult;
typedef struct object *handle;

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, UNSUPPORTED_PTX = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, PEER_ENABLED = 704 };

enum kind { CONTEXT, MODULE, STREAM, EVENT, LINK, DEVICE_MEMORY, HOST_MEMORY, MANAGED_MEMORY, REGISTERED, KINDS };

static const char *const KIND_NAMES[KINDS] = {"context", "module", "stream", "event", "link", "device memory",
                                              "host memory", "managed memory", "registered memory"};

struct object {
  enum kind kind;
  int device;
  char *text;             // of a module or a link
  unsigned char *address; // of memory
  size_t size;
  uint64_t time;          // of an event
  int timed, recorded;
  int global;             // the variable of a module
  char **log, **errors;   // of a link
  struct object *next;
};

// A function is its module and its name.
struct function {
  struct object *module;
  const struct kernel *kernel;
  struct function *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;
static struct function *functions;
static struct object *primary[16];
static int retained[16];
static int peers[16][16];
static __thread struct object *stack[64];
static __thread int depth;

static char fail_function[64];
static long fail_number;
static int fail_code, fail_sticks, lost;

static struct { char name[48]; long count; } calls[128];

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static void script(const char *text, int sticks) {
  int code;
  long nth;
  fail_function[0] = 0;
  lost = 0;
  fail_sticks = sticks;
  if (text && sscanf(text, "%63[^:]:%ld:%d", fail_function, &nth, &code) == 3) {
    fail_number = nth;
    fail_code = code;
  }
}

EXPORT void standin_fail(const char *text) { script(text, 0); }
EXPORT void standin_sticky(const char *text) { script(text, 1); }

// Objects that are there; what they are goes to `names`.
EXPORT int standin_live(char *names, size_t size) {
  int count = 0;
  pthread_mutex_lock(&lock);
  names[0] = 0;
  for (struct object *object = objects; object; object = object->next, count++)
    snprintf(names + strlen(names), size - strlen(names), "%s ", KIND_NAMES[object->kind]);
  pthread_mutex_unlock(&lock);
  return count;
}

EXPORT long standin_calls(const char *name) {
  for (int i = 0; i < 128 && calls[i].name[0]; i++)
    if (!strcmp(calls[i].name, name)) return calls[i].count;
  return 0;
}

__attribute__((constructor)) static void start(void) {
  if (getenv("STANDIN_FAIL")) script(getenv("STANDIN_FAIL"), 0);
  if (getenv("STANDIN_STICKY")) script(getenv("STANDIN_STICKY"), 1);
}

// Counts a call, and says how it fails; 0 if it does not.
static CUresult called(const char *name, int ends_something) {
  pthread_mutex_lock(&lock);
  CUresult result = lost;
  for (int i = 0; i < 128; i++) {
    if (calls[i].name[0] && strcmp(calls[i].name, name)) continue;
    snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
    calls[i].count++;
    break;
  }
  if (!result && fail_function[0] && !strcmp(fail_function, name) && --fail_number == 0) {
    result = fail_code;
    if (fail_sticks) lost = fail_code;
  }
  pthread_mutex_unlock(&lock);
  // What a device that is lost has is gone with it: giving it back counts.
  return ends_something ? 0 : result;
}

#define CALL() do { CUresult failed_ = called(__func__, 0); if (failed_) return failed_; } while (0)
#define END() called(__func__, 1)

static struct object *new_object(enum kind kind) {
  struct object *object = calloc(1, sizeof *object);
  object->kind = kind;
  object->device = depth ? stack[depth - 1]->device : 0;
  pthread_mutex_lock(&lock);
  object->next = objects;
  objects = object;
  pthread_mutex_unlock(&lock);
  return object;
}

static int is_there(const struct object *wanted, enum kind kind) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (struct object *object = objects; object; object = object->next)
    found |= object == wanted && object->kind == kind;
  pthread_mutex_unlock(&lock);
  return found;
}

static CUresult delete_object(struct object *gone, enum kind kind) {
  if (!is_there(gone, kind)) return INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  for (struct object **place = &objects; *place; place = &(*place)->next)
    if (*place == gone) {
      *place = gone->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  free(gone->text);
  free(gone);
  return 0;
}

// The memory that an address is in.
static struct object *memory_at(uintptr_t address, size_t size) {
  struct object *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct object *object = objects; object; object = object->next)
    if (object->kind >= DEVICE_MEMORY && address >= (uintptr_t)object->address &&
        address + size <= (uintptr_t)object->address + object->size)
      found = object;
  pthread_mutex_unlock(&lock);
  return found;
}

// Whether an address may be used by a device.
static int is_of_device(uintptr_t address, size_t size) { return memory_at(address, size) != NULL; }

#define CURRENT() do { if (!depth) return INVALID_CONTEXT; } while (0)

// Starting and devices

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

// Contexts

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
  struct object *gone = primary[device];
  primary[device] = NULL;
  memset(peers[device], 0, sizeof peers[device]);
  return delete_object(gone, CONTEXT);
}

EXPORT CUresult cuCtxDestroy_v2(handle context) {
  END();
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

// Kernels

typedef void body(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared);

static size_t items(const unsigned blocks[3], const unsigned threads[3]) {
  return (size_t)blocks[0] * blocks[1] * blocks[2] * threads[0] * threads[1] * threads[2];
}

// y += a * x
static void saxpy(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float a = *(float *)arguments[0], *x = *(float **)arguments[1], *y = *(float **)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) y[i] += a * x[i];
}

// What was launched: blocks, threads, shared memory, and where the block's memory is.
static void shape(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0];
  for (int i = 0; i < 3; i++) out[i] = blocks[i], out[3 + i] = threads[i];
  out[6] = shared;
  out[7] = (uint32_t)*(uint64_t *)arguments[1];
}

// Where ids begin, and how many dimensions there are, if the kernel is told.
static void ids(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  (void)blocks, (void)threads, (void)shared;
  memset(*(uint32_t **)arguments[0], 0, 16);
}

static void ids_with_offset(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  (void)blocks, (void)threads, (void)shared;
  memcpy(*(uint32_t **)arguments[0], arguments[1], 16);
}

static void empty(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  (void)arguments, (void)blocks, (void)threads, (void)shared;
}

// Of examples/shared-library and examples/build-systems.
static void matmul(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t n = *(uint32_t *)arguments[0];
  float *a = *(float **)arguments[1], *b = *(float **)arguments[2], *c = *(float **)arguments[3];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) {
    c[i] = 0;
    for (size_t k = 0; k < n; k++) c[i] += a[i / n * n + k] * b[k * n + i % n];
  }
}

static void reduce(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float *in = *(float **)arguments[0], *out = *(float **)arguments[1];
  (void)shared;
  for (size_t group = 0; group < blocks[0]; group++) {
    out[group] = 0;
    for (size_t i = 0; i < threads[0]; i++) out[group] += in[group * threads[0] + i];
  }
}

static void scale(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float a = *(float *)arguments[0], *x = *(float **)arguments[1];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) x[i] *= a;
}

// Of bench/cpu/kernels.cl.
static void vector_add(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  float *a = *(float **)arguments[0], *b = *(float **)arguments[1], *c = *(float **)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) c[i] = a[i] + b[i];
}

// Those of bench/gpu/stress.cl.
static uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352d;
  x = (x ^ x >> 15) * 0x846ca68b;
  return x ^ x >> 16;
}

static void stress_hash(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0], a = *(uint32_t *)arguments[1], b = *(uint32_t *)arguments[2];
  uint32_t count = *(uint32_t *)arguments[3];
  (void)shared;
  for (uint32_t i = 0; i < items(blocks, threads) && i < count; i++) out[i] = mixed(i * a + b);
}

static void stress_mix(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0], *in = *(uint32_t **)arguments[1], a = *(uint32_t *)arguments[2];
  uint32_t count = *(uint32_t *)arguments[3];
  (void)shared;
  for (uint32_t i = 0; i < items(blocks, threads) && i < count; i++) out[i] = mixed(out[i] ^ in[(i + a) % count]);
}

static void stress_count(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0], value = *(uint32_t *)arguments[1], count = *(uint32_t *)arguments[2];
  (void)shared;
  for (size_t i = 0; i < items(blocks, threads); i++) out[i % count] += value;
}

static void stress_turn(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared) {
  uint32_t *out = *(uint32_t **)arguments[0];
  const unsigned one[3] = {1, 1, 1};
  size_t group = items(one, threads);
  (void)shared;
  for (size_t first = 0; first < items(blocks, threads); first += group) {
    for (size_t own = 0; own < group / 2; own++) {
      uint32_t word = out[first + own];
      out[first + own] = out[first + group - 1 - own];
      out[first + group - 1 - own] = word;
    }
    for (size_t own = 0; own < group; own++) out[first + own] += own;
  }
}

struct kernel {
  const char *name;
  body *run;
  size_t sizes[4];
  int count;
};

static const struct kernel KERNELS[] = {
    {"saxpy", saxpy, {4, 8, 8}, 3},
    {"shape", shape, {8, 8}, 2},
    {"ids", ids, {8}, 1},
    {"ids_with_offset", ids_with_offset, {8, 16}, 2},
    {"matmul", matmul, {4, 8, 8, 8}, 4},
    {"reduce", reduce, {8, 8, 4}, 3},
    {"scale", scale, {4, 8}, 2},
    {"empty", empty, {0}, 0},
    {"vector_add", vector_add, {8, 8, 8}, 3},
    {"stress_hash", stress_hash, {8, 4, 4, 4}, 4},
    {"stress_mix", stress_mix, {8, 8, 4, 4}, 4},
    {"stress_count", stress_count, {8, 4, 4}, 3},
    {"stress_turn", stress_turn, {8, 4}, 2},
};

static const char *find_text(const char *text, size_t size, const char *part) { return memmem(text, size, part, strlen(part)); }

// Where the driver's words go.
static void option_texts(unsigned count, const unsigned *options, void **values, char **info, char **error) {
  *info = *error = NULL;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == 3) *info = values[i];
    if (options[i] == 5) *error = values[i];
  }
}

// Whether PTX is one that this driver compiles; words for what is wrong.
static CUresult check_ptx(const char *text, char *error) {
  const char *version = strstr(text, ".version ");
  int major = 0, minor = 0, cuda = number("STANDIN_CUDA", 12080);
  if (!version || sscanf(version, ".version %d.%d", &major, &minor) != 2) {
    if (error) strcpy(error, "ptxas application ptx input, line 1; fatal   : Missing .version directive");
    return INVALID_PTX;
  }
  int newest = cuda / 1000 == 12 ? 80 + cuda % 1000 / 10 - (cuda % 1000 > 50) : 90;
  if (major * 10 + minor > newest) {
    if (error) sprintf(error, "ptxas application ptx input, line 1; fatal   : Unsupported .version %d.%d", major, minor);
    return UNSUPPORTED_PTX;
  }
  if (strstr(text, "nonsense")) {
    if (error) strcpy(error, "ptxas application ptx input, line 9; error   : Parsing error near 'nonsense': syntax error");
    return INVALID_PTX;
  }
  return 0;
}

EXPORT CUresult cuModuleLoadDataEx(handle *module, const char *image, unsigned count, unsigned *options, void **values) {
  char *info, *error;
  CALL();
  CURRENT();
  option_texts(count, options, values, &info, &error);
  size_t size;
  if (!memcmp(image, "\177ELF", 4)) {
    uint64_t sections;
    uint16_t entry, number_of;
    memcpy(&sections, image + 40, 8), memcpy(&entry, image + 58, 2), memcpy(&number_of, image + 60, 2);
    size = sections + (size_t)entry * number_of;
  } else if (!memcmp(image, "LINKED\n", 7)) {
    size = strlen(image);
  } else {
    CUresult wrong = check_ptx(image, error);
    if (wrong) return wrong;
    size = strlen(image);
    if (info) strcpy(info, "compiled by the stand-in");
  }
  struct object *made = new_object(MODULE);
  made->text = malloc(size + 1);
  memcpy(made->text, image, size);
  made->text[size] = 0;
  made->size = size;
  *module = made;
  return 0;
}

EXPORT CUresult cuModuleUnload(handle module) {
  END();
  pthread_mutex_lock(&lock);
  for (struct function **place = &functions; *place;) {
    struct function *function = *place;
    if (function->module == module) {
      *place = function->next;
      free(function);
    } else {
      place = &function->next;
    }
  }
  pthread_mutex_unlock(&lock);
  return delete_object(module, MODULE);
}

EXPORT CUresult cuModuleGetFunction(struct function **function, handle module, const char *name) {
  CALL();
  CURRENT();
  if (!is_there(module, MODULE)) return INVALID_HANDLE;
  for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
    if (!strcmp(KERNELS[i].name, name) && find_text(module->text, module->size, name)) {
      struct function *made = calloc(1, sizeof *made);
      made->module = module;
      made->kernel = &KERNELS[i];
      pthread_mutex_lock(&lock);
      made->next = functions;
      functions = made;
      pthread_mutex_unlock(&lock);
      *function = made;
      return 0;
    }
  return NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(uintptr_t *address, size_t *size, handle module, const char *name) {
  CALL();
  CURRENT();
  if (strcmp(name, "counter") || !find_text(module->text, module->size, name)) return NOT_FOUND;
  *address = (uintptr_t)&module->global;
  *size = sizeof module->global;
  return 0;
}

EXPORT CUresult cuFuncGetAttribute(int *value, unsigned attribute, struct function *function) {
  CALL();
  (void)function;
  *value = attribute == 0 ? 1024 : 0;
  return 0;
}

EXPORT CUresult cuFuncSetAttribute(struct function *function, unsigned attribute, int value) {
  CALL();
  (void)function, (void)attribute;
  return value > 232448 ? INVALID_VALUE : 0;
}

#ifndef OLD
EXPORT CUresult cuFuncGetParamInfo(struct function *function, size_t index, size_t *offset, size_t *size) {
  CALL();
  if (index >= (size_t)function->kernel->count) return INVALID_VALUE;
  *offset = 0;
  *size = function->kernel->sizes[index];
  return 0;
}
#endif

// Linking: modules are put one behind the other.

EXPORT CUresult cuLinkCreate_v2(unsigned count, unsigned *options, void **values, handle *state) {
  char *info, *error;
  CALL();
  CURRENT();
  option_texts(count, options, values, &info, &error);
  struct object *made = new_object(LINK);
  made->text = strdup("LINKED\n");
  made->errors = (char **)error;
  *state = made;
  return 0;
}

EXPORT CUresult cuLinkAddData_v2(handle state, unsigned kind, void *data, size_t size, const char *name, unsigned count,
                                 unsigned *options, void **values) {
  CALL();
  CURRENT();
  (void)name, (void)count, (void)options, (void)values, (void)size;
  if (kind != 1) return INVALID_IMAGE;
  CUresult wrong = check_ptx(data, (char *)state->errors);
  if (wrong) return wrong;
  char *both = malloc(strlen(state->text) + strlen(data) + 1);
  strcpy(both, state->text);
  strcat(both, data);
  free(state->text);
  state->text = both;
  return 0;
}

// Whether PTX defines a function for others.
static int defines(const char *text, const char *name) {
  for (text = strstr(text, ".visible .func"); text; text = strstr(text + 1, ".visible .func")) {
    const char *end = strchr(text, '\n'), *found = strstr(text, name);
    if (found && end && found < end) return 1;
  }
  return 0;
}

EXPORT CUresult cuLinkComplete(handle state, void **cubin, size_t *size) {
  CALL();
  CURRENT();
  if (strstr(state->text, "twice") && !defines(state->text, "twice")) {
    if (state->errors) strcpy((char *)state->errors, "error   : Undefined reference to 'twice'");
    return INVALID_IMAGE;
  }
  *cubin = state->text;
  *size = strlen(state->text) + 1;
  return 0;
}

EXPORT CUresult cuLinkDestroy(handle state) {
  END();
  return delete_object(state, LINK);
}

// Memory

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

// Commands

#define STREAM(stream) do { CURRENT(); if (!is_there(stream, STREAM)) return INVALID_HANDLE; } while (0)
#define DEVICE(address, size) do { if (!is_of_device((uintptr_t)(address), size)) return INVALID_VALUE; } while (0)

EXPORT CUresult cuMemcpyAsync(void *target, void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  memmove(target, source, size);
  return 0;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(void *target, const void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(target, size);
  memcpy(target, source, size);
  return 0;
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *target, void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(source, size);
  memcpy(target, source, size);
  return 0;
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(void *target, void *source, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  DEVICE(target, size);
  DEVICE(source, size);
  memmove(target, source, size);
  return 0;
}

EXPORT CUresult cuMemcpyPeerAsync(void *target, handle to, void *source, handle from, size_t size, handle stream) {
  CALL();
  STREAM(stream);
  struct object *one = memory_at((uintptr_t)source, size), *other = memory_at((uintptr_t)target, size);
  if (!one || !other || one->device != from->device || other->device != to->device) return INVALID_VALUE;
  memcpy(target, source, size);
  return 0;
}

struct rows { size_t x, y; unsigned kind; unsigned char *host, *device; void *array; size_t pitch; };
struct copy { struct rows source, target; size_t width, height; };

EXPORT CUresult cuMemcpy2DAsync_v2(const struct copy *copy, handle stream) {
  CALL();
  STREAM(stream);
  const struct rows *from = &copy->source, *to = &copy->target;
  if (from->pitch < copy->width || to->pitch < copy->width) return INVALID_VALUE;
  for (size_t row = 0; row < copy->height; row++) {
    unsigned char *source = (from->kind == 1 ? from->host : from->device) + row * from->pitch;
    unsigned char *target = (to->kind == 1 ? to->host : to->device) + row * to->pitch;
    if (from->kind == 2) DEVICE(source, copy->width);
    if (to->kind == 2) DEVICE(target, copy->width);
    memmove(target, source, copy->width);
  }
  return 0;
}

#define FILL(type)                                              \
  CALL();                                                       \
  STREAM(stream);                                               \
  DEVICE(address, count * sizeof(type));                        \
  if ((uintptr_t)address % sizeof(type)) return INVALID_VALUE;  \
  for (size_t i = 0; i < count; i++) ((type *)address)[i] = value; \
  return 0

EXPORT CUresult cuMemsetD8Async(void *address, unsigned char value, size_t count, handle stream) { FILL(unsigned char); }
EXPORT CUresult cuMemsetD16Async(void *address, unsigned short value, size_t count, handle stream) { FILL(uint16_t); }
EXPORT CUresult cuMemsetD32Async(void *address, unsigned value, size_t count, handle stream) { FILL(uint32_t); }

#define FILL_2D(type)                                                              \
  CALL();                                                                          \
  STREAM(stream);                                                                  \
  if ((uintptr_t)address % sizeof(type) || pitch % sizeof(type)) return INVALID_VALUE; \
  for (size_t row = 0; row < height; row++)                                        \
    for (size_t i = 0; i < width; i++) {                                           \
      type *place = (type *)((char *)address + row * pitch) + i;                   \
      DEVICE(place, sizeof(type));                                                 \
      *place = value;                                                              \
    }                                                                              \
  return 0

EXPORT CUresult cuMemsetD2D8Async(void *address, size_t pitch, unsigned char value, size_t width, size_t height, handle stream) { FILL_2D(unsigned char); }
EXPORT CUresult cuMemsetD2D32Async(void *address, size_t pitch, unsigned value, size_t width, size_t height, handle stream) { FILL_2D(uint32_t); }

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

EXPORT CUresult cuLaunchKernel(struct function *function, unsigned x, unsigned y, unsigned z, unsigned width, unsigned height,
                               unsigned depth_, unsigned shared, handle stream, void **arguments, void **extra) {
  const unsigned blocks[3] = {x, y, z}, threads[3] = {width, height, depth_};
  CALL();
  STREAM(stream);
  if (extra || !x || !y || !z || (size_t)width * height * depth_ > 1024) return INVALID_VALUE;
  for (int i = 0; i < function->kernel->count; i++)
    if (function->kernel->sizes[i] == 8 && (function->kernel->run != shape || i == 0)) {
      void *address;
      memcpy(&address, arguments[i], 8);
      // As on a device, it is known later.
      if (!is_of_device((uintptr_t)address, 1)) {
        lost = 700;
        return 0;
      }
    }
  function->kernel->run(arguments, blocks, threads, shared);
  return 0;
}

// Streams and events

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

EXPORT CUresult cuStreamCreate(handle *stream, unsigned flags) {
  CALL();
  CURRENT();
  if (flags != 1) return INVALID_VALUE;
  *stream = new_object(STREAM);
  return 0;
}

EXPORT CUresult cuStreamDestroy_v2(handle stream) {
  END();
  return delete_object(stream, STREAM);
}

EXPORT CUresult cuStreamSynchronize(handle stream) {
  CALL();
  STREAM(stream);
  return 0;
}

EXPORT CUresult cuStreamWaitEvent(handle stream, handle event, unsigned flags) {
  CALL();
  STREAM(stream);
  return flags || !is_there(event, EVENT) ? INVALID_HANDLE : 0;
}

EXPORT CUresult cuEventCreate(handle *event, unsigned flags) {
  CALL();
  CURRENT();
  *event = new_object(EVENT);
  (*event)->timed = !(flags & 2);
  return 0;
}

EXPORT CUresult cuEventDestroy_v2(handle event) {
  END();
  return delete_object(event, EVENT);
}

EXPORT CUresult cuEventRecord(handle event, handle stream) {
  CALL();
  STREAM(stream);
  if (!is_there(event, EVENT) || event->device != stream->device) return INVALID_HANDLE;
  event->time = now();
  event->recorded = 1;
  return 0;
}

EXPORT CUresult cuEventQuery(handle event) {
  CALL();
  return is_there(event, EVENT) ? 0 : INVALID_HANDLE;
}

EXPORT CUresult cuEventSynchronize(handle event) {
  CALL();
  return is_there(event, EVENT) ? 0 : INVALID_HANDLE;
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, handle from, handle to) {
  CALL();
  if (!from->timed || !to->timed || !from->recorded || !to->recorded) return INVALID_HANDLE;
  *milliseconds = ((double)to->time - (double)from->time) / 1e6;
  return 0;
}
