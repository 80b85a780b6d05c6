// Queues, and what is submitted there. A part of offkit/parallel.hpp.
#ifndef OFFKIT_PARALLEL_QUEUE_HPP
#define OFFKIT_PARALLEL_QUEUE_HPP

#include <offkit/parallel/kernel.hpp>
#include <offkit/parallel/memory.hpp>
#include <offkit/parallel/reduction.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace offkit::parallel {

namespace detail {

// The machine of a device, the same for all that use it at the same time.
inline std::shared_ptr<machine> machine_of(offkit::device device) {
  static std::mutex lock;
  static std::vector<std::weak_ptr<machine>> machines;
  std::lock_guard<std::mutex> guard(lock);
  machines.erase(std::remove_if(machines.begin(), machines.end(), [](const auto &each) { return each.expired(); }),
                 machines.end());
  for (const std::weak_ptr<machine> &each : machines) {
    std::shared_ptr<machine> found = each.lock();
    if (found && found->device.is_same(device))
      return found;
  }
  auto made = std::make_shared<machine>(std::move(device));
  machines.push_back(made);
  return made;
}

// Refuses a device without memory that both sides reach.
inline void check_memory(const machine &machine) {
  try {
    machine.allocate(OFFKIT_USM_SHARED, 1, 0);
  } catch (const error &failure) {
    throw error(OFFKIT_ERROR_UNSUPPORTED,
                ("device `" + machine.device.name() + "` has no shared USM, which offkit/parallel.hpp keeps everything "
                 "in: choose another device (" + failure.what() + ")").c_str());
  }
}

// The device that `selector` means; without one, the first that has what is needed.
inline std::shared_ptr<machine> choose(const char *selector) {
  runtime all;
  if (selector) {
    auto chosen = machine_of(all.select(selector));
    check_memory(*chosen);
    return chosen;
  }
  auto devices = all.devices();
  if (devices.empty())
    all.select(); // throws what became of the plugins
  std::string refused;
  for (offkit::device &device : devices) {
    try {
      auto chosen = machine_of(std::move(device));
      check_memory(*chosen);
      return chosen;
    } catch (const error &failure) {
      refused += std::string("\n") + failure.what();
    }
  }
  throw error(OFFKIT_ERROR_NO_DEVICE, ("no device has what kernels need" + refused).c_str());
}

// A queue, and what runs there.
class line {
public:
  explicit line(std::shared_ptr<detail::machine> device)
      : machine(std::move(device)), queue(machine->context, machine->device) {}

  event launch(const char *name, const offkit_range &range, std::initializer_list<argument> arguments,
               const std::vector<event> &wait) {
    std::vector<offkit_argument> passed;
    for (const argument &each : arguments)
      passed.push_back(each.get());
    std::vector<const offkit_event *> waited;
    for (const event &each : wait)
      // Drivers do not wait for each other.
      if (!each.is_of(machine.get()))
        each.wait();
      else
        waited.push_back(each.get()->get());
    event submitted(offkit::event(offkit_kernel_launch, machine->kernel(name).get(), queue.get(), &range, passed.data(),
                                  passed.size(), waited.data(), waited.size()),
                    machine);
    std::lock_guard<std::mutex> guard(lock);
    if (running.size() >= 256)
      running.erase(std::remove_if(running.begin(), running.end(), [](const event &each) { return each.is_complete(); }),
                    running.end());
    running.push_back(submitted);
    return submitted;
  }

  // Waits for all, and throws what the first that failed failed with.
  void wait() {
    std::vector<event> waited;
    {
      std::lock_guard<std::mutex> guard(lock);
      waited.swap(running);
    }
    queue.finish();
    for (const event &each : waited)
      each.wait();
  }

  const std::shared_ptr<detail::machine> machine;
  const offkit::queue queue;

private:
  std::mutex lock;
  std::vector<event> running;
};

// The name of the kernel that fills memory.
template <class T> struct filling;

template <int D> offkit_range launch_range(const range<D> &global, const range<D> *local = nullptr) {
  offkit_range space = {};
  space.dimensions = D;
  for (int dimension = 0; dimension < D; ++dimension) {
    space.global[D - 1 - dimension] = global[dimension];
    if (local)
      space.local[D - 1 - dimension] = (*local)[dimension];
  }
  return space;
}

} // namespace detail

template <class T, int D = 1> class local_accessor;

// One command of a queue, and what it uses.
class handler {
public:
  handler(const handler &) = delete;
  handler &operator=(const handler &) = delete;

