// Code that is loaded.

#include "standin.h"

static struct function *functions;

static const char *find_text(const char *text, size_t size, const char *part) { return memmem(text, size, part, strlen(part)); }

void option_texts(unsigned count, const unsigned *options, void **values, char **info, char **error) {
  *info = *error = NULL;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == 3) *info = values[i];
    if (options[i] == 5) *error = values[i];
  }
}

CUresult check_ptx(const char *text, char *error) {
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
  } else if (!memcmp(image, LINKED, sizeof LINKED)) {
    memcpy(&size, image + sizeof LINKED, sizeof size);
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

EXPORT int standin_has_code(const char *part) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (struct object *object = objects; object; object = object->next)
    found |= object->kind == MODULE && find_text(object->text, object->size, part);
  pthread_mutex_unlock(&lock);
  return found;
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

int is_function(const struct function *wanted) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (struct function *function = functions; function; function = function->next) found |= function == wanted;
  pthread_mutex_unlock(&lock);
  return found;
}

// Whether saxpy is that of examples/build-systems. It calls a library's function, of which a half is left in its code, and no
// name; other kernels have halves, too.
static int saxpy_has_mean(const char *text, size_t size) {
  const char *kernel = find_text(text, size, ".entry saxpy(");
  if (!kernel) return 0;
  size_t left = size - (size_t)(kernel - text);
  const char *next = find_text(kernel + 1, left - 1, ".entry ");
  return find_text(kernel, next ? (size_t)(next - kernel) : left, "0f3F000000") != NULL;
}

EXPORT CUresult cuModuleGetFunction(struct function **function, handle module, const char *name) {
  CALL();
  CURRENT();
  if (!is_there(module, MODULE)) return INVALID_HANDLE;
  int has_mean = !strcmp(name, "saxpy") && saxpy_has_mean(module->text, module->size);
  const struct kernel *kernel = find_kernel(has_mean ? "saxpy with mean" : name);
  if (!kernel || !find_text(module->text, module->size, name)) return NOT_FOUND;
  struct function *made = calloc(1, sizeof *made);
  made->module = module;
  made->kernel = kernel;
  pthread_mutex_lock(&lock);
  made->next = functions;
  functions = made;
  pthread_mutex_unlock(&lock);
  *function = made;
  return 0;
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
