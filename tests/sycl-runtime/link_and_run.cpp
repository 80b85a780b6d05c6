// The SYCL runtime reads SYCLBIN files in object state, links them, and runs `app_kernel` on eight
// numbers starting at 1; it prints them. Or it runs the kernel of one file in input or executable state.
//
//   link_and_run FILE...
//   link_and_run --input FILE
//   link_and_run --executable FILE
#include <sycl/sycl.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace syclex = sycl::ext::oneapi::experimental;

int main(int argc, char **argv) {
  try {
    sycl::queue queue{sycl::cpu_selector_v};
    auto program = [&] {
      if (argc == 3 && argv[1] == std::string("--executable"))
        return syclex::get_kernel_bundle<sycl::bundle_state::executable>(
            queue.get_context(), {queue.get_device()}, std::filesystem::path(argv[2]));
      if (argc == 3 && argv[1] == std::string("--input"))
        return sycl::build(syclex::get_kernel_bundle<sycl::bundle_state::input>(
            queue.get_context(), {queue.get_device()}, std::filesystem::path(argv[2])));
      std::vector<sycl::kernel_bundle<sycl::bundle_state::object>> objects;
      for (int i = 1; i < argc; ++i)
        objects.push_back(syclex::get_kernel_bundle<sycl::bundle_state::object>(
            queue.get_context(), {queue.get_device()}, std::filesystem::path(argv[i])));
      return sycl::link(objects);
    }();
    auto kernel = program.ext_oneapi_get_kernel("app_kernel");
    int *numbers = sycl::malloc_shared<int>(8, queue);
    for (int i = 0; i < 8; ++i)
      numbers[i] = i + 1;
    queue
        .submit([&](sycl::handler &handler) {
          handler.set_args(numbers);
          handler.parallel_for(sycl::range<1>(8), kernel);
        })
        .wait();
    for (int i = 0; i < 8; ++i)
      std::printf("%d ", numbers[i]);
    sycl::free(numbers, queue);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}
