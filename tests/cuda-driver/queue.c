// Streams, events, and when commands are done.
//
// A command waits in its stream until somebody waits for something, asks, or by chance. Then streams are served in an order
// that the seed makes: any that keeps the order of each stream, and has waits for events behind what was recorded. So a
// program that forgets to wait sees what it would see on a device that is slow, or fast, in the wrong place.

#include "standin.h"

// Where an event was recorded.
struct point {
  int references, is_done;
  CUresult result;
  uint64_t time;
  struct queue *queue;
};

struct command {
  deed *deed;
  struct point *waits, *records;
  struct command *next;
  _Alignas(16) unsigned char data[];
};

// The commands of a stream, which outlive it.
struct queue {
  struct command *first, **end;
  int has_stream;
  struct queue *next;
};

// Guards all of this. `lock` may be taken while it is held, not the other way round.
static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues;
static uint64_t dice;

EXPORT void standin_seed(unsigned seed) {
  pthread_mutex_lock(&work);
  dice = (seed + 1) * 0x9e3779b97f4a7c15;
  pthread_mutex_unlock(&work);
}

__attribute__((constructor)) static void start(void) { standin_seed(number("STANDIN_SEED", 1)); }

static unsigned throw(unsigned sides) {
  dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
  return (dice >> 33) % sides;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct point *hold(struct point *point) {
  if (point) point->references++;
  return point;
}

static void let_go(struct point *point) {
  if (point && !--point->references) free(point);
}

static void end(struct point *point, CUresult result) {
  if (!point) return;
  point->is_done = 1;
  point->result = result;
  point->time = now();
  let_go(point);
}

static int is_runnable(const struct queue *queue) {
  return queue->first && (!queue->first->waits || queue->first->waits->is_done);
}

// Takes the first command out of a queue, and does it unless the device is lost.
static void step(struct queue *queue) {
  struct command *command = queue->first;
  if (!(queue->first = command->next)) queue->end = &queue->first;
  if (command->deed && !lost) command->deed(command->data);
  let_go(command->waits);
  end(command->records, lost);
  free(command);
  if (queue->first || queue->has_stream) return;
  struct queue **place = &queues;
  while (*place != queue) place = &(*place)->next;
  *place = queue->next;
  free(queue);
}

// Any queue that can go on; none if there is nothing left.
static struct queue *any(void) {
  unsigned count = 0;
  struct queue *chosen = NULL;
  for (struct queue *queue = queues; queue; queue = queue->next)
    if (is_runnable(queue) && !throw(++count)) chosen = queue;
  return chosen;
}

// The queue that has to go on before another can.
static struct queue *needed(struct queue *queue) {
  while (queue->first->waits && !queue->first->waits->is_done) queue = queue->first->waits->queue;
  return queue;
}

// Does what a point is behind, and now and then something else.
static void finish(struct point *point) {
  // Some devices do only what they have to.
  unsigned idle = throw(3);
  while (!point->is_done) step(idle && throw(4) < idle + 2 ? needed(point->queue) : any());
}

static void progress(unsigned steps) {
  for (struct queue *queue; steps-- && (queue = any());) step(queue);
}

void finish_all(void) {
  pthread_mutex_lock(&work);
  progress(-1);
  pthread_mutex_unlock(&work);
}

// Waits for nothing any more: a device that is lost does what is left in no time.
void discard_all(CUresult code) {
  pthread_mutex_lock(&work);
  int before = lost;
  lost = code;
  progress(-1);
  lost = before;
  pthread_mutex_unlock(&work);
}

static void push(struct queue *queue, deed *deed, const void *data, size_t size, struct point *waits, struct point *records) {
  struct command *made = malloc(sizeof *made + size);
  *made = (struct command){.deed = deed, .waits = waits, .records = records};
  if (size) memcpy(made->data, data, size);
  *queue->end = made;
  queue->end = &made->next;
  // A device does not wait to be asked, but nobody knows how far it is.
  if (!throw(8)) progress(throw(4));
}

void submit(struct object *stream, deed *deed, const void *data, size_t size) {
  pthread_mutex_lock(&work);
  push(stream->queue, deed, data, size, NULL, NULL);
  pthread_mutex_unlock(&work);
}

EXPORT CUresult cuStreamCreate(handle *stream, unsigned flags) {
  CALL();
  CURRENT();
  // Only streams that the default stream has nothing to do with.
  if (flags != 1) return INVALID_VALUE;
  struct object *made = new_object(STREAM);
  struct queue *queue = calloc(1, sizeof *queue);
  queue->end = &queue->first;
  queue->has_stream = 1;
  pthread_mutex_lock(&work);
  queue->next = queues;
  queues = queue;
  made->queue = queue;
  pthread_mutex_unlock(&work);
  *stream = made;
  return 0;
}

EXPORT CUresult cuStreamDestroy_v2(handle stream) {
  END();
  if (!is_there(stream, STREAM)) return INVALID_HANDLE;
  pthread_mutex_lock(&work);
  // What is in it is done all the same; the queue goes with its last command.
  stream->queue->has_stream = 0;
  push(stream->queue, NULL, NULL, 0, NULL, NULL);
  pthread_mutex_unlock(&work);
  return delete_object(stream, STREAM);
}

EXPORT CUresult cuStreamSynchronize(handle stream) {
  CUresult failed = called(__func__, 0);
  STREAM(stream);
  pthread_mutex_lock(&work);
  struct point *point = calloc(1, sizeof *point);
  point->references = 2;
  point->queue = stream->queue;
  push(stream->queue, NULL, NULL, 0, NULL, point);
  finish(point);
  let_go(point);
  pthread_mutex_unlock(&work);
  return failed ? failed : lost;
}

EXPORT CUresult cuStreamWaitEvent(handle stream, handle event, unsigned flags) {
  CALL();
  STREAM(stream);
  if (flags || !is_there(event, EVENT)) return INVALID_HANDLE;
  if (is_forgotten(__func__)) return 0;
  pthread_mutex_lock(&work);
  // For where it is recorded now: later it may be elsewhere. One that was never recorded is waited for by nobody.
  if (event->point) push(stream->queue, NULL, NULL, 0, hold(event->point), NULL);
  pthread_mutex_unlock(&work);
  return 0;
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
  if (!is_there(event, EVENT)) return INVALID_HANDLE;
  pthread_mutex_lock(&work);
  let_go(event->point);
  pthread_mutex_unlock(&work);
  return delete_object(event, EVENT);
}

EXPORT CUresult cuEventRecord(handle event, handle stream) {
  CALL();
  STREAM(stream);
  if (!is_there(event, EVENT) || event->device != stream->device) return INVALID_HANDLE;
  pthread_mutex_lock(&work);
  let_go(event->point);
  event->point = calloc(1, sizeof *event->point);
  event->point->references = 2;
  event->point->queue = stream->queue;
  push(stream->queue, NULL, NULL, 0, NULL, event->point);
  pthread_mutex_unlock(&work);
  return 0;
}

// What a point has come to; 0 for an event that was never recorded.
static CUresult outcome(const struct point *point) { return !point ? 0 : point->is_done ? point->result : NOT_READY; }

EXPORT CUresult cuEventQuery(handle event) {
  CUresult failed = called(__func__, 0);
  if (!is_there(event, EVENT)) return failed ? failed : INVALID_HANDLE;
  pthread_mutex_lock(&work);
  // A call that fails tells of what was done before. Others find most of the time that nothing has happened yet.
  progress(failed ? -1 : throw(8) ? 0 : throw(8));
  CUresult result = lost ? lost : outcome(event->point);
  pthread_mutex_unlock(&work);
  return failed ? failed : result;
}

EXPORT CUresult cuEventSynchronize(handle event) {
  CUresult failed = called(__func__, 0);
  if (!is_there(event, EVENT)) return failed ? failed : INVALID_HANDLE;
  pthread_mutex_lock(&work);
  struct point *point = hold(event->point);
  if (point) finish(point);
  CUresult result = lost ? lost : outcome(point);
  let_go(point);
  pthread_mutex_unlock(&work);
  return failed ? failed : result;
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, handle from, handle to) {
  CALL();
  if (!from->timed || !to->timed || !from->point || !to->point) return INVALID_HANDLE;
  pthread_mutex_lock(&work);
  int are_done = from->point->is_done && to->point->is_done;
  if (are_done) *milliseconds = ((double)to->point->time - (double)from->point->time) / 1e6;
  pthread_mutex_unlock(&work);
  return are_done ? 0 : NOT_READY;
}
