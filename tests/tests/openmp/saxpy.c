#include <omp.h>
#include <stdio.h>

enum { N = 1000 };

int main(void) {
  static float x[N], y[N];
  for (int i = 0; i < N; i++) x[i] = i, y[i] = 1;
  float a = 2;
  int host = 1;
#pragma omp target teams distribute parallel for map(to : x) map(tofrom : y)
  for (int i = 0; i < N; i++) y[i] += a * x[i];
  double dot = 0;
#pragma omp target teams distribute parallel for map(to : x, y) reduction(+ : dot)
  for (int i = 0; i < N; i++) dot += (double)x[i] * y[i];
#pragma omp target map(from : host)
  host = omp_is_initial_device();
  printf("%.0f %.0f on the %s\n", y[N - 1], dot, host ? "host" : "device");
}
