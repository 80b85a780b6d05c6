// Data of regions: what is mapped, when it is copied, pointers, and the functions of <omp.h>.

#include <stdlib.h>

#include "check.h"

enum { N = 100 };

static double x[N];

static void counted(void) {
  int got = 0;
#pragma omp target enter data map(to : x)
#pragma omp target enter data map(to : x)
  x[0] = 77;
#pragma omp target update to(x[0 : 1])
#pragma omp target map(from : got) map(present, to : x)
  {
    got = x[0];
    x[1] = 55;
  }
  CHECK(got == 77);
#pragma omp target exit data map(from : x)
  CHECK(x[1] == 1);
#pragma omp target exit data map(from : x)
  CHECK(x[1] == 55);
  CHECK(!omp_target_is_present(x, omp_get_default_device()));
#pragma omp target enter data map(to : x)
#pragma omp target enter data map(to : x)
#pragma omp target exit data map(delete : x)
  CHECK(!omp_target_is_present(x, omp_get_default_device()));
}

static void nested(void) {
  int a[10], b[10];
  for (int i = 0; i < 10; i++) a[i] = i, b[i] = 0;
#pragma omp target data map(tofrom : a)
  {
#pragma omp target data map(from : b)
    {
#pragma omp target
      for (int i = 0; i < 10; i++) b[i] = a[i]++;
#pragma omp target update from(a[3 : 4])
      CHECK(a[3] == 4 && a[6] == 7 && a[2] == 2 && a[7] == 7);
      a[9] = 100;
#pragma omp target update to(a[9 : 1])
    }
    CHECK(b[9] == 9);
#pragma omp target
    a[9]++;
  }
  CHECK(a[0] == 1 && a[9] == 101);
}

struct Vector {
  int n;
  double *values;
  double factor;
};
#pragma omp declare mapper(deep : struct Vector v) map(v, v.values[0 : v.n])

static void pointers(void) {
  double *values = malloc(8 * sizeof *values);
  struct Vector v = {8, values, 2};
  for (int i = 0; i < 8; i++) values[i] = i;
#pragma omp target map(tofrom : v, v.values[0 : 8])
  {
    for (int i = 0; i < v.n; i++) v.values[i] *= v.factor;
    v.factor = 5;
  }
  CHECK(v.factor == 5 && v.values == values && values[7] == 14);

#pragma omp target data map(to : v) map(tofrom : v.values[0 : 8])
  {
    values[3] = 100;
#pragma omp target update to(v.values[2 : 3])
#pragma omp target
    v.values[3]++;
#pragma omp target update from(v.values[3 : 1])
    CHECK(values[3] == 101 && values[7] == 14);
  }

#pragma omp target map(mapper(deep), tofrom : v)
  for (int i = 0; i < v.n; i++) v.values[i] += 1;
  CHECK(values[7] == 15 && v.values == values);

  // Part of an array, by a pointer to its start.
  double *middle = values;
#pragma omp target map(tofrom : middle[2 : 3])
  middle[2] = -1;
  CHECK(values[2] == -1);
  free(values);
}

static void private(void) {
  int factor = 3, array[5] = {1, 2, 3, 4, 5}, out = 0;
#pragma omp target firstprivate(array, factor) map(from : out)
  {
    array[0] += factor;
    out = array[0] + array[4];
  }
  CHECK(out == 9 && array[0] == 1);

  int done = 0;
#pragma omp target nowait map(tofrom : done) depend(out : done)
  done++;
#pragma omp target nowait map(tofrom : done) depend(inout : done)
  done *= 5;
#pragma omp taskwait
  CHECK(done == 5);

  int host = 0;
#pragma omp target if (0) map(tofrom : host)
  host = omp_is_initial_device();
  CHECK(host);
#pragma omp target device(omp_get_initial_device()) map(tofrom : host)
  host += omp_is_initial_device();
  CHECK(host == 2);
  int device = omp_get_default_device();
  omp_set_default_device(omp_get_initial_device());
#pragma omp target map(tofrom : host)
  host += omp_is_initial_device();
  CHECK(host == 3);
  omp_set_default_device(device);
}

static void functions(void) {
  int device = omp_get_default_device(), initial = omp_get_initial_device();
  CHECK(omp_get_num_devices() >= 1 && initial == omp_get_num_devices());
  double from[N], back[N] = {0};
  for (int i = 0; i < N; i++) from[i] = i;
  double *memory = omp_target_alloc(sizeof from, device);
  CHECK(memory && omp_target_memcpy(memory, from, sizeof from, 0, 0, device, initial) == 0);
#pragma omp target is_device_ptr(memory)
  for (int i = 0; i < N; i++) memory[i] *= 2;
  CHECK(omp_target_memcpy(back, memory, 8, 16, 24, initial, device) == 0);
  CHECK(back[2] == 6);

  double host[4] = {0};
  CHECK(omp_target_associate_ptr(host, memory, sizeof host, 8, device) == 0);
  CHECK(omp_target_is_present(host, device));
#pragma omp target map(always, from : host)
  host[0] += 0.5;
  CHECK(host[0] == 2.5);
  CHECK(omp_get_mapped_ptr(host, device) == memory + 1);
  CHECK(omp_target_disassociate_ptr(host, device) == 0);
  CHECK(!omp_target_is_present(host, device));

  size_t volume[2] = {2, 3}, to[2] = {0, 0}, at[2] = {1, 1}, small[2] = {2, 3}, large[2] = {10, 10};
  double part[6];
  CHECK(omp_target_memcpy_rect(part, memory, 8, 2, volume, to, at, small, large, initial, device) == 0);
  CHECK(part[0] == 22 && part[5] == 46);
  omp_target_free(memory, device);

#pragma omp target data map(alloc : x) use_device_addr(x)
  {
    double *on_device = x;
#pragma omp target is_device_ptr(on_device)
    on_device[3] = 1;
  }
}

int main(void) {
  for (int i = 0; i < N; i++) x[i] = i;
  counted();
  nested();
  pointers();
  private();
  functions();
  printf("%d failures\n", failures);
  return failures;
}
