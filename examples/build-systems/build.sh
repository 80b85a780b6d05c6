#!/usr/bin/env bash
# The example without a build system: build.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")"
folder=$1
mkdir -p "$folder"

compile=(offkit c++ -fsycl -std=c++17 -O2 -fPIC -Iapp -Ivector -Iblend -Iregistration)
link=(-fsycl-allow-device-image-dependencies -L"$folder" -Wl,-rpath,"\$ORIGIN")

# The stand-in for a runtime has no device code.
offkit c++ -shared -fPIC -Iregistration registration/registration.cpp -o "$folder/libregistration.so"

# A static library: objects that hold host code and device code.
"${compile[@]}" -c vector/vector.cpp -o "$folder/vector.o"
"${compile[@]}" -c vector/unused.cpp -o "$folder/unused.o"
ar rcs "$folder/libvector.a" "$folder/vector.o" "$folder/unused.o"

# A shared library and a program, each from its sources in one command.
"${compile[@]}" -shared blend/blend.cpp -o "$folder/libblend.so" "${link[@]}" -lregistration
"${compile[@]}" app/*.cpp app/scale.cl -o "$folder/app" "${link[@]}" -lvector -lblend -lregistration
