//! Specialization constants: values that a program sets before its kernels are compiled.
//!
//! The toolchain lists them by symbolic name in a property set. Each has a part for every scalar in it: the number of
//! the constant in SPIR-V, its offset in the value, its size; three 32-bit words, little endian. A number of all ones
//! is padding at the end. The default values of all stand one after the other in a property of another set. As
//! `sycl-post-link` of DPC++ 2021 to 2026 writes it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use offkit_image::property_set::{ByteArray, names};
use offkit_image::{DeviceImage, ImageFormat};
use offkit_pi::host::Program;
use offkit_spirv::{Module, set_defaults, specialize};

use super::unit::{Part, Unit};
use super::{BundleError, Input, KernelBundle};

/// The number of padding.
const PADDING: u32 = u32::MAX;
/// How many bytes the values of an image's constants may have together that has no defaults for them.
const MOST_DEFAULTS: usize = 1 << 20;

/// A specialization constant of an image.
struct Constant<'image> {
    name: &'image str,
    scalars: Vec<Scalar>,
    /// Where its value begins among the default values of all.
    start: usize,
}

struct Scalar {
    number: u32,
    offset: usize,
    size: usize,
}

impl Constant<'_> {
    fn size(&self) -> usize {
        let ends = self
            .scalars
            .iter()
            .map(|scalar| scalar.offset.saturating_add(scalar.size));
        ends.max().unwrap_or_default()
    }
}

fn constants<'image>(image: &'image DeviceImage<'_>) -> Vec<Constant<'image>> {
    let mut start = 0_usize;
    let set = image.properties.set(names::SPECIALIZATION_CONSTANTS);
    let each = set.into_iter().flat_map(|set| set.iter()).map(|(name, value)| {
        let words = value.as_u32s().unwrap_or_default();
        let scalars = words
            .as_chunks::<3>()
            .0
            .iter()
            .map(|&[number, offset, size]| Scalar {
                number,
                offset: offset as usize,
                size: size as usize,
            });
        let constant = Constant {
            name,
            scalars: scalars.collect(),
            start,
        };
        // The defaults are in the order of the constants, padding included, and nothing says where each begins.
        start = start.saturating_add(constant.size());
        constant
    });
    each.collect()
}

/// The default values of all constants of an image, end to end.
fn defaults<'image>(image: &'image DeviceImage<'_>) -> &'image [u8] {
    let set = image.properties.set(names::SPECIALIZATION_CONSTANT_DEFAULTS);
    let first = set.and_then(|set| set.iter().next());
    first.and_then(|(_, value)| value.as_bytes()).unwrap_or_default()
}

fn default_of<'image>(image: &'image DeviceImage<'_>, constant: &Constant<'_>) -> Option<&'image [u8]> {
    let end = constant.start.checked_add(constant.size())?;
    defaults(image).get(constant.start..end)
}

impl Part {
    /// Tells a program the values of the image's constants: those that were set, and else the defaults.
    pub(super) fn specialize(&self, program: &Program) -> Result<(), BundleError> {
        self.each_value(|name, number, bytes| {
            let set = program.set_specialization_constant(number, bytes);
            set.map_err(|source| BundleError::Constant {
                name: name.to_owned(),
                source,
            })
        })
    }

    /// The same in a module itself, of which nobody can change the values then.
    pub(super) fn bake(&self, module: &mut Module) {
        specialize(module, &self.values());
    }

    /// The values as bits, by the numbers of the scalars.
    fn values(&self) -> HashMap<u32, u64> {
        let mut values = HashMap::new();
        let Ok(()) = self.each_value(|_, number, bytes| {
            let mut value = [0; 8];
            for (place, byte) in value.iter_mut().zip(bytes) {
                *place = *byte;
            }
            values.insert(number, u64::from_le_bytes(value));
            Ok::<(), Infallible>(())
        });
        values
    }

