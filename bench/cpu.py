"""Measures offkit's CPU device beside Intel's OpenCL runtime and PoCL: ./dev bench cpu [--pocl LIBRARY] [ROW...]

The same kernels, inputs and checks for all; offkit and Intel's runtime get SPIR-V, Debian's PoCL OpenCL C, since it takes
no SPIR-V. A PoCL that does is measured too where --pocl names its library; one of a later distribution in a folder that
debootstrap made (FOLDER/usr/lib/x86_64-linux-gnu/libpocl.so.2) runs with the system libraries of that folder. Each driver's results have to equal those
of Intel's, whose library is in the folder that BENCH_INTEL names. Rows go by the words in their names. What the machine
can do is measured in the same run: GB/s as a triad in memory, GFLOP/s as multiply-adds in registers; what fits the caches
goes beyond the first. Exits with 1 if a goal is missed.
"""

import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from measure import FOLDER, RELEASE, ROOT

KERNELS = ROOT / "bench" / "cpu" / "kernels.cl"
OWN = FOLDER / "cpu"
HOST = OWN / "host"
PASSES = 3
SECONDS = 0.5  # for one row of one driver in one pass
MI = 1 << 20


@dataclass
class Row:
    """One kernel with its inputs, and what one launch does, in units a second."""

    title: str
    kernel: str
    range: str
    local: str
    arguments: str
    work: float
    unit: str
    tolerance: float = 1e-4


def streams(count, buffers, size=4):
    return count * buffers * size / 1e9


