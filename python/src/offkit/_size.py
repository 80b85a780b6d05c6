"""What takes how many bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Optional, TypedDict, Union

from . import _program
from ._program import StrPath
from ._table import Table

if TYPE_CHECKING:
    import pandas

Key = Literal["library", "arch", "format", "compression", "family"]

# More rows than any table has.
_ALL = 2**32 - 1


class File(TypedDict):
    """A file that was looked into, and its bytes."""

    file: str
    size: int


class Library(TypedDict):
    """A library, program or object with images, in a package or alone."""

    library: str
    location: str
    size: int
    #: Where it is in something compressed.
    packed_size: Optional[int]
    #: The bytes of its images as they are in it, and those of everything else.
    stored: int
    host: int
    #: All of its images, and those that later devices can run: a driver compiles them.
    images: int
    portable_images: int
    #: It has machine code for GPUs of NVIDIA and no PTX, so that later ones cannot run it.
    lacks_ptx: bool


class Total(TypedDict, total=False):
    """A sum over images: the keys that it is summed by, and the numbers. Those from `kernels` on are there if images
    were looked into."""

    library: str
    arch: str
    format: str
    compression: str
    family: str
    images: int
    stored: int
    stored_is_estimate: bool
    unpacked: int
    kernels: int
    code: int
    spilling: int
    most_registers: Optional[int]


class Kernel(TypedDict):
    """A kernel of an image, and what it takes of a device. None stands for what the image does not record."""

    name: str
    readable: str
    family: str
    location: str
    arch: str
    code: Optional[int]
    stored_estimate: int
    registers: Optional[int]
    scalar_registers: Optional[int]
    shared: Optional[int]
    stack: Optional[int]
    spilled: Optional[int]
    spill_unit: Optional[str]
    spill_stores: Optional[int]
    spill_loads: Optional[int]


class Redundancy(TypedDict):
    """What could go without a device losing code."""

    kind: str
    library: Optional[str]
    what: str
    images: int
    kernels: int
    saves: Optional[int]
    costs: Optional[str]


class Removal(TypedDict):
    """What taking out an architecture's images saves, and which devices would pay for it."""

    arch: str
    format: str
    images: int
    saves: int
    devices_known: bool
    fall_to_jit: list[str]
    lose_all: list[str]


class Problem(TypedDict):
    """What could not be read."""

    file: str
    location: str
    offset: Optional[int]
    problem: str


@dataclass(frozen=True)
class Sizes:
    """What takes how many bytes in some files."""

    files: Table[File]
    libraries: Table[Library]
    #: All images together.
    total: Total
    #: By what was asked for.
    totals: Table[Total]
    #: By family of kernels and architecture; empty if images were not looked into, as `kernels` is then.
    families: Table[Total]
    #: The largest first.
    kernels: Table[Kernel]
    redundant: Table[Redundancy]
    removals: Table[Removal]
    #: What could not be read, and is in no number.
    problems: Table[Problem]

    def to_pandas(self) -> pandas.DataFrame:
        """``totals`` as a data frame."""
        return self.totals.to_pandas()


def _columns(row: type) -> list[str]:
    return list(row.__annotations__)


def size(
    *paths: StrPath,
    by: Union[Key, Sequence[Key]] = ("library", "arch", "format"),
    kernels: bool = True,
    top: Optional[int] = None,
    scan: bool = False,
) -> Sizes:
    """Says what takes how many bytes in files, packages and folders. Without any device code all tables are empty.

    Args:
        paths: Files, folders, or locations in files.
        by: What `totals` are by.
        kernels: Look into images for kernels and families; without, nothing but packages is unpacked, and a library of
            500 MB takes a moment.
        top: How many kernels are returned; all by default.
        scan: Search the host's code byte by byte for images, too.

    Raises:
        OffkitError: A file cannot be opened, or an option is none.
    """
    keys = [by] if isinstance(by, str) else list(by)
    options = ["--recursive", f"--by={','.join(keys)}", f"--top={_ALL if top is None else top}"]
    options += ["--kernels"] if kernels else []
    options += ["--scan"] if scan else []
    found, _ = _program.ask("size", options, paths)
    counts = [name for name in _columns(Total) if name not in Key.__args__]  # type: ignore[attr-defined]
    if not kernels and "family" not in keys:
        counts = counts[: counts.index("kernels")]
    return Sizes(
        files=Table(found["files"], _columns(File)),
        libraries=Table(found["libraries"], _columns(Library)),
        total=found["total"],
        totals=Table(found["totals"], [*keys, *counts]),
        families=Table(found.get("families", ()), ["family", "arch", *counts]),
        kernels=Table(found.get("kernels", ()), _columns(Kernel)),
        redundant=Table(found["redundant"], _columns(Redundancy)),
        removals=Table(found["removals"], _columns(Removal)),
        problems=Table(found["problems"], _columns(Problem)),
    )
