"""Arrays of dpctl.tensor, whose kernels are SPIR-V in its libraries: arithmetic, sums, masks, sorting, products."""

import dpctl
import dpctl.tensor as dpt
import numpy as np

device, _checked = dpctl.get_devices()
random = np.random.default_rng(1)


def same(computed, expected):
    assert np.allclose(dpt.asnumpy(computed), expected), (computed, expected)


numbers = np.arange(1000, dtype=np.int32)
array = dpt.asarray(numbers)
same(array * 3 + 1, numbers * 3 + 1)
assert int(dpt.sum(array)) == numbers.sum()
same(array[array > 500], numbers[numbers > 500])
floats = random.random(1000, dtype=np.float32)
same(dpt.sin(dpt.asarray(floats)), np.sin(floats))
same(dpt.cumulative_sum(dpt.asarray(floats)), floats.cumsum())
same(dpt.sort(dpt.asarray(floats)), np.sort(floats))
matrix = random.random((20, 30), dtype=np.float32)
same(dpt.matmul(dpt.asarray(matrix), dpt.asarray(matrix.T.copy())), matrix @ matrix.T)
print("all right on", device.name)
