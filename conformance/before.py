"""What a page says already: rows that were not run again here are taken over from it, with a mark."""

import re
from dataclasses import dataclass, field

MARK = " ¹"
NOTE = f"{MARK.strip()} Not run again since "


@dataclass
class Row:
    """A row of a table: its name with its arguments, how many ran of how many, passed, failed, skipped."""

    label: str
    is_marked: bool
    ran: int
    of: int
    passed: int
    failed: int
    skipped: int


@dataclass
class Section:
    """What a page says of one mode."""

    rows: dict[str, Row] = field(default_factory=dict)
    # When and where its rows were run, and those with a mark.
    when: str = ""
    when_marked: str = ""
    # What else is said above the table.
    prose: list[str] = field(default_factory=list)
    # Reason by reason, what is said of each row below "Failed" and "Skipped".
    failed: dict[str, dict[str, str]] = field(default_factory=dict)
    skipped: dict[str, dict[str, str]] = field(default_factory=dict)
    # What is said of each row below "Not run".
    unfinished: dict[str, str] = field(default_factory=dict)


def sections(text):
    """The sections of a page by their headings."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        heading, _, rest = part.partition("\n")
        found[heading] = section(rest)
    return found


def section(text):
    said = Section()
    above, *below = re.split(r"^### ", text, flags=re.M)
    for paragraph in above.strip().split("\n\n"):
        if paragraph.startswith("| Row"):
            said.rows = rows(paragraph)
        elif paragraph.startswith(NOTE):
            said.when_marked = paragraph.removeprefix(NOTE).rstrip(".")
        elif re.match(r"\d{4}-\d\d-\d\d", paragraph):
            said.when = paragraph.rstrip(".")
        else:
            said.prose.append(paragraph)
    for part in below:
        heading, _, rest = part.partition("\n")
        lines = re.findall(r"^- (.*)$", rest, re.M)
        if heading == "Failed":
            said.failed = reasons(lines, "; ", ": ")
        elif heading == "Skipped":
            said.skipped = reasons(lines, ", ", " ")
        elif heading == "Not run":
            said.unfinished = dict(line.split(": ", 1) for line in lines if ": " in line)
    return said


def rows(table):
    found = {}
    for line in table.splitlines()[2:]:
        label, ran, *numbers = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if not label.startswith("**"):
            is_marked = label.endswith(MARK)
            label = label.removesuffix(MARK)
            numbers = [int(number) for number in [*ran.split(" / "), *numbers[:3]]]
            found[label.split()[0]] = Row(label, is_marked, *numbers)
    return found


def reasons(lines, between, within):
    """Reasons, and of each row what it has to do with it: they are separated by `between`, and have `within` in them."""
    found = {}
    for line in lines:
        # A reason may have a colon of its own; names of rows have none.
        why, _, named = re.match(r"(.*?)(: )(\w+" + re.escape(within) + r".*)$", line).groups()
        found[why] = dict(part.split(within, 1) for part in named.split(between))
    return found


def together(*times):
    """One time and place of several, each as a page has it."""
    times = [time for time in times if time]
    dates = sorted(date for time in times for date in re.findall(r"\d{4}-\d\d-\d\d", time))
    places = sorted({time.partition(", on ")[2] for time in times} - {""})
    return f"{span(dates)}, on {', '.join(places)}"


def span(dates):
    return dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