  void depends_on(const event &earlier) { wait.push_back(earlier); }
  void depends_on(const std::vector<event> &earlier) { wait.insert(wait.end(), earlier.begin(), earlier.end()); }

  // A work-item for each index of the range. `function` takes an id, an item, or, of one dimension, a number.
  template <class Name = detail::unnamed, int D, class F>
  void parallel_for([[maybe_unused]] const range<D> &space, const F &function) {
    using name = detail::name_of<Name, F>;
#ifdef __SYCL_DEVICE_ONLY__
    detail::range_kernel<name, D, F>(detail::closed(function));
#else
    if (space.size())
      launch(__builtin_sycl_unique_stable_name(name), detail::launch_range(space), {detail::closed(function)});
#endif
  }
  template <class Name = detail::unnamed, class F> void parallel_for(std::size_t size, const F &function) {
    parallel_for<Name>(range<1>(size), function);
  }

  // The same in work-groups. `function` takes an nd_item.
  template <class Name = detail::unnamed, int D, class F>
  void parallel_for([[maybe_unused]] const nd_range<D> &space, const F &function) {
    using name = detail::name_of<Name, F>;
#ifdef __SYCL_DEVICE_ONLY__
    detail::nd_range_kernel<name, D, F>(detail::closed(function), nullptr);
#else
    check(space);
    const range<D> global = space.get_global_range(), groups = space.get_local_range();
    // Every kernel of an nd_range has the argument, and none can be empty.
    const local memory{local_memory ? local_memory : 1};
    if (global.size())
      launch(__builtin_sycl_unique_stable_name(name), detail::launch_range(global, &groups),
             {detail::closed(function), memory});
#endif
  }

  // The same with reductions, before the function, which takes a reducer for each as well. The work-groups' parts are
  // combined in order, so that the result is the same every time on the same device.
  template <class Name = detail::unnamed, int D, class T, class Operation, class... Rest>
  void parallel_for(const nd_range<D> &space, const detail::reduced<T, Operation> &first, const Rest &...rest) {
    split<Name>(
        [&](auto name, const auto &function, const auto &...reductions) {
          reduce<typename decltype(name)::type>(space, function, reductions...);
        },
        first, rest...);
  }
  template <class Name = detail::unnamed, int D, class T, class Operation, class... Rest>
  void parallel_for(const range<D> &space, const detail::reduced<T, Operation> &first, const Rest &...rest) {
    split<Name>(
        [&](auto name, const auto &function, const auto &...reductions) {
          // Enough work-groups for the device; a work-item has several indices.
          const std::size_t size = space.size(), local = std::min<std::size_t>(line.machine->device.max_group_size(), 64),
                            most = 4 * line.machine->device.compute_units(),
                            groups = std::clamp<std::size_t>((size + local - 1) / local, 1, most);
          const auto several = [space, size, function](nd_item<1> item, auto &...reducers) {
            for (std::size_t number = item.get_global_id(0); number < size; number += item.get_global_range(0))
              function(parallel::item<D>(id<D>(detail::delinear<D>(number, space)), space), reducers...);
          };
          reduce<typename decltype(name)::type>(nd_range<1>(groups * local, local), several, reductions...);
        },
        first, rest...);
  }

  // One work-item. `function` takes nothing.
  template <class Name = detail::unnamed, class F> void single_task(const F &function) {
    using name = detail::name_of<Name, F>;
#ifdef __SYCL_DEVICE_ONLY__
    detail::task_kernel<name, F>(detail::closed(function));
#else
    launch(__builtin_sycl_unique_stable_name(name), detail::launch_range(range<1>(1)), {detail::closed(function)});
#endif
  }

private:
  friend class queue;
  template <class, int> friend class accessor;
  template <class, int> friend class local_accessor;

  explicit handler(detail::line &line) : line(line) {}

  // Where the elements of a buffer are that this command uses.
  void *use(const std::shared_ptr<detail::storage> &memory) {
    void *elements = memory->on_device(line.machine);
    wait.push_back(memory->last);
    used.push_back(memory);
    return elements;
  }

  // The offset of so many bytes of local memory.
  std::size_t take_local(std::size_t size, std::size_t alignment) {
    const std::size_t offset = (local_memory + alignment - 1) / alignment * alignment;
    local_memory = offset + size;
    return offset;
  }

