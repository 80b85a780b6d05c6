// The SYCL runtime reads SYCLBIN files in object state, links them, and runs `app_kernel` on eight
// numbers starting at 1; it prints them. Or it does so with one file in input or executable state.
//
//   link_and_run [--input | --executable] [--fast] [--global NAME VALUE] FILE...
//   link_and_run [--input | --executable] --write OUTPUT FILE...
//
// With --global it writes a device global first, and prints it last. With --write it writes what it has
// read as a file again, several objects linked.
#include <sycl/sycl.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace syclex = sycl::ext::oneapi::experimental;

template <sycl::bundle_state State> static auto read(sycl::queue &queue, const std::string &file) {
  return syclex::get_kernel_bundle<State>(queue.get_context(), {queue.get_device()}, std::filesystem::path(file));
}

template <typename Bundle> static int write(const Bundle &bundle, const std::string &path) {
  auto content = bundle.ext_oneapi_get_content();
  std::ofstream output(path, std::ios::binary);
  output.write(reinterpret_cast<const char *>(content.data()), content.size());
  return output.good() ? 0 : 1;
}

int main(int argc, char **argv) {
  try {
    sycl::queue queue{sycl::cpu_selector_v};
    std::string state = "--object", output, global;
    std::vector<std::string> files;
    bool fast = false;
    int value = 0;
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      if (word == "--input" || word == "--executable")
        state = word;
      else if (word == "--fast")
        fast = true;
      else if (word == "--write")
        output = argv[++i];
      else if (word == "--global") {
        global = argv[++i];
        value = std::atoi(argv[++i]);
      } else
        files.push_back(word);
    }
    std::vector<sycl::kernel_bundle<sycl::bundle_state::object>> objects;
    if (state == "--object")
      for (auto &file : files)
        objects.push_back(read<sycl::bundle_state::object>(queue, file));
    if (!output.empty() && state == "--input")
      return write(read<sycl::bundle_state::input>(queue, files[0]), output);
    if (!output.empty() && objects.size() == 1)
      return write(objects[0], output);
    auto program = [&] {
      if (state == "--executable")
        return read<sycl::bundle_state::executable>(queue, files[0]);
      if (state == "--input")
        return sycl::build(read<sycl::bundle_state::input>(queue, files[0]));
      if (fast)
        return syclex::link(objects, syclex::properties{syclex::fast_link{true}});
      return sycl::link(objects);
    }();
    if (!output.empty())
      return write(program, output);
    void *address = nullptr;
    if (!global.empty()) {
      address = program.ext_oneapi_get_device_global_address(global, queue.get_device());
      queue.memcpy(address, &value, sizeof value).wait();
    }
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
    if (address) {
      queue.memcpy(&value, address, sizeof value).wait();
      std::printf("%d ", value);
    }
    sycl::free(numbers, queue);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}
