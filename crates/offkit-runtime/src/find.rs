//! Kernels by the names that users know.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use offkit_image::{ImageFormat, KernelName, NameMatch};
use offkit_object::{DeviceImage, Location, backquoted, describe_symbol};

use crate::index::NameId;
use crate::registry::{ImageId, ImageRegistry, State, Wanted};
use crate::similar::similar;

/// A kernel, and the images that have it: the same one for several devices, perhaps. A device
/// [`select`](ImageRegistry::select)s among them.
#[derive(Clone, Debug)]
pub struct FoundKernel {
    /// The kernel's name as it stands in the images.
    pub name: String,
    /// The images, in the order in which they became known; one of several that are the same byte for byte.
    pub images: Vec<ImageId>,
    /// What was read of the images already.
    _opened: Vec<Arc<DeviceImage<'static>>>,
}

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
    #[error("no kernel `{name}` in {}{}", places(.searched), not_known(.unknown))]
    NotFound {
        /// The name asked for.
        name: String,
        /// Names of kernels that are there, the most alike first; all of them if there are few.
        similar: Vec<String>,
        /// The images searched.
        searched: Vec<Location>,
        /// Those of them whose kernels nobody knows before they are linked: LTO-IR.
        unknown: Vec<Location>,
    },
    /// It fits kernels that are called differently.
    #[error("the name `{name}` fits several kernels: {}", fitting(.candidates))]
    Ambiguous {
        /// The name asked for.
        name: String,
        /// The kernels it fits, by their name in the image, and where they are.
        candidates: Vec<(String, Location)>,
    },
}

/// Images in a message: the first ones, and how many more.
pub(crate) fn places(locations: &[Location]) -> String {
    const SHOWN: usize = 8;
    match locations {
        [] => "no image at all".to_owned(),
        locations if locations.len() <= SHOWN + 1 => backquoted(locations),
        locations => format!(
            "{} and {} more images",
            backquoted(&locations[..SHOWN]),
            locations.len() - SHOWN
        ),
    }
}

/// What a message says of images whose kernels are not known.
fn not_known(unknown: &[Location]) -> String {
    match unknown {
        [] => String::new(),
        unknown => format!(
            "; what kernels LTO-IR has is known only once it is linked: {}",
            places(unknown)
        ),
    }
}

/// Kernels in a message, with where they are.
pub(crate) fn fitting(candidates: &[(String, Location)]) -> String {
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
    /// Finds a kernel, among the images that `among` takes, by a name as users know it: exact, without the prefix that
    /// the SYCL compiler puts before it, or demangled, with or without the argument types.
    ///
    /// The closest kind of match counts: a kernel of exactly that name is found although the name fits others in another
    /// way. Names that are only in the code of images are read when this is called first.
    ///
    /// # Errors
    ///
    /// [`KernelNameError::NotFound`] with names that are alike, [`KernelNameError::Ambiguous`] with all that fit.
    pub fn find_kernel(
        &self,
        name: &str,
        among: impl Fn(ImageId) -> bool,
    ) -> Result<FoundKernel, KernelNameError> {
        self.read_names(Wanted::Kernels);
        let (kernel, images) = self.read().find_kernel(name, &among)?;
        // What was opened goes with the kernel: the registry has weak references alone, and would
        // read it again when a device is to choose.
        let (images, opened) = self.without_copies(images);
        Ok(FoundKernel {
            name: kernel,
            images,
            _opened: opened,
        })
    }

    /// The images without those that are another one byte for byte: code is read only of those that may be.
    pub(crate) fn without_copies(
        &self,
        images: Vec<ImageId>,
    ) -> (Vec<ImageId>, Vec<Arc<DeviceImage<'static>>>) {
        let mut opened: Vec<Arc<DeviceImage<'static>>> = Vec::new();
        if images.len() < 2 {
            return (images, opened);
        }
        // Of one size, of one format, and with the same names: these may be copies.
        let mut alike: HashMap<_, Vec<ImageId>> = HashMap::new();
        let state = self.read();
        for &image in &images {
            if let Some((library, position)) = state.line(image) {
                let key = (
                    library.size(position),
                    library.format(position),
                    library.names(position).map(<[NameId]>::to_vec),
                );
                alike.entry(key).or_default().push(image);
            }
        }
        drop(state);
        let mut copies = BTreeSet::new();
        for group in alike.into_values().filter(|group| group.len() > 1) {
            let mut different: Vec<Arc<DeviceImage<'static>>> = Vec::new();
            for image in group {
                // What cannot be read is nobody's copy.
                let Ok(code) = self.code(image) else { continue };
                match different.iter().any(|other| code.bytes() == other.bytes()) {
                    true => {
                        copies.insert(image);
                    }
                    false => different.push(code),
                }
            }
            opened.extend(different);
        }
        let images = images.into_iter().filter(|image| !copies.contains(image));
        (images.collect(), opened)
    }
}

