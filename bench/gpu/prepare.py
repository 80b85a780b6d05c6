"""Makes what `./dev gpu` takes to a machine with a GPU, which needs nothing there but the driver: prepare.py BUNDLE

  --programs FOLDER  the built programs (target/release)
  --cuda FOLDER      where nvcc is kept, which is fetched with pip the first time: 105 MB
  --without-nvcc     leave out nvcc's code, which the kernels are measured beside
  --limit MB         fail if the bundle is larger (60)

The bundle is made beside its place, and takes it when it is whole. Exits with 1 if something failed, with 3 if nvcc can't be
fetched.
"""

import argparse
import array
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = ROOT / "bench" / "gpu"
PROCESSORS = (75, 80, 90)
# CUDA 13.0: drivers from 580 on take its code, and none of the PTX that later ones write.
NVCC = ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-cuda-runtime==13.0.96",
        "nvidia-cuda-cccl==13.0.85"]  # fmt: skip
PROGRAMS = ["offkit", "offkit-probe", "offkit-gpu", "offkit-nvptx-worker", "offkit-plugin-tests",
            "liboffkit_plugin_cuda.so", "liboffkit.so"]  # fmt: skip
# The machine that programs are taken to may have no library of C++.
STATIC = ["-nostdlib++", "-l:libstdc++.a"]


class Failed(Exception):
    pass


class Unreachable(Failed):
    """Packages could not be fetched."""


