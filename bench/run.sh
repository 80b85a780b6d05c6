#!/usr/bin/env bash
# Measures starting, linking and running beside the peers' tools, in one sitting: bench/run.sh
# Started by `./dev bench link`, which builds what is measured. Prints a table; nothing here is a test.
# Each row is a pair of commands run in turn; the ratio is of their fastest runs. Beside a peer the goal is to take no
# longer. Exits with 1 if a goal is missed or a row fails, with 3 if a peer is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v hyperfine >/dev/null || { echo "please install hyperfine" >&2; exit 3; }
command -v python3 >/dev/null || { echo "please install python3" >&2; exit 3; }
target=${CARGO_TARGET_DIR:-target}
export PATH
PATH="$(realpath -m "$target")/release:/usr/lib/llvm-22/bin:$PATH"
for peer in clang-sycl-linker llvm-offload-binary llvm-objdump llvm-split llc; do
  command -v "$peer" >/dev/null || { echo "please install LLVM 22 with $peer" >&2; exit 3; }
done
work=$target/bench
mkdir -p "$work"

missed=0

# pair TITLE RUNS OURS THEIRS [GOAL] : GOAL is the highest ratio that will do, 1 if it is left out, none for no goal.
pair() {
  hyperfine --shell=none --warmup 3 --runs "$2" --style none --export-json "$work/pair.json" "$3" "$4" >/dev/null 2>&1 || {
    printf '%-46s failed\n' "$1"
    missed=1
    return
  }
  python3 - "$1" "$work/pair.json" "${5:-1}" <<'PYTHON' || missed=1
import json, sys
ours, theirs = json.load(open(sys.argv[2]))["results"]
def ms(result): return f'{result["min"] * 1e3:9.2f} {result["median"] * 1e3:9.2f}'
ratio = ours["min"] / theirs["min"]
goal = sys.argv[3]
is_met = goal == "none" or ratio <= float(goal)
word = "" if goal == "none" else f"at most {goal}, {'met' if is_met else 'MISSED'}"
print(f'{sys.argv[1]:46s} {ms(ours)}   {ms(theirs)}   {ratio:6.2f}  {word}')
sys.exit(not is_met)
PYTHON
}

compile() { clang-22 --target=spirv64 -cl-std=CL3.0 -O1 -fno-unroll-loops -emit-llvm -c "$1" -o "$2"; }
compile examples/shared-library/app.cl "$work/app.bc"
compile examples/shared-library/library.cl "$work/library.bc"

# A module of many kernels, each with a helper of its own and one that all share.
python3 - "$work/many.cl" <<'PYTHON'
import sys
with open(sys.argv[1], "w") as out:
    out.write("float shared(float x) { float y = x; for (int i = 0; i < 9; ++i) y = sin(y) * x + cos(y); return y; }\n")
    for k in range(64):
        out.write(f"static float own{k}(float x) {{ float y = shared(x) + {k}; for (int i = 0; i < {k + 3}; ++i) y = sqrt(y * y + x); return y; }}\n")
        out.write(f"kernel void k{k}(global float *a) {{ size_t i = get_global_id(0); a[i] = own{k}(a[i]) + shared(a[i]); }}\n")
PYTHON
compile "$work/many.cl" "$work/many.bc"
# The same spread over eight sources, each of which needs a function of the next.
python3 - "$work" <<'PYTHON'
import sys
for f in range(8):
    with open(f"{sys.argv[1]}/eighth{f}.cl", "w") as out:
        out.write(f"float shared{f}(float x) {{ float y = x; for (int i = 0; i < 9; ++i) y = sin(y) * x + cos(y); return y; }}\n")
        out.write(f"float shared{(f + 1) % 8}(float x);\n")
        for k in range(8 * f, 8 * f + 8):
            out.write(f"static float own{k}(float x) {{ float y = shared{f}(x) + {k}; for (int i = 0; i < {k + 3}; ++i) y = sqrt(y * y + x); return y; }}\n")
            out.write(f"kernel void k{k}(global float *a) {{ size_t i = get_global_id(0); a[i] = own{k}(a[i]) + shared{(f + 1) % 8}(a[i]); }}\n")
