// A kernel for each function and precision, as `./dev bench libmvec` runs them.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define KERNEL(name, type, suffix, value)                                                                              \
  kernel void name##suffix(global const type *x, global const type *y, global type *result) {                          \
    size_t i = get_global_id(0);                                                                                       \
    result[i] = value;                                                                                                 \
  }
#define UNARY(name, low, high, bound) KERNEL(name, float, _f32, name(x[i])) KERNEL(name, double, _f64, name(x[i]))
#define BINARY(name, low, high, bound)                                                                                 \
  KERNEL(name, float, _f32, name(x[i], y[i])) KERNEL(name, double, _f64, name(x[i], y[i]))

#include "functions.h"
