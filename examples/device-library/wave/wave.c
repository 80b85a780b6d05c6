#include "wave.h"

float sinf(float x);
double pow(double x, double y);
double modf(double x, double *whole);

double damped(double time, double rate) { return sinf((float)time) * pow(0.5, rate * time); }

int periods(double time, double *rest) {
  double whole;
  *rest = modf(time / 6.283185307179586, &whole) * 6.283185307179586;
  return (int)whole;
}
