//! Whether two runs of a kernel left the same.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::scalar_size;

use crate::inputs::{Buffer, Field};

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
    if one == other {
        return Difference::None;
    }
    let size = buffer.shape.size as usize;
    let start = buffer.start();
    if let Some(at) = first_difference(&one[..start], &other[..start]) {
        return Difference::Real(at);
    }
    let mut largest: Option<f64> = None;
    let elements = one[start..].chunks(size).zip(other[start..].chunks(size));
    for (index, (a, b)) in elements.enumerate().filter(|(_, (a, b))| a != b) {
        for Field { offset, scalar, .. } in &buffer.shape.fields {
            let scalar = scalar.unwrap_or(Scalar::I64);
            let (offset, length) = (*offset as usize, scalar_size(scalar) as usize);
            let (Some(a), Some(b)) = (a.get(offset..offset + length), b.get(offset..offset + length)) else {
                continue;
            };
            if a == b {
                continue;
            }
            let at = start + index * size + offset;
            // Where only bytes are known of an element, what lies around may be a NaN.
            let is_nan = match scalar {
                Scalar::I8 => is_nan_around(one, other, at),
                _ => number(scalar, a).is_nan() && number(scalar, b).is_nan(),
            };
            if is_nan {
                continue;
            }
            let apart = match scalar {
                Scalar::F16 | Scalar::F32 | Scalar::F64 => apart(number(scalar, a), number(scalar, b)),
                _ => f64::INFINITY,
            };
            if apart > tolerance(scalar) || apart.is_nan() {
                return Difference::Real(at);
            }
            largest = Some(largest.unwrap_or(0.0).max(apart));
        }
    }
    largest.map_or(Difference::None, Difference::Rounding)
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

/// How far two numbers are apart, as a part of the larger one.
fn apart(a: f64, b: f64) -> f64 {
    if a == b {
        return 0.0;
    }
    (a - b).abs() / a.abs().max(b.abs())
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
