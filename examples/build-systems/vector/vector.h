// A library for both sides: functions that host code and kernels call.
#pragma once
#include <offkit/device.h>

OFFKIT_C OFFKIT_EXTERNAL float multiply_add(float a, float x, float y);
