#!/usr/bin/env python3
"""Measures the mathematics of compiled kernels beside glibc's libmvec: ./dev bench libmvec [FUNCTION...]

Functions of one and two numbers, of single and double precision, on one thread and in turn: a kernel that the CPU device
compiles, and a loop that calls libmvec's function for AVX-512, and for AVX2. Errors are those on four million arguments of
all magnitudes, against 80-bit numbers. Says so, and ends, where there is no libmvec or no AVX-512. There is no goal.
"""

import ctypes
import os
import subprocess
import sys

from cpu import icd
from measure import FOLDER, RELEASE, ROOT

SOURCES = ROOT / "bench" / "libmvec"
OWN = FOLDER / "libmvec"
SECONDS = 0.5  # of turns, for each function


def build():
    """The program that measures, and its kernels."""
    module, program = OWN / "kernels.spv", OWN / "measure"
    target = ["--target=spirv64v1.2", "-cl-std=CL3.0", "-O2", "-c"]
    subprocess.run(["clang-22", *target, SOURCES / "kernels.cl", "-o", module], check=True)
    source = SOURCES / "measure.c"
    subprocess.run(["cc", "-O2", "-Wall", "-o", program, source, "-l:libOpenCL.so.1", "-lm"], check=True)
    return [program, module, str(SECONDS)]


def main():
    try:
        ctypes.CDLL("libmvec.so.1")
    except OSError as error:
        print(f"SKIPPED: this machine has no libmvec: {error}", file=sys.stderr)
        return 0
    (FOLDER / "cpu").mkdir(parents=True, exist_ok=True)
    OWN.mkdir(exist_ok=True)
    variables = icd("offkit", RELEASE / "liboffkit_opencl.so") | {
        "OFFKIT_CPU_COMPILE": "1",
        "OFFKIT_CPU_THREADS": "1",
        "OFFKIT_LLVM_WORKER": str(RELEASE / "offkit-cpu-worker"),
        "XDG_CACHE_HOME": str(OWN / "cache"),
    }
    print("Numbers a nanosecond, the ratio of the first two, and errors in units in the last place beside OpenCL's bound\n")
    print("| function | offkit | libmvec, AVX-512 | ratio | libmvec, AVX2 | bound | offkit | libmvec |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with subprocess.Popen([*build(), *sys.argv[1:]], stdout=subprocess.PIPE, text=True, env=os.environ | variables) as program:
        for row in program.stdout:
            name, precision, bound, *numbers = row.split()[:8]
            ours, wide, narrow, error, their_error = map(float, numbers)
            print(f"| `{name}`, {precision} | {ours:.2f} | {wide:.2f} | {ours / wide:.2f} | {narrow:.2f} | {bound} "
                  f"| {error:.2f} | {their_error:.2f} |", flush=True)  # fmt: skip
    if program.returncode == 3:
        print("SKIPPED: see above", file=sys.stderr)
        return 0
    return program.returncode


if __name__ == "__main__":
    sys.exit(main())
