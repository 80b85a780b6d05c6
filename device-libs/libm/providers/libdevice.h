// NVIDIA's libdevice.10.bc: `__nv_sin`, `__nv_sinf`.
#define PROVIDER extern
#define PRIVATE
#define PROVIDED_DOUBLE(name) PASTE_DOUBLE(name)
#define PROVIDED_FLOAT(name) PASTE_FLOAT(name)
#define PASTE_DOUBLE(name) __nv_##name
#define PASTE_FLOAT(name) __nv_##name##f
#define FAST_NAMES "providers/libdevice_fast.h"
