#!/usr/bin/env python3
"""Measures splitting 400 kernels into 64 images, beside the ways to do it with LLVM's own parts, and how the time of
splitting and linking grows with the number of source files.

Started by `./dev bench post-link`, which builds what is measured. The other ways: LLVM's module cloned for each
image and the rest dropped (bench/clone_split.c), and `llvm-split --split-by-category`, which knows no exports,
imports or properties. Prints tables. Exits with 1 if offkit is not GOAL times as fast as the clones, makes other
images with many cores than with one, or takes more than MOST_GROWTH times as long for four times as many files."""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import FOLDER, in_turn, prepare, run

KERNELS, HELPERS, IMAGES = 400, 3400, 64
GOAL = 4

# Source files, each with a kernel and an exported function of its own, two variables, and a call of another file's
# function; some call in pairs, others all in one chain.
FILES = [250, 500, 1000, 2000]
MOST_GROWTH = 5
GROWTH_LIMIT = 300  # seconds for one run
FILE = """
constant float table_NNN[4] = {1, 2, 3, 4};
global int counter_NNN = 1;
float scale_MMM(float x);
static float helper_NNN(float x) { return x * 2.5f + sin(x) + table_NNN[(int)x & 3]; }
float scale_NNN(float x) { return CALL(helper_NNN(x)) * 2; }
kernel void k_NNN(global float *a) { size_t i = get_global_id(0); a[i] = helper_NNN(a[i]) + scale_MMM(a[i]); counter_NNN++; }
"""


def source():
    """Kernels that each call a few of many helpers, which call one another."""
    lines = ["float shared(float x) { float y = x; for (int i = 0; i < 9; ++i) y = sin(y) * x + cos(y); return y; }"]
    for helper in range(HELPERS):
        callee = f"h{helper // 2}(x + {helper})" if helper > 1 else "shared(x)"
        steps = "".join(f" y = y * {(helper * 13 + i * 7) % 97}.5f + sin(y + {i}.0f);" for i in range(6))
        lines.append(f"float h{helper}(float x) {{ float y = x;{steps} return y + {callee}; }}")
    for kernel in range(KERNELS):
        calls = " + ".join(f"h{(kernel * 8 + j * 37) % HELPERS}(a[i])" for j in range(8))
        lines.append(f"kernel void k{kernel}(global float *a) {{ size_t i = get_global_id(0); a[i] = {calls}; }}")
    return "\n".join(lines) + "\n"


def marked(folder):
    """The module, each kernel marked as coming from one of 64 source files, in both tools' ways."""
    output = folder / "marked.bc"
    if output.exists():
        return output
    (folder / "kernels.cl").write_text(source())
    clang = ["clang-22", "--target=spirv64", "-cl-std=CL3.0", "-O1", "-fno-inline", "-fno-unroll-loops"]
    subprocess.run([*clang, "-S", "-emit-llvm", "kernels.cl", "-o", "kernels.ll"], cwd=folder, check=True)
    kernel = re.compile(r"^(define .*spir_kernel void @k(\d+)\(.*local_unnamed_addr) ", re.MULTILINE)

    def mark(found):
        group = int(found[2]) % IMAGES
        return f'{found[1]} "sycl-module-id"="file{group}" "module-id"="file{group}" '

    text, count = kernel.subn(mark, (folder / "kernels.ll").read_text())
    assert count == KERNELS, count
    (folder / "marked.ll").write_text(text)
    subprocess.run(["llvm-as", "marked.ll", "-o", output], cwd=folder, check=True)
    return output


def clone_split(folder):
    program = folder / "clone_split"
    if not program.exists():
        config = lambda what: subprocess.run(
            ["llvm-config-22", what], check=True, capture_output=True, text=True
        ).stdout.split()
        code = Path(__file__).with_name("clone_split.c")
        flags = [flag for flag in config("--cflags") if not flag.startswith("-W")]
        command = ["cc", "-O2", *flags, "-o", program, code, *config("--ldflags"), "-lLLVM-22"]
        subprocess.run(command, check=True)
    return program


