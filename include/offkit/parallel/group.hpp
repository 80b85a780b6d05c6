// Groups of work-items that run together, wait for each other, and tell each other what they have. A part of
// offkit/parallel.hpp.
#ifndef OFFKIT_PARALLEL_GROUP_HPP
#define OFFKIT_PARALLEL_GROUP_HPP

#include <offkit/parallel/atomic.hpp>
#include <offkit/parallel/functions.hpp>
#include <offkit/parallel/index.hpp>

#include <cstdint>
#include <type_traits>

namespace offkit::parallel {

// A work-group, as one of its work-items sees it.
template <int D = 1> class group {
public:
  static constexpr int dimensions = D;
  static constexpr memory_scope fence_scope = memory_scope::work_group;
  id<D> get_group_id() const { return detail::group_id<D>(); }
  std::size_t get_group_id(int dimension) const { return get_group_id()[dimension]; }
  std::size_t operator[](int dimension) const { return get_group_id()[dimension]; }
  id<D> get_local_id() const { return detail::local_id<D>(); }
  range<D> get_local_range() const { return detail::local_size<D>(); }
  range<D> get_group_range() const { return detail::global_size<D>() / detail::local_size<D>(); }
  std::size_t get_group_linear_id() const { return detail::linear<D>(get_group_id(), get_group_range()); }
  std::size_t get_local_linear_id() const { return detail::linear<D>(get_local_id(), get_local_range()); }
  std::size_t get_local_linear_range() const { return get_local_range().size(); }
  std::size_t get_group_linear_range() const { return get_group_range().size(); }
  bool leader() const { return get_local_linear_id() == 0; }
};

// The work-items of a work-group that a device runs in step.
class sub_group {
public:
  static constexpr int dimensions = 1;
  static constexpr memory_scope fence_scope = memory_scope::sub_group;
#ifdef __SYCL_DEVICE_ONLY__
  std::uint32_t get_local_linear_id() const { return __spirv_BuiltInSubgroupLocalInvocationId(); }
  std::uint32_t get_local_linear_range() const { return __spirv_BuiltInSubgroupSize(); }
  std::uint32_t get_group_linear_id() const { return __spirv_BuiltInSubgroupId(); }
  std::uint32_t get_group_linear_range() const { return __spirv_BuiltInNumSubgroups(); }
  std::uint32_t get_max_local_linear_range() const { return __spirv_BuiltInSubgroupMaxSize(); }
#else
  std::uint32_t get_local_linear_id() const { return 0; }
  std::uint32_t get_local_linear_range() const { return 1; }
  std::uint32_t get_group_linear_id() const { return 0; }
  std::uint32_t get_group_linear_range() const { return 1; }
  std::uint32_t get_max_local_linear_range() const { return 1; }
#endif
  id<1> get_local_id() const { return get_local_linear_id(); }
  range<1> get_local_range() const { return get_local_linear_range(); }
  id<1> get_group_id() const { return get_group_linear_id(); }
  range<1> get_group_range() const { return get_group_linear_range(); }
  bool leader() const { return get_local_linear_id() == 0; }
};

// A work-item of an nd_range.
template <int D = 1> class nd_item {
public:
  static constexpr int dimensions = D;
  id<D> get_global_id() const { return detail::global_id<D>(); }
  std::size_t get_global_id(int dimension) const { return get_global_id()[dimension]; }
  std::size_t get_global_linear_id() const { return detail::linear<D>(get_global_id(), get_global_range()); }
  id<D> get_local_id() const { return detail::local_id<D>(); }
  std::size_t get_local_id(int dimension) const { return get_local_id()[dimension]; }
  std::size_t get_local_linear_id() const { return get_group().get_local_linear_id(); }
  parallel::group<D> get_group() const { return {}; }
  std::size_t get_group(int dimension) const { return get_group()[dimension]; }
  std::size_t get_group_linear_id() const { return get_group().get_group_linear_id(); }
  range<D> get_group_range() const { return get_group().get_group_range(); }
  std::size_t get_group_range(int dimension) const { return get_group_range()[dimension]; }
  parallel::sub_group get_sub_group() const { return {}; }
  range<D> get_global_range() const { return detail::global_size<D>(); }
  std::size_t get_global_range(int dimension) const { return get_global_range()[dimension]; }
  range<D> get_local_range() const { return detail::local_size<D>(); }
  std::size_t get_local_range(int dimension) const { return get_local_range()[dimension]; }
};

namespace detail {

template <class Group> inline constexpr int spirv_scope = 2;
template <> inline constexpr int spirv_scope<sub_group> = 3;
template <class Group> inline constexpr bool is_group = std::is_same_v<Group, sub_group>;
template <int D> inline constexpr bool is_group<group<D>> = true;

// What a value of a number's type is to the device, which has one type of 64-bit integers of each sign.
template <class T>
using number = std::conditional_t<
    std::is_floating_point_v<T>, T,
    std::conditional_t<(sizeof(T) < 8), std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                       std::conditional_t<std::is_signed_v<T>, long, unsigned long>>>;

// Which of SPIR-V's group operations it is.
enum class parts { reduce = 0, inclusive_scan = 1, exclusive_scan = 2 };

} // namespace detail
} // namespace offkit::parallel

