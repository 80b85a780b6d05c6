// y = a * x + y, by a kernel in the same file.
//
//   offkit c++ -fsycl saxpy.cpp -o saxpy && ./saxpy
#include <offkit/parallel.hpp>

#include <cstdio>

using namespace offkit::parallel;

int main() try {
  constexpr std::size_t count = 1024;
  constexpr float a = 2.5f;

  queue queue;
  std::printf("on %s\n", queue.get_device().name().c_str());
  float *x = malloc_shared<float>(count, queue), *y = malloc_shared<float>(count, queue);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 1;
  }
  queue.parallel_for<class Saxpy>(range(count), [=](id<1> i) { y[i] = a * x[i] + y[i]; });
  queue.wait();
  std::printf("%g * %g + 1 = %g\n", a, x[count - 1], y[count - 1]);
  free(x, queue);
  free(y, queue);
} catch (const std::exception &failure) {
  std::fprintf(stderr, "saxpy: %s\n", failure.what());
  return 1;
}
