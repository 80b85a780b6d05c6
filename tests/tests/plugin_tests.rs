//! The tests of any plugin (`offkit-plugin-tests`) on plugins that are unlike each other. Those on the CPU
//! device are among its own.

use std::process::Command;

use offkit_pi::host::Plugin;
use offkit_plugin_tests::{Code, Outcome, names, run};
use offkit_tests::drivers::{intel, is_on, pocl};
use offkit_tests::ur_adapters::{RELEASES, Release};
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
    if !is_on(intel(), "intels_driver_passes") {
        return;
    }
    let plugin = Plugin::load(library("offkit_plugin_opencl")).unwrap();
    let code = Code::compile().unwrap();
    assert_eq!(unsupported(&plugin, Some(&code)), []);
}

#[test]
fn a_driver_that_takes_no_spirv_passes_what_needs_no_kernel() {
    let test = "a_driver_that_takes_no_spirv_passes_what_needs_no_kernel";
    if !is_on(pocl(), test) {
        return;
    }
    let plugin = Plugin::load(library("offkit_plugin_opencl")).unwrap();
    for (name, outcome) in run(&plugin, None) {
        let is_expected = match &outcome {
            Outcome::Passed => true,
            Outcome::Unsupported(what) => {
                what.contains("there is no device code to run") || what.contains("no unified shared memory")
            }
            Outcome::Failed(_) => false,
        };
        assert!(is_expected, "{name}: {outcome:?}");
    }
}

#[test]
fn the_adapter_of_2025_1_passes() {
    adapter_passes("the_adapter_of_2025_1_passes", &RELEASES[0]);
}

#[test]
fn the_adapter_of_2025_3_passes() {
    adapter_passes("the_adapter_of_2025_3_passes", &RELEASES[1]);
}

/// Unified Runtime has no events of the host's own, which some tests hold commands up by.
#[track_caller]
fn adapter_passes(test: &str, release: &Release) {
    need!("clang-22");
    if !release.is_inside(test) {
        return;
    }
    let plugin = Plugin::load(library("offkit_plugin_ur")).unwrap();
    let code = Code::compile().unwrap();
    let unsupported = unsupported(&plugin, Some(&code));
    let held_up = |what: &str| what.contains("an event of the host's own is not supported");
    assert!(
        unsupported.len() == 8 && unsupported.iter().all(|(_, what)| held_up(what)),
        "{unsupported:#?}"
    );
}

#[test]
fn the_mock_passes_what_needs_no_kernel() {
    let play = pi_mock::play("").unwrap();
    let plugin = Plugin::built_in(&pi_mock::BUILT_IN).unwrap();
    for (name, what) in unsupported(&plugin, None) {
        assert_eq!(what, "there is no device code to run", "{name}");
    }
    drop(plugin);
    // A thread that was told of an event's end may still be about to let it go.
    let is_over = || play.objects().is_empty();
    let waits = (0..100).take_while(|_| !is_over());
    waits.for_each(|_| std::thread::sleep(std::time::Duration::from_millis(50)));
    assert!(is_over(), "{:?}", play.objects());
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
