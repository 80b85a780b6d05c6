"""dpctl: the device is listed, memory of all kinds is copied, and `saxpy` of a SPIR-V module (the argument) runs."""

import ctypes
import sys

import dpctl
import dpctl.memory
import dpctl.program
import numpy as np

dpctl.lsplatform()
device, _checked = dpctl.get_devices()
queue = dpctl.SyclQueue(device)
with open(sys.argv[1], "rb") as file:
    kernel = dpctl.program.create_program_from_spirv(queue, file.read()).get_sycl_kernel("saxpy")
x = np.arange(1024, dtype=np.float32) / 3
y = 1 - np.arange(1024, dtype=np.float32)
kinds = [dpctl.memory.MemoryUSMHost, dpctl.memory.MemoryUSMDevice, dpctl.memory.MemoryUSMShared]
for kind in kinds:
    memory = [kind(values.nbytes, queue=queue) for values in (x, y)]
    for place, values in zip(memory, (x, y)):
        place.copy_from_host(values.view(np.uint8))
    queue.submit(kernel, [ctypes.c_float(2.5), *memory], [1024]).wait()
    computed = memory[1].copy_to_host().view(np.float32)
    assert np.allclose(computed, 2.5 * x + y), kind
print("all right on", device.name)
