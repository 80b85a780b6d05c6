// OpenCL C: its own `pow`, the libm's `sinf`, and a function of a library.
#include "wave/wave.h"

float sinf(float x);

kernel void program(global float *sines, global double *powers, global double *waves) {
  size_t i = get_global_id(0);
  sines[i] = sinf((float)i);
  powers[i] = pow((double)i, 1.5);
  waves[i] = damped(i, 0.25);
}
