#!/usr/bin/env bash
# Makes what is handed out, in target/dist: `./dev dist` calls this with what it needs installed.
#
# The program is linked for glibc 2.28 by zig, which has the symbols of every glibc. The workers are not: they are made of
# Debian's LLVM, and run where that LLVM would. Nor are the libraries: zig's linker knows no way to hide the functions of
# the plugins that are inside.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dist=$build/dist
glibc=2.28
triple=$(rustc -vV | sed -n 's/^host: //p')
machine=${triple%%-*}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
debian=$(dpkg --print-architecture)
linked=$build/$triple/packages
# The same sources give the same files.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
umask 022

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }

build_all() {
  say "building the program for glibc $glibc"
  cargo zigbuild --quiet --locked --profile packages --target "$triple.$glibc" -p offkit
  say "building the libraries, and the workers with Debian's LLVM"
  cargo build --quiet --locked --release -p offkit-capi -p offkit-opencl-front -p offkit-plugin-cuda \
    -p offkit-plugin-opencl -p offkit-plugin-ur -p offkit-llvm-worker
}

# The crates in the program. cargo-sbom lists those of features that it is built without, too: cargo knows which they are.
bill_of_materials() {
  local crates
  crates=$(cargo tree --locked -p offkit -e normal --target "$triple" --prefix none --format '{p}' |
    awk '{ print $1 "@" substr($2, 2) }' | sort -u)
  cargo sbom --cargo-package offkit --output-format cyclone_dx_json_1_6 | jq --arg crates "$crates" '
    ($crates | split("\n")) as $crates
    | .components |= map(select(.name + "@" + .version | IN($crates[])))
    | ([.components[], .metadata.component] | map(."bom-ref")) as $known
    | .dependencies |= map(select(.ref | IN($known[])) | .dependsOn |= map(select(IN($known[]))))'
}

# The program: what `bin` and `share` of a prefix get.
program_tree() {
  local tree=$1
  install -D -t "$tree/bin" "$linked/offkit" "$linked/offkit-probe"
  "$linked/offkit" -q man "$tree/share/man/man1"
  install -d "$tree"/share/{bash-completion/completions,fish/vendor_completions.d,zsh/vendor-completions}
  "$linked/offkit" completions bash >"$tree/share/bash-completion/completions/offkit"
  "$linked/offkit" completions fish >"$tree/share/fish/vendor_completions.d/offkit.fish"
  "$linked/offkit" completions zsh >"$tree/share/zsh/vendor-completions/_offkit"
  install -D -m 644 -t "$tree/share/doc/offkit" LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md \
    "$dist/offkit.cdx.json"
}

# The workers: one for everything, and a small one for kernels on the CPU device.
worker_tree() {
  install -D -s -t "$1/bin" "$build/release/offkit-llvm-worker" "$build/release/offkit-cpu-worker"
}

