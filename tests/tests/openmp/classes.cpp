// Regions of C++: templates, members, lambdas, references.

#include "check.h"

template <class T> T sum(const T *values, int count) {
  T total{};
#pragma omp target teams distribute parallel for map(to : values[0 : count]) reduction(+ : total)
  for (int i = 0; i < count; i++) total += values[i];
  return total;
}

struct Grid {
  int width = 4;
  double cells[16] = {};

  void fill(double &at_last) {
#pragma omp target map(tofrom : cells, at_last)
    {
      for (int i = 0; i < width * width; i++) cells[i] = i * at_last;
      at_last = cells[15];
    }
  }
};

int main() {
  double values[100];
  long numbers[100];
  for (int i = 0; i < 100; i++) values[i] = 0.5, numbers[i] = i;
  CHECK(sum(values, 100) == 50);
  CHECK(sum(numbers, 100) == 4950);

  Grid grid;
  double factor = 2;
  grid.fill(factor);
  CHECK(factor == 30 && grid.cells[3] == 6);

  int base = 5, out = 0;
  auto add = [&](int x) { return base + x; };
#pragma omp target map(to : base) map(from : out)
  out = add(37);
  CHECK(out == 42);
  printf("%d failures\n", failures);
  return failures;
}
