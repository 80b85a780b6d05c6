"""Measures what it costs to register device images: ./dev bench register

Files are registered by their path, as a program does with the libraries it loads. Memory is what the process keeps for
itself; the names of kernels and symbols come on top of what an image may take. The library is out of a wheel of Python's
package index, 10 MB, which stays in target/bench/register.
"""

import json
import os
import struct
import subprocess
import sys
import zipfile

import make_inputs
from measure import FOLDER, RELEASE, ROOT, prepare

PROGRAM = RELEASE / "examples" / "register"
WHEELS = FOLDER / "register"
IMAGES = 100_000
TRIPLE = b"spirv64-unknown-unknown"
# An image may take so much, and all images with a million names so long.
MICROSECONDS, BYTES, SECONDS = 2, 200, 1
# A kernel is found in so many microseconds, by its name in the image and by that in its source.
EXACT, READABLE = 1, 10

missed = []


def blob(number, names):
    """An offload binary with a module that is a header and a number, and the names of its kernels."""
    image = struct.pack("<7I", 0x07230203, 0x10000, 0, 1, 0, 2 << 16 | 17, number)
    strings = b"\0triple\0" + TRIPLE + b"\0symbols\0" + b"\n".join(names) + b"\0"
    places = [1, 8, 8 + len(TRIPLE) + 1, 8 + len(TRIPLE) + 9]
    table = 72 + 2 * 16
    start = -(-(table + len(strings)) // 8) * 8
    whole = start + -(-len(image) // 8) * 8
    head = struct.pack("<IIQQQ", 0xAD10FF10, 1, whole, 32, 40)
    head += struct.pack("<HHIQQQQ", 0, make_inputs.SYCL, 0, 72, 2, start, len(image))
    head += struct.pack("<QQQQ", *(table + place for place in places)) + strings
    return head.ljust(start, b"\0") + image.ljust(whole - start, b"\0")


def kernel(number):
    name = f"kernel{number}"
    return f"_Z{len(name)}{name}Pf".encode()


def package(kernels):
    """The file with so many kernels in each of 100,000 images."""

    def make(path):
        names = ([kernel(image * kernels + own) for own in range(kernels)] for image in range(IMAGES))
        make_inputs.write(path, (blob(image, own) for image, own in enumerate(names)))

    return make_inputs.made(f"{IMAGES}-images-{IMAGES * kernels}-kernels.pkg", make)


def library():
    """A library of dpctl's as it comes out of its wheel."""
    if not list(WHEELS.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.10", "--dest", WHEELS, "dpctl==0.14.5"]
        for platform in ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"):
            command += ["--platform", platform]
        subprocess.run(command, check=True)
    with zipfile.ZipFile(next(WHEELS.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if "/_tensor_impl." in name)
        return WHEELS / name if (WHEELS / name).exists() else wheel.extract(name, WHEELS)


def measured(*arguments):
    """What the program says of each file and kernel, the run with the fastest first file of five."""
    # Else much of what was freed would still count as the process's own.
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": "65536"}
    runs = []
    for _ in range(5):
        done = subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True, env=environment)
        runs.append([json.loads(line) for line in done.stdout.splitlines()])
    return min(runs, key=lambda run: run[0]["seconds"])


def verdict(title, text, is_met):
    if not is_met:
        missed.append(f"{title}: {text}")
    return f"{text}, {'met' if is_met else 'MISSED'}"


def row(title, run, goal_for_all=None):
    images = run["images"]
    each, names = run["seconds"] / images * 1e6, run["names"] / images
    memory = run["bytes"] / images
    if goal_for_all:
        word = verdict(title, f"all in {goal_for_all} s", run["seconds"] <= goal_for_all)
    else:
        word = verdict(title, f"{MICROSECONDS} µs", each <= MICROSECONDS) + "; "
        word += verdict(title, f"{BYTES} B and names", memory <= BYTES + names)
    print(f"{title:44} {run['seconds'] * 1e3:8.1f} ms {each:7.2f} µs {memory:7.0f} B, names {names:5.0f} B   {word}", flush=True)


def look_up(title, run, goal):
    again = run["again"] * 1e6
    word = verdict(title, f"{goal} µs", again <= goal)
    print(f"{title:44} {run['first'] * 1e6:8.1f} µs first, {again:.2f} µs again   {word}", flush=True)


def main():
    prepare()
    WHEELS.mkdir(parents=True, exist_ok=True)
    build = ["cargo", "build", "--release", "--quiet", "-p", "offkit-runtime", "--example", "register"]
    subprocess.run(build, cwd=ROOT, check=True)
    row(f"{IMAGES:,} images, a kernel each", measured(package(1))[0])
    exact, readable = kernel(777_777).decode(), "kernel424242(float*)"
    many, by_symbol, by_name = measured(package(10), "--find", exact, "--find", readable)
    row(f"{IMAGES:,} images, 1,000,000 kernels", many, SECONDS)
    look_up("find one of them by its symbol", by_symbol, EXACT)
    look_up("find one of them by its readable name", by_name, READABLE)
    real = measured(library())[0]
    row(f"dpctl 0.14.5, {real['images']:,} images", real)
    if missed:
        print("\nmissed: " + "; ".join(missed), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
