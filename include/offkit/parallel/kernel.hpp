// How a lambda becomes a kernel. A part of offkit/parallel.hpp.
//
// clang 22 makes a kernel of each instance of a function with `sycl_kernel_entry_point`, under the name that
// `__builtin_sycl_unique_stable_name` gives the attribute's type, and lets the host do nothing there. So the device's
// compiler sees the entry points below, and the host launches the kernel of that name with the lambda's bytes.
#ifndef OFFKIT_PARALLEL_KERNEL_HPP
#define OFFKIT_PARALLEL_KERNEL_HPP

#include <offkit/parallel/group.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

#if !defined(SYCL_LANGUAGE_VERSION) || !defined(__clang__)
#error "offkit/parallel.hpp: compile with `offkit c++ -fsycl`"
#endif
#if defined(__SYCL_DEVICE_ONLY__) && !defined(__SPIRV__)
#error "offkit/parallel.hpp: kernels are compiled to SPIR-V only: leave out -fsycl-targets= and --offload-arch="
#endif

namespace offkit::parallel::detail {

// Where a kernel without a name of its own has that of its lambda.
struct unnamed;
template <class Name, class F> using name_of = std::conditional_t<std::is_same_v<Name, unnamed>, F, Name>;
// A name as a value.
template <class Name> struct named {
  using type = Name;
};

// A lambda's bytes. A kernel takes these instead of the lambda, which may have a copy constructor (local_accessor).
template <class F> struct alignas(alignof(F)) closure {
  unsigned char bytes[sizeof(F)];
};

template <class F> closure<F> closed(const F &function) {
  closure<F> result;
  std::memcpy(result.bytes, static_cast<const void *>(&function), sizeof function);
  return result;
}

// A kernel's local memory: where the bytes are that it was launched with.
using local_bytes = __attribute__((opencl_local)) unsigned char *;
#ifdef __SYCL_DEVICE_ONLY__
[[clang::loader_uninitialized]] static __attribute__((opencl_local)) local_bytes local_memory;
#endif

// What a kernel does. These are functions of their own because clang 22 loses casts of an entry point's parameters.
template <int D, class F> void run(const closure<F> &bytes) {
  reinterpret_cast<const F &>(bytes)(item<D>(global_id<D>(), global_size<D>()));
}

template <int D, class F> void run_in_groups(const closure<F> &bytes, [[maybe_unused]] local_bytes local) {
#ifdef __SYCL_DEVICE_ONLY__
  // Read by the local accessors that are copied with the lambda.
  local_memory = local;
#endif
  const F function(reinterpret_cast<const F &>(bytes));
  function(nd_item<D>());
}

template <class F> void run_once(const closure<F> &bytes) { reinterpret_cast<const F &>(bytes)(); }

template <class Name, int D, class F> [[clang::sycl_kernel_entry_point(Name)]] void range_kernel(closure<F> bytes) {
  run<D, F>(bytes);
}

template <class Name, int D, class F>
[[clang::sycl_kernel_entry_point(Name)]] void nd_range_kernel(closure<F> bytes, local_bytes local) {
  run_in_groups<D, F>(bytes, local);
}

template <class Name, class F> [[clang::sycl_kernel_entry_point(Name)]] void task_kernel(closure<F> bytes) {
  run_once<F>(bytes);
}

} // namespace offkit::parallel::detail

#endif
