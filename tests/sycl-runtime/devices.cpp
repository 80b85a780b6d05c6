// Prints a line for each device of the SYCL runtime, of the facts that sycl-ls prints.
#include <sycl/sycl.hpp>

#include <cstdio>

int main() {
  for (auto &platform : sycl::platform::get_platforms())
    for (auto &device : platform.get_devices()) {
      auto line = platform.get_info<sycl::info::platform::name>() + ", " +
                  device.get_info<sycl::info::device::name>() + " " +
                  device.get_info<sycl::info::device::version>() + " [" +
                  device.get_info<sycl::info::device::driver_version>() + "]";
      std::printf("%s\n", line.c_str());
    }
}
