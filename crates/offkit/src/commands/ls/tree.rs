//! The listing that people read: a tree of files and the images in them.

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{
    Container, ContainerKind, DeviceImage, Limits, Location, Producer, Program, Storage, Symbols,
};
use offkit_runtime::Description;

use super::json::{hex, is_readable};
use super::rows::{Content, Group, ImageRow, Printer, Row, push_path};
use crate::cli::Ls;
use crate::commands::shown_name;
use crate::failure::Failure;
use crate::terminal::{Output, Styles, columns, escape, is_terminal, size};

/// How many names of one kind are shown.
const NAMES_SHOWN: usize = 8;
/// How many images of one file are shown on a terminal.
const IMAGES_SHOWN: usize = 200;
/// How many images are looked into for names without being asked.
const IMAGES_DESCRIBED: usize = 256;
/// Rows that are put out together, so that their columns stand in line.
const ROWS_TOGETHER: usize = 1024;

/// A tree on its way out.
///
/// Rows are held back and put out in groups: a group is enough for columns to stand in line, and memory does
/// not grow with the number of images.
pub(super) struct Tree<'a> {
    options: &'a Ls,
    printer: Printer,
    styles: Styles,
    file: Location,
    size: u64,
    /// The containers that the next image is in, outermost first.
    containers: Vec<Level>,
    rows: Vec<Row>,
    images: usize,
    bytes: u64,
    /// The most images shown of one file.
    most: usize,
    /// The columns of the terminal; very many where there is none.
    columns: usize,
}

/// A container that is being listed.
struct Level {
    location: Location,
    kind: ContainerKind,
    /// What is written above its images, if it is a file; `None` once it was said.
    heading: Option<Row>,
    /// How far its images are indented.
    depth: usize,
    /// The images in it that were shown, and those that were too many.
    shown: usize,
    hidden: usize,
}

impl<'a> Tree<'a> {
    pub(super) fn new(options: &'a Ls, output: Output, file: &str, bytes: usize) -> Self {
        Self {
            options,
            styles: output.styles(),
            printer: Printer::Here(output),
            file: Location::of_file(file),
            size: bytes as u64,
            containers: Vec::new(),
            rows: Vec::new(),
            images: 0,
            bytes: 0,
            most: if options.all || !is_terminal() {
                usize::MAX
            } else {
                IMAGES_SHOWN
            },
            columns: columns(),
        }
    }

    /// Notes that a container begins.
    pub(super) fn container(&mut self, container: &Container) -> Result<(), Failure> {
        self.leave_for(&container.location)?;
        let parent = self.containers.last();
        let depth = parent.map_or(0, |parent| parent.depth);
        let is_file =
            parent.is_none_or(|parent| matches!(parent.kind, ContainerKind::Archive | ContainerKind::Zip));
        let heading =
            is_file.then(|| self.heading(&container.location, container.size, Some(container), depth));
        self.containers.push(Level {
            location: container.location.clone(),
            kind: container.kind,
            depth: depth + usize::from(is_file),
            heading,
            shown: 0,
            hidden: 0,
        });
        Ok(())
    }

    /// Adds an image; its location and target are taken from it.
    pub(super) fn image(&mut self, image: &mut DeviceImage<'_>) -> Result<(), Failure> {
        self.leave_for(&image.location)?;
        self.images += 1;
        self.bytes += image.bytes.len() as u64;
        self.say_headings();
        // The file that the image is in is the last level that has a heading of its own.
        let depth = self.containers.last().map_or(1, |level| level.depth);
        let file = self.containers.iter_mut().find(|level| level.depth == depth);
        let inside = match file {
            Some(file) if file.shown >= self.most => {
                file.hidden += 1;
                return Ok(());
            }
            Some(file) => {
                file.shown += 1;
                file.location.depth()
            }
            None => 0,
        };
        let row = self.row(image, depth, inside);
        self.rows.push(row);
        Ok(())
    }

