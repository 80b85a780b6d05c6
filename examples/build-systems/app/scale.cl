// OpenCL C beside C++, with the same library.
#include "vector.h"

OFFKIT_KERNEL void scale(float a, OFFKIT_GLOBAL float *x) {
  size_t i = offkit_global_id(0);
  x[i] = multiply_add(a, x[i], 0);
}
