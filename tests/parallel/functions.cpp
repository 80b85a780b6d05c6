// Atomic operations, and mathematics.
#include "check.hpp"

#include <cmath>

using namespace offkit::parallel;

template <class T> class Atomics;

// A thousand work-items at the same numbers.
template <class T> void atomics(queue &queue) {
  constexpr int count = 1000;
  enum { Sum, Down, Least, Most, Swapped, Taken, Steps, All };
  auto *numbers = malloc_shared<T>(All, queue);
  for (int each = 0; each < All; ++each)
    numbers[each] = each == Least ? T(5000) : T(0);
  auto *tickets = malloc_shared<int>(count, queue);
  std::memset(tickets, 0, count * sizeof *tickets);
  queue.parallel_for<Atomics<T>>(range(count), [=](id<1> i) {
    const T own = static_cast<T>(i + 1);
    atomic_ref<T>(numbers[Sum]) += own;
    atomic_ref<T, memory_order::acq_rel>(numbers[Down]).fetch_sub(2);
    atomic_ref<T, memory_order::relaxed, memory_scope::system>(numbers[Least]).fetch_min(own);
    atomic_ref<T>(numbers[Most]).fetch_max(own);
    // Everybody gets a number of its own.
    const T taken = atomic_ref<T, memory_order::seq_cst>(numbers[Taken])++;
    tickets[static_cast<int>(taken)] = 1;
    atomic_ref<T> swapped(numbers[Swapped]);
    const T before = swapped.exchange(own);
    if (before == own)
      swapped.store(-1);
    atomic_ref<T> steps(numbers[Steps]);
    T expected = steps;
    while (!steps.compare_exchange_weak(expected, expected + 3))
      ;
  });
  queue.wait();
  REQUIRE(numbers[Sum] == count * (count + 1) / 2);
  REQUIRE(numbers[Down] == static_cast<T>(-2 * count));
  REQUIRE(numbers[Least] == 1 && numbers[Most] == count);
  REQUIRE(numbers[Taken] == count && numbers[Steps] == 3 * count);
  REQUIRE(numbers[Swapped] >= 1 && numbers[Swapped] <= count);
  for (int i = 0; i < count; ++i)
    REQUIRE(tickets[i] == 1);
  free(numbers, queue);
  free(tickets, queue);
}

void bits(queue &queue) {
  auto *words = malloc_shared<unsigned>(3, queue);
  words[0] = 0, words[1] = ~0u, words[2] = 0x55;
  queue.parallel_for<class Bits>(range(16), [=](id<1> i) {
    const unsigned bit = 1u << i;
    atomic_ref<unsigned>(words[0]).fetch_or(bit);
    atomic_ref<unsigned>(words[1]).fetch_and(~bit);
    atomic_ref<unsigned>(words[2]).fetch_xor(bit);
  });
  queue.wait();
  REQUIRE(words[0] == 0xffff && words[1] == 0xffff0000 && words[2] == (0xffff ^ 0x55));
  free(words, queue);
}

// In local memory: a histogram of each work-group.
void local_atomics(queue &queue) {
  auto *counts = malloc_shared<int>(8, queue);
  queue.submit([&](handler &handler) {
    local_accessor<int> shared(range(4), handler);
    handler.parallel_for<class Histogram>(nd_range(range(64), range(32)), [=](nd_item<1> item) {
      const std::size_t i = item.get_local_id(0);
      if (i < 4)
        shared[i] = 0;
      group_barrier(item.get_group());
      atomic_ref<int, memory_order::relaxed, memory_scope::work_group>(shared[i * i % 4]).fetch_add(1);
      group_barrier(item.get_group());
      if (i < 4)
        counts[item.get_group(0) * 4 + i] = shared[i];
    });
  });
  queue.wait();
  for (int group = 0; group < 2; ++group)
    REQUIRE(counts[4 * group] == 16 && counts[4 * group + 1] == 16 && !counts[4 * group + 2]);
  free(counts, queue);
}

// <cmath>'s functions and offkit's own, by the device and by the host.
constexpr int results = 22;
template <class T> void compute(T x, T *out) {
  int at = 0;
  for (T each : {std::sin(x), std::cos(x), std::tan(x), std::exp(x), std::log(x), std::sqrt(x), std::pow(x, T(1.5)),
                 std::atan2(x, T(2)), std::fabs(-x), std::floor(x), std::fmod(x, T(0.7)), std::fma(x, x, x),
                 std::hypot(x, T(3)), std::tanh(x), std::erf(x), std::round(x), rsqrt(x), degrees(x), radians(x),
                 sign(-x), clamp(x, T(1), T(2)), mix(x, T(1), mad(x, T(0.25), T(1)))})
    out[at++] = each;
}

template <class T> class Mathematics;

template <class T> void mathematics(queue &queue, T close) {
  constexpr int count = 20;
  auto *out = malloc_shared<T>(count * results, queue);
  queue.parallel_for<Mathematics<T>>(range(count), [=](id<1> i) {
    compute(static_cast<T>(i + 1) / 8, out + i * static_cast<std::size_t>(results));
  });
  queue.wait();
  for (int i = 0; i < count; ++i) {
    T expected[results];
    compute(static_cast<T>(i + 1) / 8, expected);
    for (int each = 0; each < results; ++each)
      REQUIRE(std::fabs(out[i * results + each] - expected[each]) <= close * (1 + std::fabs(expected[each])));
  }
  free(out, queue);
}

void natives(queue &queue) {
  auto *out = malloc_shared<float>(4, queue);
  auto *counts = malloc_shared<int>(2, queue);
  queue.single_task<class Natives>([=] {
    float x = 0.5f;
    out[0] = native::sin(x);
    out[1] = native::sqrt(x);
    out[2] = native::recip(x);
    out[3] = native::exp2(x) * native::log(x);
    counts[0] = popcount(0xf0f);
    counts[1] = clz(1);
  });
  queue.wait();
  REQUIRE(std::fabs(out[0] - std::sin(0.5f)) < 1e-3f && std::fabs(out[1] - std::sqrt(0.5f)) < 1e-3f);
  REQUIRE(std::fabs(out[2] - 2) < 1e-3f && std::fabs(out[3] - std::exp2(0.5f) * std::log(0.5f)) < 1e-3f);
  REQUIRE(counts[0] == 8 && counts[1] == 31);
  free(out, queue);
  free(counts, queue);
}

int main() {
  return run([] {
    queue queue;
    atomics<int>(queue);
    atomics<long>(queue);
    atomics<float>(queue);
    atomics<double>(queue);
    bits(queue);
    local_atomics(queue);
    mathematics<float>(queue, 1e-5f);
    mathematics<double>(queue, 1e-13);
    natives(queue);
  });
}
