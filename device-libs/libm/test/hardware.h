// What GPUs have as instructions, for functions retargeted to this machine. Those whose results the manuals define are
// here as defined. Starting values for iterations are as bad as the manuals allow. Of other approximations it is not known
// what a processor makes of them: functions that use them are not measured.

#include <fenv.h>

extern int device_approximate;

#define EXACT(type, name, parameters, value)                                                                           \
  type device_##name parameters { return value; }
#define APPROXIMATE(type, name, parameters, value)                                                                     \
  type device_##name parameters {                                                                                      \
    device_approximate = 1;                                                                                            \
    return value;                                                                                                      \
  }
#define ROUNDED(mode, type, name, parameters, value)                                                                   \
  type device_##name parameters {                                                                                      \
    fesetround(mode);                                                                                                  \
    volatile type result = value;                                                                                      \
    fesetround(FE_TONEAREST);                                                                                          \
    return result;                                                                                                     \
  }

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static int to_int(double x) {
  return isnan(x) ? 0 : x >= 0x1p31 ? INT32_MAX : x < -0x1p31 ? INT32_MIN : (int)x;
}

// NVIDIA's.
EXACT(float, nvvm_fabs_f32, (float x), fabsf(x))
EXACT(double, nvvm_fabs_f64, (double x), fabs(x))
EXACT(float, nvvm_round_f, (float x), rintf(x))
EXACT(double, nvvm_round_d, (double x), rint(x))
EXACT(int, nvvm_f2i_rn, (float x), to_int(rint(x)))
EXACT(int, nvvm_f2i_rz, (float x), to_int(x))
EXACT(int, nvvm_d2i_rn, (double x), to_int(rint(x)))
EXACT(int, nvvm_d2i_lo, (double x), (int)bits_of(x))
EXACT(int, nvvm_d2i_hi, (double x), (int)(bits_of(x) >> 32))
EXACT(double, nvvm_lohi_i2d, (int low, int high), double_of((uint64_t)(uint32_t)high << 32 | (uint32_t)low))
EXACT(float, nvvm_saturate_f, (float x), x > 0 ? x < 1 ? x : 1 : 0)
EXACT(float, nvvm_mul_rn_f, (float x, float y), x * y)
EXACT(double, nvvm_mul_rn_d, (double x, double y), x * y)
EXACT(float, nvvm_add_rn_f, (float x, float y), x + y)
EXACT(double, nvvm_add_rn_d, (double x, double y), x + y)
ROUNDED(FE_TOWARDZERO, float, nvvm_mul_rz_f, (volatile float x, volatile float y), x * y)
ROUNDED(FE_TOWARDZERO, float, nvvm_add_rz_f, (volatile float x, volatile float y), x + y)
ROUNDED(FE_TOWARDZERO, double, nvvm_add_rz_d, (volatile double x, volatile double y), x + y)
ROUNDED(FE_TOWARDZERO, float, nvvm_fma_rz_f, (volatile float x, volatile float y, volatile float z), fmaf(x, y, z))
ROUNDED(FE_DOWNWARD, float, nvvm_fma_rm_f, (volatile float x, volatile float y, volatile float z), fmaf(x, y, z))
EXACT(float, nvvm_sub_f, (float x, float y), x - y)
EXACT(double, nvvm_sub_d, (double x, double y), x - y)
typedef unsigned __int128 wide;
typedef struct {
  uint64_t low, high;
} halves;
#define WIDE(low, high) ((wide)(high) << 64 | (low))
static halves halved(wide x) { return (halves){(uint64_t)x, (uint64_t)(x >> 64)}; }
EXACT(halves, nvvm_add_128, (uint64_t a, uint64_t b, uint64_t c, uint64_t d), halved(WIDE(a, b) + WIDE(c, d)))
EXACT(halves, nvvm_sub_128, (uint64_t a, uint64_t b, uint64_t c, uint64_t d), halved(WIDE(a, b) - WIDE(c, d)))
EXACT(halves, nvvm_mul_128, (uint64_t a, uint64_t b), halved((wide)a * b))
EXACT(halves, nvvm_mad_128, (uint64_t a, uint64_t b, uint64_t c), halved((wide)a * b + c))
// These look at the upper half of their operand and set that of their result.
EXACT(double, nvvm_rcp_approx_ftz_d, (double x),
      double_of(bits_of(1 / double_of(bits_of(x) & ~(uint64_t)UINT32_MAX)) & ~(uint64_t)UINT32_MAX))
