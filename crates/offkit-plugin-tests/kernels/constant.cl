// A kernel that writes a specialization constant: number 7, which is 11 unless it is set.
int __spirv_SpecConstant(int, int);

kernel void number(global int *p) { *p = __spirv_SpecConstant(7, 11); }
