// A stand-in for NVIDIA's driver: answers the calls that offkit's plugin makes, on the host's memory, counts what is
// there, and fails as it is told. Kernels are known by their names. Commands wait in their streams, and are done in one of
// the orders that a device may do them in: see queue.c.
//
// Compiled with -DOLD it lacks what drivers before CUDA 12.4 lack. Variables say what there is:
//
//   STANDIN_DEVICES     how many devices (1)
//   STANDIN_CAPABILITY  their compute capability, as 90 (90)
//   STANDIN_CUDA        the version of CUDA, as 12080 (12080)
//   STANDIN_INIT        what cuInit returns (0)
//   STANDIN_SEED        which order commands are done in (1)
//   STANDIN_FAIL        FUNCTION:NUMBER:CODE, the call of the function, from 1, that fails with a code
//   STANDIN_STICKY      the same, and every later call that can fail does
//
// standin_fail, standin_sticky and standin_seed say the same to a process that runs; standin_forget names a function that
// does nothing from then on. standin_live counts objects, standin_calls the calls of a function or, without a name, of all, and
// standin_has_code looks for a text in what is loaded.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int CUresult;
typedef struct object *handle;

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, UNSUPPORTED_PTX = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
       ILLEGAL_ADDRESS = 700, PEER_ENABLED = 704, LAUNCH_FAILED = 719 };

enum kind { CONTEXT, MODULE, STREAM, EVENT, LINK, DEVICE_MEMORY, HOST_MEMORY, MANAGED_MEMORY, REGISTERED, KINDS };

struct object {
  enum kind kind;
  int device;
  char *text;             // of a module or a link
  unsigned char *address; // of memory
  size_t size;            // of memory, or of a text
  struct queue *queue;    // of a stream
  struct point *point;    // of an event: where it was recorded last
  int timed;
  int global;             // the variable of a module
  char *errors;           // of a link: where its words go
  int needs, has;         // of a link: the function that programs have of each other
  struct object *next;
};

// A function is its module and its kernel.
struct function {
  struct object *module;
  const struct kernel *kernel;
  struct function *next;
};

typedef void body(void **arguments, const unsigned blocks[3], const unsigned threads[3], unsigned shared);

struct kernel {
  const char *name;
  body *run;
  size_t sizes[4];
  int count;
  int locals; // how many of the last arguments are offsets in the launch's own memory
};

// faults.c

// Guards what is counted, and the lists of objects and functions.
extern pthread_mutex_t lock;
// Why the device is lost, if it is.
extern int lost;
int number(const char *name, int otherwise);
CUresult called(const char *name, int ends_something);
int is_forgotten(const char *name);

#define CALL() do { CUresult failed_ = called(__func__, 0); if (failed_) return failed_; } while (0)
// What a device that is lost has is gone with it: giving it back counts.
#define END() called(__func__, 1)

// objects.c

extern struct object *objects;
extern __thread struct object *stack[64];
extern __thread int depth;
struct object *new_object(enum kind kind);
int is_there(const struct object *wanted, enum kind kind);
CUresult delete_object(struct object *gone, enum kind kind);
// The memory that a range is in.
struct object *memory_at(uintptr_t address, size_t size);

#define CURRENT() do { if (!depth) return INVALID_CONTEXT; } while (0)

// kernels.c, modules.c and link.c

const struct kernel *find_kernel(const char *name);
int is_function(const struct function *function);
// Where the driver's words go.
void option_texts(unsigned count, const unsigned *options, void **values, char **info, char **error);
// Whether PTX is one that this driver compiles; words for what is wrong.
CUresult check_ptx(const char *text, char *error);
// What begins with this was linked. How many bytes it has stands behind it.
static const char LINKED[8] = "LINKED\n";

// queue.c: a command is what a function does with a copy of `data`.

typedef void deed(void *data);
void submit(struct object *stream, deed *deed, const void *data, size_t size);
// Does all that was submitted.
void finish_all(void);
// Lets go of all that was submitted: its events end with the code.
void discard_all(CUresult code);

#define STREAM(stream) do { CURRENT(); if (!is_there(stream, STREAM)) return INVALID_HANDLE; } while (0)
