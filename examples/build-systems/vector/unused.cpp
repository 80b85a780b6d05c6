// A member of the library that nobody needs: neither its host code nor its device code is linked.
#include <offkit/device.h>

OFFKIT_C OFFKIT_EXPORT float nobody_calls_this(float x) { return x; }
