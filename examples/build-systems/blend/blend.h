// What the shared library offers, on the host and to kernels.
#pragma once
#include <offkit/device.h>

OFFKIT_C OFFKIT_EXTERNAL float blend(float x, float y);
