//! Which image supplies a symbol: rules, the loader's order, libraries that serve themselves, virtual functions.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex};

use offkit_object::{ByteArray, DeviceImage, Item, Limits, Location};
use offkit_runtime::{
    CollectError, CollectOptions, ExporterRule, ImageId, ImageRegistry, KernelId, Lent, LibraryId, Loader,
    SharedObjectId, Visibility,
};

const SPIRV: &[u8] = b"\x03\x02\x23\x07";
const ELF: &[u8] = b"\x7fELF\x02\x01\x01";

/// An image with `kernels / imports / exports`; the name makes its bytes differ from others'.
fn image(magic: &[u8], name: &str, symbols: [&str; 3]) -> DeviceImage<'static> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut image = DeviceImage::new([magic, name.as_bytes()].concat());
    image.location = Location::of_file(name);
    [image.kernels, image.imports, image.exports] = symbols.map(words);
    image
}

fn add(registry: &ImageRegistry, name: &str, symbols: [&str; 3]) -> ImageId {
    registry.add(image(SPIRV, name, symbols))
}

fn places(registry: &ImageRegistry, images: &[ImageId]) -> Vec<String> {
    let place = |image: &ImageId| registry.location(*image).map(|place| place.to_string());
    images
        .iter()
        .map(|image| place(image).unwrap_or_default())
        .collect()
}

fn kernel(registry: &ImageRegistry, image: ImageId) -> KernelId {
    let symbols = registry.symbols(image).expect("the image is there");
    KernelId {
        image,
        name: symbols.kernels[0].clone(),
    }
}

fn collect(registry: &ImageRegistry, image: ImageId) -> Result<Vec<String>, CollectError> {
    let collection = registry.collect(&kernel(registry, image))?;
    Ok(places(registry, &collection.images))
}

fn collect_with(
    registry: &ImageRegistry,
    image: ImageId,
    libraries: &[LibraryId],
) -> Result<Vec<String>, CollectError> {
    let options = CollectOptions {
        libraries,
        ..CollectOptions::default()
    };
    let collection = registry.collect_with(&kernel(registry, image), &options)?;
    Ok(places(registry, &collection.images))
}

fn library(registry: &ImageRegistry, image: ImageId) -> LibraryId {
    registry.library(image).expect("the image is there")
}

/// An image of a shared object.
#[derive(Debug)]
struct Loaded(SharedObjectId, DeviceImage<'static>);

impl Lent for Loaded {
    fn walk(&self, _: bool, _: &Limits, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) {
        let _ = visit(Item::Image(self.1.clone()));
    }

    fn copy(&self, _: Range<u64>) -> Option<Vec<u8>> {
        None
    }

    fn object(&self) -> Option<SharedObjectId> {
        Some(self.0)
    }
}

/// A process: the global objects in order, and the groups that were loaded for themselves.
#[derive(Debug, Default)]
struct Process {
    global: Mutex<Vec<usize>>,
    local: Vec<Vec<usize>>,
}

impl Loader for Process {
    fn scope(&self, of: Option<SharedObjectId>) -> Vec<SharedObjectId> {
        let mut scope = self.global.lock().expect("nobody panicked").clone();
        let groups = self.local.iter();
        scope.extend(
            groups
                .filter(|group| of.is_some_and(|of| group.contains(&of.0)))
                .flatten(),
        );
        scope.into_iter().map(SharedObjectId).collect()
    }
}

fn load(registry: &ImageRegistry, object: usize, name: &str, symbols: [&str; 3]) -> ImageId {
    let loaded = Loaded(SharedObjectId(object), image(SPIRV, name, symbols));
    registry.lend(Arc::new(loaded), &Limits::default()).images[0]
}

#[test]
fn the_rule_says_which_of_several_exporters_wins() {
    let registry = ImageRegistry::new();
    let app = add(&registry, "app", ["k", "f", ""]);
    let first = add(&registry, "first", ["", "", "f"]);
    let own = add(&registry, "own", ["own", "f", "g"]);
    add(&registry, "second", ["", "", "f"]);
    assert_eq!(registry.exporter_rule(), ExporterRule::Unique);
    let error = collect(&registry, app).unwrap_err();
    assert!(matches!(error, CollectError::SeveralExporters { .. }), "{error}");
    assert!(error.to_string().contains("`first`, `second`"), "{error}");

    registry.set_exporter_rule(ExporterRule::First);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "first"]);
    assert_eq!(collect(&registry, own).unwrap(), ["own", "first"]);
    registry.withdraw(library(&registry, first));
    assert_eq!(collect(&registry, app).unwrap(), ["app", "second"]);
}

