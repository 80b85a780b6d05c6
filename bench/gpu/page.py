"""Puts what was measured on a GPU into docs/gpu.md: page.py MEASURED [PAGE]"""

import sys
from pathlib import Path

BEGIN, END = "<!-- what ./dev gpu measured -->\n", "<!-- to here -->\n"


def main():
    measured = Path(sys.argv[1]).read_text().strip()
    page = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parents[2] / "docs" / "gpu.md"
    before, found, rest = page.read_text().partition(BEGIN)
    _, also, after = rest.partition(END)
    if not (found and also and measured.startswith("Measured on ")):
        sys.exit(f"{page} has no place for it, or {sys.argv[1]} is not what `offkit-gpu measure` writes")
    page.write_text(f"{before}{BEGIN}\n{measured}\n\n{END}{after}")
    print(f"{page} has it now")


if __name__ == "__main__":
    main()
