//! Device globals: variables of device code that the host reads and writes by name.
//!
//! The toolchain lists them in a property set: two 32-bit words each, the size of the value and whether every image has
//! a variable of its own (`device_image_scope`). The value of such a one is in the variable itself. All others are one
//! for a device, however many images know them: there the variable holds the address of the value, which the runtime
//! allocates and writes into each program, and behind the address the value to begin with.

use offkit_sync::{Mutex, PoisonError};
use std::collections::BTreeMap;

use offkit_image::property_set::names;
use offkit_image::{DeviceImage, KernelName};
use offkit_pi::ffi::PI_INVALID_VALUE;
use offkit_pi::host::{Context, Device, PiError, Program, Queue, QueueProperties, Usm, UsmKind};

use super::unit::Unit;
use super::{BundleError, Executable, KernelBundle};

/// A device global, as a bundle's images describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceGlobal<'bundle> {
    /// Its name as it stands in the images, unique among all programs.
    pub name: &'bundle str,
    /// The size of its value in bytes.
    pub size: usize,
    /// Whether every image has a variable of its own; else there is one for a device.
    pub is_of_image: bool,
}

impl<'bundle> DeviceGlobal<'bundle> {
    /// The name of the variable in the code: run-time compilers put their number and `$` before it.
    fn symbol(self) -> &'bundle str {
        self.name.split_once('$').map_or(self.name, |(_, symbol)| symbol)
    }

    /// Whether it may be called `name`: as in the images, in the code, or in the source.
    fn is(self, name: &str, image: &DeviceImage<'_>) -> bool {
        let in_source = || {
            let key = format!("{}@global_id_mapping", self.symbol());
            let mapped = image.properties.get(names::PROGRAM_METADATA, &key);
            let mapped = mapped.and_then(|value| std::str::from_utf8(value.as_bytes()?).ok());
            mapped.is_some_and(|mapped| KernelName::new(mapped).is(name))
        };
        self.name == name || KernelName::new(self.symbol()).is(name) || in_source()
    }
}

fn globals<'image>(image: &'image DeviceImage<'_>) -> impl Iterator<Item = DeviceGlobal<'image>> {
    let set = image.properties.set(names::DEVICE_GLOBALS);
    set.into_iter()
        .flat_map(|set| set.iter())
        .filter_map(|(name, value)| match value.as_u32s()?.as_slice() {
            &[size, scope, ..] => Some(DeviceGlobal {
                name,
                size: size as usize,
                is_of_image: scope != 0,
            }),
            _ => None,
        })
}

/// The values of the device globals of a device, by their names.
#[derive(Debug, Default)]
pub(super) struct Values(Mutex<BTreeMap<String, Usm>>);

impl Values {
    fn get(&self, name: &str) -> Option<Usm> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(name).cloned()
    }

    /// The value of a global; `make` makes it if it is not there yet.
    fn get_or(&self, name: &str, make: impl FnOnce() -> Result<Usm, PiError>) -> Result<Usm, PiError> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = values.get(name) {
            return Ok(value.clone());
        }
        // The lock is held meanwhile: programs that are built at the same time must not get a value each.
        let value = make()?;
        values.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    pub(super) fn is_empty(&self) -> bool {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.is_empty()
    }
}

/// Where the value begins that a variable is initialised with: behind an address, aligned. The alignment, which nothing
/// tells, is the largest with which it fits.
fn start_of_value(variable: usize, value: usize) -> usize {
    let mut start = size_of::<u64>();
    while start.saturating_mul(2).saturating_add(value) <= variable {
        start *= 2;
    }
    start
}

/// The size of a variable that holds an address, or what is known of it; `None` if the program has no such variable.
fn variable_size(symbol: &str, program: &Program, queue: &Queue) -> Result<Option<usize>, PiError> {
    let size = match program.global_size(queue.device(), symbol) {
        // Plugins of 2023 cannot say it. But they can read, and all such variables have an address.
        Err(PiError::NotInVersion { .. } | PiError::NotProvided { .. }) => {
            let mut address = [0; size_of::<u64>()];
            let read = queue.read_global(program, symbol, 0, &mut address, &[]);
            read.map(|()| address.len())
        }
        told => told,
    };
    match size {
        // The image lists all of its globals, and compilers leave out what no kernel uses.
        Err(error) if error.result() == PI_INVALID_VALUE => Ok(None),
        size => size.map(Some),
    }
}

impl Unit {
    /// Gives the device globals of a program that was just built their values.
    pub(super) fn place_globals(&self, program: &Program, context: &Context) -> Result<(), BundleError> {
        let all = self.images().flat_map(|image| globals(image));
        // Made for the first global that is found: most programs have none. There is no memory of
        // no bytes, so that those without a size get none.
        let mut queue = None;
        for global in all.filter(|global| !global.is_of_image && global.size > 0) {
            let queue: &Queue = match &mut queue {
                Some(queue) => queue,
                none => none.insert(
                    context
                        .queue(&self.device, QueueProperties::default())
                        .map_err(|source| BundleError::of_global(global.name, source))?,
                ),
            };
            let placed = self.place(global, program, queue);
            placed.map_err(|source| BundleError::of_global(global.name, source))?;
        }
        Ok(())
    }

