// How a region begins and ends, and how threads meet.

#include "openmp.h"

TEAM_SHARED struct Team __offkit_omp_team;

// As clang writes it.
struct KernelEnvironment {
  uint8_t uses_state_machine, may_nest, mode;
};

enum { SPMD = 2 };

RUNTIME int32_t __kmpc_target_init(struct KernelEnvironment *kernel, void *launch) {
  // All work-items write the same.
  __offkit_omp_team.launch = (uint64_t)launch;
  int is_spmd = (kernel->mode & SPMD) != 0;
  __offkit_omp_team.is_spmd = is_spmd;
  LOCAL struct Thread *thread = self();
  thread->level = 0;
  thread->threads = 1;
  thread->used = 0;
  return is_spmd || thread_in_team() == 0 ? -1 : thread_in_team();
}

RUNTIME void __kmpc_target_deinit(void) {}

RUNTIME int32_t __kmpc_global_thread_num(void *place) { return thread_number(); }
RUNTIME int32_t __kmpc_get_hardware_thread_id_in_block(void) { return thread_in_team(); }
RUNTIME int32_t __kmpc_get_hardware_num_threads_in_block(void) { return threads_of_team(); }
RUNTIME int32_t __kmpc_get_hardware_num_blocks(void) { return get_num_groups(0); }
// Shuffles reach all of a team.
RUNTIME int32_t __kmpc_get_warp_size(void) { return MAX_THREADS; }
RUNTIME uint8_t __kmpc_is_spmd_exec_mode(void) { return __offkit_omp_team.is_spmd; }

RUNTIME void __kmpc_barrier(void *place, int32_t thread) {
  if (self()->level == 1 && self()->threads > 1) team_barrier();
}
RUNTIME int32_t __kmpc_cancel_barrier(void *place, int32_t thread) {
  __kmpc_barrier(place, thread);
  return 0;
}
RUNTIME void __kmpc_barrier_simple_spmd(void *place, int32_t thread) { team_barrier(); }
RUNTIME void __kmpc_barrier_simple_generic(void *place, int32_t thread) {}

RUNTIME void __kmpc_flush(void *place) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

RUNTIME int32_t __kmpc_master(void *place, int32_t thread) { return thread_number() == 0; }
RUNTIME void __kmpc_end_master(void *place, int32_t thread) {}
RUNTIME int32_t __kmpc_masked(void *place, int32_t thread, int32_t filter) { return thread_number() == filter; }
RUNTIME void __kmpc_end_masked(void *place, int32_t thread) {}
RUNTIME int32_t __kmpc_single(void *place, int32_t thread) { return thread_number() == 0; }
RUNTIME void __kmpc_end_single(void *place, int32_t thread) {}

// clang has the threads of a team come one after the other; this is between teams.
typedef int32_t CriticalName[8];
RUNTIME void __kmpc_critical(void *place, int32_t thread, CriticalName *name) {
  while (__atomic_exchange_n(&(*name)[0], 1, __ATOMIC_ACQUIRE)) {}
}
RUNTIME void __kmpc_end_critical(void *place, int32_t thread, CriticalName *name) {
  __atomic_store_n(&(*name)[0], 0, __ATOMIC_RELEASE);
}
RUNTIME uint64_t __kmpc_warp_active_thread_mask(void) { return ~0ull; }
RUNTIME void __kmpc_syncwarp(uint64_t mask) {}

// Cancellation is off, as it is on the host unless OMP_CANCELLATION says otherwise.
RUNTIME int32_t __kmpc_cancel(void *place, int32_t thread, int32_t kind) { return 0; }
RUNTIME int32_t __kmpc_cancellationpoint(void *place, int32_t thread, int32_t kind) { return 0; }
