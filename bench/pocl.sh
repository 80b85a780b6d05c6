#!/usr/bin/env bash
# Builds PoCL of August 2026, which becomes its version 8, for `./dev bench cpu --pocl`: bench/pocl.sh FOLDER [SOURCE]
#
# In FOLDER, a system of Debian's development branch of its own (debootstrap, as root), which has LLVM 22 and the library that
# takes SPIR-V; nothing of this machine is displaced. SOURCE is a clone of PoCL's repository; without it, it is fetched. That
# takes 4 GB and, on two cores, twenty minutes.
set -euo pipefail
[ $# -ge 1 ] && [ $# -le 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(realpath "$1") source=${2:-https://github.com/pocl/pocl}
commit=5066640dcbff6df32241da2416c964ea69659999
library=$folder/usr/lib/x86_64-linux-gnu/libpocl.so.2

command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt install debootstrap" >&2; exit 2; }
packages=g++,cmake,ninja-build,llvm-22-dev,libclang-22-dev,libclang-cpp22-dev,clang-22,llvm-spirv-22,libllvmspirvlib-22-dev
packages+=,libhwloc-dev,ocl-icd-opencl-dev,pkgconf,python3,libxml2-dev,zlib1g-dev,libzstd-dev
[ -e "$folder/usr/bin/clang-22" ] || debootstrap --variant=minbase --include="$packages" sid "$folder"
[ -e "$folder/pocl/CMakeLists.txt" ] || {
  git init --quiet "$folder/pocl"
  git -C "$folder/pocl" fetch --quiet --depth 1 "$source" "$commit"
  git -C "$folder/pocl" checkout --quiet FETCH_HEAD
}
chroot "$folder" cmake -G Ninja -S /pocl -B /build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
  -DWITH_LLVM_CONFIG=/usr/bin/llvm-config-22 -DKERNELLIB_HOST_CPU_VARIANTS=distro -DENABLE_SPIRV=ON -DENABLE_ICD=ON \
  -DENABLE_TESTS=OFF -DENABLE_EXAMPLES=OFF -DENABLE_POCLCC=OFF
chroot "$folder" ninja -C /build install
echo "./dev bench cpu --pocl $library"
