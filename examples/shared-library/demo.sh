#!/usr/bin/env bash
# The worked example: kernels and the device library they need, from source to a checked result.
# Started by `./dev demo`, which builds offkit first. Every command is shown as it could be typed.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=${OFFKIT_DEMO_PROGRAMS:-$PWD/target/release}
export PATH="$programs:$PATH"
example=examples/shared-library
work=${OFFKIT_DEMO_FOLDER:-target/demo}
# What is built on one machine can run on another, and on a device that is named: build, run, or all.
steps=${OFFKIT_DEMO_STEPS:-all}
device=(${OFFKIT_DEMO_DEVICE:+--device "$OFFKIT_DEMO_DEVICE"})
mkdir -p "$work"
summary=()

# Prints words as they would be typed: in quotes where they need them.
typed() {
  printf '%s ' "${@@Q}" | sed "s/'\([A-Za-z0-9_.,:/=+-]*\)'/\1/g; s/ $//"
}

# step TITLE COMMAND... : shows and runs a command, and remembers how long it took.
step() {
  local title=$1 start=$EPOCHREALTIME
  shift
  printf '\n\033[1m# %s\033[0m\n$ %s\n' "$title" "$(typed "$@")"
  "$@"
  local microseconds=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
  summary+=("$(printf '%6d.%d ms  %s' $((microseconds / 1000)) $((microseconds % 1000 / 100)) "$title")")
}

# What follows can be typed in the same folder after this.
printf '$ export PATH=%s:$PATH\n' "$(typed "$programs")"

build_steps() {
  device_compile=(clang-22 --target=spirv64 -cl-std=CL3.0 -O1 -fno-unroll-loops -emit-llvm -c)

  step "compile the app's kernels to LLVM bitcode" "${device_compile[@]}" $example/app.cl -o "$work/app.bc"
  step "compile the device library to LLVM bitcode" "${device_compile[@]}" $example/library.cl -o "$work/library.bc"
  step "link the app's device code into a SYCLBIN file" offkit link "$work/app.bc" -o "$work/app.syclbin"
  step "link the library's, in the newer version of the format" \
    offkit link "$work/library.bc" --format=syclbin,v2 -o "$work/library.syclbin"

  step "compile a host program that makes the input and the expected results" \
    clang-22 -O2 $example/reference.c -lm -o "$work/reference"
}

[ "$steps" = run ] || build_steps
[ "$steps" != build ] || exit 0

step "see what is inside" offkit ls --kernels "$work/app.syclbin" "$work/library.syclbin"
step "the same for programs" offkit ls --json "$work/app.syclbin" "$work/library.syclbin"
step "make input and expected results, without offkit" "$work/reference" "$work"

step "saxpy, a million elements" offkit run "$work/app.syclbin" saxpy --link "$work/library.syclbin" "${device[@]}" \
  --global 1048576 --arg f32:2.5 --arg "$work/x.npy" --arg "$work/y.npy" \
  --out "$work/saxpy.npy" --check "$work/expected-saxpy.npy" --time
step "tiled matrix product, 128 by 128, in local memory with barriers" \
  offkit run "$work/app.syclbin" matmul --link "$work/library.syclbin" "${device[@]}" \
  --global 128,128 --local 16,16 --arg u32:128 --arg "$work/a.npy" --arg "$work/b.npy" --arg 'f32[128,128]' \
  --out 3="$work/matmul.npy" --check "$work/expected-matmul.npy" --time
step "reduction, a million elements in work-groups of 256" \
  offkit run "$work/app.syclbin" reduce --link "$work/library.syclbin" "${device[@]}" \
  --global 1048576 --local 256 --arg "$work/x.npy" --arg 'f32[4096]' --arg local:1024 \
  --out 1="$work/reduce.npy" --check "$work/expected-reduce.npy" --time

# Runs a command that must fail.
fails() {
  if "$@"; then
    echo "the kernel ran although a function it calls is missing" >&2
    exit 1
  fi
}
incomplete=(offkit run "$work/app.syclbin" saxpy "${device[@]}" --global 1048576
  --arg f32:2.5 --arg "$work/x.npy" --arg "$work/y.npy" --out "$work/never.npy")
printf '\n\033[1m# without the library, the error says what is missing\033[0m\n$ %s\n' "$(typed "${incomplete[@]}")"
fails "${incomplete[@]}"

printf '\n\033[1m# how long each step took\033[0m\n'
printf '%s\n' "${summary[@]}"
printf '\nsaxpy, matmul and reduce agree with the host program: the demo passed\n'