    /// Ends the listing.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let Styles { faint, .. } = self.styles;
        if self.images == 0 {
            self.containers.truncate(1);
            self.say_headings();
        }
        self.leave_for(&Location::default())?;
        self.put_out(0)?;
        let Some(mut output) = self.printer.output()? else {
            return Ok(());
        };
        match self.images {
            0 if self.options.filter.accepts_all() => {
                output.line(format_args!("{faint}no device code inside{faint:#}"))?;
            }
            0 => output.line(format_args!("{faint}no image fits the options{faint:#}"))?,
            1 => {}
            images => output.line(format_args!(
                "{faint}{images} images, {}{faint:#}",
                size(self.bytes)
            ))?,
        }
        output.finish()
    }

    /// Leaves the containers that `location` is not in.
    fn leave_for(&mut self, location: &Location) -> Result<(), Failure> {
        let Styles { faint, .. } = self.styles;
        while let Some(level) = self
            .containers
            .pop_if(|level| !location.is_within(&level.location))
        {
            if level.hidden > 0 {
                let more = format!("{faint}and {} more: --all shows them{faint:#}", level.hidden);
                self.rows.push(Row::text(level.depth, more));
            }
        }
        // The last row is kept, for only what follows tells whether it is the last one.
        if self.rows.len() > ROWS_TOGETHER {
            self.put_out(1)?;
        }
        Ok(())
    }

    /// Says which files the next image is in, as far as that was not said yet.
    fn say_headings(&mut self) {
        if self.containers.is_empty() && self.rows.is_empty() {
            let heading = self.heading(&self.file, self.size, None, 0);
            self.rows.push(heading);
        }
        for level in &mut self.containers {
            self.rows.extend(level.heading.take());
        }
    }

    /// The row above the images of a file.
    fn heading(&self, location: &Location, bytes: u64, container: Option<&Container>, depth: usize) -> Row {
        let Styles { faint, heading, .. } = self.styles;
        let mut title = String::new();
        if location.is_file() {
            title += &escape(location.file());
        } else {
            let around = self.containers.last().map_or(0, |level| level.location.depth());
            push_path(&mut title, location, around);
        }
        let mut about = String::new();
        let mut below = Vec::new();
        if let Some(Container {
            kind,
            version,
            program,
            ..
        }) = container
        {
            about = kind.name().to_owned();
            if let Some(version) = version {
                about += &format!(" v{version}");
            }
            if let Some(Program {
                state, properties, ..
            }) = program
            {
                about += &format!(", {state} state");
                if self.options.properties {
                    below = properties_lines(properties, self.styles);
                }
            }
            about += ", ";
        }
        let text = format!(
            "{heading}{title}{heading:#}  {faint}{about}{}{faint:#}",
            size(bytes)
        );
        Row {
            below,
            ..Row::text(depth, text)
        }
    }

    /// The row of an image; the first `inside` parts of its location are said already.
    fn row(&self, image: &mut DeviceImage<'_>, depth: usize, inside: usize) -> Row {
        let note = match &image.storage {
            Storage::Plain => String::new(),
            Storage::Compressed { method, bytes } => {
                format!("{method}, {} stored", size(bytes.len() as u64))
            }
            Storage::Within { method } => format!("in {method}"),
        };
        let mut below = Vec::new();
        if self.options.kernels || self.images <= IMAGES_DESCRIBED {
            let names = Symbols::of(image, &Limits::default());
            if self.options.kernels {
                below.extend(self.kernels(image, &names));
            } else {
                self.names(&mut below, depth, "kernels", &names.kernels);
            }
            self.names(&mut below, depth, "imports", &names.imports);
            self.names(&mut below, depth, "exports", &names.exports);
        } else {
            // What the container tells costs nothing.
            self.names(&mut below, depth, "kernels", &image.kernels);
            self.names(&mut below, depth, "imports", &image.imports);
            self.names(&mut below, depth, "exports", &image.exports);
        }
        if self.options.properties {
            below.extend(properties_lines(&image.properties, self.styles));
        }
        Row {
            depth,
            content: Content::Image(ImageRow {
                inside,
                format: image.format.name(),
                is_host: image.producer == Producer::Host,
                size: image.bytes.len() as u64,
                note,
                location: std::mem::take(&mut image.location),
                target: std::mem::take(&mut image.target),
            }),
            below,
        }
    }

    /// Every kernel on a line of its own, with its arguments where the image tells.
    fn kernels(&self, image: &DeviceImage<'_>, names: &Symbols) -> Vec<String> {
        let Styles { faint, .. } = self.styles;
        let description = Description::of(image);
        let lines = names.kernels.iter().map(|name| {
            let shown = self.shown(name);
            let signature = description.kernel(name).map(offkit_runtime::signature);
            let arguments = signature
                .as_deref()
                .and_then(|signature| signature.strip_prefix(name.as_str()))
                .map(escape)
                .unwrap_or_default();
            // A demangled name may have arguments of its own, as the source has them.
            let space = if shown.ends_with(')') && !arguments.is_empty() {
                " "
            } else {
                ""
            };
            format!("{faint}kernel{faint:#}   {shown}{space}{arguments}")
        });
        lines.collect()
    }

    /// Adds the names of one kind: on one line while they fit, else one a line.
    fn names(&self, lines: &mut Vec<String>, depth: usize, title: &str, names: &[String]) {
        const LINE: usize = 100;
        /// Even on a narrow terminal there is a beginning to tell names by.
        const LEAST: usize = 24;
        if names.is_empty() {
            return;
        }
        let faint = self.styles.faint;
        let indent = 4 * (depth + 1) + title.len() + 2;
        let most = self.columns.saturating_sub(indent).max(LEAST);
        let mut shown: Vec<_> = names
            .iter()
            .take(NAMES_SHOWN)
            .map(|name| cut(self.shown(name), most))
            .collect();
        let more = names.len().saturating_sub(NAMES_SHOWN);
        let length: usize = shown.iter().map(|name| name.chars().count() + 2).sum();
        if length <= LINE.min(most) {
            let shown = shown.join(", ");
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("{faint}{title}{faint:#}  {shown}{faint}{more}{faint:#}"));
            return;
        }
        if more > 0 {
            shown.push(format!("{faint}and {more} more{faint:#}"));
        }
        let titles = std::iter::once(title).chain(std::iter::repeat(""));
        let width = title.len();
        let line = |(title, name)| format!("{faint}{title:width$}{faint:#}  {name}");
        lines.extend(titles.zip(shown).map(line));
    }

    fn shown(&self, name: &str) -> String {
        shown_name(name, self.options.mangled)
    }

    /// Puts out all rows but the last `keep`.
    fn put_out(&mut self, keep: usize) -> Result<(), Failure> {
        let mut kept = Vec::with_capacity(self.rows.len());
        kept.extend(self.rows.drain(self.rows.len().saturating_sub(keep)..));
        let next = kept.first().map(|row| row.depth);
        let rows = std::mem::replace(&mut self.rows, kept);
        let printer = std::mem::replace(&mut self.printer, Printer::Broken);
        self.printer = printer.print(Group { rows, next })?;
        Ok(())
    }
}

/// The beginning of a text that is too long for a line.
fn cut(text: String, most: usize) -> String {
    if text.chars().count() <= most {
        return text;
    }
    let beginning = text.chars().take(most.saturating_sub(1));
    beginning.chain(['…']).collect()
}

pub(crate) fn properties_lines(sets: &PropertySets, styles: Styles) -> Vec<String> {
    let faint = styles.faint;
    let mut lines = Vec::new();
    for (name, set) in sets.iter() {
        lines.push(format!("{faint}[{}]{faint:#}", escape(name)));
        for (key, value) in set.iter() {
            let value = property(value);
            lines.push(format!("  {} = {}", escape(key), escape(&value)));
        }
    }
    lines
}

fn property(value: &PropertyValue) -> String {
    match (value.as_u32(), value.as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) if is_readable(text) => format!("\"{text}\""),
        _ => match value.as_bytes().unwrap_or_default() {
            [] => "no bytes".to_owned(),
            bytes => format!("0x{}", hex(bytes)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_to_the_line() {
        assert_eq!(cut("saxpy".into(), 5), "saxpy");
        assert_eq!(cut("saxpyµµ".into(), 6), "saxpy…");
        assert_eq!(cut("µ".into(), 0), "…");
    }
}
