// Index spaces: how many work-items there are, and which one this is. A part of offkit/parallel.hpp.
//
// As in SYCL, the last dimension is the one in which neighbours are neighbours in memory.
#ifndef OFFKIT_PARALLEL_INDEX_HPP
#define OFFKIT_PARALLEL_INDEX_HPP

#include <offkit/device.h>

#include <cstddef>
#include <type_traits>

namespace offkit::parallel {

namespace detail {

// One number for each dimension.
template <int D> class numbers {
  static_assert(D >= 1 && D <= 3, "an index space has one to three dimensions");

public:
  static constexpr int dimensions = D;
  constexpr numbers() : all{} {}
  template <class... N, class = std::enable_if_t<sizeof...(N) == D && (std::is_convertible_v<N, std::size_t> && ...)>>
  constexpr numbers(N... each) : all{static_cast<std::size_t>(each)...} {}
  constexpr std::size_t get(int dimension) const { return all[dimension]; }
  constexpr std::size_t operator[](int dimension) const { return all[dimension]; }
  constexpr std::size_t &operator[](int dimension) { return all[dimension]; }

private:
  std::size_t all[D];
};

// Of one dimension, an index is a number.
template <class Index, int D> struct as_number {};
template <class Index> struct as_number<Index, 1> {
  constexpr operator std::size_t() const { return static_cast<const Index &>(*this)[0]; }
};

// The number of an index among all of a space, row by row.
template <int D> constexpr std::size_t linear(const numbers<D> &index, const numbers<D> &space) {
  std::size_t number = 0;
  for (int dimension = 0; dimension < D; ++dimension)
    number = number * space[dimension] + index[dimension];
  return number;
}

// The index with a number.
template <int D> constexpr numbers<D> delinear(std::size_t number, const numbers<D> &space) {
  numbers<D> index;
  for (int dimension = D - 1; dimension > 0; --dimension) {
    index[dimension] = number % space[dimension];
    number /= space[dimension];
  }
  index[0] = number;
  return index;
}

template <int D> constexpr std::size_t product(const numbers<D> &space) {
  std::size_t size = 1;
  for (int dimension = 0; dimension < D; ++dimension)
    size *= space[dimension];
  return size;
}

template <int D> constexpr bool equal(const numbers<D> &a, const numbers<D> &b) {
  for (int dimension = 0; dimension < D; ++dimension)
    if (a[dimension] != b[dimension])
      return false;
  return true;
}

} // namespace detail

// How many work-items there are in each dimension.
template <int D = 1> class range : public detail::numbers<D> {
public:
  using detail::numbers<D>::numbers;
  constexpr std::size_t size() const { return detail::product<D>(*this); }
};
template <class... N> range(N...) -> range<sizeof...(N)>;

// Which one of them.
template <int D = 1> class id : public detail::numbers<D>, public detail::as_number<id<D>, D> {
public:
  using detail::numbers<D>::numbers;
  constexpr id(const range<D> &sizes) : detail::numbers<D>(sizes) {}
  constexpr explicit id(const detail::numbers<D> &index) : detail::numbers<D>(index) {}
};
template <class... N> id(N...) -> id<sizeof...(N)>;

// Arithmetic, dimension by dimension; a number stands for itself in each.
#define OFFKIT_PARALLEL_OF_TWO(type, symbol, other)                                                                    \
  template <int D> constexpr type<D> operator symbol(const type<D> &a, const other<D> &b) {                            \
    type<D> result;                                                                                                    \
    for (int dimension = 0; dimension < D; ++dimension)                                                                \
      result[dimension] = a[dimension] symbol b[dimension];                                                            \
    return result;                                                                                                     \
  }
#define OFFKIT_PARALLEL_WITH_NUMBER(type, symbol)                                                                      \
  template <int D, class N, class = std::enable_if_t<std::is_integral_v<N>>>                                           \
  constexpr type<D> operator symbol(const type<D> &a, N b) {                                                           \
    type<D> result;                                                                                                    \
    for (int dimension = 0; dimension < D; ++dimension)                                                                \
      result[dimension] = a[dimension] symbol static_cast<std::size_t>(b);                                             \
    return result;                                                                                                     \
  }
#define OFFKIT_PARALLEL_OPERATOR(symbol)                                                                               \
  OFFKIT_PARALLEL_OF_TWO(range, symbol, range)                                                                         \
  OFFKIT_PARALLEL_OF_TWO(id, symbol, id)                                                                               \
  OFFKIT_PARALLEL_OF_TWO(id, symbol, range)                                                                            \
  OFFKIT_PARALLEL_WITH_NUMBER(range, symbol)                                                                           \
  OFFKIT_PARALLEL_WITH_NUMBER(id, symbol)
OFFKIT_PARALLEL_OPERATOR(+)
OFFKIT_PARALLEL_OPERATOR(-)
OFFKIT_PARALLEL_OPERATOR(*)
OFFKIT_PARALLEL_OPERATOR(/)
OFFKIT_PARALLEL_OPERATOR(%)
#undef OFFKIT_PARALLEL_OPERATOR
#undef OFFKIT_PARALLEL_WITH_NUMBER
#undef OFFKIT_PARALLEL_OF_TWO

template <int D> constexpr bool operator==(const range<D> &a, const range<D> &b) { return detail::equal<D>(a, b); }
template <int D> constexpr bool operator!=(const range<D> &a, const range<D> &b) { return !detail::equal<D>(a, b); }
template <int D> constexpr bool operator==(const id<D> &a, const id<D> &b) { return detail::equal<D>(a, b); }
template <int D> constexpr bool operator!=(const id<D> &a, const id<D> &b) { return !detail::equal<D>(a, b); }

// A work-item of a range.
template <int D = 1> class item : public detail::as_number<item<D>, D> {
public:
  static constexpr int dimensions = D;
  constexpr item(const id<D> &index, const range<D> &space) : index(index), space(space) {}
  constexpr id<D> get_id() const { return index; }
  constexpr std::size_t get_id(int dimension) const { return index[dimension]; }
  constexpr std::size_t operator[](int dimension) const { return index[dimension]; }
  constexpr range<D> get_range() const { return space; }
  constexpr std::size_t get_range(int dimension) const { return space[dimension]; }
  constexpr std::size_t get_linear_id() const { return detail::linear<D>(index, space); }
  constexpr operator id<D>() const { return index; }

private:
  id<D> index;
  range<D> space;
};

// A range that is divided into work-groups of a given size.
template <int D = 1> class nd_range {
public:
  static constexpr int dimensions = D;
  constexpr nd_range(const range<D> &global, const range<D> &local) : global(global), local(local) {}
  constexpr range<D> get_global_range() const { return global; }
  constexpr range<D> get_local_range() const { return local; }
  constexpr range<D> get_group_range() const { return global / local; }

private:
  range<D> global, local;
};

namespace detail {

// What the device says, whose first dimension is SYCL's last.
#define OFFKIT_PARALLEL_ASK(name, type)                                                                                \
  template <int D> type<D> name() {                                                                                    \
    if constexpr (D == 1)                                                                                              \
      return type<D>(offkit_##name(0));                                                                                \
    else if constexpr (D == 2)                                                                                         \
      return type<D>(offkit_##name(1), offkit_##name(0));                                                              \
    else                                                                                                               \
      return type<D>(offkit_##name(2), offkit_##name(1), offkit_##name(0));                                            \
  }
OFFKIT_PARALLEL_ASK(global_id, id)
OFFKIT_PARALLEL_ASK(local_id, id)
OFFKIT_PARALLEL_ASK(group_id, id)
OFFKIT_PARALLEL_ASK(global_size, range)
OFFKIT_PARALLEL_ASK(local_size, range)
#undef OFFKIT_PARALLEL_ASK

} // namespace detail
} // namespace offkit::parallel

#endif
