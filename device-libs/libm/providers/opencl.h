// SPIR-V's instruction set OpenCL.std, by the names that code generators know its instructions by.
#define PROVIDER __attribute__((overloadable))
#define PRIVATE __private
#define PROVIDED_DOUBLE(name) PASTE(name)
#define PROVIDED_FLOAT(name) PASTE(name)
#define PASTE(name) __spirv_ocl_##name
#define FAST_NAMES "providers/native_fast.h"
