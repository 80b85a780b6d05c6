#!/usr/bin/env python3
"""Writes mathematics.txt: correctly rounded results of the mathematical functions of OpenCL C.

Each line is a function's name, the bits of its result as a double and those of its operands, in hexadecimal.
The values come from mpmath at 1500 bits, so a function under test shares nothing with them but its definition.
Operands are drawn from half, float and double numbers alike: those that a narrower type can hold serve for it too.

    python3 mathematics.py > mathematics.txt
"""

import random
import struct

from mpmath import mp, mpf, nan
import mpmath

mp.prec = 1500
random.seed(1)


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def narrow(value, kind):
    """The nearest number of the struct format `e` (half), `f` (float) or `d` (double), as a double."""
    try:
        return struct.unpack("<" + kind, struct.pack("<" + kind, value))[0]
    except OverflowError:
        return None


def rounded(value):
    """The nearest double, ties to even, subnormals and overflow included (mpmath truncates subnormals)."""
    value = mpf(value)
    if value == 0 or not mpmath.isfinite(value):
        return float(value)
    exponent = max(mpmath.frexp(value)[1] - 53, -1074)
    scaled = mpmath.nint(mpmath.ldexp(value, -exponent))
    try:
        return float(int(scaled) * 2.0**exponent) if exponent > -1000 else float(mpmath.ldexp(scaled, exponent))
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def samples(low, high, count):
    """Numbers of all three types between two bounds, as many of small as of large magnitude."""
    while count:
        if random.random() < 0.5:
            value = random.uniform(low, high)
        else:
            value = random.choice([low, high]) * 2.0 ** -random.uniform(0, 20)
        value = narrow(value, random.choice("eefd"))
        if value is not None and low <= value <= high:
            count -= 1
            yield value


def real(function):
    """The function with NaN where it has no real value."""

    def evaluate(*arguments):
        value = function(*arguments)
        return nan if isinstance(value, mpmath.mpc) and value.imag != 0 else mpmath.re(value)

    return evaluate


def root(x, n):
    magnitude = mpmath.power(abs(x), mpf(1) / n)
    return -magnitude if x < 0 else magnitude


def remainder(x, y):
    return x - y * mpmath.nint(x / y)


def remainder_of_truncation(x, y):
    quotient = x / y
    return x - y * (mpmath.floor(quotient) if quotient >= 0 else mpmath.ceil(quotient))


# Name, function, intervals of its operands.
WIDE = (-1e5, 1e5)
FUNCTIONS = [
    ("acos", mpmath.acos, (-1, 1)),
    ("acosh", mpmath.acosh, (1, 1e5)),
    ("acospi", lambda x: mpmath.acos(x) / mp.pi, (-1, 1)),
    ("asin", mpmath.asin, (-1, 1)),
    ("asinh", mpmath.asinh, WIDE),
    ("asinpi", lambda x: mpmath.asin(x) / mp.pi, (-1, 1)),
    ("atan", mpmath.atan, WIDE),
    ("atanh", mpmath.atanh, (-0.9999, 0.9999)),
    ("atanpi", lambda x: mpmath.atan(x) / mp.pi, WIDE),
    ("cbrt", lambda x: root(x, 3), WIDE),
    ("cos", mpmath.cos, WIDE),
    ("cosh", mpmath.cosh, (-100, 100)),
    ("cospi", mpmath.cospi, (-1000, 1000)),
    ("erf", mpmath.erf, (-6, 6)),
    ("erfc", mpmath.erfc, (-6, 27)),
    ("exp", mpmath.exp, (-110, 100)),
    ("exp2", lambda x: mpmath.power(2, x), (-160, 140)),
    ("exp10", lambda x: mpmath.power(10, x), (-50, 40)),
    ("expm1", mpmath.expm1, (-50, 100)),
    ("log", mpmath.log, (1e-7, 1e5)),
    ("log2", lambda x: mpmath.log(x, 2), (1e-7, 1e5)),
    ("log10", mpmath.log10, (1e-7, 1e5)),
    ("log1p", mpmath.log1p, (-0.9999, 1e5)),
    ("rsqrt", lambda x: 1 / mpmath.sqrt(x), (1e-7, 1e5)),
    ("sin", mpmath.sin, WIDE),
    ("sinh", mpmath.sinh, (-100, 100)),
    ("sinpi", mpmath.sinpi, (-1000, 1000)),
    ("sqrt", mpmath.sqrt, (0, 1e5)),
    ("tan", mpmath.tan, WIDE),
    ("tanh", mpmath.tanh, (-25, 25)),
    ("tanpi", lambda x: mpmath.sinpi(x) / mpmath.cospi(x), (-1000, 1000)),
    ("tgamma", mpmath.gamma, (-20.5, 40)),
    ("lgamma", lambda x: mpmath.log(abs(mpmath.gamma(x))), (0.001, 1000)),
    ("atan2", mpmath.atan2, WIDE, WIDE),
    ("atan2pi", lambda y, x: mpmath.atan2(y, x) / mp.pi, WIDE, WIDE),
    ("hypot", lambda x, y: mpmath.sqrt(x * x + y * y), WIDE, WIDE),
    ("pow", mpmath.power, (1e-5, 1e5), (-10, 10)),
    ("powr", mpmath.power, (1e-5, 1e5), (-10, 10)),
    ("pown", lambda x, n: mpmath.power(x, int(n)), (-100, 100), range(-20, 21)),
    ("rootn", root, (1e-5, 1e5), range(2, 12)),
    ("rootn", root, (1e200, 1e300), range(-6, -1)),
    ("fmod", remainder_of_truncation, WIDE, (-10, 10)),
    ("remainder", remainder, WIDE, (-10, 10)),
]

# Operands whose reduction by π needs all the digits there are.
HUGE = [narrow(x, "f") for x in (1e7, 3e15, 1e22, -3.3e38)] + [1e22, -1.2345e300, 6381956970095103.0 * 2.0**797]

for name, function, *intervals in FUNCTIONS:
    columns = [
        [float(random.choice(interval)) for _ in range(36)]
        if isinstance(interval, range)
        else list(samples(*interval, 36))
        for interval in intervals
    ]
    if name in ("sin", "cos", "tan"):
        columns[0] += HUGE
    for operands in zip(*columns):
        try:
            value = rounded(real(function)(*map(mpf, operands)))
        except (ZeroDivisionError, ValueError):
            continue  # a pole: the tables of special values have it
        print(name, *(f"{bits(word):016x}" for word in (value, *operands)))
