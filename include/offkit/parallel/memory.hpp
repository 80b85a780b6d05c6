// Memory that host and kernels share: allocations, buffers, and how kernels reach these. A part of offkit/parallel.hpp.
#ifndef OFFKIT_PARALLEL_MEMORY_HPP
#define OFFKIT_PARALLEL_MEMORY_HPP

#include <offkit.hpp>
#include <offkit/parallel/index.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace offkit::parallel {

// A command: a kernel, or a copy. Without one, it is done.
class event {
public:
  event() = default;
  // `machine` is whose command it is.
  event(offkit::event submitted, std::shared_ptr<const void> machine)
      : command(std::make_shared<offkit::event>(std::move(submitted))), machine(std::move(machine)) {}
  // Waits until the command is done; throws if it failed.
  void wait() const {
    if (command)
      command->wait();
  }
  bool is_complete() const { return !command || command->status() == OFFKIT_EVENT_COMPLETE; }
  const offkit::event *get() const { return command.get(); }
  bool is_of(const void *other) const { return machine.get() == other; }

private:
  std::shared_ptr<offkit::event> command;
  std::shared_ptr<const void> machine;
};

namespace detail {

using offkit::detail::check;
using allocation = offkit::detail::object<offkit_usm, offkit_usm_free>;

// A device with its context, which queues and buffers share, and the kernels that were built for it.
class machine {
public:
  explicit machine(offkit::device chosen) : device(std::move(chosen)), context(device) {}

  allocation allocate(offkit_usm_kind kind, std::size_t size, std::size_t alignment) const {
    return allocation(offkit_usm_create, context.get(), device.get(), kind, size ? size : 1,
                      static_cast<uint32_t>(alignment));
  }

  void *keep(allocation made) {
    void *address = offkit_usm_address(made.get());
    std::lock_guard<std::mutex> guard(lock);
    allocations.emplace(reinterpret_cast<std::uintptr_t>(address), std::move(made));
    return address;
  }

  void release(void *address) {
    if (!address)
      return;
    std::lock_guard<std::mutex> guard(lock);
    if (!allocations.erase(reinterpret_cast<std::uintptr_t>(address)))
      throw error(OFFKIT_ERROR_INVALID, "free: that is not the address of an allocation of this device");
  }

  // The allocation that has these bytes, and where in it they are; null if it is another's.
  std::pair<offkit_usm *, std::size_t> find(const void *address, std::size_t size) {
    auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::lock_guard<std::mutex> guard(lock);
    auto after = allocations.upper_bound(wanted);
    if (after == allocations.begin())
      return {nullptr, 0};
    auto &[start, found] = *std::prev(after);
    std::size_t offset = wanted - start, whole = offkit_usm_size(found.get());
    if (offset >= whole)
      return {nullptr, 0};
    if (size > whole - offset)
      throw error(OFFKIT_ERROR_INVALID, "memcpy: it goes beyond the end of an allocation");
    return {found.get(), offset};
  }

  // The kernel with a name, built when it is asked for first, and then remembered by its name alone. Memory has a lock of
  // its own, and does not wait while a driver builds.
  const offkit::kernel &kernel(const char *name) {
    std::lock_guard<std::mutex> guard(kernel_lock);
    auto known = kernels.find(name);
    if (known == kernels.end()) {
      auto built = registry::of_process().collect(name, device).build(context);
      built.set_indirect_access(true);
      known = kernels.emplace(name, std::move(built)).first;
    }
    return known->second;
  }

  const offkit::device device;
  const offkit::context context;

private:
  std::mutex lock;
  std::map<std::uintptr_t, allocation> allocations;
  std::mutex kernel_lock;
  std::map<std::string, offkit::kernel, std::less<>> kernels;
};

// Where the elements of a buffer are: with the host until a kernel needs them, then in shared memory of its device.
class storage {
public:
  storage(const void *first, void *back, std::size_t size, std::size_t alignment)
      : back(back), bytes(size), alignment(alignment), own(size) {
    if (first)
      std::memcpy(own.data(), first, size);
  }
  storage(const storage &) = delete;
  storage &operator=(const storage &) = delete;
  ~storage() {
    try {
      const void *elements = on_host();
      if (back)
        std::memcpy(back, elements, bytes);
    } catch (...) {
      // The queue tells what failed.
    }
  }

  // The elements, for a kernel on that device.
  void *on_device(const std::shared_ptr<machine> &device) {
    if (where != device) {
      const void *elements = on_host();
      auto moved = std::make_unique<allocation>(device->allocate(OFFKIT_USM_SHARED, bytes, alignment));
      std::memcpy(offkit_usm_address(moved->get()), elements, bytes);
      memory = std::move(moved);
      where = device;
      std::vector<unsigned char>().swap(own);
    }
    return offkit_usm_address(memory->get());
  }

