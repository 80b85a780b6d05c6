//! Programs that a device's driver has built, kept on disk.
//!
//! What a driver makes of images depends on a lot, and all of it is in the key: the images in their order, what compiler
//! and linker are told, the values of specialization constants, the device, the plugin, and for a processor what it can
//! do. The libraries that the driver has loaded by the time it is done are with the entry: where one of them is another
//! now, the entry does not count. A driver that does not give its machine code, or does not take it back, builds every
//! time.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
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
    // Without an underscore: Intel's driver reads `NEOReadDebugKeys`.
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
        // `missing` lives on meanwhile, and has other machines wait for what is made here.
        let program = make()?;
        // Which libraries are loaded is asked only now: many drivers load their compiler to build.
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
        self.key_on(DeviceInputs::of(device))
    }

    /// The key of what a device makes of it. A field that is not looked at here is an error of the compiler's.
    fn key_on(&self, device: DeviceInputs) -> Option<Key> {
        let Self { images, link_options } = self;
        let names = images.iter().map(|(image, _)| image.location.to_string());
        let names: Vec<String> = names.collect();
        let mut key = Key::new(Kind::Program, names.join(" + ")).text("offkit", env!("CARGO_PKG_VERSION"));
        for (number, (image, constants)) in images.iter().enumerate() {
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
        Some(device.add_to(key.text("link options", link_options)))
    }
}

/// All that tells a device and its driver from others.
#[derive(Clone, Debug)]
struct DeviceInputs {
    platform: String,
    platform_version: String,
    device: String,
    vendor: String,
    driver_version: String,
    extensions: String,
    plugin: Option<FileId>,
    /// What the processor can do, for a device that is one.
    processor: Option<String>,
    /// Environment variables that drivers read, in order.
    variables: Vec<(String, OsString)>,
}

impl DeviceInputs {
    fn of(device: &Device) -> Self {
        let platform = device.platform();
        let is_processor = device.device_type().is_ok_and(|kind| kind == DeviceType::Cpu);
        let mut variables: Vec<_> = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| DRIVER_VARIABLES.iter().any(|begin| name.starts_with(begin)))
            // Which drivers there are: the one that counts is asked itself.
            .filter(|(name, _)| !name.starts_with("OCL_ICD_"))
            .collect();
        variables.sort();
        Self {
            platform: answer(platform.name()),
            platform_version: answer(platform.version()),
            device: answer(device.name()),
            vendor: answer(device.vendor()),
            driver_version: answer(device.driver_version()),
            extensions: answer(device.extensions()),
            plugin: device.plugin().path().and_then(FileId::of),
            processor: is_processor.then(|| processor().to_owned()),
            variables,
        }
    }

    fn add_to(self, key: Key) -> Key {
        let Self {
            platform,
            platform_version,
            device,
            vendor,
            driver_version,
            extensions,
            plugin,
            processor,
            variables,
        } = self;
        let mut key = key
            .text("platform", platform)
            .text("platform version", platform_version)
            .text("device", device)
            .text("device vendor", vendor)
            .text("driver version", driver_version)
            .bytes("device extensions", extensions.as_bytes());
        if let Some(FileId { path, identity }) = plugin {
            key = key.text(format!("plugin {}", path.display()), identity);
        }
        if let Some(processor) = processor {
            key = key.bytes("processor", processor.as_bytes());
        }
        for (name, value) in variables {
            key = key.text(format!("variable {name}"), value.display());
        }
        key
    }
}

