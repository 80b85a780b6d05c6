// A kernel that calls functions by their addresses, one of them of another file.
#include <sycl/sycl.hpp>

SYCL_EXTERNAL int library_function(int);
SYCL_EXTERNAL __attribute__((noinline)) int other(int x) { return x + 100; }

// One item for all: drivers of 2026.2 crash where the items of a vector call different functions.
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::single_task_kernel))
void app_kernel(int *numbers) {
  for (int i = 0; i < 8; ++i) {
    int (*function)(int) = numbers[i] % 2 ? library_function : other;
    numbers[i] = function(numbers[i]);
  }
}
