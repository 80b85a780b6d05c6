// Memory: the kinds of allocation, buffers and their accessors, local memory, and what waits for what.
#include "check.hpp"

#include <numeric>

using namespace offkit::parallel;

// All three kinds of allocations, copied from one to the other.
void allocations(queue &queue) {
  constexpr std::size_t count = 100;
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  int *device = malloc_device<int>(count, queue), *host = malloc_host<int>(count, queue),
      *shared = malloc_shared<int>(count, queue);
  queue.copy(numbers.data(), device, count);
  queue.parallel_for(count, [=](id<1> i) { host[i] = device[i] * 2; });
  queue.memcpy(shared, host, count * sizeof(int));
  queue.parallel_for(count, [=](id<1> i) { device[i] = shared[i] + host[i]; });
  queue.memcpy(numbers.data() + 1, device + 1, (count - 1) * sizeof(int));
  REQUIRE(numbers[0] == 1 && numbers[1] == 8 && numbers[count - 1] == 400);
  queue.memset(device, 0, count * sizeof(int));
  queue.fill(device + 1, 77, 2);
  queue.copy(device, numbers.data(), count);
  REQUIRE(numbers[0] == 0 && numbers[1] == 77 && numbers[2] == 77 && numbers[3] == 0 && numbers[count - 1] == 0);
  FAILS(OFFKIT_ERROR_INVALID, "beyond the end", queue.memcpy(device + 1, numbers.data(), count * sizeof(int)));
  FAILS(OFFKIT_ERROR_INVALID, "not the address", free(device + 1, queue));
  free(device, queue);
  free(host, queue);
  free(shared, queue);
  free(nullptr, queue);
}

// A list in memory: the kernel is given the first link's address only.
void addresses_in_memory(queue &queue) {
  struct link {
    link *next;
    int value;
  };
  link *links[3];
  for (link *&each : links)
    each = malloc_shared<link>(1, queue);
  for (int i = 0; i < 3; ++i)
    *links[i] = {i < 2 ? links[i + 1] : nullptr, 1 << i};
  int *sum = malloc_shared<int>(1, queue);
  link *first = links[0];
  queue.single_task([=] {
    *sum = 0;
    for (link *each = first; each; each = each->next)
      *sum += each->value;
  });
  queue.wait();
  REQUIRE(*sum == 7);
  for (link *each : links)
    free(each, queue);
  free(sum, queue);
}

// C = A * B by tiles in local memory, of buffers that are the host's again when they are gone.
void buffers(queue &queue) {
  constexpr std::size_t n = 16, tile = 4;
  std::vector<float> a(n * n), c(n * n, -1);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i % 7);
  {
    buffer<float, 2> first(static_cast<const float *>(a.data()), range(n, n)), second(range(n, n)),
        product(c.data(), range(n, n));
    queue.submit([&](handler &handler) {
      accessor x(first, handler, read_only);
      accessor y(second, handler, write_only);
      handler.parallel_for<class Transpose>(range(n, n), [=](id<2> at) { y[at] = x[at[1]][at[0]]; });
    });
    queue.submit([&](handler &handler) {
      accessor x(first, handler, read_only), y(second, handler, read_only);
      accessor z(product, handler, write_only);
      local_accessor<float, 2> left(range(tile, tile), handler), right(range(tile, tile), handler);
      handler.parallel_for<class Multiply>(nd_range(range(n, n), range(tile, tile)), [=](nd_item<2> item) {
        const auto here = item.get_local_id();
        const std::size_t row = item.get_global_id(0), column = item.get_global_id(1);
        float sum = 0;
        for (std::size_t step = 0; step < n; step += tile) {
          left[here] = x[row][step + here[1]];
          right[here] = y[step + here[0]][column];
          group_barrier(item.get_group());
          for (std::size_t k = 0; k < tile; ++k)
            sum += left[here[0]][k] * right[k][here[1]];
          group_barrier(item.get_group());
        }
        z[row][column] = sum;
      });
    });
    host_accessor transposed(second, read_only);
    REQUIRE(transposed[3][5] == a[5 * n + 3]);
  }
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::size_t k = 0; k < n; ++k)
        sum += a[row * n + k] * a[column * n + k];
      REQUIRE(c[row * n + column] == sum);
    }
}

// A buffer that the host and two queues use in turn, and local memory of two types.
void turns(queue &one) {
  queue two;
  std::vector<int> numbers(64, 1);
  {
    buffer shared(numbers);
    auto doubled = [&](handler &handler) {
      accessor all(shared, handler);
      handler.parallel_for<class Double>(all.get_range(), [=](id<1> i) { all[i] *= 2; });
    };
    for (int turn = 0; turn < 4; ++turn) {
      one.submit(doubled);
      two.submit(doubled);
    }
    host_accessor all(shared);
    for (int each : all)
      REQUIRE(each == 256);
    all[7] = 5;
    one.submit([&](handler &handler) {
      accessor reversed(shared, handler);
      local_accessor<char> small(range(3), handler);
      local_accessor<double> large(range(64), handler);
      handler.parallel_for<class Reverse>(nd_range(range(64), range(64)), [=](nd_item<1> item) {
        const std::size_t i = item.get_local_linear_id();
        if (i < small.size())
          small[i] = 1;
        large[i] = reversed[i];
        group_barrier(item.get_group());
        reversed[i] = static_cast<int>(large[63 - i]) + small[0] + small[1] + small[2];
      });
    });
  }
  REQUIRE(numbers[0] == 259 && numbers[63 - 7] == 8);
}

// Commands wait for others by their events, too.
void events(queue &queue) {
  int *number = malloc_shared<int>(1, queue);
  event first = queue.single_task([=] { *number = 20; });
  event second = queue.submit([&](handler &handler) {
    handler.depends_on(first);
    handler.single_task([=] { *number += 1; });
  });
  second.wait();
  REQUIRE(*number == 21 && first.is_complete() && second.is_complete());
  event().wait();
  FAILS(OFFKIT_ERROR_INVALID, "one command", queue.submit([&](handler &handler) {
    handler.single_task([=] { *number = 1; });
    handler.single_task([=] { *number = 2; });
  }));
  queue.wait();
  free(number, queue);
}

int main() {
  return run([] {
    queue queue;
    allocations(queue);
    addresses_in_memory(queue);
    buffers(queue);
    turns(queue);
    events(queue);
  });
}