PYTHON
eighths=
for f in 0 1 2 3 4 5 6 7; do
  compile "$work/eighth$f.cl" "$work/eighth$f.bc"
  eighths="$eighths $work/eighth$f.bc"
done
offkit --quiet link "$work/app.bc" "$work/library.bc" --split kernel --format offload --state object -o "$work/images.bin"
offkit --quiet link "$work/app.bc" -o "$work/app.syclbin"
offkit --quiet link "$work/library.bc" -o "$work/library.syclbin"

printf '%-46s %9s %9s   %9s %9s   %6s\n' "milliseconds" "ours min" "median" "peer min" "median" "ratio"
pair "start: offkit --version | true" 200 "offkit --version" "true" none
pair "start: offkit --version | llvm-offload-binary" 50 "offkit --version" "llvm-offload-binary --version"
pair "list 4 images | llvm-objdump --offloading" 50 "offkit ls $work/images.bin" "llvm-objdump --offloading $work/images.bin"
ours="offkit as clang-sycl-linker -triple=spirv64-unknown-unknown"
theirs="clang-sycl-linker -triple=spirv64-unknown-unknown"
pair "start: as clang-sycl-linker --help | --help" 50 "offkit as clang-sycl-linker --help" "clang-sycl-linker --help" 0.2
pair "start: as clang-sycl-linker --dry-run | same" 50 \
  "$ours --dry-run $work/app.bc -o $work/ours.bin" "$theirs --dry-run $work/app.bc -o $work/theirs.bin" 0.2
pair "link 2 files as clang-sycl-linker" 40 \
  "$ours $work/app.bc $work/library.bc -o $work/ours.bin" "$theirs $work/app.bc $work/library.bc -o $work/theirs.bin"
pair "link 2 files to SPIR-V | clang-sycl-linker" 40 \
  "offkit --quiet link $work/app.bc $work/library.bc --split none -O0 --format offload -o $work/ours.bin" \
  "$theirs $work/app.bc $work/library.bc -o $work/theirs.bin"
pair "64 kernels of 8 files as clang-sycl-linker" 20 "$ours $eighths -o $work/ours.bin" "$theirs $eighths -o $work/theirs.bin"
pair "64 kernels of 8 files, 1 image, -O0" 20 \
  "offkit --quiet link $eighths --split none -O0 --format offload -o $work/ours.bin" "$theirs $eighths -o $work/theirs.bin"
# An image for each file: the peer's linker makes one of all, so it is run for each file.
cat > "$work/each.sh" <<SCRIPT
for file in $eighths; do clang-sycl-linker -triple=spirv64-unknown-unknown \$file -o $work/each.bin || exit; done
SCRIPT
pair "64 kernels of 8 files, 8 images, -O0" 10 \
  "offkit --quiet link $eighths --split source -O0 --format offload --state object -o $work/ours.bin" "bash $work/each.sh"
# The peers have no step that does both: their splitter, then their code generator for each part.
cat > "$work/split.sh" <<SCRIPT
llvm-split --split-by-category=kernel $work/many.bc -o $work/part
for part in $work/part_*; do llc -O2 -mtriple=spirv64v1.2-unknown-unknown -filetype=obj \$part -o $work/part.spv || exit; done
SCRIPT
pair "split 64 kernels, SPIR-V | llvm-split, llc" 5 \
  "offkit --quiet link $work/many.bc --split kernel -o $work/ours.syclbin" "bash $work/split.sh"

printf '\nsteps of one run on the CPU device:\n'
clang-22 -O2 examples/shared-library/reference.c -lm -o "$work/reference"
"$work/reference" "$work"
offkit run "$work/app.syclbin" saxpy --link "$work/library.syclbin" --global 1048576 \
  --arg f32:2.5 --arg "$work/x.npy" --arg "$work/y.npy" --check "$work/expected-saxpy.npy" --time
exit "$missed"
