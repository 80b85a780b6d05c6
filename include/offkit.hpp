// offkit.hpp: offkit.h for C++17. Objects free themselves, errors are exceptions. Link with -loffkit.
//
// Objects can be moved, not copied; text and numbers come as values. What functions do is said in offkit.h, whose names
// they have. For what is not here, `get()` of an object is its pointer, and objects can be made by any function of
// offkit.h that makes one: `offkit::device second(offkit_runtime_device, runtime.get(), 1)`.
#ifndef OFFKIT_HPP
#define OFFKIT_HPP

#include <offkit.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace offkit {

// What a function of offkit.h failed with.
class error : public std::runtime_error {
public:
  error(offkit_code code, const char *message) : std::runtime_error(message), kind(code) {}
  offkit_code code() const noexcept { return kind; }

private:
  offkit_code kind;
};

namespace detail {

inline void check(offkit_error *failure) {
  if (!failure)
    return;
  std::unique_ptr<offkit_error, void (*)(offkit_error *)> owned(failure, offkit_error_free);
  throw error(offkit_error_code(failure), offkit_error_message(failure));
}

// An object of offkit.h, freed with this.
template <class T, void (*Free)(T *)> class object {
public:
  // Calls a function of offkit.h that makes an object at its last argument.
  template <class... Parameters, class... Arguments>
  explicit object(offkit_error *(*make)(Parameters...), Arguments... arguments) {
    T *made = nullptr;
    check(make(arguments..., &made));
    pointer.reset(made);
  }
  T *get() const noexcept { return pointer.get(); }

private:
  struct deleter {
    void operator()(T *freed) const noexcept { Free(freed); }
  };
  std::unique_ptr<T, deleter> pointer;
};

// Calls a function of offkit.h that answers at its last argument.
template <class Answer, class... Parameters, class... Arguments>
Answer ask(offkit_error *(*question)(Parameters...), Arguments... arguments) {
  Answer answer{};
  check(question(arguments..., &answer));
  return answer;
}

// The pointers of several objects.
template <class T> class pointers {
public:
  template <class Objects> explicit pointers(const Objects &objects) {
    for (const auto &each : objects)
      all.push_back(address(each));
  }
  const T *const *data() const { return all.data(); }
  size_t size() const { return all.size(); }

private:
  template <class Object> static const T *address(const Object &each) {
    if constexpr (std::is_pointer_v<Object>)
      return each->get();
    else
      return each.get();
  }
  std::vector<const T *> all;
};

} // namespace detail

class registry;

class device : public detail::object<offkit_device, offkit_device_free> {
public:
  using object::object;
  std::string name() const { return detail::ask<const char *>(offkit_device_name, get()); }
  std::string vendor() const { return detail::ask<const char *>(offkit_device_vendor, get()); }
  std::string version() const { return detail::ask<const char *>(offkit_device_version, get()); }
  offkit_device_type type() const { return detail::ask<offkit_device_type>(offkit_device_get_type, get()); }
  size_t max_group_size() const { return detail::ask<size_t>(offkit_device_max_group_size, get()); }
  uint32_t compute_units() const { return detail::ask<uint32_t>(offkit_device_compute_units, get()); }
  uint64_t memory_size() const { return detail::ask<uint64_t>(offkit_device_memory_size, get()); }
  bool is_same(const device &other) const { return detail::ask<bool>(offkit_device_is_same, get(), other.get()); }
  // Parts of the device; offkit.h says what the numbers are.
  inline std::vector<device> partition(offkit_partition how, std::initializer_list<size_t> numbers) const;
};

namespace detail {
using parts = object<offkit_parts, offkit_parts_free>;
}

inline std::vector<device> device::partition(offkit_partition how, std::initializer_list<size_t> numbers) const {
  detail::parts parts(offkit_device_partition, get(), how, numbers.begin(), numbers.size());
  std::vector<device> devices;
  for (size_t number = 0, count = offkit_parts_count(parts.get()); number < count; ++number)
    devices.emplace_back(offkit_parts_device, parts.get(), number);
  return devices;
}

