"""Which kernels run on which devices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, TypedDict, Union

from . import _program
from ._program import OffkitError, StrPath
from ._size import Problem, _columns
from ._table import Table

if TYPE_CHECKING:
    import pandas


class Hole(TypedDict):
    """A kernel that has no code for a device."""

    kernel: str
    readable: str
    reason: str


class KernelVerdict(TypedDict):
    """What a device does with a kernel: ``native``, ``JIT`` or ``no code``."""

    kernel: str
    verdict: str


class Coverage(TypedDict):
    """What a device gets of a library."""

    library: str
    location: str
    target: str
    #: In words; it begins with ``probably`` where it rests on what is not promised.
    verdict: str
    #: How many there are, how many have machine code, and how many are compiled by the driver.
    kernels: int
    native: int
    jit: int
    native_archs: list[str]
    #: The oldest driver that does.
    least_driver: Optional[str]
    doubts: list[str]
    holes: list[Hole]
    waived: int
    kernel_verdicts: Optional[list[KernelVerdict]]


class Finding(TypedDict):
    """A rule that is broken, or nearly so: its ``level`` is ``error`` or ``warning``."""

    level: str
    rule: str
    library: Optional[str]
    kernel: Optional[str]
    target: Optional[str]
    value: Optional[int]
    limit: Optional[int]
    message: str


@dataclass(frozen=True)
class Checked:
    """Whether packages have the code that devices need."""

    #: Every rule is kept, and everything could be read.
    passed: bool
    #: The devices, as offkit understood their names.
    targets: list[str]
    #: A row for each library and device.
    coverage: Table[Coverage]
    #: Devices of whose kind there is no code at all.
    no_code_for: list[str]
    findings: Table[Finding]
    #: What could not be read, and is in no verdict.
    problems: Table[Problem]

    def to_pandas(self) -> pandas.DataFrame:
        """``coverage`` as a data frame."""
        return self.coverage.to_pandas()


def check(
    *paths: StrPath,
    targets: Union[str, Sequence[str]] = (),
    driver: Optional[str] = None,
    policy: Optional[StrPath] = None,
    baseline: Optional[StrPath] = None,
    strict: bool = False,
    kernels: bool = False,
    scan: bool = False,
) -> Checked:
    """Says which kernels in files, packages and folders run on which devices.

    Args:
        paths: Files, folders, or locations in files.
        targets: Devices that every kernel needs code for: ``sm_80``, ``9.0``, ``h100``, ``gfx90a:xnack+``; ``+ptx``
            asks for PTX besides.
        driver: The version of NVIDIA's driver: ``535.54.03``, or any of the branch ``535``.
        policy: A file of rules: ``offkit.toml``, or a ``pyproject.toml`` with ``[tool.offkit]``.
        baseline: What kernels took before, as ``offkit check --write-baseline`` writes it.
        strict: Let what is only probable count as no.
        kernels: Give the verdict of every kernel, in ``kernel_verdicts``.
        scan: Search the host's code byte by byte for images, too.

    Raises:
        OffkitError: A file cannot be opened, or a device is none.
    """
    wanted = [targets] if isinstance(targets, str) else list(targets)
    if not wanted and policy is None:
        raise OffkitError("there is no device to check for: name some as targets, or a policy")
    options = ["--recursive"]
    options += [f"--targets={','.join(wanted)}"] if wanted else []
    for name, value in (("driver", driver), ("policy", policy), ("baseline", baseline)):
        options += [f"--{name}={os.fspath(value)}"] if value is not None else []
    for name, is_on in (("strict", strict), ("kernels", kernels), ("scan", scan)):
        options += [f"--{name}"] if is_on else []
    found, code = _program.ask("check", options, paths)
    return Checked(
        passed=found["passed"] and code == 0,
        targets=found["targets"],
        coverage=Table(found["coverage"], _columns(Coverage)),
        no_code_for=found["no_code_for"],
        findings=Table(found["findings"], _columns(Finding)),
        problems=Table(found["problems"], _columns(Problem)),
    )
