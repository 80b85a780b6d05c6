//! Specialization constants.

use offkit_runtime::{Input, KernelBundle};
use offkit_tests::{Folder, need};

use crate::machine::{Machine, says};

#[test]
fn specialization_constants_are_set_read_and_kept_in_files() {
    need!("clang-22", "llc");
    let (folder, machine) = (Folder::new(), Machine::new());
    folder.constants("constants.syclbin");
    let mut bundle: KernelBundle<Input> = machine.open(&folder, "constants.syclbin").expect("a bundle");
    let scaled = |bundle: &KernelBundle<Input>| {
        let built = bundle.build().expect("it builds");
        machine.run(built.kernel("scale", &machine.device).expect("the kernel"))[7]
    };
    assert_eq!(bundle.specialization_constants(), ["factor"]);
    assert_eq!(bundle.specialization_constant("factor"), Some(vec![5, 0, 0, 0]));
    assert_eq!(scaled(&bundle), 40);
    let before = bundle.clone();
    bundle
        .set_specialization_constant("factor", &11_i32.to_le_bytes())
        .expect("it is there");
    assert_eq!(bundle.specialization_constant("factor"), Some(vec![11, 0, 0, 0]));
    assert_eq!((scaled(&bundle), scaled(&before)), (88, 40));
    let again: KernelBundle<Input> = machine.read(bundle.content().expect("a file")).expect("a bundle");
    assert_eq!(scaled(&again), 88);

    let unknown = bundle.set_specialization_constant("size", &[0; 4]);
    says(&unknown.expect_err("there is none"), &["`size`", "`factor`"]);
    let short = bundle.set_specialization_constant("factor", &[0; 2]);
    says(&short.expect_err("too short"), &["has 4 bytes, 2 given"]);
}