impl State {
    /// The kernel that a name means, and the images that have it.
    fn find_kernel(
        &self,
        name: &str,
        among: &dyn Fn(ImageId) -> bool,
    ) -> Result<(String, Vec<ImageId>), KernelNameError> {
        let with_kernel = |kernel: NameId| {
            let images = self.index.with_kernel(kernel).into_iter();
            // The index has images that were withdrawn until it is made anew.
            images.filter(|image| self.is_there(image) && among(*image))
        };
        if let Some(exact) = self.index.find(name) {
            let images: Vec<_> = with_kernel(exact).collect();
            if !images.is_empty() {
                return Ok((name.to_owned(), images));
            }
        }
        let key = KernelName::new(name).key();
        let mut fitting = self.fitting(name, key, &with_kernel);
        // A kernel that fits has the name's key, or an empty one where only demangling tells a word
        // of it. Those come last: each of them is demangled for this.
        if fitting.is_empty() && !key.is_empty() {
            fitting = self.fitting(name, "", &with_kernel);
        }
        let closest = fitting.iter().map(|(how, ..)| *how).min();
        fitting.retain(|(how, ..)| Some(*how) == closest);
        match fitting.as_slice() {
            [] => Err(self.not_found(name, among)),
            [(_, kernel, images)] => Ok((self.index.name(*kernel).to_owned(), images.clone())),
            several => {
                let candidate = |kernel: NameId, image: ImageId| {
                    (self.index.name(kernel).to_owned(), self.location(image))
                };
                let each = several.iter().flat_map(|(_, kernel, images)| {
                    images.iter().map(move |&image| candidate(*kernel, image))
                });
                Err(KernelNameError::Ambiguous {
                    name: name.to_owned(),
                    candidates: each.collect(),
                })
            }
        }
    }

    /// The kernels with a key that the name fits, how it does, and which images have them.
    fn fitting<I: Iterator<Item = ImageId>>(
        &self,
        name: &str,
        key: &str,
        with_kernel: &dyn Fn(NameId) -> I,
    ) -> Vec<(NameMatch, NameId, Vec<ImageId>)> {
        let kernels = self.index.with_key(key).into_iter();
        let fitting = kernels.filter_map(|kernel| {
            let how = KernelName::new(self.index.name(kernel)).matches(name)?;
            let images: Vec<_> = with_kernel(kernel).collect();
            (!images.is_empty()).then_some((how, kernel, images))
        });
        fitting.collect()
    }

    fn not_found(&self, name: &str, among: &dyn Fn(ImageId) -> bool) -> KernelNameError {
        let searched: Vec<ImageId> = self.images().filter(|image| among(*image)).collect();
        let kernels = searched.iter().filter_map(|&image| self.line(image));
        let kernels: BTreeSet<&str> = kernels
            .flat_map(|(library, position)| self.texts(library.kernels(position)))
            .collect();
        let is_unknown = |&image: &ImageId| {
            self.line(image)
                .is_some_and(|(library, position)| library.format(position) == ImageFormat::LtoIr)
        };
        let locations = |images: &[ImageId]| images.iter().map(|&image| self.location(image)).collect();
        let unknown: Vec<_> = searched.iter().copied().filter(is_unknown).collect();
        KernelNameError::NotFound {
            name: name.to_owned(),
            similar: similar(name, kernels.into_iter()),
            unknown: locations(&unknown),
            searched: locations(&searched),
        }
    }
}
