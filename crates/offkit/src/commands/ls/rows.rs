//! Rows of a tree on their way to standard output.

use std::borrow::Cow;
use std::ops::Range;

use offkit_object::{ImageFormat, WrittenParts};

use super::describe::Describer;
use super::lister::{Details, FoundImage, More, take};
use crate::failure::Failure;
use crate::terminal::{Output, Styles, escape, is_plain, push_size};

/// A line of the tree, with lines that belong to it.
struct Row {
    depth: usize,
    content: Content,
}

enum Content {
    Text {
        text: String,
        below: Vec<String>,
    },
    /// What the row of an image says: parts of one text, for there may be very many.
    Image {
        place: Column,
        format: ImageFormat,
        target: Column,
        size: Column,
        more: Option<Box<More>>,
    },
}

/// A part of [`Rows::said`], after the one before it.
#[derive(Clone, Copy)]
struct Column {
    bytes: usize,
    /// In columns of the terminal.
    width: usize,
}

/// Rows that are put out together, so that their columns stand in line.
///
/// A group is enough for that, and memory does not grow with the number of images.
pub(super) struct Rows {
    output: Output,
    describer: Describer,
    rows: Vec<Row>,
    said: String,
    widths: Widths,
}

impl Rows {
    /// How many are put out together.
    const TOGETHER: usize = 1024;

    pub(super) fn new(output: Output, describer: Describer) -> Self {
        Self {
            output,
            describer,
            rows: Vec::new(),
            said: String::new(),
            widths: Widths::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn text(&mut self, depth: usize, text: String, below: Vec<String>) -> Result<(), Failure> {
        self.push(depth, Content::Text { text, below })
    }

    /// The row of an image; so many parts of its location are `said` by the rows above.
    pub(super) fn image(
        &mut self,
        depth: usize,
        place: WrittenParts<'_>,
        said: usize,
        target: &str,
        image: FoundImage,
    ) -> Result<(), Failure> {
        self.make_room(depth)?;
        let start = self.said.len();
        // As a rule nothing is to be escaped, and looking at all of the row together is faster.
        let mut ends = self.say(place, said, target, image.size, |text| text.into());
        let is_plain = is_plain(&self.said.as_bytes()[start..]);
        if !is_plain {
            self.said.truncate(start);
            ends = self.say(place, said, target, image.size, escape);
        }
        let column = |start: usize, end: usize| Column {
            bytes: end - start,
            width: if is_plain {
                end - start
            } else {
                self.said[start..end].chars().count()
            },
        };
        let [place_end, target_end, size_end] = ends;
        let place = column(start, place_end);
        let target = column(place_end, target_end);
        let size = column(target_end, size_end);
        let widths = &mut self.widths;
        widths.place = widths.place.max(place.width);
        widths.format = widths.format.max(image.format.name().len());
        widths.target = widths.target.max(target.width);
        widths.size = widths.size.max(size.width);
        self.rows.push(Row {
            depth,
            content: Content::Image {
                place,
                format: image.format,
                target,
                size,
                more: image.more,
            },
        });
        Ok(())
    }

    /// Says the place of an image, its target and its size; where each of them ends.
    fn say(
        &mut self,
        place: WrittenParts<'_>,
        said: usize,
        target: &str,
        size: u64,
        escape: impl Fn(&str) -> Cow<'_, str>,
    ) -> [usize; 3] {
        let text = &mut self.said;
        let start = text.len();
        push_path(text, place, said, &escape);
        if text.len() == start {
            *text += "(the file itself)";
        }
        let place_end = text.len();
        *text += &escape(target);
        let target_end = text.len();
        push_size(text, size);
        [place_end, target_end, text.len()]
    }

    /// Puts out what is left and gives the output back.
    pub(super) fn finish(mut self) -> Result<Output, Failure> {
        self.put_out(None)?;
        Ok(self.output)
    }

    fn push(&mut self, depth: usize, content: Content) -> Result<(), Failure> {
        self.make_room(depth)?;
        self.rows.push(Row { depth, content });
        Ok(())
    }

    fn make_room(&mut self, next: usize) -> Result<(), Failure> {
        if self.rows.len() < Self::TOGETHER {
            return Ok(());
        }
        self.put_out(Some(next))
    }

    /// Writes the rows; `next` is the depth of the row that comes after them.
    fn put_out(&mut self, next: Option<usize>) -> Result<(), Failure> {
        let Styles { faint, name, .. } = self.output.styles();
        let drawn = branches(&self.rows, next);
        let widths = self.widths;
        let mut text = String::with_capacity(self.rows.len() * widths.row());
        let mut said = self.said.as_str();
        // Most rows begin like the one before.
        let mut beginning = String::new();
        let mut before = None;
        for (row, branch) in self.rows.iter().zip(&drawn.branches) {
            let bars = &drawn.bars[branch.bars.clone()];
            if before.replace((row.depth, branch)) != Some((row.depth, branch)) {
                beginning.clear();
                beginning.extend([faint.start, bars, branch.fork(row.depth), faint.end]);
            }
            text += &beginning;
            let described;
            let below: &[String] = match &row.content {
                Content::Text { text: line, below } => {
                    text += line;
                    below
                }
                Content::Image {
                    place,
                    format,
                    target,
                    size,
                    more,
                } => {
                    text += name.start;
                    text += take(&mut said, place.bytes);
                    pad(&mut text, widths.place - place.width);
                    text += name.end;
                    text += "  ";
                    text += format.name();
                    pad(&mut text, widths.format - format.name().len() + 2);
                    text += take(&mut said, target.bytes);
                    pad(
                        &mut text,
                        widths.target - target.width + 2 + widths.size - size.width,
                    );
                    text += take(&mut said, size.bytes);
                    match more.as_deref() {
                        None => &[],
                        Some(more) => {
                            if !more.note.is_empty() {
                                text.extend(["  ", faint.start, &more.note, faint.end]);
                            }
                            described = match &more.details {
                                Details::Described(described) => self.describer.lines(described, row.depth),
                                Details::Inside(image) => {
                                    self.describer.lines(&self.describer.look_into(image), row.depth)
                                }
                            };
                            &described
                        }
                    }
                }
            };
            text.push('\n');
            for line in below {
                let under = branch.under(row.depth);
                text.extend([faint.start, bars, under, "    ", faint.end, line, "\n"]);
            }
        }
        self.rows.clear();
        self.said.clear();
        self.widths = Widths::default();
        self.output.lines(&text)
    }
}

fn pad(text: &mut String, mut spaces: usize) {
    const SPACES: &str = "                                ";
    while spaces > SPACES.len() {
        *text += SPACES;
        spaces -= SPACES.len();
    }
    *text += &SPACES[..spaces];
}

/// What stands before the rows of a group.
struct Drawn {
    bars: String,
    branches: Vec<Branch>,
}

/// What stands before a row.
#[derive(PartialEq, Eq)]
struct Branch {
    /// A part of [`Drawn::bars`]; the same for rows of one depth that follow each other.
    bars: Range<usize>,
    is_last: bool,
}

impl Branch {
    fn fork(&self, depth: usize) -> &'static str {
        match (depth, self.is_last) {
            (0, _) => "",
            (_, true) => "└── ",
            (_, false) => "├── ",
        }
    }

    /// What goes on below the row.
    fn under(&self, depth: usize) -> &'static str {
        match (depth, self.is_last) {
            (0, _) => "",
            (_, true) => "    ",
            (_, false) => "│   ",
        }
    }
}

