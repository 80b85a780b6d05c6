#!/bin/sh
# Prints how far the results of the libm for spirv64 are off on the CPU device, function by function, beside those of
# this machine's libm. `offkit` and `clang-22` are on PATH; what is built goes into the folder DIR.
set -eu
[ $# = 1 ] || { echo "usage: ulp.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
offkit devlib build -q "$here/../libdevice.toml" -o "$1" --target spirv64 --variant default
clang-22 --target=spirv64 -cl-std=CL3.0 -O1 -emit-llvm -c "$here/kernels.cl" -o "$1/kernels.bc"
offkit link -q "$1/kernels.bc" -L "$1" -l m --state executable -o "$1/kernels.syclbin"
${CC:-cc} -O1 -fno-builtin "$here/ulp.c" -o "$1/ulp" -lm
results=$("$1/ulp" operands "$1")
for type in double float; do
  bits=64
  [ $type = double ] || bits=32
  offkit run -q "$1/kernels.syclbin" all_$type --global 8192 --arg "$1/$type-x.npy" --arg "$1/$type-y.npy" \
    --arg "$1/$type-z.npy" --arg "f$bits[$results]" --out "3=$1/$type-out.npy"
done
"$1/ulp" table "$1"
