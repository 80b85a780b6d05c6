// A kernel that fails: the queue says so, and goes on.
#include "check.hpp"

using namespace offkit::parallel;

int main() {
  return run([] {
    queue queue;
    int *numbers = malloc_shared<int>(8, queue);
    event failed = queue.parallel_for<class PastTheEnd>(range(9), [=](id<1> i) { numbers[i] = 1; });
    FAILS(OFFKIT_ERROR_DEVICE, "out of bounds", failed.wait());
    FAILS(OFFKIT_ERROR_DEVICE, "fault.cpp:10", queue.wait());
    queue.parallel_for(8, [=](id<1> i) { numbers[i] = 2; });
    queue.wait();
    REQUIRE(numbers[7] == 2);
    free(numbers, queue);
  });
}
