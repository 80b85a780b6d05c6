
; What NVIDIA's libdevice writes in assembly, as functions of hardware.h.
declare float @device_nvvm_sub_f(float, float)
declare double @device_nvvm_sub_d(double, double)
declare float @device_nvvm_rcp_approx_ftz_f(float)
declare double @device_nvvm_rsqrt_approx_ftz_d(double)
declare { i64, i64 } @device_nvvm_add_128(i64, i64, i64, i64)
declare { i64, i64 } @device_nvvm_sub_128(i64, i64, i64, i64)
declare { i64, i64 } @device_nvvm_mul_128(i64, i64)
declare { i64, i64 } @device_nvvm_mad_128(i64, i64, i64)

define internal { i32, i32 } @device_nvvm_mad_64(i32 %a, i32 %b, i32 %c) {
  %wide_a = zext i32 %a to i64
  %wide_b = zext i32 %b to i64
  %wide_c = zext i32 %c to i64
  %product = mul i64 %wide_a, %wide_b
  %sum = add i64 %product, %wide_c
  %low = trunc i64 %sum to i32
  %shifted = lshr i64 %sum, 32
  %high = trunc i64 %shifted to i32
  %one = insertvalue { i32, i32 } poison, i32 %low, 0
  %both = insertvalue { i32, i32 } %one, i32 %high, 1
  ret { i32, i32 } %both
}

; NVIDIA's shifts by more bits than there are give zero.
define internal i64 @device_nvvm_shl_64(i64 %x, i64 %bits) {
  %fits = icmp ult i64 %bits, 64
  %masked = and i64 %bits, 63
  %shifted = shl i64 %x, %masked
  %result = select i1 %fits, i64 %shifted, i64 0
  ret i64 %result
}
define internal i32 @device_nvvm_shl_32(i32 %x, i32 %bits) {
  %fits = icmp ult i32 %bits, 32
  %masked = and i32 %bits, 31
  %shifted = shl i32 %x, %masked
  %result = select i1 %fits, i32 %shifted, i32 0
  ret i32 %result
}
define internal i64 @device_nvvm_lshr_64(i64 %x, i64 %bits) {
  %fits = icmp ult i64 %bits, 64
  %masked = and i64 %bits, 63
  %shifted = lshr i64 %x, %masked
  %result = select i1 %fits, i64 %shifted, i64 0
  ret i64 %result
}
define internal i32 @device_nvvm_lshr_32(i32 %x, i32 %bits) {
  %fits = icmp ult i32 %bits, 32
  %masked = and i32 %bits, 31
  %shifted = lshr i32 %x, %masked
  %result = select i1 %fits, i32 %shifted, i32 0
  ret i32 %result
}
