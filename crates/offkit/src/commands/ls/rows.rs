//! Rows of a tree on their way to standard output.

use std::ops::Range;

use offkit_object::{Location, Target};

use super::describe::Describer;
use super::lister::{Details, FoundImage};
use crate::failure::Failure;
use crate::terminal::{Output, Styles, escape, push_size};

/// A line of the tree, with lines that belong to it.
pub(super) struct Row {
    pub(super) depth: usize,
    pub(super) content: Content,
}

pub(super) enum Content {
    Text { text: String, below: Vec<String> },
    Image(ImageRow),
}

pub(super) struct ImageRow {
    pub(super) image: FoundImage,
    /// How many parts of the location are said by the rows above.
    pub(super) inside: usize,
}

/// Rows that are put out together, so that their columns stand in line.
pub(super) struct Group<'a> {
    pub(super) rows: &'a [Row],
    /// The depth of the row that comes next.
    pub(super) next: Option<usize>,
}

impl Row {
    pub(super) fn text(depth: usize, text: String) -> Self {
        Self {
            depth,
            content: Content::Text {
                text,
                below: Vec::new(),
            },
        }
    }
}

impl Group<'_> {
    /// Writes the rows.
    pub(super) fn put_out(&self, output: &mut Output, describer: Describer) -> Result<(), Failure> {
        let Styles { faint, name, .. } = output.styles();
        let mut widths = Widths::default();
        let mut said = String::new();
        let columns: Vec<_> = self
            .rows
            .iter()
            .map(|row| Columns::of(&row.content, &mut said, &mut widths))
            .collect();
        let drawn = branches(self);
        let mut text = String::new();
        for ((row, columns), branch) in self.rows.iter().zip(columns).zip(drawn.branches) {
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
                Content::Image(ImageRow { image, .. }) => match image.more.as_deref() {
                    None => &[],
                    Some(more) => {
                        described = match &more.details {
                            Details::Described(described) => describer.lines(described, row.depth),
                            Details::Inside(image) => describer.lines(&describer.look_into(image), row.depth),
                        };
                        &described
                    }
                },
            };
            if let Some(columns) = columns {
                text += name.start;
                left(&mut text, &said[columns.place], widths.place);
                text.extend([name.end, "  "]);
                left(&mut text, columns.image.format.name(), widths.format);
                text += "  ";
                left(&mut text, &said[columns.target], widths.target);
                pad(&mut text, widths.size + 2 - columns.size.len());
                text += &said[columns.size];
                if let Some(more) = columns.image.more.as_deref().filter(|more| !more.note.is_empty()) {
                    text.extend(["  ", faint.start, &more.note, faint.end]);
                }
            }
            text.push('\n');
            for line in below {
                text.extend([faint.start, bars, under, "    ", faint.end, line, "\n"]);
            }
        }
        output.lines(&text)
    }
}

/// What the row of an image says: ranges of one text, for there may be very many.
struct Columns<'a> {
    place: Range<usize>,
    target: Range<usize>,
    size: Range<usize>,
    image: &'a FoundImage,
}

impl<'a> Columns<'a> {
    fn of(content: &'a Content, said: &mut String, widths: &mut Widths) -> Option<Self> {
        let Content::Image(ImageRow { image, inside }) = content else {
            return None;
        };
        let start = said.len();
        push_path(said, &image.location, *inside);
        if said.len() == start {
            *said += "(the file itself)";
        }
        let place = start..said.len();
        push_target(said, image);
        let target = place.end..said.len();
        push_size(said, image.size);
        let size = target.end..said.len();
        widths.place = widths.place.max(width(&said[place.clone()]));
        widths.format = widths.format.max(image.format.name().len());
        widths.target = widths.target.max(width(&said[target.clone()]));
        widths.size = widths.size.max(size.len());
        Some(Self {
            place,
            target,
            size,
            image,
        })
    }
}

/// A column that begins on the left.
fn left(text: &mut String, column: &str, width: usize) {
    *text += column;
    pad(text, width.saturating_sub(self::width(column)));
}

fn pad(text: &mut String, mut spaces: usize) {
    const SPACES: &str = "                                ";
    while spaces > SPACES.len() {
        *text += SPACES;
        spaces -= SPACES.len();
    }
    *text += &SPACES[..spaces];
}

fn width(column: &str) -> usize {
    match column.is_ascii() {
        true => column.len(),
        false => column.chars().count(),
    }
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
fn branches(group: &Group<'_>) -> Drawn {
    let mut goes_on = vec![true; group.next.map_or(0, |depth| depth + 1)];
    let mut bars = String::new();
    let mut branches = Vec::with_capacity(group.rows.len());
    for row in group.rows.iter().rev() {
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
        let rows = [0, 1, 2, 2, 1, 2].map(|depth| Row::text(depth, String::new()));
        let group = Group {
            rows: &rows,
            next: None,
        };
        let Drawn { bars, branches } = branches(&group);
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
