//! What compiles kernels, and which devices variables choose.

use super::*;

#[test]
fn what_compiles_kernels_is_told_and_why_nothing_does() {
    need!("clang-22", "llvm-config-22");
    let machine = Machine {
        folder: Folder::new(),
    };
    let source = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }";
    machine.folder.spirv("k", source);
    let run = "run k.spv twice --global 100000 --arg f32[100000] --time";
    let off = ("OFFKIT_CACHE", "off");

    let listed = machine.run("devices", &[]).ok();
    assert!(listed.contains(", compiles with LLVM 22."), "{listed}");
    let devices = machine.run("devices --json", &[]).json();
    let [first, second] = [0, 1].map(|number| devices[number]["compiler"].as_str());
    assert!(
        first.is_some_and(|compiler| compiler.starts_with("LLVM 22.")),
        "{devices:#?}"
    );
    assert_eq!(second, None);
    says(
        &machine.findings("Devices", &[]),
        "offkit CPU compiles kernels",
        "ok",
        &["LLVM 22."],
    );
    let told = machine.run(run, &[off]);
    assert!(told.stderr.contains("  compile\n"), "{told:#?}");
    assert!(!told.stderr.contains("interpreted"), "{told:#?}");

    let missing = ("OFFKIT_LLVM_WORKER", "/nowhere/worker");
    let why = "cannot start `/nowhere/worker`";
    let listed = machine.run("devices", &[missing]).ok();
    assert!(listed.contains(&format!(", interprets ({why}")), "{listed}");
    let devices = machine.run("devices --json", &[missing]).json();
    let reason = devices[0]["interprets_because"].as_str();
    assert!(reason.is_some_and(|reason| reason.contains(why)), "{devices:#?}");
    let findings = machine.findings("Devices", &[missing]);
    says(
        &findings,
        "offkit CPU interprets kernels",
        "problem",
        &[why, "OFFKIT_LLVM_WORKER"],
    );
    let told = machine.run(run, &[off, missing]);
    let line = format!("kernel `twice` is interpreted: {why}");
    assert!(told.stderr.contains(&line), "{told:#?}");
    told.ok();

    let checked = ("OFFKIT_CPU_COMPILE", "0");
    let listed = machine.run("devices", &[checked]).ok();
    assert!(listed.starts_with("0  offkit CPU (checked)"), "{listed}");
    assert!(!listed.contains("offkit:1"), "{listed}");
    let findings = machine.findings("Devices", &[checked]);
    says(
        &findings,
        "offkit CPU interprets kernels",
        "info",
        &["OFFKIT_CPU_COMPILE is 0"],
    );
}

#[test]
fn variables_choose_devices_and_say_what_they_hide() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let select = |value: &'static str| machine.run("devices", &[("ONEAPI_DEVICE_SELECTOR", value)]);
    assert_eq!(select("*:cpu").code, 0);
    assert_eq!(select("offkit:0").code, 0);
    for hidden in ["opencl:*", "*:gpu", "!offkit:*"] {
        let outcome = select(hidden);
        assert_eq!(outcome.code, 3, "{hidden}: {outcome:#?}");
        let because = format!("no devices found: ONEAPI_DEVICE_SELECTOR={hidden} leaves none");
        assert!(outcome.stderr.contains(&because), "{outcome:#?}");
    }
    let findings = machine.findings("Plugins", &[("SYCL_DEVICE_FILTER", "gpu")]);
    says(
        &findings,
        "cpu (built in)",
        "info",
        &["0 devices, 2 hidden", "SYCL_DEVICE_FILTER hides"],
    );
    let variables = [
        ("ONEAPI_DEVICE_SELECTOR", "*:cpu"),
        ("SYCL_BE", "PI_CUDA"),
        ("CUDA_VISIBLE_DEVICES", ""),
    ];
    let findings = machine.findings("Variables", &variables);
    says(&findings, "ONEAPI_DEVICE_SELECTOR=*:cpu says which", "info", &[]);
    says(
        &findings,
        "SYCL_BE=PI_CUDA is ignored",
        "problem",
        &["which replaced it"],
    );
    says(
        &findings,
        "CUDA_VISIBLE_DEVICES= hides devices",
        "info",
        &["Unset CUDA_VISIBLE_DEVICES"],
    );
    let variables = [
        ("SYCL_DEVICE_FILTER", "opencl:host,offkit:cpu"),
        ("SYCL_DEVICE_TYPE", "GPU"),
    ];
    let findings = machine.findings("Variables", &variables);
    says(
        &findings,
        "`opencl:host` in SYCL_DEVICE_FILTER=opencl:host,offkit:cpu matches nothing",
        "problem",
        &["no host device"],
    );
    says(
        &findings,
        "SYCL_DEVICE_TYPE=GPU is ignored",
        "problem",
        &["ONEAPI_DEVICE_SELECTOR=*:gpu"],
    );
    // A value that breaks the grammar hides nothing, and is named by every command.
    let outcome = select("gpu");
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert!(
        outcome
            .stderr
            .contains("warning: ONEAPI_DEVICE_SELECTOR=gpu is ignored"),
        "{outcome:#?}"
    );
}

