//! Registries of device images, and the way to a kernel.

use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;

use offkit_object::Limits;
use offkit_pi::host;
use offkit_runtime::{
    CollectOptions, ExporterRule, ImageId, ImageRegistry, LibraryId, Registered, Visibility,
};

use crate::c::{
    Array, In, New, Objects, Out, Owned, Result, Status, Text, Texts, answer, attempt, c_text, free, given,
    make, make_if_wanted, nth, objects, tell,
};
use crate::context::Context;
use crate::device::Device;
use crate::error::{Code, Failure};
use crate::kernel::Kernel;
use crate::programs;

/// `offkit_registry`.
pub(crate) struct Registry {
    registry: Arc<ImageRegistry>,
    texts: Texts,
}

impl Registry {
    /// The images; those of this process as they are now.
    pub(crate) fn images(&self) -> &Arc<ImageRegistry> {
        // At each use: nobody says so here when an object registers with another runtime.
        if Arc::ptr_eq(&self.registry, &programs::registry()) {
            programs::adopt();
        }
        &self.registry
    }
}

/// `offkit_library`.
pub(crate) struct Library {
    registry: Arc<ImageRegistry>,
    /// One, or what a shared object has registered at several times.
    ids: Vec<LibraryId>,
    /// Whether the images go when the library is closed, and not with a shared object.
    is_own: bool,
    images: usize,
    problems: CString,
}

impl Library {
    fn new(registry: &Arc<ImageRegistry>, registered: &Registered) -> Self {
        let problems: Vec<_> = registered.problems.iter().map(ToString::to_string).collect();
        Self {
            registry: Arc::clone(registry),
            ids: vec![registered.library],
            is_own: true,
            images: registered.images.len(),
            problems: c_text(&problems.join("\n")),
        }
    }

    /// A file, opened.
    fn open(registry: &Arc<ImageRegistry>, path: &str) -> Result<Self> {
        let registered = registry.open(path, &Limits::default());
        let registered =
            registered.map_err(|error| Failure::new(Code::Read, format!("cannot read `{path}`: {error}")))?;
        Ok(Self::new(registry, &registered))
    }

    /// What a shared object has registered.
    fn loaded(registry: &Arc<ImageRegistry>, ids: Vec<LibraryId>) -> Self {
        Self {
            images: ids.iter().map(|id| registry.library_images(*id).len()).sum(),
            registry: Arc::clone(registry),
            ids,
            is_own: false,
            problems: CString::default(),
        }
    }

    fn withdraw(&self) {
        for id in &self.ids {
            self.registry.withdraw(*id);
        }
    }
}

/// `offkit_collection`.
pub(crate) struct Collection {
    registry: Arc<ImageRegistry>,
    collection: offkit_runtime::Collection,
    device: host::Device,
    images: Vec<CString>,
    resolutions: CString,
}