  // Calls `reduces` with a kernel's name, its function, which is the last of `all`, and its reductions, the others.
  template <class Name, class Reduces, class... All> void split(const Reduces &reduces, const All &...all) {
    static_assert(sizeof...(All) > 1, "the function comes after the reductions");
    split<Name>(reduces, std::tie(all...), std::make_index_sequence<sizeof...(All) - 1>());
  }
  template <class Name, class Reduces, class... All, std::size_t... Number>
  void split(const Reduces &reduces, const std::tuple<All...> &all, std::index_sequence<Number...>) {
    const auto &function = std::get<sizeof...(Number)>(all);
    using name = detail::name_of<Name, std::decay_t<decltype(function)>>;
    reduces(detail::named<name>(), function, std::get<Number>(all)...);
  }

  // Each work-item has its part, each work-group combines those of its own, and one work-item then those of the groups.
  template <class Name, int D, class F, class... T, class... Operation>
  void reduce(const nd_range<D> &space, const F &function, const detail::reduced<T, Operation> &...reductions) {
    check(space);
    const std::size_t groups = space.get_group_range().size(), items = space.get_local_range().size();
    // Freed when the kernels are done.
    std::vector<detail::allocation> memory;
    const auto take = [&](std::size_t size, std::size_t alignment) {
      memory.push_back(line.machine->allocate(OFFKIT_USM_DEVICE, size, alignment));
      return offkit_usm_address(memory.back().get());
    };
    const std::tuple<detail::of_groups<T, Operation>...> parts{
        detail::of_groups<T, Operation>{reductions, static_cast<T *>(take(groups * sizeof(T), alignof(T)))}...};
    const std::tuple<local_accessor<T, 1>...> shared{local_accessor<T, 1>(range<1>(items), *this)...};
    parallel_for<Name>(space, [parts, shared, function](nd_item<D> item) {
      detail::each_with_reducer(parts, [&](auto &...reducers) { function(item, reducers...); },
                                [&](auto number, const auto &part, const auto &reducer) {
                                  detail::combine_items(item, part, std::get<number>(shared), reducer);
                                });
    });
    depends_on(std::exchange(submitted, event()));
    single_task<detail::end_of<Name>>([parts, groups] {
      std::apply([=](const auto &...each) { (detail::combine_groups(each, groups), ...); }, parts);
    });
  }

  template <int D> static void check(const nd_range<D> &space) {
    const range<D> global = space.get_global_range(), groups = space.get_local_range();
    if (!groups.size() || (global / groups) * groups != global)
      throw error(OFFKIT_ERROR_INVALID, "nd_range: work-groups of that size do not divide the range");
  }

  void launch(const char *name, const offkit_range &range, std::initializer_list<argument> arguments) {
    if (submitted.get())
      throw error(OFFKIT_ERROR_INVALID, "handler: one command is submitted at a time");
    submitted = line.launch(name, range, arguments, wait);
    for (const auto &memory : used)
      memory->last = submitted;
  }

  detail::line &line;
  std::vector<event> wait;
  std::vector<std::shared_ptr<detail::storage>> used;
  std::size_t local_memory = 0;
  event submitted;
};

// The elements of a buffer, for a kernel.
template <class T, int D = 1> class accessor : public detail::elements<T, D> {
  using buffer_type = buffer<std::remove_const_t<T>, D>;

public:
  accessor(const buffer_type &buffer, handler &handler)
      : detail::elements<T, D>(static_cast<T *>(handler.use(buffer.get())), buffer.get_range()) {}
  accessor(const buffer_type &buffer, handler &handler, read_only_t) : accessor(buffer, handler) {}
  accessor(const buffer_type &buffer, handler &handler, write_only_t) : accessor(buffer, handler) {}
  accessor(const buffer_type &buffer, handler &handler, read_write_t) : accessor(buffer, handler) {}
};
template <class T, int D> accessor(const buffer<T, D> &, handler &) -> accessor<T, D>;
template <class T, int D> accessor(const buffer<T, D> &, handler &, read_only_t) -> accessor<const T, D>;
template <class T, int D> accessor(const buffer<T, D> &, handler &, write_only_t) -> accessor<T, D>;
template <class T, int D> accessor(const buffer<T, D> &, handler &, read_write_t) -> accessor<T, D>;

// Elements in local memory, which the work-items of a work-group share. Nothing is in them when a kernel starts.
template <class T, int D> class local_accessor : public detail::elements<T, D> {
  static_assert(std::is_trivially_copyable_v<T>, "nobody constructs elements of local memory");

public:
  local_accessor(const range<D> &space, handler &handler)
      : detail::elements<T, D>(nullptr, space), offset(handler.take_local(space.size() * sizeof(T), alignof(T))) {}
#ifdef __SYCL_DEVICE_ONLY__
  // The kernel copies its lambda, and with it this, to find where local memory is.
  local_accessor(const local_accessor &other)
      : detail::elements<T, D>(reinterpret_cast<T *>((unsigned char *)(detail::local_memory + other.offset)), other.space),
        offset(other.offset) {}
#endif

private:
  std::size_t offset;
};

