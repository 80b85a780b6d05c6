#!/usr/bin/env python3
"""Writes coefficients.rs, beside this script: the polynomials and constants of the mathematics, as Sollya finds them.

    apt-get install sollya python3-mpmath; ./coefficients.py

Each is the polynomial of its form whose relative error on its range is least among those with coefficients of the
format (24 bits for single precision, 53 for double). Those of the gamma function, which Sollya does not know, are
mpmath's, rounded.
"""

import concurrent.futures
import pathlib
import re
import subprocess

import mpmath

HALF_LN2 = "[-0.3466;0.3466]"
# Of significands less one.
FRACTION = "[-0.25;0.5]"
# Of squares of eighths of a turn.
EIGHTH_SQUARED = "[1b-60;0.617]"
# Of squares of quarters of a turn, and a little more.
QUARTER_SQUARED = "[1b-60;2.5]"
# Of squares of HALF_LN2.
HALF_LN2_SQUARED = "[1b-60;0.1202]"
# e^(y^2) * erfc(y) * (y + 2) where x is (y - 2) / (y + 2), or 4 in the place of 2.
ERFC = "exp(((2+2*x)/(1-x))^2)*erfc((2+2*x)/(1-x))*4/(1-x)"
ERFC_DOUBLE = "exp(((4+4*x)/(1-x))^2)*erfc((4+4*x)/(1-x))*8/(1-x)"

# Name; what is approximated; its part that is no polynomial's coefficient; the lowest power; the highest for single
# and for double precision, none where the format has no use for it; range.
# Functions of x^2 are given as functions of x, so that their range is of one sign and their powers have no gaps.
POLYNOMIALS = [
    ("EXP", "exp(x)", "1+x", 2, 6, 11, HALF_LN2),
    ("EXPM1", "expm1(x)", "x", 2, 7, 12, HALF_LN2),
    ("EXP2", "2^x", "1", 1, 6, 11, "[-0.5;0.5]"),
    ("EXP10", "10^x", "1", 1, 6, 11, "[-0.1506;0.1506]"),
    ("LOG1P", "log1p(x)", "x-x^2/2", 3, 10, 21, FRACTION),
    ("LOG2_FRACTION", "log2(1+x)", "0", 1, None, 12, FRACTION),
    ("ATANH", "(atanh(sqrt(x))/sqrt(x)-1-x/3)/x^2", "0", 0, None, 7, "[1b-60;0.0401]"),
    ("SIN", "sin(sqrt(x))/sqrt(x)", "1", 1, 3, 6, EIGHTH_SQUARED),
    ("COS", "cos(sqrt(x))", "1-x/2", 2, 4, 7, EIGHTH_SQUARED),
    ("SIN_OF_HALF_TURN", "sin(sqrt(x))/sqrt(x)", "1", 1, 4, 8, QUARTER_SQUARED),
    ("SINH", "sinh(sqrt(x))/sqrt(x)", "1", 1, 2, 5, HALF_LN2_SQUARED),
    ("COSH", "cosh(sqrt(x))", "1", 1, 3, 5, HALF_LN2_SQUARED),
    ("CBRT_OF_INVERSE", "x^(-1/3)", "0", 0, 4, 4, "[0.75;1.5]"),
    ("ATAN", "atan(sqrt(x))/sqrt(x)", "1", 1, 8, 20, "[1b-60;1]"),
    ("ASIN", "asin(sqrt(x))/sqrt(x)", "1", 1, 5, 12, "[1b-60;0.25]"),
    ("LN_ERFC", "log(erfc(x))/x", "0", 0, 9, None, "[1b-30;4]"),
    ("ERFC", ERFC, "0", 0, 9, None, "[-1;0.675]"),
    ("ERFC_DOUBLE", ERFC_DOUBLE, "0", 0, None, 22, "[-1;0.745]"),
    # That of 3 + 3 x.
    ("LN_ERFC_DOUBLE", "log(erfc(3+3*x))/(3+3*x)", "0", 0, None, 31, "[-1+1b-40;0.98]"),
]

# Name; value.
CONSTANTS = [
    ("LN_2", "log(2)"),
    ("LOG2_E", "1/log(2)"),
    ("LOG10_2", "log(2)/log(10)"),
    ("LOG10_E", "1/log(10)"),
    ("PI", "pi"),
    ("FRAC_PI_2", "pi/2"),
    ("FRAC_1_PI", "1/pi"),
    ("TWO_OVER_LN_2", "2/log(2)"),
]


def sollya(script):
    """The numbers that a script prints."""
    script = f"prec = 300; verbosity = 0; display = decimal; {script} quit;"
    output = subprocess.run(["sollya"], input=script, capture_output=True, text=True, check=True).stdout
    return [float(word) for word in re.findall(r"= (\S+)", output)]


