// Parallel regions.

#include "openmp.h"

typedef void *Argument;

// clang's outlined functions take where the numbers of the thread lie, then what the region uses.
typedef void (*Outlined)(int32_t *, int32_t *, ...);

#define PARAMETERS_0
#define PARAMETERS_1 , Argument
#define PARAMETERS_2 PARAMETERS_1, Argument
#define PARAMETERS_3 PARAMETERS_2, Argument
#define PARAMETERS_4 PARAMETERS_3, Argument
#define PARAMETERS_5 PARAMETERS_4, Argument
#define PARAMETERS_6 PARAMETERS_5, Argument
#define PARAMETERS_7 PARAMETERS_6, Argument
#define PARAMETERS_8 PARAMETERS_7, Argument
#define PARAMETERS_9 PARAMETERS_8, Argument
#define PARAMETERS_10 PARAMETERS_9, Argument
#define PARAMETERS_11 PARAMETERS_10, Argument
#define PARAMETERS_12 PARAMETERS_11, Argument
#define PARAMETERS_13 PARAMETERS_12, Argument
#define PARAMETERS_14 PARAMETERS_13, Argument
#define PARAMETERS_15 PARAMETERS_14, Argument
#define PARAMETERS_16 PARAMETERS_15, Argument
#define PARAMETERS_17 PARAMETERS_16, Argument
#define PARAMETERS_18 PARAMETERS_17, Argument
#define PARAMETERS_19 PARAMETERS_18, Argument
#define PARAMETERS_20 PARAMETERS_19, Argument
#define PARAMETERS_21 PARAMETERS_20, Argument
#define PARAMETERS_22 PARAMETERS_21, Argument
#define PARAMETERS_23 PARAMETERS_22, Argument
#define PARAMETERS_24 PARAMETERS_23, Argument

#define VALUES_0
#define VALUES_1 , arguments[0]
#define VALUES_2 VALUES_1, arguments[1]
#define VALUES_3 VALUES_2, arguments[2]
#define VALUES_4 VALUES_3, arguments[3]
#define VALUES_5 VALUES_4, arguments[4]
#define VALUES_6 VALUES_5, arguments[5]
#define VALUES_7 VALUES_6, arguments[6]
#define VALUES_8 VALUES_7, arguments[7]
#define VALUES_9 VALUES_8, arguments[8]
#define VALUES_10 VALUES_9, arguments[9]
#define VALUES_11 VALUES_10, arguments[10]
#define VALUES_12 VALUES_11, arguments[11]
#define VALUES_13 VALUES_12, arguments[12]
#define VALUES_14 VALUES_13, arguments[13]
#define VALUES_15 VALUES_14, arguments[14]
#define VALUES_16 VALUES_15, arguments[15]
#define VALUES_17 VALUES_16, arguments[16]
#define VALUES_18 VALUES_17, arguments[17]
#define VALUES_19 VALUES_18, arguments[18]
#define VALUES_20 VALUES_19, arguments[19]
#define VALUES_21 VALUES_20, arguments[20]
#define VALUES_22 VALUES_21, arguments[21]
#define VALUES_23 VALUES_22, arguments[22]
#define VALUES_24 VALUES_23, arguments[23]

#define CASE(count)                                                                                                   \
  case count:                                                                                                         \
    ((void (*)(int32_t *, int32_t * PARAMETERS_##count))function)(number, team VALUES_##count);       \
    return;

static inline __attribute__((always_inline)) void call(Outlined function, Argument *arguments, int64_t count) {
  int32_t numbers[2] = {thread_number(), 0};
  int32_t *number = &numbers[0], *team = &numbers[1];
  switch (count) {
    CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
    CASE(13) CASE(14) CASE(15) CASE(16) CASE(17) CASE(18) CASE(19) CASE(20) CASE(21) CASE(22) CASE(23) CASE(24)
  default:
    __builtin_trap();
  }
}

RUNTIME void __kmpc_parallel_60(void *place, int32_t thread, int32_t is_parallel, int32_t wanted, int32_t binding,
                                Outlined function, void (*wrapper)(uint16_t, uint32_t), Argument *arguments,
                                int64_t count, int32_t is_strict) {
  LOCAL struct Thread *own = self();
  uint16_t level = own->level, threads = own->threads;
  int is_outermost = __offkit_omp_team.is_spmd && level == 0;
  int all = threads_of_team();
  int some = !is_parallel ? 1 : wanted > 0 && wanted < all ? wanted : all;
  own->level = level + 1;
  own->threads = is_outermost ? some : 1;
  if (is_outermost) team_barrier();
  if (!is_outermost || thread_in_team() < some) call(function, arguments, count);
  if (is_outermost) team_barrier();
  own->level = level;
  own->threads = threads;
}

RUNTIME void __kmpc_parallel_51(void *place, int32_t thread, int32_t is_parallel, int32_t wanted, int32_t binding,
                                Outlined function, void (*wrapper)(uint16_t, uint32_t), Argument *arguments,
                                int64_t count) {
  __kmpc_parallel_60(place, thread, is_parallel, wanted, binding, function, wrapper, arguments, count, 0);
}

RUNTIME void __kmpc_serialized_parallel(void *place, int32_t thread) { self()->level++; }
RUNTIME void __kmpc_end_serialized_parallel(void *place, int32_t thread) { self()->level--; }
RUNTIME void __kmpc_push_num_threads(void *place, int32_t thread, int32_t wanted) {}
RUNTIME uint16_t __kmpc_parallel_level(void *place, int32_t thread) { return self()->level; }

// For threads that wait for work in generic mode: there are none.
RUNTIME uint8_t __kmpc_kernel_parallel(void **function) { return 0; }
RUNTIME void __kmpc_kernel_end_parallel(void) {}
RUNTIME void __kmpc_get_shared_variables(void ***variables) {}