class runtime : public detail::object<offkit_runtime, offkit_runtime_free> {
public:
  runtime() : object(offkit_runtime_create) {}
  size_t device_count() const { return detail::ask<size_t>(offkit_runtime_device_count, get()); }
  offkit::device device(size_t number) const { return offkit::device(offkit_runtime_device, get(), number); }
  std::vector<offkit::device> devices() const {
    std::vector<offkit::device> all;
    for (size_t number = 0, count = device_count(); number < count; ++number)
      all.push_back(device(number));
    return all;
  }
  // The device that `selector` means; without one, the first.
  offkit::device select(const char *selector = nullptr) const {
    return offkit::device(offkit_runtime_select, get(), selector);
  }
  // The device for a kernel; without a selector, the first that takes an image of it.
  inline offkit::device choose(const registry &registry, const std::string &kernel,
                               const char *selector = nullptr) const;
  std::string failures() const { return detail::ask<const char *>(offkit_runtime_failures, get()); }
};

class context : public detail::object<offkit_context, offkit_context_free> {
public:
  explicit context(const device &only) : context(std::initializer_list<const device *>{&only}) {}
  // Of several devices, given as objects or as pointers to them.
  template <class Devices> explicit context(const Devices &devices)
      : context(detail::pointers<offkit_device>(devices)) {}

private:
  explicit context(const detail::pointers<offkit_device> &devices)
      : object(offkit_context_create, devices.data(), devices.size()) {}
};

class event;

// The events that a command waits for.
using events = std::initializer_list<const event *>;

class queue : public detail::object<offkit_queue, offkit_queue_free> {
public:
  // `flags` are those of offkit_queue_create.
  queue(const context &context, const device &device, uint32_t flags = OFFKIT_QUEUE_IN_ORDER)
      : object(offkit_queue_create, context.get(), device.get(), flags) {}
  void finish() const { detail::check(offkit_queue_finish(get())); }
  // An event that completes when the events have; with none, when all commands submitted before have.
  event marker(events wait = {}) const;
  // The same, and commands submitted later wait for it.
  event barrier(events wait = {}) const;
};

class event : public detail::object<offkit_event, offkit_event_free> {
public:
  using object::object;
  void wait() const { detail::check(offkit_event_wait(get())); }
  offkit_event_status status() const { return detail::ask<offkit_event_status>(offkit_event_get_status, get()); }
  offkit_profile profile() const { return detail::ask<offkit_profile>(offkit_event_profile, get()); }
  // Has the function called with the status when the command is done, on another thread. It must not throw.
  void on_completion(std::function<void(offkit_event_status)> function) const {
    auto kept = std::make_unique<std::function<void(offkit_event_status)>>(std::move(function));
    detail::check(offkit_event_on_completion(get(), call, kept.get()));
    kept.release();
  }

private:
  static void call(offkit_event_status status, void *data) {
    std::unique_ptr<std::function<void(offkit_event_status)>> kept(
        static_cast<std::function<void(offkit_event_status)> *>(data));
    (*kept)(status);
  }
};

inline event queue::marker(events wait) const {
  detail::pointers<offkit_event> waited(wait);
  return event(offkit_queue_marker, get(), waited.data(), waited.size());
}

inline event queue::barrier(events wait) const {
  detail::pointers<offkit_event> waited(wait);
  return event(offkit_queue_barrier, get(), waited.data(), waited.size());
}

// A buffer of elements of a type that is the same for host and device.
template <class T> class buffer : public detail::object<offkit_buffer, offkit_buffer_free> {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

public:
  // So many elements, all bytes of which are 0.
  buffer(const context &context, size_t count)
      : object(offkit_buffer_create, context.get(), static_cast<const void *>(nullptr), count * sizeof(T)) {}
  // A copy of the elements.
  buffer(const context &context, const std::vector<T> &elements)
      : object(offkit_buffer_create, context.get(), data_of(elements), elements.size() * sizeof(T)) {}
  // The number of elements.
  size_t size() const { return offkit_buffer_size(get()) / sizeof(T); }
  std::vector<T> read(const queue &queue, events wait = {}) const {
    std::vector<T> elements(size());
    detail::pointers<offkit_event> waited(wait);
    detail::check(offkit_buffer_read(get(), queue.get(), 0, elements.data(), elements.size() * sizeof(T),
                                     waited.data(), waited.size()));
    return elements;
  }
  // Copies elements to the one with the number `first`, and those behind it.
  void write(const queue &queue, const std::vector<T> &elements, size_t first = 0, events wait = {}) const {
    detail::pointers<offkit_event> waited(wait);
    detail::check(offkit_buffer_write(get(), queue.get(), first * sizeof(T), elements.data(),
                                      elements.size() * sizeof(T), waited.data(), waited.size()));
  }
  // Fills `count` elements, from the one with the number `first` on.
  event fill(const queue &queue, const T &element, size_t first, size_t count, events wait = {}) const {
    detail::pointers<offkit_event> waited(wait);
    return event(offkit_buffer_fill, get(), queue.get(), first * sizeof(T), count * sizeof(T), &element, sizeof(T),
                 waited.data(), waited.size());
  }
  // Copies `count` elements, from the one with the number `first` on, to another buffer.
  event copy_to(const queue &queue, size_t first, const buffer &to, size_t to_first, size_t count,
                events wait = {}) const {
    detail::pointers<offkit_event> waited(wait);
    return event(offkit_buffer_copy, get(), first * sizeof(T), to.get(), to_first * sizeof(T), count * sizeof(T),
                 queue.get(), waited.data(), waited.size());
  }

private:
  static const void *data_of(const std::vector<T> &elements) { return elements.data(); }
};

