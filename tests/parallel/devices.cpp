// Two devices of two drivers: a buffer moves between them, and commands wait for those of the other.
#include "check.hpp"

using namespace offkit::parallel;

int main() {
  return run([] {
    queue first("0"), second("1");
    REQUIRE(first.get_device().name() != second.get_device().name());
    std::vector<int> numbers(100, 1);
    {
      buffer<int> moved(numbers);
      for (queue *queue : {&first, &second, &first})
        queue->submit([&](handler &handler) {
          accessor all(moved, handler);
          handler.parallel_for<class Add>(all.get_range(), [=](id<1> i) { all[i] = all[i] * 2 + 1; });
        });
    }
    for (int each : numbers)
      REQUIRE(each == 15);

    int *one = malloc_shared<int>(1, first), *two = malloc_shared<int>(1, second);
    *two = 0;
    event earlier = first.single_task([=] { *one = 5; });
    second.submit([&](handler &handler) {
      handler.depends_on(earlier);
      handler.single_task([=] { *two = 7; });
    });
    second.wait();
    REQUIRE(*one == 5 && *two == 7);
    FAILS(OFFKIT_ERROR_INVALID, "not the address", free(one, second));
    free(one, first);
    free(two, second);
    FAILS(OFFKIT_ERROR_NO_DEVICE, "nonesuch", queue("nonesuch"));
  });
}
