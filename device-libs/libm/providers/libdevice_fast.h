// The approximations of NVIDIA's libdevice, for `float`.
#define cos fast_cos
#define exp fast_exp
#define log fast_log
#define log10 fast_log10
#define log2 fast_log2
#define pow fast_pow
#define sin fast_sin
#define tan fast_tan
