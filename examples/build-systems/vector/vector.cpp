#include "vector.h"

// External only because another file of the library may use it: not for users, and not exported.
float product(float a, float x) { return a * x; }

OFFKIT_C OFFKIT_EXPORT float multiply_add(float a, float x, float y) { return product(a, x) + y; }
