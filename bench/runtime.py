"""Measures what the runtime takes to find, link and launch what a kernel needs: ./dev bench runtime

Which images a kernel needs, among many symbols and in MKL's SYCL vector-math library, where most kernels call functions of
other images: all are collected. Of those kernels that take nothing but arrays, the same 50 each time are linked and launched
over 16 work-items each, and what they give is compared with Python's mathematics where that has the function. Registration and
the first launch are measured beside Intel's SYCL runtime: of all images of that library, wrapped again without the host's
code. The library and Intel's runtime come in wheels of Python's package index, 20 MB and 190 MB, under their vendor's
licence, which stay in target/bench/runtime and target/sycl-runtime-2026.2.0.
"""

import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys
import zipfile

from measure import FOLDER, RELEASE, ROOT, TARGET

WORK = FOLDER / "runtime"
PROGRAM = RELEASE / "examples" / "closures"
OFFKIT = RELEASE / "offkit"
INTEL = TARGET / "sycl-runtime-2026.2.0"
WHEEL = "onemkl-sycl-vm==2026.2.0"
# What goes with the SYCL runtime, whose metadata does not name or pin all of it.
PACKAGES = ["intel-sycl-rt==2026.2.0", "intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0", "tbb==2023.2.0", "tcmlib==1.6.0"]
# So many kernels of that library import something, and need so many images.
KERNELS = {"2": 4494, "3": 12}
SAMPLE, ITEMS = 50, 16
# Some kernels take so many numbers at a time.
UNROLLED = 8
# A closure of three images is found in so many microseconds, a bundle of 5,000 images opened in so many milliseconds.
CLOSURE, BUNDLE = 20, 20
# How far results may be from Python's: the least exact functions of the library are good to half of the digits.
TOLERANCE = {"f": 2e-3, "d": 1e-6}
# What Python calls the functions; the arguments are above 0, and 1/2 at most.
FUNCTIONS = {
    "abs": abs, "acos": math.acos, "acosh": None, "acospi": lambda x: math.acos(x) / math.pi, "add": lambda x, y: x + y,
    "asin": math.asin, "asinh": math.asinh, "asinpi": lambda x: math.asin(x) / math.pi, "atan": math.atan,
    "atan2": math.atan2, "atan2pi": lambda x, y: math.atan2(x, y) / math.pi, "atanh": math.atanh,
    "atanpi": lambda x: math.atan(x) / math.pi, "cbrt": lambda x: x ** (1 / 3), "ceil": math.ceil, "cdfnorm": lambda x: math.erfc(-x / math.sqrt(2)) / 2,
    "cdfnorminv": lambda x: statistics.NormalDist().inv_cdf(x), "copysign": math.copysign, "cos": math.cos,
    "cosd": lambda x: math.cos(math.radians(x)), "cosh": math.cosh, "cospi": lambda x: math.cos(math.pi * x),
    "div": lambda x, y: x / y, "erf": math.erf, "erfc": math.erfc, "erfcinv": lambda x: -statistics.NormalDist().inv_cdf(x / 2) / math.sqrt(2),
    "erfinv": lambda x: statistics.NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2), "exp": math.exp, "exp10": lambda x: 10**x,
    "exp2": lambda x: 2**x, "expm1": math.expm1, "floor": math.floor, "trunc": math.trunc, "fdim": lambda x, y: max(x - y, 0), "fmax": max, "fmin": min, "fmod": math.fmod,
    "hypot": math.hypot, "inv": lambda x: 1 / x, "invcbrt": lambda x: x ** (-1 / 3), "invsqrt": lambda x: x**-0.5,
    "lgamma": math.lgamma, "ln": math.log, "log10": math.log10, "log1p": math.log1p, "log2": math.log2, "logb": None,
    "mul": lambda x, y: x * y, "pow": math.pow, "pow2o3": lambda x: x ** (2 / 3), "pow3o2": lambda x: x**1.5, "powr": math.pow,
    "remainder": math.remainder, "sin": math.sin, "sind": lambda x: math.sin(math.radians(x)), "sinh": math.sinh,
    "sinpi": lambda x: math.sin(math.pi * x), "sqr": lambda x: x * x, "sqrt": math.sqrt, "sub": lambda x, y: x - y,
    "tan": math.tan, "tand": lambda x: math.tan(math.radians(x)), "tanh": math.tanh, "tanpi": lambda x: math.tan(math.pi * x),
    "tgamma": math.gamma,
}

missed = []


def row(title, text, is_met=None):
    if is_met is False:
        missed.append(f"{title}: {text}")
    word = {True: "met", False: "MISSED", None: ""}[is_met]
    print(f"{title:52} {text:60} {word}".rstrip(), flush=True)