ROWS = [
    Row("vector add, 64 K", "vector_add", f"{64 << 10}", "256",
        "random:f32:65536:0:1 random:f32:65536:0:1 out:f32:65536", streams(64 << 10, 3), "GB/s"),
    Row("vector add, 16 M", "vector_add", f"{16 * MI}", "256",
        f"random:f32:{16 * MI}:0:1 random:f32:{16 * MI}:0:1 out:f32:{16 * MI}", streams(16 * MI, 3), "GB/s"),
    Row("vector add, 16 M, any local size", "vector_add", f"{16 * MI}", "-",
        f"random:f32:{16 * MI}:0:1 random:f32:{16 * MI}:0:1 out:f32:{16 * MI}", streams(16 * MI, 3), "GB/s"),
    Row("saxpy with a guard, 16 M", "saxpy", f"{16 * MI}", "256",
        f"f32:2.5 random:f32:{16 * MI}:0:1 out:f32:{16 * MI} i32:{16 * MI - 5}", streams(16 * MI, 2), "GB/s"),
    Row("saxpy, f16, 16 M", "saxpy_f16", f"{16 * MI}", "256",
        f"random:f16:{16 * MI}:0:1 out:f16:{16 * MI}", streams(16 * MI, 2, 2), "GB/s", 4e-3),
    Row("stencil, 4096 x 2048", "stencil", "4096x2048", "64x4",
        f"random:f32:{8 * MI}:0:1 out:f32:{8 * MI} i32:4096 i32:2048", streams(8 * MI, 2), "GB/s"),
    Row("convolution, 7 x 7", "convolve", "2048x1024", "64x4",
        f"random:f32:{2 * MI}:0:1 random:f32:49:0:1 out:f32:{2 * MI} i32:2048 i32:1024", 2 * MI * 98 / 1e9, "GFLOP/s"),
    Row("transposition, tiled", "transpose", "4096x2048", "16x16",
        f"random:f32:{8 * MI}:0:1 out:f32:{8 * MI} i32:4096 i32:2048", streams(8 * MI, 2), "GB/s"),
    Row("gather, 8 M", "gather", f"{8 * MI}", "256",
        f"random:i32:{8 * MI}:0:{8 * MI} random:f32:{8 * MI}:0:1 out:f32:{8 * MI}", 8 * MI / 1e9, "Gelem/s"),
    Row("sparse product, 32 in a row", "sparse", f"{MI // 4}", "64",
        f"steps:i32:{MI // 4 + 1}:32 random:i32:{8 * MI}:0:{MI // 4} random:f32:{8 * MI}:0:1 "
        f"random:f32:{MI // 4}:0:1 out:f32:{MI // 4}", 8 * MI * 2 / 1e9, "GFLOP/s"),
    Row("matrix product, naive, 512", "matrix_naive", "512x512", "64x4",
        f"random:f32:{MI // 4}:0:1 random:f32:{MI // 4}:0:1 out:f32:{MI // 4} i32:512", 2 * 512**3 / 1e9, "GFLOP/s"),
    Row("matrix product, tiled, 512", "matrix_tiled", "512x512", "16x16",
        f"random:f32:{MI // 4}:0:1 random:f32:{MI // 4}:0:1 out:f32:{MI // 4} i32:512", 2 * 512**3 / 1e9, "GFLOP/s"),
    Row("bodies, 8192", "bodies", "8192", "64",
        "random:f32:32768:0:1 out:f32:32768 i32:8192", 20 * 8192**2 / 1e9, "GFLOP/s", 1e-3),
    Row("bodies, tiled, 8192", "bodies_tiled", "8192", "64",
        "random:f32:32768:0:1 out:f32:32768 i32:8192 local:1024", 20 * 8192**2 / 1e9, "GFLOP/s", 1e-3),
    Row("options (exp, log)", "options", f"{2 * MI}", "64",
        f"random:f32:{2 * MI}:5:30 random:f32:{2 * MI}:1:100 random:f32:{2 * MI}:0.25:10 out:f32:{2 * MI}",
        2 * MI / 1e9, "Gopt/s", 1e-3),
    Row("sin and cos", "waves", f"{2 * MI}", "64",
        f"random:f32:{2 * MI}:-10:10 out:f32:{2 * MI}", 2 * MI / 1e9, "Gelem/s"),
    Row("mandelbrot", "mandelbrot", "1024x1024", "64x1",
        f"out:i32:{MI} i32:1024 i32:1024 i32:256", MI / 1e9, "Gpixel/s", 0),
    Row("reduction, barriers", "reduce", f"{4 * MI}", "256",
        f"random:f32:{4 * MI}:0:1 out:f32:{4 * MI // 256} local:1024", streams(4 * MI, 1), "GB/s"),
    Row("reduction, sub-groups", "reduce_sub_groups", f"{4 * MI}", "256",
        f"random:f32:{4 * MI}:0:1 out:f32:{4 * MI // 256} local:1024", streams(4 * MI, 1), "GB/s"),
    Row("scan", "scan", f"{4 * MI}", "256",
        f"random:f32:{4 * MI}:0:1 out:f32:{4 * MI} local:1024", streams(4 * MI, 2), "GB/s"),
    Row("histogram, global atomics", "histogram", f"{2 * MI}", "256",
        f"random:i32:{2 * MI}:0:256 out:i32:256", 2 * MI / 1e9, "Gatom/s", 0),
    Row("histogram, local atomics", "histogram_local", f"{MI // 4}", "64",
        f"random:i32:{4 * MI}:0:256 out:i32:256 i32:16", 4 * MI / 1e9, "Gatom/s", 0),
    Row("sort step", "sort_step", f"{4 * MI}", "256",
        f"random:i32:{4 * MI}:0:{1 << 30} out:i32:{4 * MI} i32:64 i32:1024", streams(4 * MI, 2), "GB/s", 0),
    Row("fourier step", "fourier_step", f"{MI}", "256",
        f"random:f32:{4 * MI}:-1:1 out:f32:{4 * MI} i32:64", streams(4 * MI, 2), "GB/s", 1e-3),
    Row("integer mixing", "mix_bits", f"{MI}", "256",
        f"random:i32:{MI}:1:{1 << 30} out:i32:{MI} i32:64", MI * 64 * 6 / 1e9, "Gop/s", 0),
    Row("polynomial, f64", "polynomial_f64", f"{MI}", "256",
        f"random:f64:{MI}:0:1 out:f64:{MI}", MI * 128 / 1e9, "GFLOP/s", 1e-9),
    Row("exp, f64", "exp_f64", f"{MI}", "256",
        f"random:f64:{MI}:-10:10 out:f64:{MI}", MI / 1e9, "Gelem/s", 1e-9),
]  # fmt: skip

