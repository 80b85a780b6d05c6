// What the device library offers. The app is compiled against this header alone.
#pragma once

float axpy(float a, float x, float y);
float multiply_add(float a, float b, float sum);
float combine(float a, float b);
