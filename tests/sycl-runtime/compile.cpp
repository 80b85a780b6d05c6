// Compiles a SYCL source with the run-time compiler of the SYCL runtime and writes the SYCLBIN file
// that the runtime makes of it.
//
//   compile SOURCE OUTPUT object|executable [OPTION...]
#include <sycl/sycl.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace syclex = sycl::ext::oneapi::experimental;

template <typename Bundle> static int write(const Bundle &bundle, const char *path) {
  auto content = bundle.ext_oneapi_get_content();
  std::ofstream output(path, std::ios::binary);
  output.write(reinterpret_cast<const char *>(content.data()), content.size());
  return output.good() ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s SOURCE OUTPUT object|executable [OPTION...]\n", argv[0]);
    return 2;
  }
  try {
    std::ifstream input(argv[1]);
    std::string source((std::istreambuf_iterator<char>(input)), {});
    sycl::queue queue{sycl::cpu_selector_v};
    auto bundle =
        syclex::create_kernel_bundle_from_source(queue.get_context(), syclex::source_language::sycl, source);
    std::vector<std::string> words(argv + 4, argv + argc);
    syclex::properties options{syclex::build_options{words}};
    if (std::string(argv[3]) == "object")
      return write(syclex::compile(bundle, options), argv[2]);
    return write(syclex::build(bundle, options), argv[2]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}
