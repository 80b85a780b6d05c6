// The Mandelbrot set as a picture: a kernel for each pixel.
//
//   offkit c++ -fsycl mandelbrot.cpp -o mandelbrot && ./mandelbrot mandelbrot.png
//   ./mandelbrot mandelbrot.png 1200        so many pixels wide
#include "png.hpp"

#include <offkit/parallel.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace offkit::parallel;

constexpr int limit = 200;

// How often z = z² + c can be done before z runs away, smoothed; `limit` where it never does.
inline float steps(float re, float im) {
  float x = 0, y = 0;
  for (int step = 0; step < limit; ++step) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 256)
      return static_cast<float>(step) + 4 - std::log2(std::log2(xx + yy));
    y = 2 * x * y + im;
    x = xx - yy + re;
  }
  return limit;
}

inline Colour colour(float steps) {
  if (steps >= limit)
    return {0, 0, 0};
  const auto wave = [=](float shift) {
    return static_cast<std::uint8_t>(127.5f + 127.5f * std::cos(0.15f * steps + shift));
  };
  return {wave(3.1f), wave(2.5f), wave(1.9f)};
}

int main(int count, char **arguments) try {
  const char *path = count > 1 ? arguments[1] : "mandelbrot.png";
  const std::size_t width = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 600, height = width * 2 / 3;
  std::vector<Colour> pixels(width * height);

  queue queue;
  std::printf("%zu x %zu pixels on %s\n", width, height, queue.get_device().name().c_str());
  {
    buffer<Colour, 2> picture(pixels.data(), range(height, width));
    queue.submit([&](handler &handler) {
      accessor out(picture, handler, write_only);
      // Of the plane, from -2 to 1 and from -1 to 1.
      const float pixel = 3.0f / static_cast<float>(width);
      handler.parallel_for<class Mandelbrot>(range(height, width), [=](id<2> at) {
        const float re = -2 + pixel * (static_cast<float>(at[1]) + 0.5f);
        const float im = pixel * (static_cast<float>(at[0]) + 0.5f - 0.5f * static_cast<float>(height));
        out[at] = colour(steps(re, im));
      });
    });
    queue.wait();
  }
  png::write(path, width, height, pixels.data());
} catch (const std::exception &failure) {
  std::fprintf(stderr, "mandelbrot: %s\n", failure.what());
  return 1;
}