def many_files(folder, shape):
    """Bitcode of many source files, and for each of FILES that many of them as one module."""
    folder = folder / shape
    folder.mkdir(exist_ok=True)
    own, other = "1234567", "7654321"
    call = f"scale_{other}" if shape == "chain" else ""
    (folder / "file.cl").write_text(FILE.replace("NNN", own).replace("MMM", other).replace("CALL", call))
    clang = ["clang-22", "--target=spirv64", "-cl-std=CL3.0", "-O1", "-S", "-emit-llvm", "file.cl", "-o", "file.ll"]
    subprocess.run(clang, cwd=folder, check=True)
    template = (folder / "file.ll").read_text()
    # As the compile step of the driver marks them.
    template = re.sub(r"(define .*@(?:k|scale)_\d+\(.*local_unnamed_addr) ", rf'\1 "sycl-module-id"="{own}.cl" ', template)

    def assemble(number):
        output = folder / f"{number}.bc"
        if not output.exists():
            called = (number + 1) % FILES[-1] if shape == "chain" else number ^ 1
            text = template.replace("file.cl", f"{number}.cl").replace(other, str(called)).replace(own, str(number))
            subprocess.run(["llvm-as", "-", "-o", output], input=text.encode(), check=True)
        return output

    with ThreadPoolExecutor() as executor:
        files = list(executor.map(assemble, range(FILES[-1])))
    for count in FILES:
        if not (folder / f"linked-{count}.bc").exists():
            subprocess.run(["llvm-link", *files[:count], "-o", f"linked-{count}.bc"], cwd=folder, check=True)
    return folder


def growth(folder):
    """Prints the times of `link` and `post-link` for more and more files; returns whether all grow as they should."""
    print(f"\n{'CPU seconds for files':32s} " + " ".join(f"{count:>8d}" for count in FILES) + f" {'growth':>8s}")
    is_met = True
    for shape in ("pairs", "chain"):
        inputs = many_files(folder, shape)
        shutil.rmtree(inputs / "images", ignore_errors=True)
        (inputs / "images").mkdir()

        def link(count):
            files = [f"{number}.bc" for number in range(count)]
            return ["offkit", "--quiet", "link", "--allow-undefined", *files, "-o", "linked.syclbin"]

        def post_link(count):
            # Apart, each kernel of a chain would have a copy of all of it.
            exports = ["--exports", "grouped"]
            return ["offkit", "--quiet", "post-link", f"linked-{count}.bc", *exports, "--json", "-o", "images"]

        for name, command in (("link", link), ("post-link", post_link)):
            times = []
            for count in FILES:
                times.append(min(run(command(count), inputs, limit=GROWTH_LIMIT).cpu for _ in range(2)))
            # Of four times as many files, without the fewest, for which the start counts.
            ratio = times[-1] / times[-3]
            is_met = is_met and ratio <= MOST_GROWTH
            cells = " ".join(f"{time:8.2f}" for time in times)
            verdict = "met" if ratio <= MOST_GROWTH else "MISSED"
            print(f"{f'offkit {name}, {shape}':32s} {cells} {ratio:8.1f} goal at most {MOST_GROWTH}: {verdict}", flush=True)
    return is_met


def main():
    prepare()
    folder = FOLDER / "post-link"
    folder.mkdir(parents=True, exist_ok=True)
    module = marked(folder)

    for name in ("ours", "one", "clone", "split"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    ours = ["offkit", "--quiet", "post-link", module, "--only-kernels", "--json"]
    commands = {
        "offkit post-link": [*ours, "-o", "ours"],
        "offkit post-link, one core": [*ours, "-o", "one", "--jobs", "1"],
        "llvm-split --split-by-category": ["llvm-split", "--split-by-category=module-id", module, "-o", "split/part"],
        "a clone for each image": [clone_split(folder), module, "clone/part", str(IMAGES)],
    }
    series = in_turn(list(commands.values()), cwd=folder, most=5, least=1)
    images = {name: len(list((folder / name).glob("*.bc"))) for name in ("ours", "one")}
    parts = {name: len(list((folder / name).iterdir())) for name in ("clone", "split")}
    assert {*images.values(), *parts.values()} == {IMAGES}, (images, parts)
    same = all(
        (folder / "one" / path.name).read_bytes() == path.read_bytes() for path in (folder / "ours").iterdir()
    )

    print(f"{KERNELS} kernels and {HELPERS} helpers, {module.stat().st_size / 1e6:.1f} MB, into {IMAGES} images")
    print(f"{'':32s} {'seconds':>8s} {'median':>8s} {'cpu':>8s} {'MiB':>6s} {'times ours':>11s}")
    for name, one in zip(commands, series):
        ratio = one.least / series[0].least
        print(f"{name:32s} {one.least:8.2f} {one.median:8.2f} {one.cpu:8.2f} {one.peak:6.0f} {ratio:11.1f}")
    times = series[-1].least / series[0].least
    is_met = times >= GOAL
    print(f"goal: {GOAL} times as fast as a clone for each image, {'met' if is_met else 'MISSED'}")
    print(f"the images are the same with one core and with all: {'yes' if same else 'NO'}")
    grows = growth(folder)
    sys.exit(not (is_met and same and grows))


if __name__ == "__main__":
    main()