# Everything to build and run programs with: the library and its headers, plugins, the OpenCL driver, device libraries.
library_tree() {
  local tree=$1 library
  install -D -s -m 755 "$build/release/liboffkit.so" "$tree/lib/liboffkit.so.$version"
  ln -sf "liboffkit.so.$version" "$tree/lib/liboffkit.so.0"
  ln -sf liboffkit.so.0 "$tree/lib/liboffkit.so"
  install -s -m 755 "$build/release/liboffkit_opencl.so" "$tree/lib/"
  install -D -s -m 755 -t "$tree/lib/offkit" "$build/release/liboffkit_plugin_cuda.so" \
    "$build/release/liboffkit_plugin_opencl.so" "$build/release/liboffkit_plugin_ur.so"
  # For programs that are linked with the library, and are nowhere near offkit's own.
  install -D -t "$tree/lib/offkit" "$linked/offkit-probe"
  install -D -m 644 -t "$tree/include" include/offkit.h include/offkit.hpp
  install -D -m 644 -t "$tree/include/offkit" include/offkit/*.hpp include/offkit/device.h
  install -D -m 644 -t "$tree/include/offkit/parallel" include/offkit/parallel/*.hpp
  install -D -m 644 -t "$tree/lib/pkgconfig" crates/offkit-capi/package/offkit.pc
  install -D -m 644 -t "$tree/lib/cmake/offkit" crates/offkit-capi/package/*.cmake
  # Those for vendors' GPUs need the vendors' bitcode: they are built when they are needed.
  for library in libm rt; do
    OFFKIT_LLVM_WORKER=$work/worker/bin/offkit-llvm-worker "$linked/offkit" -q devlib build \
      "device-libs/$library/libdevice.toml" -o "$tree/lib/offkit" --target spirv64
  done
}

# pack TREE NAME: an archive with one folder, in which all files are root's and of one time.
pack() {
  local tree=$1 name=$2
  tar -C "$(dirname "$tree")" --owner=0 --group=0 --numeric-owner --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    --transform "s,^$(basename "$tree"),$name," -c "$(basename "$tree")" | gzip -9n >"$dist/$name.tar.gz"
}

# deb TREE NAME DEPENDS DESCRIPTION
deb() {
  local tree=$1 name=$2 depends=$3 description=$4
  local package=$work/deb/$name size
  mkdir -p "$package/DEBIAN"
  cp -a "$tree" "$package/usr"
  find "$package/usr/share/man" -type f -exec gzip -9n {} + 2>/dev/null || true
  install -d "$package/usr/share/doc/$name"
  cat LICENSE-MIT LICENSE-APACHE >"$package/usr/share/doc/$name/copyright"
  # Programs look for the library in a list that is made anew.
  if [ -e "$package/usr/lib/liboffkit.so" ]; then
    echo "activate-noawait ldconfig" >"$package/DEBIAN/triggers"
  fi
  size=$(du -sk --apparent-size "$package/usr" | cut -f1)
  cat >"$package/DEBIAN/control" <<CONTROL
Package: $name
Version: $version-1
Architecture: $debian
Maintainer: The offkit developers <offkit@example.invalid>
Section: devel
Priority: optional
Installed-Size: $size
Depends: $depends
Description: $description
CONTROL
  dpkg-deb --build --root-owner-group -Zxz "$package" "$dist/${name}_$version-1_$debian.deb" >&2
}

# What Debian's packages a program's libraries are in.
needed_packages() {
  local scratch
  scratch=$(mktemp -d)
  mkdir "$scratch/debian"
  printf 'Source: offkit\n\nPackage: offkit\nArchitecture: any\nDescription: offkit\n' >"$scratch/debian/control"
  (cd "$scratch" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed 's/^shlibs:Depends=//'
  rm -r "$scratch"
}

wheel() {
  OFFKIT_WHEEL_PROGRAMS=$linked OFFKIT_WHEEL_PLATFORM=manylinux_${glibc/./_}_$machine \
    OFFKIT_WHEEL_SHARE=$work/program/share OFFKIT_WHEEL_SBOM=$dist/offkit.cdx.json \
    python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$dist" ./python
}

rm -rf "$dist"
mkdir -p "$dist"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
build_all
say "the bill of materials"
bill_of_materials >"$dist/offkit.cdx.json"
say "packing"
program_tree "$work/program"
worker_tree "$work/worker"
library_tree "$work/library"
name=offkit-$version-$triple
pack "$work/program" "$name"
cp -a "$work/worker" "$work/libraries"
cp -a "$work/library/." "$work/libraries"
pack "$work/libraries" "offkit-libraries-$version-$triple"
deb "$work/program" offkit "libc6 (>= $glibc)" "lists, links and runs the GPU code inside programs
 Reads the device code of every vendor in objects, libraries, programs and packages:
 what is in it, what it costs, where it runs. Runs SPIR-V kernels on the CPU."
deb "$work/worker" offkit-llvm "offkit (= $version-1), $(needed_packages "$work"/worker/bin/*)" \
  "links device code and compiles kernels for offkit
 The part of offkit that has LLVM inside."
deb "$work/library" liboffkit-dev "$(needed_packages "$work"/library/lib/*.so "$work"/library/lib/offkit/*.so)" "runtime for device code, for C and C++
 Library, headers, plugins, the OpenCL driver and device libraries of offkit."
wheel
(cd "$dist" && sha256sum -- *.tar.gz *.deb *.whl *.json >SHA256SUMS)
ls -l "$dist" >&2
