// SYCL's conversions between `float` and `bfloat16`, a `float` without its lower half.

union number {
  float value;
  unsigned bits;
};

// To the nearest, and of two to the even one.
static unsigned short narrowed(float value) {
  union number number;
  number.value = value;
  if (value != value) return 0xffc1;
  return (unsigned short)((number.bits + 0x7fff + (number.bits >> 16 & 1)) >> 16);
}

static float widened(unsigned short bits) {
  union number number;
  number.bits = (unsigned)bits << 16;
  return number.value;
}

unsigned short __devicelib_ConvertFToBF16INTEL(const float *value) { return narrowed(*value); }
float __devicelib_ConvertBF16ToFINTEL(const unsigned short *bits) { return widened(*bits); }

#define OF_VECTORS(size)                                                                                               \
  void __devicelib_ConvertFToBF16INTELVec##size(const float *values, unsigned short *results) {                        \
    for (int i = 0; i < size; i++) results[i] = narrowed(values[i]);                                                   \
  }                                                                                                                    \
  void __devicelib_ConvertBF16ToFINTELVec##size(const unsigned short *values, float *results) {                        \
    for (int i = 0; i < size; i++) results[i] = widened(values[i]);                                                    \
  }

OF_VECTORS(1)
OF_VECTORS(2)
OF_VECTORS(3)
OF_VECTORS(4)
OF_VECTORS(8)
OF_VECTORS(16)
