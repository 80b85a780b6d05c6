//! The listing that people read: a tree of files and the images in them.

use offkit_object::{ContainerKind, Program, WrittenParts};

use super::describe::{Describer, properties_lines};
use super::lister::{FoundContainer, FoundImage};
use super::rows::{Rows, push_path};
use crate::cli::Ls;
use crate::failure::Failure;
use crate::terminal::{Output, Styles, escape, is_terminal, push_size, size};

/// How many images of one file are shown on a terminal.
const IMAGES_SHOWN: usize = 200;

/// A tree on its way out.
pub(super) struct Tree {
    styles: Styles,
    /// Whether the options leave no image out.
    is_whole: bool,
    with_properties: bool,
    file: String,
    size: u64,
    /// The containers that the next image is in, outermost first.
    containers: Vec<Level>,
    /// Whether each of these has said its heading.
    is_said: bool,
    rows: Rows,
    images: usize,
    bytes: u64,
    /// The most images shown of one file.
    most: usize,
}

/// A container that is being listed.
struct Level {
    /// Its place, as [`WrittenParts`].
    place: String,
    /// How many parts that are.
    parts: usize,
    kind: ContainerKind,
    /// What is written above its images, if it is a file; `None` once it was said.
    heading: Option<Heading>,
    /// How far its images are indented.
    depth: usize,
    /// The images in it that were shown, and those that were too many.
    shown: usize,
    hidden: usize,
}

/// The row above the images of a file, and what stands below it.
struct Heading {
    depth: usize,
    text: String,
    below: Vec<String>,
}

impl Tree {
    pub(super) fn new(options: &Ls, output: Output, describer: Describer, file: &str, bytes: usize) -> Self {
        Self {
            styles: output.styles(),
            is_whole: options.filter.accepts_all(),
            with_properties: options.properties,
            file: file.to_owned(),
            size: bytes as u64,
            containers: Vec::new(),
            is_said: false,
            rows: Rows::new(output, describer),
            images: 0,
            bytes: 0,
            most: if options.all || !is_terminal() {
                usize::MAX
            } else {
                IMAGES_SHOWN
            },
        }
    }

    /// Notes that a container begins.
    pub(super) fn container(
        &mut self,
        place: WrittenParts<'_>,
        container: &FoundContainer,
    ) -> Result<(), Failure> {
        self.leave_for(place)?;
        let parent = self.containers.last();
        let depth = parent.map_or(0, |parent| parent.depth);
        let is_file =
            parent.is_none_or(|parent| matches!(parent.kind, ContainerKind::Archive | ContainerKind::Zip));
        let heading = is_file.then(|| self.heading(place, container.size, Some(container), depth));
        self.containers.push(Level {
            place: place.as_str().to_owned(),
            parts: place.depth(),
            kind: container.kind,
            depth: depth + usize::from(is_file),
            heading,
            shown: 0,
            hidden: 0,
        });
        self.is_said = false;
        Ok(())
    }

    /// Adds an image.
    pub(super) fn image(
        &mut self,
        place: WrittenParts<'_>,
        target: &str,
        image: FoundImage,
    ) -> Result<(), Failure> {
        self.leave_for(place)?;
        self.images += 1;
        self.bytes += image.size;
        self.say_headings()?;
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
                file.parts
            }
            None => 0,
        };
        self.rows.image(depth, place, inside, target, image)
    }

    /// Ends the listing.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let Styles { faint, .. } = self.styles;
        if self.images == 0 {
            self.containers.truncate(1);
            self.say_headings()?;
        }
        self.leave(|_| true)?;
        let mut output = self.rows.finish()?;
        match self.images {
            0 if self.is_whole => {
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

    /// Leaves the containers that `place` is not in.
    fn leave_for(&mut self, place: WrittenParts<'_>) -> Result<(), Failure> {
        self.leave(|level| !place.is_within(WrittenParts::new(&level.place)))
    }

    fn leave(&mut self, is_left: impl Fn(&Level) -> bool) -> Result<(), Failure> {
        let Styles { faint, .. } = self.styles;
        while let Some(level) = self.containers.pop_if(|level| is_left(level)) {
            if level.hidden > 0 {
                let more = format!("{faint}and {} more: --all shows them{faint:#}", level.hidden);
                self.rows.text(level.depth, more, Vec::new())?;
            }
        }
        Ok(())
    }

    /// Says which files the next image is in, as far as that was not said yet.
    fn say_headings(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.is_said, true) {
            return Ok(());
        }
        if self.containers.is_empty() && self.rows.is_empty() {
            let Heading { depth, text, below } = self.heading(WrittenParts::new(""), self.size, None, 0);
            self.rows.text(depth, text, below)?;
        }
        for level in &mut self.containers {
            if let Some(Heading { depth, text, below }) = level.heading.take() {
                self.rows.text(depth, text, below)?;
            }
        }
        Ok(())
    }

    /// The row above the images of a file.
    fn heading(
        &self,
        place: WrittenParts<'_>,
        bytes: u64,
        container: Option<&FoundContainer>,
        depth: usize,
    ) -> Heading {
        let Styles { faint, heading, .. } = self.styles;
        let mut title = String::new();
        if place.as_str().is_empty() {
            title += &escape(&self.file);
        } else {
            let around = self.containers.last().map_or(0, |level| level.parts);
            push_path(&mut title, place, around, escape);
        }
        let mut text = String::with_capacity(64);
        text.extend([heading.start, &title, heading.end, "  ", faint.start]);
        let mut below = Vec::new();
        if let Some(FoundContainer {
            kind,
            version,
            program,
            ..
        }) = container
        {
            text += kind.name();
            if let Some(version) = version {
                text += &format!(" v{version}");
            }
            if let Some(Program {
                state, properties, ..
            }) = program.as_deref()
            {
                text += &format!(", {state} state");
                if self.with_properties {
                    below = properties_lines(properties, self.styles);
                }
            }
            text += ", ";
        }
        push_size(&mut text, bytes);
        text += faint.end;
        Heading { depth, text, below }
    }
}
