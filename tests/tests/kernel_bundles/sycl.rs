//! Bundles exchanged with the real SYCL runtime.

use offkit_runtime::{Input, KernelBundle, Object};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need};

use crate::machine::{EXPECTED, Machine};

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
