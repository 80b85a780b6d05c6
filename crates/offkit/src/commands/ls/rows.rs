//! Rows of a tree on their way to standard output.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use offkit_object::{DeviceImage, ImageFormat, Location, Storage, Target, target_of};

use super::sums::{Sum, Sums};
use crate::failure::Failure;
use crate::terminal::{Output, Styles, escape, is_plain, push_size, size};

/// A line of the tree, with lines that belong to it.
pub(super) struct Row {
    pub(super) depth: usize,
    pub(super) content: Content,
    pub(super) below: Box<[String]>,
}

pub(super) enum Content {
    Text(String),
    Image(Listed),
}

/// What the row of an image says, as the walk has it: the thread that puts it out makes it text.
pub(super) struct Listed {
    /// How many bytes its place has in [`Group::places`].
    place: usize,
    format: ImageFormat,
    /// The number of its target in [`Group::targets`].
    target: usize,
    size: u64,
    stored: u64,
    is_host_entry: bool,
    /// How it is stored, if that is worth a word.
    note: Option<Box<str>>,
}

impl Listed {
    /// What is said behind the target.
    fn host_word(&self) -> &'static str {
        match self.is_host_entry {
            false => "",
            true => " (host)",
        }
    }

    /// What it takes; `None` for what is the host's.
    fn sum(&self) -> Option<Sum> {
        (!self.is_host_entry).then(|| Sum::of_one(self.format, self.size, self.stored))
    }
}

/// The parts of a location but for the first `said`, as a path that may be shown.
pub(super) fn path(location: &Location, said: usize) -> String {
    let mut path = String::new();
    push_shown(&mut path, written(location, said));
    path
}

/// The parts of a location but for the first `said`, as they are written.
fn written(location: &Location, said: usize) -> &str {
    // A `/` in a part is written in another way.
    match said {
        0 => location.path(),
        said => location
            .path()
            .splitn(said + 1, '/')
            .nth(said)
            .unwrap_or_default(),
    }
}

/// Whether all parts are shown as they are written.
fn is_shown_as_written(path: &str) -> bool {
    // Nearly all are, and without a way out in the middle several bytes are looked at together.
    let is_so = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'%';
    path.bytes().fold(true, |all, byte| all & is_so(byte))
}

fn push_shown(text: &mut String, path: &str) {
    if is_shown_as_written(path) {
        text.push_str(path);
        return;
    }
    for (number, part) in Location::parts_of(path).enumerate() {
        if number > 0 {
            text.push('/');
        }
        text.push_str(&escape(&part));
    }
}

/// Rows that are put out in groups, so that their columns stand in line.
///
/// A group is enough for that, and memory does not grow with the number of images.
pub(super) struct Rows {
    group: Group,
    /// What puts them out, unless a thread has it.
    printer: Option<Printer>,
    writer: Option<Writer>,
    is_empty: bool,
}

impl Rows {
    /// How many are put out together.
    const TOGETHER: usize = 1024;

