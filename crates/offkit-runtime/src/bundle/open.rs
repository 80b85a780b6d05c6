//! Bundles of files, of images, and of SPIR-V.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offkit_image::{BundleState, ContainerKind};
use offkit_object::{DeviceImage, ImageFormat, Item, Limits, SharedBytes, walk};
use offkit_pi::ffi::{PI_DEVICE_INFO_COMPILER_AVAILABLE, PI_DEVICE_INFO_LINKER_AVAILABLE};
use offkit_pi::host::{Context, Device};

use super::choose::Chooser;
use super::globals::Values;
use super::groups::Linking;
use super::unit::{Image, Part, Unit};
use super::{BundleError, Input, KernelBundle, State};
use crate::index::NameId;
use crate::registry::{ImageRegistry, Wanted};
use crate::rule::ExporterRule;
use crate::select::name;
use crate::source::ImageError;

/// The forms of one module's code.
type Forms = Vec<Image>;

impl<S: State> KernelBundle<S> {
    /// A bundle of a SYCLBIN file. It has the kernels that one of the devices takes, at least.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is no SYCLBIN or is in another state; devices that are not the context's, or cannot do
    /// what the state needs.
    pub fn open(
        context: &Context,
        devices: &[Device],
        path: impl AsRef<Path>,
        limits: &Limits,
    ) -> Result<Self, BundleError> {
        let path = path.as_ref();
        let file = path.to_string_lossy();
        // Read and not mapped: a bundle lives long, in programs of others, and what is cut off a
        // mapped file ends the process that looks at it.
        let bytes = std::fs::read(path).map_err(|source| BundleError::Read {
            file: file.clone().into_owned(),
            source,
        })?;
        Self::from_bytes(context, devices, &file, Arc::new(bytes), limits)
    }

    /// The same of a SYCLBIN in memory, which messages call `file`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_bytes(
        context: &Context,
        devices: &[Device],
        file: &str,
        bytes: SharedBytes,
        limits: &Limits,
    ) -> Result<Self, BundleError> {
        check::<S>(context, devices)?;
        let (state, modules) = modules(file, &bytes, limits)?;
        if state != S::STATE {
            return Err(BundleError::State {
                file: file.to_owned(),
                is: state,
                asked: S::STATE,
            });
        }
        Self::choose(context, devices, &modules, ExporterRule::default())
    }

    /// A bundle of all images of a registry that one of the devices takes. Images of one file or program with the same
    /// kernels and symbols are forms of the same code. In an executable, the registry's rule says who supplies a symbol.
    ///
    /// # Errors
    ///
    /// Images that cannot be read; devices that are not the context's, or cannot do what the state needs.
    pub fn registered(
        context: &Context,
        devices: &[Device],
        registry: &ImageRegistry,
    ) -> Result<Self, BundleError> {
        check::<S>(context, devices)?;
        registry.read_names(Wanted::Kernels);
        registry.read_names(Wanted::Links);
        let mut modules: Vec<Forms> = Vec::new();
        let mut known = HashMap::new();
        // Names get other numbers when libraries go, so all are asked for at once.
        let images: Vec<_> = {
            let state = registry.read();
            let names = |id| {
                let (library, position) = state.line(id)?;
                Some((id, library.names(position).map(<[NameId]>::to_vec)))
            };
            state.images().filter_map(names).collect()
        };
        for (id, names) in images {
            let image = match registry.image(id) {
                Ok(image) => Arc::new(image),
                // Its library was unloaded meanwhile.
                Err(ImageError::Withdrawn) => continue,
                Err(error) => return Err(error.into()),
            };
            let is_named = names.iter().any(|list| !list.is_empty());
            let names = (image.location.file().to_owned(), names);
            match known.get(&names) {
                Some(&module) if is_named => {
                    let forms: &mut Forms = &mut modules[module];
                    forms.push(image);
                }
                _ => {
                    known.insert(names, modules.len());
                    modules.push(vec![image]);
                }
            }
        }
        Self::choose(context, devices, &modules, registry.exporter_rule())
    }

    /// Takes of each module the form that goes with the state, for each device.
    fn choose(
        context: &Context,
        devices: &[Device],
        modules: &[Forms],
        rule: ExporterRule,
    ) -> Result<Self, BundleError> {
        let mut units = Vec::new();
        for device in devices {
            let mut chooser = Chooser::new(device);
            let mut chosen = Vec::new();
            for forms in modules {
                // A module that the device takes in no form is left out: others may take it.
                let form = chooser.form(forms, S::STATE)?.cloned();
                chosen.extend(form.map(|form| (form, forms)));
            }
            match S::STATE {
                // What was linked when the file was made stays as it is; images of a program that is running may still
                // need each other.
                BundleState::Executable => {
                    let images: Vec<_> = chosen.iter().map(|(image, _)| (0, image)).collect();
                    let linking = Linking {
                        device,
                        rule,
                        is_complete: false,
                        images: &images,
                    };
                    // One for all programs of the device: a global has one value there.
                    let values = Arc::<Values>::default();
                    for group in linking.groups()? {
                        let parts = group.into_iter().map(|(_, image)| Part::from(image));
                        let mut unit = Unit::new(device, parts.collect());
                        unit.values = Arc::clone(&values);
                        units.push(unit);
                    }
                }
                state => {
                    for (image, forms) in chosen {
                        let mut unit = Unit::new(device, vec![Part::from(image)]);
                        if state == BundleState::Object {
                            unit.native = chooser.native_form(forms)?.cloned();
                        }
                        units.push(unit);
                    }
                }
            }
        }
        let units = units.into_iter().map(Arc::new).collect();
        Ok(Self::of(context.clone(), devices.to_vec(), units))
    }
}