// Unified shared memory for elements of a type.
template <class T> class usm : public detail::object<offkit_usm, offkit_usm_free> {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

public:
  usm(const context &context, const device &device, offkit_usm_kind kind, size_t count)
      : object(offkit_usm_create, context.get(), device.get(), kind, count * sizeof(T),
               static_cast<uint32_t>(alignof(T))) {}
  // The elements, where the host can reach them.
  T *data() const { return static_cast<T *>(offkit_usm_address(get())); }
  size_t size() const { return offkit_usm_size(get()) / sizeof(T); }
  std::vector<T> read(const queue &queue, events wait = {}) const {
    std::vector<T> elements(size());
    detail::pointers<offkit_event> waited(wait);
    detail::check(offkit_usm_read(get(), queue.get(), 0, elements.data(), elements.size() * sizeof(T), waited.data(),
                                  waited.size()));
    return elements;
  }
  void write(const queue &queue, const std::vector<T> &elements, size_t first = 0, events wait = {}) const {
    detail::pointers<offkit_event> waited(wait);
    detail::check(offkit_usm_write(get(), queue.get(), first * sizeof(T), elements.data(),
                                   elements.size() * sizeof(T), waited.data(), waited.size()));
  }
  // Sets all bytes.
  event fill(const queue &queue, uint8_t value, events wait = {}) const {
    detail::pointers<offkit_event> waited(wait);
    return event(offkit_usm_fill, get(), queue.get(), size_t{0}, offkit_usm_size(get()), value, waited.data(),
                 waited.size());
  }
  // Copies `count` elements, from the one with the number `first` on, to another allocation.
  event copy_to(const queue &queue, size_t first, const usm &to, size_t to_first, size_t count,
                events wait = {}) const {
    detail::pointers<offkit_event> waited(wait);
    return event(offkit_usm_copy, get(), first * sizeof(T), to.get(), to_first * sizeof(T), count * sizeof(T),
                 queue.get(), waited.data(), waited.size());
  }
};

// So many bytes of local memory for each work-group, as an argument.
struct local {
  size_t bytes;
};

// An argument of a launch: a buffer, an allocation, local memory, or a value of any other type.
class argument {
public:
  template <class T> argument(const buffer<T> &memory) : passed(offkit_buffer_argument(memory.get())) {}
  template <class T> argument(const usm<T> &memory) : passed(offkit_usm_argument(memory.get(), 0)) {}
  argument(local memory) : passed(offkit_local(memory.bytes)) {}
  argument(std::nullptr_t) : passed(offkit_address(nullptr)) {}
  template <class T, class = std::enable_if_t<std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>>>
  argument(const T &value) : passed(offkit_value(&value, sizeof value)) {}
  const offkit_argument &get() const { return passed; }

private:
  offkit_argument passed;
};

// The index space of a launch, of one to three dimensions.
class range {
public:
  range(std::initializer_list<size_t> global, std::initializer_list<size_t> local = {}) : space() {
    space.dimensions = static_cast<uint32_t>(global.size());
    fill(space.global, global);
    fill(space.local, local);
  }
  range(size_t global) : range({global}) {}
  range &offset(std::initializer_list<size_t> first) {
    fill(space.offset, first);
    return *this;
  }
  const offkit_range *get() const { return &space; }

private:
  static void fill(size_t (&sizes)[3], std::initializer_list<size_t> given) {
    if (given.size() > 3)
      throw std::invalid_argument("an index space has one to three dimensions");
    size_t number = 0;
    for (size_t each : given)
      sizes[number++] = each;
  }
  offkit_range space;
};

