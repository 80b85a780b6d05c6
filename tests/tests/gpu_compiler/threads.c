// A device of threads that switch by hand: it runs kernels that were compiled for NVIDIA's GPUs, whose LLVM IR is made the
// host's first, and answers what they ask the hardware for. Groups run one after the other, so that there is one copy of
// local memory. Who waits for others of its warp goes on when all that it names have come.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MOST = 1024, WARP = 32, STACK = 64 << 10 };
enum State { READY, AT_BARRIER, IN_WARP, ASKS_WHO_IS_HERE, DONE };

typedef struct {
  ucontext_t context;
  enum State state;
  uint32_t mask, posted, here;
  void *place;
  // What the others of the warp had posted when it went on.
  uint32_t seen[WARP];
} Thread;

static Thread *threads;
static ucontext_t scheduler;
static uint32_t own, size[3], groups[3], group[3], place[MOST][3];
static void (*kernel)(void);
char offkit_local_memory[48 << 10] __attribute__((aligned(128)));

static void wait_as(enum State state) {
  threads[own].state = state;
  swapcontext(&threads[own].context, &scheduler);
}

#define REGISTER(name, value)                                                                                          \
  uint32_t name##_x(void) __asm__("device.read.ptx.sreg." #name ".x");                                                 \
  uint32_t name##_y(void) __asm__("device.read.ptx.sreg." #name ".y");                                                 \
  uint32_t name##_z(void) __asm__("device.read.ptx.sreg." #name ".z");                                                 \
  uint32_t name##_x(void) { return value[0]; }                                                                         \
  uint32_t name##_y(void) { return value[1]; }                                                                         \
  uint32_t name##_z(void) { return value[2]; }

REGISTER(tid, place[own])
REGISTER(ntid, size)
REGISTER(ctaid, group)
REGISTER(nctaid, groups)

uint32_t lane(void) __asm__("device.read.ptx.sreg.laneid");
uint32_t lane(void) { return own % WARP; }

void barrier(uint32_t id) __asm__("device.barrier.cta.sync.aligned.all");
void barrier(uint32_t id) { (void)id, wait_as(AT_BARRIER); }

uint32_t active(void) __asm__("device.activemask");
uint32_t active(void) {
  threads[own].place = __builtin_return_address(0);
  wait_as(ASKS_WHO_IS_HERE);
  return threads[own].here;
}

static Thread *meet(uint32_t mask, uint32_t word) {
  threads[own].mask = mask, threads[own].posted = word;
  wait_as(IN_WARP);
  return &threads[own];
}

void warp_barrier(uint32_t mask) __asm__("device.bar.warp.sync");
void warp_barrier(uint32_t mask) { meet(mask, 0); }

uint32_t vote(uint32_t mask, uint8_t holds) __asm__("device.vote.ballot.sync");
uint32_t vote(uint32_t mask, uint8_t holds) {
  const Thread *me = meet(mask, holds & 1);
  uint32_t votes = 0;
  for (int i = 0; i < WARP; ++i)
    votes |= me->seen[i] << i;
  return votes;
}

