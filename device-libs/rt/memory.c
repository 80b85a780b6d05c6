// What compilers and the standard headers call to copy and compare memory.

#ifndef __OPENCL_C_VERSION__
typedef __SIZE_TYPE__ size_t;
#endif

void *memcpy(void *to, const void *from, size_t size) {
  for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memmove(void *to, const void *from, size_t size) {
  // Backwards where what is still to be read would be overwritten.
  if ((char *)to <= (const char *)from) return memcpy(to, from, size);
  for (size_t i = size; i > 0; i--) ((char *)to)[i - 1] = ((const char *)from)[i - 1];
  return to;
}

void *memset(void *to, int value, size_t size) {
  for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)value;
  return to;
}

int memcmp(const void *first, const void *second, size_t size) {
  for (size_t i = 0; i < size; i++) {
    int difference = ((const unsigned char *)first)[i] - ((const unsigned char *)second)[i];
    if (difference) return difference;
  }
  return 0;
}

size_t strlen(const char *text) {
  size_t size = 0;
  while (text[size]) size++;
  return size;
}
