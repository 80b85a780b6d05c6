//! Programs that a device's driver has built, kept on disk.
//!
//! What a driver makes of images depends on a lot, and all of it is in the key: the images in their order, what compiler
//! and linker are told, the values of specialization constants, the device, the plugin, and for a processor what it can
//! do. The libraries that the driver has loaded by the time it is done are with the entry: where one of them is another
//! now, the entry does not count. A driver that does not give its machine code, or does not take it back, builds every
//! time.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Debug;

use offkit_cache::{Cache, Entry, FileId, Key, Kind, mapped_libraries};
use offkit_host::processor;
use offkit_object::{DeviceImage, ImageFormat};
use offkit_pi::host::{Context, Device, DeviceType, PiError, Program};

use crate::build::compile_options;

/// Beginnings of the names of environment variables that drivers read.
const DRIVER_VARIABLES: [&str; 17] = [
    "AMD_",
    "CLC_",
    "CL_CONFIG_",
    "CUDA_",
    "GALLIVM_",
    "GPU_",
    "HIP_",
    "IGC_",
    "INTEL_",
    "LP_",
    "NEO",
    "NV_",
    "OCL_",
    "POCL_",
    "RUSTICL_",
    "UR_",
    "ZE_",
];

/// Whether a device's compiler takes the code: everything else is native code.
pub(crate) fn is_compiled_at_run_time(image: &DeviceImage<'_>) -> bool {
    matches!(
        image.format,
        ImageFormat::Spirv | ImageFormat::Bitcode | ImageFormat::Ptx
    )
}

/// Values of specialization constants, by their names.
pub(crate) type Constants = BTreeMap<String, Vec<u8>>;

/// None that were set.
pub(crate) static NO_CONSTANTS: Constants = BTreeMap::new();

/// What a program is built from.
#[derive(Clone, Debug)]
pub(crate) struct Recipe<'a> {
    /// The images, in their order, with the values of specialization constants that were set.
    pub(crate) images: Vec<(&'a DeviceImage<'static>, &'a Constants)>,
    /// What the linker is told.
    pub(crate) link_options: String,
}

impl Recipe<'_> {
    /// The program for a device: one that was kept, or what `make` makes, which is kept then.
    pub(crate) fn build<E>(
        &self,
        context: &Context,
        device: &Device,
        make: impl FnOnce() -> Result<Program, E>,
    ) -> Result<Program, E> {
        let cache = Cache::user();
        let key = Some(())
            .filter(|()| cache.is_on())
            .and_then(|()| self.key(device));
        let Some(key) = key else { return make() };
        let missing = match cache.get_or_claim(&key) {
            Err(missing) => Some(missing),
            Ok(entry) if !is_of_what_is_loaded(&entry) => None,
            Ok(entry) => match load(&entry, context, device) {
                Ok(program) => return Ok(program),
                Err(error) => {
                    tracing::warn!(%error, "the driver does not take back a program that it has built");
                    None
                }
            },
        };
        let program = make()?;
        if let (Some(binary), Some(libraries)) = (binary(&program, device), mapped_libraries()) {
            match missing {
                Some(missing) => missing.put(&libraries, &binary),
                None => cache.put(&key, &libraries, &binary),
            }
        }
        Ok(program)
    }

    /// All that the result depends on; `None` for what is not worth keeping: code that nobody compiles, or that a plugin
    /// does not give back.
    pub(crate) fn key(&self, device: &Device) -> Option<Key> {
        // What is linked into this program interprets.
        device.plugin().path()?;
        if !self
            .images
            .iter()
            .any(|(image, _)| is_compiled_at_run_time(image))
        {
            return None;
        }
        let names = self.images.iter().map(|(image, _)| image.location.to_string());
        let names: Vec<String> = names.collect();
        let mut key = Key::new(Kind::Program, names.join(" + ")).text("offkit", env!("CARGO_PKG_VERSION"));
        for (number, (image, constants)) in self.images.iter().enumerate() {
            let number = number.saturating_add(1);
            key = key
                .text(
                    format!("format of image {number}"),
                    format_args!("{:?}", image.format),
                )
                .bytes(format!("image {number}"), image.bytes().ok()?)
                .text(
                    format!("compile options of image {number}"),
                    compile_options(image),
                );
            for (name, value) in *constants {
                key = key.bytes(format!("specialization constant {name} of image {number}"), value);
            }
        }
        key = key.text("link options", &self.link_options);
        Some(of_device(key, device))
    }
}

/// With all that tells a device and its driver from others.
fn of_device(key: Key, device: &Device) -> Key {
    let platform = device.platform();
    let mut key = key
        .text("platform", answer(platform.name()))
        .text("platform version", answer(platform.version()))
        .text("device", answer(device.name()))
        .text("device vendor", answer(device.vendor()))
        .text("driver version", answer(device.driver_version()))
        .bytes("device extensions", answer(device.extensions()).as_bytes());
    if let Some(plugin) = device.plugin().path().and_then(FileId::of) {
        key = key.text(format!("plugin {}", plugin.path.display()), plugin.identity);
    }
    if device.device_type().is_ok_and(|kind| kind == DeviceType::Cpu) {
        key = key.bytes("processor", processor().as_bytes());
    }
    let mut variables: Vec<_> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| DRIVER_VARIABLES.iter().any(|begin| name.starts_with(begin)))
        // Which drivers there are: the one that counts is asked itself.
        .filter(|(name, _)| !name.starts_with("OCL_ICD_"))
        .collect();
    variables.sort();
    for (name, value) in variables {
        key = key.text(format!("variable {name}"), value.display());
    }
    key
}

/// What a device says, or that it says nothing.
fn answer<T: Debug>(answer: Result<T, PiError>) -> String {
    answer.map_or_else(|_| "unknown".to_owned(), |answer| format!("{answer:?}"))
}

/// Whether the libraries that this process has loaded are those that the entry was made with, as far as it had them too:
/// another copy of a driver may be loaded than the one that has built the program.
fn is_of_what_is_loaded(entry: &Entry) -> bool {
    let Some(libraries) = mapped_libraries() else {
        return false;
    };
    libraries.iter().all(|library| {
        let name = library.path.file_name();
        let files = entry.header.files.iter();
        let mut alike = files.filter(|file| file.path.file_name() == name).peekable();
        // A process may have several of one name.
        let is_it = alike.peek().is_none() || alike.any(|file| file.identity == library.identity);
        if !is_it {
            let library = library.path.display();
            tracing::debug!(%library, "a driver library changed: the program is built again");
        }
        is_it
    })
}

/// The machine code for a device, if the driver gives it.
fn binary(program: &Program, device: &Device) -> Option<Vec<u8>> {
    let place = program
        .context()
        .devices()
        .iter()
        .position(|other| other == device)?;
    let binaries = program.binaries().ok()?;
    binaries
        .into_iter()
        .nth(place)
        .filter(|binary| !binary.is_empty())
}

/// A program of machine code.
fn load(binary: &[u8], context: &Context, device: &Device) -> Result<Program, PiError> {
    let program = context.program_with_binary(device, binary)?;
    program.build_for(&[device], "")?;
    Ok(program)
}
