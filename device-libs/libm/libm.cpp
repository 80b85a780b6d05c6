// The overloads of C++'s <cmath>: `float sin(float)` beside `double sin(double)`.
//
// Standard libraries whose headers define these inline call the functions of libm.c; code without such headers needs
// these. Their symbols, such as `_Z3sinf`, are also what clang makes of the scalar functions of OpenCL C.

#define LONG_LONG long long

// The function of libm.c has a name of its own in this file: a compiler takes a function called `sin` for its own.
#define OVERLOAD(result, name, parameters, arguments)                                                                  \
  extern "C" result LOCAL(name) parameters __asm__(#name SUFFIX);                                                      \
  result name parameters { return LOCAL(name) arguments; }

#define REAL double
#define SUFFIX ""
#define LOCAL(name) libm_##name
#include "overloads.inc"
#undef REAL
#undef SUFFIX
#undef LOCAL

#define REAL float
#define SUFFIX "f"
#define LOCAL(name) libm_##name##f
#include "overloads.inc"
