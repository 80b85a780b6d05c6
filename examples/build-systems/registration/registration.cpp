// The two functions that a SYCL runtime offers to programs with device code, which call them before `main`
// and after it. A real runtime keeps the images and launches kernels of them; here they are counted.
#include "registration.h"
#include <cstdint>

namespace {
struct Descriptor {
  std::uint16_t version;
  std::uint16_t count;
};
int images;
} // namespace

extern "C" void __sycl_register_lib(const Descriptor *descriptor) { images += descriptor->count; }
extern "C" void __sycl_unregister_lib(const Descriptor *descriptor) { images -= descriptor->count; }

int registered_images() { return images; }