/// What a device says, or that it says nothing.
fn answer<T: Debug>(answer: Result<T, PiError>) -> String {
    // Answers are in quotes, so that one that is called `unknown` is none that says nothing.
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
        // One that the entry has none of was loaded for something else.
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
    // Binaries come in the order of the context's devices.
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
    // OpenCL gives kernels only of programs that were built, also where there is nothing left to compile.
    program.build_for(&[device], "")?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A recipe in parts that can be changed.
    #[derive(Clone)]
    struct Made {
        images: Vec<(DeviceImage<'static>, Constants)>,
        link_options: String,
        device: DeviceInputs,
    }

    impl Made {
        fn key(&self) -> Key {
            let recipe = Recipe {
                images: self
                    .images
                    .iter()
                    .map(|(image, constants)| (image, constants))
                    .collect(),
                link_options: self.link_options.clone(),
            };
            recipe.key_on(self.device.clone()).expect("images with bytes")
        }
    }

    /// Names of the inputs that one key has otherwise than another.
    fn changed(before: &Key, after: &Key) -> BTreeSet<String> {
        let (before, after) = (&before.inputs, &after.inputs);
        let only = before.iter().filter(|input| !after.contains(input));
        let new = after.iter().filter(|input| !before.contains(input));
        only.chain(new).map(|input| input.name.clone()).collect()
    }

    #[test]
    fn whatever_a_program_is_built_from_makes_another_key() {
        let image = |bytes: &[u8]| DeviceImage::new(bytes.to_vec());
        let constants = Constants::from([("factor".to_owned(), vec![1])]);
        let base = Made {
            images: vec![(image(b"one"), constants), (image(b"two"), Constants::new())],
            link_options: "-a".to_owned(),
            device: DeviceInputs {
                platform: "platform".to_owned(),
                platform_version: "1".to_owned(),
                device: "device".to_owned(),
                vendor: "vendor".to_owned(),
                driver_version: "1".to_owned(),
                extensions: "one".to_owned(),
                plugin: Some(FileId {
                    path: "plugin.so".into(),
                    identity: "1".to_owned(),
                }),
                processor: Some("sse2".to_owned()),
                variables: vec![("POCL_WORK_GROUP_METHOD".to_owned(), "loops".into())],
            },
        };
        type Change = fn(&mut Made);
        let changes: &[Change] = &[
            |made| made.images.swap(0, 1),
            |made| made.images[0].0 = DeviceImage::new(b"other".to_vec()),
            |made| made.images[1].0 = DeviceImage::new(b"other".to_vec()),
            |made| made.images[0].0.format = ImageFormat::Ptx,
            |made| made.images[1].0.format = ImageFormat::Ptx,
            |made| made.images[0].0.strings.set("compile-opts", "-g".to_owned()),
            |made| made.images[1].0.strings.set("compile-opts", "-g".to_owned()),
            |made| made.images[0].1 = Constants::from([("factor".to_owned(), vec![2])]),
            |made| made.images[0].1 = Constants::new(),
            |made| made.images[1].1 = Constants::from([("factor".to_owned(), vec![1])]),
            |made| made.images.truncate(1),
            |made| made.link_options.push('b'),
            |made| made.device.platform.push('2'),
            |made| made.device.platform_version.push('2'),
            |made| made.device.device.push('2'),
            |made| made.device.vendor.push('2'),
            |made| made.device.driver_version.push('2'),
            |made| made.device.extensions.push('2'),
            |made| made.device.plugin.as_mut().unwrap().identity.push('2'),
            |made| made.device.plugin.as_mut().unwrap().path.push("other"),
            |made| made.device.plugin = None,
            |made| made.device.processor = Some("avx2".to_owned()),
            |made| made.device.processor = None,
            |made| made.device.variables[0].0.push('2'),
            |made| made.device.variables[0].1 = "workitems".into(),
            |made| made.device.variables.clear(),
        ];
        let key = base.key();
        let mut seen = BTreeSet::from([key.digest()]);
        let mut touched = BTreeSet::from(["offkit".to_owned()]);
        for (number, change) in changes.iter().enumerate() {
            let mut other = base.clone();
            change(&mut other);
            let other = other.key();
            assert!(
                seen.insert(other.digest()),
                "change {number} makes no key of its own"
            );
            touched.extend(changed(&key, &other));
        }
        let untouched: Vec<_> = key
            .inputs
            .iter()
            .filter(|input| !touched.contains(&input.name))
            .collect();
        assert!(untouched.is_empty(), "no change of {untouched:?}");
    }
}
