#!/usr/bin/env python3
"""Runs a package's own tests on offkit's CPU device: every file of tests in a process of its own.

PYTHON is the interpreter of an environment that has the package and pytest, DRIVER is liboffkit_opencl.so, and PACKAGE is
what has the tests: something to import, or a folder. A file that takes longer than N seconds (600) is cut: what it has not
run is counted as such. Failed tests are in FOLDER/failed.txt.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import time

KINDS = ["passed", "failed", "skipped", "xfailed", "not run"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("python", metavar="PYTHON")
    parser.add_argument("driver", metavar="DRIVER")
    parser.add_argument("--seconds", metavar="N", type=int, default=600)
    parser.add_argument("--out", metavar="FOLDER", default=os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "hosts"))
    parser.add_argument("package", metavar="PACKAGE")
    parser.add_argument("prefixes", metavar="FILE-PREFIX", nargs="*")
    options = parser.parse_intermixed_args()
    options.python = os.path.abspath(options.python)
    out = pathlib.Path(options.out).absolute()
    (out / "drivers").mkdir(parents=True, exist_ok=True)
    (out / "drivers/offkit.icd").write_text(os.path.abspath(options.driver) + "\n")
    here = pathlib.Path(__file__).resolve().parent
    environment = dict(os.environ, OCL_ICD_VENDORS=str(out / "drivers"), PYTHONPATH=str(here))
    environment.pop("OCL_ICD_FILENAMES", None)
    # One of the devices is enough for pyopencl, which takes all.
    environment["PYOPENCL_TEST"] = "offkit:0"
    tests = pathlib.Path(options.package).absolute()
    if not tests.is_dir():
        where = f"import {options.package} as package; print(*package.__path__)"
        tests = pathlib.Path(subprocess.check_output([options.python, "-c", where], env=environment, text=True).strip())
    names = sorted(str(path.relative_to(tests)) for path in tests.rglob("test_*.py"))
    if options.prefixes:
        names = [name for name in names if name.startswith(tuple(options.prefixes))]
    total, noted = collections.Counter(), 0
    failed = (out / "failed.txt").open("w", buffering=1)
    for name in names:
        counts, seconds, note = run(options, out, environment, tests, name, failed)
        total += counts
        noted += bool(note)
        print(row(name, counts), f"{seconds:6.0f} s", note, flush=True)
    print(row(f"{len(names)} files", total))
    return 1 if total["failed"] or noted else 0


def run(options, out, environment, tests, name, failed):
    outcomes = out / "outcomes.txt"
    outcomes.unlink(missing_ok=True)
    command = [options.python, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "outcomes", "-p", "picture"]
    start, note = time.time(), ""
    try:
        status = subprocess.run(
            command + [str(tests / name)],
            env=dict(environment, OFFKIT_OUTCOMES=str(outcomes)),
            cwd=out,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=options.seconds,
        ).returncode
        if status not in (0, 1, 5):
            note = f"ended with {status}"
    except subprocess.TimeoutExpired:
        note = "cut"
    counts, collected = collections.Counter(), 0
    for line in outcomes.read_text().splitlines() if outcomes.exists() else []:
        kind, _, rest = line.partition(" ")
        if kind == "collected":
            collected = int(rest)
        elif kind == "because":
            failed.write(f"  {rest}\n")
        else:
            counts[kind] += 1
            if kind == "failed":
                failed.write(f"{rest}\n")
    counts["not run"] = max(0, collected - counts.total())
    return counts, time.time() - start, note


def row(name, counts):
    return f"{name:55}" + " ".join(f"{counts[kind]:6} {kind}" for kind in KINDS)


sys.exit(main())