#[test]
fn an_own_exporter_comes_first_where_the_rule_says_so() {
    let process = Process {
        global: Mutex::new(vec![1, 2]),
        local: Vec::new(),
    };
    let registry = ImageRegistry::of_process(Arc::new(process));
    assert_eq!(registry.exporter_rule(), ExporterRule::First);
    load(&registry, 1, "first", ["", "", "f"]);
    let app = load(&registry, 2, "app", ["k", "f", ""]);
    load(&registry, 2, "own", ["", "", "f"]);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "first"]);
    registry.set_exporter_rule(ExporterRule::OwnFirst);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "own"]);
    registry.set_exporter_rule(ExporterRule::Unique);
    assert!(collect(&registry, app).is_err());
    for rule in ExporterRule::ALL {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    assert!("last".parse::<ExporterRule>().is_err());
}

#[test]
fn the_loaders_order_counts_and_not_that_of_registration() {
    // What is preloaded comes before what the program was linked with, and registers later.
    let process = Process {
        global: Mutex::new(vec![10, 30, 20]),
        local: Vec::new(),
    };
    let registry = ImageRegistry::of_process(Arc::new(process));
    load(&registry, 20, "linked", ["other", "", "f"]);
    load(&registry, 30, "preloaded", ["other", "", "f"]);
    let app = load(&registry, 10, "app", ["k", "f", ""]);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "preloaded"]);
    // Files that the process opened come behind.
    add(&registry, "file", ["", "", "f g"]);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "preloaded"]);
}

#[test]
fn what_was_loaded_for_itself_serves_itself_until_it_is_asked_for() {
    let process = Arc::new(Process {
        global: Mutex::new(vec![1]),
        local: vec![vec![2, 3], vec![4]],
    });
    let registry = ImageRegistry::of_process(Arc::<Process>::clone(&process));
    let app = load(&registry, 1, "app", ["k", "f", ""]);
    load(&registry, 1, "base", ["", "", "h"]);
    let plugin = load(&registry, 2, "plugin", ["p", "f h", ""]);
    let helper = load(&registry, 3, "helper", ["", "", "f"]);
    let other = load(&registry, 4, "other", ["o", "f", ""]);

    let error = collect(&registry, app).unwrap_err();
    assert!(matches!(error, CollectError::Local { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("only `helper` exports, which serves itself alone"),
        "{error}"
    );
    // Those that were loaded together see each other, and what is global.
    assert_eq!(collect(&registry, plugin).unwrap(), ["plugin", "helper", "base"]);
    assert!(collect(&registry, other).is_err());

    // For one collection, or for all from now on.
    let asked = [library(&registry, helper)];
    assert_eq!(collect_with(&registry, app, &asked).unwrap(), ["app", "helper"]);
    assert!(collect(&registry, app).is_err());
    assert!(registry.set_visibility(asked[0], Visibility::Global));
    assert_eq!(collect(&registry, app).unwrap(), ["app", "helper"]);
    assert!(registry.set_visibility(asked[0], Visibility::Local));
    assert!(collect(&registry, app).is_err());
    // Or because the process makes it global.
    process.global.lock().expect("nobody panicked").push(3);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "helper"]);
    assert!(registry.withdraw(asked[0]));
    assert!(
        !registry.set_visibility(asked[0], Visibility::Global),
        "it is gone"
    );
}

#[test]
fn handles_choose_among_files_that_export_the_same() {
    let registry = ImageRegistry::new();
    let app = add(&registry, "app", ["k", "f", ""]);
    let [a, b] = ["a", "b"].map(|name| {
        let image = add(&registry, name, [name, "", "f"]);
        registry.set_visibility(library(&registry, image), Visibility::Local);
        library(&registry, image)
    });
    assert!(matches!(collect(&registry, app), Err(CollectError::Local { .. })));
    assert_eq!(collect_with(&registry, app, &[a]).unwrap(), ["app", "a"]);
    assert_eq!(collect_with(&registry, app, &[b]).unwrap(), ["app", "b"]);
    let both = collect_with(&registry, app, &[b, a]).unwrap_err();
    assert!(matches!(both, CollectError::SeveralExporters { .. }), "{both}");
    registry.set_exporter_rule(ExporterRule::First);
    assert_eq!(collect_with(&registry, app, &[b, a]).unwrap(), ["app", "b"]);
}

