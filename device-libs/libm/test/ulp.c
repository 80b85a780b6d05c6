// Makes operands for all functions of the libm, and says how far results are off.
//
//   ulp operands DIR   writes DIR/{double,float}-{x,y,z}.npy and prints how many results there are to be of each type
//   ulp compute DIR    writes DIR/{double,float}-out.npy with what a retargeted libm makes of them, and
//                      DIR/{double,float}-unmeasured with a byte for each row: 1 if it was not measured
//   ulp table DIR...   reads the results in each folder, those of test/kernels.cl or of `compute`, and prints for each
//                      function the largest error found, folder by folder, and that of this machine's own libm
//
// Errors are in units in the last place of what <math.h> says for `long double`, which must have more bits than
// `double`. A result that is not even of the right kind (a number instead of NaN, the other zero) counts as infinite.

#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 8192
#define MOST_DEVICES 4

// The rows of results: the functions, counted.
#define ONE(...) +1
#define TWO(...) +2
#define UNARY ONE
#define BINARY ONE
#define TERNARY ONE
#define TO_INT ONE
#define BY_INT ONE
#define ROUNDED ONE
#define INTEGER ONE
#define SCALED ONE
#define WITH_INT TWO
#define WITH_REAL TWO
#define QUOTIENT TWO
#define PAIR TWO
#define TOWARD ONE
enum {
  ROWS = 0
#include "../functions.inc"
};
#undef ONE
#undef TWO

static double operands[3][COUNT];

static uint64_t random_bits(void) {
  static uint64_t state = 0x9e3779b97f4a7c15u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static double uniform(double low, double high) { return low + (high - low) * (double)(random_bits() >> 11) * 0x1p-53; }

// All special values in all pairs, then numbers from intervals where functions differ, then of every magnitude.
static void make_operands(int smallest_exponent, int largest_exponent) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 2.5, 3.0, -3.0, 10.0, -10.0, 100.0,
                                   1e-3, -1e-3, 1e-30, 1e30, -1e30, 0x1p-149, 0x1.fffffep127, INFINITY, -INFINITY, NAN};
  static const double limits[] = {1, 4, 20, 90, 700, 1e6};
  enum { SPECIAL = sizeof special / sizeof *special, LIMITS = sizeof limits / sizeof *limits };
  int count = 0;
  for (int i = 0; i < SPECIAL; i++)
    for (int j = 0; j < SPECIAL; j++, count++) {
      operands[0][count] = special[i];
      operands[1][count] = special[j];
      operands[2][count] = special[(i * 7 + j * 3) % SPECIAL];
    }
  for (; count < COUNT; count++)
    for (int k = 0; k < 3; k++) {
      int kind = (count + k * (count / 8)) % 8;
      double value = kind < LIMITS ? uniform(-limits[kind], limits[kind])
                                   : ldexp(uniform(0.5, 1), (int)uniform(smallest_exponent, largest_exponent));
      operands[k][count] = kind == 7 ? -value : value;
    }
}

static FILE *open_array(const char *folder, const char *type, const char *name, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%s.npy", folder, type, name);
  FILE *file = fopen(path, mode);
  if (!file) {
    perror(path);
    exit(2);
  }
  return file;
}

static FILE *write_header(const char *folder, const char *type, const char *name, int count) {
  FILE *file = open_array(folder, type, name, "wb");
  char header[128];
  int size = !strcmp(type, "float") ? 4 : 8;
  int length = snprintf(header, sizeof header, "{'descr': '<f%d', 'fortran_order': False, 'shape': (%d,), }", size, count);
  memset(header + length, ' ', sizeof header - (size_t)length);
  fwrite("\x93NUMPY\1\0\x76", 1, 9, file);
  fputc(0, file);
  fwrite(header, 1, 117, file);
  fputc('\n', file);
  return file;
}

static void write_array(const char *folder, const char *type, const char *name, const double *values) {
  FILE *file = write_header(folder, type, name, COUNT);
  int size = !strcmp(type, "float") ? 4 : 8;
  for (int i = 0; i < COUNT; i++) {
    float single = (float)values[i];
    if (size == 4)
      fwrite(&single, 4, 1, file);
    else
      fwrite(&values[i], 8, 1, file);
  }
  fclose(file);
}

static void *read_array(const char *folder, const char *type, const char *name, size_t count) {
  FILE *file = open_array(folder, type, name, "rb");
  unsigned char header[10];
  size_t size = (!strcmp(type, "float") ? 4 : 8) * count;
  void *values = malloc(size);
  if (!values || fread(header, 1, 10, file) != 10 || fseek(file, header[8] + 256 * header[9], SEEK_CUR) ||
      fread(values, 1, size, file) != size) {
    fprintf(stderr, "%s/%s-%s.npy: not %zu results\n", folder, type, name, count);
    exit(2);
  }
  fclose(file);
  return values;
}

// What is known of a row.
struct row {
  const char *name;
  // The largest errors, for double and float.
  double device[MOST_DEVICES][2], host[2];
  double worst[MOST_DEVICES][2]; // where the device's is
  unsigned char unmeasured[MOST_DEVICES][2];
};
static struct row rows[ROWS];

