#include "blend.h"

OFFKIT_C OFFKIT_EXPORT float blend(float x, float y) { return (x + y) / 2; }
