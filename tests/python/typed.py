"""What a type checker knows of the module."""

from collections.abc import Iterator
from typing import Optional

from typing_extensions import assert_type

import offkit

images = offkit.walk("x.whl", arch="sm_80")
assert_type(images, Iterator[offkit.Image])
for image in images:
    assert_type(image.arch, Optional[str])
    assert_type(image.read(), bytes)
found = offkit.size("x.whl", by=["arch", "family"])
for kernel in found.kernels:
    assert_type(kernel, offkit.Kernel)
    assert_type(kernel["registers"], Optional[int])
assert_type(offkit.check("x.whl", targets="h100").passed, bool)
offkit.size("x.whl", by="colour")  # wrong
offkit.check("x.whl", targets=80)  # wrong
