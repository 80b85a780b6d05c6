#include "array.h"
#include <cstdio>

bool save(const char *name, const std::vector<float> &numbers) {
  // NumPy's format 1.0: magic, version, length of the header, header padded to 64 bytes, data.
  char header[119];
  int used = std::snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }",
                           numbers.size());
  std::FILE *file = std::fopen(name, "wb");
  if (!file)
    return false;
  std::fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
  std::fprintf(file, "%s%*s\n", header, 117 - used, "");
  bool written = std::fwrite(numbers.data(), sizeof(float), numbers.size(), file) == numbers.size();
  return std::fclose(file) == 0 && written;
}
