"""Measures what OpenCL costs through offkit, beside a driver by itself and dpctl: ./dev bench opencl

Intel's runtime for CPUs is the driver, and dpctl's package brings the SYCL runtime over it; both come out of Python's
package index, under their vendors' licence, and stay in target/bench/dpctl. BENCH_PYTHON names an interpreter that has
them already.
"""

import functools
import os
import statistics
import subprocess
import sys
from pathlib import Path

from measure import FOLDER, RELEASE, ROOT

PACKAGES = ["dpctl==0.22.1", "intel-opencl-rt==2026.2.0"]
ROUNDS = 20
missed = []


def words(command, **environment):
    """What a command prints, as words."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout.split()


def python():
    """An interpreter with dpctl and Intel's runtime."""
    if named := os.environ.get("BENCH_PYTHON"):
        return Path(named)
    folder = FOLDER / "dpctl"
    if not (folder / "lib" / "libintelocl.so").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", *PACKAGES], check=True)
    return folder / "bin" / "python"


def row(title, ours, theirs, unit, goal):
    """A row of the table: ours may take so many times as long as theirs."""
    ratio = ours / theirs
    word = "no goal" if goal is None else f"at most {goal}, {'met' if ratio <= goal else 'MISSED'}"
    if goal is not None and ratio > goal:
        missed.append(title)
    print(f"{title:66s} {ours:9.2f} {theirs:9.2f} {unit}  {ratio:6.2f}  {word}", flush=True)


def compiled(name, *libraries):
    program = FOLDER / Path(name).stem
    subprocess.run(["cc", "-O1", "-w", "-o", program, ROOT / name, *libraries], check=True)
    return program


@functools.cache
def empty_kernel():
    """A file with the SPIR-V of a kernel that does nothing."""
    source = FOLDER / "empty.cl"
    source.write_text("kernel void empty() {}\n")
    spirv = source.with_suffix(".spv")
    target = ["--target=spirv64v1.2", "-cl-std=CL3.0", "-O1", "-c"]
    subprocess.run(["clang-22", *target, source, "-o", spirv], check=True)
    return spirv


def by_dpctl(interpreter, driver):
    """The empty kernel, launched by dpctl and waited for: the least and the median time, in microseconds."""
    launch = [interpreter, ROOT / "bench" / "dpctl_launch.py", empty_kernel()]
    return [float(time) / 1e3 for time in words(launch, **driver)]


def launches(interpreter, driver):
    """An empty kernel, launched and waited for."""
    bench = ["cargo", "bench", "--quiet", "-p", "offkit-plugin-opencl", "--bench", "launch"]
    by_name = {}
    found = words(bench, **driver)
    text = " ".join(found)
    for name in ("driver, event", "host side"):
        rest = text.split(f"{name} least ")[1].split()
        by_name[name] = (float(rest[0]) / 1e3, float(rest[3]) / 1e3)
    dpctl = by_dpctl(interpreter, driver)
    for index, which in enumerate(("least", "median")):
        ours, raw = by_name["host side"][index], by_name["driver, event"][index]
        row(f"launch and wait, {which}: host side | the driver", ours, raw, "µs", 1.15 if index else None)
        row(f"launch and wait, {which}: host side | dpctl", ours, dpctl[index], "µs", None)
        # The driver by itself takes more than half of dpctl's time, so what each adds to it is compared.
        added = (ours - raw, dpctl[index] - raw)
        row(f"launch and wait, {which}, over the driver's: host side | dpctl", *added, "µs", 0.5 if index else None)


def registered(name, library):
    """What makes a loader find this driver alone: Debian's takes no library for OCL_ICD_VENDORS."""
    drivers = FOLDER / name
    drivers.mkdir(exist_ok=True)
    (drivers / "driver.icd").write_text(f"{library}\n")
    return {"OCL_ICD_VENDORS": str(drivers), "OCL_ICD_FILENAMES": ""}


