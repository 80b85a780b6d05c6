//! Where compiled code finds what a launch is: places in `NativeLaunch` of the CPU device, in words of eight bytes.

/// The address of the arguments' words.
pub const ARGUMENTS: u64 = 0;
/// The address of a byte that becomes other than zero when the launch is given up.
pub const CANCEL: u64 = 1;
/// Dimensions of the range.
pub const DIMENSIONS: u64 = 2;
/// The first global id: three words.
pub const OFFSET: u64 = 3;
/// Work-items: three words.
pub const GLOBAL: u64 = 6;
/// Work-items of a group: three words.
pub const LOCAL: u64 = 9;
/// Groups: three words.
pub const GROUPS: u64 = 12;
/// Where scratch memory begins behind local memory, in bytes.
pub const SCRATCH: u64 = 15;
/// The address of the addresses of what the code needs from outside.
pub const EXTERNALS: u64 = 16;
/// The address of a byte that becomes other than zero when a work-item has failed.
pub const STOP: u64 = 18;
/// Where the kernel sees other groups than there are: work-items of one, three words.
pub const SEEN_LOCAL: u64 = 19;
/// Such groups: three words.
pub const SEEN_GROUPS: u64 = 22;
/// What a number of a work-item below 2^31 is multiplied with, for the number of its group in a dimension: three words below
/// 2^32.
pub const SEEN_FACTOR: u64 = 25;
/// By how many bits the product is shifted to the right: three words.
pub const SEEN_SHIFT: u64 = 28;

/// The factor and the shift for groups of a size: so a number is divided by it without a division, which processors have
/// none of for vectors.
pub fn division(size: u64) -> (u64, u64) {
    // The shift is 62 at most and the factor below 2^32, so that the product of a number below 2^31 stays within 63
    // bits.
    let size = size.clamp(1, 1 << 31);
    let shift = 31 + u64::from(size.next_power_of_two().trailing_zeros());
    // Rounded up, and so times `size` at most 2^(shift - 31) more than 2^shift: no product reaches the next quotient.
    ((1_u64 << shift).div_ceil(size), shift)
}

#[cfg(test)]
mod tests {
    use super::division;

    #[test]
    fn products_are_quotients() {
        let sizes = (1..=70).chain([4095, 4096, 4097, (1 << 31) - 1, 1 << 31]);
        for size in sizes {
            let (factor, shift) = division(size);
            assert!(factor < 1 << 32, "{size}");
            let around = |number: u64| [number.saturating_sub(1), number, number + 1];
            let multiples = [0, 1, 2, 3, 1000, (1 << 31) / size].map(|times| times * size);
            let numbers = multiples.into_iter().chain([(1 << 31) - 1]).flat_map(around);
            for number in numbers.filter(|number| *number < 1 << 31) {
                assert_eq!((number * factor) >> shift, number / size, "{number} by {size}");
            }
        }
    }
}
