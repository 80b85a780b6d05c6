"""Shows what the same kernels are in machine code, by offkit and by nvcc: sass.py BUNDLE CUDA [KERNEL]

Without a kernel, a table as Markdown, offkit's number first: instructions, those of the hottest loop and how many rounds of
the source it does, registers, bytes of private memory, and which kinds of instructions differ. With one, both in full. For
sm_90; the PTX of offkit is assembled by the ptxas that nvcc's code comes from, which is not the driver's own compiler. Needs
no GPU.
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


# An instruction of which there are so many in each round of a kernel's loop.
ROUNDS = {"bodies": ("MUFU.RSQ", 1), "bodies_tiled": ("MUFU.RSQ", 1), "histogram_local": ("ATOMS", 1),
          "mandelbrot": ("FSETP", 1), "matrix_naive": ("FFMA", 1), "matrix_tiled": ("FFMA", 1), "mix_bits": ("LOP3", 3),
          "reduce": ("FADD", 1), "scan": ("FADD", 1), "sparse": ("FFMA", 1)}  # fmt: skip


class Kernel:
    def __init__(self):
        self.addresses, self.code, self.registers, self.stack = [], [], 0, 0

    def finish(self):
        """Takes away what fills the end up, and the loop that keeps a processor there."""
        while self.code and (self.code[-1] == "NOP" or re.match(r"BRA (0x|`)", self.code[-1])):
            self.code.pop()

    def loop(self, name):
        """How many instructions there are in the loop that does the most rounds at a time, and how many rounds."""
        marker, times = ROUNDS.get(name, ("", 1))
        backwards = []
        for address, code in zip(self.addresses, self.code):
            target = re.search(r"BRA.* 0x([0-9a-f]+)$", code)
            if marker and target and int(target[1], 16) < address:
                backwards.append((int(target[1], 16), address))
        found = []
        for first, last in backwards:
            if any(first <= start and end <= last and (start, end) != (first, last) for start, end in backwards):
                continue
            body = [code for address, code in zip(self.addresses, self.code) if first <= address <= last]
            found.append((sum(marker in code for code in body) // times, len(body)))
        rounds, length = max(found, default=(0, 0))
        return f"{length} for {rounds}" if rounds else ""


def kernels(cubin, tools):
    """The kernels of a cubin by their names."""
    environment = {"PATH": f"{tools}:/usr/bin:/bin"}
    found, current = {}, None
    for line in run(tools / "cuobjdump", "-sass", cubin, env=environment).splitlines():
        if name := re.match(r"\s+Function : (\S+)", line):
            current = found[name[1]] = Kernel()
        elif current is not None and (code := re.match(r"\s+/\*([0-9a-f]+)\*/\s+(.*?);", line)):
            current.addresses.append(int(code[1], 16))
            current.code.append(code[2].strip())
    for line in run(tools / "cuobjdump", "-res-usage", cubin, env=environment).splitlines():
        if name := re.match(r"\s+Function (\S+):", line):
            current = found[name[1]]
        elif used := re.match(r"\s+REG:(\d+) STACK:(\d+)", line):
            current.registers, current.stack = int(used[1]), int(used[2])
    for kernel in found.values():
        kernel.finish()
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
        for title, kernel in (("offkit", own[name]), ("nvcc", their[name])):
            print(f"{title}, {len(kernel.code)} instructions", *kernel.code, "", sep="\n")
        return
    print("| kernel | instructions | loop | registers | private memory | differs in |\n|---|---|---|---|---|---|")
    for name, kernel in sorted(their.items()):
        if name not in own:
            raise Failed(f"{ours} has no kernel {name}, which {theirs} has: make both again with `./dev gpu --prepare`")
        both = (own[name], kernel)
        count = {kind: [sum(bool(re.search(words, one)) for one in each.code) for each in both]
                 for kind, words in KINDS.items()}  # fmt: skip
        kinds = "; ".join(f"{kind} {a}, {b}" for kind, (a, b) in count.items() if a != b)
        cells = [[len(each.code) for each in both], [each.loop(name) for each in both],
                 [each.registers for each in both], [each.stack for each in both]]  # fmt: skip
        # What neither has says nothing.
        shown = [", ".join(map(str, pair)) if any(pair) else "" for pair in cells]
        print(f"| {' | '.join([f'`{name}`', *shown, kinds])} |")


if __name__ == "__main__":
    try:
        main()
    except (Failed, OSError) as error:
        sys.exit(f"sass.py: {error}")
