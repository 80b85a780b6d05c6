#!/usr/bin/env python3
"""Runs Khronos' OpenCL conformance suite on an OpenCL driver, and keeps what each of its tests said.

A test that took too long was cut, and counts as not run. What has a result is not run again, so a run that was
interrupted goes on where it stopped; a test that was cut gets another try when it may take longer than the last time.
"""

import argparse
import datetime
import json
import os
import platform
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import page
from rows import HERE, KEPT, OURS, ROOT, ROWS, kept, logs, results

# How a test's last line in the log says what came of it. What a test itself said may stand before it.
VERDICTS = (
    ("pass", r"(\(seed = \d+\) |\.+)?{} passed"),
    ("fail", r".*{} FAILED"),
    ("skip", r".*{} (test not supported|skipped \(requires.*|test currently not implemented)"),
    ("skip", r"Subtest {} tests is not supported in offline compiler.*"),
)


def arguments():
    parser = argparse.ArgumentParser(prog="./dev conformance", description=__doc__)
    parser.add_argument("tests", nargs="*", metavar="TEST", help="a row, or ROW/SUBTEST; all rows without any")
    parser.add_argument("--cts", type=Path, metavar="DIR", default=KEPT.parent / "cts", help="the folder that OpenCL-CTS was"
                        " built in, or one to build it in, with clones of Khronos' repositories or none (target/cts)")
    parser.add_argument("--driver", type=Path, metavar="FILE", help="another OpenCL driver's library, to compare with")
    parser.add_argument("--full", action="store_true", help="all of it, in the long ways")
    parser.add_argument("--spirv", action="store_true", help="compile to SPIR-V by clang before, instead of passing source")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for a row, each time (600)")
    parser.add_argument("--each", type=float, default=300, metavar="SECONDS", help="for one test of a row (300)")
    parser.add_argument("--again", choices=["failed", "all"], help="run these although they have a result")
    parser.add_argument("--list", action="store_true", help="print the rows and what is kept of them; run nothing")
    parser.add_argument("--page", action="store_true", help="write docs/conformance.md from what is kept; run nothing")
    return parser.parse_args()


def fail(message):
    print(f"conformance: {message}", file=sys.stderr)
    sys.exit(3)


def wanted(patterns):
    """The rows named, each with the tests of it that are named, or with None for all."""
    if not patterns:
        return dict.fromkeys(ROWS)
    rows = {}
    for pattern in patterns:
        row, _, test = pattern.partition("/")
        if row not in ROWS:
            fail(f"there is no row {row}; the rows are {', '.join(ROWS)}")
        if test and rows.get(row, ()) is not None:
            rows.setdefault(row, []).append(test)
        else:
            rows[row] = None
    return rows


def programs_of(folder, rows):
    """The folder with the programs of these rows, which are built there unless it is a build of somebody else's."""
    if (folder / "test_conformance").is_dir():
        return folder / "test_conformance"
    folder.mkdir(parents=True, exist_ok=True)
    programs = {Path(ROWS[name].program).name for name in rows}
    built = folder / "build/test_conformance"
    if subprocess.run([HERE / "build.sh", folder, *sorted(programs)], stdin=subprocess.DEVNULL).returncode != 0:
        if not built.is_dir():
            fail(f"OpenCL-CTS was not built in {folder}: see above")
        print(f"conformance: not all of OpenCL-CTS was built in {folder}: see above", file=sys.stderr)
    return built


