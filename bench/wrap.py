"""Measures wrapping and linking device code into programs beside LLVM's clang-linker-wrapper: ./dev bench wrap

`./dev bench wrap openmp` measures the links of a program with an OpenMP region alone.

Milliseconds are of the whole process; `faster` is the median over the pairs; memory is the peak of the resident set.
A peer that takes more than the time limit is stopped and counts as that fast. The last rows have no peer that ends:
they show that the time grows as the number of images does.
"""

import subprocess
import sys
from pathlib import Path

import make_inputs
from containers import heading, missed, row, scratch_folder
from make_inputs import KIB
from measure import FOLDER, in_turn, prepare

WRAPPER = ["offkit", "as", "clang-linker-wrapper"]
PEER = ["clang-linker-wrapper"]
HOST = ["--host-triple=x86_64-unknown-linux-gnu", "--linker-path=/usr/bin/ld"]
OPENMP = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]
# Times as much for ten times as many images; above this, it grows faster than the number does.
STEEPEST = 1.5

MAIN = """
#include <stdio.h>
int main() {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 42;
  printf("%d\\n", x);
}
"""


def wrappers(title, goal, arguments, **options):
    row(title, goal, [*WRAPPER, *arguments], [*PEER, *arguments], **options)


def program(out):
    """A small program with a region for the device: the whole link, most of which is clang and ld."""
    (out / "main.c").write_text(MAIN)
    (out / "bin").mkdir()
    offkit = subprocess.run(["sh", "-c", "command -v offkit"], capture_output=True, text=True, check=True)
    (out / "bin" / "clang-linker-wrapper").symlink_to(offkit.stdout.strip())
    for what, options in (("", OPENMP), (", bitcode", [*OPENMP, "-foffload-lto"])):
        subprocess.run(["clang-22", *options, "-c", "main.c"], cwd=out, check=True)
        link = [*options, "main.o", "-o"]
        theirs = ["clang-22", *link, "theirs"]
        row(f"link an OpenMP region{what}", 1, ["clang-22", f"-B{out / 'bin'}", *link, "ours"], theirs, cwd=out)
        row(f"link an OpenMP region{what}: offkit cc", 1, ["offkit", "cc", *link, "ours"], theirs, cwd=out)


def growth(title, command, package):
    """How long a command takes for 10,000 and for 100,000 images, and whether it computes more for each."""
    times = []
    for count in (10_000, 100_000):
        (series,) = in_turn([command(package(count))], FOLDER, most=5)
        times.append(series)
    slope = times[1].cpu / times[0].cpu / 10
    word = "linear" if slope <= STEEPEST else "GROWS FASTER"
    if slope > STEEPEST:
        missed.append(title)
    print(
        f"{title:50} {times[0].least * 1e3:8.0f} ms {times[1].least * 1e3:8.0f} ms, peak {times[1].peak:6.0f} MiB  {word}",
        flush=True,
    )


def main(arguments):
    prepare()
    with scratch_folder() as name:
        out = Path(name) / "out"
        out.mkdir()
        heading("clang-linker-wrapper")
        if arguments == ["openmp"]:
            program(out)
            sys.exit(bool(missed))
        wrappers("start", 5, ["--version"])
        few = make_inputs.package(8, 10 * KIB)
        wrappers("--dry-run, no device code", 5, [*HOST, "--dry-run", "main.o", "-o", "a.out"])
        wrappers("--dry-run, 8 images", 5, [*HOST, "--dry-run", few, "-o", "a.out"])
        for count in (1_000, 10_000, 100_000):
            many = make_inputs.package(count, 10 * KIB)
            wrappers(f"--dry-run, {count:,} images of 10 KiB", 5, [*HOST, "--dry-run", many, "-o", "a.out"], most=3)
        program(out)

        print(f"\n{'ours alone: 10,000 and 100,000 images of 1 KiB':50}")

        def wrap(kind):
            return lambda path: ["offkit", "-q", "wrap", path, "-o", out / "wrapped.o", "--kind", kind]

        for kind, number in (("sycl-v3", make_inputs.SYCL), ("openmp", make_inputs.OPENMP), ("offload", make_inputs.SYCL)):
            growth(f"wrap as {kind}", wrap(kind), lambda count: make_inputs.package(count, KIB, number))
    if missed:
        print("\nmissed: " + "; ".join(missed), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
