//! Whether two runs of a kernel left the same.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::scalar_size;

use crate::inputs::Buffer;

/// How two contents of a buffer compare.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// Not at all. All NaNs are alike.
    None,
    /// Floating-point numbers alone, by no more than the largest part of themselves that is told.
    Rounding(f64),
    /// Anything else, at a byte.
    Real(usize),
}

/// How far results may be apart, as a part of themselves, where a kernel calls functions that need not be exact. OpenCL
/// lets `pow` err by 16 units in the last place, and what is computed from results errs by more.
fn tolerance(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F16 => 2f64.powi(-7),
        Scalar::F32 => 2f64.powi(-18),
        _ => 2f64.powi(-46),
    }
}

/// Compares two contents of a buffer.
pub(crate) fn compare(buffer: &Buffer, one: &[u8], other: &[u8]) -> Difference {
    let mut largest: Option<f64> = None;
    for place in places(buffer, one, other) {
        let apart = place.apart(one, other);
        if apart.is_nan() || apart > tolerance(place.scalar) {
            return Difference::Real(place.at);
        }
        largest = Some(largest.unwrap_or(0.0).max(apart));
    }
    largest.map_or(Difference::None, Difference::Rounding)
}

/// How far numbers that are further apart than the bounds of [`compare`] are from usual ones, in times the furthest that
/// allowed errors have put the same number: the largest of these. None where errors have put it nowhere, and where anything
/// else than numbers differs.
pub(crate) fn spread(buffer: &Buffer, usual: &[u8], erring: &[&[u8]], found: &[u8]) -> Option<f64> {
    let mut places = places(buffer, usual, found);
    places.try_fold(0f64, |largest, place| {
        // What is infinite, or no number, is within no bounds.
        if place.apart(usual, found) <= tolerance(place.scalar) {
            return Some(largest);
        }
        let right: Vec<f64> = [usual]
            .iter()
            .chain(erring)
            .map(|content| place.number(content))
            .collect();
        let part = place
            .scalar
            .is_float()
            .then(|| times(&right, place.number(found)))??;
        Some(largest.max(part))
    })
}

/// How far a number is from the first of some right ones, in times what the furthest of these is.
fn times(right: &[f64], found: f64) -> Option<f64> {
    if !found.is_finite() {
        let is_right = right
            .iter()
            .any(|one| *one == found || one.is_nan() && found.is_nan());
        return is_right.then_some(1.0);
    }
    let mut finite = right.iter().copied().filter(|number| number.is_finite());
    let first = finite.next()?;
    let others: Vec<f64> = finite.collect();
    let by = |scale: fn(f64) -> f64| {
        let distance = |number| (scale(number) - scale(first)).abs();
        let furthest = others.iter().map(|number| distance(*number)).fold(0.0, f64::max);
        let times = distance(found) / furthest;
        times.is_finite().then_some(times)
    };
    let has_digits = others.iter().all(|number| (number - first).abs() < first.abs());
    match by(|number| number) {
        // Of what not even a digit is left, errors are factors.
        Some(times) if !has_digits => {
            Some(by(|number| number.abs().ln()).map_or(times, |other| other.min(times)))
        }
        times => times,
    }
}

/// Where contents of a buffer differ.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    /// What is there.
    scalar: Scalar,
}

impl Place {
    fn number(self, content: &[u8]) -> f64 {
        let end = self.at + scalar_size(self.scalar) as usize;
        content
            .get(self.at..end)
            .map_or(0.0, |bytes| number(self.scalar, bytes))
    }

    /// How far two numbers are apart; infinitely if they are none.
    fn distance(self, one: &[u8], other: &[u8]) -> f64 {
        match self.scalar.is_float() {
            true => (self.number(one) - self.number(other)).abs(),
            false => f64::INFINITY,
        }
    }

    /// How far two numbers are apart, as a part of the larger one.
    fn apart(self, one: &[u8], other: &[u8]) -> f64 {
        match self.distance(one, other) {
            0.0 => 0.0,
            distance => distance / self.number(one).abs().max(self.number(other).abs()),
        }
    }
}

/// The places at which two contents of a buffer differ. All NaNs are alike.
fn places(buffer: &Buffer, one: &[u8], other: &[u8]) -> impl Iterator<Item = Place> {
    let size = buffer.shape.size as usize;
    let start = buffer.start();
    // In front of the first element there are bytes.
    let before = first_difference(&one[..start], &other[..start]);
    let before = before.map(|at| Place {
        at,
        scalar: Scalar::I8,
    });
    let elements = one[start..].chunks(size).zip(other[start..].chunks(size));
    let elements = elements.enumerate().filter(|(_, (a, b))| a != b);
    let fields = elements.flat_map(move |(index, (a, b))| {
        buffer.shape.fields.iter().filter_map(move |field| {
            let scalar = field.scalar.unwrap_or(Scalar::I64);
            let (offset, length) = (field.offset as usize, scalar_size(scalar) as usize);
            let (a, b) = (a.get(offset..offset + length)?, b.get(offset..offset + length)?);
            let at = start + index * size + offset;
            // Where only bytes are known of an element, what lies around may be a NaN.
            let is_nan = || match scalar {
                Scalar::I8 => is_nan_around(one, other, at),
                _ => number(scalar, a).is_nan() && number(scalar, b).is_nan(),
            };
            if a == b || is_nan() {
                return None;
            }
            let double = match scalar {
                Scalar::I8 => double_around(one, other, at),
                _ => None,
            };
            Some(double.map_or(Place { at, scalar }, |at| Place {
                at,
                scalar: Scalar::F64,
            }))
        })
    });
    before.into_iter().chain(fields)
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    one.iter().zip(other).position(|(a, b)| a != b)
}

fn number(scalar: Scalar, bytes: &[u8]) -> f64 {
    match (scalar, bytes) {
        (Scalar::F16, &[a, b]) => half::f16::from_le_bytes([a, b]).to_f64(),
        (Scalar::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
        (Scalar::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        // No NaN, whatever the bits.
        _ => 0.0,
    }
}

/// Where both have a double around a byte, of 2^±100: kernels copy numbers byte by byte, too. Of bytes that are none, chance gives few that
/// form, and then what is within bounds is the lowest bits of one in eight.
fn double_around(one: &[u8], other: &[u8], at: usize) -> Option<usize> {
    let length = scalar_size(Scalar::F64) as usize;
    let first = at - at % length;
    let is_usual = |bytes: &[u8]| {
        let found = bytes.get(first..first + length);
        let magnitude = found.map_or(0.0, |bytes| number(Scalar::F64, bytes).abs());
        (2f64.powi(-100)..2f64.powi(100)).contains(&magnitude)
    };
    (is_usual(one) && is_usual(other)).then_some(first)
}

/// Whether both have a NaN around a byte: buffers begin where any scalar may.
fn is_nan_around(one: &[u8], other: &[u8], at: usize) -> bool {
    [Scalar::F32, Scalar::F64].into_iter().any(|scalar| {
        let length = scalar_size(scalar) as usize;
        let first = at - at % length;
        let is_nan = |bytes: &[u8]| {
            let found = bytes.get(first..first + length);
            found.is_some_and(|bytes| number(scalar, bytes).is_nan())
        };
        is_nan(one) && is_nan(other)
    })
}
