//! Regions and variables of programs that are loaded.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ops::ControlFlow;

use offkit_object::host::intel_openmp_spirv;
use offkit_object::{ImageFormat, Item, Limits, walk};
use offkit_pi::host::Queue;
use offkit_runtime::{Executable, Input, Kernel, KernelBundle};
use offkit_sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::abi::{Descriptor, Entry, KIND_OPENMP};
use super::device::{Device, State};
use super::present::{Count, Place};
use crate::c::{Result, lock};
use crate::error::{Code, Failure};

/// A program or library with regions.
struct Program {
    /// Its file.
    file: String,
    /// Where its images are, and how large.
    images: Vec<(usize, usize)>,
    variables: Vec<Variable>,
    /// The name of one region: its program has the variables.
    a_region: Option<String>,
}

/// A variable that is on devices, too.
struct Variable {
    address: usize,
    size: usize,
    name: String,
}

/// A region: its program and its name in the images.
#[derive(Clone)]
pub(super) struct Region {
    program: usize,
    pub(super) name: String,
}

#[derive(Default)]
pub(super) struct Programs {
    /// Their numbers, by the addresses of their descriptors.
    numbers: HashMap<usize, usize>,
    all: HashMap<usize, Arc<Program>>,
    /// The number of the next. None is given twice.
    next: usize,
    /// By the addresses that stand for them.
    regions: HashMap<usize, Region>,
}

static PROGRAMS: LazyLock<RwLock<Programs>> = LazyLock::new(RwLock::default);

/// Those that are loaded. None is unloaded while this is held.
fn programs() -> RwLockReadGuard<'static, Programs> {
    PROGRAMS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there is any.
pub(super) fn are_any() -> bool {
    !programs().all.is_empty()
}

/// Whether a file is that of one.
pub(super) fn is_one(file: &str) -> bool {
    programs().all.values().any(|program| program.file == file)
}

/// The region that an address stands for.
pub(super) fn region(address: *const c_void) -> Option<Region> {
    programs().regions.get(&address.addr()).cloned()
}

/// Notes the regions and variables of a program that is loaded.
///
/// # Safety
///
/// The descriptor and what it leads to must be there until they are [unregistered](unregister).
pub(crate) unsafe fn register(descriptor: *const Descriptor, file: &str) {
    // SAFETY: by the caller's promise; null where there is none.
    let Some(found) = (unsafe { descriptor.as_ref() }) else {
        return;
    };
    // SAFETY: by the caller's promise.
    let images = unsafe { found.images() };
    let place = |image: &super::abi::Image| {
        let size = image.end.addr().saturating_sub(image.start.addr());
        (image.start.expose_provenance(), size)
    };
    let mut program = Program {
        file: file.to_owned(),
        images: images.iter().map(place).collect(),
        variables: Vec::new(),
        a_region: None,
    };
    let mut programs = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
    let number = programs.next;
    programs.next += 1;
    let size = found
        .end_of_entries
        .addr()
        .saturating_sub(found.first_entry.addr());
    let entries: &[Entry] = match found.first_entry.is_null() {
        true => &[],
        // SAFETY: the entries of a program lie together.
        false => unsafe { std::slice::from_raw_parts(found.first_entry.cast(), size / size_of::<Entry>()) },
    };
    // Before LLVM 20 entries begin with an address and are shorter: what would be read of them as
    // a name is none.
    for entry in entries
        .iter()
        .filter(|entry| entry.reserved == 0 && entry.kind == KIND_OPENMP)
    {
        // SAFETY: names of entries are texts.
        let name = unsafe { CStr::from_ptr(entry.name) }
            .to_string_lossy()
            .into_owned();
        let address = entry.address.expose_provenance();
        match usize::try_from(entry.size) {
            Ok(size) if size > 0 => program.variables.push(Variable { address, size, name }),
            _ => {
                program.a_region.get_or_insert_with(|| name.clone());
                let region = Region {
                    program: number,
                    name,
                };
                programs.regions.insert(address, region);
            }
        }
    }
    programs.numbers.insert(descriptor.addr(), number);
    programs.all.insert(number, Arc::new(program));
}

/// Forgets a program. Devices notice when they are used next: what they hold is copies, and the loader, which holds a
/// lock of its own now, need not wait for them.
pub(crate) fn unregister(descriptor: *const Descriptor) {
    let mut programs = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
    let Some(number) = programs.numbers.remove(&descriptor.addr()) else {
        return;
    };
    programs.all.remove(&number);
    programs.regions.retain(|_, region| region.program != number);
}

/// A program on a device.
pub(super) struct Loaded {
    bundle: KernelBundle<Executable>,
    device: offkit_pi::host::Device,
    /// The regions that were launched, each with arguments of its own.
    kernels: Mutex<HashMap<String, Arc<Mutex<Kernel>>>>,
    a_region: Option<String>,
}

