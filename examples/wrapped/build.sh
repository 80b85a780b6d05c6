#!/usr/bin/env bash
# Builds the example: build.sh FOLDER
#
# Needs offkit on the path, and liboffkit where pkg-config finds it; or OFFKIT_FLAGS, what compiler and linker need to
# find it.
set -euo pipefail
cd "$(dirname "$0")"
folder=$1
mkdir -p "$folder"
read -ra flags <<<"${OFFKIT_FLAGS:-$(pkg-config --cflags --libs offkit)}"

# Device functions that libraries supply stay to be found at run time.
compile=(offkit c++ -fsycl -fsycl-allow-device-image-dependencies -std=c++17 -O2)
rpath=-Wl,-rpath,\$ORIGIN

# Two libraries with one host function and one device function each.
"${compile[@]}" -shared -fPIC negative.cpp -o "$folder/libnegative.so" "${flags[@]}"
"${compile[@]}" -shared -fPIC poster.cpp -o "$folder/libposter.so" "${flags[@]}"

# The program as it is, and linked with a library. The linker would leave out a library that only kernels need.
"${compile[@]}" app.cpp -o "$folder/app" "${flags[@]}" -ldl
"${compile[@]}" app.cpp -o "$folder/linked" -L"$folder" $rpath -Wl,--no-as-needed -lnegative "${flags[@]}" -ldl
