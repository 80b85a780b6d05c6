// Runs `app_kernel`, of the images that are registered, on eight numbers starting at 1, and prints them.
//
//   run_registered [LIBRARY...]
//
// The images are in the program itself, or in libraries that are loaded first and unloaded afterwards.
#include <sycl/sycl.hpp>

#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <vector>

static const sycl::kernel_id *find(const std::vector<sycl::kernel_id> &ids) {
  for (const auto &id : ids)
    if (std::string(id.get_name()) == "app_kernel")
      return &id;
  return nullptr;
}

int main(int argc, char **argv) {
  try {
    std::vector<void *> libraries;
    for (int i = 1; i < argc; ++i) {
      libraries.push_back(dlopen(argv[i], RTLD_NOW | RTLD_LOCAL));
      if (!libraries.back()) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
      }
    }
    {
      sycl::queue queue{sycl::cpu_selector_v};
      auto ids = sycl::get_kernel_ids();
      auto *id = find(ids);
      if (!id) {
        std::fprintf(stderr, "app_kernel is not registered\n");
        return 1;
      }
      auto bundle =
          sycl::get_kernel_bundle<sycl::bundle_state::executable>(queue.get_context(), {*id});
      auto kernel = bundle.get_kernel(*id);
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
    }
    for (auto *library : libraries)
      dlclose(library);
    std::printf(find(sycl::get_kernel_ids()) ? "registered\n" : "gone\n");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}
