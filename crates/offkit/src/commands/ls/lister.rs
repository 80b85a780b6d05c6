//! From the walk to the tree: on one core while little is found, on two from then on.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use offkit_object::{
    Container, ContainerKind, DeviceImage, ImageFormat, Producer, Program, Storage, Target, WrittenParts,
};

use super::describe::{Described, Describer};
use super::tree::Tree;
use crate::cli::Ls;
use crate::failure::Failure;
use crate::terminal::{Output, size};

/// How many images are looked into for names without being asked.
const IMAGES_DESCRIBED: usize = 256;
/// The largest image that is copied, to be looked into by the other core.
const LOOKED_INTO_LATER: u64 = 1 << 14;
/// What is handed to the other core together: little enough to stay in its cache.
const HANDED_OVER_TOGETHER: usize = 1024;

/// What goes into the tree together. All texts are one, as memory that one core takes and the other gives back is
/// slow for both.
#[derive(Default)]
pub(super) struct Batch {
    text: String,
    found: Vec<Found>,
}

struct Found {
    /// How much of the text is its place in the file, as [`WrittenParts`].
    place: usize,
    what: FoundWhat,
}

enum FoundWhat {
    /// A container; what is in it follows.
    Container(FoundContainer),
    Image {
        /// How much of the text says what it was made for.
        target: usize,
        image: FoundImage,
    },
}

/// A container as it is listed.
pub(super) struct FoundContainer {
    pub(super) kind: ContainerKind,
    pub(super) version: Option<u32>,
    pub(super) size: u64,
    pub(super) program: Option<Box<Program>>,
}

/// An image as it is listed; what it looks like is worked out when it is written.
pub(super) struct FoundImage {
    pub(super) size: u64,
    pub(super) format: ImageFormat,
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
    waiting: Batch,
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
    sender: SyncSender<Batch>,
    handle: JoinHandle<Result<Tree, Failure>>,
}

impl Lister {
    pub(super) fn new(options: &Ls, output: Output, file: &str, bytes: usize) -> Self {
        let describer = Describer::new(options, output.styles());
        Self {
            describer,
            each_kernel: options.kernels,
            images: 0,
            waiting: Batch::default(),
            tree: Place::Here(Box::new(Tree::new(options, output, describer, file, bytes))),
        }
    }

    /// A container, of which what is needed is taken; what is in it follows.
    pub(super) fn container(&mut self, container: &mut Container) -> Result<(), Failure> {
        let place = self.waiting.say(container.location.written_parts().as_str());
        let what = FoundWhat::Container(FoundContainer {
            kind: container.kind,
            version: container.version,
            size: container.size,
            program: container.program.take().map(Box::new),
        });
        self.waiting.found.push(Found { place, what });
        self.hand_over()
    }

    /// An image; what is needed of it is taken.
    pub(super) fn image(&mut self, image: &mut DeviceImage<'_>) -> Result<(), Failure> {
        self.images += 1;
        let place = self.waiting.say(image.location.written_parts().as_str());
        let target = self.waiting.say_target(image);
        let image = FoundImage {
            size: image.size(),
            format: image.format,
            // The last, as it may take all of the image.
            more: self.more(image),
        };
        let what = FoundWhat::Image { target, image };
        self.waiting.found.push(Found { place, what });
        self.hand_over()
    }

    fn more(&self, image: &mut DeviceImage<'_>) -> Option<Box<More>> {
        // A listing decompresses nothing that it need not.
        let is_cheap = self.images <= IMAGES_DESCRIBED && image.code.at_hand().is_some();
        let is_looked_into = self.each_kernel || is_cheap;
        let is_plain = image.storage() == Storage::Plain;
        if !is_looked_into && is_plain && !self.describer.is_told(image) {
            return None;
        }
        let note = match image.storage() {
            Storage::Plain => String::new(),
            Storage::Compressed(method) => {
                format!("{method}, {} stored", size(image.stored_bytes().len() as u64))
            }
            Storage::Within(method) => format!("in {method}"),
        };
        let details = if !is_looked_into {
            Details::Described(self.describer.told(image))
        } else if !self.each_kernel && image.size() <= LOOKED_INTO_LATER {
            Details::Inside(Box::new(
                std::mem::replace(image, DeviceImage::new(&[0; 0])).into_owned(),
            ))
        } else {
            Details::Described(self.describer.look_into(image))
        };
        Some(Box::new(More { note, details }))
    }

    /// Hands over what is waiting, if it is enough.
    #[inline]
    fn hand_over(&mut self) -> Result<(), Failure> {
        match self.waiting.found.len() {
            ..HANDED_OVER_TOGETHER => Ok(()),
            _ => self.hand_over_all(),
        }
    }

    fn hand_over_all(&mut self) -> Result<(), Failure> {
        let next = Batch {
            text: String::with_capacity(self.waiting.text.len()),
            found: Vec::with_capacity(HANDED_OVER_TOGETHER),
        };
        let batch = std::mem::replace(&mut self.waiting, next);
        let thread = match std::mem::replace(&mut self.tree, Place::Nowhere) {
            Place::Here(tree) => Thread::start(*tree),
            Place::Thread(thread) => thread,
            Place::Nowhere => return Ok(()),
        };
        match thread.sender.send(batch) {
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
        self.waiting.add_to(&mut tree)?;
        tree.finish()
    }
}

impl Batch {
    /// Adds to the text; how much.
    fn say(&mut self, text: &str) -> usize {
        self.text += text;
        text.len()
    }

    fn say_target(&mut self, image: &DeviceImage<'_>) -> usize {
        let Target {
            triple,
            arch,
            features,
        } = &image.target;
        let text = &mut self.text;
        let start = text.len();
        *text += triple;
        if !triple.is_empty() && !arch.is_empty() {
            text.push('-');
        }
        *text += arch;
        for feature in features {
            text.push(':');
            *text += feature;
        }
        if text.len() == start {
            *text += "unknown";
        }
        if image.producer == Producer::Host {
            *text += " (host)";
        }
        text.len() - start
    }

    fn add_to(self, tree: &mut Tree) -> Result<(), Failure> {
        let mut text = self.text.as_str();
        for Found { place, what } in self.found {
            let place = WrittenParts::new(take(&mut text, place));
            match what {
                FoundWhat::Container(container) => tree.container(place, &container)?,
                FoundWhat::Image { target, image } => {
                    tree.image(place, take(&mut text, target), image)?;
                }
            }
        }
        Ok(())
    }
}

/// Takes so many bytes off the beginning of a text.
pub(super) fn take<'text>(text: &mut &'text str, bytes: usize) -> &'text str {
    let (taken, rest) = text.split_at(bytes);
    *text = rest;
    taken
}

impl Thread {
    /// What may wait: enough for neither side to stand still, although the first images take longest.
    const WAITING: usize = 16;

    fn start(mut tree: Tree) -> Self {
        let (sender, receiver) = sync_channel::<Batch>(Self::WAITING);
        let handle = std::thread::spawn(move || {
            for batch in receiver {
                batch.add_to(&mut tree)?;
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
