"""What of Khronos' suite is run, and where its programs and the results are."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KEPT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "conformance"


@dataclass
class Row:
    """One program of the suite with its arguments; `{}` in them is the program's folder."""

    program: str
    quick: str = ""
    full: str = ""
    # How the names of the tests begin that are meant, for rows that are not all of a program.
    quick_tests: tuple[str, ...] = ("",)
    full_tests: tuple[str, ...] = ("",)

    def arguments(self, full):
        return self.full if full else self.quick

    def tests(self, full):
        return self.full_tests if full else self.quick_tests

    @property
    def has_short_way(self):
        return (self.quick, self.quick_tests) != (self.full, self.full_tests)


# Those that need the fewest minutes first. Where a program has a short way ("wimpy"), quick is that.
ROWS = {
    "computeinfo": Row("computeinfo/test_computeinfo"),
    "svm": Row("SVM/test_svm"),
    "events": Row("events/test_events"),
    "profiling": Row("profiling/test_profiling"),
    "device_timer": Row("device_timer/test_device_timer"),
    "device_partition": Row("device_partition/test_device_partition"),
    "mem_host_flags": Row("mem_host_flags/test_mem_host_flags"),
    "multiples": Row("multiple_device_context/test_multiples"),
    "printf": Row("printf/test_printf"),
    "workgroups": Row("workgroups/test_workgroups", quick="-w"),
    "geometrics": Row("geometrics/test_geometrics"),
    "spirv_new": Row(
        "spirv_new/test_spirv_new",
        quick="--spirv-binaries-path {}/spirv_bin",
        full="--spirv-binaries-path {}/spirv_bin",
    ),
    "compiler": Row("compiler/test_compiler"),
    "subgroups": Row("subgroups/test_subgroups", quick="-w"),
    "commonfns": Row("commonfns/test_commonfns"),
    "generic_address_space": Row("generic_address_space/test_generic_address_space"),
    "atomics": Row("atomics/test_atomics"),
    "buffers": Row("buffers/test_buffers"),
    "contractions": Row("contractions/test_contractions"),
    "select": Row("select/test_select", quick="-w"),
    "half": Row("half/test_half", quick="-w"),
    "api": Row("api/test_api"),
    "basic": Row("basic/test_basic"),
    "relationals": Row("relationals/test_relationals"),
    # It takes its first argument for its own name.
    "non_uniform_work_group": Row("non_uniform_work_group/test_non_uniform_work_group", quick="x", full="x"),
    "vectors": Row("vectors/test_vectors"),
    "pipes": Row("pipes/test_pipes"),
    "device_execution": Row("device_execution/test_device_execution"),
    "thread_dimensions": Row(
        "thread_dimensions/test_thread_dimensions", quick_tests=("quick",), full_tests=("full",)
    ),
    "integer_ops": Row("integer_ops/test_integer_ops", quick_tests=("integer_", "quick_")),
    "c11_atomics": Row("c11_atomics/test_c11_atomics", quick="-w"),
    "allocations_single": Row("allocations/test_allocations", quick="single 5", full="single 5"),
    "allocations_multiple": Row("allocations/test_allocations", quick="multiple 5", full="multiple 5"),
    "bruteforce": Row("math_brute_force/test_bruteforce", quick="-w"),
    "conversions": Row("conversions/test_conversions", quick="-w"),
    "spir": Row("spir/test_spir"),
    "images_info": Row("images/clGetInfo/test_cl_get_info"),
    "images_methods": Row("images/kernel_image_methods/test_kernel_image_methods"),
    "images_streams": Row("images/kernel_read_write/test_image_streams", quick="CL_FILTER_NEAREST", full="CL_FILTER_NEAREST"),
    "images_copy": Row("images/clCopyImage/test_cl_copy_images"),
    "images_read_write": Row("images/clReadWriteImage/test_cl_read_write_images"),
    "images_fill": Row("images/clFillImage/test_cl_fill_images"),
    "images_samplerless": Row("images/samplerlessReads/test_samplerless_reads"),
    "cxx_for_opencl": Row("extensions/cl_ext_cxx_for_opencl/test_cl_ext_cxx_for_opencl"),
    "buffer_device_address": Row("extensions/cl_ext_buffer_device_address/test_cl_ext_buffer_device_address"),
    "semaphore": Row("extensions/cl_khr_semaphore/test_cl_khr_semaphore"),
    "external_memory": Row("extensions/cl_khr_external_memory_dma_buf/test_cl_khr_external_memory_dma_buf"),
    "command_buffer": Row("extensions/cl_khr_command_buffer/test_cl_khr_command_buffer"),
    "mutable_dispatch": Row(
        "extensions/cl_khr_command_buffer/cl_khr_command_buffer_mutable_dispatch/test_cl_khr_mutable_dispatch"
    ),
    "kernel_clock": Row("extensions/cl_khr_kernel_clock/test_cl_khr_kernel_clock"),
}


# The driver's library, which results are kept under.
OURS = "liboffkit_opencl"


def kind(spirv, full):
    return f"{'spirv' if spirv else 'source'}-{'full' if full else 'quick'}"


def kept(spirv, full, driver=OURS):
    """Where results of this kind are kept, one file a row.

    Those of offkit's own driver belong to the project, so that a row that takes many hours can be gone on with on another
    machine.
    """
    return (HERE / "results" if driver == OURS else KEPT / driver) / kind(spirv, full)


def logs(spirv, full, driver=OURS):
    """Where what the programs print is kept, one file a row."""
    return KEPT / driver / kind(spirv, full) / "logs"


def results(spirv, full, driver=OURS):
    """What is kept of this kind, row by row in the order of `ROWS`."""
    found = {}
    for name in ROWS:
        file = kept(spirv, full, driver) / f"{name}.json"
        if file.exists():
            found[name] = json.loads(file.read_text())
    return found
