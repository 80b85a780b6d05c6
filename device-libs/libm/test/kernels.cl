// Calls every function of the libm, for test/ulp.c to compare the results. Row by row, in the order of
// ../functions.inc, a kernel writes what the functions make of `count` operands.

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
