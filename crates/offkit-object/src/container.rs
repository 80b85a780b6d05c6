//! Opening anything known: from bytes to device images.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::format::ImageFormat;
use crate::image::{DeviceImage, Problem, Target};
use crate::limits::{Limits, Reading};
use crate::location::Location;
use crate::offload_binary::{self, Found, ImageKind, OffloadEntry, read_all};
use crate::property_set::PropertySets;
use crate::source::{Source, offset_within};
use crate::syclbin::{self, BundleState, IrModule, IrType, SyclBin, SyclBinVersion};

/// What a file is, as far as its outermost layer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ContainerKind {
    /// No container: the file is itself an image.
    Image,
    /// One or several offload binaries, one after the other.
    OffloadBinary,
    /// A SYCLBIN, with or without an offload binary around it.
    SyclBin,
    /// Clang offload bundles, plain or compressed, one after the other; or one in text form.
    Bundle,
    /// CUDA's fatbins, one after the other.
    Fatbin,
    /// SYCL images as a linked program registers them.
    SyclWrapped,
    /// An ELF, COFF, PE or Mach-O file for the host.
    Host,
    /// A Unix archive.
    Archive,
    /// A zip file, such as a wheel.
    Zip,
    /// Nothing that is known.
    Unknown,
}

impl ContainerKind {
    /// The name in messages and listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "device image",
            Self::OffloadBinary => "offload binary",
            Self::SyclBin => "SYCLBIN",
            Self::Bundle => "offload bundle",
            Self::Fatbin => "fatbin",
            Self::SyclWrapped => "wrapped SYCL images",
            Self::Host => "host code",
            Self::Archive => "archive",
            Self::Zip => "zip",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ContainerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What [`read`] found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents<'data> {
    /// What the file is.
    pub container: ContainerKind,
    /// The version of the container's format; of several offload binaries, that of the first.
    pub version: Option<u32>,
    /// The form of the file, if it is a SYCLBIN.
    pub syclbin_version: Option<SyclBinVersion>,
    /// The state of the program, if the file is a SYCLBIN.
    pub state: Option<BundleState>,
    /// All images, those in inner containers too, in the order of the file.
    pub images: Vec<DeviceImage<'data>>,
    /// Properties of the container as a whole; for a SYCLBIN, all global properties but the state.
    pub properties: PropertySets,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
}

/// Reads every device image out of a file.
///
/// Bytes are borrowed, and one bad part does not hide the others: what can be read is returned, with the
/// problems. `file_name` is only used in locations.
///
/// ```
/// use offkit_object::{ContainerKind, ImageFormat, Limits};
///
/// let contents = offkit_object::read("kernel.spv", b"\x03\x02\x23\x07\0\0\x01\0", &Limits::default());
/// assert_eq!(contents.container, ContainerKind::Image);
/// assert_eq!(contents.images[0].format, ImageFormat::Spirv);
/// assert_eq!(contents.images[0].location.to_string(), "kernel.spv");
/// ```
#[must_use]
pub fn read<'data>(file_name: &str, bytes: &'data [u8], limits: &Limits) -> Contents<'data> {
    let mut reader = Reader {
        file: bytes,
        reading: Reading::tolerant(limits),
        contents: Contents {
            container: ContainerKind::Unknown,
            version: None,
            syclbin_version: None,
            state: None,
            images: Vec::new(),
            properties: PropertySets::new(),
            problems: Vec::new(),
        },
    };
    reader.open(Source::new(bytes), &Location::of_file(file_name));
    reader.contents
}

/// The state of one call of [`read`].
struct Reader<'data> {
    file: &'data [u8],
    reading: Reading,
    contents: Contents<'data>,
}

