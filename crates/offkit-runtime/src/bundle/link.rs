//! From one state to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use offkit_object::{Inspect, Limits};
use offkit_pi::ffi::PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO;
use offkit_pi::host::{Context, Device, Program};

use super::choose::is_compiled_at_run_time;
use super::globals::Values;
use super::unit::{Image, Part, Unit};
use super::{BundleError, Executable, Input, KernelBundle, Object, common};
use crate::build::{BuildError, compile_options, create, link_options};
use crate::built::Recipe;
use crate::select::name;

/// Tells Level Zero's compiler that code is to be linked with other code.
const LIBRARY_COMPILATION: &str = "-library-compilation";

/// How bundles are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkProperties {
    /// Takes native code where the bundles' files have it beside code for the device's compiler, and all that it needs
    /// is there as native code too.
    pub fast_link: bool,
}

impl KernelBundle<Input> {
    /// Compiles all images, each for its device.
    ///
    /// # Errors
    ///
    /// [`BundleError::Build`] for code that the device's compiler refuses.
    pub fn compile(&self) -> Result<KernelBundle<Object>, BundleError> {
        let units = self.units.iter().map(|unit| {
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
        let objects = KernelBundle::of(self.context.clone(), self.devices.clone(), self.units.clone());
        KernelBundle::link(&[&objects], None)
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
            let units = bundles.iter().flat_map(|bundle| &bundle.units);
            let units: Vec<_> = units.filter(|unit| unit.device == *device).collect();
            let images = match properties.fast_link {
                true => native_where_it_links(&units),
                false => units.iter().map(|unit| &unit.parts[0].image).collect(),
            };
            let values = Arc::<Values>::default();
            for group in components(&images, true)? {
                let parts = group.iter().map(|&number| Part {
                    image: Arc::clone(images[number]),
                    constants: units[number].parts[0].constants.clone(),
                });
                let mut unit = Unit::new(device, parts.collect());
                unit.values = Arc::clone(&values);
                // A form that was not chosen when the file was opened is not what was compiled.
                let compiled = |&number: &usize| {
                    let is_the_form = Arc::ptr_eq(images[number], &units[number].parts[0].image);
                    is_the_form.then(|| units[number].made()).flatten()
                };
                let program = match group.iter().any(|number| compiled(number).is_some()) {
                    false => unit.build(&context)?,
                    true => {
                        let parts = group.iter().zip(&unit.parts).map(|(number, part)| {
                            compiled(number).map_or_else(|| part.compiled(device, &context), Ok)
                        });
                        unit.linked(&parts.collect::<Result<Vec<_>, _>>()?, &context)?
                    }
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
    /// The program of an executable, from images that are not compiled yet, or as it was kept. All programs but those of
    /// objects that were compiled before come from here.
    pub(super) fn build(&self, context: &Context) -> Result<Program, BundleError> {
        let images = self.parts.iter().map(|part| (&*part.image, &part.constants));
        let recipe = Recipe {
            images: images.collect(),
            link_options: self.link_options(),
        };
        let program = recipe.build(context, &self.device, || self.make(context))?;
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

    /// The program of an executable, from images that are compiled.
    fn linked(&self, parts: &[Program], context: &Context) -> Result<Program, BundleError> {
        let program = self.link(parts, context)?;
        self.place_globals(&program, context)?;
        Ok(program)
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

/// Groups of images that need each other, directly or through others, by their places in the list. With `complete`
/// everything they need must be there.
pub(super) fn components(images: &[&Image], complete: bool) -> Result<Vec<Vec<usize>>, BundleError> {
    let links: Vec<_> = images
        .iter()
        .map(|image| image.links(&Limits::default()))
        .collect();
    let mut exporters: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, [_, exports]) in links.iter().enumerate() {
        for export in exports {
            exporters.entry(export).or_default().push(number);
        }
    }
    let mut groups = Groups::new(images.len());
    for (importer, [imports, _]) in links.iter().enumerate() {
        for &symbol in imports {
            let exporting = exporters.get(symbol).map(Vec::as_slice).unwrap_or_default();
            let fits = |other: &&usize| images[**other].format == images[importer].format;
            let fitting: Vec<usize> = exporting.iter().filter(fits).copied().collect();
            let place = |number: &usize| images[*number].location.clone();
            match fitting.as_slice() {
                [only] => groups.unite(importer, *only),
                [] if complete => {
                    return Err(BundleError::NotExported {
                        symbol: symbol.to_owned(),
                        importer: place(&importer),
                        elsewhere: exporting.iter().map(place).collect(),
                    });
                }
                // An image that is there twice, or that another bundle has too, is one.
                [first, others @ ..]
                    if others.iter().all(|other| is_copy(images[*first], images[*other])) =>
                {
                    groups.unite(importer, *first);
                }
                [] => {}
                several => {
                    return Err(BundleError::SeveralExporters {
                        symbol: symbol.to_owned(),
                        exporters: several.iter().map(place).collect(),
                    });
                }
            }
        }
    }
    Ok(groups.members())
}

fn is_copy(one: &Image, other: &Image) -> bool {
    Arc::ptr_eq(one, other)
        || one
            .bytes()
            .is_ok_and(|bytes| other.bytes().is_ok_and(|other| bytes == other))
}

/// Sets that grow together.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The number of the group that something is in: that of its first member.
    fn find(&mut self, member: usize) -> usize {
        let mut root = member;
        while self.0[root] != root {
            // Each step shortens the way for those who come after.
            self.0[root] = self.0[self.0[root]];
            root = self.0[root];
        }
        root
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        let (first, second) = (one.min(other), one.max(other));
        self.0[second] = first;
    }

    /// The members of each group, in their order.
    fn members(mut self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for member in 0..self.0.len() {
            groups.entry(self.find(member)).or_default().push(member);
        }
        groups.into_values().collect()
    }
}