def lines(*command, **options):
    """The lines of JSON that a program prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]}: exit {done.returncode}: {done.stderr.strip()[:500]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def best(count, *command, **options):
    """Of so many runs, the least of each figure."""
    runs = [lines(*command, **options)[0] for _ in range(count)]
    return {name: min(run[name] for run in runs) for name in runs[0] if isinstance(runs[0][name], (int, float))}


def library():
    """MKL's vector-math library, as it comes out of its wheel."""
    if not list(WORK.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", WORK, WHEEL]
        subprocess.run(command, check=True)
    with zipfile.ZipFile(next(WORK.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("/libmkl_sycl_vm.so.6"))
        return WORK / name if (WORK / name).exists() else wheel.extract(name, WORK)


def closures():
    for symbols in (100, 1_000_000):
        seconds = best(3, PROGRAM, "--among", symbols)["seconds"]
        row(f"closure of 3 images among {symbols:,} symbols", f"{seconds * 1e6:.1f} µs, goal {CLOSURE} µs", seconds * 1e6 <= CLOSURE)


def bundles():
    device = os.environ | {"OFFKIT_PLUGINS": str(RELEASE / "liboffkit_plugin_cpu.so"), "OCL_ICD_VENDORS": "/nowhere/"}
    for run in lines(PROGRAM.with_name("bundle"), env=device):
        milliseconds = run["seconds"] * 1e3
        title = f"open a bundle of {run['images']:,} images, {run['state']} state"
        row(title, f"{milliseconds:.1f} ms, goal {BUNDLE} ms", milliseconds <= BUNDLE)


def real_closures(file):
    """All closures of the library; the kernels of the sample."""
    whole, *sample = lines(PROGRAM, file, "--sample", SAMPLE)
    sizes = ", ".join(f"{count:,} of {images} images" for images, count in whole["sizes"].items())
    is_met = whole["sizes"] == KERNELS and whole["missing"] == 0
    row(f"closures of MKL's {whole['images']:,} images", f"{whole['importing']:,} of {sum(KERNELS.values()):,}: {sizes}", is_met)
    median, most = whole["median"] * 1e6, whole["most"] * 1e6
    row("  each of them", f"{median:.1f} µs, {most:.1f} µs at most; goal {CLOSURE} µs", median <= CLOSURE)
    return sample


def array(path, letter, values):
    """Writes an array as NumPy does."""
    kind = {"f": "<f4", "d": "<f8"}[letter]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header = header.ljust((len(header) + 11 + 63) // 64 * 64 - 11) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{letter}", *values))


def read(path, letter):
    content = path.read_bytes()
    start = 10 + struct.unpack_from("<H", content, 8)[0]
    return struct.unpack(f"<{(len(content) - start) // struct.calcsize(letter)}{letter}", content[start:])


def agrees(kernel, letter, inputs, results):
    """Whether the results are those of Python's function of that name; None if there is none."""
    functor = re.search(r"functor(\d+)", kernel)
    name = kernel[functor.end() :][: int(functor[1])].split("_")[0] if functor else ""
    function = FUNCTIONS.get(name)
    if not function or not letter:
        return None
    expected = [function(*values) for values in zip(*inputs)]
    return all(abs(got - want) <= TOLERANCE[letter] * max(abs(want), 1e-3) for got, want in zip(results, expected))


def run_sample(file, sample):
    """Links and launches the sample with `offkit run`."""
    times, failed, compared, wrong = [], [], 0, []
    for number, one in enumerate(sample):
        kernel = one["kernel"]
        shape = re.search(r"\d+v(\d)(\d)I", kernel)
        reads = int(shape[1]) if shape else 1
        # From numbers of a kind to numbers of the same; else complex ones.
        kind = re.search(r"v\d\dI(?:Lb[01]E)?(ff|dd)", kernel)
        letter = kind and kind[1][0]
        size = ITEMS * UNROLLED
        used = size if f"Li{UNROLLED}E" in kernel else ITEMS
        inputs = [[(item + 1) / 2 / size / (other + 1) for item in range(size)] for other in range(reads)]
        arguments = []
        for index in range(one["parameters"]):
            if letter and index < reads:
                array(WORK / f"in{index}.npy", letter, inputs[index])
                arguments += ["--arg", f"in{index}.npy"]
            else:
                # Bytes fit every pointer.
                element = {"f": "f32", "d": "f64"}.get(letter if index == reads else None)
                arguments += ["--arg", f"{element}[{size}]" if element else f"u8[{16 * size}]"]
        command = [OFFKIT, "run", file, kernel, "--device", "cpu", "--global", ITEMS, "--time", *arguments, "--out", f"{reads}=out.npy"]
        environment = os.environ | {"OFFKIT_CACHE": "off", "OCL_ICD_VENDORS": "/nowhere/"}
        done = subprocess.run([str(word) for word in command], cwd=WORK, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            failed.append(f"{kernel}: {done.stderr.strip()[:300]}")
            continue
        took = re.search(r"([\d.]+) (µs|ms|s)  build", done.stderr)
        times.append(float(took[1]) * {"µs": 1e-3, "ms": 1, "s": 1e3}[took[2]])
        results = read(WORK / "out.npy", letter)[:used] if letter else []
        verdict = agrees(kernel, letter, inputs, results)
        compared += verdict is not None
        if verdict is False:
            wrong.append(kernel)
    for line in failed + [f"other results: {kernel}" for kernel in wrong]:
        print(f"  {line}", file=sys.stderr)
    text = f"{len(times)} ran, {compared - len(wrong)} of {compared} compared agree"
    row(f"{len(sample)} of them linked and run", text, len(times) == SAMPLE and not wrong)
    if times:
        row("  linked and compiled, without the cache", f"{statistics.median(times):.1f} ms in the middle, {max(times):.1f} ms at most")


def beside_intel(file, kernel):
    """Registering and launching for the first time, beside the real SYCL runtime."""
    environment = os.environ | {"OFFKIT_CACHE": "off", "OCL_ICD_VENDORS": "/nowhere/"}
    wrapped = WORK / "all.so"
    subprocess.run([OFFKIT, "wrap", "-q", file, "-o", WORK / "all.o", "--runtime", "sycl-v3"], check=True)
    subprocess.run(["cc", "-shared", WORK / "all.o", "-o", wrapped], check=True)
    source = ROOT / "bench" / "first_launch.c"
    ours = WORK / "first_launch"
    subprocess.run(["cc", "-O2", "-o", ours, source, f"-I{ROOT}/include", f"-L{RELEASE}", "-loffkit", "-ldl", f"-Wl,-rpath,{RELEASE}"], check=True)
    if not (INTEL / "lib/libsycl.so.9").exists():
        subprocess.run([sys.executable, "-m", "venv", INTEL], check=True)
        subprocess.run([INTEL / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
    theirs, folder = WORK / "first_launch_sycl", INTEL / "lib"
    includes = [f"-I{INTEL}/include", f"-I{INTEL}/include/sycl"]
    command = ["c++", "-std=c++17", "-O2", "-w", "-o", theirs, ROOT / "bench" / "first_launch.cpp", *includes]
    subprocess.run([*command, f"-L{folder}", "-l:libsycl.so.9", "-ldl", f"-Wl,-rpath,{folder}"], check=True)

    driver = os.environ | {"LD_LIBRARY_PATH": str(folder), "OCL_ICD_FILENAMES": str(folder / "libintelocl.so"), "SYCL_CACHE_PERSISTENT": "0"}
    real = best(5, theirs, wrapped, kernel, env=driver)
    own = best(5, ours, wrapped, kernel, "cpu", env=environment)
    drivers = WORK / "drivers"
    drivers.mkdir(exist_ok=True)
    (drivers / "intel.icd").write_text(str(folder / "libintelocl.so"))
    through = environment | {"LD_LIBRARY_PATH": str(folder), "OCL_ICD_VENDORS": f"{drivers}/"}
    through["OFFKIT_PLUGINS"] = str(RELEASE / "liboffkit_plugin_opencl.so")
    over = best(5, ours, wrapped, kernel, "opencl", env=through)
    images = own["images"]
    print(f"\n{images:,} images of a library, and a kernel of it that needs another image; least of 5, in ms, and libsycl's by ours")
    for title, name in (
        ("register all, with dlopen", "register"),
        ("devices, a context and a queue", "ready"),
        ("collect, link and compile", "build"),
        ("first launch", "launch"),
    ):
        cells = [f"{run[name] * 1e3:8.2f}" for run in (own, over, real)]
        ratios = [f"×{real[name] / run[name]:.1f}" for run in (own, over)]
        row(title, f"{cells[0]} ours, {cells[1]} ours on Intel's driver, {cells[2]} libsycl; {', '.join(ratios)}")
    same = abs(own["first"] - real["first"]) <= 1e-4 and abs(over["first"] - real["first"]) <= 1e-4
    row("the same result", f"{own['first']:.6g}, {over['first']:.6g}, {real['first']:.6g}", same)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    libraries = ["-p", "offkit-capi", "-p", "offkit-plugin-opencl", "-p", "offkit-plugin-cpu"]
    for build in (["-p", "offkit-runtime", "--example", "closures", "--example", "bundle"], libraries):
        subprocess.run(["cargo", "build", "--release", "--quiet", *build], cwd=ROOT, check=True)
    closures()
    bundles()
    file = library()
    sample = real_closures(file)
    run_sample(file, sample)
    real = next(one["kernel"] for one in sample if "v11ILb0Eff" in one["kernel"])
    beside_intel(file, real)
    if missed:
        print("\nmissed: " + "; ".join(missed), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
