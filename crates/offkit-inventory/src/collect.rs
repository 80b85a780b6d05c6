//! Collecting an inventory from what a walk hands over.
//!
//! Headers alone tell what is for which architecture. Names and sizes of kernels are in the images: these are unpacked
//! together, on all cores, one image a thread, and forgotten again.

use offkit_image::{ContainerKind, DeviceImage, Location, Problem, Resources, Storage};
use offkit_object::{Gathered, Item, Limits, Memory, in_passing, inspect_for_resources};
use twox_hash::XxHash3_128;

use crate::inventory::{Inventory, Kernel, Library, Listed};

/// How far images are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What containers say: nothing is unpacked but packages.
    Headers,
    /// Kernels too.
    Kernels,
}

/// Collects what a walk through one file hands over.
pub struct Collector<'i, 'file> {
    inventory: &'i mut Inventory,
    memory: &'i dyn Memory,
    depth: Depth,
    /// Containers that the next item may be in, outermost first.
    around: Vec<Around>,
    /// The first image of this file.
    first: usize,
    /// Those to be looked into, by their numbers.
    gathered: Gathered<'file, usize>,
}

/// A container on the way to an image.
struct Around {
    location: Location,
    size: u64,
    /// The bytes it takes where it is compressed as a whole.
    stored: Option<u64>,
    library: Option<usize>,
    is_package: bool,
}

/// What was found in one image.
struct Found {
    kernels: Vec<(String, Resources)>,
    digest: Option<u128>,
    aspects: Vec<u32>,
    problems: Vec<Problem>,
}

impl Inventory {
    /// Begins to collect the images of a file, whose bytes the walk is over; `memory` is told which of them were looked
    /// into. To be ended with [`finish`](Collector::finish).
    pub fn collect<'i, 'file>(
        &'i mut self,
        name: &str,
        file: &'file [u8],
        depth: Depth,
        memory: &'i dyn Memory,
    ) -> Collector<'i, 'file> {
        self.files.push((name.to_owned(), file.len() as u64));
        self.has_kernels |= depth == Depth::Kernels;
        self.library_names.take();
        Collector {
            first: self.images.len(),
            inventory: self,
            memory,
            depth,
            around: Vec::new(),
            gathered: Gathered::new(file),
        }
    }
}

impl Collector<'_, '_> {
    /// Takes what the walk came across.
    pub fn add(&mut self, item: &Item<'_>) {
        match item {
            Item::Container(container) => {
                self.leave(&container.location);
                let is_package = container.kind.is_package();
                // The outermost container that is no package: an archive counts as one library, and its members do not.
                let is_library = !is_package && self.around.iter().all(|around| around.library.is_none());
                let library = is_library.then(|| {
                    self.add_library(Library {
                        location: container.location.clone(),
                        size: container.size,
                        packed: container.stored_size,
                        is_host: container.kind == ContainerKind::Host,
                        stored: 0,
                        needed: container.needed.clone(),
                    })
                });
                self.around.push(Around {
                    location: container.location.clone(),
                    size: container.size,
                    stored: container.stored_size,
                    library,
                    is_package,
                });
            }
            Item::Image(image) => self.image(image),
            Item::Problem(problem) => self.inventory.problems.push(problem.clone()),
            _ => {}
        }
    }

    fn leave(&mut self, next: &Location) {
        // Nothing else tells that a container has ended: the walk just goes on beside it.
        while self
            .around
            .pop_if(|around| !next.is_within(&around.location))
            .is_some()
        {}
    }

    fn add_library(&mut self, library: Library) -> usize {
        self.inventory.libraries.push(library);
        self.inventory.libraries.len() - 1
    }

