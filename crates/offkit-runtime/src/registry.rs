//! All the device images a process knows, and which of them have a kernel.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use offkit_image::{KernelName, NameMatch};
use offkit_object::{
    DeviceImage, Inspect, Limits, Location, Problem, SharedBytes, Symbols, backquoted, describe_symbol,
};
use offkit_spirv::Kernel;

use crate::signatures::Signatures;
use crate::similar::similar;

/// The device images a process knows, in the order in which they became known.
#[derive(Clone, Debug, Default)]
pub struct ImageRegistry {
    images: Vec<Registered>,
}

/// An image, and what was found out about it when it was registered.
#[derive(Clone, Debug)]
struct Registered {
    image: DeviceImage<'static>,
    symbols: Symbols,
    signatures: Signatures,
}

/// An image's place in its registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(pub(crate) usize);

/// A kernel in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelId {
    /// The image.
    pub image: ImageId,
    /// The kernel's name as it stands in the image.
    pub name: String,
}

/// A kernel cannot be found by that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelNameError {
    /// There is none of that name.
    #[error("no kernel `{name}` in {}", places(.searched))]
    NotFound {
        /// The name asked for.
        name: String,
        /// Names of kernels that are there, the most alike first; all of them if there are few.
        similar: Vec<String>,
        /// The images searched.
        searched: Vec<Location>,
    },
    /// There are several.
    #[error("the name `{name}` fits several kernels: {}", fitting(.candidates))]
    Ambiguous {
        /// The name asked for.
        name: String,
        /// The kernels it fits, by their name in the image, and where they are.
        candidates: Vec<(String, Location)>,
    },
}

fn places(locations: &[Location]) -> String {
    match locations {
        [] => "no image at all".to_owned(),
        locations => backquoted(locations),
    }
}

fn fitting(candidates: &[(String, Location)]) -> String {
    let each = candidates
        .iter()
        .map(|(name, place)| format!("{} in `{place}`", describe_symbol(name)));
    each.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl ImageRegistry {
    /// A registry without images.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an image.
    pub fn add(&mut self, image: DeviceImage<'static>) -> ImageId {
        tracing::debug!(location = %image.location, format = %image.format, "registered a device image");
        self.images.push(Registered {
            symbols: image.symbols(&Limits::default()),
            signatures: Signatures::of(&image),
            image,
        });
        ImageId(self.images.len() - 1)
    }

    /// Adds all images of a file by its path, as [`add_file`](Self::add_file) does.
    ///
    /// The file is read and not mapped: this may be a guest in another's process, which must live on, with the code it
    /// has loaded, when somebody changes or cuts short a file on disk.
    ///
    /// # Errors
    ///
    /// The system's, if the file cannot be read.
    pub fn open(
        &mut self,
        path: impl AsRef<Path>,
        limits: &Limits,
    ) -> io::Result<(Vec<ImageId>, Vec<Problem>)> {
        let path = path.as_ref();
        let bytes: SharedBytes = Arc::new(fs::read(path)?);
        Ok(self.add_file(&path.to_string_lossy(), bytes, limits))
    }

    /// Adds all images of a file: a container of any kind that offkit reads, or an image by itself.
    ///
    /// Returns the images added and the problems met; what is damaged is left out.
    pub fn add_file(
        &mut self,
        name: &str,
        bytes: SharedBytes,
        limits: &Limits,
    ) -> (Vec<ImageId>, Vec<Problem>) {
        self.add_within(&Location::of_file(name), bytes, limits)
    }

    /// Adds the images of a file that lie within a location; `bytes` are those of the whole file.
    ///
    /// Returns the images added and the problems met anywhere in the file.
    pub fn add_within(
        &mut self,
        place: &Location,
        bytes: SharedBytes,
        limits: &Limits,
    ) -> (Vec<ImageId>, Vec<Problem>) {
        let contents = offkit_object::read(place.file(), (*bytes).as_ref(), limits);
        let images: Vec<_> = contents
            .images
            .into_iter()
            .filter(|image| image.location.is_within(place))
            .map(|image| image.share(&bytes))
            .collect();
        let problems = contents.problems;
        (
            images.into_iter().map(|image| self.add(image)).collect(),
            problems,
        )
    }

    /// The image with that number.
    pub fn image(&self, id: ImageId) -> &DeviceImage<'static> {
        &self.images[id.0].image
    }

    /// What an image offers and needs, as [`Inspect::symbols`] has it.
    pub fn symbols(&self, id: ImageId) -> &Symbols {
        &self.images[id.0].symbols
    }

    /// A kernel with its arguments, where its image tells them.
    pub fn kernel(&self, kernel: &KernelId) -> Option<&Kernel> {
        self.images[kernel.image.0].signatures.kernel(&kernel.name)
    }

    /// All images, in the order in which they became known.
    pub fn images(&self) -> impl Iterator<Item = (ImageId, &DeviceImage<'static>)> {
        self.images
            .iter()
            .enumerate()
            .map(|(number, registered)| (ImageId(number), &registered.image))
    }

    /// Finds a kernel among some images by a name as users know it: exact, without the prefix that
    /// the SYCL compiler puts before it, or demangled, with or without the argument types.
    ///
    /// The closest kind of match counts: a kernel of exactly that name is found although the name
    /// fits others in another way.
    ///
    /// # Errors
    ///
    /// [`KernelNameError::NotFound`] with names that are alike, [`KernelNameError::Ambiguous`] with
    /// all that fit.
    pub fn find_kernel(&self, name: &str, among: &[ImageId]) -> Result<KernelId, KernelNameError> {
        let kernels = || {
            among.iter().flat_map(|&id| {
                let kernels = self.symbols(id).kernels.iter();
                kernels.map(move |kernel| (id, kernel.as_str()))
            })
        };
        let mut fitting: Vec<(NameMatch, ImageId, &str)> = kernels()
            .filter_map(|(id, kernel)| KernelName::new(kernel).matches(name).map(|how| (how, id, kernel)))
            .collect();
        let Some(closest) = fitting.iter().map(|(how, ..)| *how).min() else {
            return Err(KernelNameError::NotFound {
                name: name.to_owned(),
                similar: similar(name, kernels().map(|(_, kernel)| kernel)),
                searched: among.iter().map(|&id| self.image(id).location.clone()).collect(),
            });
        };
        fitting.retain(|(how, ..)| *how == closest);
        match fitting.as_slice() {
            [(_, image, kernel)] => Ok(KernelId {
                image: *image,
                name: (*kernel).to_owned(),
            }),
            _ => Err(KernelNameError::Ambiguous {
                name: name.to_owned(),
                candidates: fitting
                    .iter()
                    .map(|(_, id, kernel)| ((*kernel).to_owned(), self.image(*id).location.clone()))
                    .collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_stay_when_their_file_changes() {
        let image = [b"\x03\x02\x23\x07".as_slice(), &[7; 9996]].concat();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("image.spv");
        fs::write(&path, &image).expect("the folder is writable");
        let mut registry = ImageRegistry::new();
        let (added, _) = registry
            .open(&path, &Limits::default())
            .expect("the file is readable");
        // Where it is, as another program would: a mapping would change with it, and end the process where it is gone.
        fs::write(&path, [0; 16]).expect("the file is writable");
        let bytes = |id: &ImageId| registry.image(*id).bytes().map(<[u8]>::to_vec);
        assert!(added.iter().map(bytes).eq([Ok(image)]));
        assert!(registry.open(folder.path(), &Limits::default()).is_err());
    }
}
