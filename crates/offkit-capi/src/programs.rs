//! Programs with wrapped device code, and the functions that they call as they are loaded and unloaded.
//!
//! `__sycl_register_lib` is given a descriptor of DPC++ with images of any version or, by LLVM after 22, an offload binary
//! and its size; the first bytes say which. `__tgt_register_lib` is given a descriptor of LLVM's OpenMP. What is there is
//! noted in the registry of the process and stays where it is: code is copied when somebody needs it, under a lock that
//! unregistering waits for.
//!
//! SYCL and OpenMP runtimes have functions of the same names. Who is called when a process has several is the loader's
//! choice, the first in its order. Registrations that are meant for another runtime are passed on to that, and what
//! another one was told of objects that are meant for offkit is read from their files ([`adopt`]).

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use offkit_object::sycl_wrapped::AddressSpace;
use offkit_object::{Item, Limits, RunningDescriptor, offload_binary, walk, walk_names};
use offkit_runtime::{ImageRegistry, Lent, LibraryId, SharedObjectId};
use offkit_sync::{LazyLock, Mutex, PoisonError, RwLock};

use crate::c::lock;
use crate::loader::ProcessLoader;
use crate::object::SharedObject;
use crate::openmp;

/// The registry of this process.
pub(crate) fn registry() -> Arc<ImageRegistry> {
    Arc::clone(&PROGRAMS.registry)
}

/// What a shared object that is loaded from a file has registered.
pub(crate) fn loaded_from(path: &str) -> Vec<LibraryId> {
    let is_it = |file: &str| file == path || is_same_file(Path::new(file), Path::new(path));
    let registered = lock(&PROGRAMS.registered);
    let programs = registered.programs.values().flatten();
    let of_file = programs.filter(|(program, _)| is_it(&program.file));
    let adopted = registered.adopted.values().filter(|(file, _)| is_it(file));
    let mut libraries: Vec<_> = of_file
        .map(|(_, library)| *library)
        .chain(adopted.map(|(_, library)| *library))
        .collect();
    // By their numbers, which is as they were registered; the maps have no order.
    libraries.sort_unstable();
    libraries
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let of = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
    matches!((of(one), of(other)), (Ok(one), Ok(other)) if one == other)
}

/// Registers the images of objects that were linked with offkit, and whose registrations reached another runtime: from
/// the files that they were loaded from, or from memory where these are gone.
///
/// The loader is asked before anything is locked, for objects register themselves while it holds its own lock.
pub(crate) fn adopt() {
    let changes = SharedObject::changes();
    if lock(&PROGRAMS.registered).adopted_at == changes {
        return;
    }
    let objects = SharedObject::all();
    let mut registered = lock(&PROGRAMS.registered);
    let Registered {
        programs,
        adopted,
        adopted_at,
        ..
    } = &mut *registered;
    // Another thread may have looked later and be done: what this one has seen is out of date then.
    if changes.0 <= adopted_at.0 && changes.1 <= adopted_at.1 {
        return;
    }
    *adopted_at = changes;
    let registry = &PROGRAMS.registry;
    adopted.retain(|id, (path, library)| {
        let is_there = objects
            .iter()
            .any(|object| object.id == *id && object.path == *path);
        if !is_there {
            registry.withdraw(*library);
        }
        is_there
    });
    let is_runtime = |object: &SharedObject| OTHER_RUNTIMES.iter().any(|name| object.is_release_of(name));
    // Without another runtime, nobody else can have been told.
    if !objects.iter().any(is_runtime) {
        return;
    }
    for object in objects {
        let mut known = programs.values().flatten();
        let is_known =
            known.any(|(program, _)| program.object == object.id) || adopted.contains_key(&object.id);
        if is_known || !object.registers || object.needs(OFFKIT).is_none() {
            continue;
        }
        let registered = object
            .open()
            .and_then(|file| registry.add_object(&object.path, file, object.id, &Limits::default()));
        match registered {
            Ok(noted) => {
                tell(&object.path, &noted);
                adopted.insert(object.id, (object.path, noted.library));
            }
            Err(error) => {
                tracing::warn!(file = object.path, %error, "device images that another runtime was told of cannot be read");
            }
        }
    }
}