impl<'data> Reader<'data> {
    /// Opens the outermost layer, which decides what the file is.
    fn open(&mut self, source: Source<'data>, location: &Location) {
        let bytes = source.bytes();
        if syclbin::has_magic(bytes) {
            self.contents.container = ContainerKind::SyclBin;
            let result = syclbin::read(source, &mut self.reading);
            self.add_outer_syclbin(result, location);
        } else if bytes.starts_with(&offload_binary::MAGIC) {
            self.contents.container = ContainerKind::OffloadBinary;
            let found = self.find_binaries(source, location);
            self.contents.version = found.first().map(|found| found.version);
            match found.as_slice() {
                [only] if only.is_syclbin() => {
                    self.contents.container = ContainerKind::SyclBin;
                    let result = syclbin::read_found(only, &mut self.reading);
                    self.add_outer_syclbin(result, location);
                }
                found => self.add_binaries(found, location, 1),
            }
        } else {
            let image = DeviceImage {
                location: location.clone(),
                offset: Some(0),
                ..DeviceImage::new(bytes)
            };
            if image.format == ImageFormat::Unknown {
                let error = Error::new(
                    ErrorKind::NotRecognized,
                    "not a container or device image of a known format",
                )
                .at(0)
                .finding(if bytes.is_empty() {
                    "an empty file"
                } else {
                    "other bytes"
                });
                self.problem(location, error);
            } else {
                self.contents.container = ContainerKind::Image;
                self.contents.images.push(image);
            }
        }
    }

