//! What is left of large angles: the bits of 2/π that decide it times the significand.

use super::coefficients::FRAC_PI_2;
use super::real::{Integer, Real};

/// A word of zeros, as much of the fraction of 2/π as the largest double takes, and zeros.
const TWO_OVER_PI: [u64; 35] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
    0xa9e3_9161_5ee6_1b08,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
];

/// Which quarter turn is nearest to an angle of a double and at least 1/256, modulo four, and what is left.
// Payne and Hanek's method: only those bits of 2/π are multiplied which the result depends on, in integers.
pub(super) fn quarters<W: Real>(angle: W) -> (W, W) {
    let bits = angle.bits();
    let constant = |value: i64| bits.constant(value);
    // The angle is significand * 2^exponent. Bits of 2/π above 2^(1 - exponent) would give whole turns: the product is
    // made of the 192 bits from there on.
    let significand = (bits & constant((1 << 52) - 1)) | constant(1 << 52);
    let first = bits.right_unsigned(52) - constant(1075 - 62);
    // Of small numbers, which are not asked for, it would lie outside the table.
    let first = first & constant(0x7ff);
    let (word, within) = (first.right_unsigned(6), first & constant(63));
    // Eleven bits choose one of 32 words, and three more follow: that is why the table has 35, with zeros at its end.
    let words = [0, 1, 2, 3].map(|next| (word + constant(next)).lookup(&TWO_OVER_PI));
    let window = |at: usize| {
        let above = words[at].left_by(within);
        // In two shifts: one by 64, as where `within` is 0, may give anything.
        let below = words[at + 1]
            .right_unsigned(1)
            .right_unsigned_by(constant(63) - within);
        above | below
    };
    let (middle_high, middle) = multiply(significand, window(1));
    let (low_high, _) = multiply(significand, window(2));
    let low = middle + low_high;
    let carried = carry(middle, low_high, low);
    let high = significand * window(0) + middle_high + carried;
    // Two bits of whole quarters, then the fraction; the nearest quarter, so that the rest has a sign.
    let quarters = (high + constant(1 << 61)).right_unsigned(62);
    let fraction = high - quarters.left(62);
    // Three parts that doubles have.
    let upper = W::from_integer(fraction.right(32)).times(2f64.powi(-30));
    let lower = W::from_integer(fraction & constant(0xffff_ffff)).times(2f64.powi(-62));
    let least = W::from_integer(low.right_unsigned(14)).times(2f64.powi(-62 - 50));
    let sum = upper + lower;
    let least = (upper - sum) + lower + least;
    let fraction = sum + least;
    let least = (sum - fraction) + least;
    let [high, low, _] = FRAC_PI_2.of(fraction);
    let rest = fraction * low + least * high;
    (W::from_integer(quarters), fraction.fma(high, rest))
}

/// The product, of twice the width: its upper and its lower word.
fn multiply<I: Integer>(a: I, b: I) -> (I, I) {
    let halves = |word: I| (word.right_unsigned(32), word & word.constant(0xffff_ffff));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    let (t1, t0) = halves(a0 * b0);
    let (u1, u0) = halves(a1 * b0 + t1);
    let (v1, v0) = halves(a0 * b1 + u0);
    (a1 * b1 + u1 + v1, v0.left(32) | t0)
}

/// What `sum`, which is `a + b`, carries into the next word.
fn carry<I: Integer>(a: I, b: I, sum: I) -> I {
    let ones = sum.constant(-1);
    ((a & b) | ((a | b) & (sum ^ ones))).right_unsigned(63)
}
