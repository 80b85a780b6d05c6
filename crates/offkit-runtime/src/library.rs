//! What was registered together: a file, or an image by itself.
//!
//! Of each image only a line is kept: where it is, what it is, and what it is called. The code stays where it is until
//! somebody needs it.

use std::ops::{ControlFlow, Range};

use offkit_image::property_set::names;
use offkit_object::{
    Compression, DeviceImage, ImageFormat, Item, Limits, Location, Problem, Storage, Target, walk_names,
};

use crate::index::{Index, NameId, number};
use crate::registry::ImageId;
use crate::scope::{SharedObjectId, Visibility};
use crate::select::requirements;
use crate::source::{Opening, Source};

/// Images that came together, and go together.
#[derive(Debug)]
pub(crate) struct Library {
    source: Source,
    limits: Limits,
    lines: Vec<Line>,
    /// The names of all images: of each its kernels, its imports, its exports.
    names: Vec<NameId>,
    /// What the images are for; neighbours share.
    targets: Vec<Target>,
    /// The numbers of the abilities that images demand of a device, if they do; neighbours share.
    aspects: Vec<Option<Box<[u32]>>>,
    /// What compilers and linkers are to be told; neighbours share.
    options: Vec<Options>,
    /// The virtual functions of those images that have some, by the image's place.
    virtual_functions: Vec<(usize, VirtualFunctions)>,
    /// The shared object that the images are in.
    pub(crate) object: Option<SharedObjectId>,
    pub(crate) visibility: Visibility,
}

/// The sets of virtual functions that an image has to do with: SYCL calls through a table whatever is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VirtualFunctions {
    /// The sets that functions of the image are in.
    pub(crate) defines: Vec<String>,
    /// The sets that the image calls into.
    pub(crate) uses: Vec<String>,
    /// The functions do nothing: they stand in for those of the image before, for devices that do not take that.
    pub(crate) is_dummy: bool,
}

impl VirtualFunctions {
    fn of(image: &DeviceImage<'_>) -> Self {
        let property = |key| image.properties.get(names::VIRTUAL_FUNCTIONS, key);
        let sets = |key| {
            let text = property(key).and_then(|value| value.as_str()).unwrap_or_default();
            let sets = text.split(',').map(str::trim).filter(|set| !set.is_empty());
            sets.map(str::to_owned).collect()
        };
        Self {
            defines: sets("virtual-functions-set"),
            uses: sets("uses-virtual-functions-set"),
            is_dummy: property("dummy-image").and_then(|value| value.as_u32()) == Some(1),
        }
    }
}

/// What the device's compiler is to be told of an image, and its linker.
///
/// Nothing is not an empty text here: one that lies nowhere takes longer to compare than any other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) compile: Option<Box<str>>,
    pub(crate) link: Option<Box<str>>,
}

/// What is kept of an image.
#[derive(Debug)]
struct Line {
    location: Location,
    /// Where the stored bytes are; nowhere inside of something compressed.
    stored: Option<Range<u64>>,
    /// How they are compressed.
    compression: Option<Compression>,
    /// How many bytes the code has.
    size: u64,
    format: ImageFormat,
    target: u32,
    aspects: u32,
    options: u32,
    names: NameRange,
    told: Told,
}

/// The names of an image among those of its library.
#[derive(Clone, Copy, Debug, Default)]
struct NameRange {
    start: u32,
    kernels: u32,
    imports: u32,
    exports: u32,
}

/// Which names of an image its container told. The others are in the code, and are read when somebody looks for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) kernels: bool,
    /// Imports and exports.
    pub(crate) links: bool,
}

impl Told {
    /// A container that lists no kernels leaves them to the code, unless it has a table of entries, and one that says
    /// nothing about an image leaves it all. Where it lists some it may list more than there are, aliases and exported
    /// functions, but no fewer.
    fn of(image: &DeviceImage<'_>) -> Self {
        Self {
            kernels: !image.kernels.is_empty() || image.entries.is_some(),
            links: !image.properties.is_empty() || !image.imports.is_empty() || !image.exports.is_empty(),
        }
    }
}

