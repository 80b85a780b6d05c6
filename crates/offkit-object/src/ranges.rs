//! Rules about where the parts of a container are.

use offkit_image::Error;

use crate::reading::Reading;
use crate::source::Source;

/// A part of a file that something refers to: where it begins, its size, and what it is.
pub(crate) struct Range {
    start: u64,
    size: u64,
    what: String,
    /// Whether other things may be in the same place, as strings may.
    is_shared: bool,
}

impl Range {
    pub(crate) fn new(start: u64, size: u64, what: impl Into<String>) -> Self {
        Self {
            start,
            size,
            what: what.into(),
            is_shared: false,
        }
    }

    /// In a place where other things may be, too.
    pub(crate) fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
    }
}

/// Notes parts that overlap, and bytes between them that are not zero.
pub(crate) fn check_ranges(
    source: Source<'_>,
    mut ranges: Vec<Range>,
    reading: &mut Reading,
) -> Result<(), Error> {
    // What is empty shares bytes with nothing, wherever it is said to be.
    ranges.retain(|range| range.size > 0);
    ranges.sort_by_key(|range| (range.start, range.size));
    let mut end = 0_u64;
    let mut last: Option<&Range> = None;
    for range in &ranges {
        if let Some(last) = last.filter(|_| range.start < end)
            && !(range.is_shared && last.is_shared)
        {
            reading.fault(
                Error::malformed("parts overlap")
                    .at(source.at(range.start))
                    .field(range.what.clone())
                    .expecting(format!("to begin at or after {:#x}", source.at(end)))
                    .finding(format_args!("a part of {}", last.what)),
            )?;
        }
        check_zeros(source, end, range.start, reading)?;
        let range_end = range.start.saturating_add(range.size);
        // What reaches furthest stays the one to compare with: a short part inside of it would hide what overlaps only
        // the long one.
        if range_end >= end {
            end = range_end;
            last = Some(range);
        }
    }
    check_zeros(source, end, source.len(), reading)
}

fn check_zeros(source: Source<'_>, start: u64, end: u64, reading: &mut Reading) -> Result<(), Error> {
    // A part that reaches out of the file was a fault for the reader; behind it there is no gap.
    let Some(gap) = source.get(start, end.saturating_sub(start)) else {
        return Ok(());
    };
    match gap.bytes().iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(position) => reading.fault(
            Error::malformed("bytes that belong to nothing are not zero")
                .at(gap.at(position as u64))
                .expecting("0")
                .finding(format_args!(
                    "{:#04x}",
                    gap.bytes().get(position).copied().unwrap_or_default()
                )),
        ),
    }
}

/// Notes a number that is no multiple of 8.
pub(crate) fn check_multiple_of_8(
    value: u64,
    at: u64,
    what: &'static str,
    reading: &mut Reading,
) -> Result<(), Error> {
    if value.is_multiple_of(8) {
        return Ok(());
    }
    reading.fault(
        Error::malformed("not a multiple of 8")
            .at(at)
            .field(what)
            .expecting(format!("{:#x}", value.next_multiple_of(8)))
            .finding(format_args!("{value:#x}")),
    )
}
