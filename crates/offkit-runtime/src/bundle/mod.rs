//! Kernel bundles: device code for some devices, in one of three states.

mod choose;
mod constants;
mod content;
mod error;
mod globals;
mod groups;
mod link;
mod open;
mod unit;

use std::collections::{BTreeSet, HashSet};
use std::marker::PhantomData;
use std::sync::Arc;

use offkit_image::{BundleState, KernelName};
use offkit_object::DeviceImage;
use offkit_pi::host::{Context, Device};

use crate::build::BuildError;
use crate::kernel::Kernel;
use crate::signatures::Signatures;
use crate::similar::similar;

use globals::Values;
use unit::{Unit, kernels};

pub use error::BundleError;
pub use globals::DeviceGlobal;
pub use link::LinkProperties;

/// The state of a bundle, as a type.
pub trait State: sealed::Sealed {
    /// The state.
    const STATE: BundleState;
}

/// To be compiled and linked: SPIR-V, or other code that a device's compiler takes.
#[derive(Clone, Copy, Debug)]
pub enum Input {}

/// Compiled, to be linked.
#[derive(Clone, Copy, Debug)]
pub enum Object {}

/// Ready to run.
#[derive(Clone, Copy, Debug)]
pub enum Executable {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Input {}
    impl Sealed for super::Object {}
    impl Sealed for super::Executable {}
}

impl State for Input {
    const STATE: BundleState = BundleState::Input;
}

impl State for Object {
    const STATE: BundleState = BundleState::Object;
}

impl State for Executable {
    const STATE: BundleState = BundleState::Executable;
}

/// Device code for some devices of a context, in one state.
///
/// | | from a file or images | becomes |
/// |---|---|---|
/// | [`Input`] | the code that a device's compiler takes | [`Object`] by [`compile`](KernelBundle::compile), [`Executable`] by [`build`](KernelBundle::build) |
/// | [`Object`] | the same, or native code | [`Executable`] by [`link`](KernelBundle::link), with other bundles |
/// | [`Executable`] | native code where a device takes it, the other where not | [`Kernel`]s, by [`kernel`](KernelBundle::kernel) |
///
/// The rules are those of SYCL 2020's kernel bundles and of `sycl_ext_oneapi_syclbin`. Bundles share what they have in
/// common: a clone costs little. What comes from a file ready to run is built when a kernel of it is first asked for.
#[derive(Debug)]
pub struct KernelBundle<S> {
    context: Context,
    devices: Vec<Device>,
    units: Vec<Arc<Unit>>,
    state: PhantomData<S>,
}

impl<S> Clone for KernelBundle<S> {
    fn clone(&self) -> Self {
        Self::of(self.context.clone(), self.devices.clone(), self.units.clone())
    }
}

impl<S> KernelBundle<S> {
    fn of(context: Context, devices: Vec<Device>, units: Vec<Arc<Unit>>) -> Self {
        Self {
            context,
            devices,
            units,
            state: PhantomData,
        }
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The devices that the code is for.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The images, in the order in which they came.
    pub fn images(&self) -> impl Iterator<Item = &DeviceImage<'static>> {
        let mut seen = HashSet::new();
        let images = self.units.iter().flat_map(|unit| unit.images());
        images
            .filter(move |image| seen.insert(Arc::as_ptr(image)))
            .map(Arc::as_ref)
    }

    /// The names of all kernels, as they stand in the images.
    pub fn kernel_names(&self) -> BTreeSet<&str> {
        self.units.iter().flat_map(|unit| unit.kernels()).collect()
    }

    /// Whether a kernel is there for one of the devices at least, by its name as it stands in the images or as
    /// users know it.
    pub fn has_kernel(&self, name: &str) -> bool {
        self.find(name, |_| true).is_ok()
    }

    /// Whether a kernel is there for a device.
    pub fn has_kernel_for(&self, name: &str, device: &Device) -> bool {
        self.find(name, |unit| unit.device == *device).is_ok()
    }

