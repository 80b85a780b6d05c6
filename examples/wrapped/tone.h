// What a tone library offers, to the host and to kernels. The app is compiled against this header alone.
#pragma once

#include <offkit/device.h>

// The library's name.
OFFKIT_C const char *tone_name();
// The brightness of a pixel that had this one, both from 0 to 255.
OFFKIT_C OFFKIT_EXTERNAL int tone(int brightness);
