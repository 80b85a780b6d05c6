// A SYCL kernel that calls a function of another file.
#include <sycl/sycl.hpp>

SYCL_EXTERNAL int library_function(int);

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void app_kernel(int *numbers) {
  auto i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  numbers[i] = library_function(numbers[i]) + 1;
}
