//! Device images into a container of any format.

use offkit_image::{BundleState, DeviceImage, Error, Strings};

use super::{Converted, Item, Losses, bundle, offload, syclbin, write_bundle};
use crate::offload_binary::{ImageKind, OffloadEntry, OffloadKind};
use crate::output_format::OutputFormat;
use crate::syclbin::SyclBin;

/// Puts images into a file of any format. `state` is for a SYCLBIN.
///
/// An offload binary has the strings of each image in their order; before them the triple and the architecture, unless
/// they are among them or not known. Its image kind is that of the image's format. A SYCLBIN has an abstract module for each image,
/// or for neighbours with the same [`form_of`](DeviceImage::form_of). SPIR-V, bitcode and PTX become IR, everything else
/// native images; kernels and symbols that the properties lack are added to these.
///
/// ```
/// use offkit_object::{BundleState, DeviceImage, Limits, OutputFormat, Producer, Target, pack, read};
///
/// let mut image = DeviceImage::new(b"BC\xc0\xde and so on");
/// image.target = Target::new("amdgcn-amd-amdhsa", "gfx90a");
/// image.producer = Producer::Hip;
/// let format: OutputFormat = "bundle".parse().unwrap();
/// let file = pack([image], format, BundleState::Object)?.content.into_bytes();
/// let images = read("k.bundle", &file, &Limits::default()).images;
/// assert_eq!(images[0].target.to_string(), "amdgcn-amd-amdhsa-gfx90a");
/// # Ok::<(), offkit_object::Error>(())
/// ```
///
/// # Errors
///
/// What cannot be written at all, and an image that cannot be decompressed.
pub fn pack<'data>(
    images: impl IntoIterator<Item = DeviceImage<'data>>,
    format: OutputFormat,
    state: BundleState,
) -> Result<Converted<'data>, Error> {
    let images: Vec<_> = images.into_iter().collect();
    let mut losses = Losses::default();
    let content = match format {
        OutputFormat::OffloadBinary(version) => {
            offload::write(items(images, &mut losses)?, version, &mut losses)?
        }
        OutputFormat::Bundle(form) => {
            let items = items(images, &mut losses)?;
            write_bundle(bundle::from_items(&items, &mut losses), form)?
        }
        OutputFormat::SyclBin(version) => {
            for image in &images {
                syclbin::image_losses(image, kind_of(image), &mut losses);
            }
            SyclBin::from_images(state, images)?.write_chunks(version)?
        }
    };
    Ok(Converted {
        content,
        losses: losses.0,
    })
}

/// The images as entries, which have no properties.
fn items<'data>(images: Vec<DeviceImage<'data>>, losses: &mut Losses) -> Result<Vec<Item<'data>>, Error> {
    for image in &images {
        syclbin::property_sets(&image.properties, &image.location, losses);
    }
    images.into_iter().map(Item::of).collect()
}

fn kind_of(image: &DeviceImage<'_>) -> OffloadKind {
    OffloadKind::of(image.producer).unwrap_or(OffloadKind::NONE)
}

impl<'data> Item<'data> {
    fn of(image: DeviceImage<'data>) -> Result<Self, Error> {
        let offload_kind = kind_of(&image);
        let mut strings = Strings::new();
        let target = [
            ("triple", image.target.triple.to_string()),
            ("arch", image.target.arch_with_features()),
        ];
        for (key, value) in target {
            // An own string of this key follows below as it is, and must not be there twice.
            if !value.is_empty() && image.strings.get_bytes(key).is_none() {
                strings.set(key, value);
            }
        }
        for (key, value) in image.strings.iter() {
            strings.push(key.to_owned(), value.to_owned());
        }
        let image_kind = ImageKind::of_format(image.format);
        let mut entry = OffloadEntry::new(image_kind, offload_kind, image.code.into_bytes()?);
        entry.strings = strings;
        Ok(Self {
            location: image.location,
            entry,
        })
    }
}