#[test]
fn a_missing_symbol_is_told_with_the_whole_chain() {
    let registry = ImageRegistry::new();
    let app = add(&registry, "app", ["saxpy", "scale", ""]);
    add(&registry, "library", ["", "shift", "scale"]);
    add(&registry, "helper", ["", "deep", "shift"]);
    let error = collect(&registry, app).unwrap_err().to_string();
    assert_eq!(
        error,
        "kernel `saxpy` needs `deep`, which `helper` imports and no image exports (searched `app`, `library`, \
         `helper`); that is needed for `shift`, by `library`; that is needed for `scale`, by `app`"
    );
    registry.add(image(ELF, "native", ["", "", "deep"]));
    let error = collect(&registry, app).unwrap_err().to_string();
    assert!(
        error.contains("only `native` (ELF) exports, in another format"),
        "{error}"
    );
    assert!(error.contains("needed for `scale`, by `app`"), "{error}");
}

#[test]
fn chains_and_mutual_dependencies_resolve_each_importer_once() {
    let registry = ImageRegistry::new();
    let a = add(&registry, "a", ["k", "g h", "f"]);
    add(&registry, "b", ["", "f h", "g"]);
    add(&registry, "c", ["", "g", "h"]);
    let collection = registry.collect(&kernel(&registry, a)).unwrap();
    assert_eq!(places(&registry, &collection.images), ["a", "b", "c"]);
    let resolved = collection.resolutions.iter().map(|resolution| {
        let ends = places(&registry, &[resolution.importer, resolution.exporter]);
        format!("{}: {}", resolution.symbol, ends.join(" <- "))
    });
    let resolved: Vec<_> = resolved.collect();
    assert_eq!(
        resolved,
        ["g: a <- b", "h: a <- c", "f: b <- a", "h: b <- c", "g: c <- b"]
    );
}

#[test]
fn images_that_export_the_same_are_told_apart_if_a_rule_chooses() {
    let registry = ImageRegistry::new();
    let app = add(&registry, "app", ["saxpy", "f g", ""]);
    add(&registry, "a", ["", "", "f h"]);
    add(&registry, "b", ["", "", "g h"]);
    assert!(matches!(collect(&registry, app), Err(CollectError::Clash { .. })));
    registry.set_exporter_rule(ExporterRule::First);
    assert_eq!(collect(&registry, app).unwrap(), ["app", "a", "b"]);

    // Machine code stays as it is.
    let registry = ImageRegistry::new();
    registry.set_exporter_rule(ExporterRule::First);
    let app = registry.add(image(ELF, "app", ["saxpy", "f g", ""]));
    registry.add(image(ELF, "a", ["", "", "f h"]));
    registry.add(image(ELF, "b", ["", "", "g h"]));
    assert!(matches!(collect(&registry, app), Err(CollectError::Clash { .. })));
}

#[test]
fn virtual_functions_come_by_their_sets() {
    let with_sets = |name: &str, symbols, sets: &[(&str, &str)]| {
        let mut image = image(SPIRV, name, symbols);
        for (key, sets) in sets {
            let value = ByteArray::new(sets.as_bytes());
            image.properties.insert("SYCL/virtual functions", *key, value);
        }
        image
    };
    let (defines, uses) = ("virtual-functions-set", "uses-virtual-functions-set");
    let registry = ImageRegistry::new();
    let app = registry.add(with_sets("app", ["k", "", ""], &[(uses, "shapes, colours")]));
    registry.add(with_sets("circle", ["", "area", ""], &[(defines, "shapes")]));
    registry.add(with_sets("square", ["", "", ""], &[(defines, "shapes")]));
    registry.add(with_sets(
        "red",
        ["", "", ""],
        &[(defines, "colours"), (uses, "names")],
    ));
    let names = registry.add(with_sets("names", ["", "", ""], &[(defines, "names")]));
    registry.add(with_sets("unused", ["", "", ""], &[(defines, "sounds")]));
    let mut dummy = with_sets("dummy", ["", "", ""], &[(defines, "shapes")]);
    dummy
        .properties
        .insert("SYCL/virtual functions", "dummy-image", 1);
    registry.add(dummy);
    let error = collect(&registry, app).unwrap_err().to_string();
    assert!(error.contains("needs `area`, which `circle` imports"), "{error}");
    assert!(error.contains("needed for `shapes`, by `app`"), "{error}");
    add(&registry, "areas", ["", "", "area"]);
    let all = ["app", "circle", "square", "red", "areas", "names"];
    assert_eq!(collect(&registry, app).unwrap(), all);
    // A set leaves with the library that it came with; the others stay.
    assert!(registry.withdraw(library(&registry, names)));
    assert_eq!(collect(&registry, app).unwrap(), all[..5]);
}