    /// Hands over the value of each scalar, with the name of its constant and the scalar's number.
    fn each_value<E>(&self, mut visit: impl FnMut(&str, u32, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let image = &self.image;
        for constant in constants(image) {
            let set = self.constants.get(constant.name).map(Vec::as_slice);
            let Some(value) = set.or_else(|| default_of(image, &constant)) else {
                continue;
            };
            for scalar in constant.scalars.iter().filter(|scalar| scalar.number != PADDING) {
                // A value may be shorter than its scalars say: the device then refuses a scalar of
                // no bytes.
                let end = scalar.offset.saturating_add(scalar.size);
                visit(
                    constant.name,
                    scalar.number,
                    value.get(scalar.offset..end).unwrap_or_default(),
                )?;
            }
        }
        Ok(())
    }

    /// The image with the values that were set as its defaults, so that they are not lost in a file.
    pub(super) fn with_constants(&self) -> Result<DeviceImage<'static>, BundleError> {
        let mut image = DeviceImage::clone(&self.image);
        if self.constants.is_empty() {
            return Ok(image);
        }
        let constants = constants(&image);
        let size = constants
            .last()
            .map(|last| last.start.saturating_add(last.size()));
        let mut values = defaults(&image).to_vec();
        // The sizes are those of a file, which may say anything.
        if size.is_some_and(|size| size > values.len().max(MOST_DEFAULTS)) {
            let error = offkit_object::Error::unsupported("the specialization constants are too large");
            return Err(BundleError::Write(Box::new(error)));
        }
        values.resize(size.unwrap_or_default().max(values.len()), 0);
        for constant in &constants {
            let end = constant.start.saturating_add(constant.size());
            if let (Some(value), Some(place)) = (
                self.constants.get(constant.name),
                values.get_mut(constant.start..end),
            ) {
                place.copy_from_slice(value);
            }
        }
        let values = ByteArray::new(values);
        image
            .properties
            .insert(names::SPECIALIZATION_CONSTANT_DEFAULTS, "all", values);
        // The SYCL runtime takes defaults for what the code has already, and tells the device only what is set.
        if image.format == ImageFormat::Spirv {
            let write_error = |error| BundleError::Write(Box::new(error));
            let module = Module::from_bytes(image.bytes().map_err(write_error)?);
            let mut module = module.map_err(|error| BundleError::Write(Box::new(error)))?;
            set_defaults(&mut module, &self.values());
            image.code = module.to_bytes().into();
        }
        Ok(image)
    }
}

impl<S> KernelBundle<S> {
    /// The symbolic names of the specialization constants, each once, in the order of the images.
    pub fn specialization_constants(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for image in self.images() {
            for constant in constants(image) {
                if !names.contains(&constant.name) {
                    names.push(constant.name);
                }
            }
        }
        names
    }

    /// The value of a specialization constant: the one that was set, or else its default; `None` where neither is
    /// known, or there is no such constant.
    pub fn specialization_constant(&self, name: &str) -> Option<Vec<u8>> {
        let mut parts = self.units.iter().flat_map(|unit| &unit.parts);
        parts.find_map(|part| {
            let set = part.constants.get(name).cloned();
            set.or_else(|| default_value(&part.image, name))
        })
    }
}

fn default_value(image: &DeviceImage<'_>, name: &str) -> Option<Vec<u8>> {
    let constants = constants(image);
    let constant = constants.iter().find(|constant| constant.name == name)?;
    default_of(image, constant).map(<[u8]>::to_vec)
}

impl KernelBundle<Input> {
    /// Sets the value of a specialization constant by its symbolic name, as its bytes in memory, in all images that have
    /// it.
    ///
    /// # Errors
    ///
    /// [`BundleError::NoConstant`], and [`BundleError::ConstantSize`] where the value has another size.
    pub fn set_specialization_constant(&mut self, name: &str, value: &[u8]) -> Result<(), BundleError> {
        let size = |part: &Part| {
            let constants = constants(&part.image);
            let constant = constants.iter().find(|constant| constant.name == name);
            constant.map(Constant::size)
        };
        // All sizes are looked at before anything is set: an error leaves the bundle as it was.
        let parts = self.units.iter().flat_map(|unit| &unit.parts);
        let sizes: Vec<_> = parts.map(size).collect();
        if let Some(&expected) = sizes.iter().flatten().find(|size| **size != value.len()) {
            return Err(BundleError::ConstantSize {
                name: name.to_owned(),
                expected,
                given: value.len(),
            });
        }
        for unit in &mut self.units {
            if !unit.parts.iter().any(|part| size(part).is_some()) {
                continue;
            }
            let mut parts = unit.parts.clone();
            for part in &mut parts {
                if size(part).is_none() {
                    continue;
                }
                part.constants.insert(name.to_owned(), value.to_owned());
            }
            // A new unit: clones of the bundle share the old one, and keep the values they have.
            *unit = Arc::new(Unit::new(&unit.device, parts));
        }
        match sizes.iter().any(Option::is_some) {
            true => Ok(()),
            false => Err(BundleError::NoConstant {
                name: name.to_owned(),
                known: self
                    .specialization_constants()
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            }),
        }
    }
}
