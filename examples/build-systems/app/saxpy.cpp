// Device code: the static library's function becomes part of the image, the shared library's stays to be
// found when the kernel is loaded.
#include "blend.h"
#include "vector.h"

OFFKIT_C OFFKIT_KERNEL void saxpy(float a, OFFKIT_GLOBAL const float *x, OFFKIT_GLOBAL float *y) {
  auto i = offkit_global_id(0);
  y[i] = blend(multiply_add(a, x[i], y[i]), x[i]);
}
