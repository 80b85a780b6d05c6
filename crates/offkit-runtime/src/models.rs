//! The ways in which threads can meet in a registry, as libraries come and go while others look for kernels: `./dev loom`.

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;
use offkit_object::{DeviceImage, Location};

use crate::collect::Collection;
use crate::exporter::CollectError;
use crate::find::KernelId;
use crate::registry::{ImageId, ImageRegistry, Wanted};
use crate::source::ImageError;

/// Goes through the ways in which threads meet, with up to two of them stopped at a bad moment in each.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

fn registry() -> Arc<ImageRegistry> {
    Arc::new(ImageRegistry::new())
}

/// An image whose container tells its names.
fn image(name: &str, [kernels, imports, exports]: [&[&str]; 3]) -> DeviceImage<'static> {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut image = DeviceImage::new([b"\x03\x02\x23\x07", name.as_bytes()].concat());
    image.location = Location::of_file(name);
    (image.kernels, image.imports, image.exports) = (own(kernels), own(imports), own(exports));
    image
}

fn app() -> DeviceImage<'static> {
    image("app", [&["kernel"], &["helper"], &[]])
}

fn library() -> DeviceImage<'static> {
    image("library", [&[], &["deep"], &["helper", "deep"]])
}

/// An image whose names are in its code alone.
fn unread(kernel: &str) -> DeviceImage<'static> {
    let code =
        format!(".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry {kernel}() {{ ret; }}\n");
    let mut image = DeviceImage::new(code.into_bytes());
    image.location = Location::of_file(kernel);
    image
}

fn collect(registry: &ImageRegistry, app: ImageId) -> Result<Collection, CollectError> {
    let name = "kernel".to_owned();
    registry.collect(&KernelId { image: app, name })
}

/// Either all of the library was there, or nothing of it.
fn is_whole(collected: &Result<Collection, CollectError>, app: ImageId, library: Option<ImageId>) {
    match collected {
        Ok(collection) => {
            let [own, other] = collection.images.as_slice() else {
                panic!("{collection:?}");
            };
            assert!(*own == app && library.is_none_or(|library| library == *other));
            let symbols: Vec<_> = collection
                .resolutions
                .iter()
                .map(|one| one.symbol.as_str())
                .collect();
            assert_eq!(symbols, ["helper", "deep"]);
        }
        Err(CollectError::NotExported { symbol, .. }) => assert_eq!(symbol, "helper"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_library_that_comes_is_there_whole_or_not_at_all() {
    check(|| {
        let registry = registry();
        let app = registry.add(app());
        let loads = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || registry.add(library()))
        };
        let collected = collect(&registry, app);
        let library = loads.join().unwrap();
        is_whole(&collected, app, Some(library));
        assert!(collect(&registry, app).is_ok());
    });
}

#[test]
fn code_that_was_collected_stays_when_its_library_goes() {
    check(|| {
        let registry = registry();
        let app = registry.add(app());
        let library = registry.add(library());
        let place = registry.library(library).unwrap();
        let unloads = {
            let registry = Arc::clone(&registry);
            // What is left is so little that the index is made anew.
            thread::spawn(move || assert!(registry.withdraw(place)))
        };
        let found = registry.find_kernel("kernel", |_| true).unwrap();
        assert_eq!(found.images, [app]);
        let code = registry.code(library);
        let second = registry.code(library);
        match (&code, &second) {
            (Ok(code), Ok(second)) => assert!(Arc::ptr_eq(code, second)),
            // Once it is gone it does not come back.
            (_, Err(ImageError::Withdrawn)) => {}
            other => panic!("{other:?}"),
        }
        unloads.join().unwrap();
        if let Ok(code) = code {
            assert!(code.bytes().unwrap().ends_with(b"library"));
        }
        assert!(registry.code(library).is_err());
        is_whole(&collect(&registry, app), app, None);
        assert_eq!(registry.images(), [app]);
    });
}

#[test]
fn a_library_that_goes_and_another_that_comes_are_not_mixed() {
    check(|| {
        let registry = registry();
        let app = registry.add(app());
        let old = registry.add(library());
        let place = registry.library(old).unwrap();
        let changes = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || {
                assert!(registry.withdraw(place));
                registry.add(library())
            })
        };
        let collected = collect(&registry, app);
        let new = changes.join().unwrap();
        is_whole(&collected, app, None);
        if let Ok(collection) = collected {
            assert!([old, new].contains(&collection.images[1]));
        }
        assert_eq!(collect(&registry, app).unwrap().images, [app, new]);
    });
}

#[test]
fn names_in_code_are_entered_once_whoever_looks_first() {
    check(|| {
        let registry = registry();
        let early = registry.add(unread("early"));
        let looks = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || registry.find_kernel("early", |_| true).unwrap().images)
        };
        let late = registry.add(unread("late"));
        assert_eq!(registry.find_kernel("late", |_| true).unwrap().images, [late]);
        assert_eq!(looks.join().unwrap(), [early]);
        let state = registry.read();
        assert_eq!(state.index.len(), 2);
        assert_eq!(state.unread[Wanted::Kernels as usize], []);
    });
}

#[test]
fn names_that_are_read_of_a_library_that_goes_are_nobodys() {
    check(|| {
        let registry = registry();
        let gone = registry.add(unread("gone"));
        let place = registry.library(gone).unwrap();
        let unloads = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || {
                assert!(registry.withdraw(place));
                registry.add(unread("new"))
            })
        };
        if let Ok(found) = registry.find_kernel("gone", |_| true) {
            assert_eq!(found.images, [gone]);
        }
        let new = unloads.join().unwrap();
        assert!(registry.find_kernel("gone", |_| true).is_err());
        assert_eq!(registry.find_kernel("new", |_| true).unwrap().images, [new]);
        assert_eq!(registry.read().unread[Wanted::Kernels as usize], []);
    });
}

#[test]
fn those_who_open_an_image_at_once_share_it() {
    check(|| {
        let registry = registry();
        let image = registry.add(library());
        let opens = {
            let registry = Arc::clone(&registry);
            thread::spawn(move || registry.code(image).unwrap())
        };
        let own = registry.code(image).unwrap();
        assert!(Arc::ptr_eq(&own, &opens.join().unwrap()));
    });
}