# In no mean and with no goal: two cores that fight over 256 counters settle at the same, whoever made the code.
LEFT_OUT = {"histogram, global atomics"}

EMPTY = [("launch and finish, 1 item", "1", "1", 1.5), ("launch and finish, 64 x 64 items", "4096", "64", 3.0)]

# From the start of a process to the first result: little work, so that building is what takes time.
FIRST = [
    Row("first vector add", "vector_add", "1024", "64", "random:f32:1024:0:1 random:f32:1024:0:1 out:f32:1024", 0, ""),
    Row("first bodies", "bodies_tiled", "256", "64", "random:f32:1024:0:1 out:f32:1024 i32:256 local:1024", 0, "", 1e-3),
    Row("first matrix product, tiled", "matrix_tiled", "64x64", "16x16",
        "random:f32:4096:0:1 random:f32:4096:0:1 out:f32:4096 i32:64", 0, ""),
    Row("first options", "options", "1024", "64",
        "random:f32:1024:5:30 random:f32:1024:1:100 random:f32:1024:0.25:10 out:f32:1024", 0, "", 1e-3),
    Row("first histogram, local", "histogram_local", "1024", "64", "random:i32:16384:0:256 out:i32:256 i32:16", 0, "", 0),
]  # fmt: skip


@dataclass
class Driver:
    """An OpenCL driver, and what kind of module it gets."""

    name: str
    takes_spirv: bool
    variables: dict
    # What starts a program for it.
    starter: tuple = ()


def icd(name, library):
    """The variables by which the loader finds one driver alone."""
    folder = OWN / f"{name}.drivers"
    folder.mkdir(exist_ok=True)
    (folder / "one.icd").write_text(f"{library}\n")
    return {"OCL_ICD_VENDORS": f"{folder}/", "OCL_ICD_FILENAMES": ""}


def newer_pocl_driver(library):
    """A PoCL that takes SPIR-V. One in a root that is not this machine's needs the libc that is there, and so does the
    program that translates SPIR-V for it."""
    driver = Driver("pocl/spv", True, icd("pocl-spirv", library))
    folder = Path(library).resolve().parent
    for root in folder.parents[:-1]:
        loader = root / "lib64/ld-linux-x86-64.so.2"
        if not loader.exists():
            continue
        driver.starter = (loader, "--library-path", folder)
        for translator in root.glob("usr/bin/llvm-spirv-*"):
            script = OWN / "llvm-spirv"
            script.write_text(f'#!/bin/sh\nexec {loader} --library-path {folder} {translator} "$@"\n')
            script.chmod(0o755)
            driver.variables["POCL_PATH_LLVM_SPIRV"] = str(script)
    return driver


def drivers(newer_pocl):
    """Intel's first: what it writes is what the others have to write."""
    library = Path(os.environ["BENCH_INTEL"])
    found = [
        Driver("intel", True, icd("intel", library / "libintelocl.so") | {"LD_LIBRARY_PATH": str(library)}),
        Driver("offkit", True, icd("offkit", RELEASE / "liboffkit_opencl.so")),
    ]
    found[1].variables |= {"OFFKIT_CPU_COMPILE": "1", "OFFKIT_LLVM_WORKER": str(RELEASE / "offkit-cpu-worker")}
    for line in Path("/etc/OpenCL/vendors/pocl.icd").read_text().split():
        found.append(Driver("pocl", False, icd("pocl", line)))
    if newer_pocl:
        found.append(newer_pocl_driver(newer_pocl))
    return found