/// Says what was found in an object that another runtime was told of. It calls a function that registers images, so that
/// one without any is no good sign.
fn tell(file: &str, noted: &offkit_runtime::Registered) {
    for problem in &noted.problems {
        tracing::warn!(%problem, "a device image that another runtime was told of is damaged");
    }
    match noted.images.len() {
        0 => tracing::warn!(
            file,
            "no device image was found in what another runtime was told of"
        ),
        images => tracing::debug!(file, images, "registered images that another runtime was told of"),
    }
}

const OFFKIT: &str = "liboffkit.so";
const SYCL: &str = "libsycl.so";
const OPENMP: &str = "libomptarget.so";
const OTHER_RUNTIMES: [&str; 2] = [SYCL, OPENMP];

static PROGRAMS: LazyLock<Programs> = LazyLock::new(Programs::default);

struct Programs {
    registry: Arc<ImageRegistry>,
    registered: Mutex<Registered>,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            registry: Arc::new(ImageRegistry::of_process(Arc::new(ProcessLoader))),
            registered: Mutex::default(),
        }
    }
}

#[derive(Default)]
struct Registered {
    /// By the address that was registered. One that comes twice goes twice.
    programs: HashMap<usize, Vec<(Arc<Program>, LibraryId)>>,
    /// How many descriptors each file has registered so far, for the locations of their images: no two that are left have
    /// one number, whichever was taken back.
    numbers: HashMap<String, usize>,
    /// What was read from the files of objects that are meant for offkit, and that registered with another runtime.
    adopted: HashMap<SharedObjectId, (String, LibraryId)>,
    /// How many objects were loaded and unloaded when this was done.
    adopted_at: (u64, u64),
}

/// What was registered at once.
struct Program {
    /// The object that it is in.
    object: SharedObjectId,
    /// The file of that, for messages.
    file: String,
    form: Form,
    /// Whether the memory is still there. Held while it is looked at.
    is_there: RwLock<bool>,
}

enum Form {
    /// A descriptor of SYCL images, and its number among those of the file.
    Sycl { address: u64, number: usize },
    /// Files in memory: an offload binary, or those that OpenMP's images are in.
    Files(Vec<Bytes>),
}

/// Bytes of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bytes {
    address: usize,
    size: usize,
}

impl Bytes {
    /// # Safety
    ///
    /// The bytes must be there, and stay as they are for `'a`.
    unsafe fn get<'a>(self) -> &'a [u8] {
        let start = std::ptr::with_exposed_provenance(self.address);
        match self.size {
            0 => &[],
            // SAFETY: by the caller's promise.
            size => unsafe { std::slice::from_raw_parts(start, size) },
        }
    }
}

/// The memory of this process, as far as a descriptor that is registered leads.
struct Process(());

impl Process {
    /// # Safety
    ///
    /// Only what a registered descriptor points to may be asked for, and must stay as it is while this is there.
    unsafe fn new() -> Self {
        Self(())
    }
}

impl AddressSpace for Process {
    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]> {
        let address = usize::try_from(address).ok().filter(|address| *address != 0)?;
        let size = usize::try_from(size)
            .ok()
            .filter(|size| isize::try_from(*size).is_ok())?;
        // SAFETY: by the promise that was made for this.
        Some(unsafe { Bytes { address, size }.get() })
    }

    fn text(&self, address: u64) -> Option<&[u8]> {
        let address = usize::try_from(address).ok().filter(|address| *address != 0)?;
        // SAFETY: by the promise that was made for this; the texts of descriptors end with a zero byte.
        let text = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(address)) };
        Some(text.to_bytes_with_nul())
    }
}

impl Program {
    /// Does something with the memory, if it is still there.
    fn with<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_there = self.is_there.read().unwrap_or_else(PoisonError::into_inner);
        is_there.then(work)
    }

    fn take_back(&self) {
        *self.is_there.write().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// What a file in memory is called: the one that it is in, with its number if there are several.
    fn name(&self, number: usize, count: usize) -> String {
        match count {
            1 => self.file.clone(),
            _ => format!("{} (image {number})", self.file),
        }
    }
}

