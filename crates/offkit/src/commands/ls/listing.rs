//! The listing of one file on its way out.

use offkit_object::{
    Container, DeviceImage, Gathered, Inspect, Item, Limits, Problem, Target, in_passing, target_of,
};

use super::describe::{Asked, Describer};
use super::json;
use super::sums::{Sum, Sums};
use super::tree::Tree;
use super::{Ls, SCHEMA};
use crate::commands::Source;
use crate::commands::filter::Selection;
use crate::commands::mapped::Mapped;
use crate::failure::Failure;
use crate::terminal::{Output, json_line};

/// Lists what a walk hands over.
///
/// Where all images are to be asked for their names, these are gathered, asked together on all cores, and listed in
/// order.
pub(super) struct Listing<'a, 'options> {
    options: &'a Ls,
    selection: &'a mut Selection<'options>,
    sums: &'a mut Sums,
    source: &'a Source,
    form: Form,
    /// Images that are to be asked, each with the containers that were entered before it.
    gathered: Gathered<'a, Vec<Container>>,
    /// Containers that were entered since then.
    entered: Vec<Container>,
    result: Result<(), Failure>,
    /// How many were met, wanted or not.
    pub(super) images: usize,
    pub(super) problems: Vec<Problem>,
}

pub(super) enum Form {
    Json(Output),
    Tree(Box<Tree>),
}

/// How images are asked ahead.
#[derive(Clone, Copy)]
enum Asking {
    Line { hash: bool },
    Names(Describer),
}

/// What an image said.
enum Answer {
    Line(Result<String, Failure>, Target),
    Names(Asked),
}

impl Asking {
    /// Asks an image, whose bytes are at hand in `code`.
    fn ask(self, image: &DeviceImage<'_>, code: &DeviceImage<'_>) -> Answer {
        // Where the container does not tell, the code is looked into for names. A listing has no details.
        if code.kernels.is_empty() {
            code.inspect_for_resources(&Limits::default());
        }
        match self {
            Self::Line { hash } => {
                let line = json_line(SCHEMA, &json::Row::of(image, code, hash));
                Answer::Line(line, target_of(code).into_owned())
            }
            Self::Names(describer) => Answer::Names(describer.ask(code)),
        }
    }
}

impl<'a, 'options> Listing<'a, 'options> {
    pub(super) fn new(
        options: &'a Ls,
        selection: &'a mut Selection<'options>,
        sums: &'a mut Sums,
        source: &'a Source,
        form: Form,
    ) -> Self {
        Self {
            options,
            selection,
            sums,
            source,
            form,
            gathered: Gathered::new(&source.content),
            entered: Vec::new(),
            result: Ok(()),
            images: 0,
            problems: Vec::new(),
        }
    }

    /// Takes what the walk came across; an image may be taken out of the item.
    pub(super) fn add(&mut self, item: &mut Item<'_>) {
        match item {
            Item::Image(image) => self.image(image),
            Item::Container(container) => self.container(container),
            Item::Problem(problem) => self.problems.push(problem.clone()),
            _ => {}
        }
    }

    /// All that was listed, or why it could not be.
    pub(super) fn finish(mut self) -> Result<(Form, Vec<Problem>), Failure> {
        self.list_gathered();
        self.result.map(|()| (self.form, self.problems))
    }

    fn asking(&self) -> Option<Asking> {
        match &self.form {
            Form::Json(_) => Some(Asking::Line {
                hash: self.options.hash,
            }),
            Form::Tree(tree) => tree.asks_all().map(Asking::Names),
        }
    }

    fn container(&mut self, container: &Container) {
        /// Many more than images have around them.
        const MOST: usize = 1 << 12;
        match &mut self.form {
            Form::Json(_) => {}
            // Not before images that were met earlier and still wait: each container then comes
            // with the image behind it.
            Form::Tree(tree) if self.gathered.is_empty() => tree.container(container),
            Form::Tree(_) => {
                self.entered.push(container.clone());
                if self.entered.len() >= MOST {
                    self.list_gathered();
                }
            }
        }
    }

    fn image(&mut self, image: &mut DeviceImage<'_>) {
        self.images += 1;
        match (self.asking(), &mut self.form) {
            (None, Form::Json(_)) => {}
            (None, Form::Tree(tree)) => {
                if self.selection.takes(image) {
                    tree.image(image, None);
                }
            }
            (Some(asking), _) => {
                if !self.selection.may_take(image) {
                    return;
                }
                // Of 100,000 small images, listing takes a tenth of the time more where they are moved.
                if self.gathered.is_empty() && is_asked_at_once(image) {
                    let is_meant = self.options.filter.accepts_kernels(image);
                    let answer = is_meant.then(|| asking.ask(image, image));
                    self.list(image, answer);
                } else {
                    let image = std::mem::take(image);
                    if self.gathered.add(std::mem::take(&mut self.entered), image) {
                        self.list_gathered();
                    }
                }
            }
        }
    }

    /// Asks the images that were gathered, and lists them.
    fn list_gathered(&mut self) {
        if let Some(asking) = self.asking() {
            let filter = &self.options.filter;
            let ask = |entered: Vec<Container>, image: DeviceImage<'a>| {
                let answer = in_passing(&image, |code| {
                    let is_meant = filter.accepts_kernels(code);
                    is_meant.then(|| asking.ask(&image, code))
                });
                (entered, image, answer)
            };
            let memory = Mapped(&self.source.content);
            for (entered, image, answer) in self.gathered.look(&memory, ask) {
                self.enter(entered);
                self.list(&image, answer);
            }
        }
        let entered = std::mem::take(&mut self.entered);
        self.enter(entered);
    }

    fn enter(&mut self, containers: Vec<Container>) {
        if let Form::Tree(tree) = &mut self.form {
            for container in &containers {
                tree.container(container);
            }
        }
    }

    /// Lists an image with its answer, if it was meant.
    fn list(&mut self, image: &DeviceImage<'_>, answer: Option<Answer>) {
        self.selection.note(image, answer.is_some());
        match (&mut self.form, answer) {
            (Form::Tree(tree), Some(Answer::Names(asked))) => tree.image(image, Some(asked)),
            (Form::Json(output), Some(Answer::Line(line, target))) if self.result.is_ok() => {
                if self.options.totals {
                    self.sums.add(&target, Sum::of(image));
                }
                self.result = line.and_then(|line| output.lines(&line));
            }
            _ => {}
        }
    }
}

/// Whether asking an image takes no longer than to hand it to another thread.
fn is_asked_at_once(image: &DeviceImage<'_>) -> bool {
    const SMALL: usize = 1 << 10;
    image.code.at_hand().is_some_and(|code| code.len() < SMALL)
}
