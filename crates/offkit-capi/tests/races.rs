//! Libraries with device code that are loaded and unloaded by some threads while others collect, build and launch what
//! needs them, to be built with a sanitizer (`./dev race`, `./dev asan`): by the loader with liboffkit.so, and without
//! either. The program of the first is `tests/c-api/races.c`, here as a library of the test.

use std::env;
use std::ffi::{CString, c_char, c_int};
use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use offkit_object::registration::{HostTarget, Registration, RegistrationKind};
use offkit_object::{
    DeviceImage, ImageKind, Item, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind,
};
use offkit_pi::NdRange;
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::{Context, Device, Plugin, Queue, QueueProperties};
use offkit_runtime::{Buffer, BuildError, CollectError, ImageError, ImageRegistry, Lent};
use offkit_sync::{PoisonError, RwLock};

const APP: &str = "float axpy(float a, float x, float y);
    kernel void saxpy(float a, global const float *x, global float *y) {
      size_t i = get_global_id(0);
      y[i] = axpy(a, x[i], y[i]);
    }";
const LIBRARY: &str = "float axpy(float a, float x, float y) { return a * x + y; }";

type Main = unsafe extern "C" fn(c_int, *const *const c_char) -> c_int;

/// Runs a tool; `false` if it is not there, and may be missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn has_run(folder: &Path, tool: &str, arguments: &str) -> bool {
    match Command::new(tool)
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .status()
    {
        Ok(status) => {
            assert!(status.success(), "{tool} {arguments}");
            true
        }
        Err(error) => {
            let required = env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!required, "{tool}: {error}");
            eprintln!("SKIPPED: {tool}: {error}");
            false
        }
    }
}

/// Compiles device code; `None` if there is no compiler, and may be none.
fn compiled(folder: &Path, name: &str, source: &str) -> Option<DeviceImage<'static>> {
    fs::write(folder.join(format!("{name}.cl")), source).unwrap();
    let line = format!("--target=spirv64 -cl-std=CL3.0 -O1 -c {name}.cl -o {name}.spv");
    let is_there = has_run(folder, "clang-22", &line);
    is_there.then(|| DeviceImage::new(fs::read(folder.join(format!("{name}.spv"))).unwrap()))
}

/// Compiles device code, and wraps it as programs of DPC++ do; what it imports and exports is in the code alone.
fn wrapped(folder: &Path, name: &str, source: &str, kernels: &[&str]) -> bool {
    let Some(mut image) = compiled(folder, name, source) else {
        return false;
    };
    image.kernels = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
    let host = HostTarget::for_triple(env::consts::ARCH).expect("a host that is known");
    let object = Registration::new(RegistrationKind::SyclV3, host)
        .write(&[image])
        .unwrap();
    fs::write(folder.join(format!("{name}.o")), object).unwrap();
    true
}

/// The library, built as this test is: for the same target and into the same folder.
fn library(root: &Path) -> PathBuf {
    let exe = env::current_exe().unwrap();
    let folder = exe.ancestors().nth(2).expect("tests are in `deps`");
    let parent = folder.parent().expect("the folder of the profile is in another");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--lib"]).current_dir(root);
    // What is built for a target that is named has a folder of its own, by that name. Among all packages it gets the
    // features that it was tested with.
    match parent.join(".rustc_info.json").exists() {
        true => cargo.arg("--workspace"),
        false => cargo
            .args(["-p", "offkit-capi", "--target"])
            .args(parent.file_name()),
    };
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().unwrap().success(), "the library does not build");
    folder.join("liboffkit.so")
}

/// The variable of the process that a test is in.
const INSIDE: &str = "OFFKIT_RACES_INSIDE";

