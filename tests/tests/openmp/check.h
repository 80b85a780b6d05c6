#include <omp.h>
#include <stdio.h>


static int failures;

// Says what is wrong, and goes on.
#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) {                                        \
      printf("line %d: not %s\n", __LINE__, #condition);       \
      failures++;                                              \
    }                                                          \
  } while (0)
