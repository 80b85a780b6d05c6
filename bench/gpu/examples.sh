#!/usr/bin/env bash
# Runs programs of the repository's examples, which are beside this: examples.sh [PROGRAM...]
#
# Each has to print what is in PROGRAM.expected, what it printed on the CPU device when the folder was made; `--expect` as the
# first word writes that. The device is the first that ONEAPI_DEVICE_SELECTOR lets them see. Names of devices are left
# out, and so are the numbers of nbody, in which roundings add up.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
is_expected=
[ "${1:-}" != --expect ] || { is_expected=1; shift; }
[ $# -gt 0 ] || set -- saxpy-c saxpy-cpp wrapped-c wrapped saxpy nbody mandelbrot
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

failed=()
for program; do
  numbers=()
  case $program in
    saxpy-c | saxpy-cpp) arguments=(app.syclbin library.syclbin) ;;
    wrapped-c) arguments=(./liblibrary.so) ;;
    nbody) arguments=(256 10) numbers=(-e 's/-\{0,1\}[0-9]\{1,\}\.[0-9]*/N/g') ;;
    mandelbrot) arguments=("$scratch/mandelbrot.png") ;;
    wrapped | saxpy) arguments=() ;;
    *) echo "there is no program $program" >&2; exit 2 ;;
  esac
  echo "\$ ./$program ${arguments[*]}"
  if ! "./$program" "${arguments[@]}" >"$scratch/printed"; then
    failed+=("$program")
    continue
  fi
  cat "$scratch/printed"
  sed -e 's/\(^\| \)on .*//' -e 's/^\/.*\/\(.*!\)/\1/' "${numbers[@]}" "$scratch/printed" >"$scratch/told"
  if [ "$is_expected" ]; then
    cp "$scratch/told" "$program.expected"
  elif ! diff -u "$program.expected" "$scratch/told"; then
    failed+=("$program")
  fi
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
