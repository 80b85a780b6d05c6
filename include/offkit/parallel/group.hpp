// Work-groups: work-items that run together, share local memory and wait for each other. A part of offkit/parallel.hpp.
#ifndef OFFKIT_PARALLEL_GROUP_HPP
#define OFFKIT_PARALLEL_GROUP_HPP

#include <offkit/parallel/index.hpp>

namespace offkit::parallel {

// A work-group, as one of its work-items sees it.
template <int D = 1> class group {
public:
  static constexpr int dimensions = D;
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

// Waits until all work-items of the group are here; what they wrote to memory before, all of them see after it.
template <int D> void group_barrier(const group<D> &) { offkit_barrier(); }

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
  range<D> get_global_range() const { return detail::global_size<D>(); }
  std::size_t get_global_range(int dimension) const { return get_global_range()[dimension]; }
  range<D> get_local_range() const { return detail::local_size<D>(); }
  std::size_t get_local_range(int dimension) const { return get_local_range()[dimension]; }
};

} // namespace offkit::parallel

#endif