def module(kernel):
    """A kernel, with what it calls, as OpenCL C and as SPIR-V."""
    kernels = re.compile(r"^kernel void (\w+)\((?:[^\n]*\}\n|.*?^\}\n)", re.MULTILINE | re.DOTALL)
    path = OWN / f"{kernel}.cl"
    path.write_text(kernels.sub(lambda found: found[0] if found[1] == kernel else "", KERNELS.read_text()))
    spirv = path.with_suffix(".spv")
    target = ["--target=spirv64v1.2", "-cl-std=CL3.0", "-O2", "-c"]
    subprocess.run(["clang-22", *target, path, "-o", spirv], check=True)
    return path, spirv


def command(driver, paths, row, seconds, cache=None):
    """The host program for a row, and its environment."""
    reference = OWN / f"{row.title.replace(' ', '-')}.expected"
    path = paths[1] if driver.takes_spirv else paths[0]
    words = [*driver.starter, HOST, path, row.kernel, row.range, row.local, reference, row.tolerance, seconds, *row.arguments.split()]
    caches = str(cache or OWN / "cache")
    variables = driver.variables | {"XDG_CACHE_HOME": caches, "POCL_CACHE_DIR": caches}
    return [str(word) for word in words], os.environ | variables


def launch(driver, paths, row, seconds, cache=None):
    """Milliseconds to the first result, and seconds for a launch; nothing where the driver can't do it."""
    words, environment = command(driver, paths, row, seconds, cache)
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode == 3:
        return None
    if done.returncode:
        sys.exit(f"{row.title}, {driver.name}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return [float(word) for word in done.stdout.split()]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def line(title, cells, rest=""):
    print(f"{title:36s}" + "".join(f"{cell:>11s}" for cell in cells) + f"  {rest}", flush=True)


def roofline():
    """What the machine can do at most, by the units of rows: of f64 apart."""
    program = OWN / "roofline"
    flags = ["-O3", "-march=native", "-ffp-contract=fast", "-Wall", "-pthread"]
    subprocess.run(["cc", *flags, "-o", program, KERNELS.with_name("roofline.c")], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    copy, triad, single, double = map(float, done.stdout.split())
    print(f"the machine: copy {copy:.1f} GB/s, triad {triad:.1f} GB/s, multiply-adds {single:.0f} GFLOP/s of f32 and "
          f"{double:.0f} of f64", flush=True)  # fmt: skip
    return {"GB/s": triad, "GFLOP/s": single, "GFLOP/s of f64": double}


def throughput(found, rows):
    """All rows in turn on all drivers; the median of the passes' medians."""
    missed = []
    most = roofline()
    ratios = {driver.name: [] for driver in found}
    for row in rows:
        # One by one: PoCL 7.1 takes no module with all of them.
        paths = module(row.kernel)
        times = {driver.name: [] for driver in found}
        for _ in range(PASSES):
            for driver in found:
                if one := launch(driver, paths, row, SECONDS):
                    times[driver.name].append(one[2])
        rates = {name: row.work / statistics.median(series) for name, series in times.items() if series}
        verdict = "not run by offkit" if "offkit" not in rates else ""
        for name, rate in rates.items() if "offkit" in rates else ():
            if name != "offkit" and row.title not in LEFT_OUT:
                ratios[name].append(rates["offkit"] / rate)
        if "offkit" in rates and "intel" in rates:
            ratio = rates["offkit"] / rates["intel"]
            verdict = f"{ratio:.2f} of intel" + (", MISSED" if ratio < 0.95 and row.title not in LEFT_OUT else "")
        unit = f"{row.unit} of f64" if "f64" in row.title else row.unit
        if "offkit" in rates and unit in most:
            verdict = f"{rates['offkit'] / most[unit]:4.0%} of the machine, {verdict}"
        if verdict.endswith("MISSED") or "offkit" not in rates:
            missed.append(row.title)
        cells = [f"{rates[driver.name]:.3g}" if driver.name in rates else "-" for driver in found]
        line(f"{row.title}, {row.unit}", cells, verdict)
    for name, goal in (("intel", 1.5), ("pocl", 4.0), ("pocl/spv", 3.2)):
        if ratios.get(name):
            value = mean(ratios[name])
            print(f"geometric mean, offkit : {name}: {value:.2f} over {len(ratios[name])} rows, at least {goal}, "
                  f"{'met' if value >= goal else 'MISSED'}")  # fmt: skip
            if value < goal:
                missed.append(f"the mean to {name}")
    return missed


def launches(found):
    missed = []
    paths = module("empty")
    for title, count, local, goal in EMPTY:
        row = Row(title, "empty", count, local, "", 0, "µs")
        times = {driver.name: launch(driver, paths, row, 0.3) for driver in found}
        own = times["offkit"][2] * 1e6
        line(f"{title}, µs", [f"{one[2] * 1e6:.2f}" if one else "-" for one in times.values()],
             f"at most {goal}, {'met' if own <= goal else 'MISSED'}")  # fmt: skip
        if own > goal:
            missed.append(title)
    return missed


def firsts(found):
    """From a process's start to its first result, with empty caches and then from them."""
    missed = []
    for row in FIRST:
        paths = module(row.kernel)
        for which, goal in (("new", 20.0), ("cached", 1.0)):
            cells = []
            for driver in found:
                series = []
                for _ in range(PASSES):
                    cache = OWN / f"first.{driver.name.replace('/', '-')}"
                    if which == "new":
                        shutil.rmtree(cache, ignore_errors=True)
                        cache.mkdir()
                    if one := launch(driver, paths, row, 0, cache):
                        series.append(one[0])
                cells.append(min(series) if series else None)
            own = cells[1]
            met = own is not None and own <= goal
            shown = [f"{cell:.1f}" if cell is not None else "-" for cell in cells]
            line(f"{row.title}, {which}, ms", shown, f"at most {goal}, {'met' if met else 'MISSED'}")
            if not met:
                missed.append(f"{row.title}, {which}")
    return missed


def resident(process):
    """MB of memory that a process has."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def children(process):
    """The processes that a process has started, and that run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # It has ended meanwhile.
            continue
        if parent == str(process) and state != "Z":
            found.append(status.parent.name)
    return found


def memory(found):
    """What a device costs whose kernels are compiled, in the host and in its worker, which ends when it has no work."""
    offkit = next(driver for driver in found if driver.name == "offkit")
    cache = OWN / "memory"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    words, environment = command(offkit, module("empty"), Row("memory", "empty", "1", "1", "", 0, ""), -20, cache)
    host = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    try:
        time.sleep(3)
        [worker] = children(host.pid)
        ours, workers = resident(host.pid), resident(worker)
        time.sleep(10)
        is_gone = not children(host.pid)
    finally:
        host.kill()
        host.wait()
    missed = []
    for title, size, goal in (("memory of the host, MB", ours, 20), ("memory of its worker, MB", workers, 40)):
        met = size <= goal
        line(title, ["", f"{size:.1f}"], f"at most {goal}, {'met' if met else 'MISSED'}")
        if not met:
            missed.append(title)
    print(f"the worker is {'gone, met' if is_gone else 'there, MISSED'}, 10 seconds after its last work")
    return missed if is_gone else [*missed, "the worker's end"]


def main():
    words = sys.argv[1:]
    newer_pocl = None
    if "--pocl" in words:
        at = words.index("--pocl")
        newer_pocl = words[at + 1]
        del words[at : at + 2]
    rows = [row for row in ROWS if not words or any(word in row.title for word in words)]
    OWN.mkdir(parents=True, exist_ok=True)
    for old in OWN.glob("*.expected"):
        old.unlink()
    build = ["cargo", "build", "--quiet", "--release", "-p", "offkit-opencl-front", "-p", "offkit-llvm-worker"]
    subprocess.run(build, check=True)
    source = KERNELS.with_name("host.c")
    subprocess.run(["cc", "-O2", "-Wall", "-o", HOST, source, "-l:libOpenCL.so.1", "-lm"], check=True)
    found = drivers(newer_pocl)
    line("", [driver.name for driver in found])
    missed = throughput(found, rows)
    if not words:
        missed += launches(found) + firsts(found) + memory(found)
    if missed:
        print(f"missed: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
