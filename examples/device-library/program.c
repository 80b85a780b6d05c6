// OpenMP: the same functions, in a region for a device.
#include <math.h>
#include <stdio.h>

#pragma omp begin declare target
#include "wave/wave.h"
#pragma omp end declare target

int main(void) {
  float sines[16];
  double powers[16], waves[16];
#pragma omp target map(from : sines, powers, waves)
  for (int i = 0; i < 16; i++) {
    sines[i] = sinf((float)i);
    powers[i] = pow(i, 1.5);
    waves[i] = damped(i, 0.25);
  }
  printf("%.6f %.6f %.6f\n", sines[3], powers[3], waves[3]);
  return 0;
}
