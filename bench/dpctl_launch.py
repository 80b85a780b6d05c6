"""Launches an empty kernel by dpctl and waits for it, and prints the shortest and the median time in nanoseconds."""

import sys
import time

import dpctl
import dpctl.program

queue = dpctl.SyclQueue("opencl:cpu")
with open(sys.argv[1], "rb") as file:
    program = dpctl.program.create_program_from_spirv(queue, file.read())
kernel = program.get_sycl_kernel("empty")
times = []
for _ in range(10_000):
    start = time.perf_counter_ns()
    queue.submit(kernel, [], [1]).wait()
    times.append(time.perf_counter_ns() - start)
times.sort()
print(times[0], times[len(times) // 2])
