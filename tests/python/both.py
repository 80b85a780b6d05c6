"""dpnp and offkit's runtime in one process, each with device code of its own: `dpnp` or `offkit` is loaded first.

PROGRAM is tests/c-api/scopes.c as a library that is linked with liboffkit.so, OURS a library with device code for offkit.
What offkit finds and computes is printed by PROGRAM; what dpnp computes is checked here.
"""

import ctypes
import sys

first, program, ours = sys.argv[1:]


def offkit(*words):
    library = ctypes.CDLL(program, mode=ctypes.RTLD_GLOBAL)
    arguments = [program.encode(), *(word.encode() for word in words)]
    status = library.run_offkit(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None))
    assert status == 0, (words, status)


def dpnp():
    import dpnp
    import numpy

    numbers = dpnp.arange(1000, dtype="float32")
    assert numbers.device.sycl_device.name.startswith("offkit CPU"), numbers.device
    expected = numpy.sin(numpy.arange(1000, dtype="float32")) * 3
    assert numpy.allclose(dpnp.asnumpy(dpnp.sin(numbers) * 3), expected, atol=1e-5)
    assert int(dpnp.arange(1000, dtype="int64").sum()) == 499500


if first == "dpnp":
    dpnp()
    # None of dpnp's images is offkit's.
    offkit("images")
else:
    offkit("images")
    dpnp()
offkit(f"global:{ours}", "images", "k", "close", "images")
dpnp()