    fn add_outer_syclbin(
        &mut self,
        result: Result<(SyclBin<'data>, SyclBinVersion), Error>,
        location: &Location,
    ) {
        if let Ok((program, version)) = &result {
            self.contents.version = Some(version.number());
            self.contents.syclbin_version = Some(*version);
            self.contents.state = Some(program.state);
            self.contents.properties = program.properties.clone();
        }
        self.add_syclbin(result, location);
    }

    fn find_binaries(&mut self, source: Source<'data>, location: &Location) -> Vec<Found<'data>> {
        let found = read_all(source, &mut self.reading);
        self.report(location);
        // A tolerant reading has no errors of its own; should it ever, this reports them.
        found
            .map_err(|error| self.problem(location, error))
            .unwrap_or_default()
    }

    /// Adds the entries of all binaries, numbered across them; a SYCLBIN of several entries counts as one.
    fn add_binaries(&mut self, binaries: &[Found<'data>], location: &Location, depth: usize) {
        let mut number = 0_usize;
        for found in binaries {
            if found.version >= 2 && found.is_syclbin() {
                self.add_found_syclbin(found, &location.join(number));
                number = number.saturating_add(1);
                continue;
            }
            for entry in &found.binary.entries {
                let location = location.join(number);
                number = number.saturating_add(1);
                if !entry.is_metadata_only() {
                    self.add_entry(found.source.locate(entry.image), entry, &location, depth);
                }
            }
        }
    }

    fn add_found_syclbin(&mut self, found: &Found<'data>, location: &Location) {
        let result = syclbin::read_found(found, &mut self.reading);
        self.add_syclbin(result, location);
    }

    /// Adds an entry's image, or what is in it when it is a container itself.
    fn add_entry(
        &mut self,
        image: Source<'data>,
        entry: &OffloadEntry<'data>,
        location: &Location,
        depth: usize,
    ) {
        let is_inner_syclbin = syclbin::has_magic(image.bytes()) || entry.image_kind == ImageKind::Syclbin;
        let is_inner_binary = image.bytes().starts_with(&offload_binary::MAGIC);
        if (is_inner_syclbin || is_inner_binary) && depth > self.reading.limits().max_nesting {
            let limit = self.reading.limits().max_nesting;
            let error = Error::new(ErrorKind::LimitExceeded, "containers are nested too deep")
                .at(image.at(0))
                .expecting(format!("at most {limit}"));
            self.problem(location, error);
        } else if is_inner_syclbin {
            let result = syclbin::read(image, &mut self.reading);
            self.add_syclbin(result, location);
        } else if is_inner_binary {
            let found = self.find_binaries(image, location);
            self.add_binaries(&found, location, depth.saturating_add(1));
        } else {
            let mut image = DeviceImage::from_entry(entry, location);
            image.kernels = self.kernels_of(entry, location);
            self.add_image(image, ImageFormat::claimed_by(entry.image_kind));
        }
    }

    /// The names of kernels that `clang-sycl-linker` of LLVM 22 stores in a string `symbols`, one a line.
    fn kernels_of(&mut self, entry: &OffloadEntry<'data>, location: &Location) -> Vec<String> {
        let names = entry.strings.get("symbols").unwrap_or_default().lines();
        match self.reading.count_properties(names.clone().count()) {
            Ok(()) => names.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            Err(error) => {
                self.problem(location, error);
                Vec::new()
            }
        }
    }

    fn add_syclbin(&mut self, result: Result<(SyclBin<'data>, SyclBinVersion), Error>, location: &Location) {
        self.report(location);
        let program = match result {
            Ok((program, _)) => program,
            Err(error) => return self.problem(location, error),
        };
        for (index, module) in program.modules.into_iter().enumerate() {
            // Every image gets its own copy of the module's properties and symbol names.
            let copies = module
                .properties
                .property_count()
                .saturating_mul(2)
                .saturating_mul(module.image_count());
            let bytes = module
                .properties
                .byte_size()
                .saturating_mul(module.image_count() as u64);
            let counted = self
                .reading
                .count_properties(copies)
                .and_then(|()| self.reading.count_metadata(bytes));
            if let Err(error) = counted {
                return self.problem(location, error);
            }
            let claims: Vec<_> = module.ir_modules.iter().map(claimed_by_ir).collect();
            let mut claims = claims.into_iter();
            for image in module.into_images(&location.join(index)) {
                self.add_image(image, claims.next().flatten());
            }
        }
    }

    /// Adds an image, after comparing its bytes with what its header claims.
    fn add_image(&mut self, mut image: DeviceImage<'data>, claim: Option<ImageFormat>) {
        image.offset = offset_within(self.file, &image.bytes);
        let shown = ImageFormat::detect(&image.bytes);
        if let Some(claim) = claim
            && shown != ImageFormat::Unknown
            && !shown.satisfies(claim)
        {
            let error = Error::malformed("image is not what its header says")
                .at(image.offset.unwrap_or_default())
                .expecting(claim.name())
                .finding(shown.name());
            self.problem(&image.location, error);
        }
        self.contents.images.push(image);
    }

    /// Moves the faults that were noted while reading to the problems of `location`.
    fn report(&mut self, location: &Location) {
        for error in self.reading.take_problems() {
            self.problem(location, error);
        }
    }

    fn problem(&mut self, location: &Location, error: Error) {
        if self.contents.problems.len() < self.reading.limits().max_problems {
            self.contents.problems.push(Problem {
                location: location.clone(),
                error,
            });
        }
    }
}

/// The format that an IR module's type promises. Under the type SPIR-V, runtimes store bitcode too.
fn claimed_by_ir(module: &IrModule<'_>) -> Option<ImageFormat> {
    match module.ir_type {
        IrType::Spirv if ImageFormat::detect(&module.bytes) == ImageFormat::Bitcode => None,
        other => other.format(),
    }
}

impl<'data> DeviceImage<'data> {
    /// The image of an entry of an offload binary, without its kernels.
    pub(crate) fn from_entry(entry: &OffloadEntry<'data>, location: &Location) -> Self {
        let mut image = DeviceImage::new(entry.image);
        image.format = image.format.or(ImageFormat::claimed_by(entry.image_kind));
        let text = |key| entry.strings.get(key).unwrap_or_default();
        image.target = Target::new(text("triple"), text("arch"));
        image.producer = entry.offload_kind.producer(entry.image_kind);
        image.strings = entry.strings.without(&["triple", "arch"]);
        image.location = location.clone();
        image
    }
}