#[test]
fn parts_of_devices_are_named_as_libsycl_names_them() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let script = "device gpu Tiles\nparts 2 3\ndevice gpu Whole\n";
    machine.folder.write("script", script);
    let (script, mock) = (machine.folder.path("script"), mock());
    let devices = |selector: &str| {
        let variables = [
            ("ONEAPI_DEVICE_SELECTOR", selector),
            ("OFFKIT_PLUGINS", mock.to_str().expect("text")),
            (pi_mock::SCRIPT_VARIABLE, script.to_str().expect("text")),
        ];
        let name = |line: &str| {
            let device: Value = serde_json::from_str(line).expect(line);
            let part = device["part"].as_array().expect("a way").len();
            format!("{part} {}", device["name"].as_str().expect("a name"))
        };
        let outcome = machine.run("devices --json", &variables);
        outcome.stdout.lines().map(name).collect::<Vec<_>>()
    };
    assert_eq!(devices("*:gpu"), ["0 Tiles", "0 Whole"]);
    assert_eq!(devices("*:0.1"), ["1 Tiles, part 2"]);
    // What has no parts has none of them either.
    assert_eq!(devices("offkit:0.*"), [""; 0]);
    assert_eq!(devices("*:*.*"), ["1 Tiles, part 1", "1 Tiles, part 2"]);
    assert_eq!(
        devices("*:gpu,0.0.*;!*:*.*.1"),
        [
            "0 Tiles",
            "2 Tiles, part 1, part 1",
            "2 Tiles, part 1, part 3",
            "0 Whole"
        ]
    );
}

#[test]
fn what_has_no_parts_is_told_where_they_are_asked_for() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let variables = [("ONEAPI_DEVICE_SELECTOR", "offkit:0.*")];
    let outcome = machine.run("devices", &variables);
    assert!(
        outcome
            .stderr
            .contains("ONEAPI_DEVICE_SELECTOR=offkit:0.* leaves none, as there are no parts of offkit:0\n"),
        "{outcome:#?}"
    );
    says(
        &machine.findings("Plugins", &variables),
        "cpu (built in)",
        "info",
        &["ONEAPI_DEVICE_SELECTOR asks for parts of offkit:0, where there are none, and hides the others."],
    );
}

#[test]
fn devices_are_chosen_by_the_names_that_are_listed() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    folder.write("script", "device gpu Device\n");
    folder.write("plugins.conf", "folder .\n");
    for name in ["liboffkit_plugin_acme.so", "libGood.so"] {
        std::fs::copy(mock(), folder.path(name)).expect("a copy");
    }
    let [config, good, script] = ["plugins.conf", "libGood.so", "script"].map(|name| folder.path(name));
    let listed = |variable: &str, value: &str| {
        let variables = [
            ("SYCL_PI_CONFIG", config.to_str().expect("text")),
            ("OFFKIT_PLUGINS", good.to_str().expect("text")),
            (pi_mock::SCRIPT_VARIABLE, script.to_str().expect("text")),
            (variable, value),
        ];
        let outcome = machine.run("devices --json", &variables);
        assert!(!outcome.stderr.contains("is ignored"), "{outcome:#?}");
        let name = |line: &str| {
            let device: Value = serde_json::from_str(line).expect(line);
            let backend = device["backend"].as_str().expect("a name");
            format!("{backend}:{}", device["backend_number"])
        };
        outcome.stdout.lines().map(name).collect::<Vec<_>>()
    };
    let selector = "ONEAPI_DEVICE_SELECTOR";
    let own = ["offkit:0", "offkit:1"];
    assert_eq!(listed(selector, ""), [own[0], own[1], "libgood.so:0", "acme:0"]);
    assert_eq!(listed(selector, "*:*;!acme:*"), [own[0], own[1], "libgood.so:0"]);
    assert_eq!(listed(selector, "acme:0"), ["acme:0"]);
    assert_eq!(listed(selector, "libGood.so:0"), ["libgood.so:0"]);
    assert_eq!(
        listed("SYCL_DEVICE_FILTER", "acme:gpu:0,offkit:1"),
        [own[1], "acme:0"]
    );
}

/// What such a program loads, it loads with rights that its user has not.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn programs_with_the_rights_of_another_look_at_no_variables() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    const NOBODY: &str = "--reuid=65534 --regid=65534 --clear-groups";
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("SKIPPED: only root has programs that others run with its rights");
        return;
    }
    need!("setpriv");
    let machine = Machine {
        folder: Folder::new(),
    };
    let place = |name: &str| machine.folder.path(name);
    let allow =
        |file: &Path, mode| std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    allow(&place("."), 0o755);
    let copy = |program: &Path, name: &str, mode| {
        std::fs::copy(program, place(name)).unwrap();
        allow(&place(name), mode);
    };
    let run = |line: &str, variables: &[_]| {
        let line = format!("{NOBODY} {}/{line}", place(".").display());
        machine.run_program(Path::new("setpriv"), &line, variables).stdout
    };
    copy(&tool("id").unwrap(), "id", 0o4755);
    if run("id -u", &[]) != "0\n" {
        eprintln!("SKIPPED: programs get no rights of others here");
        return;
    }
    let variables = [
        ("OFFKIT_PLUGINS", "/nowhere/plugin.so"),
        ("OCL_ICD_FILENAMES", "/nowhere/driver.so"),
        ("OCL_ICD_VENDORS", "/nowhere/vendor.so"),
        ("UR_ADAPTERS_FORCE_LOAD", "/nowhere/adapter.so"),
    ];
    for (mode, looks) in [(0o755, true), (0o4755, false)] {
        copy(&offkit(), "copy", mode);
        let said = run("copy doctor", &variables);
        assert!(said.contains("Libraries of drivers"), "{mode:o}: {said}");
        for file in ["plugin", "driver", "vendor", "adapter"] {
            let name = format!("/nowhere/{file}.so");
            assert_eq!(said.contains(&name), looks, "{mode:o}: {said}");
        }
    }
}
