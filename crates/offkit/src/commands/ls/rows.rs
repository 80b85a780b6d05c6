//! Rows of a tree on their way to standard output.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use offkit_object::{Location, Target};

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
    Image(ImageRow),
}

/// An image as it is listed; what it looks like is worked out when it is put out.
pub(super) struct ImageRow {
    pub(super) location: Location,
    /// How many parts of the location are said by the rows above.
    pub(super) inside: usize,
    pub(super) format: &'static str,
    pub(super) target: Target,
    pub(super) is_host: bool,
    pub(super) size: u64,
    /// How it is stored.
    pub(super) note: String,
}

/// Rows that are put out together, so that their columns stand in line.
pub(super) struct Group {
    pub(super) rows: Vec<Row>,
    /// The depth of the row that comes next.
    pub(super) next: Option<usize>,
}

impl Row {
    pub(super) fn text(depth: usize, text: String) -> Self {
        Self {
            depth,
            content: Content::Text(text),
            below: Vec::new(),
        }
    }
}

/// Puts rows out: from the second group on, on another core than the one which looks for images.
pub(super) enum Printer {
    Here(Output),
    Thread(Thread),
    /// Put out as far as it went.
    Broken,
}

pub(super) struct Thread {
    sender: SyncSender<Group>,
    handle: JoinHandle<Result<Output, Failure>>,
}

impl Printer {
    /// Puts a group out, now or soon.
    pub(super) fn print(self, group: Group) -> Result<Self, Failure> {
        match self {
            Self::Here(mut output) if group.next.is_none() => {
                put_out(&mut output, &group)?;
                Ok(Self::Here(output))
            }
            Self::Here(output) => Self::Thread(Thread::start(output)).print(group),
            Self::Thread(thread) => match thread.sender.send(group) {
                Ok(()) => Ok(Self::Thread(thread)),
                // It ended early, and knows why.
                Err(_) => thread.end().map(Self::Here),
            },
            Self::Broken => Ok(Self::Broken),
        }
    }

    /// The output, once all groups are put out.
    pub(super) fn output(self) -> Result<Option<Output>, Failure> {
        match self {
            Self::Here(output) => Ok(Some(output)),
            Self::Thread(thread) => thread.end().map(Some),
            Self::Broken => Ok(None),
        }
    }
}

impl Thread {
    /// Groups that may wait: enough for neither side to stand still.
    const WAITING: usize = 4;

    fn start(mut output: Output) -> Self {
        let (sender, receiver) = sync_channel::<Group>(Self::WAITING);
        let handle = std::thread::spawn(move || {
            for group in receiver {
                put_out(&mut output, &group)?;
            }
            Ok(output)
        });
        Self { sender, handle }
    }

