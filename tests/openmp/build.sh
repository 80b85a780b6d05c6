#!/usr/bin/env bash
# Builds LLVM's device runtime for OpenMP, which Debian does not package, from Debian's source of LLVM 22.1.8:
# build.sh DEST. Leaves libomptarget-nvptx.bc and libomptarget-amdgpu.bc there, built as openmp/device/CMakeLists.txt
# does. (For SPIR-V, clang 22 refuses its sources.)
set -euo pipefail
dest=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/source
"$here/../peers/fetch.sh" "$source" --only openmp/device --only offload/include --only libc/shared
build() { # name, target, options
  local name=$1 target=$2 file
  shift 2
  mkdir "$work/$name"
  for file in "$source"/openmp/device/src/*.cpp; do
    [ "${file##*/}" != Stub.cpp ] || continue
    clang++-22 --target="$target" -O2 -std=c++17 -flto -emit-llvm -c -fvisibility=hidden -nogpulib -nostdlibinc \
      -fno-rtti -fno-exceptions -fconvergent-functions -Wno-unknown-cuda-version -mllvm -vectorize-slp=false \
      -DSHARED_SCRATCHPAD_SIZE=512 -I"$source/openmp/device/include" -I"$source/libc" -I"$source/offload/include" \
      "$@" "$file" -o "$work/$name/$(basename "$file" .cpp).bc"
  done
  /usr/lib/llvm-22/bin/llvm-link "$work/$name"/*.bc -o "$dest/libomptarget-$name.bc"
}
build nvptx nvptx64-nvidia-cuda --cuda-feature=+ptx63
build amdgpu amdgcn-amd-amdhsa -Xclang -mcode-object-version=none