// Where commands for a device are submitted. They run one after the other.
class queue {
public:
  // For the device that `selector` means (a number, the name of a plugin, a kind, or a part of the device's name);
  // without one, for the first that has shared USM.
  explicit queue(const char *selector = nullptr) : line(std::make_shared<detail::line>(detail::choose(selector))) {}

  const offkit::device &get_device() const { return line->machine->device; }
  const offkit::context &get_context() const { return line->machine->context; }

  // Has `submit` say what command it is, and what it uses.
  template <class Submit, class = std::enable_if_t<std::is_invocable_v<Submit, handler &>>>
  event submit(const Submit &submit) {
    handler handler(*line);
    submit(handler);
    return handler.submitted;
  }

  template <class Name = detail::unnamed, int D, class... Rest>
  event parallel_for(const range<D> &space, const Rest &...rest) {
    return submit([&](handler &handler) { handler.parallel_for<Name>(space, rest...); });
  }
  template <class Name = detail::unnamed, class... Rest> event parallel_for(std::size_t size, const Rest &...rest) {
    return submit([&](handler &handler) { handler.parallel_for<Name>(range<1>(size), rest...); });
  }
  template <class Name = detail::unnamed, int D, class... Rest>
  event parallel_for(const nd_range<D> &space, const Rest &...rest) {
    return submit([&](handler &handler) { handler.parallel_for<Name>(space, rest...); });
  }
  template <class Name = detail::unnamed, class F> event single_task(const F &function) {
    return submit([&](handler &handler) { handler.single_task<Name>(function); });
  }

  // Waits until all commands are done; throws what the first that failed failed with.
  void wait() { line->wait(); }
  void wait_and_throw() { line->wait(); }

  // Copies bytes between the host's memory and allocations, once earlier commands are done, and waits for it.
  event memcpy(void *to, const void *from, std::size_t size) {
    if (!size)
      return {};
    auto [target, target_offset] = line->machine->find(to, size);
    auto [source, source_offset] = line->machine->find(from, size);
    const offkit_queue *queue = line->queue.get();
    if (target && source) {
      std::vector<unsigned char> bytes(size);
      detail::check(offkit_usm_read(source, queue, source_offset, bytes.data(), size, nullptr, 0));
      detail::check(offkit_usm_write(target, queue, target_offset, bytes.data(), size, nullptr, 0));
    } else if (target) {
      detail::check(offkit_usm_write(target, queue, target_offset, from, size, nullptr, 0));
    } else if (source) {
      detail::check(offkit_usm_read(source, queue, source_offset, to, size, nullptr, 0));
    } else {
      std::memcpy(to, from, size);
    }
    return {};
  }
  template <class T> event copy(const T *from, T *to, std::size_t count) { return memcpy(to, from, count * sizeof(T)); }

  // Sets so many elements of an allocation, or bytes.
  template <class T> event fill(T *to, const T &value, std::size_t count) {
    return parallel_for<detail::filling<T>>(count, [=](id<1> i) { to[i] = value; });
  }
  // A template, so that only programs that call it have its kernel.
  template <class Byte = unsigned char> event memset(void *to, int value, std::size_t size) {
    return fill(static_cast<Byte *>(to), static_cast<Byte>(value), size);
  }

  const std::shared_ptr<detail::machine> &get() const { return line->machine; }

private:
  std::shared_ptr<detail::line> line;
};

// Unified shared memory for so many elements, with anything in them: what both sides reach, what the device alone does,
// and memory of the host that the device reaches. Freed by `free`.
template <class T> T *malloc_shared(std::size_t count, const queue &queue) {
  return static_cast<T *>(queue.get()->keep(queue.get()->allocate(OFFKIT_USM_SHARED, count * sizeof(T), alignof(T))));
}
template <class T> T *malloc_device(std::size_t count, const queue &queue) {
  return static_cast<T *>(queue.get()->keep(queue.get()->allocate(OFFKIT_USM_DEVICE, count * sizeof(T), alignof(T))));
}
template <class T> T *malloc_host(std::size_t count, const queue &queue) {
  return static_cast<T *>(queue.get()->keep(queue.get()->allocate(OFFKIT_USM_HOST, count * sizeof(T), alignof(T))));
}
// Frees an allocation, once the commands that may use it are done.
inline void free(void *allocation, const queue &queue) { queue.get()->release(allocation); }

} // namespace offkit::parallel

#endif