    fn place(&self, global: DeviceGlobal<'_>, program: &Program, queue: &Queue) -> Result<(), PiError> {
        let Some(variable) = variable_size(global.symbol(), program, queue)? else {
            tracing::debug!(global = global.name, "nothing in a program uses a device global");
            return Ok(());
        };
        // The program that is built first tells the value to begin with. Those after it are given
        // the same memory, with whatever kernels and host have made of the value by then.
        let value = self.values.get_or(global.name, || {
            let mut first = vec![0; global.size];
            let start = start_of_value(variable, global.size);
            queue.read_global(program, global.symbol(), start, &mut first, &[])?;
            let value = queue
                .context()
                .usm(UsmKind::Device, &self.device, global.size, 0)?;
            queue.write_usm(&value, 0, &first, &[])?;
            Ok(value)
        })?;
        let address = (value.address() as u64).to_le_bytes();
        queue.write_global(program, global.symbol(), 0, &address, &[])
    }
}

impl<S> KernelBundle<S> {
    /// The device globals, each once, in the order of the images.
    pub fn device_globals(&self) -> Vec<DeviceGlobal<'_>> {
        let mut all: Vec<DeviceGlobal<'_>> = Vec::new();
        for global in self.images().flat_map(|image| globals(image)) {
            if all.iter().all(|known| known.name != global.name) {
                all.push(global);
            }
        }
        all
    }

    /// A device global, by its name as it stands in the images, in the code, or in the source.
    pub fn device_global(&self, name: &str) -> Option<DeviceGlobal<'_>> {
        let mut images = self.images();
        images.find_map(|image| globals(image).find(|global| global.is(name, image)))
    }
}

/// Where the value of a device global is.
enum Place {
    /// In memory of its own.
    Memory(Usm),
    /// In the variable of a program.
    Variable(Program),
}

impl KernelBundle<Executable> {
    /// Writes the value of a device global on the device of a queue, from byte `offset` on, and waits for it. Kernels that
    /// are launched from then on see it.
    ///
    /// # Errors
    ///
    /// [`BundleError::NoGlobal`], [`BundleError::GlobalRange`]; [`BundleError::SeveralGlobals`] if several images have
    /// one of their own; [`BundleError::Global`] for a device that the host cannot reach variables of; what the device
    /// refuses to build.
    pub fn write_device_global(
        &self,
        name: &str,
        queue: &Queue,
        offset: usize,
        data: &[u8],
    ) -> Result<(), BundleError> {
        let (global, place) = self.locate(name, queue.device(), offset, data.len())?;
        // The range was checked before; drivers may take one of no bytes for an error.
        let written = match place {
            _ if data.is_empty() => Ok(()),
            Place::Memory(value) => queue.write_usm(&value, offset, data, &[]),
            Place::Variable(program) => queue.write_global(&program, global.symbol(), offset, data, &[]),
        };
        written.map_err(|source| BundleError::of_global(global.name, source))
    }

    /// Reads the value of a device global on the device of a queue, from byte `offset` on, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`write_device_global`](Self::write_device_global).
    pub fn read_device_global(
        &self,
        name: &str,
        queue: &Queue,
        offset: usize,
        out: &mut [u8],
    ) -> Result<(), BundleError> {
        let (global, place) = self.locate(name, queue.device(), offset, out.len())?;
        let read = match place {
            _ if out.is_empty() => Ok(()),
            Place::Memory(value) => queue.read_usm(&value, offset, out, &[]),
            Place::Variable(program) => queue.read_global(&program, global.symbol(), offset, out, &[]),
        };
        read.map_err(|source| BundleError::of_global(global.name, source))
    }

    /// A device global, and where its value is on a device. Builds what was read from a file.
    fn locate(
        &self,
        name: &str,
        device: &Device,
        offset: usize,
        size: usize,
    ) -> Result<(DeviceGlobal<'_>, Place), BundleError> {
        let mut found = Vec::new();
        for unit in self.units.iter().filter(|unit| unit.device == *device) {
            for image in unit.images() {
                let global = globals(image).find(|global| global.is(name, image));
                found.extend(global.map(|global| (global, unit, image)));
            }
        }
        let Some(&(global, first, _)) = found.first() else {
            return Err(BundleError::NoGlobal {
                name: name.to_owned(),
                known: self
                    .device_globals()
                    .iter()
                    .map(|global| global.name.to_owned())
                    .collect(),
            });
        };
        if global.is_of_image && found.len() > 1 {
            return Err(BundleError::SeveralGlobals {
                name: global.name.to_owned(),
                images: found.iter().map(|(.., image)| image.location.clone()).collect(),
            });
        }
        if offset.checked_add(size).is_none_or(|end| end > global.size) {
            return Err(BundleError::GlobalRange {
                name: global.name.to_owned(),
                size: global.size,
                offset,
                given: size,
            });
        }
        let build = |unit: &Unit| unit.program(|| unit.build(&self.context));
        let program = build(first)?;
        if global.is_of_image {
            return Ok((global, Place::Variable(program)));
        }
        // All images list a global, and programs have it where a kernel uses it: the first that has
        // it makes the value.
        for (_, unit, _) in &found {
            build(unit)?;
            if let Some(value) = unit.values.get(global.name) {
                return Ok((global, Place::Memory(value)));
            }
        }
        // The device says what is missing.
        Ok((global, Place::Variable(program)))
    }
}

#[cfg(test)]
mod tests {
    use super::start_of_value;

    #[test]
    fn a_value_begins_where_its_alignment_puts_it() {
        // What C makes of a structure of an address and such a value.
        let cases = [
            (16, 1, 8),
            (16, 4, 8),
            (16, 8, 8),
            (32, 16, 16),
            (32, 24, 8),
            (64, 32, 32),
            (24, 9, 8),
        ];
        for (variable, value, start) in cases {
            assert_eq!(
                start_of_value(variable, value),
                start,
                "{value} bytes of {variable}"
            );
        }
    }
}
