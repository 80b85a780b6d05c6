// Calls every function of the libm, for test/ulp.c to compare the results. Row by row, in the order of
// ../functions.inc, a kernel writes what the functions make of the operands. On GPUs a launch has one work-group:
// the functions of OpenCL that say more are not in this library.

#if defined(__AMDGCN__)
#define ITEM __builtin_amdgcn_workitem_id_x()
#define COUNT __builtin_amdgcn_workgroup_size_x()
#elif defined(__NVPTX__)
#define ITEM __nvvm_read_ptx_sreg_tid_x()
#define COUNT __nvvm_read_ptx_sreg_ntid_x()
#else
#define ITEM get_global_id(0)
#define COUNT get_global_size(0)
#endif

#define REAL double
#define SUFFIX ""
#define LOCAL(name) c_##name
#define KERNEL all_double
#include "rows.inc"
#undef REAL
#undef SUFFIX
#undef LOCAL
#undef KERNEL

#define REAL float
#define SUFFIX "f"
#define LOCAL(name) c_##name##f
#define KERNEL all_float
#include "rows.inc"
