"""docs/conformance.md: what is kept of the runs, beside another runtime's figures."""

import json
from collections import Counter
from fnmatch import fnmatchcase

import before
from rows import HERE, ROOT, ROWS, results

PAGE = ROOT / "docs/conformance.md"

HEAD = """# Conformance

Khronos' OpenCL conformance suite, run on [offkit's OpenCL driver](opencl-driver.md), beside {runtime}
({suite} for both). Nothing has been submitted to Khronos. `./dev conformance --page` writes this page from
the results that are kept in `conformance/results`. Rows of which fewer tests were run since it was written before are taken
over as they stand, with a mark.

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
as passed. Rows are run in the suite's short ways where it has them (`-w`, `quick_`); what was run in the long ways stands at the
end. The first device is tested, which
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


def figures(record):
    """How many ran, passed, failed, were skipped."""
    count = counts(record)
    failed = count["fail"] + count["crash"]
    return count["pass"] + failed + count["skip"], count["pass"], failed, count["skip"]


def theirs(row, kind):
    if kind not in row:
        return ["", "", "", ""]
    told = row[kind]
    failed = len(told["failed"])
    ran = told["passed"] + failed + told["skipped"]
    return [f"{ran} / {row['of']}", told["passed"], failed, told["skipped"]]


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def table(found, kept, intel, kind):
    text = line(["Row", "Ran", "Passed", "Failed", "Skipped", "Intel: ran", "passed", "failed", "skipped"])
    text += line(["---"] * 9)
    total, other = Counter(), Counter()
    for name in ROWS:
        if name in kept:
            row = kept[name]
            label, of = row.label + before.MARK, row.of
            ran, passed, failed, skipped = row.ran, row.passed, row.failed, row.skipped
        elif name in found:
            record = found[name]
            label = f"{name} `{record['arguments']}`" if record["arguments"].startswith("-w") else name
            of = record["of"]
            ran, passed, failed, skipped = figures(record)
        else:
            continue
        row = intel["rows"].get(name, {})
        text += line([label, f"{ran} / {of}", passed, failed, skipped] + theirs(row, kind))
        total.update(ran=ran, of=of, passed=passed, failed=failed, skipped=skipped)
        if kind in row:
            other.update(of=row["of"], passed=row[kind]["passed"], failed=len(row[kind]["failed"]), skipped=row[kind]["skipped"])
    cells = [f"{total['ran']} / {total['of']}", total["passed"], total["failed"], total["skipped"]]
    if other:
        cells += [f"{other['passed'] + other['failed'] + other['skipped']} / {other['of']}"]
        cells += [other["passed"], other["failed"], other["skipped"]]
    cells = ["**all**", *(f"**{cell}**" for cell in cells)]
    return text + line(cells + [""] * (9 - len(cells)))


def explained(found, kept, said, intel, kind, verdicts, reasons):
    """What did not pass, by its reason, of rows found here and of those kept from what was said; what has none is listed as
    such."""
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
    named = {}
    for why, rows in by_reason.items():
        for name, tests in rows.items():
            named.setdefault(why, {})[name] = f": {', '.join(tests)}" if verdicts == FAILED else f" {len(tests)}"
    for why, rows in said.items():
        for name, text in rows.items():
            if name in kept:
                named.setdefault(why, {})[name] = f": {text}" if verdicts == FAILED else f" {text}"
    text = ""
    for why, rows in named.items():
        parts = [f"{name}{rows[name]}" for name in ROWS if name in rows]
        text += f"- {why}: {('; ' if verdicts == FAILED else ', ').join(parts)}\n"
    return text


def unfinished(rows, found, kept, said):
    """Of these rows those of which not everything ran, and how long what was stopped had been given."""
    text = ""
    for name in ROWS:
        if name in kept and name in said:
            text += f"- {name}: {said[name]}\n"
        if name not in found or name in kept:
            continue
        record = found[name]
        cut = {test: result["seconds"] for test, result in record["tests"].items() if result["verdict"] == "cut"}
        missing = record["of"] - len(record["tests"])
        if not cut and not missing:
            continue
        stopped = ", ".join(f"`{test}` after {seconds:.0f} s" for test, seconds in sorted(cut.items()))
        rest = f"{missing} not begun" if missing else ""
        text += f"- {name}: {'; '.join(part for part in (f'stopped {stopped}' if stopped else '', rest) if part)}\n"
    left = [name for name in rows if name not in found and name not in kept]
    if left:
        text += f"- no test of {', '.join(left)}\n"
    return text


def page():
    intel = json.loads((HERE / "intel.json").read_text())
    reasons = json.loads((HERE / "reasons.json").read_text())
    text = HEAD.format(**intel)
    written = before.sections(PAGE.read_text()) if PAGE.exists() else {}
    for full in (False, True):
        # Those that have no short way were run as a whole above. Intel's runtime was not run in the long ones.
        rows = [name for name, row in ROWS.items() if row.has_short_way or not full]
        beside = {**intel, "rows": {} if full else intel["rows"]}
        for kind, said in KINDS.items():
            heading = f"{said}, all of it" if full else said
            old = written.get(heading, before.Section())
            found = results(kind == "spirv", full)
            kept = {
                name: row
                for name, row in old.rows.items()
                if name in rows and (name not in found or figures(found[name])[0] < row.ran)
            }
            found = {name: record for name, record in found.items() if name in rows and name not in kept}
            if found or kept:
                text += f"\n## {heading}\n\n" + section(rows, found, kept, old, beside, kind, reasons)
    return text


def section(rows, found, kept, old, intel, kind, reasons):
    text = ""
    if found:
        dates = sorted(record["date"] for record in found.values() if "date" in record)
        hosts = sorted({record["host"] for record in found.values() if "host" in record})
        text += f"{before.span(dates)}, on {', '.join(hosts)}.\n\n"
    if kept:
        when = before.together(
            old.when if any(not row.is_marked for row in kept.values()) else "",
            old.when_marked if any(row.is_marked for row in kept.values()) else "",
        )
        text += "\n\n".join([f"{before.NOTE}{when}.", *old.prose]) + "\n\n"
    text += table(found, kept, intel, kind)
    lists = {
        "Failed": explained(found, kept, old.failed, intel, kind, FAILED, reasons["failed"]),
        "Skipped": explained(found, kept, old.skipped, intel, kind, ("skip",), reasons["skipped"]),
        "Not run": unfinished(rows, found, kept, old.unfinished),
    }
    return text + "".join(f"\n### {heading}\n\n{lines}" for heading, lines in lists.items() if lines)