// As PTX has it: from outside of the warp's part comes one's own.
#define SHUFFLE(mode, from, is_inside)                                                                                 \
  uint32_t mode(uint32_t mask, uint32_t word, uint32_t by, uint32_t clamp) __asm__("device.shfl.sync." #mode ".i32");  \
  uint32_t mode(uint32_t mask, uint32_t word, uint32_t by, uint32_t clamp) {                                           \
    const Thread *me = meet(mask, word);                                                                               \
    int32_t lane = own % WARP, other = from;                                                                           \
    (void)clamp;                                                                                                       \
    return is_inside ? me->seen[other] : word;                                                                         \
  }

SHUFFLE(idx, (int32_t)(by & 31), 1)
SHUFFLE(bfly, lane ^ (int32_t)(by & 31), 1)
SHUFFLE(down, lane + (int32_t)(by & 31), other < WARP)
SHUFFLE(up, lane - (int32_t)(by & 31), other >= 0)

// Global memory is what is neither local nor on a thread's stack.
static char *stacks;
static int is_local(const char *p) { return p >= offkit_local_memory && p < offkit_local_memory + sizeof offkit_local_memory; }
static int is_private(const char *p) { return p >= stacks && p < stacks + (size_t)MOST * STACK; }
_Bool in_shared(const char *p) __asm__("device.isspacep.shared");
_Bool in_shared(const char *p) { return is_local(p); }
_Bool in_global(const char *p) __asm__("device.isspacep.global");
_Bool in_global(const char *p) { return p && !is_local(p) && !is_private(p); }

// Each value is where C has an argument of its size: characters have 32 bits.
int print(const char *format, const char *values) __asm__("device.vprintf");
int print(const char *format, const char *values) {
  const char *start = values;
  while (*format) {
    char part[64];
    size_t length = strcspn(format + 1, "%diouxXfFeEgGaAcsp") + 2;
    if (*format != '%')
      length = strcspn(format, "%");
    snprintf(part, sizeof part, "%.*s", (int)length, format);
    char last = part[length - 1];
    size_t size = last == 'c' ? 4 : 8;
    double number = 0;
    uint64_t bits = 0;
    if (*format == '%' && last != '%') {
      values = start + ((size_t)(values - start) + size - 1) / size * size;
      memcpy(&bits, values, size), memcpy(&number, &bits, sizeof number);
      values += size;
    }
    if (*format != '%')
      fputs(part, stdout);
    else if (last == '%')
      putchar('%');
    else if (strchr("fFeEgGaA", last))
      printf(part, number);
    else
      printf(part, bits);
    format += length;
  }
  return 0;
}

static void start(void) {
  kernel();
  threads[own].state = DONE;
}

// Lets those of a warp go on who have all that they wait for.
static int release(uint32_t first, uint32_t count) {
  int moved = 0;
  uint32_t end = count - first < WARP ? count - first : WARP, idle = 0;
  Thread *warp = threads + first;
  for (uint32_t i = 0; i < end; ++i) {
    uint32_t mask = warp[i].mask, came = 0;
    idle += warp[i].state != READY;
    if (warp[i].state != IN_WARP)
      continue;
    for (uint32_t j = 0; j < end; ++j)
      if (mask >> j & 1 && warp[j].state == IN_WARP && warp[j].mask == mask)
        came |= 1u << j;
    uint32_t living = 0;
    for (uint32_t j = 0; j < end; ++j)
      living |= (uint32_t)(warp[j].state != DONE) << j;
    if (came != (mask & living) || !(mask >> i & 1))
      continue;
    for (uint32_t j = 0; j < end; ++j)
      if (came >> j & 1) {
        for (uint32_t k = 0; k < end; ++k)
          warp[j].seen[k] = came >> k & 1 ? warp[k].posted : 0;
        warp[j].state = READY, moved = 1;
      }
  }
  // Nobody else comes: those at one place are there together.
  for (uint32_t i = 0; idle == end && !moved && i < end; ++i)
    if (warp[i].state == ASKS_WHO_IS_HERE) {
      uint32_t here = 0;
      for (uint32_t j = 0; j < end; ++j)
        here |= (uint32_t)(warp[j].state == ASKS_WHO_IS_HERE && warp[j].place == warp[i].place) << j;
      for (uint32_t j = 0; j < end; ++j)
        if (here >> j & 1)
          warp[j].here = here, warp[j].state = READY, moved = 1;
    }
  return moved;
}

static void run_group(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    place[i][0] = i % size[0], place[i][1] = i / size[0] % size[1], place[i][2] = i / size[0] / size[1];
    getcontext(&threads[i].context);
    threads[i].context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
    threads[i].context.uc_stack.ss_size = STACK;
    threads[i].context.uc_link = &scheduler;
    threads[i].state = READY;
    makecontext(&threads[i].context, start, 0);
  }
  for (int moved = 1; moved;) {
    uint32_t waiting = 0, done = 0;
    moved = 0;
    for (own = 0; own < count; ++own)
      if (threads[own].state == READY)
        swapcontext(&scheduler, &threads[own].context), moved = 1;
    for (uint32_t first = 0; first < count; first += WARP)
      moved |= release(first, count);
    for (uint32_t i = 0; i < count; ++i)
      waiting += threads[i].state == AT_BARRIER, done += threads[i].state == DONE;
    if (done == count)
      return;
    if (waiting + done == count) {
      for (uint32_t i = 0; i < count; ++i)
        if (threads[i].state == AT_BARRIER)
          threads[i].state = READY;
      moved = 1;
    }
  }
  fputs("threads wait for each other forever\n", stderr);
  exit(1);
}

// Runs a kernel, which is given its arguments by a function without any.
void launch(void (*of)(void), uint32_t gx, uint32_t gy, uint32_t gz, uint32_t x, uint32_t y, uint32_t z) {
  threads = calloc(MOST, sizeof *threads);
  stacks = malloc((size_t)MOST * STACK);
  kernel = of;
  groups[0] = gx, groups[1] = gy, groups[2] = gz, size[0] = x, size[1] = y, size[2] = z;
  for (group[2] = 0; group[2] < gz; ++group[2])
    for (group[1] = 0; group[1] < gy; ++group[1])
      for (group[0] = 0; group[0] < gx; ++group[0])
        run_group(x * y * z);
}
