#!/usr/bin/env bash
# Runs LLVM 22's own tests of its offloading tools with offkit in the tools' place: tests/peers/run.sh [--real]
# Started by `./dev peers`, which builds offkit. With --real the real tools are tested, which shows what a
# failure owes to the machine.
#
# Exit code 0 when exactly the tests fail that `expected-failures.txt` names, 1 when not.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/peers
llvm=/usr/lib/llvm-22/bin
# The names that offkit answers to.
tools=(clang-linker-wrapper clang-offload-bundler clang-offload-packager clang-sycl-linker llvm-offload-binary llvm-offload-wrapper)

command -v xz >/dev/null || { echo "please install xz-utils" >&2; exit 3; }
if [ ! -f "$work/tests/lit.cfg.py" ] || [ ! -f "$work/tests/clang/test/Driver/sycl.c" ]; then
  rm -rf "$work/tests"
  ./fetch.sh "$work/tests"
fi
cp lit.cfg.py "$work/tests/lit.cfg.py"

lit=$(command -v lit || true)
[ -n "$lit" ] || lit=$llvm/lit
[ -x "$lit" ] || { echo "please install lit (Debian: llvm-22-tools)" >&2; exit 3; }

options=(-D "llvm=$llvm")
expected=expected-failures.txt
if [ "${1:-}" = --real ]; then
  expected=/dev/null
else
  rm -rf "$work/tools"
  mkdir -p "$work/tools"
  # The name is what it goes by; the worker is beside it.
  for tool in "${tools[@]}"; do ln -s "$(realpath "$target/release/offkit")" "$work/tools/$tool"; done
  options+=(-D "tools=$work/tools")
fi
# compare EXPECTED LIT-ARGUMENT... : runs tests, and says whether exactly those fail that are expected to.
compare() {
  local expected=$1
  shift
  # lit keeps the outputs of earlier runs, and a test that only compares files could pass on them.
  rm -rf "$work"/tests/out
  "$lit" --output "$work/results.json" "$@" || true
  python3 - "$work/results.json" "$expected" <<'PYTHON'
import json, sys
results = {test["name"].split(" :: ")[-1]: test["code"] for test in json.load(open(sys.argv[1]))["tests"]}
failed = {name for name, code in results.items() if code in ("FAIL", "UNRESOLVED", "TIMEOUT")}
lines = (line.split("#")[0].strip() for line in open(sys.argv[2]))
expected = {line for line in lines if line}
passed = sum(code == "PASS" for code in results.values())
print(f"{passed} of {len(results)} passed, {len(failed)} failed, {len(expected)} failures expected")
for name in sorted(failed - expected):
    print(f"FAILED, and should not: {name}")
for name in sorted(expected - failed):
    print(f"in the list of expected failures, and did not fail: {name}")
sys.exit(failed != expected)
PYTHON
}

status=0
compare "$expected" "${options[@]}" "$work/tests" || status=1
if [ "${1:-}" != --real ]; then
  # clang's tests of its driver, with ours in its place and LLVM's own tools.
  options=(-D "llvm=$llvm" -D "driver=$(realpath "$target/release/offkit")")
  compare expected-driver-failures.txt "${options[@]}" "$work/tests/clang/test/Driver" || status=1
fi
exit $status
