//! What the registry knows of images, and what becomes of it when files change and libraries go.

use std::fs;
use std::sync::Arc;

use offkit_object::{DeviceImage, ImageFormat, Limits, Location};
use offkit_runtime::{ImageError, ImageId, ImageRegistry, KernelId, KernelNameError, LibraryId, Registered};

const SPIRV: &[u8] = b"\x03\x02\x23\x07";

/// Registers an image with these kernels; the name makes its bytes differ from others.
fn add(registry: &ImageRegistry, name: &str, kernels: &[&str]) -> ImageId {
    let mut image = DeviceImage::new([SPIRV, name.as_bytes()].concat());
    image.location = Location::of_file(name);
    image.kernels = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
    image.exports = vec![format!("{name}_export")];
    registry.add(image)
}

fn ptx(kernel: &str) -> String {
    format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry {kernel}(.param .u64 x) {{ ret; }}\n"
    )
}

fn library(registry: &ImageRegistry, image: ImageId) -> LibraryId {
    registry.library(image).expect("the image is there")
}

#[test]
fn kernels_are_found_by_the_closest_name() {
    let registry = ImageRegistry::new();
    let a = add(&registry, "a", &["_Z5saxpyf", "saxpy"]);
    let b = add(&registry, "b", &["_Z5daxpyf", "_Z5daxpyd"]);
    let find = |name: &str, among: &[ImageId]| registry.find_kernel(name, |image| among.contains(&image));
    assert_eq!(find("saxpy", &[a]).unwrap().name, "saxpy");
    assert_eq!(find("saxpy(float)", &[a]).unwrap().name, "_Z5saxpyf");
    let found = find("daxpy(double)", &[a, b]).unwrap();
    assert_eq!((found.name.as_str(), found.images), ("_Z5daxpyd", vec![b]));
    let error = find("daxpy", &[a, b]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`daxpy(float)` (symbol `_Z5daxpyf`) in `b`"),
        "{error}"
    );
    let Err(KernelNameError::NotFound { similar, .. }) = find("saxpi", &[a, b]) else {
        panic!("found");
    };
    assert_eq!(similar[0], "saxpy");
    assert!(find("saxpy", &[b]).is_err(), "only among the images named");
    // A name whose words do not tell the key: it has to be demangled.
    let lambda = "_ZTSZ4mainE6kernel";
    let c = add(&registry, "c", &[lambda]);
    assert_eq!(find("main::kernel", &[a, b, c]).unwrap().name, lambda);
}

#[test]
fn one_of_several_equal_images_is_found_and_different_ones_all_are() {
    let registry = ImageRegistry::new();
    let first = add(&registry, "same", &["k"]);
    add(&registry, "same", &["k"]);
    assert_eq!(registry.find_kernel("k", |_| true).unwrap().images, [first]);
    // Of the same size and with the same names, and other code.
    let mut image = registry.image(first).unwrap();
    image.code = [SPIRV, b"code"].concat().into();
    let other = registry.add(image);
    assert_eq!(
        registry.find_kernel("k", |_| true).unwrap().images,
        [first, other]
    );
}

#[test]
fn names_that_no_container_tells_are_read_from_the_code() {
    let registry = ImageRegistry::new();
    let bytes = Arc::new(ptx("_Z5saxpyPf").into_bytes());
    let Registered { images, .. } = registry.add_file("k.ptx", bytes, &Limits::default());
    assert_eq!(registry.find_kernel("saxpy", |_| true).unwrap().images, images);
    assert_eq!(registry.format(images[0]), Some(ImageFormat::Ptx));
    // Those that come later, too.
    registry.add_file(
        "later.ptx",
        Arc::new(ptx("later").into_bytes()),
        &Limits::default(),
    );
    assert!(registry.find_kernel("later", |_| true).is_ok());
}