fn create(registry: New<'_, Registry>, get: impl FnOnce() -> Arc<ImageRegistry>) -> Status {
    make(registry, || {
        Ok(Registry {
            registry: get(),
            texts: Texts::default(),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_create(registry: New<'_, Registry>) -> Status {
    create(registry, Arc::default)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_of_process(registry: New<'_, Registry>) -> Status {
    create(registry, programs::registry)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_open(
    registry: In<'_, Registry>,
    path: Text<'_>,
    library: New<'_, Library>,
) -> Status {
    make_if_wanted(library, || {
        let registry = given(registry, "the registry")?.images();
        let path = path.get("the path")?;
        Library::open(registry, path)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_add(
    registry: In<'_, Registry>,
    name: Text<'_>,
    bytes: Array<'_, u8>,
    size: usize,
    library: New<'_, Library>,
) -> Status {
    make_if_wanted(library, || {
        let registry = given(registry, "the registry")?.images();
        // A copy: the header lets the caller free the bytes after this, and code is read later.
        // SAFETY: the caller says how many bytes there are.
        let bytes = unsafe { bytes.get(size, "the bytes") }?.to_vec();
        let registered = registry.add_file(name.get("the name")?, Arc::new(bytes), &Limits::default());
        Ok(Library::new(registry, &registered))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_withdraw(registry: In<'_, Registry>, library: In<'_, Library>) -> Status {
    attempt(|| {
        let (registry, library) = (given(registry, "the registry")?, given(library, "the library")?);
        check_registry(&registry.registry, library)?;
        library.withdraw();
        Ok(())
    })
}

fn check_registry(registry: &Arc<ImageRegistry>, library: &Library) -> Result<()> {
    match Arc::ptr_eq(registry, &library.registry) {
        true => Ok(()),
        false => Err(Failure::invalid("the library is one of another registry")),
    }
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_set_exporter_rule(registry: In<'_, Registry>, rule: c_int) -> Status {
    attempt(|| {
        let registry = given(registry, "the registry")?.images();
        let known = usize::try_from(rule)
            .ok()
            .and_then(|rule| ExporterRule::ALL.get(rule).copied());
        registry.set_exporter_rule(known.ok_or_else(|| {
            let message = format!("{rule} is no exporter rule: expected one of OFFKIT_EXPORTER_...");
            Failure::invalid(message)
        })?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_dlopen(
    registry: In<'_, Registry>,
    path: Text<'_>,
    visibility: c_int,
    library: New<'_, Library>,
) -> Status {
    make(library, || {
        let registry = given(registry, "the registry")?.images();
        let path = path.get("the path")?;
        let visibility = match visibility {
            0 => Visibility::Local,
            1 => Visibility::Global,
            other => {
                let message = format!("{other} is no visibility: expected one of OFFKIT_VISIBILITY_...");
                return Err(Failure::invalid(message));
            }
        };
        let loaded = match Arc::ptr_eq(registry, &programs::registry()) {
            true => programs::loaded_from(path),
            false => Vec::new(),
        };
        let is_loaded = !loaded.is_empty();
        let library = match is_loaded {
            true => Library::loaded(registry, loaded),
            false => Library::open(registry, path)?,
        };
        if library.images == 0 {
            // There is no handle to close then, and nothing else would take it out again.
            if library.is_own {
                library.withdraw();
            }
            let message = format!(
                "`{path}` has no device code\n{}",
                library.problems.to_string_lossy()
            );
            return Err(Failure::new(Code::Format, message.trim_end().to_owned()));
        }
        // What the process has loaded for all stays that.
        if !is_loaded || visibility == Visibility::Global {
            for id in &library.ids {
                registry.set_visibility(*id, visibility);
            }
        }
        Ok(library)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_dlsym(
    library: In<'_, Library>,
    kernel: Text<'_>,
    device: In<'_, Device>,
    collection: New<'_, Collection>,
) -> Status {
    make(collection, || {
        let Library { registry, ids, .. } = given(library, "the library")?;
        let images: Vec<_> = ids.iter().flat_map(|id| registry.library_images(*id)).collect();
        let is_own = |image| images.contains(&image);
        collect(registry, kernel, device, ids, &is_own)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_device_dlclose(library: Owned<Library>) -> Status {
    attempt(|| {
        // What a shared object has registered goes when that is unloaded, and not with a handle.
        if let Some(library) = library.filter(|library| library.is_own) {
            library.withdraw();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_image_count(registry: In<'_, Registry>, count: Out<'_, usize>) -> Status {
    answer(count, || {
        Ok(given(registry, "the registry")?.images().images().len())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_image(
    registry: In<'_, Registry>,
    number: usize,
    location: Out<'_, *const c_char>,
) -> Status {
    answer(location, || {
        let registry = given(registry, "the registry")?;
        let images = registry.images().images();
        let image = images.get(number).ok_or_else(|| {
            Failure::invalid(format!(
                "no image {number} in the registry: there are {}",
                images.len()
            ))
        })?;
        // It may have gone since the list was made.
        let location = registry.registry.location(*image);
        let location = location.ok_or(offkit_runtime::ImageError::Withdrawn)?;
        Ok(registry.texts.keep(&location.to_string()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_collect(
    registry: In<'_, Registry>,
    kernel: Text<'_>,
    device: In<'_, Device>,
    collection: New<'_, Collection>,
) -> Status {
    make(collection, || {
        let registry = given(registry, "the registry")?.images();
        collect(registry, kernel, device, &[], &|_| true)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_collect_with(
    registry: In<'_, Registry>,
    kernel: Text<'_>,
    device: In<'_, Device>,
    library_list: Objects<'_, Library>,
    library_count: usize,
    collection: New<'_, Collection>,
) -> Status {
    make(collection, || {
        let registry = given(registry, "the registry")?.images();
        // SAFETY: the caller says how many there are.
        let libraries = unsafe { objects(library_list, library_count, "the libraries") }?;
        for library in &libraries {
            check_registry(registry, library)?;
        }
        let ids: Vec<_> = libraries
            .iter()
            .flat_map(|library| library.ids.iter().copied())
            .collect();
        collect(registry, kernel, device, &ids, &|_| true)
    })
}

/// Collects what a kernel needs, of images that are wanted; these libraries supply symbols before all others do.
fn collect(
    registry: &Arc<ImageRegistry>,
    kernel: Text<'_>,
    device: In<'_, Device>,
    libraries: &[LibraryId],
    is_wanted: &dyn Fn(ImageId) -> bool,
) -> Result<Collection> {
    let device = &given(device, "the device")?.device;
    let found = registry.find_kernel(kernel.get("the kernel's name")?, is_wanted)?;
    let kernel = registry.select(&found, device)?;
    let options = CollectOptions {
        device: Some(device),
        libraries,
    };
    let collection = registry.collect_with(&kernel, &options)?;
    let place = |image| {
        let location = registry.location(image);
        location.map_or_else(String::new, |location| location.to_string())
    };
    let resolutions = collection.resolutions.iter().map(|resolution| {
        let (importer, exporter) = (place(resolution.importer), place(resolution.exporter));
        format!("{}: {importer} <- {exporter}", resolution.symbol)
    });
    let resolutions: Vec<_> = resolutions.collect();
    let images = collection.images.iter().map(|image| c_text(&place(*image)));
    Ok(Collection {
        registry: Arc::clone(registry),
        device: device.clone(),
        images: images.collect(),
        resolutions: c_text(&resolutions.join("\n")),
        collection,
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_free(registry: Owned<Registry>) {
    free(registry);
}

#[unsafe(no_mangle)]
extern "C" fn offkit_library_image_count(library: In<'_, Library>) -> usize {
    tell(library, 0, |library| library.images)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_library_problems(library: In<'_, Library>) -> *const c_char {
    tell(library, ptr::null(), |library| library.problems.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_library_free(library: Owned<Library>) {
    free(library);
}

#[unsafe(no_mangle)]
extern "C" fn offkit_collection_image_count(collection: In<'_, Collection>) -> usize {
    tell(collection, 0, |collection| collection.images.len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_collection_image(collection: In<'_, Collection>, number: usize) -> *const c_char {
    tell(collection, ptr::null(), |collection| {
        nth(&collection.images, number)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_collection_resolutions(collection: In<'_, Collection>) -> *const c_char {
    tell(collection, ptr::null(), |collection| {
        collection.resolutions.as_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_collection_build(
    collection: In<'_, Collection>,
    context: In<'_, Context>,
    kernel: New<'_, Kernel>,
) -> Status {
    make(kernel, || {
        let collection = given(collection, "the collection")?;
        let context = &given(context, "the context")?.0;
        let Collection { registry, device, .. } = collection;
        Ok(registry.build(&collection.collection, context, device)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_collection_free(collection: Owned<Collection>) {
    free(collection);
}
