// Mathematics that <cmath> lacks, and the operations of reductions. A part of offkit/parallel.hpp.
//
// Kernels call what <cmath> has as well: std::sin, std::pow.
#ifndef OFFKIT_PARALLEL_FUNCTIONS_HPP
#define OFFKIT_PARALLEL_FUNCTIONS_HPP

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

// A function of floats, where a device has an instruction for it; hosts do it in another way. clang takes what is
// declared so for the instruction, wherever its name is that of OpenCL's function.
#ifdef __SYCL_DEVICE_ONLY__
#define OFFKIT_PARALLEL_INSTRUCTION(type, name, opencl, on_host)                                                       \
  [[clang::sycl_external]] type __spirv_ocl_##opencl(type);                                                            \
  namespace offkit::parallel {                                                                                         \
  inline type name(type x) { return __spirv_ocl_##opencl(x); }                                                         \
  }
#define OFFKIT_PARALLEL_NATIVE(name, on_host)                                                                          \
  [[clang::sycl_external]] float __spirv_ocl_native_##name(float);                                                     \
  namespace offkit::parallel::native {                                                                                 \
  inline float name(float x) { return __spirv_ocl_native_##name(x); }                                                  \
  }
#else
#define OFFKIT_PARALLEL_INSTRUCTION(type, name, opencl, on_host)                                                       \
  namespace offkit::parallel {                                                                                         \
  inline type name(type x) { return static_cast<type>(on_host); }                                                      \
  }
#define OFFKIT_PARALLEL_NATIVE(name, on_host)                                                                          \
  namespace offkit::parallel::native {                                                                                 \
  inline float name(float x) { return on_host; }                                                                       \
  }
#endif

OFFKIT_PARALLEL_INSTRUCTION(float, rsqrt, rsqrt, 1 / std::sqrt(x))
OFFKIT_PARALLEL_INSTRUCTION(double, rsqrt, rsqrt, 1 / std::sqrt(x))
OFFKIT_PARALLEL_INSTRUCTION(float, degrees, degrees, x * 57.295779513082320877)
OFFKIT_PARALLEL_INSTRUCTION(double, degrees, degrees, x * 57.295779513082320877)
OFFKIT_PARALLEL_INSTRUCTION(float, radians, radians, x * 0.017453292519943295769)
OFFKIT_PARALLEL_INSTRUCTION(double, radians, radians, x * 0.017453292519943295769)
OFFKIT_PARALLEL_INSTRUCTION(float, sign, sign, std::isnan(x) ? 0 : x > 0 ? 1 : x < 0 ? -1 : x)
OFFKIT_PARALLEL_INSTRUCTION(double, sign, sign, std::isnan(x) ? 0 : x > 0 ? 1 : x < 0 ? -1 : x)
OFFKIT_PARALLEL_INSTRUCTION(int, clz, clz, x ? __builtin_clz(static_cast<unsigned>(x)) : 32)
OFFKIT_PARALLEL_INSTRUCTION(unsigned, clz, clz, x ? __builtin_clz(x) : 32)
OFFKIT_PARALLEL_INSTRUCTION(int, popcount, popcount, __builtin_popcount(static_cast<unsigned>(x)))
OFFKIT_PARALLEL_INSTRUCTION(unsigned, popcount, popcount, __builtin_popcount(x))

// As fast as the device can, and as exact as it likes.
OFFKIT_PARALLEL_NATIVE(cos, std::cos(x))
OFFKIT_PARALLEL_NATIVE(exp, std::exp(x))
OFFKIT_PARALLEL_NATIVE(exp2, std::exp2(x))
OFFKIT_PARALLEL_NATIVE(log, std::log(x))
OFFKIT_PARALLEL_NATIVE(log2, std::log2(x))
OFFKIT_PARALLEL_NATIVE(recip, 1 / x)
OFFKIT_PARALLEL_NATIVE(rsqrt, 1 / std::sqrt(x))
OFFKIT_PARALLEL_NATIVE(sin, std::sin(x))
OFFKIT_PARALLEL_NATIVE(sqrt, std::sqrt(x))
OFFKIT_PARALLEL_NATIVE(tan, std::tan(x))
#undef OFFKIT_PARALLEL_NATIVE
#undef OFFKIT_PARALLEL_INSTRUCTION

namespace offkit::parallel {

template <class T> constexpr T clamp(T x, T low, T high) { return x < low ? low : high < x ? high : x; }
template <class T> constexpr T mix(T x, T y, T part) { return x + (y - x) * part; }
// x * y + z, rounded as the device likes.
template <class T> constexpr T mad(T x, T y, T z) { return x * y + z; }

template <class T = void> using plus = std::plus<T>;
template <class T = void> using multiplies = std::multiplies<T>;
template <class T = void> using bit_and = std::bit_and<T>;
template <class T = void> using bit_or = std::bit_or<T>;
template <class T = void> using bit_xor = std::bit_xor<T>;
template <class T = void> using logical_and = std::logical_and<T>;
template <class T = void> using logical_or = std::logical_or<T>;
template <class T = void> struct minimum {
  template <class U> constexpr U operator()(const U &a, const U &b) const { return b < a ? b : a; }
};
template <class T = void> struct maximum {
  template <class U> constexpr U operator()(const U &a, const U &b) const { return a < b ? b : a; }
};

namespace detail {

template <class Operation, template <class> class... Kinds> inline constexpr bool is_one_of = false;
template <template <class> class Kind, class T, template <class> class First, template <class> class... Kinds>
inline constexpr bool is_one_of<Kind<T>, First, Kinds...> =
    std::is_same_v<Kind<T>, First<T>> || is_one_of<Kind<T>, Kinds...>;

template <class T> constexpr T largest() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}
template <class T> constexpr T smallest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

// What changes nothing: operation(identity, x) is x.
template <class T, class Operation> constexpr T identity() {
  if constexpr (is_one_of<Operation, std::plus, std::bit_or, std::bit_xor, std::logical_or>)
    return T(0);
  else if constexpr (is_one_of<Operation, std::multiplies, std::logical_and>)
    return T(1);
  else if constexpr (is_one_of<Operation, std::bit_and>)
    return static_cast<T>(~T(0));
  else if constexpr (is_one_of<Operation, minimum>)
    return largest<T>();
  else {
    static_assert(is_one_of<Operation, maximum>, "give the operation's identity: reduction(result, identity, operation)");
    return smallest<T>();
  }
}

} // namespace detail
} // namespace offkit::parallel

#endif
