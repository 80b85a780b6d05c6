// What the parts of OpenMP's device runtime share.
//
// A team is a work-group, a thread a work-item. In SPMD mode all work-items run the region, and a parallel region is
// theirs. In generic mode the first one runs it, parallel regions included, and the others end at once: on a CPU device
// a work-group has one core, so that nothing is lost but lanes, and no barrier is ever reached by some of them only.

#pragma once

// Pointers without an address space may point to any memory.
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define PRIVATE __attribute__((address_space(0)))

// A function that clang calls. It disappears into its caller, and so do the pointers to functions that it is given.
#define RUNTIME __attribute__((always_inline, visibility("hidden")))

// One object for a team, which nothing sets before the kernel does.
#define TEAM_SHARED LOCAL __attribute__((loader_uninitialized))

typedef __SIZE_TYPE__ size_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

// As clang's default for this target; the host launches no larger team.
enum { MAX_THREADS = 256 };

#define BUILT_IN __attribute__((overloadable, const))
BUILT_IN size_t get_local_id(unsigned dimension);
BUILT_IN size_t get_local_size(unsigned dimension);
BUILT_IN size_t get_group_id(unsigned dimension);
BUILT_IN size_t get_num_groups(unsigned dimension);
__attribute__((overloadable, convergent)) void barrier(unsigned flags);

enum { LOCAL_FENCE = 1, GLOBAL_FENCE = 2 };

// What the host passes to each kernel, before the arguments of the region. The host has its own declaration of it.
struct Launch {
  uint32_t teams_done; // in the reduction across teams
  uint32_t reserved;
  uint64_t scratch; // of all teams, one after the other
  uint64_t scratch_of_team; // half for what threads share, half for reductions
};

// The place of a thread.
struct Thread {
  uint16_t level;   // nesting of parallel regions
  uint16_t threads; // in the innermost one
  uint32_t used;    // bytes of its scratch memory
};

extern LOCAL struct Team {
  uint64_t launch; // a `struct Launch` in global memory
  uint32_t is_spmd;
  struct Thread threads[MAX_THREADS];
} __offkit_omp_team;

static inline int thread_in_team(void) { return get_local_id(0); }
static inline int threads_of_team(void) { return get_local_size(0); }

static inline GLOBAL struct Launch *launch(void) { return (GLOBAL struct Launch *)__offkit_omp_team.launch; }

static inline LOCAL struct Thread *self(void) { return &__offkit_omp_team.threads[thread_in_team()]; }

static inline int thread_number(void) {
  LOCAL struct Thread *thread = self();
  return thread->level == 1 && thread->threads > 1 ? thread_in_team() : 0;
}

static inline int thread_count(void) { return self()->threads; }

static inline void team_barrier(void) { barrier(LOCAL_FENCE | GLOBAL_FENCE); }
