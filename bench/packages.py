"""Measures what package maintainers do, beside the tools they have: ./dev bench packages

On PyTorch 2.15's largest library (496 MiB, 2,981 images) and its wheel (514 MiB), which come from Python's package index
with cuobjdump of CUDA 13.5 and stay in target/bench/packages, and on a HIP object of 8 compressed bundles. Commands run
in turn; a ratio is the median over the pairs. Where others use the machine: `chrt -f 10 ./dev bench packages`.
"""

import argparse
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import make_inputs
from containers import scratch_folder
from measure import FOLDER, Series, duration, factor, in_turn, prepare, run

WHEELS = FOLDER / "packages"
PACKAGES = {"torch": "torch==2.15.0", "nvidia_cuda_cuobjdump": "nvidia-cuda-cuobjdump==13.5.37"}
# An architecture that is in all of the library, and one that repeats another.
ARCH, REPEATED = "sm_90", "sm_86"
# `cuobjdump -res-usage` takes minutes.
PATIENCE = 400  # seconds


def wheel(name):
    """The wheel of a package, downloaded once."""
    found = list(WHEELS.glob(f"{name}-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.11", "--dest", WHEELS, PACKAGES[name]]
        for platform in ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"):
            command += ["--platform", platform]
        subprocess.run(command, check=True)
        found = list(WHEELS.glob(f"{name}-*.whl"))
    return found[0]


def member(name, end):
    """A file of a wheel, by the end of its name."""
    path = WHEELS / end.rsplit("/", 1)[1]
    if not path.exists():
        with zipfile.ZipFile(wheel(name)) as archive:
            inside = next(member for member in archive.namelist() if member.endswith(end))
            path.write_bytes(archive.read(inside))
    path.chmod(0o755)
    return path


class Table:
    """Rows as they are measured, and whether a goal was missed."""

    def __init__(self):
        self.missed = []
        print(f"{'':34} {'offkit ms':>10} {'MiB':>6} {'cores':>5}   {'peer ms':>9} {'MiB':>6}  {'times':>6}")

    def line(self, title, ours, theirs, times, goal, is_met):
        if not is_met:
            self.missed.append(title)
        peer = f"{'':18}"
        if theirs:
            at_least = "" if theirs.ended else ">"
            peer = f"{at_least + duration(theirs.median):>10} {theirs.peak:6.0f}"
        print(f"{title:34} {duration(ours.median):>10} {ours.peak:6.0f} {ours.cpu / ours.median:5.1f}   {peer}"
              f"  {times:>6}  {goal}{'' if is_met else '  MISSED'}", flush=True)

    def beside(self, title, ours, theirs, most=None, least=None, memory=None, runs=9, before=None):
        """A row beside a peer: at most so many times its time, or at least so many times as fast; `memory`: in so much
        of the peer's."""
        try:
            our, their = in_turn([ours, theirs], most=runs, before=before, limit=PATIENCE, least=1)
        except Exception as error:  # One row is no reason to lose the others.
            self.missed.append(title)
            print(f"{title:34} failed: {error}", flush=True)
            return
        faster = factor(our, their)
        if most:
            goal, is_met, times = f"at most {most} x its time", 1 / faster <= most, f"{1 / faster:.2f}"
        else:
            goal, is_met, times = f"{least} x as fast", faster >= least, f"{faster:.1f}"
        if memory:
            goal += f", {memory} of its memory"
            is_met = is_met and our.peak <= memory * their.peak
        self.line(title, our, their, times, goal, is_met)

    def alone(self, title, command, seconds, memory):
        """A row without a peer: in so many seconds and MB, of which the column shows MiB."""
        series = Series([run(command, limit=PATIENCE) for _ in range(3)])
        most = memory * 1e6 / (1 << 20)
        is_met = series.median <= seconds and series.peak <= most
        self.line(title, series, None, "", f"within {seconds} s and {memory} MB ({most:.1f} MiB)", is_met)


def main():
    parts = {"list": lists, "kernels": kernels, "hip": hip, "change": changes, "wheel": wheels}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", metavar="PART", help=f"measure only these: {', '.join(parts)}")
    wanted = parser.parse_args().part
    for part in wanted:
        if part not in parts:
            parser.error(f"there is no part {part!r}: expected {', '.join(parts)}")
    prepare()
    WHEELS.mkdir(parents=True, exist_ok=True)
    library, torch = member("torch", "/libtorch_cuda.so"), wheel("torch")
    cuobjdump = member("nvidia_cuda_cuobjdump", "/bin/cuobjdump")
    table = Table()
    with scratch_folder() as name:
        scratch = Path(name)
        for part, rows in parts.items():
            if part in (wanted or parts):
                rows(table, library, torch, cuobjdump, scratch)
    if table.missed:
        print(f"missed: {', '.join(table.missed)}")
    sys.exit(bool(table.missed))


def lists(table, library, _torch, cuobjdump, _scratch):
    elf = [cuobjdump, "-lelf", "-arch", ARCH, library]
    table.beside(f"ls --arch {ARCH}", ["offkit", "ls", library, "--arch", ARCH], elf, most=1.2)
    table.beside("size --by arch", ["offkit", "size", "--by", "arch", library], elf, most=1.2)


def kernels(table, library, _torch, cuobjdump, _scratch):
    usage = [cuobjdump, "-res-usage", library]
    table.beside("size", ["offkit", "size", library], usage, least=3, runs=1)
    check = ["offkit", "check", "--targets", "sm_80,sm_86,sm_90", library]
    table.beside("check", check, usage, least=3, runs=1)
    names = [cuobjdump, "-symbols", library]
    table.beside("ls --kernels", ["offkit", "ls", "--kernels", library], names, least=3, memory=0.1, runs=1)
    table.beside("ls --json", ["offkit", "ls", "--json", library], names, least=3, memory=0.1, runs=1)


def hip(table, _library, _torch, _cuobjdump, scratch):
    file = make_inputs.compressed_bundles(8, 32 << 20)
    # The peer writes the images beside its input.
    link = scratch / "compressed.o"
    link.symlink_to(file)
    ours = ["offkit", "-q", "extract", file, "-o", scratch / "images"]
    table.beside("extract from a HIP object", ours, ["llvm-objdump", "--offloading", link], least=2)


def changes(table, library, _torch, _cuobjdump, scratch):
    copy = ["cp", library, scratch / "copy.so"]
    out = scratch / "out.so"

    def before():
        for file in (scratch / "copy.so", out):
            file.unlink(missing_ok=True)

    thin = ["offkit", "-q", "thin", library, "--drop", REPEATED, "-o", out]
    table.beside(f"thin --drop {REPEATED} | cp", thin, copy, most=3, before=before)
    listed = subprocess.run(["offkit", "ls", "--json", "--arch", ARCH, library], capture_output=True, text=True, check=True,
                            env=os.environ)
    location = listed.stdout.split('"location":"', 1)[1].split('"', 1)[0]
    image = scratch / "image"
    image.write_bytes(subprocess.run(["offkit", "extract", location, "-o", "-"], capture_output=True, check=True).stdout)
    replace = ["offkit", "-q", "replace", library, f"{location}={image}", "-o", out]
    table.beside("replace one image | cp", replace, copy, most=2, before=before)


def wheels(table, _library, torch, _cuobjdump, _scratch):
    table.alone("size --by arch of the wheel", ["offkit", "size", "--by", "arch", torch], 2.5, 200)
    table.alone("size of the wheel", ["offkit", "size", torch], 15, 200)


if __name__ == "__main__":
    main()
