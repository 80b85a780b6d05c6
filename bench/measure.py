"""Runs commands in turn and compares their times and peak memory."""

import os
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
RELEASE = TARGET / "release"
FOLDER = TARGET / "bench"
TIMED = FOLDER / "timed"
LIMIT = 20  # seconds for one run
BUDGET = 5.0  # seconds for all runs of one row, about

os.environ["PATH"] = f"{RELEASE}:/usr/lib/llvm-22/bin:{os.environ['PATH']}"


@dataclass
class Run:
    """What one run of a command took."""

    status: str
    wall: float  # seconds
    cpu: float  # seconds, of all threads
    peak: float  # MiB

    @property
    def ended(self):
        return self.status != "limit"


class Failed(Exception):
    pass


def prepare():
    """Builds the program that takes the times."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("timed.c")
    if not TIMED.exists() or TIMED.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-o", TIMED, source], check=True)


def run(command, cwd=FOLDER, before=None, limit=LIMIT):
    """Runs a command once; `before` is called first, outside of the time."""
    if before:
        before()
    command = [str(word) for word in command]
    done = subprocess.run([TIMED, str(limit), *command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{command[0]} cannot be started")
    status, wall, cpu, peak = done.stdout.split()
    if status not in ("0", "limit"):
        raise Failed(f"{' '.join(command)[:200]}: exit {status}: {done.stderr.strip()[:300]}")
    return Run(status, int(wall) / 1e9, int(cpu) / 1e6, int(peak) / 1024)


class Series:
    """The runs of one command."""

    def __init__(self, runs):
        self.runs = runs
        self.least = min(run.wall for run in runs)
        self.median = statistics.median(run.wall for run in runs)
        self.peak = max(run.peak for run in runs)
        self.cpu = statistics.median(run.cpu for run in runs)
        self.ended = all(run.ended for run in runs)


def in_turn(commands, cwd=FOLDER, before=None, most=40, least=2, limit=LIMIT):
    """Series of runs of each command, one after the other in each round, so that what else the machine does
    hits all alike. A first round warms caches up and says how many more there is time for; a command that reached
    the time limit is not run again."""
    first = [run(command, cwd, before, limit) for command in commands]
    rounds = max(least, min(most, int(BUDGET / sum(one.wall for one in first))))
    series = [[] for _ in commands]
    for _ in range(rounds):
        for index, command in enumerate(commands):
            if first[index].ended:
                series[index].append(run(command, cwd, before, limit))
    return [Series(runs or [first[index]]) for index, runs in enumerate(series)]


def factor(ours, theirs):
    """How many times faster: the median over the pairs of runs; of a peer that was stopped, at least that."""
    if not theirs.ended:
        return theirs.least / ours.median
    return statistics.median(their.wall / our.wall for our, their in zip(ours.runs, theirs.runs))


def duration(seconds):
    """In milliseconds."""
    return f"{seconds * 1e3:.1f}" if seconds < 10 else f"{seconds * 1e3:.0f}"
