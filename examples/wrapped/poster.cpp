// Another one: four levels of brightness.
#include "tone.h"

OFFKIT_C const char *tone_name() { return "poster"; }
OFFKIT_C OFFKIT_EXTERNAL int tone(int brightness) { return brightness / 64 * 85; }
