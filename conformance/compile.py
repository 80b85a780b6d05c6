#!/usr/bin/env python3
"""Compiles OpenCL C to SPIR-V by clang, called by Khronos' suite for each of its programs (its offline compiler).

`--source FILE --output FILE --cl-device-info FILE --mode=spir-v [--address-width=64] -- OPTIONS`
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# What clang knows the names of. Others become macros, for that is all that a program can ask.
KNOWN = """
cl_khr_fp64 cl_khr_fp16 cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_3d_image_writes cl_khr_subgroups
cl_khr_depth_images cl_khr_gl_msaa_sharing cl_khr_mipmap_image cl_khr_mipmap_image_writes
cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics
cl_khr_local_int32_extended_atomics cl_khr_byte_addressable_store cl_intel_subgroups cl_intel_subgroups_short
""".split()

# What OpenCL C's own functions cannot be expressed without: the driver's list, PORTABLE_EXTENSIONS in offkit-link, and what
# clang by itself wants for sums of halves.
EXTENSIONS = """
SPV_EXT_relaxed_printf_string_address_space SPV_EXT_shader_atomic_float16_add SPV_EXT_shader_atomic_float_add
SPV_EXT_shader_atomic_float_min_max SPV_KHR_bit_instructions SPV_KHR_expect_assume SPV_KHR_integer_dot_product
SPV_KHR_no_integer_wrap_decoration SPV_KHR_subgroup_rotate SPV_KHR_uniform_group_instructions
""".split()

PASSED_ON = re.compile(r"-(D|I|w$|Werror|cl-(?!std=CL3\.1))")


def main():
    own, options = {}, []
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument == "--":
            options = list(arguments)
            break
        name, given, value = argument.partition("=")
        own[name.lstrip("-")] = value if given else next(arguments)
    if own["mode"] != "spir-v":
        sys.exit(f"compiling is to SPIR-V alone, and not for {own['mode']}")
    device = dict(re.findall(r'^(\w+)="?(.*?)"?$', Path(own["cl-device-info"]).read_text(), re.M))
    versions = re.findall(r"SPIR-V_(\d+\.\d+)", device.get("CL_DEVICE_IL_VERSION", ""))
    # clang 22 writes up to 1.6; above 1.4 nothing of OpenCL C gains, and drivers take it more seldom.
    version = max((version for version in versions if version <= "1.4"), default="1.0")
    command = [os.environ.get("OFFKIT_CLANG", "clang-22"), "-x", "cl", "-c", "-w", "-O1"]
    command += [f"--target=spirv{device.get('CL_DEVICE_ADDRESS_BITS', '64')}v{version}"]
    command += ["-Xclang", "-finclude-default-header"]
    command += ["-mllvm", "--spirv-ext=" + ",".join(f"+{name}" for name in EXTENSIONS)]
    extensions = device.get("CL_DEVICE_EXTENSIONS", "").split()
    # Taken away, not added: with `-all` clang 22 loses convert_double in OpenCL C 1.2.
    absent = [f"-{name}" for name in KNOWN if name not in extensions]
    command += [f"-cl-ext={','.join(absent)}"] if absent else []
    command += [f"-D{name}=1" for name in extensions if name not in KNOWN]
    # clang defines the one for the target, and leaves the other to the driver.
    command += ["-U__IMAGE_SUPPORT__"] if device.get("CL_DEVICE_IMAGE_SUPPORT") == "0" else []
    number = re.match(r"OpenCL (\d)\.(\d)", device.get("CL_DEVICE_VERSION", ""))
    command += [f"-D__OPENCL_VERSION__={number[1]}{number[2]}0"] if number else []
    options = iter(options)
    for option in options:
        if option in ("-D", "-I"):
            command.append(option + next(options, ""))
        elif option == "-cl-std=CL3.1":
            # clang 22 does not know it.
            command.append("-cl-std=CL3.0")
        elif PASSED_ON.match(option):
            command.append(option)
    sys.exit(subprocess.run([*command, "-o", own["output"], own["source"]]).returncode)


if __name__ == "__main__":
    main()
