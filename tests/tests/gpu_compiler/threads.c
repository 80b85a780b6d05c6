// A device of threads that switch by hand: it runs kernels that were compiled for GPUs, whose LLVM IR is made the host's
// first, and answers what they ask the hardware for. Groups run one after the other, so that there is one copy of local
// memory. Who waits for others of its warp goes on when all that it names have come; who names nobody, as on AMD's, goes on
// with those that are at the same place, the earliest places first.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifndef WARP
#define WARP 32
#endif
enum { MOST = 1024, STACK = 64 << 10 };
enum State { READY, AT_BARRIER, IN_WARP, ASKS_WHO_IS_HERE, DONE };

typedef struct {
  ucontext_t context;
  enum State state;
  uint64_t mask, posted, here;
  char *place;
  // What the others of the warp had posted when it went on.
  uint64_t seen[WARP];
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

static Thread *here_with(char *place, uint64_t word) {
  threads[own].place = place, threads[own].posted = word;
  wait_as(ASKS_WHO_IS_HERE);
  return &threads[own];
}

uint32_t active(void) __asm__("device.activemask");
uint32_t active(void) { return here_with(__builtin_return_address(0), 0)->here; }

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
    votes |= (uint32_t)me->seen[i] << i;
  return votes;
}

// As PTX has it: from outside of the warp's part comes one's own.
#define SHUFFLE(mode, from, is_inside)                                                                                 \
  uint32_t mode(uint32_t mask, uint32_t word, uint32_t by, uint32_t clamp) __asm__("device.shfl.sync." #mode ".i32");  \
  uint32_t mode(uint32_t mask, uint32_t word, uint32_t by, uint32_t clamp) {                                           \
    const Thread *me = meet(mask, word);                                                                               \
    int32_t lane = own % WARP, other = from;                                                                           \
    (void)clamp;                                                                                                       \
    return is_inside ? (uint32_t)me->seen[other] : word;                                                               \
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

// What approximate instructions are near to.
#define APPROXIMATE(name, value)                                                                                       \
  float near_##name(float x) __asm__("device." #name ".approx.f");                                                     \
  float near_##name(float x) { return value; }

APPROXIMATE(lg2, __builtin_log2f(x))
APPROXIMATE(sin, __builtin_sinf(x))
APPROXIMATE(cos, __builtin_cosf(x))
APPROXIMATE(sqrt, __builtin_sqrtf(x))
APPROXIMATE(rsqrt, 1 / __builtin_sqrtf(x))
float power_of_two(float x) __asm__("device.ex2.approx.f32");
float power_of_two(float x) { return __builtin_exp2f(x); }
float reciprocal(float x) __asm__("device.rcp.approx.ftz.f");
float reciprocal(float x) { return 1 / x; }
float quotient(float x, float y) __asm__("device.div.approx.f");
float quotient(float x, float y) { return x / y; }

// AMD's. What the runtime tells a kernel of its launch, as code object v5 has it.
static struct {
  uint32_t groups[3];
  uint16_t size[3], rest[3], none[8];
  uint64_t offset[3];
  uint16_t dimensions;
} told;
// Where ids begin, and the number of dimensions.
extern uint32_t launched[4];
const void *implicit(void) __asm__("device.amd.implicitarg.ptr");
const void *implicit(void) {
  for (int i = 0; i < 3; ++i)
    told.groups[i] = groups[i], told.size[i] = (uint16_t)size[i], told.offset[i] = launched[i];
  told.dimensions = (uint16_t)launched[3];
  return &told;
}

#define NUMBER(what, axis, value)                                                                                      \
  uint32_t what##_id_##axis(void) __asm__("device.amd." #what ".id." #axis);                                           \
  uint32_t what##_id_##axis(void) { return value; }

NUMBER(workitem, x, place[own][0])
NUMBER(workitem, y, place[own][1])
NUMBER(workitem, z, place[own][2])
NUMBER(workgroup, x, group[0])
NUMBER(workgroup, y, group[1])
NUMBER(workgroup, z, group[2])

// How many of a mask are below the thread: of the lower half of a wave, and of the upper one.
uint32_t below_low(uint32_t mask, uint32_t more) __asm__("device.amd.mbcnt.lo");
uint32_t below_low(uint32_t mask, uint32_t more) {
  uint32_t lane = own % WARP;
  return more + (uint32_t)__builtin_popcount(lane >= 32 ? mask : mask & ((1u << lane) - 1));
}
uint32_t below_high(uint32_t mask, uint32_t more) __asm__("device.amd.mbcnt.hi");
uint32_t below_high(uint32_t mask, uint32_t more) {
  uint32_t lane = own % WARP;
  return more + (uint32_t)(lane < 32 ? 0 : __builtin_popcount(mask & ((1u << (lane - 32)) - 1)));
}

void group_barrier(void) __asm__("device.amd.s.barrier");
void group_barrier(void) { wait_as(AT_BARRIER); }
void wave_barrier(void) __asm__("device.amd.wave.barrier");
void wave_barrier(void) { here_with(__builtin_return_address(0), 0); }

static uint64_t ballot(char *place, _Bool holds) {
  const Thread *me = here_with(place, holds);
  uint64_t votes = 0;
  for (int i = 0; i < WARP; ++i)
    votes |= (uint64_t)me->seen[i] << i;
  return votes;
}
uint32_t ballot_32(uint8_t holds) __asm__("device.amd.ballot.i32");
uint32_t ballot_32(uint8_t holds) { return (uint32_t)ballot(__builtin_return_address(0), holds & 1); }
uint64_t ballot_64(uint8_t holds) __asm__("device.amd.ballot.i64");
uint64_t ballot_64(uint8_t holds) { return ballot(__builtin_return_address(0), holds & 1); }

uint32_t permute(uint32_t from, uint32_t word) __asm__("device.amd.ds.bpermute");
uint32_t permute(uint32_t from, uint32_t word) {
  return (uint32_t)here_with(__builtin_return_address(0), word)->seen[from / 4 % WARP];
}
#define READ_LANE(type, name)                                                                                          \
  type read_lane_##name(type word, uint32_t lane) __asm__("device.amd.readlane." #name);                               \
  type read_lane_##name(type word, uint32_t lane) {                                                                    \
    uint64_t bits = 0;                                                                                                 \
    memcpy(&bits, &word, sizeof word);                                                                                 \
    bits = here_with(__builtin_return_address(0), bits)->seen[lane % WARP];                                            \
    memcpy(&word, &bits, sizeof word);                                                                                 \
    return word;                                                                                                       \
  }

READ_LANE(uint32_t, i32)
READ_LANE(uint64_t, i64)
READ_LANE(float, f32)
READ_LANE(double, f64)

_Bool is_shared(const char *p) __asm__("device.amd.is.shared");
_Bool is_shared(const char *p) { return is_local(p); }
_Bool is_own(const char *p) __asm__("device.amd.is.private");
_Bool is_own(const char *p) { return is_private(p); }

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
    uint64_t mask = warp[i].mask, came = 0;
    idle += warp[i].state != READY;
    if (warp[i].state != IN_WARP)
      continue;
    for (uint32_t j = 0; j < end; ++j)
      if (mask >> j & 1 && warp[j].state == IN_WARP && warp[j].mask == mask)
        came |= 1ull << j;
    uint64_t living = 0;
    for (uint32_t j = 0; j < end; ++j)
      living |= (uint64_t)(warp[j].state != DONE) << j;
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
  char *place = NULL;
  for (uint32_t i = 0; idle == end && !moved && i < end; ++i)
    if (warp[i].state == ASKS_WHO_IS_HERE && (!place || warp[i].place < place))
      place = warp[i].place;
  uint64_t here = 0;
  for (uint32_t j = 0; place && j < end; ++j)
    here |= (uint64_t)(warp[j].state == ASKS_WHO_IS_HERE && warp[j].place == place) << j;
  for (uint32_t j = 0; j < end; ++j)
    if (here >> j & 1) {
      for (uint32_t k = 0; k < end; ++k)
        warp[j].seen[k] = here >> k & 1 ? warp[k].posted : 0;
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
