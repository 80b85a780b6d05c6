// Reductions: of sums, products and others, of one and of several dimensions, one and several at a time.
#include "check.hpp"

#include <cmath>
#include <limits>

using namespace offkit::parallel;

struct Range {
  float lowest, highest;
};

// An operation of the program's own.
struct Widest {
  Range operator()(const Range &a, const Range &b) const {
    return {a.lowest < b.lowest ? a.lowest : b.lowest, a.highest < b.highest ? b.highest : a.highest};
  }
};

int main() {
  return run([] {
    queue queue;
    constexpr std::size_t count = 10000;
    auto *numbers = malloc_shared<int>(count, queue);
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = static_cast<int>(i * 7919 % count);
    auto *sum = malloc_shared<long>(1, queue);
    auto *least = malloc_shared<int>(1, queue), *most = malloc_shared<int>(1, queue), *bits = malloc_shared<int>(1, queue);

    // What is there already counts.
    *sum = 1000;
    queue.parallel_for<class Sum>(range(count), reduction(sum, plus<>()), [=](id<1> i, auto &sum) { sum += numbers[i]; });
    queue.wait();
    REQUIRE(*sum == 1000 + static_cast<long>(count) * (count - 1) / 2);

    // Several at a time.
    *sum = 0, *least = 3, *most = 3, *bits = 0;
    queue.parallel_for<class Several>(count, reduction(least, minimum<>()), reduction(most, maximum<int>()),
                                      reduction(bits, bit_or<>()), reduction(sum, plus<long>()),
                                      [=](id<1> i, auto &least, auto &most, auto &bits, auto &sum) {
                                        least.combine(numbers[i]);
                                        most.combine(numbers[i]);
                                        bits |= numbers[i];
                                        ++sum;
                                      });
    queue.wait();
    REQUIRE(*least == 0 && *most == count - 1 && *bits == 16383 && *sum == count);

    // Fewer work-items than a work-group has, and none.
    *sum = 1;
    queue.parallel_for(range(5), reduction(sum, multiplies<>()), [=](id<1> i, auto &product) { product *= i + 1; });
    queue.parallel_for(range(0), reduction(sum, multiplies<>()), [=](id<1>, auto &product) { product *= 0; });
    queue.wait();
    REQUIRE(*sum == 120);

    // In work-groups of a size that is no power of two, in two dimensions.
    *sum = 0;
    queue.parallel_for<class Groups>(nd_range(range(8, 12), range(4, 3)), reduction(sum, plus<>()),
                                     [=](nd_item<2> item, auto &sum) { sum += item.get_global_linear_id(); });
    queue.wait();
    REQUIRE(*sum == 96 * 95 / 2);

    // An operation and a type of the program's own, of an unnamed kernel.
    auto *seen = malloc_shared<Range>(1, queue);
    *seen = {0, 0};
    const float infinity = std::numeric_limits<float>::infinity();
    queue.parallel_for(range(30, 30), reduction(seen, Range{infinity, -infinity}, Widest()), [=](id<2> at, auto &seen) {
      const float value = static_cast<float>(at[0]) - 2 * static_cast<float>(at[1]);
      seen.combine({value, value});
    });
    queue.wait();
    REQUIRE(seen->lowest == -58 && seen->highest == 29);

    // Floating-point sums are the same every time.
    auto *total = malloc_shared<float>(2, queue);
    for (int turn = 0; turn < 2; ++turn) {
      total[turn] = 0;
      queue.parallel_for<class Total>(range(count), reduction(total + turn, plus<>()),
                                      [=](id<1> i, auto &total) { total += 1 / static_cast<float>(numbers[i] + 1); });
    }
    queue.wait();
    REQUIRE(total[0] == total[1] && std::fabs(total[0] - 9.7876f) < 1e-3f);

    for (void *each : {static_cast<void *>(numbers), static_cast<void *>(sum), static_cast<void *>(least),
                       static_cast<void *>(most), static_cast<void *>(bits), static_cast<void *>(seen),
                       static_cast<void *>(total)})
      free(each, queue);
  });
}
