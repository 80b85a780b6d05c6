"""Draws the time of each verb against the size of its input: ./dev bench linear

Writes target/bench/linear.svg, and prints the times and how steep each line is: 1 where the time grows as the
size does. Packages are of images of 16 KiB, so that their number grows with the size as well.
"""

import math
import shutil
import statistics
import sys
from pathlib import Path

import chart
import make_inputs
from containers import BUNDLER, scratch_folder
from make_inputs import GIB, KIB, MIB
from measure import FOLDER, in_turn, prepare

SIZES = [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB]
IMAGE = 16 * KIB
# Above this the time grows faster than the size does; below it lies what noise can do.
STEEPEST = 1.15


def verbs(out):
    """Each verb with its command for an input of a size."""

    def package(size):
        return make_inputs.package(size // IMAGE, IMAGE)

    def bundle(size):
        return make_inputs.bundle(8, size // 8)

    def pack(size):
        images = make_inputs.single_images(size // MIB, MIB)
        described = (f"file={file},triple={make_inputs.TRIPLE},arch=gfx900,kind=hip" for file in images)
        return ["offkit", "pack", *(word for text in described for word in ("--image", text)), "-o", out / "packed"]

    def replace(size):
        new = make_inputs.single_images(1, 4 * KIB)[0]
        return ["offkit", "-q", "replace", package(size), f"{size // IMAGE // 2}={new}", "-o", out / "replaced"]

    def unbundle(size):
        target = make_inputs.bundle_ids(2)[1]
        return [*BUNDLER, "-type=bc", "-unbundle", f"-targets={target}", f"-input={bundle(size)}", f"-output={out / 'one'}"]

    return {
        "ls": lambda size: ["offkit", "ls", package(size)],
        "extract": lambda size: ["offkit", "-q", "extract", package(size), "-o", out],
        "replace": replace,
        "pack": pack,
        "convert": lambda size: ["offkit", "convert", package(size), "--to", "offload,v2", "-o", out / "converted"],
        "verify": lambda size: ["offkit", "verify", "--no-spirv", package(size)],
        "bundler -list": lambda size: [*BUNDLER, "-type=bc", "-list", f"-input={bundle(size)}"],
        "bundler -unbundle": unbundle,
    }


def steepness(points):
    """The slope of the line through the upper sizes, both axes logarithmic. Below them the start of the process
    counts for too much."""
    upper = [(math.log(size), math.log(time)) for size, time in points if size >= 16 * MIB]
    return statistics.linear_regression(*zip(*upper)).slope


def main():
    prepare()
    lines = {}
    print(f"{'milliseconds':20}" + "".join(f"{chart.size_text(size):>10}" for size in SIZES) + "   slope")
    with scratch_folder() as name:
        out = Path(name) / "out"

        def empty():
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()

        is_linear = True
        for verb, command in verbs(out).items():
            points = []
            for size in SIZES:
                (series,) = in_turn([command(size)], FOLDER, empty, most=7)
                points.append((size, series.least))
            lines[verb] = points
            steep = steepness(points)
            is_linear = is_linear and steep <= STEEPEST
            cells = "".join(f"{time * 1e3:10.1f}" for _, time in points)
            print(f"{verb:20}{cells}   {steep:.2f} {'linear' if steep <= STEEPEST else 'MORE THAN LINEAR'}", flush=True)
    path = FOLDER / "linear.svg"
    path.write_text(chart.draw("offkit: time against size", lines))
    print(f"drawn in {path.relative_to(FOLDER.parent.parent)}")
    sys.exit(not is_linear)


if __name__ == "__main__":
    main()
