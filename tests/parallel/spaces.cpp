// Ranges of one to three dimensions, with and without work-groups: every work-item knows where it is.
#include "check.hpp"

using namespace offkit::parallel;

template <int D> class Ranges;
template <int D> class Groups;

// Numbers the work-items by three ways of asking, which must agree.
template <int D> void ranges(queue &queue, range<D> space) {
  auto *seen = malloc_shared<unsigned>(space.size(), queue);
  std::memset(seen, 0, space.size() * sizeof *seen);
  queue.parallel_for<Ranges<D>>(space, [=](item<D> item) {
    std::size_t number = 0;
    for (int dimension = 0; dimension < D; ++dimension)
      number = number * item.get_range(dimension) + item[dimension];
    seen[item.get_linear_id()] += number == item.get_linear_id() && item.get_range() == space ? 1 : 100;
  });
  queue.wait();
  for (std::size_t i = 0; i < space.size(); ++i)
    REQUIRE(seen[i] == 1);
  free(seen, queue);
}

struct Seen {
  std::size_t global, local, group, groups;
  bool leads;
};

template <int D> void groups(queue &queue, range<D> space, range<D> local) {
  auto *seen = malloc_shared<Seen>(space.size(), queue);
  queue.parallel_for<Groups<D>>(nd_range<D>(space, local), [=](nd_item<D> item) {
    auto global = item.get_group().get_group_id() * item.get_local_range() + item.get_local_id();
    std::size_t number = 0;
    for (int dimension = 0; dimension < D; ++dimension)
      number = number * space[dimension] + global[dimension];
    seen[number] = {item.get_global_linear_id(), item.get_local_linear_id(), item.get_group_linear_id(),
                    item.get_group_range().size(), item.get_group().leader()};
  });
  queue.wait();
  std::size_t leaders = 0, highest = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    REQUIRE(seen[i].global == i);
    REQUIRE(seen[i].local < local.size());
    REQUIRE(seen[i].groups == space.size() / local.size());
    leaders += seen[i].leads;
    highest = std::max(highest, seen[i].group);
  }
  REQUIRE(leaders == space.size() / local.size());
  REQUIRE(highest + 1 == leaders);
  free(seen, queue);
}

int main() {
  return run([] {
    queue queue;
    ranges<1>(queue, {37});
    ranges<2>(queue, {5, 7});
    ranges<3>(queue, {3, 4, 5});
    groups<1>(queue, {24}, {8});
    groups<2>(queue, {6, 8}, {3, 4});
    groups<3>(queue, {4, 2, 6}, {2, 1, 3});

    // What a lambda may take: an id, a number, an item; and kernels without a name.
    auto *numbers = malloc_shared<int>(12, queue);
    queue.parallel_for(range(12), [=](id<1> i) { numbers[i] = static_cast<int>(i); });
    queue.parallel_for(12, [=](int i) { numbers[i] += 100; });
    queue.parallel_for(range(3, 4), [=](id<2> at) { numbers[at[0] * 4 + at[1]] += 1000 * static_cast<int>(at[0]); });
    queue.parallel_for(range(3, 4), [=](auto item) { numbers[item.get_linear_id()] += 10000; });
    queue.single_task([=] { numbers[0] = -1; });
    queue.parallel_for(range(0), [=](id<1>) { numbers[1] = -1; });
    queue.wait();
    REQUIRE(numbers[0] == -1);
    REQUIRE(numbers[1] == 10101);
    REQUIRE(numbers[11] == 12111);
    free(numbers, queue);

    REQUIRE((id<2>(7, 9) / range<2>(2, 3) == id<2>(3, 3)));
    REQUIRE((range(2, 3) * 2 == range(4, 6)));
    FAILS(OFFKIT_ERROR_INVALID, "do not divide", queue.parallel_for(nd_range<1>(10, 4), [=](nd_item<1>) {}));
  });
}
