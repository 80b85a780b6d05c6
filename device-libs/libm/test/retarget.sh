#!/bin/sh
# Makes a device's libm one for this machine: `retarget.sh LIBRARY.bc DIR` writes the program DIR/ulp, whose `compute`
# runs the library's functions here. What processors have as instructions of their own is in hardware.h.
set -eu
[ $# = 2 ] || { echo "usage: retarget.sh LIBRARY.bc DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
# Without the device's address spaces, processors and data layout; its functions have names of their own beside this
# machine's, and calls of its instructions become calls of functions.
assembly() {
  printf '%s' "s/asm \"[^\"]*$1[^\"]*\", \"[^\"]*\"/@device_nvvm_$2/"
}
host() {
  # GPUs multiply and add in one step.
  sed -e '/^target /d' -e '/^declare .*fmuladd/d' -e 's/@llvm\.fmuladd\./@llvm.fma./g' -e 's/ addrspace([0-9]*)//g' -e 's/addrspacecast ptr \([^ ]*\) to ptr/bitcast ptr \1 to ptr/g' \
    -e 's/"\(target-cpu\|target-features\|tune-cpu\)"="[^"]*"//g' -e 's/\.p[0-9]\>/.p0/g' \
    -e 's/@llvm\.\(exp2\|log2\)\.f32/@llvm.amdgcn.\1.f32/g' \
    -e ':a' -e 's/@llvm\.\(nvvm\|amdgcn\)\.\([A-Za-z0-9_]*\)\./@llvm.\1.\2_/' -e 'ta' \
    -e 's/@llvm\.\(nvvm\|amdgcn\)\./@\1_/g' -e 's/@\([A-Za-z_]\)/@device_\1/g' -e 's/@device_llvm\./@llvm./g' \
    -e '/^\$/d' -e 's/, comdat//' \
    -e "$(assembly 'sub\.rn\.f32' sub_f)" -e "$(assembly 'sub\.rn\.f64' sub_d)" \
    -e "$(assembly 'rcp\.approx\.ftz\.f32' rcp_approx_ftz_f)" -e "$(assembly 'rsqrt\.approx\.ftz\.f64' rsqrt_approx_ftz_d)" \
    -e "$(assembly 'add\.cc\.u32 *r0, a0' add_128)" -e "$(assembly 'sub\.cc\.u32 *r0, a0' sub_128)" \
    -e "$(assembly 'mad\.lo\.cc\.u32 *r0' mad_128)" -e "$(assembly 'mul\.lo\.u32 *r0' mul_128)" \
    -e "$(assembly 'mad\.lo\.cc\.u32 *\$0' mad_64)" "$1"
}
clang-22 -march=native -O1 -fno-builtin -ffp-contract=off -S -emit-llvm "$here/native.c" -o "$2/native.ll"
"$(dirname "$(readlink -f "$(command -v clang-22)")")/llvm-dis" "$1" -o "$2/device.ll"
host "$2/native.ll" >"$2/host-native.ll"
shifts=
if grep -q '^target triple = "nvptx' "$2/device.ll"; then
  shifts='s/= \(shl\|lshr\)\( nuw\| nsw\)* i\(32\|64\) \([^ ]*\), \(%[^ ]*\)$/= call i\3 @device_nvvm_\1_\3(i\3 \4, i\3 \5)/'
fi
host "$2/device.ll" | sed -e "$shifts" | cat - "$here/assembly.ll" >"$2/host-device.ll"
# The code is the device's as it is: nothing is to be done at compile time that this machine would do otherwise.
clang-22 -march=native -O1 -fno-builtin -ffp-contract=off -frounding-math -Xclang -disable-llvm-passes -Wno-override-module \
  -DRETARGETED -x ir "$2/host-native.ll" "$2/host-device.ll" -x c "$here/ulp.c" -o "$2/ulp" -lm