/// Offsets of images are their addresses.
impl Lent for Program {
    fn walk(&self, names_only: bool, limits: &Limits, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) {
        self.with(|| match &self.form {
            Form::Sycl { address, number } => {
                let descriptor = RunningDescriptor {
                    // SAFETY: a descriptor and all that it leads to are constant, and are there until they are taken back,
                    // which waits for this.
                    memory: &unsafe { Process::new() },
                    address: *address,
                    number: *number,
                };
                let _ = descriptor.walk(&self.file, names_only, limits, visit);
            }
            Form::Files(files) => {
                for (number, file) in files.iter().enumerate() {
                    let name = self.name(number, files.len());
                    // SAFETY: what was registered is constant, and is there until it is taken back, which waits for this.
                    let bytes = unsafe { file.get() };
                    let mut with_addresses = |mut item: Item<'_>| {
                        if let Item::Image(image) = &mut item {
                            image.offset = image.offset.map(|offset| file.address as u64 + offset);
                        }
                        visit(item)
                    };
                    let result = match names_only {
                        true => walk_names(&name, bytes, limits, &mut with_addresses),
                        false => walk(&name, bytes, None, limits, &mut with_addresses),
                    };
                    if result.is_break() {
                        break;
                    }
                }
            }
        });
    }

    fn copy(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let address = usize::try_from(range.start).ok()?;
        let size = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        // SAFETY: ranges are those of images that `walk` has handed over; they are there until they are taken back, which
        // waits for this.
        self.with(|| unsafe { Bytes { address, size }.get() }.to_vec())
    }

    fn object(&self) -> Option<SharedObjectId> {
        Some(self.object)
    }
}

impl Programs {
    fn register(&self, key: usize, object: &SharedObject, form: impl FnOnce(usize) -> Form) {
        // Held until all is noted: otherwise `adopt` could see an object between the two, and read
        // from its file what is here already.
        let mut registered = lock(&self.registered);
        // What was read from its file would be there twice.
        if let Some((_, library)) = registered.adopted.remove(&object.id) {
            self.registry.withdraw(library);
        }
        let number = registered.numbers.entry(object.path.clone()).or_default();
        let form = form(*number);
        *number += 1;
        let program = Arc::new(Program {
            object: object.id,
            file: object.path.clone(),
            form,
            is_there: RwLock::new(true),
        });
        let lent: Arc<dyn Lent> = Arc::<Program>::clone(&program);
        let noted = self.registry.lend(lent, &Limits::default());
        for problem in &noted.problems {
            tracing::warn!(%problem, "a registered device image is damaged");
        }
        let programs = registered.programs.entry(key).or_default();
        programs.push((program, noted.library));
    }

    fn unregister(&self, key: usize) {
        let mut registered = lock(&self.registered);
        let Some((program, library)) = registered.programs.get_mut(&key).and_then(Vec::pop) else {
            return;
        };
        if registered.programs.get(&key).is_some_and(Vec::is_empty) {
            registered.programs.remove(&key);
        }
        // A library that is loaded again begins to count anew.
        let mut left = registered.programs.values().flatten();
        if !left.any(|(left, _)| left.file == program.file) {
            registered.numbers.remove(&program.file);
        }
        self.registry.withdraw(library);
        // Waits for those who still look at the memory, which is gone once this function has returned.
        program.take_back();
    }
}

/// Keeps panics in; nobody is there to be told.
fn quietly(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        tracing::error!("a registration of device images panicked");
    }
}

type Registration = unsafe extern "C" fn(*const c_void, usize);

/// The function of another runtime that a registration is meant for: the object that it comes from names that among the
/// libraries it needs. If it needs offkit as well, nobody can tell which of them is meant, and both are told.
fn meant_for(runtime: &str, object: &SharedObject, function: &CStr) -> Option<Registration> {
    let library = object.needs(runtime)?;
    let found = crate::object::function_of(library, function)?;
    // SAFETY: functions of these names take a pointer, and the newer ones a size behind it; a function that takes less
    // does not look at it.
    Some(unsafe { std::mem::transmute::<*mut c_void, Registration>(found) })
}

