"""Shows what the same kernels are in machine code, by offkit and by nvcc: sass.py BUNDLE CUDA [KERNEL]

Without a kernel, a line for each: how many instructions there are, and of which kinds, the first number offkit's. With
one, both in full. For sm_90; the PTX of offkit is assembled by the ptxas that nvcc's code comes from, which is not the
driver's own compiler. Needs no GPU.
"""

import re
import sys
from pathlib import Path

from prepare import Failed, installed, run

PROCESSOR = 90
TOOLS = ["nvidia-cuda-cuobjdump==13.2.78", "nvidia-cuda-nvdisasm==13.2.78"]
# What tells code that is slower from code that is not.
KINDS = {"loads": "LDG", "constants": r"LDC|c\[", "shared": "LDS|STS", "fences": "MEMBAR|ERRBAR|CCTL", "calls": "CALL",
         "MUFU": "MUFU", "FFMA": "FFMA", "FMUL, FADD": "FMUL|FADD", "DFMA": "DFMA"}  # fmt: skip


def kernels(cubin, tools):
    """The instructions of each kernel, and how many registers it takes."""
    shown = run(tools / "cuobjdump", "-sass", cubin, env={"PATH": f"{tools}:/usr/bin:/bin"})
    found, current = {}, None
    for line in shown.splitlines():
        if name := re.match(r"\s+Function : (\S+)", line):
            current = found[name[1]] = []
        elif current is not None and (code := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?);", line)):
            current.append(code[1].strip())
    # What fills the end up, and the loop that keeps a processor there.
    for code in found.values():
        while code and (code[-1] == "NOP" or re.match(r"BRA (0x|`)", code[-1])):
            code.pop()
    return found


def program(folder, name, what_to_do):
    """A program of CUDA's packages."""
    for found in folder.glob(f"nvidia/*/bin/{name}"):
        return found
    raise Failed(f"there is no {name} in {folder}: {what_to_do}")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    bundle, cuda = Path(sys.argv[1]), Path(sys.argv[2])
    ours, theirs = bundle / f"code/kernels.sm_{PROCESSOR}.ptx", bundle / f"code/nvcc.sm_{PROCESSOR}.cubin"
    for file in (ours, theirs):
        if not file.exists():
            raise Failed(f"{file} is not there: `./dev gpu --prepare` makes it, without --without-nvcc")
    ptxas = program(cuda / "packages", "ptxas", "`./dev gpu --prepare` fetches it")
    tools = installed(cuda.with_name("sass"), TOOLS)
    cuobjdump = program(tools, "cuobjdump", f"remove {tools.parent}, and it is fetched again")
    made = cuda.with_name("sass") / "offkit.cubin"
    run(ptxas, "-O3", f"-arch=sm_{PROCESSOR}", ours, "-o", made)
    own = kernels(made, cuobjdump.parent)
    their = kernels(theirs, cuobjdump.parent)
    if len(sys.argv) == 4:
        name = sys.argv[3]
        if name not in own or name not in their:
            raise Failed(f"there is no kernel {name} in both; there are {', '.join(sorted(own.keys() & their.keys()))}")
        for title, code in (("offkit", own[name]), ("nvcc", their[name])):
            print(f"{title}, {len(code)} instructions", *code, "", sep="\n")
        return
    for name, code in sorted(their.items()):
        if name not in own:
            raise Failed(f"{ours} has no kernel {name}, which {theirs} has: make both again with `./dev gpu --prepare`")
        count = {kind: [sum(bool(re.search(words, one)) for one in each) for each in (own[name], code)]
                 for kind, words in KINDS.items()}  # fmt: skip
        kinds = ", ".join(f"{kind} {a} {b}" for kind, (a, b) in count.items() if a != b)
        print(f"{name:20s} {len(own[name]):5d} {len(code):5d}  {kinds}")


if __name__ == "__main__":
    try:
        main()
    except (Failed, OSError) as error:
        sys.exit(f"sass.py: {error}")