/// The images of a library before their names have numbers.
#[derive(Default)]
pub(crate) struct Draft {
    lines: Vec<Line>,
    targets: Vec<Target>,
    aspects: Vec<Option<Box<[u32]>>>,
    options: Vec<Options>,
    virtual_functions: Vec<(usize, VirtualFunctions)>,
    names: String,
    ends: Vec<usize>,
}

impl Draft {
    /// Goes through a file, and notes the images within a place.
    pub(crate) fn of_file(place: &Location, bytes: &[u8], limits: &Limits) -> (Self, Vec<Problem>) {
        let walk = |visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>| {
            let _ = walk_names(place.file(), bytes, limits, visit);
        };
        Self::of_walk(walk, |location| location.is_within(place))
    }

    /// Notes the images at places that are wanted, of all that `walk` hands over.
    pub(crate) fn of_walk(
        walk: impl FnOnce(&mut dyn FnMut(Item<'_>) -> ControlFlow<()>),
        is_wanted: impl Fn(&Location) -> bool,
    ) -> (Self, Vec<Problem>) {
        let (mut draft, mut problems) = (Self::default(), Vec::new());
        walk(&mut |item| {
            match item {
                Item::Image(image) if is_wanted(&image.location) => draft.add(&image),
                Item::Problem(problem) => problems.push(problem),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        (draft, problems)
    }

    /// Notes an image.
    pub(crate) fn add(&mut self, image: &DeviceImage<'_>) {
        let start = number(self.ends.len());
        let told = Told::of(image);
        let mut list = |names: &mut dyn Iterator<Item = &str>| {
            let before = self.ends.len();
            for name in names {
                self.names.push_str(name);
                self.ends.push(self.names.len());
            }
            number(self.ends.len() - before)
        };
        let imports = image.imports.iter().map(String::as_str);
        // What the device or its driver supplies is no import, whoever lists it.
        let mut imports = imports.filter(|name| !offkit_spirv::names::is_built_in(name));
        let names = NameRange {
            start,
            kernels: list(&mut image.kernels.iter().map(String::as_str)),
            imports: list(&mut imports),
            exports: list(&mut image.exports.iter().map(String::as_str)),
        };
        let aspects = Some(requirements(image)).filter(|aspects| !aspects.is_empty());
        let aspects = aspects.map(Into::into);
        let option = |text: &str| (!text.is_empty()).then(|| text.into());
        let options = Options {
            compile: option(image.compile_options()),
            link: option(image.link_options()),
        };
        let virtual_functions = VirtualFunctions::of(image);
        if virtual_functions != VirtualFunctions::default() {
            self.virtual_functions.push((self.lines.len(), virtual_functions));
        }
        let stored = image.offset.map(|start| {
            let end = start.saturating_add(image.stored_bytes().len() as u64);
            start..end
        });
        self.lines.push(Line {
            location: image.location.clone(),
            // Within something compressed, an offset is none of the file's.
            stored: stored.filter(|_| !matches!(image.storage(), Storage::Within(_))),
            compression: image.compression(),
            size: image.size(),
            format: image.format,
            target: noted(&mut self.targets, &image.target),
            aspects: noted(&mut self.aspects, &aspects),
            options: noted(&mut self.options, &options),
            names,
            told,
        });
    }

    /// The library, with its names numbered.
    pub(crate) fn number_names(
        self,
        source: Source,
        object: Option<SharedObjectId>,
        limits: Limits,
        index: &mut Index,
    ) -> Library {
        let mut start = 0;
        let names = self.ends.iter().map(|&end| {
            let name = &self.names[start..end];
            start = end;
            index.intern(name)
        });
        let mut library = Library {
            names: names.collect(),
            visibility: match object {
                Some(_) => Visibility::Local,
                None => Visibility::Global,
            },
            object,
            virtual_functions: self.virtual_functions,
            source,
            limits,
            lines: self.lines,
            targets: self.targets,
            aspects: self.aspects,
            options: self.options,
        };
        // Most libraries stay as long as their process, and what has grown has room to spare.
        library.lines.shrink_to_fit();
        library
    }
}

/// The number of a value that is noted, if it is not what was noted last.
fn noted<T: Clone + PartialEq>(list: &mut Vec<T>, value: &T) -> u32 {
    if list.last() != Some(value) {
        list.push(value.clone());
    }
    number(list.len() - 1)
}

impl Library {
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn location(&self, image: usize) -> &Location {
        &self.lines[image].location
    }

    pub(crate) fn format(&self, image: usize) -> ImageFormat {
        self.lines[image].format
    }

    pub(crate) fn target(&self, image: usize) -> &Target {
        &self.targets[self.lines[image].target as usize]
    }

    pub(crate) fn size(&self, image: usize) -> u64 {
        self.lines[image].size
    }

    pub(crate) fn told(&self, image: usize) -> Told {
        self.lines[image].told
    }

    /// The numbers of what a device must be able to do.
    pub(crate) fn aspects(&self, image: usize) -> &[u32] {
        let aspects = &self.aspects[self.lines[image].aspects as usize];
        aspects.as_deref().unwrap_or_default()
    }

    pub(crate) fn virtual_functions(&self) -> impl Iterator<Item = (usize, &VirtualFunctions)> {
        let each = self.virtual_functions.iter();
        each.map(|(image, functions)| (*image, functions))
    }

    pub(crate) fn virtual_functions_of(&self, image: usize) -> Option<&VirtualFunctions> {
        let place = self
            .virtual_functions
            // They were noted image by image, so they are in order.
            .binary_search_by_key(&image, |(image, _)| *image);
        Some(&self.virtual_functions[place.ok()?].1)
    }

    pub(crate) fn kernels(&self, image: usize) -> &[NameId] {
        let NameRange { start, kernels, .. } = self.lines[image].names;
        self.part_of_names(start, kernels)
    }

    pub(crate) fn imports(&self, image: usize) -> &[NameId] {
        let NameRange {
            start,
            kernels,
            imports,
            ..
        } = self.lines[image].names;
        self.part_of_names(start + kernels, imports)
    }

    pub(crate) fn exports(&self, image: usize) -> &[NameId] {
        let NameRange {
            start,
            kernels,
            imports,
            exports,
        } = self.lines[image].names;
        self.part_of_names(start + kernels + imports, exports)
    }

    fn part_of_names(&self, start: u32, count: u32) -> &[NameId] {
        &self.names[start as usize..][..count as usize]
    }

    /// All names of an image: kernels, imports, exports.
    pub(crate) fn names(&self, image: usize) -> [&[NameId]; 3] {
        [self.kernels(image), self.imports(image), self.exports(image)]
    }

    /// Sets the names of an image that were read from its code.
    pub(crate) fn set_names(&mut self, image: usize, names: [Vec<NameId>; 3]) {
        let [kernels, imports, exports] = names.each_ref().map(|names| number(names.len()));
        let line = &mut self.lines[image];
        line.names = NameRange {
            // What it had before stays where it is, unused: the names of the other images must not move.
            start: number(self.names.len()),
            kernels,
            imports,
            exports,
        };
        line.told = Told {
            kernels: true,
            links: true,
        };
        self.names.extend(names.into_iter().flatten());
    }

    /// Numbers all names anew.
    pub(crate) fn renumber_names(&mut self, mut number: impl FnMut(NameId) -> NameId) {
        for name in &mut self.names {
            *name = number(*name);
        }
    }

    /// Notes in the index what is told about the kernels and the exports of an image.
    pub(crate) fn enter(&self, image: usize, id: ImageId, told: Told, index: &mut Index) {
        if told.kernels {
            for &kernel in self.kernels(image) {
                index.add_kernel(kernel, id);
            }
        }
        if told.links {
            for &export in self.exports(image) {
                index.add_export(export, id);
            }
        }
    }

    /// The way to an image, to be gone when nothing of the registry is locked.
    pub(crate) fn opening(&self, image: usize) -> Opening {
        let line = &self.lines[image];
        Opening {
            source: self.source.clone(),
            limits: self.limits.clone(),
            location: line.location.clone(),
            stored: line.stored.clone(),
            compression: line.compression.map(|compression| (compression, line.size)),
            format: line.format,
            target: self.target(image).clone(),
            options: self.options[line.options as usize].clone(),
        }
    }
}
