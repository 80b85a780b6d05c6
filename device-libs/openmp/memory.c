// Variables that threads share, which are not in the memory of one thread therefore.

#include "openmp.h"

enum { ALIGNMENT = 16 };

static inline uint32_t rounded(uint64_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

RUNTIME void *__kmpc_alloc_shared(uint64_t size) {
  GLOBAL struct Launch *all = launch();
  uint64_t threads = __offkit_omp_team.is_spmd ? threads_of_team() : 1;
  uint64_t each = all->scratch_of_team / 2 / threads / ALIGNMENT * ALIGNMENT;
  LOCAL struct Thread *thread = self();
  if (size > each || thread->used + rounded(size) > each) return 0;
  uint64_t at = all->scratch + get_group_id(0) * all->scratch_of_team + thread_in_team() * each + thread->used;
  thread->used += rounded(size);
  return (GLOBAL void *)at;
}

RUNTIME void __kmpc_free_shared(void *memory, uint64_t size) { self()->used -= rounded(size); }
