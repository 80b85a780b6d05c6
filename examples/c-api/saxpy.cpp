// The same as saxpy.c, in C++.
//
//   c++ -std=c++17 saxpy.cpp -loffkit -o saxpy
//   ./saxpy app.syclbin library.syclbin
#include <offkit.hpp>

#include <iostream>
#include <numeric>

int main(int argc, char **argv) try {
  offkit::registry registry;
  for (int i = 1; i < argc; ++i)
    registry.open(argv[i]);

  offkit::runtime runtime;
  auto device = runtime.choose(registry, "saxpy");
  std::cout << "on " << device.name() << "\n";

  offkit::context context(device);
  offkit::queue queue(context, device);
  auto collection = registry.collect("saxpy", device);
  auto kernel = collection.build(context);
  std::cout << kernel.signature() << ", of " << collection.images().size() << " images\n";

  std::vector<float> x(1024), y(1024, 1);
  std::iota(x.begin(), x.end(), 0.0f);
  offkit::buffer<float> x_buffer(context, x), y_buffer(context, y);
  kernel.launch(queue, x.size(), {2.5f, x_buffer, y_buffer}).wait();
  y = y_buffer.read(queue);
  std::cout << "2.5 * 1023 + 1 = " << y.back() << "\n";
} catch (const offkit::error &error) {
  std::cerr << "saxpy: " << error.what() << " (error " << error.code() << ")\n";
  return 1;
}
