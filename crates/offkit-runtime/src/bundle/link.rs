//! From one state to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use offkit_object::{Inspect, Limits};
use offkit_pi::ffi::PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO;
use offkit_pi::host::{Context, Device, Program};

use super::choose::is_compiled_at_run_time;
use super::globals::Values;
use super::groups::Linking;
use super::unit::{Image, Part, Unit};
use super::{BundleError, Executable, Input, KernelBundle, Object, common};
use crate::build::{BuildError, compile_options, create, link_options};
use crate::built::Recipe;
use crate::rule::ExporterRule;
use crate::select::name;

/// Tells Level Zero's compiler that code is to be linked with other code.
const LIBRARY_COMPILATION: &str = "-library-compilation";

/// How bundles are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkProperties {
    /// Takes native code where the bundles' files have it beside code for the device's compiler, and all that it needs
    /// is there as native code too.
    pub fast_link: bool,
    /// Who supplies a symbol that several images export. A library is what a bundle has of one file; they come in the order
    /// of the bundles, and of the files in each.
    pub exporter: ExporterRule,
}

impl KernelBundle<Input> {
    /// Compiles all images, each for its device.
    ///
    /// # Errors
    ///
    /// [`BundleError::Build`] for code that the device's compiler refuses.
    pub fn compile(&self) -> Result<KernelBundle<Object>, BundleError> {
        let units = self.units.iter().map(|unit| {
            // Until it is linked, a unit has one part.
            let program = unit.parts[0].compiled(&unit.device, &self.context)?;
            Ok(Arc::new(
                Unit::new(&unit.device, unit.parts.clone()).with_program(program),
            ))
        });
        let units = units.collect::<Result<_, BundleError>>()?;
        Ok(KernelBundle::of(
            self.context.clone(),
            self.devices.clone(),
            units,
        ))
    }

    /// Compiles all images and links those that need each other.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile) and [`link`](KernelBundle::link).
    pub fn build(&self) -> Result<KernelBundle<Executable>, BundleError> {
        self.build_with(LinkProperties::default())
    }

    /// The same, linked in a way that properties say.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_with(&self, properties: LinkProperties) -> Result<KernelBundle<Executable>, BundleError> {
        // Objects by name, to be compiled when the groups are known: an image by itself is built in
        // one step then, and what was built before comes from the cache.
        let objects = KernelBundle::of(self.context.clone(), self.devices.clone(), self.units.clone());
        KernelBundle::link_with(&[&objects], None, properties)
    }
}

impl KernelBundle<Object> {
    /// Links the images of bundles of one context, for these of their devices, or for all that they have in common.
    /// Images that do not need each other stay programs of their own.
    ///
    /// # Errors
    ///
    /// Bundles of different contexts, or without a device in common; a symbol that no image exports, or several do; what
    /// the device's linker refuses.
    pub fn link(
        bundles: &[&Self],
        devices: Option<&[Device]>,
    ) -> Result<KernelBundle<Executable>, BundleError> {
        Self::link_with(bundles, devices, LinkProperties::default())
    }

    /// The same, in a way that properties say.
    ///
    /// # Errors
    ///
    /// As [`link`](Self::link).
    pub fn link_with(
        bundles: &[&Self],
        devices: Option<&[Device]>,
        properties: LinkProperties,
    ) -> Result<KernelBundle<Executable>, BundleError> {
        let (context, common) = common(bundles)?;
        let devices = devices.unwrap_or(&common);
        if devices.is_empty() {
            return Err(BundleError::NoDevice);
        }
        if let Some(foreign) = devices.iter().find(|device| !common.contains(device)) {
            return Err(BundleError::ForeignDevice {
                device: name(foreign),
            });
        }
        let mut linked = Vec::new();
        for device in devices {
            let units = bundles.iter().enumerate().flat_map(|(number, bundle)| {
                let units = bundle.units.iter().filter(|unit| unit.device == *device);
                units.map(move |unit| (number, unit))
            });
            let (numbers, units): (Vec<_>, Vec<_>) = units.unzip();
            let images = match properties.fast_link {
                true => native_where_it_links(&units),
                false => units.iter().map(|unit| &unit.parts[0].image).collect(),
            };
            let images: Vec<_> = numbers.into_iter().zip(images).collect();
            let linking = Linking {
                device,
                rule: properties.exporter,
                is_complete: true,
                images: &images,
            };
            // One for all programs of the device: a global has one value there.
            let values = Arc::<Values>::default();
            for group in linking.groups()? {
                // A form that was not chosen when the file was opened is not what was compiled, nor is one whose symbols
                // have other names now.
                let compiled = |(number, image): &(usize, Image)| {
                    let is_the_form = Arc::ptr_eq(image, &units[*number].parts[0].image);
                    is_the_form.then(|| units[*number].made()).flatten()
                };
                let compiled: Vec<Option<Program>> = group.iter().map(compiled).collect();
                let parts = group.into_iter().map(|(number, image)| Part {
                    image,
                    constants: units[number].parts[0].constants.clone(),
                });
                let mut unit = Unit::new(device, parts.collect());
                unit.values = Arc::clone(&values);
                let program = match compiled.iter().any(Option::is_some) {
                    false => unit.build(&context)?,
                    true => unit.executable(&context, || {
                        let parts = compiled.into_iter().zip(&unit.parts).map(|(program, part)| {
                            program.map_or_else(|| part.compiled(device, &context), Ok)
                        });
                        unit.link(&parts.collect::<Result<Vec<_>, _>>()?, &context)
                    })?,
                };
                linked.push(Arc::new(unit.with_program(program)));
            }
        }
        Ok(KernelBundle::of(context, devices.to_vec(), linked))
    }
}

