// A kernel of four arguments, two of which the compiler finds unused and drops.
#include <sycl/sycl.hpp>

void host(sycl::queue &queue, int *numbers, int unused, int factor, float *nothing) {
  queue.submit([&](sycl::handler &handler) {
    handler.parallel_for<class scale>(sycl::range<1>(8), [=](sycl::item<1> i) {
      int copy = unused;
      float *other = nothing;
      (void)copy, (void)other;
      numbers[i] *= factor;
    });
  });
}