    /// The same bundle with what is in others, which all are of its context; for the devices that all have.
    ///
    /// # Errors
    ///
    /// [`BundleError::OtherContext`], and [`BundleError::NoDevice`] if the bundles have no device in common.
    pub fn join(bundles: &[&Self]) -> Result<Self, BundleError> {
        let (context, devices) = common(bundles)?;
        let units = bundles.iter().flat_map(|bundle| &bundle.units);
        let units = units.filter(|unit| devices.contains(&unit.device)).cloned();
        let units = units.collect();
        Ok(Self::of(context, devices, units))
    }

    /// The unit with the kernel that a name means, the closest kind of match counting.
    fn find(&self, name: &str, among: impl Fn(&Unit) -> bool) -> Result<(&Arc<Unit>, &str), BundleError> {
        let units = || self.units.iter().filter(|unit| among(unit));
        // Other ways to fit mean demangling every name.
        let exact = units().find_map(|unit| Some((unit, unit.kernels().find(|kernel| *kernel == name)?)));
        if let Some(found) = exact {
            return Ok(found);
        }
        let fitting = units().flat_map(|unit| {
            let kernels = unit.kernels();
            kernels.filter_map(move |kernel| {
                let how = KernelName::new(kernel).matches(name)?;
                Some((how, kernel, unit))
            })
        });
        let closest = fitting.min_by_key(|(how, ..)| *how);
        let (_, kernel, unit) = closest.ok_or_else(|| {
            let kernels: BTreeSet<&str> = units().flat_map(|unit| unit.kernels()).collect();
            BundleError::NoKernel {
                name: name.to_owned(),
                similar: similar(name, kernels.into_iter()),
            }
        })?;
        Ok((unit, kernel))
    }
}

/// The context of bundles, and the devices that all have.
fn common<S>(bundles: &[&KernelBundle<S>]) -> Result<(Context, Vec<Device>), BundleError> {
    let [first, others @ ..] = bundles else {
        return Err(BundleError::NoBundle);
    };
    if others.iter().any(|other| other.context != first.context) {
        return Err(BundleError::OtherContext);
    }
    let is_common = |device: &&Device| others.iter().all(|other| other.devices.contains(device));
    let devices: Vec<Device> = first.devices.iter().filter(is_common).cloned().collect();
    match devices.is_empty() {
        true => Err(BundleError::NoDevice),
        false => Ok((first.context.clone(), devices)),
    }
}

impl KernelBundle<Executable> {
    /// A kernel for a device, by its name as it stands in the images or as users know it. What was read from a file is
    /// built for this.
    ///
    /// # Errors
    ///
    /// [`BundleError::NoKernel`] if there is none for the device, [`BundleError::Build`] for what the device refuses.
    pub fn kernel(&self, name: &str, device: &Device) -> Result<Kernel, BundleError> {
        let (unit, name) = self.find(name, |unit| unit.device == *device)?;
        let program = unit.program(|| unit.build(&self.context))?;
        let refused = |source| BuildError::Kernel {
            kernel: name.to_owned(),
            source,
        };
        let kernel = program.kernel(name).map_err(refused)?;
        let has_it = |image: &&Arc<DeviceImage<'static>>| kernels(image).contains(&name);
        let image = unit.images().find(has_it);
        let signatures = image.map(|image| Signatures::of(image)).unwrap_or_default();
        let description = signatures.kernel(name).cloned();
        let kernel = Kernel::new(kernel, name.to_owned(), description);
        let kernel = match image {
            Some(image) => kernel.without_dropped(image),
            None => kernel,
        };
        match unit.values.is_empty() {
            true => Ok(kernel),
            false => {
                // The program has the addresses of these, and a kernel may outlive the bundle.
                let values = Arc::<Values>::clone(&unit.values);
                Ok(kernel.reaching(values).map_err(refused)?)
            }
        }
    }
}
