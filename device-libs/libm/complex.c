// The functions of C's <complex.h>, and the compiler's own for products and quotients of complex numbers.
//
// They call the functions of libm.c.

#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define EXPORT_AS(symbol) __asm__(symbol)

#define REAL double
#define SUFFIX ""
#define COMPILER(operation) "__" #operation "dc3"
#define LOCAL(name) libm_##name
#define BITS unsigned long
#define EXPONENT_BITS 11
#define FRACTION_BITS 52
#define MOST_EXP 700.0 // the exponential of it is finite
#include "complex.inc"
#undef REAL
#undef SUFFIX
#undef COMPILER
#undef LOCAL
#undef BITS
#undef EXPONENT_BITS
#undef FRACTION_BITS
#undef MOST_EXP

#define REAL float
#define SUFFIX "f"
#define COMPILER(operation) "__" #operation "sc3"
#define LOCAL(name) libm_##name##f
#define BITS unsigned int
#define EXPONENT_BITS 8
#define FRACTION_BITS 23
#define MOST_EXP 87.0f
#include "complex.inc"