    pub(super) fn new(output: Output) -> Self {
        Self {
            group: Group::default(),
            printer: Some(Printer {
                output,
                sums: Sums::default(),
            }),
            writer: None,
            is_empty: true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub(super) fn push(&mut self, row: Row) {
        self.make_room(row.depth);
        self.group.rows.push(row);
    }

    /// Adds the row of an image; so many parts of its location are `said` by the rows above. The target is the image's own
    /// word, if it was asked.
    pub(super) fn push_image(
        &mut self,
        image: &DeviceImage<'_>,
        depth: usize,
        said: usize,
        target: Option<Target>,
        below: Box<[String]>,
    ) {
        self.make_room(depth);
        let places = &mut self.group.places;
        let start = places.len();
        places.push_str(written(&image.location, said));
        if places.len() == start {
            places.push_str("(the file itself)");
        }
        let place = places.len() - start;
        let target = match &target {
            Some(target) => Cow::Borrowed(target),
            None if image.code.at_hand().is_some() => target_of(image),
            // A listing decompresses nothing: the container's word has to do.
            None => Cow::Borrowed(&image.target),
        };
        let listed = Listed {
            place,
            format: image.format,
            target: self.group.targets.number_of(&target),
            size: image.size(),
            stored: image.stored_bytes().len() as u64,
            is_host_entry: image.is_host_entry(),
            note: note(image),
        };
        self.group.rows.push(Row {
            depth,
            content: Content::Image(listed),
            below,
        });
    }

    /// Puts out what is left; gives back the output, and what the images of the rows come to.
    pub(super) fn finish(self) -> Result<(Output, Sums), Failure> {
        let Printer { output, sums } = match (self.writer, self.printer) {
            (Some(writer), _) => writer.finish(self.group)?,
            (None, Some(mut printer)) => {
                printer.put_out(self.group, None)?;
                printer
            }
            (None, None) => unreachable!("a writer was made with the printer"),
        };
        Ok((output, sums))
    }

    /// Makes room for a row of depth `next`.
    fn make_room(&mut self, next: usize) {
        self.is_empty = false;
        if self.group.rows.len() < Self::TOGETHER {
            return;
        }
        if let Some(printer) = self.printer.take() {
            self.writer = Some(Writer::new(printer));
        }
        if let Some(writer) = &self.writer {
            let empty = self.group.empty_of_this_size();
            writer.put_out(std::mem::replace(&mut self.group, empty), Some(next));
        }
    }
}

/// Makes groups text, puts them out, and counts their images.
struct Printer {
    output: Output,
    sums: Sums,
}

impl Printer {
    fn put_out(&mut self, mut group: Group, next: Option<usize>) -> Result<(), Failure> {
        // Done here, where rows are at hand anyway, and not by the walk, which others wait for.
        self.count(&group);
        group.show_places();
        self.output.lines(&group.text(next, self.output.styles()))
    }

    /// Counts the images of a group: by the numbers of their targets first, since those with one target have one format as a
    /// rule.
    fn count(&mut self, group: &Group) {
        let mut sums = vec![None::<Sum>; group.targets.known.len()];
        for row in &group.rows {
            let Content::Image(listed) = &row.content else {
                continue;
            };
            let Some(sum) = listed.sum() else { continue };
            match &mut sums[listed.target] {
                Some(all) if all.is_of_format(&sum) => all.add(sum),
                Some(_) => self.sums.add(group.targets.get(listed.target), Some(sum)),
                none => *none = Some(sum),
            }
        }
        for (target, sum) in group.targets.known.iter().zip(sums) {
            self.sums.add(target, sum);
        }
    }
}

/// A thread that makes groups text and puts them out, for lists of more than one: with it, 100,000 images take 0.7 of
/// the time (40 ms instead of 57 when it was tried, without the program's start, beside 730 to 870 of `llvm-objdump`, and
/// the bar is 20 times as fast).
struct Writer {
    groups: SyncSender<(Group, Option<usize>)>,
    thread: JoinHandle<Result<Printer, Failure>>,
}

impl Writer {
    fn new(mut printer: Printer) -> Self {
        // Bounded: where the reader is slow, the walk waits instead of piling up groups.
        let (groups, received) = sync_channel::<(Group, _)>(2);
        let thread = thread::spawn(move || {
            for (group, next) in received {
                printer.put_out(group, next)?;
            }
            Ok(printer)
        });
        Self { groups, thread }
    }

    fn put_out(&self, group: Group, next: Option<usize>) {
        // It fails where the thread could not write, which the end tells.
        let _ = self.groups.send((group, next));
    }

    fn finish(self, last: Group) -> Result<Printer, Failure> {
        self.put_out(last, None);
        drop(self.groups);
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Rows that are put out together.
#[derive(Default)]
struct Group {
    rows: Vec<Row>,
    /// The places of the rows' images, end to end, as they are written until they are shown: with a text for each, which one
    /// thread takes from memory and the other gives back, 100,000 images take 1.5 times the time (60 ms instead of 40: 13
    /// times as fast as `llvm-objdump` instead of 20).
    places: String,
    targets: Targets,
}

/// What the images of a group are for: a few devices as a rule, whose names are made once for a group. With a target and its
/// name for each row, the thread that puts them out runs 1,520 instructions for an image instead of 1,120.
#[derive(Default)]
struct Targets {
    known: Vec<Target>,
    /// The number that is tried first: images for several devices take turns.
    next: usize,
}

impl Targets {
    /// How many are looked through for each image. What is not found is there twice.
    const RECENT: usize = 16;

    fn number_of(&mut self, target: &Target) -> usize {
        let first = self.known.len().saturating_sub(Self::RECENT);
        let number = std::iter::once(self.next)
            .chain(first..self.known.len())
            .find(|number| self.known.get(*number) == Some(target));
        let number = number.unwrap_or_else(|| {
            self.known.push(target.clone());
            self.known.len() - 1
        });
        self.next = number + 1;
        number
    }

    fn get(&self, number: usize) -> &Target {
        &self.known[number]
    }

    /// As they may be shown.
    fn names(&self) -> Vec<Name> {
        let names = self.known.iter().map(|target| {
            let text = escape(&target.to_string()).into_owned();
            Name {
                width: width(&text),
                text,
            }
        });
        names.collect()
    }
}

/// A text that may be shown, and how many columns it fills.
struct Name {
    text: String,
    width: usize,
}

impl Group {
    /// A group with room for as much.
    fn empty_of_this_size(&self) -> Self {
        Self {
            rows: Vec::with_capacity(self.rows.len()),
            places: String::with_capacity(self.places.len()),
            targets: Targets::default(),
        }
    }

    /// Makes the places such as may be shown.
    fn show_places(&mut self) {
        // All at once: without a way out in the middle several bytes are looked at together.
        if is_shown_as_written(&self.places) {
            return;
        }
        let written = std::mem::take(&mut self.places);
        let mut written = written.as_str();
        for row in &mut self.rows {
            if let Content::Image(listed) = &mut row.content {
                let (place, rest) = written.split_at(listed.place);
                written = rest;
                let start = self.places.len();
                push_shown(&mut self.places, place);
                listed.place = self.places.len() - start;
            }
        }
    }

    /// The rows as text; `next` is the depth of the row that comes after them.
    fn text(self, next: Option<usize>, Styles { faint, name, .. }: Styles) -> String {
        let names = self.targets.names();
        let Cells {
            text: cells,
            columns,
            widths,
        } = Cells::of(&self, &names);
        let branches = branches(&self.rows, next);
        let mut text = String::with_capacity(self.places.len() + cells.len() + 64 * self.rows.len());
        let mut columns = columns.into_iter();
        let (mut places, mut cells) = (self.places.as_str(), cells.as_str());
        for (row, branch) in self.rows.into_iter().zip(branches) {
            text.extend([faint.start, &branch.bars, branch.fork, faint.end]);
            match row.content {
                Content::Text(line) => text += &line,
                Content::Image(listed) => {
                    let Columns { place, size } = columns.next().unwrap_or_default();
                    let target = &names[listed.target];
                    text += name.start;
                    text += take_from(&mut places, listed.place);
                    text += name.end;
                    // No difference is negative: widths are the largest among these very rows.
                    push_spaces(&mut text, widths.place - place + 2);
                    let format = listed.format.name();
                    text += format;
                    push_spaces(&mut text, widths.format - format.len() + 2);
                    text += &target.text;
                    text += listed.host_word();
                    push_spaces(
                        &mut text,
                        widths.target - target.width - listed.host_word().len() + 2,
                    );
                    push_spaces(&mut text, widths.size - size);
                    text += take_from(&mut cells, size);
                    if let Some(note) = listed.note {
                        text.extend(["  ", faint.start, &note, faint.end]);
                    }
                }
            }
            text.push('\n');
            for line in row.below {
                text.extend([
                    faint.start,
                    &branch.bars,
                    branch.under,
                    "    ",
                    faint.end,
                    &line,
                    "\n",
                ]);
            }
        }
        text
    }
}

/// The cells of the images in a group.
#[derive(Default)]
struct Cells {
    /// The texts of their sizes, end to end.
    text: String,
    columns: Vec<Columns>,
    widths: Widths,
}

/// How many columns the cells of one image fill.
#[derive(Clone, Copy, Default)]
struct Columns {
    place: usize,
    /// The bytes of its text as well, which is plain.
    size: usize,
}

impl Cells {
    fn of(group: &Group, targets: &[Name]) -> Self {
        let mut cells = Self::default();
        cells.columns.reserve(group.rows.len());
        let mut places = group.places.as_str();
        let are_plain = is_plain(places);
        for row in &group.rows {
            if let Content::Image(listed) = &row.content {
                let place = take_from(&mut places, listed.place);
                let place = match are_plain {
                    true => place.len(),
                    false => width(place),
                };
                cells.add(listed, place, targets[listed.target].width);
            }
        }
        cells
    }

    fn add(&mut self, listed: &Listed, place: usize, target: usize) {
        let start = self.text.len();
        push_size(&mut self.text, listed.size);
        let columns = Columns {
            place,
            size: self.text.len() - start,
        };
        let widths = &mut self.widths;
        widths.place = widths.place.max(columns.place);
        widths.format = widths.format.max(listed.format.name().len());
        widths.target = widths.target.max(target + listed.host_word().len());
        widths.size = widths.size.max(columns.size);
        self.columns.push(columns);
    }
}

/// How many columns a text fills that may be shown.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// The first of texts that follow each other, which has so many bytes.
fn take_from<'text>(texts: &mut &'text str, bytes: usize) -> &'text str {
    let (text, rest) = texts.split_at(bytes);
    *texts = rest;
    text
}

/// How an image is stored, if that is worth a word.
fn note(image: &DeviceImage<'_>) -> Option<Box<str>> {
    let note = match image.storage() {
        Storage::Plain => return None,
        Storage::Compressed(method) => {
            let stored = size(image.stored_bytes().len() as u64);
            format!("{method}, {stored} stored")
        }
        Storage::Within(method) => format!("in {method}"),
    };
    Some(note.into())
}

fn push_spaces(text: &mut String, mut count: usize) {
    const SPACES: &str = "                                ";
    while count > 0 {
        let some = count.min(SPACES.len());
        *text += &SPACES[..some];
        count -= some;
    }
}

/// How wide the columns of a group are.
#[derive(Default)]
struct Widths {
    place: usize,
    format: usize,
    target: usize,
    size: usize,
}

/// What stands before a row.
struct Branch {
    /// The lines of the levels around it: the same for many rows.
    bars: Rc<str>,
    /// Where its own level leads to it.
    fork: &'static str,
    /// How its own level goes on below it.
    under: &'static str,
}

/// The lines of the tree, drawn from the last row up: a row is the last one of its level unless another one
/// comes before the level ends. `next` is the depth of the row that comes after these.
fn branches(rows: &[Row], next: Option<usize>) -> Vec<Branch> {
    let mut goes_on = vec![true; next.map_or(0, |depth| depth + 1)];
    let mut last: (Vec<bool>, Rc<str>) = Default::default();
    let mut branches: Vec<_> = rows
        .iter()
        .rev()
        .map(|row| {
            let is_last = !goes_on.get(row.depth).copied().unwrap_or(false);
            goes_on.resize(row.depth + 1, false);
            goes_on[row.depth] = true;
            // Files at the edge have no bar beside them: the first level is left out.
            let around = goes_on[..row.depth].get(1..).unwrap_or_default();
            if around != last.0 {
                let bars = around
                    .iter()
                    .map(|goes_on| if *goes_on { "│   " } else { "    " });
                last = (around.to_vec(), bars.collect::<String>().into());
            }
            let (fork, under) = match (row.depth, is_last) {
                (0, _) => ("", ""),
                (_, true) => ("└── ", "    "),
                (_, false) => ("├── ", "│   "),
            };
            Branch {
                bars: Rc::clone(&last.1),
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
            below: Box::default(),
        });
        let drawn: Vec<_> = branches(&rows, None)
            .into_iter()
            .map(|branch| branch.bars.to_string() + branch.fork)
            .collect();
        let expected = ["", "├── ", "│   ├── ", "│   └── ", "└── ", "    └── "];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn every_row_keeps_its_target_and_few_are_kept_once() {
        let target = |number: usize| Target::new("amdgcn-amd-amdhsa", &format!("gfx{number}"));
        for (count, known) in [(8, 8), (40, 80)] {
            let mut targets = Targets::default();
            for number in (0..count).chain(0..count) {
                let kept = targets.number_of(&target(number));
                assert_eq!(targets.get(kept), &target(number));
            }
            assert_eq!(targets.known.len(), known);
        }
    }
}