/// Runs `races` with the arguments that `prepare` makes of a folder and the image of the library, in a process of the test's
/// own: what is registered there belongs to all of it. It finds no devices but offkit's own.
fn races(test: &str, prepare: impl FnOnce(&Path, DeviceImage<'_>) -> Option<Vec<String>>) {
    if env::var_os(INSIDE).is_none() {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
        command
            .env("OCL_ICD_VENDORS", "/nowhere/")
            .env("OFFKIT_CACHE", "off");
        assert!(command.status().unwrap().success(), "{test}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !wrapped(folder, "app", APP, &["saxpy"]) {
        return;
    }
    let Some(arguments) = compiled(folder, "library", LIBRARY).and_then(|image| prepare(folder, image))
    else {
        return;
    };
    let program = format!(
        "-std=gnu11 -g -shared -fPIC -Dmain=races -I{0}/include {0}/tests/c-api/races.c app.o -o libraces.so",
        root.display()
    );
    if !has_run(folder, "cc", &program) {
        return;
    }
    let offkit = library(&root);
    let arguments = [vec!["races".to_owned()], arguments].concat();
    let arguments: Vec<_> = arguments
        .into_iter()
        .map(|text| CString::new(text).unwrap())
        .collect();
    let pointers: Vec<_> = arguments.iter().map(|text| text.as_ptr()).collect();
    // SAFETY: the libraries are this repository's own, and run nothing but registrations as they are loaded; `races` is a
    // `main`, and gets what one expects.
    let outcome = unsafe {
        let _offkit = Library::open(Some(offkit), RTLD_NOW | RTLD_GLOBAL).unwrap();
        let program = Library::open(Some(folder.join("libraces.so")), RTLD_NOW | RTLD_LOCAL).unwrap();
        let races = program.get::<Main>(b"races\0").unwrap();
        races(pointers.len().try_into().unwrap(), pointers.as_ptr())
    };
    assert_eq!(outcome, 0);
}

#[test]
fn libraries_come_and_go_while_others_look() {
    races("libraries_come_and_go_while_others_look", |folder, _| {
        // A library without a symbol for others serves itself alone.
        fs::write(folder.join("symbol.c"), "int symbol;").unwrap();
        let is_there = wrapped(folder, "library", LIBRARY, &[])
            && has_run(folder, "cc", "-shared -fPIC library.o symbol.c -o liblibrary.so");
        is_there.then(|| vec![folder.join("liblibrary.so").display().to_string()])
    });
}

#[test]
fn registrations_come_and_go_while_others_look() {
    races("registrations_come_and_go_while_others_look", |folder, image| {
        let code = image.bytes().unwrap();
        let mut entry = OffloadEntry::new(ImageKind::SPIRV, OffloadKind::SYCL, code);
        entry.strings.set("triple", "spirv64-unknown-unknown");
        let binary = OffloadBinary::from(entry)
            .write(OffloadBinaryVersion::V1)
            .unwrap();
        let path = folder.join("library.offload");
        fs::write(&path, binary).unwrap();
        Some(vec!["--memory".to_owned(), path.display().to_string()])
    });
}

/// A library in memory that its owner takes back.
struct Loaded {
    image: DeviceImage<'static>,
    is_there: RwLock<bool>,
}

impl Loaded {
    fn with<T>(&self, work: impl FnOnce(&DeviceImage<'static>) -> T) -> Option<T> {
        let is_there = self.is_there.read().unwrap_or_else(PoisonError::into_inner);
        is_there.then(|| work(&self.image))
    }
}

impl Lent for Loaded {
    fn walk(&self, _: bool, _: &Limits, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) {
        self.with(|image| {
            let mut image = image.clone();
            image.offset = Some(0);
            visit(Item::Image(image))
        });
    }

    fn copy(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
        self.with(|image| image.bytes().ok()?.get(range).map(<[u8]>::to_vec))?
    }
}

/// Collects, builds and launches a kernel that needs the library, if it is there.
fn launch(
    registry: &ImageRegistry,
    context: &Context,
    queue: &Queue,
    device: &Device,
) -> Result<(), CollectError> {
    let found = registry.find_kernel("saxpy", |_| true).unwrap();
    let kernel = registry.select(&found, device).unwrap();
    let collection = registry.collect(&kernel)?;
    let mut kernel = match registry.build(&collection, context, device) {
        Err(BuildError::Missing(error)) => return Err(error.into()),
        built => built.unwrap(),
    };
    let x = Buffer::from_slice(context, &[1_f32, 2.0, 3.0]).unwrap();
    let y = Buffer::from_slice(context, &[10_f32; 3]).unwrap();
    let arguments = [2_f32.into(), (&x).into(), (&y).into()];
    let launched = kernel.launch(queue, &NdRange::new([3]), &arguments, &[]).unwrap();
    assert_eq!(y.read(queue, &[&launched]).unwrap(), [12.0, 14.0, 16.0]);
    Ok(())
}

#[test]
fn images_come_and_go_while_others_launch() {
    const ROUNDS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let compiled = |name, source| compiled(folder.path(), name, source);
    let (Some(app), Some(library)) = (compiled("app", APP), compiled("library", LIBRARY)) else {
        return;
    };
    let registry = ImageRegistry::new();
    registry.add(app);
    let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let loaded = Arc::new(Loaded {
                        image: library.clone(),
                        is_there: RwLock::new(true),
                    });
                    let lent: Arc<dyn Lent> = Arc::<Loaded>::clone(&loaded);
                    let registered = registry.lend(lent, &Limits::default());
                    thread::yield_now();
                    assert!(registry.withdraw(registered.library));
                    *loaded.is_there.write().unwrap_or_else(PoisonError::into_inner) = false;
                }
            });
            scope.spawn(|| {
                let queue = context.queue(&device, QueueProperties::default()).unwrap();
                for _ in 0..ROUNDS {
                    match launch(&registry, &context, &queue, &device) {
                        // The library was away when the kernel was looked for, or left before it was built.
                        Ok(())
                        | Err(
                            CollectError::NotExported { .. } | CollectError::Image(ImageError::Withdrawn),
                        ) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(registry.images().len(), 1);
    registry.add(library);
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    launch(&registry, &context, &queue, &device).unwrap();
}
