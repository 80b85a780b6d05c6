// Draws a picture as text, by a kernel whose tones a shared library makes. Host and device find that library in the same
// way: linked, loaded by name, or preloaded.
//
//   app [LIBRARY...]        loads these libraries first
//
// APP_DEVICE chooses the device: `cpu`, `opencl`, a part of its name.
#include "tone.h"

// A disc with soft edges, in the middle of a picture that is twice as wide as high.
OFFKIT_C OFFKIT_KERNEL void draw(int height, OFFKIT_GLOBAL int *picture) {
  int column = (int)offkit_global_id(0), row = (int)offkit_global_id(1);
  int x = column - height, y = 2 * row - height;
  int distance = (x * x + y * y) * 255 / (height * height);
  picture[row * 2 * height + column] = tone(distance > 255 ? 0 : 255 - distance);
}

#if !OFFKIT_ON_DEVICE
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <offkit.hpp>

int main(int argc, char **argv) try {
  // With RTLD_LOCAL a library would serve its own kernels and host code only.
  for (int i = 1; i < argc; ++i)
    if (!dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL)) {
      std::fprintf(stderr, "app: %s\n", dlerror());
      return 1;
    }
  auto name = reinterpret_cast<const char *(*)()>(dlsym(RTLD_DEFAULT, "tone_name"));
  std::printf("host: %s\n", name ? name() : "no tones");

  // The images of this program and of its libraries are registered as these are loaded.
  auto registry = offkit::registry::of_process();
  offkit::runtime runtime;
  auto device = runtime.choose(registry, "draw", std::getenv("APP_DEVICE"));
  auto collection = registry.collect("draw", device);
  for (const std::string &image : collection.images())
    std::printf("image: %s\n", image.c_str() + image.rfind('/', image.find('!')) + 1);

  constexpr int height = 8;
  offkit::context context(device);
  offkit::queue queue(context, device);
  offkit::buffer<int> picture(context, 2 * height * height);
  auto kernel = collection.build(context);
  kernel.launch(queue, {2 * height, height}, {height, picture}).wait();
  auto pixels = picture.read(queue);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < 2 * height; ++column)
      std::putchar(".,:-=+*#%@"[pixels[row * 2 * height + column] * 10 / 256]);
    std::putchar('\n');
  }
} catch (const offkit::error &error) {
  std::fprintf(stderr, "app: %s\n", error.what());
  return 1;
}
#endif