impl Loaded {
    /// A region, to be launched by one thread at a time.
    pub(super) fn kernel(&self, name: &str) -> Result<Arc<Mutex<Kernel>>> {
        // Held while one is made: a region must not get a second kernel, with a lock of its own.
        let mut kernels = lock(&self.kernels);
        if let Some(known) = kernels.get(name) {
            return Ok(Arc::clone(known));
        }
        let kernel = Arc::new(Mutex::new(self.bundle.kernel(name, &self.device)?));
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    /// Does something with the program that has the variables.
    fn with_program(
        &self,
        work: impl FnOnce(&offkit_pi::host::Program) -> offkit_pi::host::Result<()>,
    ) -> Result<()> {
        let region = self.a_region.as_deref().ok_or_else(|| {
            Failure::new(
                Code::NotFound,
                "the image with the variable has no region".to_owned(),
            )
        })?;
        // A bundle gives its program only by a kernel. Any will do: it is made of one module, which
        // has all regions and variables.
        let kernel = self.kernel(region)?;
        let kernel = lock(&kernel);
        Ok(work(kernel.pi().program())?)
    }

    pub(super) fn write(&self, queue: &Queue, variable: &str, offset: usize, data: &[u8]) -> Result<()> {
        self.with_program(|program| queue.write_global(program, variable, offset, data, &[]))
            .map_err(|failure| failure.within(&format!("`{variable}` on the device")))
    }

    pub(super) fn read(&self, queue: &Queue, variable: &str, offset: usize, out: &mut [u8]) -> Result<()> {
        self.with_program(|program| queue.read_global(program, variable, offset, out, &[]))
            .map_err(|failure| failure.within(&format!("`{variable}` on the device")))
    }
}

/// Why a region cannot run on a device.
const NO_IMAGE: &str = "has no SPIR-V image";

impl Device {
    /// Builds the programs that were loaded since it was done last, and forgets those that were unloaded.
    pub(super) fn load_programs(&self, state: &mut State) {
        let mut new = Vec::new();
        {
            let programs = programs();
            let gone: Vec<usize> = (state.programs.keys().copied())
                .filter(|number| !programs.all.contains_key(number))
                .collect();
            for number in gone {
                state.programs.remove(&number);
                state.present.remove_program(number);
            }
            let missing = programs
                .all
                .iter()
                .filter(|(number, _)| !state.programs.contains_key(number));
            // Copied while the lock keeps them from being unloaded.
            new.extend(missing.map(|(number, program)| (*number, Arc::clone(program), program.spirv())));
        }
        // Without that lock: drivers load libraries, and the loader, which has one too, has programs registered.
        for (number, program, module) in new {
            // One that the device refuses does not keep those of others from running.
            let loaded = match module.map(|module| program.load(self, module)) {
                Some(Ok(loaded)) => Ok(Arc::new(loaded)),
                Some(Err(failure)) => {
                    let (file, problem) = (&program.file, failure.message());
                    tracing::warn!(file, problem, "the device refuses a program of OpenMP");
                    Err(format!("is in a program that the device refuses: {problem}"))
                }
                None => Err(NO_IMAGE.to_owned()),
            };
            if loaded.is_ok() {
                for variable in &program.variables {
                    let name = variable.name.clone();
                    let place = Place::Variable {
                        program: number,
                        name,
                    };
                    (state.present).add(variable.address, variable.size, place, Count::Forever);
                }
            }
            state.programs.insert(number, loaded);
        }
    }
}

impl State {
    /// The program of a region; if the device does not have it, why.
    pub(super) fn program_of(&self, region: &Region) -> std::result::Result<Arc<Loaded>, String> {
        let known = self.programs.get(&region.program).cloned();
        known.unwrap_or_else(|| Err(NO_IMAGE.to_owned()))
    }
}

impl Program {
    fn load(&self, device: &Device, module: Vec<u8>) -> Result<Loaded> {
        let devices = std::slice::from_ref(&device.device);
        let bundle = KernelBundle::<Input>::from_spirv(&device.context, devices, &self.file, module);
        let bundle = bundle.and_then(|bundle| bundle.build())?;
        Ok(Loaded {
            bundle,
            device: device.device.clone(),
            kernels: Mutex::default(),
            a_region: self.a_region.clone(),
        })
    }

    /// A copy of the SPIR-V among the images. The program must be registered still.
    fn spirv(&self) -> Option<Vec<u8>> {
        self.images.iter().find_map(|(address, size)| {
            let start = std::ptr::with_exposed_provenance(*address);
            let bytes: &[u8] = match size {
                0 => &[],
                // SAFETY: images are there, and stay as they are, as long as their program is registered.
                size => unsafe { std::slice::from_raw_parts(start, *size) },
            };
            let mut found = None;
            let _ = walk(&self.file, bytes, None, &Limits::default(), &mut |item| {
                if let Item::Image(image) = item
                    && let Ok(code) = image.bytes()
                {
                    found = match image.format {
                        ImageFormat::Spirv => Some(code.to_vec()),
                        _ => intel_openmp_spirv(code).map(<[u8]>::to_vec),
                    };
                }
                match found {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            });
            found
        })
    }
}