class kernel : public detail::object<offkit_kernel, offkit_kernel_free> {
public:
  using object::object;
  std::string name() const { return offkit_kernel_name(get()); }
  std::string signature() const { return offkit_kernel_signature(get()); }
  void set_indirect_access(bool indirect) const { detail::check(offkit_kernel_set_indirect_access(get(), indirect)); }
  // Submits a launch. Values among the arguments are read before this returns.
  event launch(const queue &queue, const range &range, std::initializer_list<argument> arguments,
               events wait = {}) const {
    std::vector<offkit_argument> passed;
    for (const argument &each : arguments)
      passed.push_back(each.get());
    detail::pointers<offkit_event> waited(wait);
    return event(offkit_kernel_launch, get(), queue.get(), range.get(), passed.data(), passed.size(), waited.data(),
                 waited.size());
  }
};

class collection : public detail::object<offkit_collection, offkit_collection_free> {
public:
  using object::object;
  // Where the images are, the kernel's own first.
  std::vector<std::string> images() const {
    std::vector<std::string> all;
    for (size_t number = 0; number < offkit_collection_image_count(get()); ++number)
      all.push_back(offkit_collection_image(get(), number));
    return all;
  }
  std::string resolutions() const { return offkit_collection_resolutions(get()); }
  kernel build(const context &context) const { return kernel(offkit_collection_build, get(), context.get()); }
};

// The images stay registered when this goes; see offkit::device_library for a handle that takes them with it.
class library : public detail::object<offkit_library, offkit_library_free> {
public:
  using object::object;
  size_t image_count() const { return offkit_library_image_count(get()); }
  std::string problems() const { return offkit_library_problems(get()); }
};

namespace detail {

inline void close(offkit_library *library) { offkit_error_free(offkit_device_dlclose(library)); }

} // namespace detail

// A library opened by registry::dlopen, closed with this.
class device_library : public detail::object<offkit_library, detail::close> {
public:
  using object::object;
  collection dlsym(const std::string &kernel, const device &device) const {
    return collection(offkit_device_dlsym, get(), kernel.c_str(), device.get());
  }
};

class registry : public detail::object<offkit_registry, offkit_registry_free> {
public:
  using object::object;
  registry() : object(offkit_registry_create) {}
  // The images of the program and its libraries.
  static registry of_process() { return registry(offkit_registry_of_process); }
  library open(const std::string &path) const { return library(offkit_registry_open, get(), path.c_str()); }
  library add(const std::string &name, std::string_view bytes) const {
    return library(offkit_registry_add, get(), name.c_str(), static_cast<const void *>(bytes.data()), bytes.size());
  }
  void withdraw(const library &library) const { detail::check(offkit_registry_withdraw(get(), library.get())); }
  size_t image_count() const { return detail::ask<size_t>(offkit_registry_image_count, get()); }
  std::string image(size_t number) const {
    return detail::ask<const char *>(offkit_registry_image, get(), number);
  }
  offkit::collection collect(const std::string &kernel, const device &device) const {
    return offkit::collection(offkit_registry_collect, get(), kernel.c_str(), device.get());
  }
  // The same where symbols are looked for in these libraries first.
  offkit::collection collect(const std::string &kernel, const device &device,
                             std::initializer_list<const device_library *> libraries) const {
    detail::pointers<offkit_library> first(libraries);
    return offkit::collection(offkit_registry_collect_with, get(), kernel.c_str(), device.get(), first.data(),
                              first.size());
  }
  void set_exporter_rule(offkit_exporter_rule rule) const {
    detail::check(offkit_registry_set_exporter_rule(get(), rule));
  }
  device_library dlopen(const std::string &path, offkit_visibility visibility = OFFKIT_VISIBILITY_LOCAL) const {
    return device_library(offkit_device_dlopen, get(), path.c_str(), visibility);
  }
};

inline offkit::device runtime::choose(const registry &registry, const std::string &kernel,
                                      const char *selector) const {
  return offkit::device(offkit_runtime_choose, get(), selector, registry.get(), kernel.c_str());
}

// Bytes that a function returned.
class bytes : public detail::object<offkit_bytes, offkit_bytes_free> {
public:
  using object::object;
  const void *data() const { return offkit_bytes_data(get()); }
  size_t size() const { return offkit_bytes_size(get()); }
  std::string_view view() const { return {static_cast<const char *>(data()), size()}; }
};

