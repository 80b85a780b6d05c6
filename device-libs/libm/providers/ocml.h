// AMD's ocml.bc: `__ocml_sin_f64`, `__ocml_sin_f32`; pointers are to private memory.
#define PROVIDER extern
#define PRIVATE __attribute__((address_space(5)))
#define PROVIDED_DOUBLE(name) PASTE_DOUBLE(name)
#define PROVIDED_FLOAT(name) PASTE_FLOAT(name)
#define PASTE_DOUBLE(name) __ocml_##name##_f64
#define PASTE_FLOAT(name) __ocml_##name##_f32
#define FAST_NAMES "providers/native_fast.h"

// Of -0 these make 0.
#define KEEPS_ZERO(type, name)                                                                                         \
  type __ocml_##name(type);                                                                                            \
  static type libm_##name(type x) { return x == 0 ? x : __ocml_##name(x); }
KEEPS_ZERO(double, expm1_f64)
KEEPS_ZERO(float, expm1_f32)
KEEPS_ZERO(double, log1p_f64)
KEEPS_ZERO(float, log1p_f32)
#define __ocml_expm1_f64 libm_expm1_f64
#define __ocml_expm1_f32 libm_expm1_f32
#define __ocml_log1p_f64 libm_log1p_f64
#define __ocml_log1p_f32 libm_log1p_f32

// What AMD's libraries ask for when they are linked. The vendor ships a file for each value of each; constants do as
// well, and there are no files for processors newer than the libraries. Other modules may have the same ones.
#define CONTROL(type, name, value)                                                                                     \
  const __attribute__((address_space(4), visibility("hidden"), selectany)) type name = value;
#ifdef LIBM_FAST
#define IS_FAST 1
#else
#define IS_FAST 0
#endif
CONTROL(_Bool, __oclc_unsafe_math_opt, IS_FAST)
CONTROL(_Bool, __oclc_finite_only_opt, 0)
CONTROL(_Bool, __oclc_daz_opt, IS_FAST)
CONTROL(_Bool, __oclc_correctly_rounded_sqrt32, !IS_FAST)

// The processor as a number: 9010 for gfx90a, 11000 for gfx1100. Names of other forms are taken for the oldest.
#define DIGIT(c) ((c) >= 'a' ? (c) - 'a' + 10 : (c) - '0')
#define LAST_DIGITS(n, at) DIGIT(n[at]) * 1000 + DIGIT(n[at + 1]) * 100 + DIGIT(n[at + 2])
#define ISA_VERSION(n) (sizeof n == 7 ? LAST_DIGITS(n, 3) : sizeof n == 8 ? 10000 + LAST_DIGITS(n, 4) : 7000)
CONTROL(int, __oclc_ISA_version, ISA_VERSION(__amdgcn_processor__))