#ifdef __SYCL_DEVICE_ONLY__
// SPIR-V's instructions, which the compiler knows by these names.
#define OFFKIT_PARALLEL_OF(type, letter, kind)                                                                         \
  [[clang::sycl_external]] type __spirv_Group##kind##Add(int, int, type);                                              \
  [[clang::sycl_external]] type __spirv_Group##letter##Min(int, int, type);                                            \
  [[clang::sycl_external]] type __spirv_Group##letter##Max(int, int, type);                                            \
  [[clang::sycl_external]] type __spirv_GroupBroadcast(int, type, unsigned);                                           \
  [[clang::sycl_external]] type __spirv_GroupBroadcast(int, type, unsigned long);                                      \
  [[clang::sycl_external]] type __spirv_GroupNonUniformShuffle(int, type, unsigned);                                   \
  [[clang::sycl_external]] type __spirv_GroupNonUniformShuffleXor(int, type, unsigned);                                \
  [[clang::sycl_external]] type __spirv_GroupNonUniformShuffleUp(int, type, unsigned);                                 \
  [[clang::sycl_external]] type __spirv_GroupNonUniformShuffleDown(int, type, unsigned);                               \
  namespace offkit::parallel::detail {                                                                                 \
  template <class Group, class Operation> type combined(parts which, type x) {                                         \
    if constexpr (is_one_of<Operation, std::plus>)                                                                     \
      return __spirv_Group##kind##Add(spirv_scope<Group>, static_cast<int>(which), x);                                 \
    else if constexpr (is_one_of<Operation, minimum>)                                                                  \
      return __spirv_Group##letter##Min(spirv_scope<Group>, static_cast<int>(which), x);                               \
    else                                                                                                               \
      return __spirv_Group##letter##Max(spirv_scope<Group>, static_cast<int>(which), x);                               \
  }                                                                                                                    \
  }
OFFKIT_PARALLEL_OF(int, S, I)
OFFKIT_PARALLEL_OF(long, S, I)
OFFKIT_PARALLEL_OF(unsigned, U, I)
OFFKIT_PARALLEL_OF(unsigned long, U, I)
OFFKIT_PARALLEL_OF(float, F, F)
OFFKIT_PARALLEL_OF(double, F, F)
#undef OFFKIT_PARALLEL_OF
[[clang::sycl_external]] bool __spirv_GroupAll(int, bool);
[[clang::sycl_external]] bool __spirv_GroupAny(int, bool);
[[clang::sycl_external]] void __spirv_ControlBarrier(int, int, int);

#define OFFKIT_PARALLEL_DEVICE(on_device, on_host) on_device
#else
// Nobody is in a group but one.
#define OFFKIT_PARALLEL_DEVICE(on_device, on_host) on_host
#endif