  // The elements, once the last command that used them is done.
  void *on_host() {
    last.wait();
    return memory ? offkit_usm_address(memory->get()) : own.data();
  }

  // The last command that used it.
  event last;

private:
  void *back;
  std::size_t bytes, alignment;
  std::vector<unsigned char> own;
  std::shared_ptr<machine> where;
  std::unique_ptr<allocation> memory;
};

// One row, or one element, of what has several dimensions.
template <class T, int D> struct row {
  T *first;
  detail::numbers<D> space;
  constexpr decltype(auto) operator[](std::size_t index) const {
    if constexpr (D == 1)
      return first[index];
    else {
      numbers<D - 1> rest;
      for (int dimension = 1; dimension < D; ++dimension)
        rest[dimension - 1] = space[dimension];
      return row<T, D - 1>{first + index * product(rest), rest};
    }
  }
};

// Elements with indices. What an element is, `a[i]`, `a[i][j]` and `a[id]` say.
template <class T, int D> class elements {
public:
  using value_type = std::remove_const_t<T>;
  range<D> get_range() const { return space; }
  std::size_t size() const { return space.size(); }
  T *get_pointer() const { return first; }
  T &operator[](const id<D> &index) const { return first[linear<D>(index, space)]; }
  template <class N, class = std::enable_if_t<std::is_integral_v<N>>>
  constexpr decltype(auto) operator[](N index) const {
    return row<T, D>{first, space}[static_cast<std::size_t>(index)];
  }

protected:
  elements(T *first, const range<D> &space) : first(first), space(space) {}
  T *first;
  range<D> space;
};

} // namespace detail

// What a kernel does with a buffer.
struct read_only_t {};
struct write_only_t {};
struct read_write_t {};
inline constexpr read_only_t read_only;
inline constexpr write_only_t write_only;
inline constexpr read_write_t read_write;

// Elements that kernels use through accessors. Those of a buffer that was made of the host's go back to it when the last
// copy of the buffer is gone.
template <class T, int D = 1> class buffer {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

public:
  // Elements all bytes of which are 0.
  explicit buffer(const range<D> &space) : buffer(nullptr, nullptr, space) {}
  buffer(T *elements, const range<D> &space) : buffer(elements, elements, space) {}
  buffer(const T *elements, const range<D> &space) : buffer(elements, nullptr, space) {}
  template <int E = D, class = std::enable_if_t<E == 1>>
  explicit buffer(std::vector<T> &elements) : buffer(elements.data(), range<1>(elements.size())) {}
  template <int E = D, class = std::enable_if_t<E == 1>>
  explicit buffer(const std::vector<T> &elements) : buffer(elements.data(), range<1>(elements.size())) {}
  range<D> get_range() const { return space; }
  std::size_t size() const { return space.size(); }
  const std::shared_ptr<detail::storage> &get() const { return memory; }

private:
  buffer(const T *first, T *back, const range<D> &space)
      : space(space), memory(std::make_shared<detail::storage>(first, back, space.size() * sizeof(T), alignof(T))) {}
  range<D> space;
  std::shared_ptr<detail::storage> memory;
};
template <class T> buffer(std::vector<T> &) -> buffer<T, 1>;
template <class T> buffer(const std::vector<T> &) -> buffer<T, 1>;

// The elements of a buffer, for the host, which waits for the commands that use them. It must be gone before the next.
template <class T, int D = 1> class host_accessor : public detail::elements<T, D> {
public:
  explicit host_accessor(const buffer<std::remove_const_t<T>, D> &buffer)
      : detail::elements<T, D>(static_cast<T *>(buffer.get()->on_host()), buffer.get_range()) {}
  host_accessor(const buffer<std::remove_const_t<T>, D> &buffer, read_only_t) : host_accessor(buffer) {}
  host_accessor(const buffer<std::remove_const_t<T>, D> &buffer, write_only_t) : host_accessor(buffer) {}
  host_accessor(const buffer<std::remove_const_t<T>, D> &buffer, read_write_t) : host_accessor(buffer) {}
  T *begin() const { return this->first; }
  T *end() const { return this->first + this->size(); }
};
template <class T, int D> host_accessor(const buffer<T, D> &) -> host_accessor<T, D>;
template <class T, int D> host_accessor(const buffer<T, D> &, read_only_t) -> host_accessor<const T, D>;
template <class T, int D> host_accessor(const buffer<T, D> &, write_only_t) -> host_accessor<T, D>;
template <class T, int D> host_accessor(const buffer<T, D> &, read_write_t) -> host_accessor<T, D>;

} // namespace offkit::parallel

#endif
