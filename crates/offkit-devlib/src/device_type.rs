//! Device types: the short names of what an image is for.

use offkit_image::target::GENERIC;
use offkit_object::{Container, DeviceImage, ImageFormat, Inspect, Limits, Producer, Target, target_of};

/// The short name of what an image is for: `gfx803-hsaco`, `sm_60-cubin`, `spirv64-bc`, and of code for a host its
/// architecture alone, `x86_64`.
#[must_use]
pub fn device_type(image: &DeviceImage<'_>) -> String {
    device_type_of(&target_of(image), image.producer, image.format)
}

fn device_type_of(target: &Target, producer: Producer, format: ImageFormat) -> String {
    let architecture = || target.parts().architecture().to_owned();
    match target.arch_with_features() {
        _ if producer == Producer::Host => architecture(),
        arch if arch.is_empty() || arch == GENERIC => format!("{}-{}", architecture(), kind(format)),
        arch => format!("{arch}-{}", kind(format)),
    }
}

/// All that a file has for one device in one kind of code.
#[derive(Clone, Debug)]
pub struct DeviceType {
    /// Its [short name](device_type).
    pub name: String,
    /// What the code is for.
    pub target: Target,
    /// What the code is.
    pub format: ImageFormat,
    /// The language it was made for.
    pub producer: Producer,
    /// The number of images.
    pub images: usize,
    /// Their size.
    pub bytes: u64,
    /// Their kernels.
    pub kernels: Vec<String>,
    /// What they define for others.
    pub exports: Vec<String>,
    /// What they need and none of them defines.
    pub imports: Vec<String>,
}

impl DeviceType {
    /// Counts a file of the host's code that device code is in.
    pub fn add_host(types: &mut Vec<Self>, container: &Container) {
        let Some(architecture) = container.host else {
            return;
        };
        let target = Target::named(architecture);
        let (format, producer) = (ImageFormat::Elf, Producer::Host);
        let same = types.iter_mut().find(|known| known.name == architecture);
        match same {
            Some(known) => {
                known.images += 1;
                known.bytes += container.size;
            }
            None => types.push(Self {
                name: architecture.to_owned(),
                images: 1,
                bytes: container.size,
                ..Self::empty(target, format, producer)
            }),
        }
    }

    fn empty(target: Target, format: ImageFormat, producer: Producer) -> Self {
        Self {
            name: device_type_of(&target, producer, format),
            target,
            format,
            producer,
            images: 0,
            bytes: 0,
            kernels: Vec::new(),
            exports: Vec::new(),
            imports: Vec::new(),
        }
    }

    /// Counts an image among those of its type; its symbols too, if these are wanted.
    pub fn add(types: &mut Vec<Self>, image: &DeviceImage<'_>, symbols: bool) {
        let target = target_of(image);
        let (format, producer) = (image.format, image.producer);
        let same = types.iter().position(|known| {
            known.target == *target && known.format == format && known.producer == producer
        });
        let at = same.unwrap_or_else(|| {
            types.push(Self::empty(target.into_owned(), format, producer));
            types.len() - 1
        });
        let device = &mut types[at];
        device.images += 1;
        device.bytes += image.size();
        if symbols {
            device.add_symbols(image);
        }
    }

    fn add_symbols(&mut self, image: &DeviceImage<'_>) {
        let names = image.symbols(&Limits::default());
        for (all, new) in [
            (&mut self.kernels, names.kernels),
            (&mut self.exports, names.exports),
            (&mut self.imports, names.imports),
        ] {
            all.extend(new);
            // In order, which the search among the exports below relies on.
            all.sort();
            all.dedup();
        }
        // What one image needs another may have.
        let Self { imports, exports, .. } = self;
        imports.retain(|name| exports.binary_search(name).is_err());
    }
}

/// What a kind of code is called in names of files.
fn kind(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Bitcode => "bc",
        ImageFormat::Amdgpu => "hsaco",
        ImageFormat::Cubin => "cubin",
        ImageFormat::Ptx => "ptx",
        ImageFormat::Spirv => "spv",
        ImageFormat::LtoIr => "ltoir",
        ImageFormat::Zebin => "zebin",
        ImageFormat::Elf => "o",
        ImageFormat::Archive => "a",
        _ => "unknown",
    }
}
