// Reductions: one result of what all work-items have. A part of offkit/parallel.hpp.
#ifndef OFFKIT_PARALLEL_REDUCTION_HPP
#define OFFKIT_PARALLEL_REDUCTION_HPP

#include <offkit/parallel/functions.hpp>
#include <offkit/parallel/group.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace offkit::parallel {

namespace detail {

// What is to become of the parts.
template <class T, class Operation> struct reduced {
  static_assert(std::is_trivially_copyable_v<T>, "nobody constructs elements of local memory");
  T *result;
  T identity;
  Operation operation;
};

} // namespace detail

// What a work-item puts its part into.
template <class T, class Operation> class reducer {
public:
  explicit reducer(const detail::reduced<T, Operation> &reduction)
      : value(reduction.identity), operation(reduction.operation) {}
  reducer(const reducer &) = delete;
  reducer &operator=(const reducer &) = delete;
  void combine(const T &part) { value = operation(value, part); }
  const T &get() const { return value; }

  friend void operator+=(reducer &own, const T &part) { own.template combine_by<std::plus>(part); }
  friend void operator++(reducer &own) { own.template combine_by<std::plus>(T(1)); }
  friend void operator*=(reducer &own, const T &part) { own.template combine_by<std::multiplies>(part); }
  friend void operator&=(reducer &own, const T &part) { own.template combine_by<std::bit_and>(part); }
  friend void operator|=(reducer &own, const T &part) { own.template combine_by<std::bit_or>(part); }
  friend void operator^=(reducer &own, const T &part) { own.template combine_by<std::bit_xor>(part); }

private:
  template <template <class> class Kind> void combine_by(const T &part) {
    static_assert(detail::is_one_of<Operation, Kind>, "the reduction is by another operation: use combine");
    combine(part);
  }

  T value;
  Operation operation;
};

namespace detail {

// A reduction, and where the parts of the work-groups are.
template <class T, class Operation> struct of_groups {
  reduced<T, Operation> reduction;
  T *parts;
};

// The kernel that combines them.
template <class Name> struct end_of;

// Calls `function` with a reducer for each reduction, then `ends` for each, with its number.
template <class... T, class... Operation, class Function, class Ends, std::size_t... Number>
void each_with_reducer(const std::tuple<of_groups<T, Operation>...> &all, const Function &function, const Ends &ends,
                       std::index_sequence<Number...>) {
  std::tuple<reducer<T, Operation>...> reducers(std::get<Number>(all).reduction...);
  function(std::get<Number>(reducers)...);
  (ends(std::integral_constant<std::size_t, Number>(), std::get<Number>(all), std::get<Number>(reducers)), ...);
}
template <class... All, class Function, class Ends>
void each_with_reducer(const std::tuple<All...> &all, const Function &function, const Ends &ends) {
  each_with_reducer(all, function, ends, std::index_sequence_for<All...>());
}

// Combines what the work-items of a group have, in memory that they share, and puts it where the group's part is.
template <int D, class T, class Operation, class Shared>
void combine_items(const nd_item<D> &item, const of_groups<T, Operation> &all, const Shared &shared,
                   const reducer<T, Operation> &own) {
  const std::size_t number = item.get_local_linear_id();
  shared[number] = own.get();
  for (std::size_t count = item.get_local_range().size(); count > 1;) {
    const std::size_t half = (count + 1) / 2;
    group_barrier(item.get_group());
    if (number + half < count)
      shared[number] = all.reduction.operation(shared[number], shared[number + half]);
    count = half;
  }
  if (number == 0)
    all.parts[item.get_group_linear_id()] = shared[0];
}

template <class T, class Operation> void combine_groups(const of_groups<T, Operation> &all, std::size_t groups) {
  T result = *all.reduction.result;
  for (std::size_t group = 0; group < groups; ++group)
    result = all.reduction.operation(result, all.parts[group]);
  *all.reduction.result = result;
}

} // namespace detail

// A reduction into `*result`, which is memory of the device and has what the parts are combined with.
template <class T, class Operation> detail::reduced<T, Operation> reduction(T *result, const Operation &operation) {
  return {result, detail::identity<T, Operation>(), operation};
}
template <class T, class Operation>
detail::reduced<T, Operation> reduction(T *result, const T &identity, const Operation &operation) {
  return {result, identity, operation};
}

} // namespace offkit::parallel

#endif
