// What work-items of a group tell each other: reductions, scans, votes, shuffles; and barriers of sub-groups.
#include "check.hpp"

using namespace offkit::parallel;

constexpr std::size_t size = 32, count = 2 * size;

template <class T> class Combine;

// Each group's operations against the same by hand, for a type of numbers.
template <class T> void combine(queue &queue) {
  struct Results {
    T sum, least, most, before, upto;
    T sub_sum, sub_least, sub_most, sub_before, sub_upto;
    unsigned sub_group, place, members;
  };
  auto *results = malloc_shared<Results>(count, queue);
  auto value = [](std::size_t i) { return static_cast<T>(static_cast<T>((i * 37 + 11) % 64) - static_cast<T>(5)); };
  queue.parallel_for<Combine<T>>(nd_range<1>(count, size), [=](nd_item<1> item) {
    const auto group = item.get_group();
    const auto sub = item.get_sub_group();
    const T x = value(item.get_global_id(0));
    results[item.get_global_id(0)] = {reduce_over_group(group, x, plus<>()),
                                      reduce_over_group(group, x, minimum<>()),
                                      reduce_over_group(group, x, maximum<T>()),
                                      exclusive_scan_over_group(group, x, plus<T>()),
                                      inclusive_scan_over_group(group, x, plus<>()),
                                      reduce_over_group(sub, x, plus<>()),
                                      reduce_over_group(sub, x, minimum<>()),
                                      reduce_over_group(sub, x, maximum<>()),
                                      exclusive_scan_over_group(sub, x, plus<>()),
                                      inclusive_scan_over_group(sub, x, plus<>()),
                                      sub.get_group_linear_id(),
                                      sub.get_local_linear_id(),
                                      sub.get_local_linear_range()};
  });
  queue.wait();
  for (std::size_t i = 0; i < count; ++i) {
    const Results &seen = results[i];
    REQUIRE(seen.place < seen.members);
    T sum = 0, upto = 0, least = value(i), most = value(i);
    T sub_sum = 0, sub_upto = 0, sub_least = value(i), sub_most = value(i);
    for (std::size_t j = i / size * size; j < i / size * size + size; ++j) {
      const T other = value(j);
      sum = static_cast<T>(sum + other);
      if (j <= i)
        upto = static_cast<T>(upto + other);
      least = std::min(least, other);
      most = std::max(most, other);
      if (results[j].sub_group != seen.sub_group)
        continue;
      sub_sum = static_cast<T>(sub_sum + other);
      if (results[j].place <= seen.place)
        sub_upto = static_cast<T>(sub_upto + other);
      sub_least = std::min(sub_least, other);
      sub_most = std::max(sub_most, other);
    }
    REQUIRE(seen.sum == sum && seen.least == least && seen.most == most);
    REQUIRE(seen.upto == upto && static_cast<T>(seen.before + value(i)) == upto);
    REQUIRE(seen.sub_sum == sub_sum && seen.sub_least == sub_least && seen.sub_most == sub_most);
    REQUIRE(seen.sub_upto == sub_upto && static_cast<T>(seen.sub_before + value(i)) == sub_upto);
  }
  free(results, queue);
}

void votes(queue &queue) {
  auto *seen = malloc_shared<int>(count, queue);
  queue.parallel_for<class Votes>(nd_range<1>(count, size), [=](nd_item<1> item) {
    const auto group = item.get_group();
    const auto sub = item.get_sub_group();
    const bool is_first = item.get_global_id(0) == 0, leads = sub.leader();
    seen[item.get_global_id(0)] = any_of_group(group, is_first) | none_of_group(group, is_first) << 1 |
                                  all_of_group(group, item.get_global_id(0) < size) << 2 | any_of_group(sub, leads) << 3 |
                                  all_of_group(sub, !leads) << 4 |
                                  (group_broadcast(group, item.get_global_id(0), 3) % size == 3) << 5;
  });
  queue.wait();
  for (std::size_t i = 0; i < count; ++i)
    REQUIRE(seen[i] == (i < size ? 1 | 4 | 8 | 32 : 2 | 8 | 32));
  free(seen, queue);
}

void shuffles(queue &queue) {
  struct Results {
    int behind, before, others, first, last;
    short small;
    double large;
    unsigned members, place;
  };
  auto *results = malloc_shared<Results>(count, queue);
  queue.parallel_for<class Shuffles>(nd_range<1>(count, size), [=](nd_item<1> item) {
    const auto sub = item.get_sub_group();
    const int x = static_cast<int>(item.get_global_id(0));
    const auto members = sub.get_local_linear_range();
    results[x] = {shift_group_left(sub, x), shift_group_right(sub, x, 2), permute_group_by_xor(sub, x, 1),
                  group_broadcast(sub, x),  select_from_group(sub, x, members - 1),
                  permute_group_by_xor(sub, static_cast<short>(-x), 1), shift_group_left(sub, x + 0.5), members,
                  sub.get_local_linear_id()};
  });
  queue.wait();
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const Results &seen = results[i];
    const int place = static_cast<int>(seen.place), members = static_cast<int>(seen.members);
    if (place + 1 < members)
      REQUIRE(seen.behind == i + 1 && seen.large == i + 1.5);
    if (place >= 2)
      REQUIRE(seen.before == i - 2);
    REQUIRE(seen.others == (i ^ 1) && seen.small == -(i ^ 1));
    REQUIRE(seen.first == i - place && seen.last == i - place + members - 1);
  }
  free(results, queue);
}

// A sub-group's work-items read from local memory what the others of theirs wrote.
void sub_group_barriers(queue &queue) {
  auto *seen = malloc_shared<unsigned>(size, queue);
  queue.submit([&](handler &handler) {
    local_accessor<unsigned> shared(range(size), handler);
    handler.parallel_for<class Barriers>(nd_range<1>(size, size), [=](nd_item<1> item) {
      const auto sub = item.get_sub_group();
      const std::size_t first = item.get_local_id(0) - sub.get_local_linear_id();
      shared[item.get_local_id(0)] = sub.get_local_linear_id();
      group_barrier(sub);
      unsigned sum = 0;
      for (unsigned each = 0; each < sub.get_local_linear_range(); ++each)
        sum += shared[first + each];
      seen[item.get_local_id(0)] = sum - sub.get_local_linear_range() * (sub.get_local_linear_range() - 1) / 2;
    });
  });
  queue.wait();
  for (std::size_t i = 0; i < size; ++i)
    REQUIRE(seen[i] == 0);
  free(seen, queue);
}

int main() {
  return run([] {
    queue queue;
    combine<int>(queue);
    combine<unsigned>(queue);
    combine<short>(queue);
    combine<long long>(queue);
    combine<std::size_t>(queue);
    combine<float>(queue);
    combine<double>(queue);
    votes(queue);
    shuffles(queue);
    sub_group_barriers(queue);
  });
}
