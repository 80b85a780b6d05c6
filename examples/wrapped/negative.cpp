// A tone library: what is bright becomes dark.
#include "tone.h"

OFFKIT_C const char *tone_name() { return "negative"; }
OFFKIT_C OFFKIT_EXTERNAL int tone(int brightness) { return 255 - brightness; }
