#!/usr/bin/env bash
# Builds every fuzz target and runs each for SECONDS: fuzz/run.sh [SECONDS [TARGET...]]
# Needs a C++ compiler (for libFuzzer itself), no nightly toolchain and no cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-60}
shift || true
command -v c++ >/dev/null || { echo "please install a C++ compiler (Debian: g++)" >&2; exit 3; }

# What cargo-fuzz passes to rustc, without a sanitizer: the readers forbid unsafe code.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
  -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares"
host=$(rustc -vV | sed -n 's/^host: //p')
# Compiled kernels are looked at where LLVM is, which is not instrumented itself.
features=()
config=${LLVM_SYS_221_PREFIX:+$LLVM_SYS_221_PREFIX/bin/llvm-config}
if command -v "${config:-llvm-config-22}" >/dev/null; then
  features=(--features llvm)
else
  echo "compile: SKIPPED, llvm-22-dev is not installed" >&2
fi
# With an explicit target, build scripts and macros are not instrumented.
cargo build --quiet --release --bins "${features[@]}" --target "$host"

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in fuzz_targets/*.rs; do targets+=("$(basename "$source" .rs)"); done
fi
status=0
for target in "${targets[@]}"; do
  [ "$target" != compile ] || [ ${#features[@]} -gt 0 ] || continue
  mkdir -p "corpus/$target" artifacts
  folders=("corpus/$target")
  [ ! -d "seeds/$target" ] || folders+=("seeds/$target")
  log=$(mktemp)
  if "${CARGO_TARGET_DIR:-target}/$host/release/$target" "${folders[@]}" -max_total_time="$seconds" \
    -max_len=8192 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="artifacts/$target-" >"$log" 2>&1; then
    echo "$target: $(grep '^Done' "$log"), nothing found"
  else
    status=1
    tail -n 30 "$log"
    echo "$target: FOUND something, see artifacts/$target-*"
  fi
  rm -f "$log"
done
exit $status
