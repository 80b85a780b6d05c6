// The function that the kernel calls.
#include <sycl/sycl.hpp>

SYCL_EXTERNAL int library_function(int x) { return x * 7; }