impl KernelBundle<Input> {
    /// A bundle of one SPIR-V module, which messages call `file`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); bytes that are no SPIR-V.
    pub fn from_spirv(
        context: &Context,
        devices: &[Device],
        file: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<Self, BundleError> {
        check::<Input>(context, devices)?;
        let mut image = DeviceImage::new(bytes.into());
        image.location = offkit_object::Location::of_file(file);
        if image.format != ImageFormat::Spirv {
            return Err(BundleError::NotSpirv {
                file: file.to_owned(),
            });
        }
        let modules = [vec![Arc::new(image)]];
        Self::choose(context, devices, &modules, ExporterRule::default())
    }
}

/// The number of the next module of this process: forms of one code stay together when a bundle is written, and bundles
/// of several files are written as one.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The state of a SYCLBIN, and its modules.
fn modules(
    file: &str,
    bytes: &SharedBytes,
    limits: &Limits,
) -> Result<(BundleState, Vec<Forms>), BundleError> {
    let mut state = None;
    let mut modules: Vec<Forms> = Vec::new();
    let (mut last, mut number) = (None, 0);
    let mut problem = None;
    let _ = walk(file, (**bytes).as_ref(), None, limits, &mut |item| {
        match item {
            Item::Container(container) if container.kind == ContainerKind::SyclBin => {
                state = state.or(container.program.map(|program| program.state));
            }
            Item::Image(image) => {
                let module = image.location.parts().next().map(|part| part.into_owned());
                // A file has the images of a module one behind the other.
                if module != last {
                    // All that counts is that no two modules get the same.
                    number = NUMBER.fetch_add(1, Ordering::Relaxed);
                    modules.push(Vec::new());
                    last = module;
                }
                let mut image = image.share(bytes);
                image.form_of = Some(number);
                if let Some(forms) = modules.last_mut() {
                    forms.push(Arc::new(image));
                }
            }
            Item::Problem(found) => {
                problem = Some(found.error);
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match (problem, state) {
        (None, Some(state)) => Ok((state, modules)),
        (source, _) => Err(BundleError::NotSyclBin {
            file: file.to_owned(),
            source,
        }),
    }
}

/// Checks that the devices are the context's, or parts of them, and that the context's can do what bundles of the state need.
fn check<S: State>(context: &Context, devices: &[Device]) -> Result<(), BundleError> {
    if devices.is_empty() {
        return Err(BundleError::NoDevice);
    }
    if let Some(foreign) = devices.iter().find(|device| !context.has(device)) {
        return Err(BundleError::ForeignDevice {
            device: name(foreign),
        });
    }
    let (lacks, query) = match S::STATE {
        BundleState::Input => ("online compiler", PI_DEVICE_INFO_COMPILER_AVAILABLE),
        BundleState::Object => ("online linker", PI_DEVICE_INFO_LINKER_AVAILABLE),
        BundleState::Executable => return Ok(()),
    };
    // One that does not say is believed to have it.
    let is_unable = |device: &&Device| device.info_integer(query).is_ok_and(|answer| answer == 0);
    match context.devices().iter().find(is_unable) {
        None => Ok(()),
        Some(unable) => Err(BundleError::Unable {
            device: name(unable),
            lacks,
            state: S::STATE,
        }),
    }
}
