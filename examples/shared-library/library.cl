// A device library: functions that kernels of other files call, found and linked at run time.
//
// Whatever is not static is exported, as in a host library.
#include "library.h"

static float fused(float a, float b, float c) { return fma(a, b, c); }

float axpy(float a, float x, float y) { return fused(a, x, y); }

float multiply_add(float a, float b, float sum) { return fused(a, b, sum); }

float combine(float a, float b) { return a + b; }