def polynomial(row):
    """The field of each format, and its error."""
    name, function, given, lowest, single, double, span = row
    fields = {}
    errors = []
    for field, highest, bits in [("single", single, 24), ("double", double, 53)]:
        fields[field] = []
        if highest is not None:
            powers = ",".join(map(str, range(lowest, highest + 1)))
            *fields[field], error = sollya(f"""
                p = fpminimax({function}, [|{powers}|], [|{bits}...|], {span}, relative, floating, {given});
                for i from {lowest} to {highest} do print("=", coeff(p, i));
                print("=", round(log2(dirtyinfnorm(p / ({function}) - 1, {span})), 24, RN));""")
            errors.append(f"2^{error:.1f}")
    added = "" if given == "0" else f" `{given}` and"
    return [
        f"/// `{function}` on `{span}` within {' and '.join(errors)}:{added} these times `x^{lowest}` and up.",
        f"pub(super) const {name}: Polynomial = Polynomial {{",
        *(f"    {field}: &{coefficients}," for field, coefficients in fields.items()),
        "};",
    ]


def constant(row):
    """A constant's parts: the first is less, so that the others are positive."""
    name, value = row
    lines = [f"/// `{value}`.", f"pub(super) const {name}: Parts = Parts {{"]
    for field, bits in [("single", 24), ("double", 53)]:
        parts = sollya(f"""a = round({value}, {bits}, RD); b = round({value} - a, {bits}, RD);
            print("=", a); print("=", b); print("=", round({value} - a - b, {bits}, RN));""")
        lines.append(f"    {field}: {parts},")
    return lines + ["};"]


def double_polynomial(name, text, coefficients):
    return [
        f"/// {text}",
        f"pub(super) const {name}: Polynomial = Polynomial {{",
        "    single: &[],",
        f"    double: &{[float(coefficient) for coefficient in coefficients]},",
        "};",
    ]


def log_of_gamma():
    """That at 2, where it is zero."""
    value = lambda x: mpmath.loggamma(2 + x) / x if abs(x) > 1e-20 else 1 - mpmath.euler
    coefficients, error = mpmath.chebyfit(value, [-0.5, 0.5], 20, error=True)
    text = f"`lgamma(2+x)/x` on `[-0.5;0.5]` within 2^{float(mpmath.log(error, 2)):.1f}, for double precision."
    return double_polynomial("LGAMMA_AT_2", text, reversed(coefficients))


def lanczos(count, g):
    """Lanczos' fraction: exact at the whole numbers from 1 to `count`, by partial fractions with poles at 0 and below."""
    g = mpmath.mpf(g)
    matrix = mpmath.matrix(count, count)
    values = mpmath.matrix(count, 1)
    for row in range(count):
        base = row + g + 0.5
        values[row] = mpmath.gamma(row + 1) * mpmath.exp(base) / base ** (row + mpmath.mpf(0.5))
        for column in range(count):
            matrix[row, column] = mpmath.mpf(1) / (row + column) if column else 1
    parts = mpmath.lu_solve(matrix, values)

    def product(roots):
        result = [mpmath.mpf(1)]
        for root in roots:
            result = [low + high * root for low, high in zip([0] + result, result + [0])]
        return result

    roots = range(count - 1)
    numerator = [parts[0] * coefficient for coefficient in product(roots)]
    for left_out in roots:
        without = product(root for root in roots if root != left_out)
        for power, coefficient in enumerate(without):
            numerator[power] += parts[left_out + 1] * coefficient
    text = f"`Γ(x) e^y / y^(x-0.5)` where y is `x+{g}-0.5`"
    return double_polynomial("LANCZOS_NUMERATOR", f"{text}: above the line.", numerator) + double_polynomial(
        "LANCZOS_DENOMINATOR", f"{text}: below the line.", product(roots)
    )


def main():
    mpmath.mp.dps = 60
    lines = [
        "//! Polynomials and constants, written by `coefficients.py`.",
        "#![allow(clippy::approx_constant, clippy::excessive_precision, reason = \"they are parts of numbers\")]",
        "use super::real::{Parts, Polynomial};",
    ]
    with concurrent.futures.ThreadPoolExecutor() as executor:
        for item in executor.map(polynomial, POLYNOMIALS):
            lines += item
        for item in executor.map(constant, CONSTANTS):
            lines += item
    lines += log_of_gamma() + lanczos(13, "6.024680040776729583740234375")
    path = pathlib.Path(__file__).with_name("coefficients.rs")
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(["rustfmt", "--edition", "2024", path], check=True)


main()