/// The lines of the tree, drawn from the last row up: a row is the last one of its level unless another one
/// comes before the level ends.
fn branches(rows: &[Row], next: Option<usize>) -> Drawn {
    let mut goes_on = vec![true; next.map_or(0, |depth| depth + 1)];
    let mut bars = String::new();
    let mut branches = Vec::with_capacity(rows.len());
    let mut below = None;
    let mut start = 0;
    for row in rows.iter().rev() {
        let is_last = !goes_on.get(row.depth).copied().unwrap_or(false);
        goes_on.resize(row.depth + 1, false);
        goes_on[row.depth] = true;
        if below.replace(row.depth) != Some(row.depth) {
            start = bars.len();
            for goes_on in goes_on[..row.depth].iter().skip(1) {
                bars += if *goes_on { "│   " } else { "    " };
            }
        }
        branches.push(Branch {
            bars: start..bars.len(),
            is_last,
        });
    }
    branches.reverse();
    Drawn { bars, branches }
}

#[derive(Clone, Copy, Default)]
struct Widths {
    place: usize,
    format: usize,
    target: usize,
    size: usize,
}

impl Widths {
    /// About how many bytes a row has.
    fn row(self) -> usize {
        /// What is before and between the columns.
        const OTHERS: usize = 32;
        self.place + self.format + self.target + self.size + OTHERS
    }
}

/// Adds the parts of a place but for the first `said`.
pub(super) fn push_path(
    text: &mut String,
    place: WrittenParts<'_>,
    said: usize,
    escape: impl Fn(&str) -> Cow<'_, str>,
) {
    let written = place.as_str();
    // As a rule nothing is escaped, and for very many images taking that apart would be most of the work.
    if said == 0 && !written.as_bytes().contains(&b'%') {
        *text += &escape(written);
        return;
    }
    for (number, part) in place.parts().skip(said).enumerate() {
        if number > 0 {
            text.push('/');
        }
        *text += &escape(&part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_end_where_their_level_does() {
        let rows = [0, 1, 2, 2, 1, 2].map(|depth| Row {
            depth,
            content: Content::Text {
                text: String::new(),
                below: Vec::new(),
            },
        });
        let Drawn { bars, branches } = branches(&rows, None);
        let drawn: Vec<_> = branches
            .into_iter()
            .map(|branch| (&bars[branch.bars], branch.is_last))
            .collect();
        let expected = [
            ("", true),
            ("", false),
            ("│   ", false),
            ("│   ", true),
            ("", true),
            ("    ", true),
        ];
        assert_eq!(drawn, expected);
    }
}
