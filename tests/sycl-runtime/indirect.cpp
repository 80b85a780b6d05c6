// A kernel that follows addresses which it finds in memory.
#include <sycl/sycl.hpp>

struct Node {
  Node *next;
  long value;
};

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void app_kernel(int *numbers, Node *first) {
  auto i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  for (Node *node = first; node; node = node->next)
    numbers[i] += node->value;
}