class Suite:
    """The suite's programs, and how they are started so that they see one driver and no other."""

    def __init__(self, options, programs):
        self.options, self.programs = options, programs
        # It goes with the suite.
        self.folder = tempfile.TemporaryDirectory(prefix="offkit-conformance-")
        self.work = Path(self.folder.name)
        vendors = self.work / "vendors"
        vendors.mkdir()
        (vendors / "offkit.icd").write_text(f"{options.driver}\n")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("OCL_ICD_", "OPENCL_LAYER"))},
            "OCL_ICD_VENDORS": f"{vendors}/",
            "CL_CONFORMANCE_RESULTS_FILENAME": str(self.work / "results.json"),
        }

    def program(self, row):
        file = self.programs / row.program
        return file if file.exists() else None

    def listed(self, row):
        """The names of a program's tests."""
        command = [self.program(row), *self.given(row), "--list"]
        said = subprocess.run(command, env=self.environment, capture_output=True, text=True, errors="replace")
        return re.findall(r"^\t(\w+)$", said.stdout, re.M)

    def given(self, row):
        """The row's own arguments, before the names of tests."""
        folder = self.program(row).parent
        return row.arguments(self.options.full).replace("{}", str(folder)).split()

    def command(self, name, tests):
        row = ROWS[name]
        # By lines, so that what a test said is there when it has to be stopped.
        command = ["stdbuf", "-oL", self.program(row), *self.given(row), *tests]
        if self.options.spirv:
            cache = KEPT / self.options.driver.stem / "programs" / name
            cache.mkdir(parents=True, exist_ok=True)
            command += ["--compilation-mode", "spir-v", "--compilation-program", HERE / "compile.py"]
            command += ["--compilation-cache-mode", "compile-if-absent", "--compilation-cache-path", cache]
            # clang 22 makes some that are not valid, which is written down for each test it touches.
            command += ["--disable-spirv-validation"]
        return command

    def run(self, name, tests, seconds, each, log, report):
        """Runs tests in one process until it ends, or one of them took `each`, or all of them took `seconds`.

        Calls `report(test, verdict, seconds)`, with the verdicts pass, fail, skip, crash, and cut for the one that was
        stopped: nothing is reported of those after it.
        """
        (self.work / "results.json").unlink(missing_ok=True)
        process = subprocess.Popen(
            self.command(name, tests),
            env=self.environment,
            cwd=self.program(ROWS[name]).parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ends = time.monotonic() + seconds
        current, began, left = None, time.monotonic(), set(tests)
        cut, patience = False, 0

        def close(verdict):
            nonlocal current
            left.discard(current)
            report(current, verdict, time.monotonic() - began)
            current = None

        try:
            for line in lines(process, lambda: min(ends, began + each if current else ends)):
                log.write(line)
                text = line.decode(errors="replace").strip()
                if text.endswith("...") and text[:-3] in left - {current}:
                    # Without a last line of the one before, what the program writes down at its end has to do.
                    current, began = text[:-3], time.monotonic()
                elif current:
                    for verdict, form in VERDICTS:
                        if re.fullmatch(form.format(current), text):
                            close(verdict)
                            break
            patience = 10
        except TimeoutError:
            cut = True
        finally:
            code = end(process, patience)
        if cut:
            if current:
                close("cut")
            return
        # What the program itself wrote down is the last word: a driver may fail after a test has passed.
        try:
            said = json.loads((self.work / "results.json").read_text())["results"]
        except (OSError, ValueError):
            said = {}
        if current and current not in said:
            log.write(f"\n== ended with {code}\n".encode())
            close("crash")
        for test, verdict in said.items():
            report(test, verdict, None)


def end(process, patience):
    """Waits for a process that is at its end, and ends it and what it started if it is not. Returns its exit code."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def lines(process, deadline):
    """The lines a process prints; `TimeoutError` when `deadline()` is over."""
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    rest = b""
    while True:
        if not selector.select(max(0, deadline() - time.monotonic())):
            raise TimeoutError
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            if rest:
                yield rest
            return
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"


def run_row(suite, name, only):
    options, row = suite.options, ROWS[name]
    file = kept(options.spirv, options.full, options.driver.stem) / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    record = json.loads(file.read_text()) if file.exists() else {"tests": {}}
    listed = suite.listed(row)
    names = [test for test in listed if test.startswith(row.tests(options.full))]
    if only:
        unknown = set(only) - set(names)
        if unknown:
            fail(f"{name} has no test {', '.join(sorted(unknown))}; it has {', '.join(names)}")
    record.update(program=row.program, arguments=row.arguments(options.full), of=len(names))
    record["tests"] = {test: result for test, result in record["tests"].items() if test in names}

    def pending(test):
        result = record["tests"].get(test)
        if only and test not in only:
            return False
        if result is None or (result["verdict"] == "cut" and result["seconds"] < options.each - 1):
            return True
        again = {"all": True, "failed": result["verdict"] in ("fail", "crash")}
        return again.get(options.again, False)

    def report(test, verdict, seconds):
        if seconds is None:
            before = record["tests"].get(test, {})
            if before.get("verdict") == verdict:
                done.add(test)
                return
            seconds = before.get("seconds", 0)
        seconds = round(seconds, 2)
        record["tests"][test] = {"verdict": verdict, "seconds": seconds}
        record["date"] = datetime.date.today().isoformat()
        record["host"] = f"{os.cpu_count()} × {processor()}"
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps(record, indent=1) + "\n")
        temporary.replace(file)
        done.add(test)
        if verdict in ("fail", "crash", "cut"):
            print(f"  {name}/{test}: {verdict}, {seconds:.0f} s", flush=True)

    # Those that were cut come last, since they take the time from others, and by themselves: a program has an order of
    # its own.
    wished = [test for test in names if pending(test)]
    queues = [[test for test in wished if (test in record["tests"]) == again] for again in (False, True)]
    began, done = time.monotonic(), set()
    folder = logs(options.spirv, options.full, options.driver.stem)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.log").open("ab", buffering=0) as log:
        for queue in queues:
            while queue:
                left = options.limit - (time.monotonic() - began)
                if left <= 1:
                    break
                suite.run(name, queue, left, options.each, log, report)
                # A program that dies before its first test says nothing of any.
                if not done.intersection(queue):
                    print(f"  {name}: its program ends before a test begins; see {folder / name}.log", file=sys.stderr)
                    break
                queue = [test for test in queue if test not in done]
    print(f"{name}: {page.summary(record)}", flush=True)


def processor():
    try:
        return re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M).group(1)
    except (OSError, AttributeError):
        return platform.machine()


def main():
    options = arguments()
    rows = wanted(options.tests)
    options.driver = (options.driver or KEPT.parent / f"release/{OURS}.so").resolve()
    if options.list:
        found = results(options.spirv, options.full, options.driver.stem)
        for name in rows:
            print(f"{name:24} {page.summary(found[name]) if name in found else 'not run'}")
        return
    if options.page:
        (ROOT / "docs/conformance.md").write_text(page.page())
        return
    if not options.driver.exists():
        fail(f"there is no {options.driver}")
    suite = Suite(options, programs_of(options.cts.resolve(), rows))
    print(f"logs are in {logs(options.spirv, options.full, options.driver.stem)}", flush=True)
    for name, only in rows.items():
        if suite.program(ROWS[name]) is None:
            print(f"{name}: not built in {suite.programs}", flush=True)
            continue
        run_row(suite, name, only)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
