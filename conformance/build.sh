#!/usr/bin/env bash
# Builds programs of Khronos' OpenCL conformance suite: build.sh FOLDER PROGRAM...
#
# FOLDER has clones of four repositories of KhronosGroup; those that are missing are fetched from GitHub, as of one day. A
# distribution's headers and loader won't do: the suite wants those of its own age. The programs are in
# FOLDER/build/test_conformance then, linked with the loader in FOLDER/loader.
set -euo pipefail
folder=$(realpath "$1")
shift
jobs=$(nproc)

commits="
OpenCL-CTS b8f8906c251926b1b3679323bfbf3df730b40fb8
OpenCL-Headers 15b536b7fbe1098cea462a27db496b287ac89b63
OpenCL-ICD-Loader 45cdbda4ddd31c324e32a744f112087c42da18f7
SPIRV-Headers 0d25db97cb9b8f725e4c95e4553001710e7fc39d
"

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }

while read -r name commit; do
  if [ -n "$name" ] && [ ! -e "$folder/$name/CMakeLists.txt" ]; then
    say "fetching $name"
    git init --quiet "$folder/$name"
    git -C "$folder/$name" fetch --quiet --depth 1 "https://github.com/KhronosGroup/$name" "$commit"
    git -C "$folder/$name" checkout --quiet FETCH_HEAD
  fi
done <<<"$commits"

# Configured once: ninja sees what changes.
configure() {
  local build=$1
  shift
  [ -e "$build/build.ninja" ] || cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release "$@" >&2
}

say "building the conformance suite, in $folder/build"
configure "$folder/loader" -S "$folder/OpenCL-ICD-Loader" -DOPENCL_ICD_LOADER_HEADERS_DIR="$folder/OpenCL-Headers" \
  -DBUILD_TESTING=OFF
ninja -C "$folder/loader" -j "$jobs" --quiet
# With more than -O1, which is enough for what it computes itself, it builds for a quarter of an hour.
configure "$folder/build" -S "$folder/OpenCL-CTS" --compile-no-warning-as-error -DCL_INCLUDE_DIR="$folder/OpenCL-Headers" \
  -DSPIRV_INCLUDE_DIR="$folder/SPIRV-Headers" -DCL_LIB_DIR="$folder/loader" -DOPENCL_LIBRARIES=OpenCL \
  -DCMAKE_BUILD_RPATH="$folder/loader" -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1
# What can be built is.
ninja -C "$folder/build" -j "$jobs" -k 0 "$@"
