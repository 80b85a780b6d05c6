// Atomic operations on memory that work-items share. A part of offkit/parallel.hpp.
#ifndef OFFKIT_PARALLEL_ATOMIC_HPP
#define OFFKIT_PARALLEL_ATOMIC_HPP

#include <type_traits>

#ifdef __SYCL_DEVICE_ONLY__
// SPIR-V's instruction, which the compiler knows by this name: clang 22 makes invalid SPIR-V of its own, the result of
// which is a struct, in loops.
[[clang::sycl_external]] unsigned __spirv_AtomicCompareExchange(unsigned *, int, int, int, unsigned, unsigned);
[[clang::sycl_external]] unsigned long __spirv_AtomicCompareExchange(unsigned long *, int, int, int, unsigned long,
                                                                     unsigned long);
#endif

namespace offkit::parallel {

enum class memory_order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST
};

enum class memory_scope : int {
  work_item = __MEMORY_SCOPE_SINGLE,
  sub_group = __MEMORY_SCOPE_WVFRNT,
  work_group = __MEMORY_SCOPE_WRKGRP,
  device = __MEMORY_SCOPE_DEVICE,
  system = __MEMORY_SCOPE_SYSTEM
};

// An integer or floating-point number that several work-items change. What is atomic for those of `Scope`.
template <class T, memory_order Order = memory_order::relaxed, memory_scope Scope = memory_scope::device>
class atomic_ref {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "numbers of 4 and 8 bytes are atomic");
  static constexpr int order = static_cast<int>(Order), scope = static_cast<int>(Scope);
  // Reads cannot release, nor writes acquire.
  static constexpr int read_order = Order == memory_order::acq_rel || Order == memory_order::release
                                        ? static_cast<int>(memory_order::acquire) : order;
  static constexpr int write_order = Order == memory_order::acq_rel || Order == memory_order::acquire
                                         ? static_cast<int>(memory_order::release) : order;

public:
  explicit atomic_ref(T &number) : number(&number) {}

  T load() const {
    T value;
    __scoped_atomic_load(number, &value, read_order, scope);
    return value;
  }
  void store(T value) const { __scoped_atomic_store(number, &value, write_order, scope); }
  T exchange(T value) const {
    T old;
    __scoped_atomic_exchange(number, &value, &old, order, scope);
    return old;
  }
  // Sets `expected` to what is there if it is something else.
  bool compare_exchange_strong(T &expected, T wanted) const {
#ifdef __SYCL_DEVICE_ONLY__
    using bits = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long>;
    const bits before = __builtin_bit_cast(bits, expected),
               found = __spirv_AtomicCompareExchange(reinterpret_cast<bits *>(number), scope, semantics(order),
                                                     semantics(read_order), __builtin_bit_cast(bits, wanted), before);
    expected = __builtin_bit_cast(T, found);
    return found == before;
#else
    return __scoped_atomic_compare_exchange(number, &expected, &wanted, false, order, read_order, scope);
#endif
  }
  bool compare_exchange_weak(T &expected, T wanted) const { return compare_exchange_strong(expected, wanted); }

  T fetch_add(T value) const {
    if constexpr (std::is_integral_v<T>)
      return __scoped_atomic_fetch_add(number, value, order, scope);
    else
      return change([=](T old) { return old + value; });
  }
  T fetch_sub(T value) const {
    if constexpr (std::is_integral_v<T>)
      return __scoped_atomic_fetch_sub(number, value, order, scope);
    else
      return change([=](T old) { return old - value; });
  }
  T fetch_min(T value) const {
    if constexpr (std::is_integral_v<T>)
      return __scoped_atomic_fetch_min(number, value, order, scope);
    else
      return change([=](T old) { return value < old ? value : old; });
  }
  T fetch_max(T value) const {
    if constexpr (std::is_integral_v<T>)
      return __scoped_atomic_fetch_max(number, value, order, scope);
    else
      return change([=](T old) { return old < value ? value : old; });
  }
  T fetch_and(T value) const { return __scoped_atomic_fetch_and(number, value, order, scope); }
  T fetch_or(T value) const { return __scoped_atomic_fetch_or(number, value, order, scope); }
  T fetch_xor(T value) const { return __scoped_atomic_fetch_xor(number, value, order, scope); }

  operator T() const { return load(); }
  T operator=(T value) const {
    store(value);
    return value;
  }
  T operator+=(T value) const { return fetch_add(value) + value; }
  T operator-=(T value) const { return fetch_sub(value) - value; }
  T operator++() const { return fetch_add(1) + 1; }
  T operator--() const { return fetch_sub(1) - 1; }
  T operator++(int) const { return fetch_add(1); }
  T operator--(int) const { return fetch_sub(1); }

private:
  // SPIR-V's word for an order, of global and of local memory.
  static constexpr int semantics(int order) {
    return order == __ATOMIC_RELAXED   ? 0
           : order == __ATOMIC_ACQUIRE ? 0x302
           : order == __ATOMIC_RELEASE ? 0x304
           : order == __ATOMIC_ACQ_REL ? 0x308
                                       : 0x310;
  }

  // For what not every device has an instruction.
  template <class F> T change(const F &changed) const {
    T old = load();
    while (!compare_exchange_strong(old, changed(old)))
      ;
    return old;
  }

  T *number;
};

} // namespace offkit::parallel

#endif
