// LLVM's libclc: OpenCL's functions, overloaded.
#define PROVIDER __attribute__((overloadable))
#ifdef __AMDGCN__
#define PRIVATE __attribute__((address_space(5)))
#else
#define PRIVATE
#endif
#define PROVIDED_DOUBLE(name) name
#define PROVIDED_FLOAT(name) name
#define FAST_NAMES "providers/native_fast.h"
