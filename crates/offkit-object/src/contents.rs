//! Reading a whole file into memory: all its images at once.

use std::ops::ControlFlow;

use offkit_image::property_set::PropertySets;
use offkit_image::{BundleState, ContainerKind, DeviceImage, Limits, Problem};

use crate::syclbin::SyclBinVersion;
use crate::walk::{Item, walk};

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

/// The images of a file, and what is wrong with it, in the order of the file: what [`read`] finds, for those who need
/// nothing else.
///
/// All are collected, as a walk meets images from within what it unpacks, which it does not keep; where that is too
/// much, [`walk`] hands over one after the other.
///
/// ```
/// use offkit_object::Limits;
///
/// let spirv = b"\x03\x02\x23\x07\0\0\x01\0";
/// for image in offkit_object::images("kernel.spv", spirv, &Limits::default()) {
///     assert_eq!(image?.size(), 8);
/// }
/// # Ok::<(), offkit_object::Problem>(())
/// ```
pub fn images<'data>(
    file_name: &str,
    bytes: &'data [u8],
    limits: &Limits,
) -> Vec<Result<DeviceImage<'data>, Problem>> {
    let mut found = Vec::new();
    // The visitor never breaks off, and problems are items: the result has nothing to say.
    let _ = walk(file_name, bytes, None, limits, &mut |item| {
        match item {
            Item::Image(image) => found.push(Ok(image.rebase(bytes))),
            Item::Problem(problem) => found.push(Err(problem)),
            Item::Container(_) => {}
        }
        ControlFlow::Continue(())
    });
    found
}

/// Reads every device image out of a file.
///
/// Bytes are borrowed, unless they had to be decompressed, and one bad part does not hide the others: what can
/// be read is returned, with the problems. `file_name` is only used in locations. [`walk`](crate::walk) does
/// the same without keeping everything.
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
    let mut contents = Contents {
        container: ContainerKind::Unknown,
        version: None,
        syclbin_version: None,
        state: None,
        images: Vec::new(),
        properties: PropertySets::new(),
        problems: Vec::new(),
    };
    let _ = walk(file_name, bytes, None, limits, &mut |item| {
        match item {
            Item::Container(container) => {
                // What is unpacked may have the location of the file around it: the outermost comes first, and that is
                // the file.
                if container.location.is_file() && contents.container == ContainerKind::Unknown {
                    contents.container = container.kind;
                    contents.version = container.version;
                    if let Some(program) = container.program {
                        contents.syclbin_version = Some(program.form);
                        contents.state = Some(program.state);
                        contents.properties = program.properties;
                    }
                }
            }
            Item::Image(image) => {
                if image.location.is_file() && contents.container == ContainerKind::Unknown {
                    contents.container = ContainerKind::Image;
                }
                // A walk lends its images for a moment. Those that lie in the file are borrowed
                // from there again; only the others are copied.
                contents.images.push(image.rebase(bytes));
            }
            Item::Problem(problem) => contents.problems.push(problem),
        }
        ControlFlow::Continue(())
    });
    contents
}
