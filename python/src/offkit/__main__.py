"""`python -m offkit`: the program, where the folder of scripts is not on the path."""

import os
import subprocess
import sys

from ._program import find


def main() -> int:
    command = [find(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
