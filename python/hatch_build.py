"""Puts the program into the wheel, as a script of the environment: it starts without Python."""

import os
import subprocess
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What is installed: the program, and the one beside it that tries plugins.
PROGRAMS = ("offkit", "offkit-probe")


class ProgramHook(BuildHookInterface):
    """Takes the programs from OFFKIT_WHEEL_PROGRAMS, a folder, or builds them; OFFKIT_WHEEL_PLATFORM says what they
    run on, such as `manylinux_2_28_x86_64`; OFFKIT_WHEEL_SHARE names a folder of what goes into `share`,
    OFFKIT_WHEEL_SBOM a bill of materials."""

    def initialize(self, version, build_data):
        if version == "editable":
            raise RuntimeError("an editable installation has no program: install the package as it is")
        programs = os.environ.get("OFFKIT_WHEEL_PROGRAMS") or build(Path(self.root).parent)
        platform = os.environ.get("OFFKIT_WHEEL_PLATFORM") or sysconfig.get_platform()
        # One program does for every Python.
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
        for name in PROGRAMS:
            build_data["shared_scripts"][os.path.join(programs, name)] = name
        if share := os.environ.get("OFFKIT_WHEEL_SHARE"):
            build_data["shared_data"][share] = "share"
        if sbom := os.environ.get("OFFKIT_WHEEL_SBOM"):
            build_data["sbom_files"].append(sbom)


def build(root):
    """Builds the programs for this machine."""
    command = ["cargo", "build", "--release", "--package", "offkit"]
    subprocess.run(command, cwd=root, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR") or root / "target", "release")
