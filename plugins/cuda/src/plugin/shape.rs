//! An index space becomes blocks, and threads of a block.

use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Result};

/// Threads of a block where the host leaves that to the device.
const USUAL_BLOCK: usize = 256;

/// What a kernel and its device take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most threads of a block.
    pub(super) most: usize,
    /// The only blocks that the kernel takes.
    pub(super) required: Option<[usize; 3]>,
    /// The most threads of a block in each dimension.
    pub(super) threads: [usize; 3],
    /// The most blocks in each dimension.
    pub(super) blocks: [usize; 3],
}

/// A work-group's size where the host leaves it to the device: along the first dimension as far as it goes. In the others
/// there are few blocks at most, so that large ranges need more than one work-item there.
fn open_size(limits: &Limits, global: [usize; 3]) -> Option<[usize; 3]> {
    if let Some(required) = limits.required {
        return Some(required);
    }
    let mut left = limits.most.clamp(1, USUAL_BLOCK);
    let mut local = [1; 3];
    // The first dimension comes last: it gets the threads that the others, with as few as they can have, leave to it.
    for axis in [1, 2, 0] {
        let (size, most) = (global[axis], left.min(limits.threads[axis]));
        // The driver launches whole blocks alone, so that only divisors will do.
        let fits = |width: &usize| size.is_multiple_of(*width) && size / width <= limits.blocks[axis];
        local[axis] = match axis {
            0 => (1..=most).rev().find(fits)?,
            _ => (1..=most).find(fits)?,
        };
        left /= local[axis];
    }
    Some(local)
}

/// Blocks, and threads of a block.
///
/// # Errors
///
/// What does not divide, and what is more than the kernel or the device takes.
pub(super) fn shape(kernel: &str, limits: &Limits, range: &NdRange) -> Result<([u32; 3], [u32; 3])> {
    let wrong = |code, what: String| Error::new(code, format_args!("kernel {kernel}: {what}"));
    let group = |what: String| wrong(PI_INVALID_WORK_GROUP_SIZE, what);
    let global = range.global;
    let local = match range.local {
        Some(local) => local,
        None => open_size(limits, global).ok_or_else(|| {
            let what = format!("no work-group divides {global:?} work-items into blocks that the device has");
            wrong(PI_INVALID_GLOBAL_WORK_SIZE, what)
        })?,
    };
    if let Some(required) = limits.required
        && local != required
    {
        return Err(group(format!(
            "a work-group of {local:?}, and it takes {required:?} alone"
        )));
    }
    // Before sizes divide below: a group of no work-items is refused here.
    let items = local.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
    if items.is_none_or(|items| items == 0 || items > limits.most) {
        let most = limits.most;
        return Err(group(format!(
            "a work-group of {local:?}, and the most are {most} work-items"
        )));
    }
    let (mut blocks, mut threads) = ([0; 3], [0; 3]);
    for axis in 0..3 {
        let (global, local) = (global[axis], local[axis]);
        if !global.is_multiple_of(local) {
            return Err(group(format!("{global} work-items are no multiple of {local}")));
        }
        let (most_threads, most_blocks) = (limits.threads[axis], limits.blocks[axis]);
        if local > most_threads {
            let what =
                format!("{local} work-items of a group in dimension {axis}, and the most are {most_threads}");
            return Err(group(what));
        }
        let count = global / local;
        if count > most_blocks {
            let what = format!("{count} work-groups in dimension {axis}, and the most are {most_blocks}");
            return Err(wrong(PI_INVALID_GLOBAL_WORK_SIZE, what));
        }
        // What the device has of either are numbers of 31 bits.
        (blocks[axis], threads[axis]) = (count as u32, local as u32);
    }
    Ok((blocks, threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        most: 1024,
        required: None,
        threads: [1024, 1024, 64],
        blocks: [i32::MAX as usize, 65_535, 65_535],
    };

    fn of(limits: &Limits, range: NdRange) -> Result<([u32; 3], [u32; 3]), (pi_result, String)> {
        shape("k", limits, &range).map_err(|error| (error.code, error.to_string()))
    }

    #[test]
    fn an_open_size_divides_and_fits() {
        assert_eq!(
            of(&LIMITS, NdRange::new([1024])).unwrap(),
            ([4, 1, 1], [256, 1, 1])
        );
        assert_eq!(
            of(&LIMITS, NdRange::new([1000])).unwrap(),
            ([4, 1, 1], [250, 1, 1])
        );
        assert_eq!(of(&LIMITS, NdRange::new([7])).unwrap(), ([1, 1, 1], [7, 1, 1]));
        // More rows than the device has blocks in that dimension.
        let tall = of(&LIMITS, NdRange::new([64, 131_072])).unwrap();
        assert_eq!(tall, ([1, 32_768, 1], [64, 4, 1]));
        let deep = of(&LIMITS, NdRange::new([6, 1, 70_000])).unwrap();
        assert_eq!(deep, ([1, 1, 35_000], [6, 1, 2]));
        // A prime number of them.
        let (code, words) = of(&LIMITS, NdRange::new([64, 131_071])).unwrap_err();
        assert_eq!(code, PI_INVALID_GLOBAL_WORK_SIZE, "{words}");
        assert!(words.contains("no work-group divides [64, 131071, 1]"), "{words}");
    }

    #[test]
    fn what_a_kernel_demands_is_the_only_size() {
        let limits = Limits {
            required: Some([8, 4, 1]),
            ..LIMITS
        };
        let range = NdRange::new([16, 16]);
        assert_eq!(of(&limits, range).unwrap(), ([2, 4, 1], [8, 4, 1]));
        let (code, words) = of(&limits, range.with_local([4, 4])).unwrap_err();
        assert_eq!(code, PI_INVALID_WORK_GROUP_SIZE);
        assert!(words.contains("takes [8, 4, 1] alone"), "{words}");
    }

    #[test]
    fn limits_are_named() {
        let cases = [
            (
                NdRange::new([2048]).with_local([2048]),
                PI_INVALID_WORK_GROUP_SIZE,
                "the most are 1024",
            ),
            (
                NdRange::new([1, 1, 128]).with_local([1, 1, 128]),
                PI_INVALID_WORK_GROUP_SIZE,
                "dimension 2, and the most are 64",
            ),
            (
                NdRange::new([1, 70_000]).with_local([1, 1]),
                PI_INVALID_GLOBAL_WORK_SIZE,
                "70000 work-groups in dimension 1",
            ),
            (
                NdRange::new([10]).with_local([4]),
                PI_INVALID_WORK_GROUP_SIZE,
                "10 work-items are no multiple of 4",
            ),
            (
                NdRange::new([0]).with_local([0]),
                PI_INVALID_WORK_GROUP_SIZE,
                "a work-group of [0, 1, 1]",
            ),
        ];
        for (range, expected, part) in cases {
            let (code, words) = of(&LIMITS, range).unwrap_err();
            assert_eq!(code, expected, "{words}");
            assert!(words.contains(part), "{words}");
        }
    }
}
