//! What becomes one program on one device.

use std::collections::BTreeMap;
use std::sync::Arc;

use offkit_object::{DeviceImage, Inspect, Limits};
use offkit_pi::host::{Device, Program};
use offkit_sync::{Mutex, PoisonError};

use super::BundleError;
use super::globals::Values;

/// An image of a bundle.
pub(super) type Image = Arc<DeviceImage<'static>>;

/// An image, and what was set for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) image: Image,
    /// Values of specialization constants, by their names.
    pub(super) constants: BTreeMap<String, Vec<u8>>,
}

impl From<Image> for Part {
    fn from(image: Image) -> Self {
        Self {
            image,
            constants: BTreeMap::new(),
        }
    }
}

/// What becomes one program on one device: an image; in an executable, all that are linked together.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) device: Device,
    pub(super) parts: Vec<Part>,
    /// In an object of a file, the image's native form that the device takes as well.
    pub(super) native: Option<Image>,
    /// Of the device globals of the device; the units of an executable bundle share them.
    pub(super) values: Arc<Values>,
    /// Compiled in an object, linked in an executable; not yet there in what was read.
    program: Mutex<Option<Program>>,
}

impl Unit {
    pub(super) fn new(device: &Device, parts: Vec<Part>) -> Self {
        Self {
            device: device.clone(),
            parts,
            native: None,
            values: Arc::default(),
            program: Mutex::default(),
        }
    }

    pub(super) fn with_program(self, program: Program) -> Self {
        Self {
            program: Mutex::new(Some(program)),
            ..self
        }
    }

    pub(super) fn images(&self) -> impl Iterator<Item = &Image> {
        self.parts.iter().map(|part| &part.image)
    }

    /// The program, if it is there.
    pub(super) fn made(&self) -> Option<Program> {
        self.program
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The program; `make` makes it if it is not there yet.
    pub(super) fn program(
        &self,
        make: impl FnOnce() -> Result<Program, BundleError>,
    ) -> Result<Program, BundleError> {
        // The lock is held while the program is made: those who ask at once get the same one.
        let mut program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        match &*program {
            Some(program) => Ok(program.clone()),
            None => Ok(program.insert(make()?).clone()),
        }
    }

    pub(super) fn kernels(&self) -> impl Iterator<Item = &str> {
        self.images().flat_map(|image| kernels(image))
    }
}

/// The kernels of an image: those that its container lists, or else those in its code.
pub(super) fn kernels<'a>(image: &'a DeviceImage<'static>) -> Vec<&'a str> {
    match image.kernels.as_slice() {
        [] => image.inspect(&Limits::default()).kernel_names().collect(),
        told => told.iter().map(String::as_str).collect(),
    }
}