/// The native form of each image that has one, but not where another image needs it in the other form, or it needs
/// what is there in the other form alone.
fn native_where_it_links<'a>(units: &[&'a Arc<Unit>]) -> Vec<&'a Image> {
    let mut chosen: Vec<&Image> = units
        .iter()
        .map(|unit| unit.native.as_ref().unwrap_or(&unit.parts[0].image))
        .collect();
    loop {
        // One that goes back to the other form may take the symbols of others along: again, until nothing changes.
        // None becomes native again, so this ends.
        let links: Vec<_> = chosen
            .iter()
            .map(|image| image.links(&Limits::default()))
            .collect();
        let mut exported: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
        for (image, [_, exports]) in chosen.iter().zip(&links) {
            for export in exports {
                let forms = exported.entry(export).or_default();
                forms.insert(is_compiled_at_run_time(image));
            }
        }
        // Symbols that are needed in one form and there in the other.
        let mut split = BTreeSet::new();
        for (image, [imports, _]) in chosen.iter().zip(&links) {
            let in_form = is_compiled_at_run_time(image);
            let elsewhere = imports.iter().filter(|import| {
                let forms = exported.get(**import);
                !forms.is_some_and(|forms| forms.contains(&in_form))
            });
            split.extend(elsewhere.copied());
        }
        let is_split = |(image, [imports, exports]): (&&Image, &[Vec<&str>; 2])| {
            let mut symbols = imports.iter().chain(exports);
            !is_compiled_at_run_time(image) && symbols.any(|symbol| split.contains(symbol))
        };
        let back: Vec<bool> = chosen.iter().zip(&links).map(is_split).collect();
        let mut changed = false;
        for ((image, unit), back) in chosen.iter_mut().zip(units).zip(back) {
            let other = &unit.parts[0].image;
            if back && !Arc::ptr_eq(image, other) {
                (*image, changed) = (other, true);
            }
        }
        if !changed {
            return chosen;
        }
    }
}

impl Part {
    /// A program of the image, ready to be linked: compiled, if it is not machine code already.
    fn compiled(&self, device: &Device, context: &Context) -> Result<Program, BundleError> {
        let image = &self.image;
        let program = create(image, context, device)?;
        // Drivers refuse to compile a program of machine code, which has its constants in it, too.
        if !is_compiled_at_run_time(image) {
            return Ok(program);
        }
        self.specialize(&program)?;
        let mut options = compile_options(image);
        let [imports, exports] = image.links(&Limits::default());
        let is_level_zero = || device.platform().backend().ok() == Some(PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO);
        if !(imports.is_empty() && exports.is_empty()) && is_level_zero() {
            options = [&options, LIBRARY_COMPILATION].join(" ").trim_start().to_owned();
        }
        let compiled = program.compile_for(&[device], &options);
        compiled.map_err(|source| BuildError::of_image("compile", image, source))?;
        Ok(program)
    }
}

impl Unit {
    /// The program of an executable, from images that are not compiled yet, or as it was kept.
    pub(super) fn build(&self, context: &Context) -> Result<Program, BundleError> {
        self.executable(context, || self.make(context))
    }

    /// The program of an executable, as it was kept, or as `make` makes it.
    fn executable(
        &self,
        context: &Context,
        make: impl FnOnce() -> Result<Program, BundleError>,
    ) -> Result<Program, BundleError> {
        let images = self.parts.iter().map(|part| (&*part.image, &part.constants));
        let recipe = Recipe {
            images: images.collect(),
            link_options: self.link_options(),
        };
        let program = recipe.build(context, &self.device, make)?;
        self.place_globals(&program, context)?;
        Ok(program)
    }

    fn make(&self, context: &Context) -> Result<Program, BundleError> {
        let [part] = self.parts.as_slice() else {
            let parts = self.parts.iter().map(|part| part.compiled(&self.device, context));
            return self.link(&parts.collect::<Result<Vec<_>, _>>()?, context);
        };
        let image = &part.image;
        let program = create(image, context, &self.device)?;
        // In machine code the constants have their values.
        if is_compiled_at_run_time(image) {
            part.specialize(&program)?;
        }
        let options = [compile_options(image), self.link_options()].join(" ");
        let built = program.build_for(&[&self.device], options.trim());
        built.map_err(|source| BuildError::of_image("build", image, source))?;
        Ok(program)
    }

    fn link_options(&self) -> String {
        let images: Vec<Image> = self.images().cloned().collect();
        link_options(&images)
    }

    fn link(&self, parts: &[Program], context: &Context) -> Result<Program, BundleError> {
        let parts: Vec<&Program> = parts.iter().collect();
        let linked = context.link_for(&[&self.device], &parts, &self.link_options());
        let linked = linked.map_err(|source| BuildError::Images {
            action: "link",
            images: self.images().map(|image| image.location.clone()).collect(),
            source,
        });
        Ok(linked?)
    }
}