    fn image(&mut self, image: &DeviceImage<'_>) {
        self.leave(&image.location);
        if image.is_host_entry() {
            return;
        }
        let library = self.around.iter().find_map(|around| around.library);
        let library = library.unwrap_or_else(|| {
            self.add_library(Library {
                location: image.location.clone(),
                size: image.size(),
                packed: image.stored_size().filter(|_| image.compression().is_some()),
                is_host: false,
                stored: 0,
                needed: Vec::new(),
            })
        });
        let (stored, is_share) = self.stored(image);
        let number = self.inventory.images.len();
        let mut known = image.without_code();
        // Only where it costs no unpacking, which `Depth::Headers` promises.
        if known.target.triple.is_empty() && image.code.at_hand().is_some() {
            known.target = offkit_object::target_of(image).into_owned();
        }
        self.inventory.images.push(Listed {
            image: known,
            library,
            stored,
            is_share,
            size: image.size(),
            kernels: 0..0,
            digest: None,
            aspects: Vec::new(),
        });
        if let Some(library) = self.inventory.libraries.get_mut(library) {
            library.stored = library.stored.saturating_add(stored);
        }
        if self.depth == Depth::Kernels {
            let is_enough = self.gathered.add(number, image.clone());
            if is_enough {
                self.look_inside();
            }
        }
    }

    /// The bytes an image takes in its library, and whether that is a part of what several take together.
    fn stored(&self, image: &DeviceImage<'_>) -> (u64, bool) {
        let own = image.stored_bytes().len() as u64;
        if let Storage::Plain | Storage::Compressed(_) = image.storage() {
            return (own, false);
        }
        // Something in the library that is compressed as a whole; the library itself may be compressed in its package.
        let inner = self.around.iter().filter(|around| !around.is_package).skip(1);
        match inner
            .filter_map(|around| Some((around.size, around.stored?)))
            .last()
        {
            Some((size, stored)) if size > 0 => {
                let share = u128::from(own) * u128::from(stored) / u128::from(size);
                (u64::try_from(share).unwrap_or(own), true)
            }
            _ => (own, false),
        }
    }

    /// Looks into the images that were gathered.
    fn look_inside(&mut self) {
        let found = self.gathered.look(self.memory, |number, image| {
            // Here, as the image that is lent below has what was unpacked for its stored bytes.
            let digest = XxHash3_128::oneshot(image.stored_bytes());
            let found = in_passing(&image, |image| look(image, digest));
            (number, found)
        });
        for (number, found) in found {
            let start = self.inventory.kernels.len();
            for (name, resources) in found.kernels {
                let name = self.inventory.names.add(&name);
                self.inventory.kernels.push(Kernel {
                    name,
                    image: number,
                    resources,
                });
            }
            let end = self.inventory.kernels.len();
            self.inventory.problems.extend(found.problems);
            if let Some(listed) = self.inventory.images.get_mut(number) {
                listed.kernels = start..end;
                listed.digest = found.digest;
                listed.aspects = found.aspects;
            }
        }
    }

    /// How many images of this file there are so far.
    #[must_use]
    pub fn images(&self) -> usize {
        self.inventory.images.len() - self.first
    }

    /// Ends the collection.
    pub fn finish(mut self) {
        self.look_inside();
    }
}

/// Unpacks an image, and reads its kernels; `digest` is that of its stored bytes.
fn look(image: &DeviceImage<'_>, digest: u128) -> Found {
    let problem = |error| Problem::new(image.location.clone(), error);
    let bytes = match image.bytes() {
        Ok(bytes) => bytes,
        Err(error) => {
            return Found {
                kernels: told(image),
                digest: None,
                aspects: Vec::new(),
                problems: vec![problem(error)],
            };
        }
    };
    let inspection = inspect_for_resources(bytes, image.format, &Limits::default());
    let read = inspection.kernels.into_iter();
    let mut kernels: Vec<_> = read.map(|kernel| (kernel.name, kernel.resources)).collect();
    // The container has names without any numbers, which is better than no kernels at all.
    if kernels.is_empty() {
        kernels = told(image);
    }
    Found {
        kernels,
        digest: Some(digest),
        aspects: inspection.aspects,
        problems: inspection.problems.into_iter().map(problem).collect(),
    }
}

/// The kernels that the container tells.
fn told(image: &DeviceImage<'_>) -> Vec<(String, Resources)> {
    let names = image.kernels.iter();
    names.map(|name| (name.clone(), Resources::default())).collect()
}
