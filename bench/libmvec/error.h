// Units in the last place between a result of single or double precision and the exact one, which the includer's type `Exact`
// has; infinitely many for a wrong kind of result.
#include <tgmath.h>

static inline double error(int is_double, double result, Exact exact) {
  int digits = is_double ? 52 : 23, greatest = is_double ? 1023 : 127;
  if (isnan(result) || isnan(exact))
    return isnan(result) && isnan(exact) ? 0 : INFINITY;
  if (exact == 0 || isinf(exact))
    return result == exact && !signbit(result) == !signbit(exact) ? 0 : INFINITY;
  // Infinity counts as the power of two that comes next.
  Exact beyond = ldexp((Exact)1, greatest + 1), own = fmax(-beyond, fmin((Exact)result, beyond));
  exact = fmax(-beyond, fmin(exact, beyond));
  int exponent = ilogb(exact), least = 1 - greatest;
  exponent = exponent < least ? least : exponent > greatest ? greatest : exponent;
  return fabs(own - exact) / ldexp((Exact)1, exponent - digits);
}
