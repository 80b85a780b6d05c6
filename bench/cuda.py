"""Measures listing one architecture of a CUDA library beside cuobjdump, and a wheel's memory: ./dev bench cuda

The library (422 MiB) and cuobjdump come out of two wheels from Python's package index, 520 MB, which stay in
target/bench/cuda. Commands run in turn; the ratio is the median over the pairs.
"""

import subprocess
import sys
import zipfile

from measure import FOLDER, duration, factor, in_turn, prepare

WHEELS = FOLDER / "cuda"
ARCH = "sm_80"
# No more than so many times as long as cuobjdump.
MOST = 1.2
# What a wheel may take in memory beside its largest member and the wheel itself, which is mapped.
BESIDE = 48  # MiB

PACKAGES = {"nvidia_cublas_cu12": "nvidia-cublas-cu12==12.4.5.8", "triton": "triton==3.3.1"}


def wheel(name):
    """The wheel of a package, downloaded once."""
    found = list(WHEELS.glob(f"{name}-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.12", "--dest", WHEELS, PACKAGES[name]]
        for platform in ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"):
            command += ["--platform", platform]
        subprocess.run(command, check=True)
        found = list(WHEELS.glob(f"{name}-*.whl"))
    return found[0]


def member(name, end):
    """A file of a wheel, by the end of its name."""
    with zipfile.ZipFile(wheel(name)) as archive:
        path = WHEELS / next(member for member in archive.namelist() if member.endswith(end))
        if not path.exists():
            archive.extract(str(path.relative_to(WHEELS)), WHEELS)
    path.chmod(0o755)
    return path


def main():
    prepare()
    WHEELS.mkdir(parents=True, exist_ok=True)
    library = member("nvidia_cublas_cu12", "/libcublasLt.so.12")
    cuobjdump = member("triton", "/bin/cuobjdump")
    rows = [
        (f"ls --arch {ARCH}", ["offkit", "ls", library, "--arch", ARCH], [cuobjdump, "-lelf", "-arch", ARCH, library]),
        ("ls", ["offkit", "ls", library], [cuobjdump, "-lelf", library]),
    ]
    missed = False
    for title, ours, theirs in rows:
        our, their = in_turn([ours, theirs], most=15)
        ratio = 1 / factor(our, their)
        missed = missed or ratio > MOST
        print(f"{title:20} {duration(our.median):>9} ms, cuobjdump {duration(their.median):>9} ms, ratio {ratio:.2f}"
              f" (at most {MOST}); {our.peak:.0f} MiB, cuobjdump {their.peak:.0f} MiB", flush=True)
    (series,) = in_turn([["offkit", "ls", wheel("nvidia_cublas_cu12"), "--arch", ARCH]], most=2)
    with zipfile.ZipFile(wheel("nvidia_cublas_cu12")) as archive:
        largest = max(info.file_size for info in archive.infolist()) / (1 << 20)
    mapped = wheel("nvidia_cublas_cu12").stat().st_size / (1 << 20)
    is_bounded = series.peak <= largest + mapped + BESIDE
    missed = missed or not is_bounded
    print(f"{'ls of the wheel':20} {duration(series.median):>9} ms, {series.peak:.0f} MiB; its largest member has"
          f" {largest:.0f} MiB, the wheel {mapped:.0f} MiB")
    sys.exit(missed)


if __name__ == "__main__":
    main()
