// The functions of C's <math.h>, for `double` and `float`.
//
// Their code comes from a provider: the device vendor's library of mathematical functions, or what stands for it.
// libdevice.toml says which for which target.

#if defined(LIBM_LIBDEVICE)
#include "providers/libdevice.h"
#elif defined(LIBM_OCML)
#include "providers/ocml.h"
#elif defined(LIBM_LIBCLC)
#include "providers/libclc.h"
#elif defined(LIBM_OPENCL)
#include "providers/opencl.h"
#else
#error "no provider of mathematical functions: see libdevice.toml"
#endif

#ifdef __OPENCL_C_VERSION__
#define LONG_LONG long // has 64 bits, and is all there is
#define LONG_DOUBLE double
#else
#define LONG_LONG long long
#define LONG_DOUBLE long double
#endif

// A function under the name that user code calls. In this file it has another one: a compiler takes a function
// called `sin` for its own.
#define EXPORT_AS(symbol) __asm__(symbol)

#define REAL double
#define SUFFIX ""
#define PROVIDED(name) PROVIDED_DOUBLE(name)
#define LOCAL(name) libm_##name
#include "real.inc"
#undef REAL
#undef SUFFIX
#undef PROVIDED
#undef LOCAL

#define REAL float
#define SUFFIX "f"
#define PROVIDED(name) PROVIDED_FLOAT(name)
#define LOCAL(name) libm_##name##f
#ifdef LIBM_FAST
#include FAST_NAMES
#endif
#include "real.inc"
