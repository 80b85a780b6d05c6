#!/usr/bin/env python3
"""Writes coefficients.rs, beside this script: the polynomials of the mathematics, as Sollya finds them.

    apt-get install sollya; ./coefficients.py

Each is the polynomial of its form whose relative error on its range is least among those with coefficients of the
format (24 bits for single precision, 53 for double).
"""

import pathlib
import re
import subprocess

HALF_LN2 = "[-0.3466;0.3466]"
# Of significands less one.
FRACTION = "[-0.25;0.5]"
# Of squares of eighths of a turn.
EIGHTH_SQUARED = "[1b-60;0.617]"

# e^(y^2) * erfc(y) * (1 + 2 y), where x is (y - 2) / (y + 2).
ERFC = "exp(((2+2*x)/(1-x))^2)*erfc((2+2*x)/(1-x))*(1+2*(2+2*x)/(1-x))"

# Name; what is approximated; its part that is no polynomial's coefficient; powers; bits; range.
# Functions of x^2 are given as functions of x, so that their range is of one sign and their powers have no gaps.
POLYNOMIALS = [
    ("EXP", "exp(x)", "1+x", range(2, 7), 24, HALF_LN2),
    ("EXPM1", "expm1(x)", "x", range(2, 8), 24, HALF_LN2),
    ("EXP2", "2^x", "1", range(1, 7), 24, "[-0.5;0.5]"),
    ("EXP10", "10^x", "1", range(1, 7), 24, "[-0.1506;0.1506]"),
    ("LOG1P", "log1p(x)", "x-x^2/2", range(3, 11), 24, FRACTION),
    ("LOG2_WIDE", "log2(1+x)", "0", range(1, 13), 53, FRACTION),
    ("SIN", "sin(sqrt(x))/sqrt(x)", "1", range(1, 4), 24, EIGHTH_SQUARED),
    ("COS", "cos(sqrt(x))", "1-x/2", range(2, 5), 24, EIGHTH_SQUARED),
    ("TAN", "tan(sqrt(x))/sqrt(x)", "1", range(1, 7), 24, EIGHTH_SQUARED),
    ("ATAN", "atan(sqrt(x))/sqrt(x)", "1", range(1, 9), 24, "[1b-60;1]"),
    ("ASIN", "asin(sqrt(x))/sqrt(x)", "1", range(1, 6), 24, "[1b-60;0.25]"),
    ("LN_ERFC", "log(erfc(x))/x", "0", range(0, 10), 24, "[1b-30;4]"),
    ("ERFC", ERFC, "0", range(0, 10), 24, "[-1;0.675]"),
]


def sollya(function, given, powers, bits, span):
    """The coefficients as Python's floats, and the logarithm to base 2 of the relative error."""
    listed = ",".join(map(str, powers))
    script = f"""
        prec = 300; verbosity = 0; display = decimal;
        p = fpminimax({function}, [|{listed}|], [|{bits}...|], {span}, relative, floating, {given});
        for i from {powers[0]} to {powers[-1]} do print("=", coeff(p, i));
        print("=", round(log2(dirtyinfnorm(p / ({function}) - 1, {span})), 24, RN)); quit;"""
    output = subprocess.run(["sollya"], input=script, capture_output=True, text=True, check=True).stdout
    *coefficients, error = [float(word) for word in re.findall(r"= (\S+)", output)]
    return coefficients, error


def main():
    lines = ["//! Polynomials, written by `coefficients.py`.", ""]
    for name, function, given, powers, bits, span in POLYNOMIALS:
        coefficients, error = sollya(function, given, powers, bits, span)
        print(name, error)
        added = "" if given == "0" else f" `{given}` and"
        lines += [
            f"/// `{function}` on `{span}` within 2^{error:.1f}:{added} these times `x^{powers[0]}` and up.",
            f"pub(super) const {name}: [f64; {len(coefficients)}] = {coefficients};",
        ]
    path = pathlib.Path(__file__).with_name("coefficients.rs")
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(["rustfmt", "--edition", "2024", path], check=True)

main()
