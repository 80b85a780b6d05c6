// Reductions.
//
// clang writes a function that fetches each value of a list from another thread (`__kmpc_shuffle_*`), and combines it
// with its own. That one function does all here: within a team values come through local memory. Between teams it
// writes the list down, one value after the other, and reads the lists of others in the same order. clang's functions
// for that take pointers to private memory where they are given pointers to global memory.

#include "openmp.h"

typedef void (*Combine)(PRIVATE void *list, int16_t thread, int16_t distance, int16_t algorithm);
typedef void (*Unused)(void);

// What the function does with what it has fetched.
enum {
  COMBINE = 0,
  COMBINE_OR_TAKE = 1, // combines below the distance, and takes the other's value above it
  NOTHING = 2,         // for threads with odd numbers
};

enum Way { EXCHANGE, WRITE, READ };

static TEAM_SHARED struct {
  uint32_t way;
  uint64_t at;
  uint64_t values[MAX_THREADS];
} exchange;

static inline __attribute__((always_inline)) uint64_t fetch(uint64_t value, int distance) {
  if (exchange.way != EXCHANGE) {
    GLOBAL uint64_t *at = (GLOBAL uint64_t *)exchange.at;
    exchange.at += sizeof *at;
    return exchange.way == WRITE ? (*at = value) : *at;
  }
  int own = thread_in_team();
  exchange.values[own] = value;
  team_barrier();
  uint64_t fetched = own + distance < threads_of_team() ? exchange.values[own + distance] : value;
  team_barrier();
  return fetched;
}

RUNTIME int32_t __kmpc_shuffle_int32(int32_t value, int16_t distance, int16_t size) {
  return fetch((uint32_t)value, distance);
}
RUNTIME int64_t __kmpc_shuffle_int64(int64_t value, int16_t distance, int16_t size) { return fetch(value, distance); }

RUNTIME int32_t __kmpc_nvptx_parallel_reduce_nowait_v2(void *place, uint64_t size, void *list,
                                                       Combine combine, Unused copy) {
  int threads = thread_count();
  if (threads == 1) return 1;
  exchange.way = EXCHANGE;
  for (int left = threads; left > 1; left = (left + 1) / 2) {
    combine((PRIVATE void *)list, thread_in_team(), left / 2, COMBINE_OR_TAKE);
  }
  return thread_in_team() == 0;
}

RUNTIME void *__kmpc_reduction_get_fixed_buffer(void) { return 0; }

RUNTIME int32_t __kmpc_nvptx_teams_reduce_nowait_v2(void *place, void *buffer, uint32_t records,
                                                    uint64_t size, void *list, Combine combine, Unused copy,
                                                    Unused to_global, Unused reduce_to_global, Unused from_global,
                                                    Unused reduce_from_global) {
  if (thread_in_team() != 0) return 0;
  uint32_t teams = get_num_groups(0);
  if (teams == 1) return 1;
  GLOBAL struct Launch *all = launch();
  // Each value takes eight bytes, and is one byte at least. What has no room is written nowhere, which is a fault.
  uint64_t half = all->scratch_of_team / 2, first = size * sizeof(uint64_t) <= half ? all->scratch + half : 0;
  exchange.way = WRITE;
  exchange.at = first + get_group_id(0) * all->scratch_of_team;
  combine((PRIVATE void *)list, 1, 1, NOTHING);
  uint32_t done = __atomic_fetch_add(&all->teams_done, 1, __ATOMIC_ACQ_REL);
  if (done + 1 != teams) return 0;
  // From the first team on, this one too: in the same order whoever is last.
  exchange.way = READ;
  exchange.at = first;
  combine((PRIVATE void *)list, 1, 1, COMBINE_OR_TAKE);
  for (uint32_t team = 1; team < teams; team++) {
    exchange.at = first + team * all->scratch_of_team;
    combine((PRIVATE void *)list, 0, 0, COMBINE);
  }
  return 1;
}