/// Whether a registration is meant for another runtime, and not for offkit as well.
fn is_only_for(other: Option<Registration>, object: &SharedObject) -> bool {
    other.is_some() && object.needs(OFFKIT).is_none()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sycl_register_lib(registered: *const c_void, size: usize) {
    quietly(|| {
        let object = SharedObject::at(registered.addr());
        let other = meant_for(SYCL, &object, c"__sycl_register_lib");
        if let Some(register) = other {
            // SAFETY: that function expects what this one was given.
            unsafe { register(registered, size) };
        }
        if is_only_for(other, &object) {
            return;
        }
        let address = registered.expose_provenance();
        if address == 0 {
            return;
        }
        let magic_size = offload_binary::MAGIC.len();
        // SAFETY: descriptors and offload binaries have so many bytes, at least.
        let start = unsafe {
            Bytes {
                address,
                size: magic_size,
            }
            .get()
        };
        PROGRAMS.register(address, &object, |number| match start == offload_binary::MAGIC {
            true => Form::Files(vec![Bytes { address, size }]),
            false => Form::Sycl {
                address: address as u64,
                number,
            },
        });
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sycl_unregister_lib(registered: *const c_void, size: usize) {
    quietly(|| {
        let object = SharedObject::at(registered.addr());
        if let Some(unregister) = meant_for(SYCL, &object, c"__sycl_unregister_lib") {
            // SAFETY: that function expects what this one was given.
            unsafe { unregister(registered, size) };
        }
        // Also where another runtime was told: what was registered with both goes from both.
        // Nothing happens if it was not registered here.
        PROGRAMS.unregister(registered.addr());
    });
}

/// The offload binary that an image of OpenMP is in. Clang registers the image alone, and what it is for stands around it,
/// as in the file.
///
/// # Safety
///
/// What was loaded of the object around the image must be there, and stay as it is while this runs.
unsafe fn packaged(object: &SharedObject, image: Bytes) -> Option<Bytes> {
    let around = object.around(image.address)?;
    let start = image.address.checked_sub(around.start)?;
    let segment = Bytes {
        address: around.start,
        size: around.len(),
    };
    // SAFETY: by the caller's promise.
    let memory = unsafe { segment.get() };
    let binary = offload_binary::around(memory, start..start.checked_add(image.size)?)?;
    Some(Bytes {
        address: around.start.checked_add(binary.start)?,
        size: binary.len(),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_register_lib(registered: *const openmp::Descriptor) {
    quietly(|| {
        let object = SharedObject::at(registered.addr());
        let other = meant_for(OPENMP, &object, c"__tgt_register_lib");
        if let Some(register) = other {
            openmp::passed_on(object.needs(OPENMP).unwrap_or_default());
            // SAFETY: that function expects what this one was given, and no size.
            unsafe { register(registered.cast(), 0) };
        }
        if is_only_for(other, &object) {
            return;
        }
        // SAFETY: the pointer is to a descriptor, if it is to anything, which stays until it is taken back.
        let images = unsafe {
            // LLVM's runtime runs the regions that it was told of.
            if other.is_none() {
                openmp::register(registered, &object.path);
            }
            registered
                .as_ref()
                .map_or(&[][..], |descriptor| descriptor.images())
        };
        let mut files: Vec<Bytes> = Vec::new();
        for image in images {
            let bytes = Bytes {
                address: image.start.expose_provenance(),
                size: image.end.addr().saturating_sub(image.start.addr()),
            };
            // SAFETY: the object is loaded and constant here, and it is there until this is taken back.
            let file = unsafe { packaged(&object, bytes) }.unwrap_or(bytes);
            // A binary may have several images.
            if file.size > 0 && !files.contains(&file) {
                files.push(file);
            }
        }
        PROGRAMS.register(registered.addr(), &object, |_| Form::Files(files));
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tgt_unregister_lib(registered: *const openmp::Descriptor) {
    quietly(|| {
        let object = SharedObject::at(registered.addr());
        if let Some(unregister) = meant_for(OPENMP, &object, c"__tgt_unregister_lib") {
            // SAFETY: that function expects what this one was given, and no size.
            unsafe { unregister(registered.cast(), 0) };
        } else {
            openmp::unregister(registered);
        }
        PROGRAMS.unregister(registered.addr());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_of_a_file_have_different_numbers_whichever_is_taken_back() {
        let programs = Programs::default();
        let object = SharedObject::at(0);
        let register = |key| {
            let mut given = None;
            programs.register(key, &object, |number| {
                given = Some(number);
                Form::Files(Vec::new())
            });
            given
        };
        assert_eq!([1, 2].map(register), [Some(0), Some(1)]);
        programs.unregister(1);
        assert_eq!(register(3), Some(2), "1 is that of the second, which is left");
        programs.unregister(2);
        programs.unregister(3);
        assert_eq!(register(1), Some(0), "it was loaded again");
    }
}
