"""Reads real wheels and compares what offkit counts with the vendors' and LLVM's tools: ./dev wild

The wheels, 1 GB, come from Python's package index and stay in target/wild. Each library with device code is a row, `-`
where no peer reads such a file: cubins and PTX as `cuobjdump -all -lelf` and `-lptx` list them, code objects as
`llvm-objdump --offloading` takes them out, SYCL images as the size of `.tgtimg` says, which readelf and llvm-readobj
print. The libraries that `offkit size` says have no PTX are those of which cuobjdump lists cubins and none. Exits with 1
where a count differs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WHEELS = TARGET / "wild"

LINUX = ("manylinux2014_x86_64", "manylinux_2_24_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
WINDOWS = ("win_amd64",)

# Small and large, of CUDA, HIP and SYCL, for both systems. What is not listed by a version is another wheel tomorrow.
PACKAGES = [
    ("dpctl==0.22.1", LINUX),
    ("dpnp==0.20.0", LINUX),
    ("dpnp==0.20.0", WINDOWS),
    ("bitsandbytes==0.50.2", LINUX),
    ("bitsandbytes==0.50.2", WINDOWS),
    ("xgboost==3.2.0", LINUX),
    ("torch==2.15.0", LINUX),
]
CUOBJDUMP = ("nvidia-cuda-cuobjdump==13.5.37", LINUX)

# `{pointer, u64 size}` for each image: docs/formats/sycl-wrapped.md
TGTIMG_ENTRY = 16


def wheel(package, platforms):
    """The wheel of a package, downloaded once."""
    name, version = package.split("==")
    system = "win" if platforms == WINDOWS else "manylinux"
    pattern = f"{name.replace('-', '_')}-{version}-*{system}*.whl"
    found = list(WHEELS.glob(pattern))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.11", "--dest", WHEELS, package]
        for platform in platforms:
            command += ["--platform", platform]
        subprocess.run(command, check=True)
        found = list(WHEELS.glob(pattern))
    return found[0]


def output(command, cwd=None):
    """What a tool prints; tools that find nothing fail."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, errors="replace")
    return done.stdout


def ours(file):
    """How many images offkit lists, by what the peers count."""
    counts = Counter()
    for line in output(["offkit", "ls", "--json", file]).splitlines():
        image = json.loads(line)
        if "problem" in image:
            counts["problems"] += 1
        elif image["container"] == "sycl-wrapped":
            counts["SYCL"] += 1
        elif image["container"] == "fatbin" and image["format"] in ("cubin", "ptx"):
            counts[image["format"]] += 1
        elif image["format"] == "amdgpu":
            counts["amdgpu"] += 1
    return counts


def without_ptx(file):
    """The libraries in it with cubins of which `offkit size` says that they have no PTX."""
    size = json.loads(output(["offkit", "size", "--by", "arch", "--json", file]))
    return [library["library"] for library in size["libraries"] if library["lacks_ptx"]]


def cuda(file, cuobjdump):
    """What CUDA's tool lists: of linked code and of what is still to be linked."""
    counts = {}
    # It ends at the first cubin that it does not know, such as those for 7.0 since CUDA 13.
    tried = subprocess.run([cuobjdump, "-all", "-lelf", file], capture_output=True, text=True, errors="replace")
    if "fatal" in tried.stderr:
        print(f"{'':28} {file.name[:46]:46} {tried.stderr.strip().split(' in ')[0]}", flush=True)
        return counts
    for what, option, line in (("cubin", "-lelf", r"^ELF file"), ("ptx", "-lptx", r"^PTX file")):
        counts[what] = len(re.findall(line, output([cuobjdump, "-all", option, file]), re.M))
    return counts


def theirs(file, cuobjdump):
    """How many the peers find; only what a peer can count in such a file."""
    counts = {}
    with file.open("rb") as library:
        head = library.read(4)
    if head == b"\x7fELF":
        sections = output(["readelf", "-SW", file])
        if ".nv_fatbin" in sections or "__nv_relfatbin" in sections:
            counts |= cuda(file, cuobjdump)
        if ".hip_fatbin" in sections:
            # The tool writes the images beside its input.
            with tempfile.TemporaryDirectory(dir=WHEELS) as folder:
                link = Path(folder) / "library.so"
                link.symlink_to(file)
                listed = output(["llvm-objdump", "--offloading", link])
            counts["amdgpu"] = len(re.findall(r"^Extracting offload bundle:.*amdgcn", listed, re.M))
        sizes = re.findall(r"\.tgtimg\s+PROGBITS\s+\S+ \S+ (\S+)", sections)
    elif head[:2] == b"MZ":
        sections = output(["llvm-readobj", "--sections", file])
        # CUDA's and LLVM's tools for Linux find no device code of NVIDIA's and AMD's in libraries of Windows.
        sizes = re.findall(r"Name: \.tgtimg .*?VirtualSize: (\S+)", sections, re.S)
    else:
        return counts
    if sizes:
        counts["SYCL"] = sum(int(size, 16) // TGTIMG_ENTRY for size in sizes)
    return counts


def libraries(path, folder):
    """The libraries of a wheel, one after the other in a folder: all of a large wheel do not stay."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if re.search(r"\.(so(\.[\d.]+)?|dll|pyd)$", name):
                file = folder / name.rsplit("/", 1)[1]
                with archive.open(name) as member, file.open("wb") as out:
                    while part := member.read(1 << 24):
                        out.write(part)
                yield file
                file.unlink()


def main(wanted):
    WHEELS.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{TARGET / 'release'}:/usr/lib/llvm-22/bin:{os.environ['PATH']}"
    with zipfile.ZipFile(wheel(*CUOBJDUMP)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/bin/cuobjdump"))
        cuobjdump = WHEELS / "cuobjdump"
        cuobjdump.write_bytes(archive.read(name))
        cuobjdump.chmod(0o755)
    different = 0
    print(f"{'wheel':28} {'library':46} {'what':8} {'offkit':>7} {'peer':>7}")
    for package, platforms in PACKAGES:
        if wanted and not any(package.startswith(name) for name in wanted):
            continue
        system = " win" if platforms == WINDOWS else ""
        path = wheel(package, platforms)
        totals = Counter()
        with tempfile.TemporaryDirectory(dir=WHEELS) as folder:
            for file in libraries(path, Path(folder)):
                our, their = ours(file), theirs(file, cuobjdump)
                totals.update(our)
                if "cubin" in their:
                    our["no PTX"] = len(without_ptx(file))
                    their["no PTX"] = int(their["cubin"] > 0 and their["ptx"] == 0)
                for what in sorted(set(our) | set(their)):
                    count = their.get(what)
                    is_same = count is None or our[what] == count
                    different += not is_same
                    note = "" if is_same else "  DIFFERENT"
                    count = "-" if count is None else count
                    print(f"{package + system:28} {file.name[:46]:46} {what:8} {our[what]:7} {count:>7}{note}", flush=True)
        # The same in the wheel, without unpacking it to files.
        whole = ours(path)
        if whole != totals:
            different += 1
        word = "" if whole == totals else f"  DIFFERENT: {dict(totals)}"
        print(f"{package + system:28} {'the wheel itself':46} {'all':8} {sum(whole.values()):7}{word}", flush=True)
    print("all counts are the same" if not different else f"{different} counts differ")
    sys.exit(bool(different))


if __name__ == "__main__":
    main(sys.argv[1:])
