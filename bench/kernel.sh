#!/usr/bin/env bash
# Measures how long modules take to be read into the form that kernels are run and compiled from: bench/kernel.sh
# Started by `./dev bench kernel`. A line for each module, in microseconds; exits with 1 if the goal is missed.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="/usr/lib/llvm-22/bin:$PATH"

target=${CARGO_TARGET_DIR:-target}
work=$target/bench/kernel
mkdir -p "$work"
cargo build --quiet --release -p offkit-kernel --example read_time
compile() { clang-22 --target=spirv64 -cl-std=CL3.0 -O2 -w -c "$1" -o "$2"; }
for source in plugins/cpu/tests/opencl/language/*.cl; do compile "$source" "$work/$(basename "$source" .cl).spv"; done
# Half of the modules of dpctl and dpnp have at most 4.2 KB. This one has a loop, a call, a barrier and local memory.
cat >"$work/typical.cl" <<'SOURCE'
float weight(float x, int n) { for (int i = 0; i < n; ++i) x = mad(sin(x), x, cos(x)) / (1.0f + fabs(x)); return x; }
kernel void typical(global const float *restrict in, global float *restrict out, local float *tile, int width, int n) {
  size_t x = get_global_id(0), y = get_global_id(1), l = get_local_id(0);
  tile[l] = in[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 sum = 0;
  for (int i = 0; i < (int)get_local_size(0); ++i) {
    float v = tile[i];
    sum += (float4)(v, v * v, exp(v), i % 3 ? v : -v);
  }
  if (x < (size_t)width) out[y * width + x] = weight(dot(sum, (float4)(1, 2, 3, 4)), n);
}
SOURCE
compile "$work/typical.cl" "$work/typical.spv"
"$target"/release/examples/read_time --goal 200 "$work"/typical.spv
"$target"/release/examples/read_time "$work"/[!t]*.spv
