"""The images in files, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Optional, Union

from . import _program
from ._program import StrPath


@dataclass(frozen=True)
class Image:
    """A device image: code for one kind of device, or for several through a compiler."""

    #: Where it is, as all commands of offkit take it: ``x.whl!lib.so/.nv_fatbin/0``.
    location: str
    #: The file that it is in, as it was named.
    file: str
    #: ``cubin``, ``ptx``, ``amdgpu``, ``spirv``, …
    format: str
    #: What is around it: ``fatbin``, ``bundle``, ``offload-binary``, …; ``none`` for a file of its own.
    container: str
    #: What it was compiled for: ``sm_80``, ``gfx90a:xnack+``.
    arch: Optional[str]
    #: The target triple, where the container has one.
    triple: Optional[str]
    #: Its bytes, unpacked.
    size: int
    #: Its bytes as they are in the file, where that is known.
    stored_size: Optional[int]
    #: How it is packed: ``zstd``, ``lz4``, ``deflate``, …
    compression: Optional[str]
    #: The language it was made from: ``cuda``, ``hip``, ``sycl``, ``openmp``.
    producer: Optional[str]
    #: Where it begins in the file, if that has its bytes as they are.
    offset: Optional[int]
    #: The version of the container's format.
    version: Optional[int]
    #: The names of its kernels, of what it needs from other images, and of what it has for them.
    kernels: tuple[str, ...]
    imports: tuple[str, ...]
    exports: tuple[str, ...]
    #: The sets of properties that SYCL's compiler writes.
    properties: Mapping[str, Mapping[str, Union[int, str]]] = field(hash=False)

    def read(self) -> bytes:
        """Its bytes, unpacked. The file must be where it was.

        Raises:
            OffkitError: They cannot be read any more.
        """
        return _program.read(["extract", "--output", "-", "--", self.location])


# The only attributes that are lists in JSON.
_TUPLES = ("kernels", "imports", "exports")
_FIELDS = tuple(field.name for field in fields(Image))


def walk(
    *paths: StrPath,
    arch: Optional[str] = None,
    format: Optional[str] = None,
    kernel: Optional[str] = None,
    needed: bool = False,
    scan: bool = False,
) -> Iterator[Image]:
    """Goes through the images in files, packages and folders, however deep they are wrapped.

    Args:
        paths: Files, folders, or locations in files.
        arch: Only images for this architecture: ``sm_80``, ``gfx90a``; several separated by commas.
        format: Only images of this format: ``cubin``, ``ptx``, ``spirv``, …
        kernel: Only images with this kernel.
        needed: Go through the shared libraries that a program needs, too.
        scan: Search the host's code byte by byte for images, too.

    Raises:
        OffkitError: After the last image, if not everything could be read.
    """
    options = [f"--{name}={value}" for name, value in (("arch", arch), ("format", format), ("kernel", kernel)) if value]
    options += [f"--{name}" for name, is_on in (("needed", needed), ("scan", scan)) if is_on]
    for row in _program.lines("ls", options, paths):
        values: dict[str, Any] = {name: row[name] for name in _FIELDS}
        values.update((name, tuple(row[name])) for name in _TUPLES)
        yield Image(**values)
