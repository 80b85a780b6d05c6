// The functions of <omp.h>.

#include "openmp.h"

RUNTIME int omp_get_thread_num(void) { return thread_number(); }
RUNTIME int omp_get_num_threads(void) { return thread_count(); }
RUNTIME int omp_get_team_num(void) { return get_group_id(0); }
RUNTIME int omp_get_num_teams(void) { return get_num_groups(0); }
RUNTIME int omp_get_level(void) { return self()->level; }
RUNTIME int omp_get_active_level(void) { return self()->level > 0 && __offkit_omp_team.is_spmd; }
RUNTIME int omp_in_parallel(void) { return omp_get_active_level(); }
RUNTIME int omp_get_max_threads(void) {
  return __offkit_omp_team.is_spmd && self()->level == 0 ? threads_of_team() : 1;
}
RUNTIME int omp_get_num_procs(void) { return threads_of_team(); }
RUNTIME int omp_get_thread_limit(void) { return threads_of_team(); }
RUNTIME int omp_get_team_size(int level) { return level == self()->level ? thread_count() : 1; }
RUNTIME int omp_get_ancestor_thread_num(int level) { return level == 1 && self()->level >= 1 ? thread_in_team() : 0; }
RUNTIME int omp_get_max_active_levels(void) { return 1; }
RUNTIME int omp_is_initial_device(void) { return 0; }
RUNTIME int omp_get_dynamic(void) { return 0; }
RUNTIME int omp_get_nested(void) { return 0; }
RUNTIME int omp_get_cancellation(void) { return 0; }
RUNTIME void omp_set_num_threads(int count) {}
RUNTIME void omp_set_dynamic(int is_on) {}
RUNTIME void omp_set_nested(int is_on) {}
RUNTIME void omp_set_max_active_levels(int levels) {}
