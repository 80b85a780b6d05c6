// The same as first_launch.c with the real SYCL runtime: `first_launch LIBRARY [KERNEL]`.
#include <sycl/sycl.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static sycl::kernel_id find(const std::string &name) {
  for (const auto &id : sycl::get_kernel_ids())
    if (id.get_name() == name)
      return id;
  throw std::runtime_error("no kernel " + name);
}

int main(int count, char **words) {
  try {
    double start = now();
    if (!dlopen(words[1], RTLD_NOW | RTLD_GLOBAL))
      return std::fprintf(stderr, "%s\n", dlerror()), 1;
    std::printf("{\"register\": %.9f", now() - start);
    if (count > 2) {
      constexpr size_t items = 16;
      start = now();
      sycl::queue queue{sycl::cpu_selector_v};
      double ready = now();
      auto id = find(words[2]);
      auto bundle = sycl::get_kernel_bundle<sycl::bundle_state::executable>(queue.get_context(), {id});
      auto kernel = bundle.get_kernel(id);
      double built = now();
      auto *numbers = sycl::malloc_shared<float>(2 * items, queue);
      for (size_t i = 0; i < items; ++i)
        numbers[i] = (i + 1) / 32.0f;
      double before = now();
      queue
          .submit([&](sycl::handler &handler) {
            handler.set_args(numbers, numbers + items);
            handler.parallel_for(sycl::range<1>(items), kernel);
          })
          .wait();
      double done = now();
      std::printf(", \"ready\": %.9f, \"build\": %.9f, \"launch\": %.9f, \"first\": %.9g", ready - start, built - ready,
                  done - before, numbers[items]);
    }
    std::printf("}\n");
    std::fflush(stdout);
    std::_Exit(0);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
