"""docs/conformance.md: what is kept of the runs, beside another runtime's figures."""

import json
from collections import Counter
from fnmatch import fnmatchcase

from rows import HERE, ROWS, results

HEAD = """# Conformance

Khronos' OpenCL conformance suite, run on [offkit's OpenCL driver](opencl-driver.md), beside {runtime}
({suite} for both). Nothing has been submitted to Khronos. `./dev conformance --page` writes this page from
the results that are kept in `target/conformance`.

```console
$ ./dev conformance                           # every row, a few minutes each: run it again to go on
$ ./dev conformance printf svm/svm_migrate
$ ./dev conformance --spirv                   # compiled by clang 22 before, and passed as SPIR-V
$ ./dev conformance --again failed --limit 3600 --each 1800
$ ./dev conformance --list
```

The suite and what it is built with, Khronos' [OpenCL-CTS](https://github.com/KhronosGroup/OpenCL-CTS), headers and loader
of one day, are fetched and built in `target/cts`, in some minutes. `--cts` names another folder: one in which it was built,
or one with clones of the repositories.

**Ran** is how many of a row's tests came to an end. A test that was stopped for its time was not run: it is not counted
as passed. Rows are run in the suite's short ways where it has them (`-w`, `quick_`). The first device is tested, which
[compiles](cpu-device.md).
"""

KINDS = {"source": "OpenCL C, compiled by the driver", "spirv": "SPIR-V, compiled by clang 22 before"}
FAILED = ("fail", "crash")


def counts(record):
    return Counter(result["verdict"] for result in record["tests"].values())


def summary(record):
    count = counts(record)
    failed = count["fail"] + count["crash"]
    ran = count["pass"] + failed + count["skip"]
    stopped = f", {count['cut']} stopped" if count["cut"] else ""
    return f"{count['pass']} passed, {failed} failed, {count['skip']} skipped; ran {ran} of {record['of']}{stopped}"


def ours(record):
    count = counts(record)
    failed = count["fail"] + count["crash"]
    return [f"{count['pass'] + failed + count['skip']} / {record['of']}", count["pass"], failed, count["skip"]]


def theirs(row, kind):
    if kind not in row:
        return ["", "", "", ""]
    figures = row[kind]
    failed = len(figures["failed"])
    ran = figures["passed"] + failed + figures["skipped"]
    return [f"{ran} / {row['of']}", figures["passed"], failed, figures["skipped"]]


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def table(found, intel, kind):
    text = line(["Row", "Ran", "Passed", "Failed", "Skipped", "Intel: ran", "passed", "failed", "skipped"])
    text += line(["---"] * 9)
    total, other = Counter(), Counter()
    for name, record in found.items():
        row = intel["rows"].get(name, {})
        text += line([f"{name} `{record['arguments']}`" if record["arguments"].startswith("-w") else name]
                     + ours(record) + theirs(row, kind))
        count = counts(record)
        total.update(count)
        total["of"] += record["of"]
        if kind in row:
            other.update(of=row["of"], passed=row[kind]["passed"], failed=len(row[kind]["failed"]), skipped=row[kind]["skipped"])
    failed = total["fail"] + total["crash"]
    cells = [f"{total['pass'] + failed + total['skip']} / {total['of']}", total["pass"], failed, total["skip"]]
    cells += [f"{other['passed'] + other['failed'] + other['skipped']} / {other['of']}"]
    cells += [other["passed"], other["failed"], other["skipped"]]
    return text + line(["**all**", *(f"**{cell}**" for cell in cells)])


def explained(found, intel, kind, verdicts, reasons):
    """What did not pass, by its reason; what has none is listed as such."""
    by_reason = {}
    for name, record in found.items():
        for test, result in sorted(record["tests"].items()):
            if result["verdict"] not in verdicts:
                continue
            why = "**no reason is known yet**"
            for reason in reasons:
                if any(fnmatchcase(f"{name}/{test}", pattern) for pattern in reason["tests"]):
                    why = reason["why"]
                    break
            also = test in intel["rows"].get(name, {}).get(kind, {}).get("failed", ())
            by_reason.setdefault(why, {}).setdefault(name, []).append(f"`{test}`" + (" (Intel's too)" if also else ""))
    text = ""
    for why, rows in by_reason.items():
        if verdicts == FAILED:
            named = "; ".join(f"{name}: {', '.join(tests)}" for name, tests in rows.items())
        else:
            named = ", ".join(f"{name} {len(tests)}" for name, tests in rows.items())
        text += f"- {why}: {named}\n"
    return text or "None.\n"


def unfinished(found):
    """Rows of which not everything ran, and how long what was stopped had been given."""
    text = ""
    for name, record in found.items():
        cut = {test: result["seconds"] for test, result in record["tests"].items() if result["verdict"] == "cut"}
        missing = record["of"] - len(record["tests"])
        if not cut and not missing:
            continue
        stopped = ", ".join(f"`{test}` after {seconds:.0f} s" for test, seconds in sorted(cut.items()))
        rest = f"{missing} not begun" if missing else ""
        text += f"- {name}: {'; '.join(part for part in (f'stopped {stopped}' if stopped else '', rest) if part)}\n"
    left = [name for name in ROWS if name not in found]
    if left:
        text += f"- no test of {', '.join(left)}\n"
    return text or "All ran.\n"


def page():
    intel = json.loads((HERE / "intel.json").read_text())
    reasons = json.loads((HERE / "reasons.json").read_text())
    text = HEAD.format(**intel)
    for full in (False, True):
        for kind, said in KINDS.items():
            found = results(kind == "spirv", full)
            if not found:
                continue
            dates = sorted({record["date"] for record in found.values() if "date" in record})
            hosts = sorted({record["host"] for record in found.values() if "host" in record})
            between = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
            text += f"\n## {said}{', all of it' if full else ''}\n\n{between}, on {', '.join(hosts)}.\n\n"
            text += table(found, intel, kind)
            text += f"\n### Failed\n\n{explained(found, intel, kind, FAILED, reasons['failed'])}"
            text += f"\n### Skipped\n\n{explained(found, intel, kind, ('skip',), reasons['skipped'])}"
            text += f"\n### Not run\n\n{unfinished(found)}"
    return text
