//! `sycl-ls`, beside what the real SYCL runtime says of the same device.

use std::process::Command;

use offkit_tests::drivers::alone;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, Outcome, offkit};

/// Runs it where the drivers are found that a folder names.
fn sycl_ls(options: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(offkit());
    command.args(["as", "sycl-ls"]).args(options);
    Folder::new().run_command(alone(&mut command).envs(variables.iter().copied()))
}

#[test]
fn devices_are_listed_as_the_sycl_runtime_knows_them() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    let real = runtime.run(&folder, "devices", &[]).ok();
    let [(variable, drivers), _] = runtime.environment();
    let drivers = drivers.display().to_string();
    let listed = sycl_ls(&[], &[(variable, &drivers)]).ok();
    let [own, checked, intel] = listed.lines().collect::<Vec<_>>()[..] else {
        panic!("{listed}");
    };
    assert!(
        own.starts_with("[offkit:cpu][offkit:0] offkit CPU, offkit CPU on "),
        "{own}"
    );
    assert!(
        checked.starts_with("[offkit:cpu][offkit:1] offkit CPU (checked), offkit CPU (checked) on "),
        "{checked}"
    );
    assert_eq!(intel, format!("[opencl:cpu][opencl:0] {}", real.trim_end()));

    let told = sycl_ls(&["--verbose"], &[(variable, &drivers)]).ok();
    let told = told
        .strip_prefix(&listed)
        .expect("the list comes first, as without the option");
    assert!(told.starts_with("\nPlatforms: 3\nPlatform [#1]:\n    Version  : OpenCL 3.0 offkit"));
    let chosen = format!("cpu_selector()          : cpu, {}\n", &own[23..]);
    assert!(told.contains(&chosen), "{chosen}{told}");
    assert!(
        told.contains("\ngpu_selector()          : No device of requested type available.\n"),
        "{told}"
    );
}

#[test]
fn a_filter_that_hides_devices_is_told_of() {
    let filtered = |options: &[&str], value| sycl_ls(options, &[("ONEAPI_DEVICE_SELECTOR", value)]);
    let seen = filtered(&[], "*:cpu");
    assert_eq!(
        seen.stderr,
        "INFO: Output filtered by ONEAPI_DEVICE_SELECTOR environment variable, which is set to *:cpu.\n\
         To see device ids, use the --ignore-device-selectors CLI option.\n\n"
    );
    assert!(seen.ok().starts_with("[offkit:cpu] offkit CPU, "), "no number");
    assert_eq!(filtered(&[], "cuda:*").ok(), "");
    let all = filtered(&["--ignore-device-selectors"], "cuda:*");
    assert_eq!(all.stderr, "");
    assert!(all.ok().starts_with("[offkit:cpu][offkit:0] "));
    let usage = sycl_ls(&["--verbos"], &[]).fails(1);
    assert!(usage.starts_with("Usage: sycl-ls [--verbose]"), "{usage}");
}
