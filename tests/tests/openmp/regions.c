// What runs in regions: loops, teams, reductions, synchronisation; and sections of arrays.

#include <math.h>

#include "check.h"

enum { N = 1000 };

static double x[N], y[N];

static void reductions(void) {
  double dot = 0, most = -1;
  float least = 1e9;
  long count = 0;
  int bits = 0;
  _Bool any = 0;
  char few = 0;
#pragma omp target teams distribute parallel for map(to : x, y) reduction(+ : dot, count, few) reduction(max : most) \
    reduction(min : least) reduction(| : bits) reduction(|| : any)
  for (int i = 0; i < N; i++) {
    dot += x[i] * y[i];
    most = fmax(most, sin(x[i]));
    least = fminf(least, (float)x[i] - 3);
    bits |= i;
    count++;
    any = any || i == 500;
    if (i < 7) few++;
  }
  double expected = 0, sine = -1;
  for (int i = 0; i < N; i++) expected += x[i] * y[i], sine = fmax(sine, sin(x[i]));
  CHECK(dot == expected);
  CHECK(fabs(most - sine) < 1e-12);
  CHECK(least == -3);
  CHECK(bits == 1023);
  CHECK(count == N);
  CHECK(any);
  CHECK(few == 7);

  int histogram[16] = {0};
#pragma omp target teams distribute parallel for reduction(+ : histogram)
  for (int i = 0; i < N; i++) histogram[i % 16]++;
  CHECK(histogram[0] == 63 && histogram[7] == 63 && histogram[8] == 62 && histogram[15] == 62);
}

#pragma omp declare reduction(product : int : omp_out *= omp_in) initializer(omp_priv = 1)

static void own_reduction(void) {
  int product = 1;
#pragma omp target teams distribute parallel for reduction(product : product) map(tofrom : product)
  for (int i = 1; i < 11; i++) product *= i;
  CHECK(product == 3628800);
}

static void loops(void) {
  static int table[20][30], values[N];
#pragma omp target teams distribute parallel for collapse(2) map(from : table)
  for (int i = 0; i < 20; i++)
    for (int j = 0; j < 30; j++) table[i][j] = i * 100 + j;
  CHECK(table[19][29] == 1929 && table[3][4] == 304);

#pragma omp target parallel for schedule(dynamic, 7) map(from : values)
  for (int i = 0; i < N; i++) values[i] = i;
  int wrong = 0;
  for (int i = 0; i < N; i++) wrong += values[i] != i;
  CHECK(wrong == 0);

#pragma omp target teams distribute parallel for schedule(static, 3) dist_schedule(static, 50) map(from : values)
  for (int i = N - 1; i >= 0; i--) values[i] = 2 * i;
  for (int i = 0; i < N; i++) wrong += values[i] != 2 * i;
  CHECK(wrong == 0);

  int in_order = 0;
#pragma omp target parallel for ordered map(tofrom : in_order)
  for (int i = 0; i < 10; i++) {
#pragma omp ordered
    in_order = in_order * 2 + i;
  }
  CHECK(in_order == 1013);

  long last = 0;
#pragma omp target teams distribute parallel for lastprivate(last) map(tofrom : values, last)
  for (long i = 5; i < 900; i += 7) {
    values[i] = 1;
    last = i;
  }
  CHECK(last == 894);
  CHECK(values[12] == 1 && values[13] == 26 && values[894] == 1);
}

// A region whose sequential part and parallel regions take turns.
static void turns(void) {
  int a[64], sum = 0, threads = -1;
#pragma omp target map(from : a) map(tofrom : sum, threads)
  {
    int local = 5;
    for (int k = 0; k < 3; k++) {
#pragma omp parallel for
      for (int i = 0; i < 64; i++) a[i] = i + local + k;
      local++;
    }
#pragma omp parallel
    {
#pragma omp single
      threads = omp_get_num_threads();
#pragma omp for reduction(+ : sum)
      for (int i = 0; i < 64; i++) sum += a[i];
    }
  }
  CHECK(a[63] == 63 + 7 + 2);
  CHECK(sum == 64 * 63 / 2 + 64 * 9);
  CHECK(threads >= 1);
}

static void teams_and_threads(void) {
  int teams = 0, total = 0;
#pragma omp target teams num_teams(2) thread_limit(8) map(tofrom : teams, total) reduction(+ : total)
  {
    if (omp_get_team_num() == 0) teams = omp_get_num_teams();
    total += 1;
  }
  CHECK(teams == 2 && total == 2);

  int threads = 0, met = 0, numbers[32];
  for (int i = 0; i < 32; i++) numbers[i] = -1;
#pragma omp target parallel num_threads(32) map(tofrom : numbers, threads, met)
  {
    int own = omp_get_thread_num();
    numbers[own] = own;
#pragma omp barrier
    if (own == 0) {
      threads = omp_get_num_threads();
      for (int i = 0; i < threads; i++) met += numbers[i] == i;
    }
  }
  CHECK(threads >= 1 && met == threads);

  int count = 0, critical = 0;
#pragma omp target teams distribute parallel for map(tofrom : count, critical) num_teams(3) thread_limit(16)
  for (int i = 0; i < 300; i++) {
#pragma omp atomic
    count++;
#pragma omp critical
    critical += 2;
  }
  CHECK(count == 300 && critical == 600);
}

// LLVM 22's own runtime copies other elements.
static void sections(void) {  int table[4][6] = {0};
#pragma omp target data map(to : table)
  {
#pragma omp target
    for (int i = 0; i < 24; i++) table[i / 6][i % 6] = i;
#pragma omp target update from(table[1 : 2][2 : 3])
  }
  CHECK(table[1][2] == 8 && table[2][4] == 16 && table[1][5] == 0 && table[3][2] == 0 && table[0][2] == 0);
}

int main(void) {
  for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i;
  reductions();
  own_reduction();
  loops();
  turns();
  teams_and_threads();
  sections();
  printf("%d failures\n", failures);
  return failures;
}
