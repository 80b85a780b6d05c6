//! Rounding of exact values to float types in any direction, by search among all values of the type.

use crate::element::Element;

/// A direction of rounding, named in OpenCL C by the suffixes of conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Nearest,
    Zero,
    Up,
    Down,
}

impl Mode {
    pub(crate) const ALL: [(Mode, &'static str); 4] = [
        (Mode::Nearest, "_rte"),
        (Mode::Zero, "_rtz"),
        (Mode::Up, "_rtp"),
        (Mode::Down, "_rtn"),
    ];

    /// Rounds to a whole number.
    pub(crate) fn to_integer(self, value: f64) -> f64 {
        match self {
            Mode::Nearest => value.round_ties_even(),
            Mode::Zero => value.trunc(),
            Mode::Up => value.ceil(),
            Mode::Down => value.floor(),
        }
    }
}

/// A value before rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exact {
    Float(f64),
    Integer(i128),
}

impl Exact {
    fn is_negative(self) -> bool {
        match self {
            Exact::Float(value) => value.is_sign_negative(),
            Exact::Integer(value) => value < 0,
        }
    }

    /// The distance to a float below or above. Exact for neighbours of the value among the floats of a
    /// type: where they aren't whole numbers, an integer is one of them.
    fn distance(self, other: f64) -> f64 {
        match self {
            Exact::Float(value) => (value - other).abs(),
            Exact::Integer(value) => (value - other as i128).unsigned_abs() as f64,
        }
    }

    fn is_at_least(self, other: f64) -> bool {
        match self {
            Exact::Float(value) => value >= other,
            Exact::Integer(value) if other.fract() == 0.0 => value >= other as i128,
            Exact::Integer(value) => value as f64 >= other,
        }
    }
}

/// The word of a float type for a value.
pub(crate) fn round(element: Element, value: Exact, mode: Mode) -> u64 {
    if let Exact::Float(number) = value
        && (!number.is_finite() || element == Element::Double)
    {
        let word = number.to_bits();
        return match element {
            Element::Double => word,
            _ if number.is_nan() => element.infinity() | element.infinity() >> 1,
            _ if number < 0.0 => element.infinity() | 1 << (element.bits() - 1),
            _ => element.infinity(),
        };
    }
    // Infinity stands for the next power of two here.
    let last = element.position(element.infinity());
    let at = |position: i64| match position {
        _ if position.abs() < last => element.number(element.at_position(position)),
        _ => {
            let largest = element.number(element.at_position(last - 1));
            let bound = largest + (largest - element.number(element.at_position(last - 2)));
            if position < 0 { -bound } else { bound }
        }
    };
    // The largest position whose value isn't above.
    let (mut low, mut high) = (-last, last);
    if value.is_at_least(at(last)) {
        low = last;
    }
    while high.abs_diff(low) > 1 {
        let middle = low.midpoint(high);
        if value.is_at_least(at(middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let position = if low == last || !value.is_at_least(at(-last)) {
        // Out of range altogether.
        match (value.is_negative(), mode) {
            (false, Mode::Zero | Mode::Down) => last - 1,
            (false, _) => last,
            (true, Mode::Zero | Mode::Up) => 1 - last,
            (true, _) => -last,
        }
    } else if value.distance(at(low)) == 0.0 {
        low
    } else {
        let (to_low, to_high) = (value.distance(at(low)), value.distance(at(high)));
        match mode {
            Mode::Down => low,
            Mode::Up => high,
            Mode::Zero if value.is_negative() => high,
            Mode::Zero => low,
            Mode::Nearest if to_low < to_high || to_low == to_high && low % 2 == 0 => low,
            Mode::Nearest => high,
        }
    };
    let sign = if position == 0 && value.is_negative() {
        1 << (element.bits() - 1)
    } else {
        0
    };
    element.at_position(position) | sign
}

#[test]
fn rounding_agrees_with_the_hardware() {
    let mut state = 7_u64;
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let exponent = 1023 - 155 + (state >> 32) % 290;
        let value = f64::from_bits(state & 0x800f_ffff_ffff_ffff | exponent << 52);
        let single = u64::from((value as f32).to_bits());
        assert_eq!(
            round(Element::Float, Exact::Float(value), Mode::Nearest),
            single,
            "{value:e}"
        );
        let integer = (state as i64 >> (state % 63)) as i128;
        let single = u64::from((integer as f32).to_bits());
        assert_eq!(
            round(Element::Float, Exact::Integer(integer), Mode::Nearest),
            single,
            "{integer}"
        );
    }
    for (value, mode, half) in [
        (65519.0, Mode::Nearest, 0x7bff),
        (65520.0, Mode::Nearest, 0x7c00),
        (-65520.0, Mode::Up, 0xfbff),
        (1e-9, Mode::Up, 1),
        (-1e-9, Mode::Up, 0x8000),
        (1e9, Mode::Zero, 0x7bff),
        (f64::NEG_INFINITY, Mode::Zero, 0xfc00),
    ] {
        assert_eq!(
            round(Element::Half, Exact::Float(value), mode),
            half,
            "{value} {mode:?}"
        );
    }
}