#[test]
fn withdrawn_images_are_gone_and_others_stay() {
    let registry = ImageRegistry::new();
    let kept = add(&registry, "kept", &["kept"]);
    let gone = add(&registry, "gone", &["gone"]);
    let place = library(&registry, gone);
    assert!(registry.withdraw(place));
    assert!(!registry.withdraw(place), "it is gone already");
    assert!(registry.find_kernel("gone", |_| true).is_err());
    assert!(matches!(registry.image(gone), Err(ImageError::Withdrawn)));
    assert_eq!(registry.location(gone), None);
    let kernel = KernelId {
        image: gone,
        name: "gone".into(),
    };
    assert!(registry.collect(&kernel).is_err());
    assert_eq!(registry.find_kernel("kept", |_| true).unwrap().images, [kept]);
    // Its number is nobody else's.
    let new = add(&registry, "new", &["gone"]);
    assert!(new != gone && new != kept);
    assert_eq!(registry.find_kernel("gone", |_| true).unwrap().images, [new]);
    assert_eq!(registry.images(), [kept, new]);
}

#[test]
fn libraries_may_come_and_go_without_end() {
    let registry = ImageRegistry::new();
    let kept = add(&registry, "kept", &["_Z4keptv", "shared"]);
    for round in 0..2000 {
        let name = format!("kernel{round}");
        let image = add(&registry, &name, &[&name, "shared"]);
        assert_eq!(registry.find_kernel(&name, |_| true).unwrap().images, [image]);
        assert!(registry.withdraw(library(&registry, image)));
    }
    for name in ["_Z4keptv", "kept()", "kept", "shared"] {
        assert_eq!(
            registry.find_kernel(name, |_| true).unwrap().images,
            [kept],
            "{name}"
        );
    }
    // What is kept for names that are gone is bounded.
    let kept = format!("{registry:?}");
    assert!(kept.matches("kernel").count() < 100, "{kept}");
}

#[test]
fn images_are_withdrawn_while_others_are_looked_up() {
    let registry = ImageRegistry::new();
    let kept = add(&registry, "kept", &["_Z4keptv"]);
    std::thread::scope(|scope| {
        let coming_and_going = || {
            for round in 0..500 {
                let bytes = Arc::new(ptx(&format!("k{round}")).into_bytes());
                let added = registry.add_file("k.ptx", bytes, &Limits::default());
                let _ = registry.find_kernel("k0", |_| true);
                assert!(registry.withdraw(added.library));
            }
        };
        scope.spawn(coming_and_going);
        scope.spawn(coming_and_going);
        for _ in 0..500 {
            assert_eq!(registry.find_kernel("kept", |_| true).unwrap().images, [kept]);
        }
    });
    assert_eq!(registry.images(), [kept]);
}

#[test]
fn a_file_that_changes_is_told_and_one_that_is_replaced_stays() {
    let image = [SPIRV, &[7; 9996]].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let registry = ImageRegistry::new();
    let open = |name: &str| {
        let path = folder.path().join(name);
        fs::write(&path, &image).expect("the folder is writable");
        let registered = registry
            .open(&path, &Limits::default())
            .expect("the file is readable");
        (path, registered.images[0])
    };
    let (replaced, stays) = open("replaced.spv");
    fs::write(folder.path().join("new"), [0; 16]).expect("the folder is writable");
    fs::rename(folder.path().join("new"), replaced).expect("the file is replaced");
    assert_eq!(registry.image(stays).unwrap().bytes(), Ok(image.as_slice()));

    // Where it is, as another program would: a mapping would change with it, and end the process where it is gone.
    let (changed, gone) = open("changed.spv");
    fs::write(changed, [0; 16]).expect("the file is writable");
    let error = registry.image(gone).unwrap_err();
    assert!(matches!(error, ImageError::Changed { .. }), "{error}");
    assert!(error.to_string().contains("changed.spv"), "{error}");
    assert!(registry.open(folder.path(), &Limits::default()).is_err());
}
