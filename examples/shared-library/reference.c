// Makes the demo's input and, on the host and without offkit, the results to compare with.
//
//   reference FOLDER    writes x, y, a, b and the expected saxpy, matmul, reduce as .npy files
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 20, N = 128, GROUP = 256 };

// NumPy's format 1.0: magic, version, length of the header, header padded to 64 bytes, data.
static void save(const char *folder, const char *name, const float *data, size_t rows, size_t columns) {
  char path[4096], shape[64], header[118];
  snprintf(path, sizeof path, "%s/%s.npy", folder, name);
  if (columns)
    snprintf(shape, sizeof shape, "(%zu, %zu)", rows, columns);
  else
    snprintf(shape, sizeof shape, "(%zu,)", rows);
  int used = snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
  FILE *file = fopen(path, "wb");
  if (!file) {
    perror(path);
    exit(2);
  }
  size_t count = columns ? rows * columns : rows;
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
  fprintf(file, "%s%*s\n", header, 117 - used, "");
  if (fwrite(data, sizeof *data, count, file) != count || fclose(file)) {
    perror(path);
    exit(2);
  }
}

// Small whole numbers and halves, so that sums are exact in whatever order they are made.
static float number(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)((int)(*state >> 24) - 128) / 2;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const char *folder = argv[1];
  static float x[COUNT], y[COUNT], a[N * N], b[N * N], c[N * N], partial[COUNT / GROUP];
  unsigned state = 1;
  for (int i = 0; i < COUNT; ++i) x[i] = number(&state), y[i] = number(&state);
  for (int i = 0; i < N * N; ++i) a[i] = number(&state), b[i] = number(&state);
  save(folder, "x", x, COUNT, 0);
  save(folder, "y", y, COUNT, 0);
  save(folder, "a", a, N, N);
  save(folder, "b", b, N, N);

  for (int i = 0; i < COUNT; ++i) y[i] = fmaf(2.5f, x[i], y[i]);
  save(folder, "expected-saxpy", y, COUNT, 0);
  for (int row = 0; row < N; ++row)
    for (int column = 0; column < N; ++column)
      for (int i = 0; i < N; ++i)
        c[row * N + column] = fmaf(a[row * N + i], b[i * N + column], c[row * N + column]);
  save(folder, "expected-matmul", c, N, N);
  for (int i = 0; i < COUNT; ++i) partial[i / GROUP] += x[i];
  save(folder, "expected-reduce", partial, COUNT / GROUP, 0);
  return 0;
}
