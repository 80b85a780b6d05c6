//! What each of many parts is taken out of.
//!
//! Opening a module, however lazily, reads all of its symbols. So that many parts do not each read those of all
//! others, parts of a module with many are taken out in steps: first modules that each have what some of the parts
//! need, of these smaller ones, and the parts themselves of the last.

use std::collections::HashSet;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use offkit_llvm::Part;

use crate::Error;
use crate::buffer::Buffer;
use crate::context::Context;
use crate::module::Module;
use crate::split::take;

/// The greatest number of parts that are taken out of one module.
const MOST_PARTS: usize = 64;

/// Into how many smaller modules one with too many parts is divided.
const DIVISIONS: usize = 32;

/// A module, and the parts that are taken out of it.
struct Group {
    source: Arc<Buffer>,
    parts: Range<usize>,
    /// How many symbols it has, about.
    symbols: usize,
}

/// Bitcode for each part to be taken out of: that of the module, which has so many symbols, or of a group of parts.
///
/// # Errors
///
/// Those of taking a group out.
pub(crate) fn sources(
    bitcode: &Arc<Buffer>,
    symbols: usize,
    parts: &[&Part],
    jobs: usize,
) -> Result<Vec<Arc<Buffer>>, Error> {
    let mut groups = vec![Group {
        source: Arc::clone(bitcode),
        parts: 0..parts.len(),
        symbols,
    }];
    while groups.iter().any(|group| group.parts.len() > MOST_PARTS) {
        let mut divided = Vec::new();
        for group in &groups {
            // A group that is small enough stays one, and `make` gives back its own module: that
            // has little else than what these parts need.
            let size = match group.parts.len() {
                ..=MOST_PARTS => group.parts.len(),
                count => count.div_ceil(DIVISIONS),
            };
            for start in group.parts.clone().step_by(size.max(1)) {
                divided.push((group, start..(start + size).min(group.parts.end)));
            }
        }
        let made = in_parallel(divided.len(), jobs, |number| {
            let (group, range) = &divided[number];
            let (source, symbols) = make(group, parts.get(range.clone()).unwrap_or_default())?;
            Ok(Group {
                source,
                parts: range.clone(),
                symbols,
            })
        });
        groups = made.into_iter().collect::<Result<_, Error>>()?;
    }
    let sources = (groups.iter()).flat_map(|group| group.parts.clone().map(|_| Arc::clone(&group.source)));
    Ok(sources.collect())
}

/// A module with all that these parts need, and the number of its symbols. Where that would be much the same as the
/// one it is taken out of, it is that.
fn make(group: &Group, parts: &[&Part]) -> Result<(Arc<Buffer>, usize), Error> {
    let mut seen = HashSet::new();
    let contents = parts.iter().flat_map(|part| part.contents.iter().flatten());
    let contents: Vec<String> = contents.filter(|name| seen.insert(*name)).cloned().collect();
    let left_out = parts.iter().flat_map(|part| &part.left_out);
    let left_out = left_out.filter(|name| seen.insert(*name)).cloned().collect();
    if contents.len() > group.symbols / 2 {
        return Ok((Arc::clone(&group.source), group.symbols));
    }
    let count = contents.len();
    let all = Part {
        contents: Some(contents),
        left_out,
        ..Part::default()
    };
    let source = Module::open(&Context::new(), &group.source, "group")?;
    Ok((take(source, &all)?.to_bitcode(), count))
}

/// Does `work` for each number below `count`, so many at a time or, for 0, one on each core, and returns what it
/// returned, in order.
pub(crate) fn in_parallel<T: Send>(count: usize, jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let take = || {
        loop {
            // Relaxed: each number is taken once in any order, and what a thread has done comes
            // through the lock.
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = work(number);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, result));
        }
    };
    thread::scope(|scope| {
        // One less than asked for, as this thread takes part.
        for _ in 1..jobs_or_cores(jobs).min(count) {
            scope.spawn(take);
        }
        take();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// How much is done at a time.
pub(crate) fn jobs_or_cores(jobs: usize) -> usize {
    match jobs {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        jobs => jobs,
    }
}