    fn end(self) -> Result<Output, Failure> {
        drop(self.sender);
        match self.handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Writes a group.
fn put_out(output: &mut Output, group: &Group) -> Result<(), Failure> {
    let Styles { faint, name, .. } = output.styles();
    let columns: Vec<_> = group.rows.iter().map(|row| Columns::of(&row.content)).collect();
    let mut widths = Widths::default();
    for columns in columns.iter().flatten() {
        widths.fit(columns);
    }
    let (faint, plain) = (faint.render().to_string(), faint.render_reset().to_string());
    let (name, name_end) = (name.render().to_string(), name.render_reset().to_string());
    let mut text = String::new();
    for ((row, columns), Branch { bars, is_last }) in group.rows.iter().zip(columns).zip(branches(group)) {
        let (fork, under) = match (row.depth, is_last) {
            (0, _) => ("", ""),
            (_, true) => ("└── ", "    "),
            (_, false) => ("├── ", "│   "),
        };
        text.extend([&faint, bars.as_str(), fork, &plain]);
        if let Content::Text(line) = &row.content {
            text += line;
        }
        if let Some(columns) = columns {
            text += &name;
            left(&mut text, &columns.place, widths.place);
            text.extend([&name_end, "  "]);
            left(&mut text, columns.format, widths.format);
            text += "  ";
            left(&mut text, &columns.target, widths.target);
            text.extend(std::iter::repeat_n(' ', widths.size + 2 - columns.size.len()));
            text += &columns.size;
            if !columns.note.is_empty() {
                text.extend(["  ", &faint, columns.note, &plain]);
            }
        }
        text.push('\n');
        for line in &row.below {
            text.extend([&faint, bars.as_str(), under, "    ", &plain, line, "\n"]);
        }
    }
    output.lines(&text)
}

/// What the row of an image says.
struct Columns<'a> {
    place: String,
    format: &'static str,
    target: String,
    size: String,
    note: &'a str,
}

impl<'a> Columns<'a> {
    fn of(content: &'a Content) -> Option<Self> {
        let Content::Image(image) = content else {
            return None;
        };
        Some(Self {
            place: match image.location.parts().get(image.inside..) {
                None | Some([]) => "(the file itself)".to_owned(),
                Some(parts) => path(parts),
            },
            format: image.format,
            target: target(image),
            size: size(image.size),
            note: &image.note,
        })
    }
}

/// A column that begins on the left.
fn left(text: &mut String, column: &str, width: usize) {
    *text += column;
    text.extend(std::iter::repeat_n(
        ' ',
        width.saturating_sub(self::width(column)),
    ));
}

fn width(column: &str) -> usize {
    match column.is_ascii() {
        true => column.len(),
        false => column.chars().count(),
    }
}

/// What stands before a row.
struct Branch {
    bars: String,
    is_last: bool,
}

/// The lines of the tree, drawn from the last row up: a row is the last one of its level unless another one
/// comes before the level ends.
fn branches(group: &Group) -> Vec<Branch> {
    let mut goes_on = vec![true; group.next.map_or(0, |depth| depth + 1)];
    let mut branches: Vec<_> = group
        .rows
        .iter()
        .rev()
        .map(|row| {
            let is_last = !goes_on.get(row.depth).copied().unwrap_or(false);
            goes_on.resize(row.depth + 1, false);
            goes_on[row.depth] = true;
            let bars = goes_on[..row.depth]
                .iter()
                .skip(1)
                .map(|goes_on| if *goes_on { "│   " } else { "    " });
            Branch {
                bars: bars.collect(),
                is_last,
            }
        })
        .collect();
    branches.reverse();
    branches
}

#[derive(Clone, Copy, Default)]
struct Widths {
    place: usize,
    format: usize,
    target: usize,
    size: usize,
}

impl Widths {
    fn fit(&mut self, columns: &Columns<'_>) {
        self.place = self.place.max(width(&columns.place));
        self.format = self.format.max(columns.format.len());
        self.target = self.target.max(width(&columns.target));
        self.size = self.size.max(columns.size.len());
    }
}

/// Parts of a location as they are shown.
pub(super) fn path(parts: &[String]) -> String {
    let mut path = String::with_capacity(16);
    for part in parts {
        if !path.is_empty() {
            path.push('/');
        }
        path += &escape(part);
    }
    path
}

fn target(image: &ImageRow) -> String {
    let Target {
        triple,
        arch,
        features,
    } = &image.target;
    let mut text = String::with_capacity(triple.len() + arch.len() + 1);
    text += &escape(triple);
    if !triple.is_empty() && !arch.is_empty() {
        text.push('-');
    }
    text += &escape(arch);
    for feature in features {
        text.push(':');
        text += &escape(feature);
    }
    if text.is_empty() {
        text += "unknown";
    }
    if image.is_host {
        text += " (host)";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_end_where_their_level_does() {
        let rows = [0, 1, 2, 2, 1, 2].map(|depth| Row::text(depth, String::new()));
        let group = Group {
            rows: rows.into(),
            next: None,
        };
        let drawn: Vec<_> = branches(&group)
            .into_iter()
            .map(|branch| (branch.bars, branch.is_last))
            .collect();
        let expected = [
            ("", true),
            ("", false),
            ("│   ", false),
            ("│   ", true),
            ("", true),
            ("    ", true),
        ];
        assert_eq!(drawn, expected.map(|(bars, last)| (bars.to_owned(), last)));
    }
}
