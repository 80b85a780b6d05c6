// Kernels that differ in what a device must support, specialization constants, and functions of other files.
#include <sycl/sycl.hpp>

namespace ex = sycl::ext::oneapi::experimental;

struct Pair {
  int a;
  float b;
  char c;
  constexpr Pair(int a, float b, char c) : a(a), b(b), c(c) {}
};

static constexpr sycl::specialization_id<int> factor{42};
static constexpr sycl::specialization_id<bool> flag{true};
static constexpr sycl::specialization_id<Pair> pair_id{1, 2.5f, 'x'};

SYCL_EXTERNAL int imported(int);
SYCL_EXTERNAL __attribute__((noinline)) int exported(int x) { return x * 3; }
SYCL_EXTERNAL __attribute__((noinline)) int other(int x) { return exported(x) + imported(x); }

#define HAS(...) SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ex::__VA_ARGS__))

extern "C" HAS(nd_range_kernel<1>) void uses_double(double *p) { p[0] = p[1] * 2.5; }
extern "C" HAS(nd_range_kernel<1>) void uses_half(sycl::half *p) { p[0] = p[1] * p[2]; }
extern "C" HAS(single_task_kernel) void calls(int *p) { p[0] = other(p[0]); }
extern "C" HAS(nd_range_kernel<2>) HAS(work_group_size<8, 4>) void sized(int *p) { p[0] = 1; }
extern "C" HAS(nd_range_kernel<1>) HAS(sub_group_size<8>) void grouped(int *p) { p[0] = 2; }

void host(sycl::queue &queue, int *p) {
  queue.submit([&](sycl::handler &handler) {
    handler.parallel_for<class constants>(sycl::range<1>(4), [=](sycl::item<1> i, sycl::kernel_handler kernel) {
      Pair pair = kernel.get_specialization_constant<pair_id>();
      p[i] = kernel.get_specialization_constant<factor>() + pair.a + pair.b + pair.c;
      if (kernel.get_specialization_constant<flag>()) p[i] += 1;
    });
  });
}
