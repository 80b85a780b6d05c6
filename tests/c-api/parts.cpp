// Divides a device of the mock plugin, which can be divided by counts alone, and the CPU device, which has four units.
#include <offkit.hpp>

#include <iostream>
#include <optional>

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::cerr << "line " << __LINE__ << ": " << #condition << "\n";                                                  \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (false)

// The kind of error that dividing the device ends with.
static std::optional<offkit_code> refused(const offkit::device &device, offkit_partition how,
                                          std::initializer_list<size_t> numbers) {
  try {
    device.partition(how, numbers);
    return std::nullopt;
  } catch (const offkit::error &error) {
    return error.code();
  }
}

int main() try {
  std::vector<offkit::device> parts;
  {
    offkit::runtime runtime;
    const auto device = runtime.select("Mock GPU");
    parts = device.partition(OFFKIT_PARTITION_BY_COUNTS, {1, 1, 2});
    REQUIRE(parts.size() == 3 && !parts[0].is_same(device) && !parts[0].is_same(parts[1]));
    REQUIRE(refused(device, OFFKIT_PARTITION_EQUALLY, {1}) == OFFKIT_ERROR_UNSUPPORTED);
    REQUIRE(refused(device, OFFKIT_PARTITION_EQUALLY, {1, 2}) == OFFKIT_ERROR_INVALID);
    REQUIRE(refused(device, OFFKIT_PARTITION_BY_COUNTS, {}) == OFFKIT_ERROR_INVALID);
    REQUIRE(refused(device, static_cast<offkit_partition>(4), {1}) == OFFKIT_ERROR_INVALID);
    const auto cpu = runtime.select("cpu");
    REQUIRE(cpu.partition(OFFKIT_PARTITION_EQUALLY, {2}).size() == 2);
    const auto halves = cpu.partition(OFFKIT_PARTITION_BY_COUNTS, {1, 3});
    REQUIRE(halves.size() == 2 && halves[1].partition(OFFKIT_PARTITION_EQUALLY, {1}).size() == 3);
    REQUIRE(refused(halves[0], OFFKIT_PARTITION_EQUALLY, {1}) == OFFKIT_ERROR_UNSUPPORTED);
    REQUIRE(refused(cpu, OFFKIT_PARTITION_EQUALLY, {4}) == OFFKIT_ERROR_UNSUPPORTED);
    REQUIRE(refused(cpu, OFFKIT_PARTITION_EQUALLY, {5}) == OFFKIT_ERROR_INVALID);
    REQUIRE(refused(cpu, OFFKIT_PARTITION_BY_COUNTS, {3, 2}) == OFFKIT_ERROR_INVALID);
    REQUIRE(refused(cpu, OFFKIT_PARTITION_BY_AFFINITY, {1}) == OFFKIT_ERROR_UNSUPPORTED);
  }
  // A part needs neither the list it came in nor the runtime.
  for (const auto &part : parts)
    std::cout << part.name() << "\n";
  return 0;
} catch (const offkit::error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