static double error_of(const char *name, long double exact, double got, double rounded, int digits, int smallest, int largest) {
  if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
  if (isnan(got)) return INFINITY;
  // Which of two zeros is the larger one C leaves open.
  if (got == 0 && rounded == 0 && (!strcmp(name, "fmax") || !strcmp(name, "fmin"))) return 0;
  if (got == rounded && (got != 0 || signbit(got) == signbit(rounded))) {
    if (isinf(got)) return 0;
  } else if (isinf(got) || isinf(rounded) || (rounded == 0 && got == 0)) {
    // One step from infinity is one unit.
    double most = ldexp(1 - ldexp(1, -digits), largest);
    return fabs(got) == most || fabs(rounded) == most ? 1 : INFINITY;
  }
  int exponent;
  frexpl(exact, &exponent);
  if (exact == 0 || exponent < smallest) exponent = smallest;
  return (double)(fabsl((long double)got - exact) / ldexpl(1, exponent - digits));
}

static void count_error(double *most, double error) {
  if (!(error <= *most)) *most = error;
}

#define LONG_LONG long long

#define REAL double
#define NAME(name) name
#define TYPE 0
#define DIGITS DBL_MANT_DIG
#define SMALLEST DBL_MIN_EXP
#define LARGEST DBL_MAX_EXP
#define COMPARE compare_double
#include "compare.inc"
#undef REAL
#undef NAME
#undef TYPE
#undef DIGITS
#undef SMALLEST
#undef LARGEST
#undef COMPARE

#define REAL float
#define NAME(name) name##f
#define TYPE 1
#define DIGITS FLT_MANT_DIG
#define SMALLEST FLT_MIN_EXP
#define LARGEST FLT_MAX_EXP
#define COMPARE compare_float
#include "compare.inc"

static const char *shown(char *text, size_t size, double error) {
  // Rounded up: the table is a promise.
  snprintf(text, size, isinf(error) ? "wrong" : error == 0 ? "exact" : "%.2f", ceil(error * 100) / 100);
  return text;
}

#ifdef RETARGETED
#include "hardware.h"

extern size_t device_item;
extern unsigned char device_unmeasured[2][256];
void device_all_double(const double *, const double *, const double *, double *);
void device_all_float(const float *, const float *, const float *, float *);

static void compute(const char *folder, const char *type, int number, size_t size) {
  void *x = read_array(folder, type, "x", COUNT), *y = read_array(folder, type, "y", COUNT),
       *z = read_array(folder, type, "z", COUNT), *out = calloc(ROWS * COUNT, size);
  for (device_item = 0; device_item < COUNT; device_item++) {
    if (number == 0)
      device_all_double(x, y, z, out);
    else
      device_all_float(x, y, z, out);
  }
  FILE *file = write_header(folder, type, "out", ROWS * COUNT);
  fwrite(out, size, ROWS * COUNT, file);
  fclose(file);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-unmeasured", folder, type);
  file = fopen(path, "wb");
  if (!file || fwrite(device_unmeasured[number], 1, ROWS, file) != ROWS || fclose(file)) {
    perror(path);
    exit(2);
  }
}
#endif

// Which rows of a device were not measured; where nothing says so all were.
static void read_unmeasured(const char *folder, const char *type, int device, int number) {
  char path[4096];
  unsigned char marks[ROWS] = {0};
  snprintf(path, sizeof path, "%s/%s-unmeasured", folder, type);
  FILE *file = fopen(path, "rb");
  if (!file) return;
  if (fread(marks, 1, ROWS, file) != ROWS) exit(2);
  fclose(file);
  for (int row = 0; row < ROWS; row++) {
    rows[row].unmeasured[device][number] = marks[row];
    // The second result of a function is what the first is.
    const char *bracket = strchr(rows[row].name, '(');
    if (row > 0 && bracket && !strncmp(rows[row].name, rows[row - 1].name, (size_t)(bracket - rows[row].name) - 1))
      rows[row].unmeasured[device][number] |= rows[row - 1].unmeasured[device][number];
  }
}

int main(int count, char **words) {
  static const char *const types[2] = {"double", "float"}, *const names[3] = {"x", "y", "z"};
  if (count < 3 || count > 2 + MOST_DEVICES) return fprintf(stderr, "usage: ulp operands|compute|table DIR...\n"), 2;
  if (!strcmp(words[1], "operands")) {
    for (int type = 0; type < 2; type++) {
      if (type == 0)
        make_operands(-1073, 1023);
      else
        make_operands(-148, 127);
      for (int k = 0; k < 3; k++) write_array(words[2], types[type], names[k], operands[k]);
    }
    printf("%d\n", ROWS * COUNT);
    return 0;
  }
#ifdef RETARGETED
  if (!strcmp(words[1], "compute")) {
    compute(words[2], types[0], 0, sizeof(double));
    compute(words[2], types[1], 1, sizeof(float));
    return 0;
  }
#endif
  int devices = count - 2;
  for (int device = 0; device < devices; device++) {
    compare_double(words[2 + device], types[0], device);
    compare_float(words[2 + device], types[1], device);
    for (int type = 0; type < 2; type++) read_unmeasured(words[2 + device], types[type], device, type);
  }
  for (int row = 0; row < ROWS; row++) {
    char text[32];
    printf("| %s |", rows[row].name);
    for (int device = 0; device < devices; device++)
      for (int type = 0; type < 2; type++) {
        int unmeasured = rows[row].unmeasured[device][type];
        printf(" %s |", unmeasured ? "not measured" : shown(text, sizeof text, rows[row].device[device][type]));
      }
    for (int type = 0; type < 2; type++) printf(" %s |", shown(text, sizeof text, rows[row].host[type]));
    printf("\n");
    for (int device = 0; device < devices && getenv("ULP_WORST"); device++)
      fprintf(stderr, "%s, %s: double at %a, float at %a\n", rows[row].name, words[2 + device],
              rows[row].worst[device][0], rows[row].worst[device][1]);
  }
  return 0;
}
