// A kernel with a device global that is the image's own.
#include <sycl/sycl.hpp>

namespace ex = sycl::ext::oneapi::experimental;

ex::device_global<int, decltype(ex::properties(ex::device_image_scope))> counter;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ex::nd_range_kernel<1>))
void app_kernel(int *numbers) {
  auto i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  numbers[i] += counter;
}
