#!/usr/bin/env python3
"""Writes src/grammar/table.rs from the grammar that Khronos publishes: generate.py CHECKOUT-OF-SPIRV-HEADERS

`./dev grammar` fetches the checkout and calls this.
"""

import json
import pathlib
import subprocess
import sys
import textwrap

# Enumerations that the code asks for by name; the others are numbers to it.
NAMED = """AccessQualifier AddressingModel BuiltIn Capability Decoration Dim ExecutionMode ExecutionModel FPRoundingMode
FunctionParameterAttribute GroupOperation LinkageType MemoryModel MemorySemantics Scope SourceLanguage
StorageClass""".split()

# What the code calls the kinds of operands that are no enumerations.
KINDS = {
    "IdResultType": "ResultType",
    "IdResult": "Result",
    "IdRef": "Id",
    "IdScope": "Id",
    "IdMemorySemantics": "Id",
    "LiteralInteger": "Word",
    "LiteralFloat": "Word",
    "LiteralString": "Text",
    "LiteralContextDependentNumber": "Number",
    "LiteralExtInstInteger": "Extended",
    "LiteralSpecConstantOpInteger": "Operation",
    "PairLiteralIntegerIdRef": "Case",
    "PairIdRefLiteralInteger": "IdAndWord",
    "PairIdRefIdRef": "IdAndId",
}

# Sets of extended instructions that nobody asks for by name: what the table of each is called, and its file.
SETS = {
    "OPENCL_DEBUG_INFO_100": "opencl.debuginfo.100",
    "DEBUG_INFO": "debuginfo",
}

HEAD = """\
// Written by generate.py (`./dev grammar`); not to be edited.
//
// Facts of SPIR-V {major}.{minor} revision {revision}, from the grammar in KhronosGroup/SPIRV-Headers,
// commit {commit} of {date}: include/spirv/unified1/*.grammar.json,
// Copyright (c) 2014-{year} The Khronos Group Inc., MIT licence.

use super::{{Kind, Slot, class, enumeration, operands, slots}};
"""


def read(checkout, name):
    return json.loads((checkout / f"include/spirv/unified1/{name}.grammar.json").read_text())


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def sorted_once(items, key):
    """The items by number; of several names of one number the first."""
    by_number = {}
    for item in items:
        by_number.setdefault(number(item[key]), item)
    return [item for _, item in sorted(by_number.items())]


class Grammar:
    def __init__(self, core):
        self.enumerations = {kind["kind"]: kind for kind in core["operand_kinds"] if "enumerants" in kind}

    def is_parametrised(self, kind):
        return any("parameters" in enumerant for enumerant in self.enumerations.get(kind, {}).get("enumerants", []))

    def masks(self):
        return [k for k, e in self.enumerations.items() if e["category"] == "BitEnum" and self.is_parametrised(k)]

    def slots(self, operands):
        text = " ".join(self.slot(operand) for operand in operands or [])
        return " [" + text.replace("ResultType Result", "Typed", 1) + "]" if text else ""

    def slot(self, operand):
        kind = operand["kind"]
        is_mask = self.enumerations.get(kind, {}).get("category") == "BitEnum"
        is_told = self.is_parametrised(kind) or (kind in NAMED and not is_mask)
        how = {None: "%s", "?": "(%s)", "*": "{%s}"}[operand.get("quantifier")]
        return how % (KINDS.get(kind) or (kind if is_told else "Word"))


def call(macro, head, items):
    """A macro call with its items, several to a line."""
    text = " ".join(item.replace(" ", "\0") for item in items)
    lines = textwrap.wrap(text, 112, break_long_words=False, break_on_hyphens=False)
    body = "\n".join("    " + line.replace("\0", " ") for line in lines)
    return f"\n{macro}! {{ {head}\n{body}\n}}\n"


def main():
    checkout = pathlib.Path(sys.argv[1])
    core = read(checkout, "spirv.core")
    grammar = Grammar(core)
    git = ["git", "-C", checkout, "log", "-1", "--format=%h %cs"]
    commit, date = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split()
    out = HEAD.format(
        major=core["major_version"],
        minor=core["minor_version"],
        revision=core["revision"],
        commit=commit,
        date=date,
        year=date[:4],
    )

    instructions = sorted_once(core["instructions"], "opcode")
    name = {i["opcode"]: i["opname"].removeprefix("Op") for i in instructions}
    out += call(
        "enumeration",
        "Op",
        [f"{name[i['opcode']]} = {i['opcode']}{grammar.slots(i.get('operands'))};" for i in instructions],
    )
    for method, is_in in [
        ('is_type "Whether it declares a type."', lambda i: i["class"] == "Type-Declaration" or i["opname"].startswith("OpType")),
        ('is_annotation "Whether it decorates something."', lambda i: i["class"] == "Annotation"),
    ]:
        out += call("class", method, [name[i["opcode"]] for i in instructions if is_in(i)])
    for kind in NAMED:
        enumerants = sorted_once(grammar.enumerations[kind]["enumerants"], "value")
        names = [e["enumerant"] if e["enumerant"][0].isalpha() else "Dim" + e["enumerant"] for e in enumerants]
        items = [
            f"{n} = {number(e['value'])}{grammar.slots(e.get('parameters'))};" for n, e in zip(names, enumerants)
        ]
        out += call("enumeration", kind, items)
    opencl = sorted_once(read(checkout, "extinst.opencl.std.100")["instructions"], "opcode")
    items = [f"{i['opname']} = {i['opcode']}{grammar.slots(i.get('operands'))};" for i in opencl]
    out += call("enumeration", "OpenclStd100Op", items)

    for kind in grammar.masks():
        bits = sorted_once(grammar.enumerations[kind]["enumerants"], "value")
        items = [f"{e['value']}{grammar.slots(e.get('parameters'))};" for e in bits if number(e["value"])]
        out += call("operands", "".join("_" + c if c.isupper() else c for c in kind)[1:].upper(), items)
    for table, file in SETS.items():
        known = sorted_once(read(checkout, "extinst." + file)["instructions"], "opcode")
        out += call("operands", table, [f"{i['opcode']}{grammar.slots(i.get('operands'))};" for i in known])
    pathlib.Path(__file__).with_name("src").joinpath("grammar/table.rs").write_text(out)


main()
