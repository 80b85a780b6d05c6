//! From the walk to the tree: on one core while little is found, on two from then on.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use offkit_object::{Container, DeviceImage, ImageFormat, Location, Producer, Storage, Target};

use super::describe::{Described, Describer};
use super::tree::Tree;
use crate::cli::Ls;
use crate::failure::Failure;
use crate::terminal::{Output, size};

/// How many images are looked into for names without being asked.
const IMAGES_DESCRIBED: usize = 256;
/// The largest image that is copied, to be looked into by the other core.
const LOOKED_INTO_LATER: usize = 1 << 14;
/// What is handed to the other core together: little enough to stay in its cache.
const HANDED_OVER_TOGETHER: usize = 1024;

/// What goes into the tree.
pub(super) enum Found {
    /// A container; what is in it follows.
    Container(Container),
    Image(FoundImage),
}

/// An image as it is listed; what it looks like is worked out when it is written.
pub(super) struct FoundImage {
    pub(super) location: Location,
    pub(super) target: Target,
    pub(super) size: u64,
    pub(super) format: ImageFormat,
    pub(super) is_host: bool,
    pub(super) more: Option<Box<More>>,
}

/// What few of very many images have.
pub(super) struct More {
    /// How it is stored.
    pub(super) note: String,
    pub(super) details: Details,
}

/// What is said below an image.
pub(super) enum Details {
    Described(Described),
    /// What the image has inside, to be found out when it is written.
    Inside(Box<DeviceImage<'static>>),
}

/// Takes what is found and lists it.
pub(super) struct Lister {
    describer: Describer,
    each_kernel: bool,
    images: usize,
    waiting: Vec<Found>,
    tree: Place,
}

/// Where the tree is.
enum Place {
    Here(Box<Tree>),
    Thread(Thread),
    /// It failed, and that was said.
    Nowhere,
}

struct Thread {
    sender: SyncSender<Vec<Found>>,
    handle: JoinHandle<Result<Tree, Failure>>,
}

impl Lister {
    pub(super) fn new(options: &Ls, output: Output, file: &str, bytes: usize) -> Self {
        let describer = Describer::new(options, output.styles());
        Self {
            describer,
            each_kernel: options.kernels,
            images: 0,
            waiting: Vec::new(),
            tree: Place::Here(Box::new(Tree::new(options, output, describer, file, bytes))),
        }
    }

    /// A container; what is in it follows.
    pub(super) fn container(&mut self, container: Container) -> Result<(), Failure> {
        self.add(Found::Container(container))
    }

    /// An image; what is needed of it is taken.
    pub(super) fn image(&mut self, image: &mut DeviceImage<'_>) -> Result<(), Failure> {
        self.images += 1;
        let found = FoundImage {
            location: std::mem::take(&mut image.location),
            target: std::mem::take(&mut image.target),
            size: image.bytes.len() as u64,
            format: image.format,
            is_host: image.producer == Producer::Host,
            more: self.more(image),
        };
        self.add(Found::Image(found))
    }

    fn more(&self, image: &mut DeviceImage<'_>) -> Option<Box<More>> {
        let is_looked_into = self.each_kernel || self.images <= IMAGES_DESCRIBED;
        let is_plain = matches!(image.storage, Storage::Plain);
        if !is_looked_into && is_plain && !self.describer.is_told(image) {
            return None;
        }
        let note = match &image.storage {
            Storage::Plain => String::new(),
            Storage::Compressed { method, bytes } => {
                format!("{method}, {} stored", size(bytes.len() as u64))
            }
            Storage::Within { method } => format!("in {method}"),
        };
        let details = if !is_looked_into {
            Details::Described(self.describer.told(image))
        } else if !self.each_kernel && image.bytes.len() <= LOOKED_INTO_LATER {
            Details::Inside(Box::new(
                std::mem::replace(image, DeviceImage::new(&[])).into_owned(),
            ))
        } else {
            Details::Described(self.describer.look_into(image))
        };
        Some(Box::new(More { note, details }))
    }

    fn add(&mut self, found: Found) -> Result<(), Failure> {
        self.waiting.push(found);
        if self.waiting.len() < HANDED_OVER_TOGETHER {
            return Ok(());
        }
        let next = Vec::with_capacity(HANDED_OVER_TOGETHER);
        let found = std::mem::replace(&mut self.waiting, next);
        let thread = match std::mem::replace(&mut self.tree, Place::Nowhere) {
            Place::Here(tree) => Thread::start(*tree),
            Place::Thread(thread) => thread,
            Place::Nowhere => return Ok(()),
        };
        match thread.sender.send(found) {
            Ok(()) => {
                self.tree = Place::Thread(thread);
                Ok(())
            }
            // It ended early, and knows why.
            Err(_) => thread.end().map(|_| ()),
        }
    }

    /// Ends the listing.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let mut tree = match self.tree {
            Place::Here(tree) => *tree,
            Place::Thread(thread) => thread.end()?,
            Place::Nowhere => return Ok(()),
        };
        for mut found in self.waiting {
            tree.add(&mut found)?;
        }
        tree.finish()
    }
}

impl Thread {
    /// What may wait: enough for neither side to stand still, although the first images take longest.
    const WAITING: usize = 16;

    fn start(mut tree: Tree) -> Self {
        let (sender, receiver) = sync_channel::<Vec<Found>>(Self::WAITING);
        let handle = std::thread::spawn(move || {
            for mut together in receiver {
                for found in &mut together {
                    tree.add(found)?;
                }
            }
            Ok(tree)
        });
        Self { sender, handle }
    }

    fn end(self) -> Result<Tree, Failure> {
        drop(self.sender);
        match self.handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
