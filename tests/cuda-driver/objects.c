// What there is of the driver's objects.

#include "standin.h"

static const char *const KIND_NAMES[KINDS] = {"context", "module", "stream", "event", "link", "device memory",
                                              "host memory", "managed memory", "registered memory"};

struct object *objects;
__thread struct object *stack[64];
__thread int depth;

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

struct object *new_object(enum kind kind) {
  struct object *object = calloc(1, sizeof *object);
  object->kind = kind;
  object->device = depth ? stack[depth - 1]->device : 0;
  pthread_mutex_lock(&lock);
  object->next = objects;
  objects = object;
  pthread_mutex_unlock(&lock);
  return object;
}

int is_there(const struct object *wanted, enum kind kind) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (struct object *object = objects; object; object = object->next)
    found |= object == wanted && object->kind == kind;
  pthread_mutex_unlock(&lock);
  return found;
}

CUresult delete_object(struct object *gone, enum kind kind) {
  if (!is_there(gone, kind)) return INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  for (struct object **place = &objects; *place; place = &(*place)->next)
    if (*place == gone) {
      *place = gone->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  free(gone->text);
  // Commands that are still to come may use the variable of a module.
  if (kind != MODULE) free(gone);
  return 0;
}

struct object *memory_at(uintptr_t address, size_t size) {
  struct object *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct object *object = objects; object; object = object->next)
    if (object->kind >= DEVICE_MEMORY && address >= (uintptr_t)object->address &&
        address + size <= (uintptr_t)object->address + object->size)
      found = object;
  pthread_mutex_unlock(&lock);
  return found;
}

