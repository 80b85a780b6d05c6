// The approximations that OpenCL calls native, for `float`.
#define cos native_cos
#define exp native_exp
#define exp2 native_exp2
#define log native_log
#define log10 native_log10
#define log2 native_log2
#define sin native_sin
#define sqrt native_sqrt