EXACT(double, nvvm_rsqrt_approx_ftz_d, (double x),
      double_of(bits_of(1 / sqrt(double_of(bits_of(x) & ~(uint64_t)UINT32_MAX))) & ~(uint64_t)UINT32_MAX))
APPROXIMATE(float, nvvm_rcp_approx_ftz_f, (float x), 1 / x)
APPROXIMATE(float, nvvm_ex2_approx_f32, (float x), exp2f(x))
APPROXIMATE(float, nvvm_ex2_approx_ftz_f32, (float x), exp2f(x))
APPROXIMATE(float, nvvm_lg2_approx_f, (float x), log2f(x))
APPROXIMATE(float, nvvm_lg2_approx_ftz_f, (float x), log2f(x))
APPROXIMATE(float, nvvm_sqrt_approx_f, (float x), sqrtf(x))
APPROXIMATE(float, nvvm_rsqrt_approx_ftz_f, (float x), 1 / sqrtf(x))
APPROXIMATE(float, nvvm_div_approx_f, (float x, float y), x / y)

// AMD's.
static int exponent_of(double x) {
  int exponent = 0;
  if (isfinite(x)) frexp(x, &exponent);
  return exponent;
}

static double fraction_of(double x) {
  int exponent;
  return isfinite(x) ? frexp(x, &exponent) : x;
}

// A starting value: right in the first 24 bits.
static double started(double x) { return isfinite(x) ? double_of(bits_of(x) & ~(uint64_t)0x1fffffff) : x; }

// 53 bits of 2 / pi, from bit 53 * segment on or, for large numbers, from where they begin to count.
static double bits_of_2_over_pi(double x, int segment) {
  static const uint32_t words[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
                                   0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
                                   0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
                                   0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
                                   0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
                                   0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc21};
  int exponent = (int)(bits_of(x) >> 52 & 0x7ff);
  int first = (segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  if (first > 1201 - 53) return 0;
  double result = 0;
  for (int i = 0; i < 53; i++) result = result * 2 + (words[(first + i) / 32] >> (31 - (first + i) % 32) & 1);
  int scale = -53 - first;
  if (exponent >= 1968) scale += 128;
  return ldexp(result, scale);
}

EXACT(int, amdgcn_frexp_exp_i32_f32, (float x), exponent_of(x))
EXACT(int, amdgcn_frexp_exp_i32_f64, (double x), exponent_of(x))
EXACT(float, amdgcn_frexp_mant_f32, (float x), (float)fraction_of(x))
EXACT(double, amdgcn_frexp_mant_f64, (double x), fraction_of(x))
EXACT(float, amdgcn_fract_f32, (float x), isfinite(x) ? fminf(x - floorf(x), 0x1.fffffep-1f) : x - x)
EXACT(double, amdgcn_fract_f64, (double x), isfinite(x) ? fmin(x - floor(x), 0x1.fffffffffffffp-1) : x - x)
EXACT(double, amdgcn_trig_preop_f64, (double x, int segment), bits_of_2_over_pi(x, segment))
EXACT(double, amdgcn_rcp_f64, (double x), started(1 / x))
EXACT(double, amdgcn_rsq_f64, (double x), started(1 / sqrt(x)))
APPROXIMATE(float, amdgcn_rcp_f32, (float x), 1 / x)
APPROXIMATE(float, amdgcn_exp2_f32, (float x), exp2f(x))
APPROXIMATE(float, amdgcn_log2_f32, (float x), log2f(x))

#undef EXACT
#undef APPROXIMATE
#undef ROUNDED
