// Calls every function of the libm, for test/ulp.c to compare the results. Row by row, in the order of
// ../functions.inc, a kernel writes what the functions make of the operands.

// Where a work-item is, OpenCL's functions would say: on GPUs they are in no library that this needs.
#if defined(__AMDGCN__)
#define ITEM                                                                                                           \
  (__builtin_amdgcn_workgroup_id_x() * (size_t)__builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())
#define COUNT __builtin_amdgcn_grid_size_x()
#elif defined(__NVPTX__)
#define ITEM                                                                                                           \
  (__nvvm_read_ptx_sreg_ctaid_x() * (size_t)__nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define COUNT (__nvvm_read_ptx_sreg_nctaid_x() * (size_t)__nvvm_read_ptx_sreg_ntid_x())
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
