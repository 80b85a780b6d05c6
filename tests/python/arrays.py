"""pyopencl with its arrays, sums, scans and random numbers, on the device that compiles."""

import numpy as np
import pyopencl as cl
import pyopencl.array
from pyopencl.clrandom import PhiloxGenerator
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import GenericScanKernel

platform, _checked = cl.get_platforms()
[device] = platform.get_devices()
context = cl.Context([device])
queue = cl.CommandQueue(context)

floats = np.arange(1000, dtype=np.float32)
array = cl.array.to_device(queue, floats)
assert np.array_equal((2 * array + 1).get(), 2 * floats + 1)
assert cl.array.sum(array).get() == floats.sum()
assert cl.array.max(array).get() == 999

numbers = np.arange(100, dtype=np.int32)
squares = ReductionKernel(
    context,
    np.int32,
    neutral="0",
    reduce_expr="a + b",
    map_expr="x[i] * x[i]",
    arguments="__global const int *x",
)
assert squares(cl.array.to_device(queue, numbers)).get() == (numbers**2).sum()
running = GenericScanKernel(
    context,
    np.int32,
    arguments="__global int *x",
    input_expr="x[i]",
    scan_expr="a + b",
    neutral="0",
    output_statement="x[i] = item;",
)
scanned = cl.array.to_device(queue, numbers)
running(scanned, queue=queue).wait()
assert np.array_equal(scanned.get(), numbers.cumsum())

program = cl.Program(context, "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }").build()
[binary] = program.get_info(cl.program_info.BINARIES)
again = cl.Program(context, [device], [binary]).build()
again.twice(queue, floats.shape, None, array.data)
assert np.array_equal(array.get(), 2 * floats)

random = PhiloxGenerator(context).uniform(queue, 1000, np.float32).get()
assert 0 <= random.min() and random.max() < 1 and 0.4 < random.mean() < 0.6
print("all right on", device.name)
