//! From one state to the next.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use offkit_object::{DeviceImage, Inspect, Limits};
use offkit_pi::host::{Context, Device, Program};

use super::choose::is_compiled_at_run_time;
use super::{BundleError, Executable, Input, KernelBundle, Object, Unit, common};
use crate::build::{BuildError, compile_options, create, link_options};
use crate::select::name;

type Image = Arc<DeviceImage<'static>>;

impl KernelBundle<Input> {
    /// Compiles all images, each for its device.
    ///
    /// # Errors
    ///
    /// [`BundleError::Build`] for code that the device's compiler refuses.
    pub fn compile(&self) -> Result<KernelBundle<Object>, BundleError> {
        let units = self.units.iter().map(|unit| {
            let program = unit.compiled(&unit.images[0], &self.context)?;
            Ok(Arc::new(unit.with(unit.images.clone(), Some(program))))
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
        KernelBundle::link(&[&self.compile()?], None)
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
            let images: Vec<_> = units.iter().map(|unit| &unit.images[0]).collect();
            for group in components(&images, true)? {
                let parts: Vec<_> = group.into_iter().map(|number| units[number]).collect();
                let images = parts.iter().map(|part| Arc::clone(&part.images[0])).collect();
                let mut unit = Unit::new(device, images, None);
                for part in &parts {
                    unit.constants.extend(part.constants.clone());
                }
                let program = match parts.as_slice() {
                    [only] if !is_compiled_at_run_time(&only.images[0]) => unit.build(&context)?,
                    _ => {
                        let compiled = parts
                            .iter()
                            .map(|part| part.program(|| part.compiled(&part.images[0], &context)));
                        unit.linked(&compiled.collect::<Result<Vec<_>, _>>()?, &context)?
                    }
                };
                linked.push(Arc::new(unit.with(unit.images.clone(), Some(program))));
            }
        }
        Ok(KernelBundle::of(context, devices.to_vec(), linked))
    }
}

impl Unit {
    /// The program of an executable, from images that are not compiled yet.
    pub(super) fn build(&self, context: &Context) -> Result<Program, BundleError> {
        match self.images.as_slice() {
            [image] => {
                let program = create(image, context, &self.device)?;
                self.specialize(&program, image)?;
                let options = [compile_options(image), link_options(&self.images)].join(" ");
                let built = program.build_for(&[&self.device], options.trim());
                built.map_err(|source| BuildError::of_image("build", image, source))?;
                Ok(program)
            }
            several => {
                let parts = several.iter().map(|image| self.compiled(image, context));
                self.linked(&parts.collect::<Result<Vec<_>, _>>()?, context)
            }
        }
    }

    /// An image, compiled.
    fn compiled(&self, image: &DeviceImage<'_>, context: &Context) -> Result<Program, BundleError> {
        let program = create(image, context, &self.device)?;
        self.specialize(&program, image)?;
        let compiled = program.compile_for(&[&self.device], &compile_options(image));
        compiled.map_err(|source| BuildError::of_image("compile", image, source))?;
        Ok(program)
    }

    /// Compiled images, linked.
    fn linked(&self, parts: &[Program], context: &Context) -> Result<Program, BundleError> {
        let parts: Vec<&Program> = parts.iter().collect();
        let linked = context.link_for(&[&self.device], &parts, &link_options(&self.images));
        Ok(linked.map_err(|source| BuildError::Images {
            action: "link",
            images: self.images.iter().map(|image| image.location.clone()).collect(),
            source,
        })?)
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
