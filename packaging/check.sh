#!/usr/bin/env bash
# Checks what dist.sh has made, as those get it who install it: `./dev dist --check`. Ends at the first mistake.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dist=$build/dist
glibc=2.28
most=$((15 << 20))
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
wrong() { printf 'wrong: %s\n' "$*" >&2; exit 1; }

# The name in Cargo.toml by which cargo-binstall looks for an archive.
binstall_name() {
  cargo metadata --no-deps --format-version 1 --offline | jq -r --arg triple "$(rustc -vV | sed -n 's/^host: //p')" \
    '.packages[] | select(.name == "offkit") | .version as $version | .metadata.binstall."pkg-url" | split("/") | last
      | gsub("{ name }"; "offkit") | gsub("{ version }"; $version) | gsub("{ target }"; $triple)'
}

# Asks the system for glibc's own libraries alone, and of these for what glibc 2.28 has.
check_linking() {
  local file=$1 needed newest
  needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  if grep -vE '^(libc|libm|libdl|librt|libpthread)\.so|^ld-linux' <<<"$needed"; then
    wrong "$file needs libraries besides glibc's"
  fi
  newest=$(readelf -W --dyn-syms "$file" | grep -oE '@GLIBC_[0-9.]+' | sed 's/@GLIBC_//' | sort -V | tail -1)
  [ -n "$newest" ] || wrong "$file: no versions of symbols were found"
  [ "$(printf '%s\n' "$newest" "$glibc" | sort -V | tail -1)" = "$glibc" ] ||
    wrong "$file needs glibc $newest, and $glibc is to do"
  printf '%-50s glibc %s, %s bytes\n' "${file#"$work"/}" "$newest" "$(stat -c %s "$file")"
}

say "sums"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
archive=$dist/$(binstall_name)
[ -f "$archive" ] || wrong "$archive is not there, which Cargo.toml names for cargo-binstall"
mkdir "$work/program" "$work/libraries"
tar -xzf "$archive" -C "$work/program" --strip-components=1
tar -xzf "$dist"/offkit-libraries-*.tar.gz -C "$work/libraries" --strip-components=1

say "glibc and size"
for file in "$work"/program/bin/*; do
  check_linking "$file"
done
[ "$(stat -c %s "$work/program/bin/offkit")" -le $most ] || wrong "the program is larger than $most bytes"

say "Debian's packages"
mkdir "$work/debian"
for package in "$dist"/*.deb; do
  dpkg-deb -x "$package" "$work/debian"
  dpkg-deb -f "$package" Package Depends
done
"$work/debian/usr/bin/offkit" --version
for file in "$work"/debian/usr/bin/*-worker "$work"/debian/usr/lib/*.so "$work"/debian/usr/lib/offkit/*.so; do
  ldd "$file" | grep 'not found' && wrong "$file lacks libraries"
done
man --warnings -l "$work/debian/usr/share/man/man1/offkit-ls.1.gz" 2>&1 >/dev/null | grep . &&
  wrong "a manual page has mistakes"

say "the worked example, with the program and the worker of the packages"
OFFKIT_DEMO_PROGRAMS=$work/debian/usr/bin OFFKIT_DEMO_FOLDER=$work/demo XDG_CACHE_HOME=$work/cache \
  examples/shared-library/demo.sh >"$work/demo.log" 2>&1 || { cat "$work/demo.log" >&2; wrong "the example"; }

say "a plugin, and a kernel on the CPU device, without a worker"
cc -std=c99 -shared -fPIC -fvisibility=hidden -Iinclude -o "$work/libexample.so" examples/plugin-c/plugin.c
devices=$(env -i PATH=/usr/bin HOME="$work" OFFKIT_PLUGINS="$work/libexample.so" "$work/program/bin/offkit" devices)
grep example <<<"$devices" || wrong "the plugin's device is not among these: $devices"
env -i PATH=/usr/bin HOME="$work" "$work/program/bin/offkit" run "$work/demo/app.syclbin" saxpy \
  --link "$work/demo/library.syclbin" --global 1048576 --arg f32:2.5 --arg "$work/demo/x.npy" --arg "$work/demo/y.npy" \
  --check "$work/demo/expected-saxpy.npy"

say "a program in C, with the library"
cc -I"$work/libraries/include" examples/c-api/saxpy.c -L"$work/libraries/lib" -loffkit -o "$work/saxpy"
LD_LIBRARY_PATH=$work/libraries/lib "$work/saxpy" "$work/demo/app.syclbin" "$work/demo/library.syclbin"

say "the wheel: from pip install to the first answer"
# Something to look into: AMD's code for two processors.
echo 'kernel void saxpy(global int *p) { p[0] = 1; }' >"$work/k.cl"
images=()
for arch in gfx90a gfx1100; do
  clang-22 --target=amdgcn-amd-amdhsa -mcpu=$arch -nogpulib -x cl -c "$work/k.cl" -o "$work/$arch.hsaco"
  images+=("--image=file=$work/$arch.hsaco,triple=amdgcn-amd-amdhsa,arch=$arch,kind=hip")
done
"$work/program/bin/offkit" pack -o "$work/kernels.out" "${images[@]}"
(cd "$work" && python3 -m zipfile -c kernels.whl kernels.out)
python3 -m venv "$work/environment"
start=$EPOCHREALTIME
"$work/environment/bin/pip" install --quiet --no-index "$dist"/*.whl
"$work/environment/bin/python" -c 'import offkit, sys
found = offkit.size(sys.argv[1])
assert found.total["images"] == len(list(offkit.walk(sys.argv[1]))) == 2, found
print(found.totals[0])' "$work/kernels.whl"
end=$EPOCHREALTIME
milliseconds=$(((${end/[.,]/} - ${start/[.,]/}) / 1000))
"$work/environment/bin/offkit" size "$work/kernels.whl" | head -3
echo "from pip install to the first answer: $milliseconds ms"
[ $milliseconds -le 15000 ] || wrong "that is more than 15 seconds"

say "the scan of a registry, on two workers"
"$work/environment/bin/pip" install --quiet dask==2026.8.0 distributed==2026.8.0 pyarrow==26.0.1 pytest==9.2.0
mkdir "$work/wheels"
for number in 0 1 2 3 4; do cp "$work/kernels.whl" "$work/wheels/code-$number.whl"; done
(cd "$work" && python3 -m zipfile -c wheels/plain.whl k.cl)
head -c 900 "$work/kernels.out" >"$work/wheels/damaged.out"
WHEELS=$work/wheels "$work/environment/bin/python" -m pytest -q -p no:cacheprovider tests/python/test_registry_scan.py
echo "all is right in $dist"