def front(interpreter, driver):
    """The same on offkit's CPU device, which a program of OpenCL uses as it uses any driver, and dpctl; and its queries."""
    program = compiled("tests/opencl/front.c", "-l:libOpenCL.so.1")
    ours = registered("offkit-driver", RELEASE / "liboffkit_opencl.so")
    theirs = driver | registered("intel-driver", driver["OCL_ICD_FILENAMES"])
    nanoseconds = float(words([program, "round-trip"], **ours)[0])
    row("launch and finish through the front | 2 µs", nanoseconds / 1e3, 2.0, "µs", 1)
    _, dpctl = by_dpctl(interpreter, driver | ours)
    row("launch and finish through the front | dpctl on the front, median", nanoseconds / 1e3, dpctl, "µs", 0.5)
    queries = [float(words([program, "queries"], **which)[0]) for which in (ours, theirs)]
    row("clGetDeviceInfo: the front | Intel's runtime", *queries, "ns", None)


def discovery(driver):
    """Finding the devices of one driver, in fresh processes and in turn."""
    ours = [RELEASE / "examples" / "discover"]
    ours.append(RELEASE / "liboffkit_plugin_opencl.so")
    theirs = [compiled("bench/discover.c", "-ldl"), driver["OCL_ICD_FILENAMES"]]
    series = ([], [])
    for _ in range(ROUNDS + 1):
        for command, times in zip((ours, theirs), series):
            count, seconds = words(command, **driver)
            if int(count) != 1:
                sys.exit(f"{count} devices by {command[0]}")
            times.append(float(seconds) * 1e3)
    # The first of each warms caches up.
    least = [min(times[1:]) for times in series]
    row("finding one driver's devices, least: offkit | the driver", *least, "ms", 1.2)
    medians = [statistics.median(times[1:]) for times in series]
    row("finding one driver's devices, median: offkit | the driver", *medians, "ms", None)


def warm(driver):
    """A first launch in fresh processes: built from the cache, and the driver's own load of what it has built."""
    ours = [ROOT / "target" / "release" / "examples" / "warm"]
    ours.append(ROOT / "target" / "release" / "liboffkit_plugin_opencl.so")
    spirv = empty_kernel()
    binary = FOLDER / "first.bin"
    binary.unlink(missing_ok=True)
    kept = driver | {"XDG_CACHE_HOME": str(FOLDER / "cache")}
    series = ([], [], [])
    for _ in range(ROUNDS + 1):
        times = [
            words([*ours, spirv, "empty", "cache"], **kept),
            words([*ours, spirv, "empty", binary], **driver),
            words([*ours, spirv, "empty", "images"], **driver, OFFKIT_CACHE="off"),
        ]
        for time, found in zip(times, series):
            found.append(float(time[0]))
    # The first of each fills the cache, and writes what the driver has built.
    least = [min(times[1:]) for times in series]
    row("a first launch, least: from the cache | the driver's own load", *least[:2], "ms", None)
    row("a first launch, least: from the cache | built", least[0], least[2], "ms", None)
    medians = [statistics.median(times[1:]) for times in series]
    over = medians[0] - medians[1]
    row("a first launch from the cache, over the driver's own load | 5 ms", over, 5.0, "ms", 1)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    build = ["cargo", "build", "--quiet", "--release"]
    subprocess.run([*build, "-p", "offkit-opencl-front", "-p", "offkit-plugin-opencl"], check=True)
    subprocess.run([*build, "-p", "offkit-runtime", "--example", "discover", "--example", "warm"], check=True)
    interpreter = python()
    library = interpreter.parent.parent / "lib"
    driver = {
        "LD_LIBRARY_PATH": str(library),
        "OCL_ICD_FILENAMES": str(library / "libintelocl.so"),
        "OCL_ICD_VENDORS": "/nowhere/",
    }
    print(f"{'':66s} {'ours':>9s} {'theirs':>9s}      {'ratio':>6s}")
    discovery(driver)
    warm(driver)
    front(interpreter, driver)
    launches(interpreter, driver)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
