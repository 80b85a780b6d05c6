//! The listing that people read: a tree of files and the images in them.

use offkit_object::{Container, ContainerKind, DeviceImage, Location};

use super::Ls;
use super::describe::{Asked, Describer, properties_lines};
use super::rows::{Content, Row, Rows, path};
use super::sums::{Sum, Sums};
use crate::failure::Failure;
use crate::pager;
use crate::terminal::{Output, Styles, escape, is_terminal, push_size};

/// How many images of one file are shown on a terminal.
const IMAGES_SHOWN: usize = 200;

/// A tree on its way out.
pub(super) struct Tree {
    styles: Styles,
    describer: Describer,
    with_properties: bool,
    file: Location,
    size: u64,
    /// The containers that the next image is in, outermost first.
    containers: Vec<Level>,
    rows: Rows,
    images: usize,
    /// The sums of the images that are not shown.
    hidden: Sums,
    /// The most images shown of one file.
    most: usize,
}

/// A container that is being listed.
struct Level {
    location: Location,
    /// The parts of its location, which the rows in it don't repeat.
    said: usize,
    kind: ContainerKind,
    /// What is written above its images, if it is a file; `None` once it was said.
    heading: Option<Row>,
    /// How far its images are indented.
    depth: usize,
    /// The images in it that were shown, and those that were too many.
    shown: usize,
    hidden: usize,
}

impl Tree {
    pub(super) fn new(options: &Ls, output: Output, file: &str, bytes: usize) -> Self {
        let styles = output.styles();
        Self {
            styles,
            describer: Describer::new(options, styles),
            with_properties: options.properties,
            file: Location::of_file(file),
            size: bytes as u64,
            containers: Vec::new(),
            rows: Rows::new(output),
            images: 0,
            hidden: Sums::default(),
            // On a bare terminal the beginning of a long list is gone before anybody has read it.
            most: if options.all || !is_terminal() || pager::is_on() {
                usize::MAX
            } else {
                IMAGES_SHOWN
            },
        }
    }

    /// Notes that a container begins.
    pub(super) fn container(&mut self, container: &Container) {
        self.leave(|level| !container.location.is_within(&level.location));
        let parent = self.containers.last();
        let depth = parent.map_or(0, |parent| parent.depth);
        let is_file = parent.is_none_or(|parent| parent.kind.holds_files());
        let heading =
            is_file.then(|| self.heading(&container.location, container.size, Some(container), depth));
        self.containers.push(Level {
            said: container.location.depth(),
            location: container.location.clone(),
            kind: container.kind,
            depth: depth + usize::from(is_file),
            heading,
            shown: 0,
            hidden: 0,
        });
    }

    /// What asks images for their names, where all images are shown and asked, so that it can be done ahead.
    pub(super) fn asks_all(&self) -> Option<Describer> {
        let asks = self.describer.asks() && self.most == usize::MAX;
        asks.then_some(self.describer)
    }

    /// Adds an image; `asked` is what it said, if it was asked ahead.
    pub(super) fn image(&mut self, image: &DeviceImage<'_>, asked: Option<Asked>) {
        self.leave(|level| !image.location.is_within(&level.location));
        self.images += 1;
        self.say_headings();
        // The file that the image is in is the last level that has a heading of its own.
        let depth = self.containers.last().map_or(1, |level| level.depth);
        let file = self.containers.iter_mut().find(|level| level.depth == depth);
        let said = match file {
            Some(file) if file.shown >= self.most => {
                file.hidden += 1;
                self.hidden.add(&image.target, Sum::of(image));
                return;
            }
            Some(file) => {
                file.shown += 1;
                file.said
            }
            None => 0,
        };
        if self.describer.is_silent() {
            return self.rows.push_image(image, depth, said, None, Box::default());
        }
        let mut asked = asked.or_else(|| self.describer.asks().then(|| self.describer.ask(image)));
        let below = self.describer.lines(image, depth, asked.as_mut());
        let target = asked.map(|asked| asked.target);
        self.rows.push_image(image, depth, said, target, below.into());
    }

    /// Ends the listing of a file in which `met` images are; what those that are listed come to.
    pub(super) fn finish(mut self, met: usize, has_problems: bool) -> Result<Sums, Failure> {
        let Styles { faint, .. } = self.styles;
        // A file of which the options leave out every image is not listed: if that is so of all files, an error says it.
        if self.images == 0 && met == 0 {
            // Of the containers in a file without device code there is nothing to be said.
            self.containers.truncate(1);
            self.say_headings();
        }
        self.leave(|_| true);
        let (mut output, mut sums) = self.rows.finish()?;
        sums.add_all(self.hidden);
        if sums.images == 0 && (self.images > 0 || met == 0) {
            output.line(match has_problems {
                true => format!("{faint}no device code found; not everything could be read{faint:#}"),
                false => format!("{faint}no device code inside{faint:#}"),
            })?;
        }
        output.finish()?;
        Ok(sums)
    }

    /// Leaves the innermost containers that the next one or the next image is not in.
    fn leave(&mut self, is_left: impl Fn(&Level) -> bool) {
        let Styles { faint, .. } = self.styles;
        while let Some(level) = self.containers.pop_if(|level| is_left(level)) {
            if level.hidden > 0 {
                let more = format!("{faint}and {} more: --all shows them{faint:#}", level.hidden);
                self.rows.push(Row {
                    depth: level.depth,
                    content: Content::Text(more),
                    below: Box::default(),
                });
            }
        }
    }

    /// Says which files the next image is in, as far as that was not said yet.
    fn say_headings(&mut self) {
        if self.containers.is_empty() && self.rows.is_empty() {
            let heading = self.heading(&self.file, self.size, None, 0);
            self.rows.push(heading);
        }
        for level in &mut self.containers {
            if let Some(heading) = level.heading.take() {
                self.rows.push(heading);
            }
        }
    }

    /// The row above the images of a file.
    fn heading(&self, place: &Location, bytes: u64, container: Option<&Container>, depth: usize) -> Row {
        let Styles { faint, heading, .. } = self.styles;
        let title = if place.is_file() {
            escape(self.file.file()).into_owned()
        } else {
            path(place, self.containers.last().map_or(0, |level| level.said))
        };
        let mut text = String::with_capacity(title.len() + 64);
        text.extend([heading.start, &title, heading.end, "  ", faint.start]);
        let mut below = Vec::new();
        if let Some(container) = container {
            text += container.kind.name();
            if let Some(version) = container.version {
                text += &format!(" v{version}");
            }
            if let Some(program) = &container.program {
                text += &format!(", {} state", program.state);
                if self.with_properties {
                    below = properties_lines(&program.properties, self.styles);
                }
            }
            text += ", ";
        }
        push_size(&mut text, bytes);
        text += faint.end;
        Row {
            depth,
            content: Content::Text(text),
            below: below.into(),
        }
    }
}