def run(*command, **options):
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise Failed(f"{' '.join(command)}\nexit {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def installed(folder, packages):
    """The folder of packages of Python's, fetched where they are not there yet."""
    done = folder / "done"
    if not done.exists() or done.read_text() != " ".join(packages):
        begun = folder / "begun"
        if folder.exists() and any(folder.iterdir()) and not begun.exists():
            raise Failed(f"{folder} has other things in it than what this fetches: name another folder")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        begun.touch()
        run(sys.executable, "-m", "venv", folder / "environment")
        install = [folder / "environment/bin/pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
        try:
            run(*install, "--target", folder / "packages", *packages)
        except Failed as error:
            raise Unreachable(f"{', '.join(packages)} cannot be fetched: {error}") from None
        done.write_text(" ".join(packages))
    return folder / "packages"


def nvcc(cuda):
    """The compiler."""
    [program] = installed(cuda, NVCC).glob("nvidia/*/bin/nvcc")
    return program


def spirv(source, folder):
    made = folder / f"{source.stem}.spv"
    target = ["--target=spirv64v1.2", "-cl-std=CL3.0", "-O2", "-c"]
    run("clang-22", *target, source, "-o", made)
    return made


class Bundle:
    def __init__(self, folder, programs):
        self.folder = folder
        self.programs = programs
        # With the compiler that goes along: what it can't do here, it can't there.
        small = {"OFFKIT_LLVM_WORKER": str(programs / "offkit-nvptx-worker")}
        self.small = os.environ | small
        self.own = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}

    def offkit(self, *words, env=None):
        return run(self.programs / "offkit", "--quiet", *words, env=env or self.own)

    def pack_programs(self):
        """Stripped and packed: run.sh unpacks them."""
        folder = self.folder / "bin"
        folder.mkdir()
        for name in PROGRAMS:
            run("strip", "-o", folder / name, self.programs / name)
        # As programs ask for it.
        (folder / "liboffkit.so").rename(folder / "liboffkit.so.0")
        with tarfile.open(self.folder / "programs.tar.gz", "w:gz") as packed:
            packed.add(folder, "bin")
        shutil.rmtree(folder)

    def ptx(self, module, processor, made):
        linked = made.with_suffix(".linked")
        target = f"nvptx64-nvidia-cuda,arch=sm_{processor}"
        self.offkit("link", "--target", target, "--split", "none", module, "-o", linked, env=self.small)
        made.write_text(self.offkit("extract", linked, "-o", "-"))
        linked.unlink()

    def code(self, cuda):
        folder = self.folder / "code"
        folder.mkdir()
        for source in (ROOT / "bench/cpu/kernels.cl", OWN / "stress.cl"):
            module = spirv(source, folder)
            for processor in PROCESSORS:
                self.ptx(module, processor, folder / f"{module.stem}.sm_{processor}.ptx")
        interface = folder / "interface"
        run(self.programs / "offkit-plugin-tests", "--write-code", interface)
        # For plugins that take no SPIR-V, as the one over Unified Runtime's adapter for CUDA.
        self.ptx(interface / "kernels.spv", PROCESSORS[0], interface / "kernels.ptx")
        if not cuda:
            return
        for name, flags in (("nvcc", []), ("nvcc-restrict", ["-DRESTRICT=__restrict__"])):
            compile = [nvcc(cuda), "-O3", *flags, OWN / "kernels.cu"]
            for processor in PROCESSORS:
                run(*compile, f"-arch=sm_{processor}", "-cubin", "-o", folder / f"{name}.sm_{processor}.cubin")
            run(*compile, f"-arch=compute_{PROCESSORS[0]}", "-ptx", "-o", folder / f"{name}.ptx")

    def demo(self):
        """The demo up to where it runs kernels."""
        example = Path("examples/shared-library")
        built = self.folder / example / "built"
        built.mkdir(parents=True)
        shutil.copy(ROOT / example / "demo.sh", self.folder / example)
        steps = {"OFFKIT_DEMO_STEPS": "build", "OFFKIT_DEMO_FOLDER": str(built), "OFFKIT_DEMO_PROGRAMS": str(self.programs)}
        run(ROOT / example / "demo.sh", env=self.own | steps)
        # It makes inputs and results again there.
        for array_file in built.glob("*.npy"):
            array_file.unlink()

    def examples(self):
        """The program of `examples/build-systems`, with the library that it calls on devices, and inputs."""
        folder = self.folder / "examples/build-systems"
        folder.mkdir(parents=True)
        made = folder / "made"
        run("make", "-C", ROOT / "examples/build-systems", f"FOLDER={made}", "-j2", env=self.own)
        for name in ("app", "libblend.so", "libregistration.so"):
            shutil.copy(made / name, folder)
        shutil.rmtree(made)
        # Numbers whose sums and products have no roundings.
        x = [0.5 * i for i in range(1024)]
        y = [0.25 * (i % 97) for i in range(1024)]
        for name, values in (("x", x), ("scaled", [3 * one for one in x])):
            npy(folder / f"{name}.npy", values)
        npy(folder / "y.npy", y)
        # The library's function is the mean of its arguments.
        npy(folder / "expected.npy", [(2.5 * one + other + one) / 2 for one, other in zip(x, y)])
        launch = ["run", "app", "saxpy", "--link", "libblend.so", "--device", "cpu", "--global", "1024", "--arg", "f32:2.5"]
        launch += ["--arg", "x.npy", "--arg", "y.npy", "--check", "2=expected.npy"]
        run(self.programs / "offkit", *launch, env=self.own, cwd=folder)

    def programs_of_examples(self):
        """The programs of `examples/c-api`, `examples/wrapped` and `examples/parallel`, and what they print on the CPU device."""
        folder = self.folder / "examples/programs"
        folder.mkdir()
        examples, include = ROOT / "examples", ROOT / "include"
        with tempfile.TemporaryDirectory() as scratch:
            scratch = Path(scratch)
            (scratch / "liboffkit.so.0").symlink_to(self.programs / "liboffkit.so")
            (scratch / "liboffkit.so").symlink_to("liboffkit.so.0")
            library = [f"-I{include}", f"-L{scratch}", "-loffkit"]
            for name in ("app", "library"):
                file = folder / f"{name}.syclbin"
                shutil.copy(self.folder / "examples/shared-library/built" / file.name, file)
                self.offkit("wrap", file, "-o", scratch / f"{name}.o", "--runtime", "sycl-v3")
            run("clang-22", examples / "c-api/saxpy.c", *library, "-o", folder / "saxpy-c")
            run("clang++-22", "-std=c++17", examples / "c-api/saxpy.cpp", *library, *STATIC, "-o", folder / "saxpy-cpp")
            run("clang-22", "-shared", scratch / "library.o", *library, "-o", folder / "liblibrary.so")
            run("clang-22", examples / "c-api/wrapped.c", scratch / "app.o", *library, "-ldl", "-o", folder / "wrapped-c")
            built = scratch / "wrapped"
            run(examples / "wrapped/build.sh", built, env=self.own | {"OFFKIT_FLAGS": " ".join([*library, *STATIC])})
            # Its name is in what it prints, and its library's in it.
            shutil.copy(built / "linked", folder / "wrapped")
            shutil.copy(built / "libnegative.so", folder)
            for name in ("saxpy", "nbody", "mandelbrot"):
                source = examples / "parallel" / f"{name}.cpp"
                self.offkit("c++", "-fsycl", "-std=c++17", "-O2", source, *STATIC, "-o", folder / name)
                run("strip", folder / name)
            run("strip", folder / "saxpy-cpp")
            shutil.copy(OWN / "examples.sh", folder)
            device = {"ONEAPI_DEVICE_SELECTOR": "offkit:*", "OCL_ICD_VENDORS": "/nowhere/", "OFFKIT_PLUGINS": ""}
            place = {"LD_LIBRARY_PATH": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache")}
            run(folder / "examples.sh", "--expect", env=self.own | device | place)

    def say_what_it_is(self, cuda):
        words = [run(self.programs / "offkit", "--version").strip()]
        commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=10"], cwd=ROOT, capture_output=True, text=True)
        if commit.returncode == 0:
            words[0] += f" ({commit.stdout.strip()})"
        if cuda:
            version = re.search(r"V([0-9.]+)", run(nvcc(cuda), "--version"))
            words.append(f"nvcc {version[1]}")
        (self.folder / "made").write_text(", ".join(words) + "\n")
        shutil.copy(OWN / "run.sh", self.folder)


def npy(path, values):
    """An array of floats."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + array.array("f", values).tobytes())  # fmt: skip


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("bundle", type=Path)
    arguments.add_argument("--programs", type=Path, required=True)
    arguments.add_argument("--cuda", type=Path)
    arguments.add_argument("--without-nvcc", action="store_true")
    arguments.add_argument("--limit", type=float, default=60)
    given = arguments.parse_args()
    cuda = None if given.without_nvcc else (given.cuda or given.bundle.parent / "cuda").resolve()
    made = given.bundle.with_name(given.bundle.name + ".new").resolve()
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    bundle = Bundle(made, given.programs.resolve())
    try:
        # What may fail for want of a network comes before what takes time.
        if cuda:
            nvcc(cuda)
        bundle.code(cuda)
        bundle.pack_programs()
        bundle.demo()
        bundle.examples()
        bundle.programs_of_examples()
        bundle.say_what_it_is(cuda)
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file()) / 1e6
        if size > given.limit:
            raise Failed(f"the bundle takes {size:.1f} MB, at most {given.limit:g} are allowed: see {made}")
    except Failed as error:
        print(f"prepare.py: {error}", file=sys.stderr)
        return 3 if isinstance(error, Unreachable) else 1
    shutil.rmtree(given.bundle, ignore_errors=True)
    made.rename(given.bundle)
    print(f"{given.bundle}: {size:.1f} MB. On a machine with one of NVIDIA's GPUs, run run.sh in it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
