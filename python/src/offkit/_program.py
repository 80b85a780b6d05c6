"""Calls of the `offkit` program that is installed with this package."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Union

StrPath = Union[str, "os.PathLike[str]"]


class OffkitError(Exception):
    """What offkit was asked to read could not be read, or not as a whole.

    ``str()`` says what happened, and what to do next; ``problems`` has a row for each place that could not be read.
    """

    def __init__(self, message: str, problems: Sequence[Any] = ()) -> None:
        super().__init__(message, problems)
        self.problems = list(problems)

    def __str__(self) -> str:
        return str(self.args[0])


def find() -> str:
    """The path of the program: of this package, never of another that happens to be on the path.

    Raises:
        FileNotFoundError: It is not where pip installs programs.
    """
    name = "offkit" + (sysconfig.get_config_var("EXE") or "")
    package = Path(__file__).resolve().parent
    folders = [
        sysconfig.get_path("scripts"),
        # `pip install --user`.
        sysconfig.get_path("scripts", f"{os.name}_user"),
        # `pip install --target FOLDER`, and `--prefix FOLDER` with lib/python3.X/site-packages in it.
        *(os.path.join(folder, "bin") for folder in list(package.parents)[:4]),
    ]
    for folder in folders:
        program = os.path.join(folder, name)
        if os.path.isfile(program):
            return program
    searched = ", ".join(map(str, folders))
    raise FileNotFoundError(f"offkit's program is not there (searched {searched}): install offkit's wheel again")


def _paths(paths: Sequence[StrPath]) -> list[str]:
    if not paths:
        raise TypeError("there is no file to look into")
    # So that no name is taken for an option.
    return ["--", *(os.fspath(path) for path in paths)]


def _reason(errors: str) -> str:
    """What the program says of a failure, in one text."""
    return errors.strip().removeprefix("error: ") or "the program failed without a reason"


def read(words: Sequence[str]) -> bytes:
    """What the program writes to standard output.

    Raises:
        OffkitError: It failed.
    """
    done = subprocess.run([find(), *words], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise OffkitError(_reason(done.stderr.decode(errors="replace")))
    return done.stdout


def ask(verb: str, options: Sequence[str], paths: Sequence[StrPath]) -> tuple[dict[str, Any], int]:
    """The JSON object that a command answers with, and its exit code.

    Raises:
        OffkitError: There is no answer.
    """
    command = [find(), verb, "--json", *options, *_paths(paths)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if not done.stdout:
        raise OffkitError(_reason(done.stderr.decode(errors="replace")))
    return json.loads(done.stdout), done.returncode


def lines(verb: str, options: Sequence[str], paths: Sequence[StrPath]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a listing, as they come. Who stops early ends the program.

    Raises:
        OffkitError: At the end, if not everything could be read.
    """
    command = [find(), verb, "--json", *options, *_paths(paths)]
    problems = []
    # A pipe that nobody reads meanwhile could fill up.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                row = json.loads(line)
                if "problem" in row:
                    problems.append(row)
                else:
                    yield row
            code = process.wait()
        finally:
            process.stdout.close()
            process.kill()
            process.wait()
        # 1 is the answer that no image is of this kind.
        if code not in (0, 1):
            errors.seek(0)
            raise OffkitError(_reason(errors.read().decode(errors="replace")), problems)
