#!/bin/sh
# Prints how far the results of the libm are off, function by function, for each kind of device: for spirv64 on the CPU
# device, for NVIDIA's and AMD's processors with their code retargeted to this machine, and those of this machine's libm.
# `offkit` and `clang-22` are on PATH; what is built goes into the folder DIR. LIBDEVICE is the folder of
# `libdevice.10.bc`.
set -eu
[ $# = 2 ] || { echo "usage: ulp.sh DIR LIBDEVICE" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/cpu" "$1/nvidia" "$1/amd"
offkit devlib build -q "$here/../libdevice.toml" -o "$1" --target spirv64 --variant default
offkit devlib build -q "$here/../libdevice.toml" -o "$1" --target sm_60 --variant default -L "$2" --provider libdevice
offkit devlib build -q "$here/../libdevice.toml" -o "$1" --target gfx90a --variant default --provider ocml
clang-22 --target=spirv64 -cl-std=CL3.0 -O1 -emit-llvm -c "$here/kernels.cl" -o "$1/kernels.bc"
offkit link -q "$1/kernels.bc" -L "$1" -l m --state executable -o "$1/kernels.syclbin"
${CC:-cc} -O1 -fno-builtin "$here/ulp.c" -o "$1/ulp" -lm
for device in cpu nvidia amd; do
  results=$("$1/ulp" operands "$1/$device")
done
for type in double float; do
  bits=64
  [ $type = double ] || bits=32
  offkit run -q --device cpu-checked "$1/kernels.syclbin" all_$type --global 8192 --arg "$1/cpu/$type-x.npy" --arg "$1/cpu/$type-y.npy" \
    --arg "$1/cpu/$type-z.npy" --arg "f$bits[$results]" --out "3=$1/cpu/$type-out.npy"
done
"$here/retarget.sh" "$1"/libdevice/sm_60/libm-*.bc "$1/nvidia"
"$here/retarget.sh" "$1"/libdevice/gfx90a/libm-*.bc "$1/amd"
for device in nvidia amd; do
  "$1/$device/ulp" compute "$1/$device"
done
echo "| function | SPIR-V, CPU device: \`double\` | \`float\` | NVIDIA: \`double\` | \`float\` | AMD: \`double\` | \`float\` | host: \`double\` | \`float\` |"
echo "|---|---|---|---|---|---|---|---|---|"
"$1/ulp" table "$1/cpu" "$1/nvidia" "$1/amd"