class bundle : public detail::object<offkit_bundle, offkit_bundle_free> {
public:
  using object::object;
  static bundle open(const context &context, const device &device, const std::string &path, offkit_state state) {
    const offkit_device *devices[] = {device.get()};
    return bundle(offkit_bundle_open, context.get(), devices, size_t{1}, path.c_str(), state);
  }
  static bundle from_bytes(const context &context, const device &device, const std::string &name,
                           std::string_view bytes, offkit_state state) {
    const offkit_device *devices[] = {device.get()};
    return bundle(offkit_bundle_from_bytes, context.get(), devices, size_t{1}, name.c_str(),
                  static_cast<const void *>(bytes.data()), bytes.size(), state);
  }
  static bundle from_spirv(const context &context, const device &device, const std::string &name,
                           std::string_view bytes) {
    const offkit_device *devices[] = {device.get()};
    return bundle(offkit_bundle_from_spirv, context.get(), devices, size_t{1}, name.c_str(),
                  static_cast<const void *>(bytes.data()), bytes.size());
  }
  static bundle of_registry(const context &context, const device &device, const registry &registry,
                            offkit_state state) {
    const offkit_device *devices[] = {device.get()};
    return bundle(offkit_bundle_of_registry, context.get(), devices, size_t{1}, registry.get(), state);
  }
  bundle compile() const { return bundle(offkit_bundle_compile, get()); }
  // `flags` as for `link`.
  bundle build(uint32_t flags = 0) const { return bundle(offkit_bundle_build, get(), flags); }
  // With OFFKIT_LINK_FAST or without, and OFFKIT_LINK_FIRST, OFFKIT_LINK_OWN_FIRST, or neither.
  static bundle link(std::initializer_list<const bundle *> objects, uint32_t flags = 0) {
    detail::pointers<offkit_bundle> all(objects);
    return bundle(offkit_bundle_link, all.data(), all.size(), static_cast<const offkit_device *const *>(nullptr),
                  size_t{0}, flags);
  }
  static bundle join(std::initializer_list<const bundle *> bundles) {
    detail::pointers<offkit_bundle> all(bundles);
    return bundle(offkit_bundle_join, all.data(), all.size());
  }
  offkit_state state() const { return offkit_bundle_get_state(get()); }
  bool has_kernel(const std::string &name) const {
    return detail::ask<bool>(offkit_bundle_has_kernel, get(), name.c_str(),
                             static_cast<const offkit_device *>(nullptr));
  }
  std::vector<std::string> kernel_names() const {
    std::vector<std::string> names;
    for (size_t number = 0; number < offkit_bundle_kernel_count(get()); ++number)
      names.push_back(offkit_bundle_kernel_name(get(), number));
    return names;
  }
  offkit::kernel kernel(const std::string &name, const device &device) const {
    return offkit::kernel(offkit_bundle_kernel, get(), name.c_str(), device.get());
  }
  // The value of a specialization constant.
  template <class T> T constant(const std::string &name) const {
    static_assert(std::is_trivially_copyable_v<T>, "values are copied byte by byte");
    bytes value(offkit_bundle_constant, get(), name.c_str());
    if (value.size() != sizeof(T))
      throw std::invalid_argument("specialization constant `" + name + "` has another size");
    T result;
    std::memcpy(&result, value.data(), sizeof result);
    return result;
  }
  template <class T> void set_constant(const std::string &name, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>, "values are copied byte by byte");
    detail::check(offkit_bundle_set_constant(get(), name.c_str(), &value, sizeof value));
  }
  std::vector<std::string> device_globals() const {
    std::vector<std::string> names;
    for (size_t number = 0; number < offkit_bundle_global_count(get()); ++number)
      names.push_back(offkit_bundle_global_name(get(), number));
    return names;
  }
  size_t global_size(const std::string &name) const {
    return detail::ask<size_t>(offkit_bundle_global_size, get(), name.c_str());
  }
  // The value of a device global on the queue's device.
  template <class T> T global(const std::string &name, const queue &queue) const {
    static_assert(std::is_trivially_copyable_v<T>, "values are copied byte by byte");
    T result;
    detail::check(offkit_bundle_read_global(get(), name.c_str(), queue.get(), 0, &result, sizeof result));
    return result;
  }
  template <class T> void set_global(const std::string &name, const queue &queue, const T &value) const {
    static_assert(std::is_trivially_copyable_v<T>, "values are copied byte by byte");
    detail::check(offkit_bundle_write_global(get(), name.c_str(), queue.get(), 0, &value, sizeof value));
  }
  bytes content(offkit_syclbin_version version = OFFKIT_SYCLBIN_V1) const {
    return bytes(offkit_bundle_content, get(), version);
  }
};

} // namespace offkit

#endif
