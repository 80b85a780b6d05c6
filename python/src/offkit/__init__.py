"""Device code in packages, libraries and programs: what is in it, what it costs, where it runs.

>>> import offkit
>>> for image in offkit.walk("x.whl"):
...     print(image.location, image.arch, image.size)
>>> offkit.size("x.whl", by="arch").to_pandas()
>>> offkit.check("x.whl", targets=["sm_80", "h100"]).passed

The functions keep no state and can be sent to other processes, as can what they return. Each call starts the program
that is installed with this package, so that no file, however broken, can take Python down with it.
"""

from __future__ import annotations

from importlib.metadata import version as _version

from ._check import Checked, Coverage, Finding, Hole, KernelVerdict, check
from ._program import OffkitError
from ._size import File, Kernel, Library, Problem, Redundancy, Removal, Sizes, Total, size
from ._table import Table
from ._walk import Image, walk

__version__ = _version("offkit")

__all__ = [
    "Checked",
    "Coverage",
    "File",
    "Finding",
    "Hole",
    "Image",
    "Kernel",
    "KernelVerdict",
    "Library",
    "OffkitError",
    "Problem",
    "Redundancy",
    "Removal",
    "Sizes",
    "Table",
    "Total",
    "check",
    "size",
    "walk",
]
