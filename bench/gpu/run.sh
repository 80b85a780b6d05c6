#!/usr/bin/env bash
# Runs what `./dev gpu --prepare` made, on a machine with one of NVIDIA's GPUs: ./run.sh [--out FOLDER] [STEP...]
#
# The steps, all but stress unless they are named:
#   devices   what offkit sees: devices.txt
#   measure   kernels beside nvcc's code, launches beside the driver's: measured.md
#   demo      the demo of the repository, on the GPU
#   interface the tests that any plugin should pass, on offkit's plugin for NVIDIA's driver
#   examples  the programs of examples/build-systems, c-api, wrapped and parallel, on the GPU
#   stress    commands at random, for 8 minutes or OFFKIT_GPU_SECONDS
# OFFKIT_GPU_MEASURE and OFFKIT_GPU_STRESS have further options for `offkit-gpu measure` and `stress`, OFFKIT_GPU_EXAMPLES
# the programs of examples/programs that are run instead of all.
#
# What is written goes to FOLDER (out). Exits with 1 if a step failed, with 2 for wrong usage or a damaged folder, with 3
# without driver or device.
set -uo pipefail
cd "$(dirname "$0")" || exit 2
here=$PWD out=$PWD/out
if [ "${1:-}" = --out ]; then
  [ $# -ge 2 ] || { echo "--out needs a folder" >&2; exit 2; }
  mkdir -p "$2"
  out=$(cd "$2" && pwd)
  shift 2
fi
case ${1:-} in -*) sed -n '2,/^set/s/^# \{0,1\}//p' run.sh; exit 2 ;; esac
[ $# -gt 0 ] || set -- devices interface measure demo examples
for step; do
  case $step in
    devices | interface | measure | demo | examples | stress) ;;
    *) echo "there is no step $step: the steps are devices, interface, measure, demo, examples, stress" >&2; exit 2 ;;
  esac
done

mkdir -p "$out" || exit 2
# Made whole and then renamed: another may be doing the same. Those of an earlier folder are not these.
if [ -d bin ] && [ programs.tar.gz -nt bin ]; then rm -rf bin; fi
[ -d bin ] || [ -e programs.tar.gz ] || { echo "$here lacks programs.tar.gz: copy the whole folder again" >&2; exit 2; }
[ -d bin ] || {
  unpacked=$(mktemp -d "$here/unpacked.XXXXXX") && tar -xzf programs.tar.gz -C "$unpacked" && touch "$unpacked/bin" || exit 2
  mv -T "$unpacked/bin" bin 2>/dev/null || [ -d bin ] || exit 2
  rm -rf "$unpacked"
}
export PATH=$here/bin:$PATH OFFKIT_LLVM_WORKER=$here/bin/offkit-nvptx-worker XDG_CACHE_HOME=$out/cache
# The compiler is for the GPU alone.
export OFFKIT_PLUGINS=$here/bin/liboffkit_plugin_cuda.so OFFKIT_CPU_COMPILE=0

devices() {
  cat made
  offkit devices && offkit doctor
}

interface() {
  offkit-plugin-tests "$OFFKIT_PLUGINS" "$here/code/interface"
}

measure() {
  rm -f "$out/measured.md"
  # shellcheck disable=SC2086 # several words
  offkit-gpu measure --bundle "$here" --out "$out/measured.md" ${OFFKIT_GPU_MEASURE:-}
}

demo() {
  OFFKIT_DEMO_STEPS=run OFFKIT_DEMO_DEVICE=gpu OFFKIT_DEMO_FOLDER=$here/examples/shared-library/built \
    OFFKIT_DEMO_PROGRAMS=$here/bin bash examples/shared-library/demo.sh
}

examples() {
  (
    cd examples/build-systems || exit 1
    set -x
    offkit run app saxpy --device gpu --link libblend.so --global 1024 --arg f32:2.5 --arg x.npy --arg y.npy \
      --check 2=expected.npy
    first=$?
    offkit run app scale --device gpu --global 1024 --arg f32:3 --arg x.npy --check 1=scaled.npy && exit "$first"
  )
  local first=$?
  # shellcheck disable=SC2086 # several words
  LD_LIBRARY_PATH=$here/bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ONEAPI_DEVICE_SELECTOR='*:gpu' \
    examples/programs/examples.sh ${OFFKIT_GPU_EXAMPLES:-} && return "$first"
}

stress() {
  # shellcheck disable=SC2086 # several words
  offkit-gpu stress --bundle "$here" --seconds "${OFFKIT_GPU_SECONDS:-480}" ${OFFKIT_GPU_STRESS:-}
}

failed=()
for step; do
  printf '\033[1m== %s\033[0m\n' "$step"
  "$step" 2>&1 | tee "$out/$step.txt"
  code=${PIPESTATUS[0]}
  # Without a device, or without what is to run, nothing else can be done.
  case $step-$code in measure-[23] | stress-[23]) exit "$code" ;; esac
  [ "$code" = 0 ] || failed+=("$step")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}; see $out" >&2; exit 1; }
echo "all is well; what was written is in $out"
