//! Bundles exchanged with the real SYCL runtime.

use offkit_object::BundleState;
use offkit_runtime::{Executable, Input, KernelBundle, Object, State};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need};

use crate::machine::{EXPECTED, Machine, image, prepared, syclbin, two_forms, with_factor};

#[test]
fn bundles_travel_between_offkit_and_the_sycl_runtime() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let (folder, machine) = (Folder::new(), Machine::new());
    // What the real one writes: objects.
    runtime.compile(&folder, "kernel.cpp", "app.syclbin");
    runtime.compile(&folder, "library.cpp", "library.syclbin");
    let objects = ["app.syclbin", "library.syclbin"].map(|file| -> KernelBundle<Object> {
        machine.open(&folder, file).expect("a bundle of the real one")
    });
    let executable = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
    assert_eq!(machine.run_app(&executable), EXPECTED);

    // What offkit writes, in all three states.
    let accepts = |words: &[&str]| assert_eq!(runtime.link_and_run(&folder, words), EXPECTED, "{words:?}");
    folder.write("app-2", objects[0].content().expect("a file"));
    folder.write("library-2", objects[1].content().expect("a file"));
    accepts(&["app-2", "library-2"]);
    folder.write("executable", executable.content().expect("a file"));
    accepts(&["--executable", "executable"]);
    let whole = "kernel void __sycl_kernel_app_kernel(global int *a) { a[get_global_id(0)] = a[get_global_id(0)] * 7 + 1; }";
    folder.syclbin("whole", whole, "--state input");
    let input: KernelBundle<Input> = machine.open(&folder, "whole.syclbin").expect("a bundle");
    folder.write("input", input.content().expect("a file"));
    accepts(&["--input", "input"]);
}

/// Runs the bundle's kernel by the real runtime, which reads the file that offkit writes; and again after that one has
/// written it.
#[track_caller]
fn there_and_back<S: State>(runtime: &SyclRuntime, bundle: &KernelBundle<S>, machine: &Machine) -> Vec<i32> {
    let folder = Folder::new();
    folder.write("ours", bundle.content().expect("a file"));
    let option = format!("--{}", S::STATE.name());
    let state: &[&str] = match S::STATE {
        BundleState::Object => &[],
        _ => &[&option],
    };
    let run = |file: &str| runtime.link_and_run(&folder, &[state, &[file]].concat());
    let numbers = run("ours");
    let line = [state, &["--write", "theirs", "ours"]].concat();
    runtime.run(&folder, "link_and_run", &line).ok();
    assert_eq!(run("theirs"), numbers);
    let again: KernelBundle<S> = machine.open(&folder, "theirs").expect("the same");
    if S::STATE == BundleState::Executable {
        // Its driver's machine code, which is not for this device.
        assert!(folder.offkit("ls --kernels theirs").ok().contains("app_kernel"));
        return numbers;
    }
    assert_eq!(again.kernel_names(), bundle.kernel_names());
    assert_eq!(
        again.specialization_constants(),
        bundle.specialization_constants()
    );
    assert_eq!(again.device_globals(), bundle.device_globals());
    numbers
}

#[test]
fn specialization_constants_reach_the_sycl_runtime() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let machine = Machine::new();
    let source = "kernel void __sycl_kernel_app_kernel(global int *a) {
        a[get_global_id(0)] *= __spirv_SpecConstant(7, 5); }";
    let mut image = with_factor(source, 5);
    image.kernels = vec!["__sycl_kernel_app_kernel".to_owned()];
    let mut input: KernelBundle<Input> = machine
        .read(syclbin([image], BundleState::Input))
        .expect("a bundle");
    assert_eq!(there_and_back(runtime, &input, &machine)[1], 10);
    input
        .set_specialization_constant("factor", &11_i32.to_le_bytes())
        .expect("it is there");
    assert_eq!(there_and_back(runtime, &input, &machine)[1], 22);
}

