//! Registries of device images, and the way to a kernel.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::Arc;

use offkit_object::Limits;
use offkit_pi::host;
use offkit_runtime::{ImageRegistry, LibraryId, Registered};

use crate::c::{
    Array, In, New, Out, Owned, Status, Text, Texts, answer, attempt, c_text, free, given, make,
    make_if_wanted, nth, tell,
};
use crate::context::Context;
use crate::device::Device;
use crate::error::{Code, Failure};
use crate::kernel::Kernel;
use crate::programs;

/// `offkit_registry`.
pub(crate) struct Registry {
    pub(crate) registry: Arc<ImageRegistry>,
    texts: Texts,
}

/// `offkit_library`.
pub(crate) struct Library {
    registry: Arc<ImageRegistry>,
    id: LibraryId,
    images: usize,
    problems: CString,
}

impl Library {
    fn new(registry: &Arc<ImageRegistry>, registered: &Registered) -> Self {
        let problems: Vec<_> = registered.problems.iter().map(ToString::to_string).collect();
        Self {
            registry: Arc::clone(registry),
            id: registered.library,
            images: registered.images.len(),
            problems: c_text(&problems.join("\n")),
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
        let registry = &given(registry, "the registry")?.registry;
        let path = path.get("the path")?;
        let registered = registry.open(path, &Limits::default());
        let registered =
            registered.map_err(|error| Failure::new(Code::Read, format!("cannot read `{path}`: {error}")))?;
        Ok(Library::new(registry, &registered))
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
        let registry = &given(registry, "the registry")?.registry;
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
        if !Arc::ptr_eq(&registry.registry, &library.registry) {
            return Err(Failure::invalid("the library is one of another registry"));
        }
        library.registry.withdraw(library.id);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_registry_image_count(registry: In<'_, Registry>, count: Out<'_, usize>) -> Status {
    answer(count, || {
        Ok(given(registry, "the registry")?.registry.images().len())
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
        let images = registry.registry.images();
        let image = images.get(number).ok_or_else(|| {
            Failure::invalid(format!(
                "no image {number} in the registry: there are {}",
                images.len()
            ))
        })?;
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
        let registry = &given(registry, "the registry")?.registry;
        let device = &given(device, "the device")?.device;
        let found = registry.find_kernel(kernel.get("the kernel's name")?, |_| true)?;
        let kernel = registry.select(&found, device)?;
        let collection = registry.collect(&kernel)?;
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
