//! Any bytes as a SPIR-V module: read, described, linked with itself and written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_spirv::{CallGraph, LinkInput, LinkOptions, Module, link, reflect, specialize};

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::from_bytes(bytes) else {
        return;
    };
    assert_eq!(module.to_bytes(), bytes);
    let reflection = reflect(&module);
    let graph = CallGraph::new(&module);
    for kernel in &reflection.kernels {
        for need in graph.needs(&kernel.name) {
            assert_eq!(need.chain.first(), Some(&kernel.name));
        }
        assert!(graph.functions(&kernel.name).len() <= module.dr().functions.len());
    }
    let inputs = [
        LinkInput {
            label: "first",
            module: &module,
        },
        LinkInput {
            label: "second",
            module: &module,
        },
    ];
    let library = LinkOptions::default().with_allow_unresolved(true).with_keep_exports(true);
    if let Ok(linked) = link(&inputs[..1], library) {
        // A library linked again exports and imports what it did.
        let names = |module: &Module| -> Vec<String> {
            let mut names: Vec<String> = reflect(module).exports.into_iter().map(|symbol| symbol.name).collect();
            names.sort_unstable();
            names
        };
        let again = [LinkInput {
            label: "linked",
            module: &linked,
        }];
        if let Ok(again) = link(&again, library) {
            assert_eq!(names(&again), names(&linked));
        }
    }
    // Mostly an error, of whatever kind.
    let _ = link(&inputs, LinkOptions::default());
    let mut module = module;
    // As it is written from its instructions, it is read as the same again.
    module.dr_mut();
    let mut again = Module::from_bytes(&module.to_bytes()).expect("what is written can be read");
    again.dr_mut();
    assert_eq!(again.to_bytes(), module.to_bytes());
    specialize(&mut module, &[(0, 1), (1, u64::MAX)].into());
    module.to_bytes();
});
