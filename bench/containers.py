"""Measures listing, extracting, packing and bundling beside LLVM's tools: ./dev bench containers

Each row is a pair of commands run in turn. Milliseconds are of the whole process; `faster` is the median over the
pairs; memory is the peak of the resident set, mapped files included. A peer that takes more than the time limit is
stopped and counts as that fast.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import make_inputs
from make_inputs import KIB, MIB
from measure import FOLDER, LIMIT, Failed, duration, factor, in_turn, prepare

BINARY = ["offkit", "as", "llvm-offload-binary"]
BUNDLER = ["offkit", "as", "clang-offload-bundler"]

# As long as `cp` takes for the same bytes, but for this factor, counts as its speed.
NEAR = 1.25

missed = []


def verdict(title, text, is_met):
    if not is_met:
        missed.append(f"{title}: {text}")
    return f"{text}, {'met' if is_met else 'MISSED'}"


def heading(text):
    print(f"\n{text:50} {'ours':>8} {'median':>8} {'peer':>9} {'median':>9} {'faster':>8} {'MiB':>7} {'peer':>7}  goal")


def row(title, goal, ours, theirs, cwd=FOLDER, before=None, copy=None, most=40):
    """Prints a pair of commands, and with `copy` how long that takes for the same bytes."""
    commands = [ours, theirs] + ([copy] if copy else [])
    try:
        our, their, *copied = in_turn(commands, cwd, before, most)
    except Failed as failure:
        print(f"{title:50} failed: {failure}")
        missed.append(f"{title}: failed")
        return
    times = factor(our, their)
    least, median = duration(their.least), duration(their.median)
    if not their.ended:
        least, median = f"> {LIMIT} s", ""
    faster = f"{'' if their.ended else '> '}{times:.1f}"
    word = verdict(title, f"{goal} x", times >= goal) if goal else ""
    print(
        f"{title:50} {duration(our.least):>8} {duration(our.median):>8} {least:>9} {median:>9} {faster:>8}"
        f" {our.peak:7.0f} {their.peak:7.0f}  {word}",
        flush=True,
    )
    for one in copied:
        slower = our.least / one.least
        word = verdict(title, f"{NEAR} x cp", slower <= NEAR)
        print(f"{'    cp of the same bytes':50} {'':17} {duration(one.least):>9} {duration(one.median):>9}"
              f" {1 / slower:8.2f} {'':7} {one.peak:7.0f}  {word}", flush=True)


def small(scratch):
    heading("small files")
    package = make_inputs.package(8, 4 * KIB)
    image = make_inputs.single_images(1, 4 * KIB)[0]
    described = f"--image=file={image},triple={make_inputs.TRIPLE},arch=gfx900,kind=hip"
    objdump = ["llvm-objdump", "--offloading"]
    row("list a package of 8 images", 5, ["offkit", "ls", package], [*objdump, package])
    file = make_inputs.offloading(package, aligned=True)
    row("list an object of 8 images", 5, ["offkit", "ls", file], [*objdump, file])
    file = make_inputs.offloading(package, aligned=True, is_program=True)
    row("list a program of 8 images", 5, ["offkit", "ls", file], [*objdump, file])
    one = scratch / "one"
    wish = f"--image=file={one},arch=gfx900"
    row("extract one image", 5, ["offkit", "-q", "extract", package, "--arch", "gfx900", "-o", scratch],
        ["llvm-offload-binary", package, wish])
    row("extract one image, in the peer's words", 5, [*BINARY, package, wish], ["llvm-offload-binary", package, wish])
    row("pack one image", 5, ["offkit", "pack", described[: len("--image")], described[len("--image="):], "-o", one],
        ["llvm-offload-binary", described, "-o", one])
    bundle = make_inputs.bundle(8, 4 * KIB)
    bundled("small", 5, bundle, [image] * 8, "bc", one)
    device = make_inputs.single_images(2, 4 * KIB)
    host_object = make_inputs.offloading(package, aligned=True)
    bundled("small", 5, None, [host_object, *device], "o", one)


def bundled(what, goal, bundle, inputs, kind, out, list_goal=None, copy=False):
    """Rows of one type of bundle: made of the inputs, listed, one of its images taken out."""
    ids = make_inputs.bundle_ids(len(inputs))
    make = [f"-type={kind}", f"-targets={','.join(ids)}", *(f"-input={file}" for file in inputs)]
    peer = "clang-offload-bundler"
    made_here = FOLDER / f"peer.{kind}"
    bundle = bundle or made_here
    row(f"{what}: bundle {len(inputs)}, -type={kind}", goal, [*BUNDLER, *make, f"-output={out}"],
        [peer, *make, f"-output={made_here}"], copy=["cp", bundle, out] if copy else None)
    row(f"{what}: -list, -type={kind}", list_goal or goal, [*BUNDLER, f"-type={kind}", "-list", f"-input={bundle}"],
        [peer, f"-type={kind}", "-list", f"-input={bundle}"])
    take = [f"-type={kind}", "-unbundle", f"-targets={ids[1]}", f"-input={bundle}", f"-output={out}"]
    row(f"{what}: -unbundle one, -type={kind}", goal, [*BUNDLER, *take], [peer, *take],
        copy=["cp", inputs[1], out] if copy else None)
    made_here.unlink(missing_ok=True)


def listing():
    heading("list 1 GiB")
    for count, size in ((1_000, MIB), (100_000, 10 * KIB)):
        package = make_inputs.package(count, size)
        files = [("package", package)]
        for is_program in (False, True):
            for aligned in (True, False):
                kind = f"{'program' if is_program else 'object'}, {'' if aligned else 'not '}aligned"
                files.append((kind, make_inputs.offloading(package, aligned, is_program)))
        for kind, file in files:
            make_inputs.read_anew(file)
            row(f"{count:,} images: {kind}", 20, ["offkit", "ls", file], ["llvm-objdump", "--offloading", file])


def memory():
    """What listing keeps in memory must not follow the size of the images."""
    print("\npeak memory of listing 1,000 images by their size, MiB")
    sizes = [(16 * KIB, "16 KiB"), (64 * KIB, "64 KiB"), (256 * KIB, "256 KiB"), (MIB, "1 MiB")]
    for title, file_of in (
        ("package", lambda package: package),
        ("object, not aligned", lambda package: make_inputs.offloading(package, aligned=False)),
    ):
        peaks = []
        for size, _ in sizes:
            (series,) = in_turn([["offkit", "ls", file_of(make_inputs.package(1_000, size))]], most=3)
            peaks.append(series.peak)
        cells = "  ".join(f"{text}: {peak:.0f}" for (_, text), peak in zip(sizes, peaks))
        # Mapped pages are given back after each 32 MiB, so up to that belongs to the program.
        is_bounded = peaks[-1] <= peaks[0] + 40 and peaks[-1] <= 1.5 * peaks[-2]
        print(f"{title:50} {cells}  {verdict(f'memory of {title}', 'bounded', is_bounded)}", flush=True)


def extracting(scratch):
    heading("extract and pack 1 GiB")
    package = make_inputs.package(1_000, MIB)
    images = make_inputs.single_images(1_000, MIB)
    out = scratch / "out"

    def empty():
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()

    ours = ["offkit", "-q", "extract", package, "-o", "."]
    row("extract 1 of 1,000 by its place", 2, ["offkit", "-q", "extract", f"{package}!500", "-o", "."],
        ["llvm-offload-binary", package, "--image=file=one,arch=gfx1030"], out, empty)
    row("extract 125 of 1,000 by arch", 2, [*ours, "--arch", "gfx900"],
        ["llvm-offload-binary", package, "--image=arch=gfx900"], out, empty)
    row("extract all 1,000", 2, ours, ["llvm-offload-binary", package, "--image="], out, empty,
        ["cp", "-r", images[0].parent, "."], most=5)
    described = [f"file={file},triple={make_inputs.TRIPLE},arch=gfx900,kind=hip" for file in images]
    row("pack 1,000 of 1 MiB", 2,
        ["offkit", "pack", *(word for text in described for word in ("--image", text)), "-o", "packed"],
        ["llvm-offload-binary", *(f"--image={text}" for text in described), "-o", "packed"],
        out, empty, ["cp", package, "."], most=5)
    row("pack 1,000 of 1 MiB, in the peer's words", 2,
        [*BINARY, *(f"--image={text}" for text in described), "-o", "packed"],
        ["llvm-offload-binary", *(f"--image={text}" for text in described), "-o", "packed"], out, empty, most=5)
    package = make_inputs.package(100_000, 10 * KIB)
    row("extract 12,500 of 100,000 by arch", 2, ["offkit", "-q", "extract", package, "-o", ".", "--arch", "gfx900"],
        ["llvm-offload-binary", package, "--image=arch=gfx900"], out, empty, most=5)
    shutil.rmtree(out)


def bundling(scratch):
    heading("bundles of 8 x 128 MiB")
    inputs = make_inputs.single_images(8, 128 * MIB)
    out = scratch / "bundle"
    bundled("1 GiB", 2, make_inputs.bundle(8, 128 * MIB), inputs, "bc", out, 20, copy=True)
    host_object = make_inputs.offloading(make_inputs.package(8, 4 * KIB), aligned=True)
    bundled("1 GiB", 2, None, [host_object, *inputs], "o", out, 20, copy=True)
    out.unlink()


def archives(scratch):
    heading("archives of 2,000 members")
    file = make_inputs.archive_of_offloading(2_000)
    out = scratch / "out.a"
    row("list 6,000 images", 3, ["offkit", "ls", file], ["llvm-objdump", "--offloading", file])
    wish = ["--archive", file, f"--image=file={out},arch=gfx900"]
    row("images of one arch to an archive", 3, [*BINARY, *wish], ["llvm-offload-binary", *wish])
    file = make_inputs.archive_of_bundled_objects(2_000)
    wish = ["-type=a", "-unbundle", f"-targets={make_inputs.bundle_ids(2)[1]}", f"-input={file}", f"-output={out}"]
    row("bundled objects, unbundle one target", 3, [*BUNDLER, *wish], ["clang-offload-bundler", *wish])


def compressed(scratch):
    """How many cores inflate, and how long it takes."""
    heading("8 compressed bundles of 64 MiB in one object")
    file = make_inputs.compressed_bundles(8, 32 * MIB)
    # The peer writes the images beside its input.
    link = scratch / "compressed.o"
    link.symlink_to(file)
    title = "inflate and extract all"
    ours = ["offkit", "-q", "extract", file, "-o", scratch]
    row(title, None, ours, ["llvm-objdump", "--offloading", link], most=5)
    for title, command in (("extract", ours), ("list", ["offkit", "ls", file])):
        title = f"{title}: all cores beside one"
        both, one = in_turn([command, ["env", "RAYON_NUM_THREADS=1", *command]], most=5)
        times = factor(both, one)
        goal = 1.5 if (os.cpu_count() or 1) > 1 else 0.9
        print(f"{title:50} {duration(both.least):>8} {duration(both.median):>8} {duration(one.least):>9}"
              f" {duration(one.median):>9} {times:8.1f} {both.peak:7.0f} {one.peak:7.0f}"
              f"  {verdict(title, f'{goal} x', times >= goal)}", flush=True)


def scratch_folder():
    """Where outputs go: in memory when there is room, so that no disk is measured."""
    # When stopped from outside, the folder goes too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    memory_folder = Path("/dev/shm")
    in_memory = memory_folder.is_dir() and shutil.disk_usage(memory_folder).free >= 4 << 30
    return tempfile.TemporaryDirectory(prefix="offkit-bench-", dir=memory_folder if in_memory else FOLDER)


def main(wanted):
    prepare()
    with scratch_folder() as name:
        scratch = Path(name)
        print(f"milliseconds; inputs in {make_inputs.INPUTS.relative_to(FOLDER.parent.parent)}, outputs in {scratch.parent}")
        parts = {
            "small": lambda: small(scratch),
            "listing": listing,
            "memory": memory,
            "extracting": lambda: extracting(scratch),
            "bundling": lambda: bundling(scratch),
            "archives": lambda: archives(scratch),
            "compressed": lambda: compressed(scratch),
        }
        for part in wanted or parts:
            parts[part]()
    print(f"\n{len(missed)} goals missed" if missed else "\nall goals met")
    for text in missed:
        print(f"  {text}")
    print("inputs stay for the next time; `./dev bench clean` removes them")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main(sys.argv[1:])
