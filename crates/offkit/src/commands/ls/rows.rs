//! Rows of a tree on their way to standard output.

use std::ops::Range;

use offkit_object::{ImageFormat, Location, Target};

use super::describe::Describer;
use super::lister::{Details, FoundImage, More};
use crate::failure::Failure;
use crate::terminal::{Output, Styles, escape, push_size};

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

/// A part of [`Rows::said`].
struct Column {
    bytes: Range<usize>,
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
    pub(super) fn image(&mut self, depth: usize, image: &mut FoundImage, said: usize) -> Result<(), Failure> {
        self.make_room(depth)?;
        let start = self.said.len();
        push_path(&mut self.said, &image.location, said);
        if self.said.len() == start {
            self.said += "(the file itself)";
        }
        let place = self.column(start);
        let target = self.said.len();
        push_target(&mut self.said, image);
        let target = self.column(target);
        let size = self.said.len();
        push_size(&mut self.said, image.size);
        let size = self.column(size);
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
                more: image.more.take(),
            },
        });
        Ok(())
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

    /// What was said from `start` on.
    fn column(&self, start: usize) -> Column {
        let said = &self.said[start..];
        Column {
            bytes: start..self.said.len(),
            width: if said.is_ascii() {
                said.len()
            } else {
                said.chars().count()
            },
        }
    }

    /// Writes the rows; `next` is the depth of the row that comes after them.
    fn put_out(&mut self, next: Option<usize>) -> Result<(), Failure> {
        let Styles { faint, name, .. } = self.output.styles();
        let drawn = branches(&self.rows, next);
        let widths = &self.widths;
        let mut text = String::with_capacity(self.said.len() * 2);
        for (row, branch) in self.rows.iter().zip(drawn.branches) {
            let bars = &drawn.bars[branch.bars];
            let (fork, under) = match (row.depth, branch.is_last) {
                (0, _) => ("", ""),
                (_, true) => ("└── ", "    "),
                (_, false) => ("├── ", "│   "),
            };
            text.extend([faint.start, bars, fork, faint.end]);
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
                    self.left(&mut text, place, widths.place);
                    text.extend([name.end, "  ", format.name()]);
                    pad(&mut text, widths.format - format.name().len() + 2);
                    self.left(&mut text, target, widths.target);
                    pad(&mut text, widths.size + 2 - size.width);
                    text += &self.said[size.bytes.clone()];
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
                text.extend([faint.start, bars, under, "    ", faint.end, line, "\n"]);
            }
        }
        self.rows.clear();
        self.said.clear();
        self.widths = Widths::default();
        self.output.lines(&text)
    }

    /// A column that begins on the left.
    fn left(&self, text: &mut String, column: &Column, width: usize) {
        *text += &self.said[column.bytes.clone()];
        pad(text, width - column.width);
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
struct Branch {
    /// A part of [`Drawn::bars`].
    bars: Range<usize>,
    is_last: bool,
}

/// The lines of the tree, drawn from the last row up: a row is the last one of its level unless another one
/// comes before the level ends.
fn branches(rows: &[Row], next: Option<usize>) -> Drawn {
    let mut goes_on = vec![true; next.map_or(0, |depth| depth + 1)];
    let mut bars = String::new();
    let mut branches = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let is_last = !goes_on.get(row.depth).copied().unwrap_or(false);
        goes_on.resize(row.depth + 1, false);
        goes_on[row.depth] = true;
        let start = bars.len();
        for goes_on in goes_on[..row.depth].iter().skip(1) {
            bars += if *goes_on { "│   " } else { "    " };
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

/// Adds the parts of a location but for the first `said`.
pub(super) fn push_path(text: &mut String, location: &Location, said: usize) {
    let written = location.written_parts();
    // As a rule nothing is escaped, and for very many images taking that apart would be most of the work.
    if said == 0 && !written.as_bytes().contains(&b'%') {
        *text += &escape(written);
        return;
    }
    for (number, part) in location.parts().skip(said).enumerate() {
        if number > 0 {
            text.push('/');
        }
        *text += &escape(&part);
    }
}

fn push_target(text: &mut String, image: &FoundImage) {
    let Target {
        triple,
        arch,
        features,
    } = &image.target;
    let start = text.len();
    *text += &escape(triple);
    if !triple.is_empty() && !arch.is_empty() {
        text.push('-');
    }
    *text += &escape(arch);
    for feature in features {
        text.push(':');
        *text += &escape(feature);
    }
    if text.len() == start {
        *text += "unknown";
    }
    if image.is_host {
        *text += " (host)";
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