namespace offkit::parallel {

// Waits until all work-items of the group are here; what they wrote to memory before, all of them see after it.
template <int D> void group_barrier(const group<D> &) { offkit_barrier(); }
inline void group_barrier(const sub_group &) {
  // A sub-group's; acquire and release, of global, local and the sub-group's memory.
  OFFKIT_PARALLEL_DEVICE(__spirv_ControlBarrier(3, 3, 0x8 | 0x80 | 0x100 | 0x200), );
}

#define OFFKIT_PARALLEL_OF_GROUP                                                                                       \
  template <class Group, class T, class Operation,                                                                     \
            class = std::enable_if_t<detail::is_group<Group> && std::is_arithmetic_v<T>>>
#define OFFKIT_PARALLEL_COMBINED(which, otherwise)                                                                     \
  static_assert(detail::is_one_of<Operation, std::plus, minimum, maximum>,                                             \
                "groups combine by plus, minimum or maximum");                                                         \
  return OFFKIT_PARALLEL_DEVICE((static_cast<T>(detail::combined<Group, Operation>(                                    \
                                    detail::parts::which, static_cast<detail::number<T>>(x)))),                        \
                                otherwise)

// The operation on what all work-items of the group have, or on those up to this one, with it or without. All of them
// must call it.
OFFKIT_PARALLEL_OF_GROUP T reduce_over_group(const Group &, T x, Operation) { OFFKIT_PARALLEL_COMBINED(reduce, x); }
OFFKIT_PARALLEL_OF_GROUP T inclusive_scan_over_group(const Group &, T x, Operation) {
  OFFKIT_PARALLEL_COMBINED(inclusive_scan, x);
}
OFFKIT_PARALLEL_OF_GROUP T exclusive_scan_over_group(const Group &, [[maybe_unused]] T x, Operation) {
  OFFKIT_PARALLEL_COMBINED(exclusive_scan, (detail::identity<T, Operation>()));
}
#undef OFFKIT_PARALLEL_COMBINED
#undef OFFKIT_PARALLEL_OF_GROUP

template <class Group, class = std::enable_if_t<detail::is_group<Group>>>
bool all_of_group(const Group &, bool holds) {
  return OFFKIT_PARALLEL_DEVICE(__spirv_GroupAll(detail::spirv_scope<Group>, holds), holds);
}
template <class Group, class = std::enable_if_t<detail::is_group<Group>>>
bool any_of_group(const Group &, bool holds) {
  return OFFKIT_PARALLEL_DEVICE(__spirv_GroupAny(detail::spirv_scope<Group>, holds), holds);
}
template <class Group, class = std::enable_if_t<detail::is_group<Group>>>
bool none_of_group(const Group &group, bool holds) {
  return !any_of_group(group, holds);
}

#define OFFKIT_PARALLEL_AMONG(instruction, ...)                                                                        \
  return OFFKIT_PARALLEL_DEVICE(static_cast<T>(instruction(3, static_cast<detail::number<T>>(x), __VA_ARGS__)), x)

// What the work-item with a number in the sub-group has, the same number for all of them.
template <class T> T group_broadcast(const sub_group &, T x, [[maybe_unused]] std::uint32_t from = 0) {
  OFFKIT_PARALLEL_AMONG(__spirv_GroupBroadcast, from);
}
// The same in a work-group of one dimension.
template <class T> T group_broadcast(const group<1> &, T x, [[maybe_unused]] std::size_t from = 0) {
  return OFFKIT_PARALLEL_DEVICE(
      static_cast<T>(__spirv_GroupBroadcast(2, static_cast<detail::number<T>>(x), static_cast<unsigned long>(from))), x);
}
// What another work-item of the sub-group has: that with a number, that so many behind or before this one, or that whose
// number differs in these bits.
template <class T> T select_from_group(const sub_group &, T x, [[maybe_unused]] std::uint32_t from) {
  OFFKIT_PARALLEL_AMONG(__spirv_GroupNonUniformShuffle, from);
}
template <class T> T shift_group_left(const sub_group &, T x, [[maybe_unused]] std::uint32_t by = 1) {
  OFFKIT_PARALLEL_AMONG(__spirv_GroupNonUniformShuffleDown, by);
}
template <class T> T shift_group_right(const sub_group &, T x, [[maybe_unused]] std::uint32_t by = 1) {
  OFFKIT_PARALLEL_AMONG(__spirv_GroupNonUniformShuffleUp, by);
}
template <class T> T permute_group_by_xor(const sub_group &, T x, [[maybe_unused]] std::uint32_t bits) {
  OFFKIT_PARALLEL_AMONG(__spirv_GroupNonUniformShuffleXor, bits);
}
#undef OFFKIT_PARALLEL_AMONG
#undef OFFKIT_PARALLEL_DEVICE

} // namespace offkit::parallel

#endif
