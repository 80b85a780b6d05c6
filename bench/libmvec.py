#!/usr/bin/env python3
"""Measures the mathematics of compiled kernels beside glibc's libmvec: ./dev bench libmvec [--every] [FUNCTION...]

Functions of one and two numbers, of single and double precision, on one thread and in turn, for AVX-512 and for AVX2: a kernel
with the CPU device's own algorithm, a loop that calls libmvec's function, and the kernel as the device compiles it, which calls
libmvec where that is the faster. Errors are those on four million arguments of all magnitudes, against 80-bit numbers; with
--every, those of libmvec's functions of one number of single precision on all arguments, which takes minutes for each. Says so,
and ends, where there is no libmvec or no AVX-512. There is no goal.
"""

import ctypes
import os
import subprocess
import sys

from cpu import icd
from measure import FOLDER, RELEASE, ROOT

SOURCES = ROOT / "bench" / "libmvec"
OWN = FOLDER / "libmvec"
SECONDS = "0.5"  # of turns, for each function
SAMPLES = str(1 << 22)
LEVELS = {"AVX-512": "x86-64-v4", "AVX2": "x86-64-v3"}


def compiled(source, *options):
    """A program in C."""
    program = OWN / source.removesuffix(".c")
    subprocess.run(["cc", "-O2", "-Wall", "-o", program, SOURCES / source, *options, "-lm"], check=True)
    return program


def end_unless_right(code):
    """Ends as a program has that did not measure: where something is missing, that is no failure."""
    if code == 3:
        print("SKIPPED: see above", file=sys.stderr)
        sys.exit(0)
    if code:
        sys.exit(code)


def every(functions):
    """Errors on all arguments."""
    print("| function of single precision | bound | libmvec, AVX-512 | libmvec, AVX2 |\n|---|---|---|---|", flush=True)
    with subprocess.Popen([compiled("every.c", "-pthread"), *functions], stdout=subprocess.PIPE, text=True) as program:
        for row in program.stdout:
            name, bound, wide, narrow, *_ = row.split()
            print(f"| `{name}` | {bound} | {float(wide):.2f} | {float(narrow):.2f} |", flush=True)
    end_unless_right(program.returncode)


def rows(program, module, functions, level, libmvec, samples):
    """Numbers by function and precision: the kernel's rate, libmvec's two, and the errors of the three."""
    variables = icd("offkit", RELEASE / "liboffkit_opencl.so") | {
        "OFFKIT_CPU_COMPILE": "1",
        "OFFKIT_CPU_LIBMVEC": libmvec,
        "OFFKIT_CPU_PROCESSOR": level,
        "OFFKIT_CPU_THREADS": "1",
        "OFFKIT_LLVM_WORKER": str(RELEASE / "offkit-cpu-worker"),
        "XDG_CACHE_HOME": str(OWN / "cache"),
    }
    command = [program, module, SECONDS, samples, *functions]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ | variables)
    end_unless_right(output.returncode)
    words = (line.split() for line in output.stdout.splitlines())
    return {(name, precision, bound): list(map(float, numbers[:6])) for name, precision, bound, *numbers in words}


def main():
    functions = sys.argv[1:]
    try:
        ctypes.CDLL("libmvec.so.1")
    except OSError as error:
        print(f"SKIPPED: this machine has no libmvec: {error}", file=sys.stderr)
        return 0
    (FOLDER / "cpu").mkdir(parents=True, exist_ok=True)
    OWN.mkdir(exist_ok=True)
    if "--every" in functions:
        every([name for name in functions if name != "--every"])
        return 0
    module, program = OWN / "kernels.spv", compiled("measure.c", "-l:libOpenCL.so.1")
    target = ["--target=spirv64v1.2", "-cl-std=CL3.0", "-O2", "-c"]
    subprocess.run(["clang-22", *target, SOURCES / "kernels.cl", "-o", module], check=True)
    own, default = {}, {}
    for number, (name, level) in enumerate(LEVELS.items()):
        own[name] = rows(program, module, functions, level, "0", SAMPLES if number == 0 else "0")
        default[name] = rows(program, module, functions, level, "1", "0")
    print("Numbers a nanosecond: by the own algorithm, by libmvec, and by the kernel as it is compiled. Then errors in units")
    print("in the last place beside OpenCL's bound: of the own algorithm, of libmvec for AVX-512 and of libmvec for AVX2\n")
    print("| function | own, AVX-512 | libmvec | kernel | own, AVX2 | libmvec | kernel | bound | own | AVX-512 | AVX2 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for key, (_, _, _, *errors) in own["AVX-512"].items():
        function, precision, bound = key
        cells = [f"`{function}`, {precision}"]
        for column, name in enumerate(LEVELS, 1):
            rates = own[name][key][0], own[name][key][column], default[name][key][0]
            cells += [f"{rate:.2f}" for rate in rates]
        cells += [bound, *(f"{error:.2f}" for error in errors)]
        print(f"| {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
