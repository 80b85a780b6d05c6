//! The tests of any plugin (`offkit-plugin-tests`) on plugins that are unlike each other. The CPU device passes all of them
//! in its own tests.

use std::process::Command;

use offkit_pi::host::Plugin;
use offkit_plugin_tests::{Code, Outcome, names, run};
use offkit_tests::drivers::{intel, is_inside};
use offkit_tests::{Folder, library, need, root, tool};

/// The tests that a plugin does not pass for want of something. None fails.
#[track_caller]
fn unsupported(plugin: &Plugin, code: Option<&Code>) -> Vec<(&'static str, String)> {
    let outcomes: Vec<_> = run(plugin, code).collect();
    assert_eq!(outcomes.len(), names().count());
    let mut unsupported = Vec::new();
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Passed => {}
            Outcome::Unsupported(what) => unsupported.push((name, what)),
            Outcome::Failed(what) => panic!("{name}: {what}"),
        }
    }
    unsupported
}

#[test]
fn intels_driver_passes() {
    need!("clang-22");
    let Some(intel) = intel() else { return };
    if !is_inside("intels_driver_passes", &[("OCL_ICD_VENDORS", &intel)]) {
        return;
    }
    let plugin = Plugin::load(library("offkit_plugin_opencl")).unwrap();
    let code = Code::compile().unwrap();
    assert_eq!(unsupported(&plugin, Some(&code)), []);
}

#[test]
fn the_mock_passes_what_needs_no_kernel() {
    let play = pi_mock::play("").unwrap();
    let plugin = Plugin::built_in(&pi_mock::BUILT_IN).unwrap();
    for (name, what) in unsupported(&plugin, None) {
        assert_eq!(what, "there is no device code to run", "{name}");
    }
    drop(plugin);
    assert!(play.objects().is_empty(), "{:?}", play.objects());
    drop(play);

    // A plugin that breaks its word is found out.
    let _play = pi_mock::play("fail piEnqueueMemBufferRead PI_OUT_OF_RESOURCES").unwrap();
    let plugin = Plugin::built_in(&pi_mock::BUILT_IN).unwrap();
    let failed = run(&plugin, None).filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
    assert!(failed.count() > 3);
}

#[test]
fn the_program_says_what_a_plugin_in_c_has_and_has_not() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = Folder::new();
    let include = format!("-I{}", root().join("include").display());
    let source = root().join("examples/plugin-c/plugin.c").display().to_string();
    let options = ["-shared", "-fPIC", "-o", "libexample.so", &include, &source];
    folder.run(tool("cc").unwrap(), options).ok();
    let program = offkit_tests::programs().join("offkit-plugin-tests");
    let outcome = folder.run_command(Command::new(program).arg("./libexample.so"));
    assert!(
        outcome.stdout.contains(
            "unsupported  drops_do_not_wait: piEventCreate is not provided by plugin libexample.so"
        ),
        "{outcome:#?}"
    );
    let lines = outcome.stdout.lines().count();
    assert_eq!(lines, names().count(), "{outcome:#?}");
}
