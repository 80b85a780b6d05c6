// A program that knows SYCL and nothing else runs saxpy of the worked example: libsycl reads the two SYCLBIN files and
// links them.
//
//   clang-22 --target=spirv64 -cl-std=CL3.0 -O1 -Dsaxpy=__sycl_kernel_saxpy -emit-llvm \
//     -c examples/shared-library/app.cl -o app.bc && offkit link app.bc -o app.syclbin
//   clang-22 --target=spirv64 -cl-std=CL3.0 -O1 -emit-llvm \
//     -c examples/shared-library/library.cl -o library.bc && offkit link library.bc -o library.syclbin
//   g++ -std=c++17 -o sycl examples/hosts/sycl.cpp -lsycl
//   ./sycl app.syclbin library.syclbin
//
// That takes libsycl 2026.2 and its headers. libsycl finds kernels of SYCLBIN files by names with that prefix.
// Its devices are those of the OpenCL drivers of the machine: `offkit icd install` makes offkit's devices one.
#include <sycl/sycl.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

int main(int argc, char **argv) try {
  namespace syclex = sycl::ext::oneapi::experimental;
  constexpr int N = 1024;
  sycl::queue queue;
  std::vector<sycl::kernel_bundle<sycl::bundle_state::object>> objects;
  for (int i = 1; i < argc; ++i)
    objects.push_back(syclex::get_kernel_bundle<sycl::bundle_state::object>(
        queue.get_context(), {queue.get_device()}, std::filesystem::path(argv[i])));
  auto kernel = sycl::link(objects).ext_oneapi_get_kernel("saxpy");

  float a = 2.5f, *x = sycl::malloc_shared<float>(N, queue), *y = sycl::malloc_shared<float>(N, queue);
  auto start = [](int i) { return 1.0f - float(i); };
  for (int i = 0; i < N; ++i) x[i] = float(i) / 3, y[i] = start(i);
  queue
      .submit([&](sycl::handler &handler) {
        handler.set_args(a, x, y);
        handler.parallel_for(sycl::range<1>(N), kernel);
      })
      .wait();
  for (int i = 0; i < N; ++i)
    if (y[i] != std::fma(a, x[i], start(i))) return std::fprintf(stderr, "element %d is %g\n", i, y[i]), 1;
  auto name = queue.get_device().get_info<sycl::info::device::name>();
  std::printf("%d elements are right on %s\n", N, name.c_str());
  sycl::free(x, queue);
  sycl::free(y, queue);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