/// The real runtime neither gives device globals of a SYCLBIN their memory nor finds them by name, of its own files
/// neither (2026.2): only those that are the image's own are exchanged.
#[test]
fn device_globals_travel_between_offkit_and_the_sycl_runtime() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let (folder, machine) = (Folder::new(), Machine::new());
    runtime.compile(&folder, "own_global.cpp", "theirs.syclbin");
    let object: KernelBundle<Object> = machine.open(&folder, "theirs.syclbin").expect("an object");
    assert_eq!(
        there_and_back(runtime, &object, &machine),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    let linked = KernelBundle::link(&[&object], None).expect("it links");
    assert_eq!(
        there_and_back(runtime, &linked, &machine),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    linked
        .write_device_global("counter", &machine.queue(), 0, &10_i32.to_le_bytes())
        .expect("the global");
    assert_eq!(machine.run_app(&linked), [11, 12, 13, 14, 15, 16, 17, 18]);
}

/// Code of the real compiler and of clang in one program, whichever needs the other.
#[test]
fn files_of_both_compilers_are_linked_by_both_runtimes() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let (folder, machine) = (prepared("object"), Machine::new());
    runtime.compile(&folder, "kernel.cpp", "their-app.syclbin");
    runtime.compile(&folder, "library.cpp", "their-library.syclbin");
    for pair in [["app", "their-library"], ["their-app", "library"]] {
        let files = pair.map(|name| format!("{name}.syclbin"));
        let objects = files
            .each_ref()
            .map(|file| -> KernelBundle<Object> { machine.open(&folder, file).expect("an object") });
        let linked = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
        assert_eq!(machine.run_app(&linked), EXPECTED, "{pair:?}");
        for (file, object) in ["one", "two"].iter().zip(&objects) {
            folder.write(file, object.content().expect("a file"));
        }
        for line in [&["one", "two"][..], &["--fast", "one", "two"]] {
            assert_eq!(runtime.link_and_run(&folder, line), EXPECTED, "{pair:?}");
        }
    }
    // What the real one writes of several linked objects has no code in it (2026.2), so it is not read here; each for
    // itself comes back.
    let line = ["--write", "back", "their-library.syclbin"];
    runtime.run(&folder, "link_and_run", &line).ok();
    let objects = ["their-app.syclbin", "back"]
        .map(|file| -> KernelBundle<Object> { machine.open(&folder, file).expect("an object") });
    let linked = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
    assert_eq!(machine.run_app(&linked), EXPECTED);
}

/// SPIR-V, and machine code of the driver that both runtimes use. The real one takes no two forms of one module (2026.2
/// says "Conflicting kernel definitions"), so these are two modules.
#[test]
fn files_for_several_targets_travel_between_offkit_and_the_sycl_runtime() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let test = "sycl::files_for_several_targets_travel_between_offkit_and_the_sycl_runtime";
    let Some(machine) = Machine::of_intel(test) else {
        return;
    };
    let folder = Folder::new();
    let [compiled, mut made] = two_forms(&machine);
    made.form_of = Some(1);
    let mut other = image("kernel void __sycl_kernel_other(global int *a) { a[get_global_id(0)] *= 2; }");
    other.kernels = vec!["__sycl_kernel_other".to_owned()];
    other.form_of = Some(0);
    for images in [vec![compiled], vec![other, made.clone()]] {
        folder.write("ours", syclbin(images, BundleState::Executable));
        let numbers = runtime.link_and_run(&folder, &["--executable", "ours"]);
        assert_eq!(numbers, EXPECTED);
    }
    // It keeps the machine code, and for what it was made.
    let line = ["--executable", "--write", "theirs", "ours"];
    runtime.run(&folder, "link_and_run", &line).ok();
    let theirs: KernelBundle<Executable> = machine.open(&folder, "theirs").expect("an executable");
    let images: Vec<_> = theirs.images().collect();
    assert_eq!(images.len(), 2, "{images:?}");
    let native = images
        .iter()
        .find(|image| image.bytes().expect("bytes") == made.bytes().expect("bytes"));
    assert_eq!(
        native.expect("the machine code").target.sycl_name(),
        "spir64_x86_64"
    );
    assert_eq!(machine.run_app(&theirs), EXPECTED);
    let again: KernelBundle<Executable> = machine.read(theirs.content().expect("a file")).expect("the same");
    let targets = |bundle: &KernelBundle<Executable>| {
        let images = bundle.images().map(|image| image.target.clone());
        images.collect::<Vec<_>>()
    };
    assert_eq!(targets(&again), targets(&theirs));
}

/// The real runtime writes executables as the machine code of its driver, which offkit hands to the same driver.
#[test]
fn executables_of_the_sycl_runtime_run_on_its_driver() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let test = "sycl::executables_of_the_sycl_runtime_run_on_its_driver";
    let Some(machine) = Machine::of_intel(test) else {
        return;
    };
    let folder = Folder::new();
    runtime.compile(&folder, "own_global.cpp", "object");
    let source = offkit_tests::root().join("tests/sycl-runtime/own_global.cpp");
    let source = source.to_str().expect("a readable path");
    runtime
        .run(&folder, "compile", &[source, "executable", "executable"])
        .ok();
    let theirs: KernelBundle<Executable> = machine.open(&folder, "executable").expect("an executable");
    assert_eq!(machine.run_app(&theirs), [1, 2, 3, 4, 5, 6, 7, 8]);
    let again: KernelBundle<Executable> = machine.read(theirs.content().expect("a file")).expect("the same");
    assert_eq!(machine.run_app(&again), [1, 2, 3, 4, 5, 6, 7, 8]);
    // Of several linked objects it writes a file without code (2026.2), of which no kernel is had.
    runtime.compile(&folder, "library.cpp", "other");
    let line = ["--write", "empty", "object", "other"];
    runtime.run(&folder, "link_and_run", &line).ok();
    let empty = machine.open::<Executable>(&folder, "empty");
    assert!(!empty.is_ok_and(|bundle| bundle.kernel("app_kernel", &machine.device).is_ok()));
}
