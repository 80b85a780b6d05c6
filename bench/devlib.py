#!/usr/bin/env python3
"""Measures late linking of libclc beside llvm-link: ./dev bench devlib

A small kernel needs two functions of libclc, 4 MB of bitcode with thousands of functions. The first row is the
link alone: of `offkit link --time` the steps up to the linked module, the library found and LLVM started in them,
beside the whole of `llvm-link --only-needed --internalize`. The second row is all of both ways to PTX, the other
one through opt and llc. Both of a row run in turn. Exits with 1 if a goal is missed, with 3 if libclc is not installed."""

import re
import statistics
import subprocess
import sys
from pathlib import Path

from measure import FOLDER, in_turn, prepare, run

LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
SOURCE = "kernel void k(global float *a) { size_t i = get_global_id(0); a[i] = sinpi(a[i]) + cbrt(a[i]); }\n"
TARGET = ["--target=nvptx64-nvidia-cuda", "-march=sm_60", "--cuda-feature=+ptx60", "-nogpulib"]
# What is done until the module is linked.
STEPS = ["read", "find libraries", "start LLVM", "link bitcode"]
UNITS = {"µs": 1e-3, "ms": 1.0, "s": 1e3}
ROUNDS = 20
# At most so many times what the peer takes.
GOAL = 1.0
# At most so many milliseconds until the module is linked, on a machine that does nothing else; 18.7 on 2026-11-22.
MOST = 20.0

OURS = ["offkit", "link", "k.bc", "-lclc", "--format", "offload", "--allow-undefined", "--no-default-device-libs", "-o", "k.out"]
LINK = ["llvm-link", "--only-needed", "--internalize", "k.bc", LIBCLC, "-o", "linked.bc"]
PASSES = "internalize,globaldce,default<O2>"
REST = f"opt '-passes={PASSES}' --internalize-public-api-list=k linked.bc -o opt.bc && llc -mcpu=sm_60 -mattr=+ptx60 opt.bc -o k.ptx"


def step_times(folder):
    """Milliseconds of our steps until the module is linked."""
    done = subprocess.run([*OURS, "--time"], cwd=folder, capture_output=True, text=True, check=True)
    times = dict.fromkeys(STEPS, 0.0)
    for number, unit, name in re.findall(r"^ *([\d.]+) (µs|ms|s)  (.+)$", done.stderr, re.MULTILINE):
        if name in times:
            times[name] = float(number) * UNITS[unit]
    return times


def row(title, ours, theirs):
    """Prints a row; whether its goal is met."""
    ratio = min(ours) / min(theirs)
    is_met = ratio <= GOAL
    print(
        f"{title:44} {min(ours):8.1f} {statistics.median(ours):8.1f}   {min(theirs):8.1f} {statistics.median(theirs):8.1f}"
        f"   {ratio:6.2f}  at most {GOAL:g}, {'met' if is_met else 'MISSED'}"
    )
    return is_met


def main():
    if not LIBCLC.exists():
        sys.exit("please install libclc-22")
    prepare()
    folder = FOLDER / "devlib"
    folder.mkdir(exist_ok=True)
    (folder / "k.cl").write_text(SOURCE)
    compiler = ["clang-22", *TARGET, "-cl-std=CL3.0", "-O1", "-emit-llvm", "-c", "k.cl", "-o", "k.bc"]
    subprocess.run(compiler, cwd=folder, check=True)
    print(f"{'milliseconds':44} {'ours min':>8} {'median':>8}   {'peer min':>8} {'median':>8}   {'ratio':>6}")
    steps, theirs = [], []
    for _ in range(ROUNDS):
        steps.append(step_times(folder))
        theirs.append(run(LINK, folder).wall * 1e3)
    sums = [sum(times.values()) for times in steps]
    is_met = row("link 2 functions of libclc | llvm-link", sums, theirs)
    is_met &= (fast_enough := min(sums) <= MOST)
    print(f"    at most {MOST:g} ms, {'met' if fast_enough else 'MISSED'}")
    best = min(steps, key=lambda times: sum(times.values()))
    print("    of which " + ", ".join(f"{name} {time:.1f}" for name, time in best.items()))
    shell = " ".join(str(word) for word in LINK) + " 2>/dev/null && " + REST
    ours, theirs = in_turn([OURS, ["sh", "-c", shell]], folder, most=ROUNDS)
    times = [[one.wall * 1e3 for one in series.runs] for series in (ours, theirs)]
    is_met &= row("the same to PTX | llvm-link, opt, llc", *times)
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
