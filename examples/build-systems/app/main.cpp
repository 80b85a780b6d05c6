// Host code: the input, and what is to come out, by the functions that the kernels call.
#include "array.h"
#include "blend.h"
#include "registration.h"
#include "vector.h"
#include <cstdio>

int main() {
  std::vector<float> x(1024), y(1024), expected(1024), scaled(1024);
  for (int i = 0; i < 1024; ++i) {
    x[i] = i;
    y[i] = 1024 - i;
    expected[i] = blend(multiply_add(2.5f, x[i], y[i]), x[i]);
    scaled[i] = multiply_add(3, x[i], 0);
  }
  if (!save("x.npy", x) || !save("y.npy", y) || !save("expected.npy", expected) || !save("scaled.npy", scaled)) {
    std::perror("cannot write the arrays");
    return 1;
  }
  std::printf("%d device images registered\n", registered_images());
}
