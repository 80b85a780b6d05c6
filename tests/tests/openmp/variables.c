// Variables that are on the device as long as the program: `declare target`.

#include <stdlib.h>

#include "check.h"

#pragma omp declare target
int scale = 3;
int table[4] = {1, 2, 3, 4};
double *pointer;
int counter;
#pragma omp end declare target

int linked[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma omp declare target link(linked)

#pragma omp begin declare target
int scaled(int x) { return x * scale; }
#pragma omp end declare target

int main(void) {
  int got = 0;
#pragma omp target map(from : got)
  got = scaled(5) + table[2];
  CHECK(got == 18);

  // The host has its own until it says otherwise.
  scale = 10;
  table[2] = 100;
#pragma omp target map(from : got)
  got = scaled(5) + table[2];
  CHECK(got == 18);
#pragma omp target update to(scale, table[2 : 1])
#pragma omp target map(from : got)
  got = scaled(5) + table[2];
  CHECK(got == 150);

#pragma omp target
  {
    table[0] = 7;
    counter += 5;
  }
  CHECK(table[0] == 1);
#pragma omp target update from(table[0 : 2], counter)
  CHECK(table[0] == 7 && table[1] == 2 && counter == 5);
#pragma omp target map(always, tofrom : counter)
  counter++;
  CHECK(counter == 6);

  pointer = malloc(8 * sizeof *pointer);
  double *before = pointer;
  for (int i = 0; i < 8; i++) pointer[i] = i;
#pragma omp target enter data map(to : pointer[0 : 8])
#pragma omp target
  pointer[3] *= 2;
#pragma omp target exit data map(from : pointer[0 : 8])
  CHECK(pointer == before && pointer[3] == 6);

#pragma omp target map(tofrom : linked)
  linked[7] += linked[0];
  CHECK(linked[7] == 9);
  printf("%d failures\n", failures);
  return failures;
}
