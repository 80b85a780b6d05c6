// The kernels of kernels.cl as functions of this machine, for a libm that was retargeted to it.

#include <stddef.h>

// The work-item, and whether an approximation of the processor's was used since this was last 0.
size_t item;
int approximate;
// For each type and row, whether one was.
unsigned char unmeasured[2][256];

#define kernel
#define global
#define ITEM item
#define COUNT 8192
#define NOTE(row) (unmeasured[TYPE][row] |= approximate, approximate = 0)

#define REAL double
#define SUFFIX ""
#define LOCAL(name) c_##name
#define KERNEL all_double
#define TYPE 0
#include "rows.inc"
#undef REAL
#undef SUFFIX
#undef LOCAL
#undef KERNEL
#undef TYPE

#define REAL float
#define SUFFIX "f"
#define LOCAL(name) c_##name##f
#define KERNEL all_float
#define TYPE 1
#include "rows.inc"
