//! Rows of a tree on their way to standard output.

use std::borrow::Cow;

use offkit_object::{DeviceImage, Location, Producer, Storage, target_of};

use crate::failure::Failure;
use crate::terminal::{Output, Styles, escape, size};

/// A line of the tree, with lines that belong to it.
pub(super) struct Row {
    pub(super) depth: usize,
    pub(super) content: Content,
    pub(super) below: Vec<String>,
}

pub(super) enum Content {
    Text(String),
    Image(Columns),
}

/// What the row of an image says.
pub(super) struct Columns {
    place: String,
    format: &'static str,
    target: String,
    size: String,
    /// How it is stored, if that is worth a word.
    note: String,
}

impl Columns {
    /// The row of an image; so many parts of its location are `said` by the rows above.
    pub(super) fn new(image: &DeviceImage<'_>, said: usize) -> Self {
        let place = match path(&image.location, said) {
            path if path.is_empty() => "(the file itself)".to_owned(),
            path => path,
        };
        // A listing decompresses nothing: the container's word has to do.
        let target = match image.code.at_hand() {
            Some(_) => Cow::Owned(target_of(image)),
            None => Cow::Borrowed(&image.target),
        };
        let mut target = escape(&target.to_string()).into_owned();
        if image.producer == Producer::Host {
            target += " (host)";
        }
        let note = match image.storage() {
            Storage::Plain => String::new(),
            Storage::Compressed(method) => {
                format!("{method}, {} stored", size(image.stored_bytes().len() as u64))
            }
            Storage::Within(method) => format!("in {method}"),
        };
        Self {
            place,
            format: image.format.name(),
            target,
            size: size(image.size()),
            note,
        }
    }
}

/// The parts of a location but for the first `said`, as a path that may be shown.
pub(super) fn path(location: &Location, said: usize) -> String {
    let mut path = String::new();
    for (number, part) in location.parts().skip(said).enumerate() {
        if number > 0 {
            path.push('/');
        }
        path += &escape(&part);
    }
    path
}

/// Rows that are put out together, so that their columns stand in line.
///
/// A group is enough for that, and memory does not grow with the number of images.
pub(super) struct Rows {
    output: Output,
    rows: Vec<Row>,
}

impl Rows {
    /// How many are put out together.
    const TOGETHER: usize = 1024;

    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            rows: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn push(&mut self, row: Row) -> Result<(), Failure> {
        if self.rows.len() >= Self::TOGETHER {
            self.put_out(Some(row.depth))?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Puts out what is left and gives the output back.
    pub(super) fn finish(mut self) -> Result<Output, Failure> {
        self.put_out(None)?;
        Ok(self.output)
    }

    /// Writes the rows; `next` is the depth of the row that comes after them.
    fn put_out(&mut self, next: Option<usize>) -> Result<(), Failure> {
        let Styles { faint, name, .. } = self.output.styles();
        let widths = Widths::of(&self.rows);
        let branches = branches(&self.rows, next);
        let mut text = String::new();
        for (row, branch) in self.rows.drain(..).zip(branches) {
            text.extend([faint.start, &branch.bars, branch.fork, faint.end]);
            match &row.content {
                Content::Text(line) => text += line,
                Content::Image(columns) => {
                    text += name.start;
                    push_padded(&mut text, &columns.place, widths.place);
                    text.extend([name.end, "  "]);
                    push_padded(&mut text, columns.format, widths.format);
                    text += "  ";
                    push_padded(&mut text, &columns.target, widths.target);
                    text += "  ";
                    push_spaces(&mut text, widths.size - columns.size.len());
                    text += &columns.size;
                    if !columns.note.is_empty() {
                        text.extend(["  ", faint.start, &columns.note, faint.end]);
                    }
                }
            }
            text.push('\n');
            for line in &row.below {
                text.extend([
                    faint.start,
                    &branch.bars,
                    branch.under,
                    "    ",
                    faint.end,
                    line,
                    "\n",
                ]);
            }
        }
        self.output.lines(&text)
    }
}

/// Adds a text, and spaces until so many columns are full.
fn push_padded(text: &mut String, cell: &str, width: usize) {
    *text += cell;
    push_spaces(text, width - cell.chars().count());
}

fn push_spaces(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}

/// How wide the columns of a group are.
#[derive(Default)]
struct Widths {
    place: usize,
    format: usize,
    target: usize,
    size: usize,
}

impl Widths {
    fn of(rows: &[Row]) -> Self {
        let mut widths = Self::default();
        for row in rows {
            if let Content::Image(columns) = &row.content {
                widths.place = widths.place.max(columns.place.chars().count());
                widths.format = widths.format.max(columns.format.len());
                widths.target = widths.target.max(columns.target.chars().count());
                widths.size = widths.size.max(columns.size.len());
            }
        }
        widths
    }
}

/// What stands before a row.
struct Branch {
    /// The lines of the levels around it.
    bars: String,
    /// Where its own level leads to it.
    fork: &'static str,
    /// How its own level goes on below it.
    under: &'static str,
}

/// The lines of the tree, drawn from the last row up: a row is the last one of its level unless another one
/// comes before the level ends. `next` is the depth of the row that comes after these.
fn branches(rows: &[Row], next: Option<usize>) -> Vec<Branch> {
    let mut goes_on = vec![true; next.map_or(0, |depth| depth + 1)];
    let mut branches: Vec<_> = rows
        .iter()
        .rev()
        .map(|row| {
            let is_last = !goes_on.get(row.depth).copied().unwrap_or(false);
            goes_on.resize(row.depth + 1, false);
            goes_on[row.depth] = true;
            let around = goes_on[..row.depth].iter().skip(1);
            let bars = around.map(|goes_on| if *goes_on { "│   " } else { "    " });
            let (fork, under) = match (row.depth, is_last) {
                (0, _) => ("", ""),
                (_, true) => ("└── ", "    "),
                (_, false) => ("├── ", "│   "),
            };
            Branch {
                bars: bars.collect(),
                fork,
                under,
            }
        })
        .collect();
    branches.reverse();
    branches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_end_where_their_level_does() {
        let rows = [0, 1, 2, 2, 1, 2].map(|depth| Row {
            depth,
            content: Content::Text(String::new()),
            below: Vec::new(),
        });
        let drawn: Vec<_> = branches(&rows, None)
            .into_iter()
            .map(|branch| branch.bars + branch.fork)
            .collect();
        let expected = ["", "├── ", "│   ├── ", "│   └── ", "└── ", "    └── "];
        assert_eq!(drawn, expected);
    }
}
