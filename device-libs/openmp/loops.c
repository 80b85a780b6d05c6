// Which iterations of a loop are whose.

#include "openmp.h"

// kmp_sched_*: those whose chunks have a given size; the others share evenly.
static inline int is_chunked(int32_t schedule) {
  enum { STATIC_CHUNK = 33, BALANCED_CHUNK = 45, DISTRIBUTE_CHUNK = 91 };
  return schedule == STATIC_CHUNK || schedule == BALANCED_CHUNK || schedule == DISTRIBUTE_CHUNK;
}

// The share of one among `count`. Bounds are inclusive, and loops of clang count up by one.
#define DEFINE_SHARE(NAME, T)                                                                                         \
  static inline void NAME(int32_t schedule, T number, T count, int32_t *is_last, T *lower,           \
                          T *upper, T *stride, T chunk) {                                            \
    T first = *lower, end = *upper;                                                                                   \
    if (is_chunked(schedule) && chunk >= 1) {                                                                        \
      *lower = first + number * chunk;                                                                                \
      *upper = *lower + chunk - 1;                                                                                    \
      *stride = count * chunk;                                                                                        \
      *is_last = end >= first && (end - first) / chunk % count == number;                                             \
      return;                                                                                                         \
    }                                                                                                                 \
    T all = end >= first ? end - first + 1 : 0, each = all / count, more = all % count;                               \
    *lower = first + number * each + (number < more ? number : more);                                                 \
    *upper = *lower + each - (number < more ? 0 : 1);                                                                 \
    *stride = all;                                                                                                    \
    *is_last = all > 0 && *lower <= end && end <= *upper;                                                             \
  }

DEFINE_SHARE(share_4, int32_t)
DEFINE_SHARE(share_4u, uint32_t)
DEFINE_SHARE(share_8, int64_t)
DEFINE_SHARE(share_8u, uint64_t)

#define DEFINE_STATIC(SUFFIX, T, SIGNED)                                                                              \
  RUNTIME void __kmpc_for_static_init_##SUFFIX(void *place, int32_t thread, int32_t schedule,                 \
                                               int32_t *is_last, T *lower, T *upper,          \
                                               SIGNED *stride, SIGNED step, SIGNED chunk) {                   \
    share_##SUFFIX(schedule, thread_number(), thread_count(), is_last, lower, upper, (T *)stride, chunk);     \
  }                                                                                                                   \
  RUNTIME void __kmpc_distribute_static_init_##SUFFIX(void *place, int32_t thread, int32_t schedule,          \
                                                      int32_t *is_last, T *lower, T *upper,   \
                                                      SIGNED *stride, SIGNED step, SIGNED chunk) {            \
    share_##SUFFIX(schedule, get_group_id(0), get_num_groups(0), is_last, lower, upper, (T *)stride, chunk);  \
  }

DEFINE_STATIC(4, int32_t, int32_t)
DEFINE_STATIC(4u, uint32_t, int32_t)
DEFINE_STATIC(8, int64_t, int64_t)
DEFINE_STATIC(8u, uint64_t, int64_t)

RUNTIME void __kmpc_for_static_fini(void *place, int32_t thread) {}
RUNTIME void __kmpc_distribute_static_fini(void *place, int32_t thread) {}

// schedule(dynamic) and the like: chunks in turn, for a thread of a work-group gains nothing by waiting for another.
static TEAM_SHARED struct {
  int64_t next, end, chunk;
} dispatched[MAX_THREADS];

// What has to be done in order is done by one thread.
static inline int is_ordered(int32_t schedule) {
  enum { MODIFIERS = 3 << 29, FIRST = 64, END = 160 };
  schedule &= ~MODIFIERS;
  return schedule > FIRST && schedule < END && (schedule < 91 || schedule > 94);
}

static inline void dispatch(int32_t schedule, int64_t lower, int64_t upper, int64_t chunk) {
  int own = thread_in_team();
  int64_t size = is_ordered(schedule) ? upper - lower + 1 : chunk < 1 ? 1 : chunk;
  dispatched[own].chunk = size;
  dispatched[own].next = lower + thread_number() * size;
  dispatched[own].end = upper;
}

#define DEFINE_DISPATCH(SUFFIX, T, SIGNED)                                                                            \
  RUNTIME void __kmpc_dispatch_init_##SUFFIX(void *place, int32_t thread, int32_t schedule, T lower, T upper, \
                                             SIGNED stride, SIGNED chunk) {                                           \
    dispatch(schedule, lower, upper, chunk);                                                                                    \
  }                                                                                                                   \
  RUNTIME int32_t __kmpc_dispatch_next_##SUFFIX(void *place, int32_t thread, int32_t *is_last,        \
                                                T *lower, T *upper, SIGNED *stride) {         \
    int own = thread_in_team();                                                                                       \
    int64_t first = dispatched[own].next, end = dispatched[own].end, chunk = dispatched[own].chunk;                   \
    if (first > end) return 0;                                                                                        \
    int is_short = end - first < chunk;                                                                               \
    *lower = first;                                                                                                   \
    *upper = is_short ? end : first + chunk - 1;                                                                      \
    *stride = 1;                                                                                                      \
    *is_last = is_short || first + chunk > end;                                                                       \
    dispatched[own].next = first + thread_count() * chunk;                                                            \
    return 1;                                                                                                         \
  }                                                                                                                   \
  RUNTIME void __kmpc_dispatch_fini_##SUFFIX(void *place, int32_t thread) {}

DEFINE_DISPATCH(4, int32_t, int32_t)
DEFINE_DISPATCH(4u, uint32_t, int32_t)
DEFINE_DISPATCH(8, int64_t, int64_t)
DEFINE_DISPATCH(8u, uint64_t, int64_t)

RUNTIME void __kmpc_dispatch_deinit(void *place, int32_t thread) {}

RUNTIME void __kmpc_ordered(void *place, int32_t thread) {}
RUNTIME void __kmpc_end_ordered(void *place, int32_t thread) {}
