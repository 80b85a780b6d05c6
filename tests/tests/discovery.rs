//! What `offkit devices` and `offkit doctor` say of plugins that are there, that are broken, and that nobody wants.

use std::process::Command;

use offkit_cache::Kind;
use offkit_tests::{Folder, Outcome, kept, mock, need, offkit, programs, root, tool};
use serde_json::Value;

/// A shared library of C, named `lib….so`.
fn library(folder: &Folder, name: &str, source: &str, options: &str) -> String {
    let cc = tool("cc").expect("asked for before");
    folder.write(&format!("{name}.c"), source);
    let file = format!("lib{name}.so");
    let line = format!("-shared -fPIC -o {file} {name}.c {options}");
    folder.run(&cc, line.split_whitespace()).ok();
    folder.path(&file).display().to_string()
}

/// A folder in which a plugin's author has made every mistake, and their commands run.
struct Machine {
    folder: Folder,
}

impl Machine {
    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut command = Command::new(offkit());
        command.args(line.split_whitespace());
        for name in [
            "ONEAPI_DEVICE_SELECTOR",
            "SYCL_DEVICE_FILTER",
            "SYCL_BE",
            "SYCL_PI_CONFIG",
            "OFFKIT_PLUGINS",
        ] {
            command.env_remove(name);
        }
        command
            .env("HOME", self.folder.path("home"))
            .env_remove("XDG_CONFIG_HOME")
            // No OpenCL device but those of the test.
            .env("OCL_ICD_VENDORS", "/nowhere/");
        command.envs(variables.iter().copied());
        self.folder.run_command(&mut command)
    }

    /// What `offkit doctor` finds under a heading.
    fn findings(&self, about: &str, variables: &[(&str, &str)]) -> Vec<Value> {
        let outcome = self.run("doctor --json", variables);
        let objects = outcome
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect(line));
        objects
            .filter(|finding: &Value| finding["about"] == about)
            .collect()
    }
}

/// Whether a finding about that says so.
#[track_caller]
fn says(findings: &[Value], what: &str, state: &str, parts: &[&str]) {
    let found = findings
        .iter()
        .find(|finding| finding["what"].as_str().is_some_and(|text| text.contains(what)));
    let found = found.unwrap_or_else(|| panic!("nothing about {what} in {findings:#?}"));
    assert_eq!(found["state"], state, "{found:#}");
    let text = format!("{} {} {}", found["what"], found["why"], found["advice"]);
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {found:#}");
    }
}

const INIT: &str = "int piPluginInit(void *record)";

#[test]
fn broken_plugins_are_named_with_the_reason_and_harm_no_other() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    library(folder, "below", "int below(void) { return 0; }", "");
    let beside = format!("-L{} -lbelow", folder.path("").display());
    let plugins = [
        library(
            folder,
            "lacks_library",
            &format!("int below(void); {INIT} {{ return below(); }}"),
            &beside,
        ),
        library(
            folder,
            "lacks_symbol",
            &format!("int zeInit(void); {INIT} {{ return zeInit(); }}"),
            "",
        ),
        library(folder, "no_plugin", "int other;", ""),
        library(folder, "refuses", &format!("{INIT} {{ return -59; }}"), ""),
        library(folder, "silent", &format!("{INIT} {{ return 0; }}"), ""),
        library(
            folder,
            "from_tomorrow",
            &format!("#include <string.h>\n{INIT} {{ strcpy((char *)record + 20, \"99.1\"); return 0; }}"),
            "",
        ),
        folder.path("missing.so").display().to_string(),
        "libpi_nobody_has.so".to_owned(),
        folder.path("text.so").display().to_string(),
        folder.path("other_class.so").display().to_string(),
    ];
    folder.write("text.so", "no library at all");
    let mut bytes = folder.read("librefuses.so");
    bytes[4] = 1;
    folder.write("other_class.so", bytes);
    let variable = plugins.join(":");
    let variables = [("OFFKIT_PLUGINS", variable.as_str()), ("LD_LIBRARY_PATH", "")];

    let findings = machine.findings("Plugins", &variables);
    says(&findings, "cpu (built in)", "ok", &["2 devices"]);
    for (what, parts) in [
        (
            "lacks_library",
            &["libbelow.so: cannot open shared object file", "needs libbelow.so"][..],
        ),
        ("lacks_symbol", &["undefined symbol: zeInit", "none has zeInit"]),
        ("no_plugin", &["no symbol `piPluginInit`", "take it off the list"]),
        (
            "refuses",
            &[
                "refuses PI 2.3, 6.8, 12.27, 15.47",
                "PI_INVALID_OPERATION",
                "a newer offkit",
            ],
        ),
        ("silent", &["speaks no version that it names"]),
        (
            "from_tomorrow",
            &["speaks PI 99.1; this host speaks PI 2.3, 6.8, 12.27, 15.47"],
        ),
        (
            "missing.so",
            &["No such file or directory", "nowhere that the system looks"],
        ),
        (
            "libpi_nobody_has.so",
            &["nowhere that the system looks", "It is in none of "],
        ),
        ("text.so", &["file too short", "install it again"]),
        ("other_class.so", &["ELFCLASS32", "another architecture"]),
    ] {
        says(&findings, what, "problem", parts);
    }

    // What works is used, and what does not is said once.
    let outcome = machine.run("devices", &variables);
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert_eq!(
        outcome
            .stdout
            .lines()
            .filter(|line| line.contains("offkit:0"))
            .count(),
        1
    );
    assert_eq!(
        outcome.stderr.matches("a plugin is left out").count(),
        plugins.len(),
        "{outcome:#?}"
    );
}

#[test]
fn plugins_come_from_the_configuration_too() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    library(folder, "refuses", &format!("{INIT} {{ return -59; }}"), "");
    folder.write(
        "plugins.conf",
        "# ours\nlibrefuses.so cuda\nfolder .\nhas too many words\n\n./librefuses.so # again\n",
    );
    let config = folder.path("plugins.conf").display().to_string();
    let with = |more: &[(&'static str, &'static str)]| {
        let mut variables = vec![("SYCL_PI_CONFIG", config.clone())];
        variables.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        machine.findings("Plugins", &variables)
    };
    let findings = with(&[]);
    says(
        &findings,
        "plugins.conf:4: `has too many words` is neither",
        "problem",
        &[],
    );
    says(
        &findings,
        "librefuses.so (",
        "problem",
        &["plugins.conf:2", "refuses PI"],
    );
    let mentions = findings.iter().filter(|finding| {
        finding["what"]
            .as_str()
            .is_some_and(|what| what.contains("librefuses"))
    });
    assert_eq!(mentions.count(), 1, "the same file is one plugin: {findings:#?}");
    // Nobody wants CUDA: the plugin is not even loaded.
    let findings = with(&[("ONEAPI_DEVICE_SELECTOR", "!cuda:*")]);
    says(
        &findings,
        "librefuses.so",
        "info",
        &["not loaded: ONEAPI_DEVICE_SELECTOR wants none"],
    );
    // The user's own file.
    let home = folder.path("home/.config/offkit");
    std::fs::create_dir_all(&home).expect("a folder");
    std::fs::copy(folder.path("plugins.conf"), home.join("plugins.conf")).expect("a copy");
    let findings = machine.findings("Plugins", &[]);
    says(
        &findings,
        "configured by",
        "info",
        &[".config/offkit/plugins.conf"],
    );
    // A file that is named has to be there.
    let findings = machine.findings("Plugins", &[("SYCL_PI_CONFIG", "nowhere.conf")]);
    says(
        &findings,
        "cannot read the plugins' configuration nowhere.conf",
        "problem",
        &[],
    );
}

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
fn opencl_drivers_that_are_listed_and_not_there_are_named() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    std::fs::create_dir(folder.path("vendors")).expect("a folder");
    folder.write("vendors/intel.icd", "/opt/nowhere/libintelocl.so\n");
    folder.write("vendors/libc.icd", "libc.so.6\n");
    let vendors = folder.path("vendors").display().to_string();
    let findings = machine.findings("OpenCL drivers", &[("OCL_ICD_VENDORS", &vendors)]);
    says(
        &findings,
        "/opt/nowhere/libintelocl.so",
        "problem",
        &[
            "intel.icd",
            "is not there",
            "Install the Python package intel-opencl-rt",
        ],
    );
    says(&findings, "libc.so.6", "ok", &[]);
}

#[test]
fn harmful_plugins_are_tried_apart_and_left_out() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    let plugin = |name: &str, source: &str| {
        let source = format!("#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n{source}");
        library(folder, name, &source, "")
    };
    // A table of PI 2.3: its first function lists platforms.
    let table = |get: &str| {
        format!(
            "static int get(unsigned n, void **platforms, unsigned *count) {{ {get}; if (count) *count = 0; return 0; }}\n\
             {INIT} {{ void **slots = (void **)((char *)record + 16); strcpy((char *)record + 4, \"2.3\");\n\
             slots[0] = get; return 0; }}"
        )
    };
    let harms = [
        (
            "crash_at_load",
            "__attribute__((constructor)) void start(void) { *(volatile int *)0 = 1; }".to_owned(),
            "it crashes while it is loaded (signal 11, SIGSEGV)",
        ),
        (
            "exit_at_load",
            "__attribute__((constructor)) void start(void) { _exit(0); }".to_owned(),
            "it ends the process with exit code 0 while it is loaded",
        ),
        (
            "crash_at_exit",
            format!(
                "{}\n__attribute__((destructor)) void end(void) {{ abort(); }}",
                table("")
            ),
            "it crashes while the process ends (signal 6",
        ),
    ];
    let plugins: Vec<_> = harms
        .iter()
        .map(|(name, source, _)| plugin(name, source))
        .collect();
    let good = plugin("good", &table(""));
    let variable = [plugins.join(":"), good].join(":");
    let cache = folder.path("cache").display().to_string();
    let variables = [
        ("OFFKIT_PLUGINS", variable.as_str()),
        ("XDG_CACHE_HOME", cache.as_str()),
    ];
    let findings = machine.findings("Plugins", &variables);
    for (name, _, harm) in &harms {
        says(
            &findings,
            name,
            "problem",
            &["is not loaded: ", harm, "Take it off the list"],
        );
    }
    says(
        &findings,
        "libgood.so",
        "info",
        &["speaks PI 2.3; it found no device"],
    );
    says(&findings, "cpu (built in)", "ok", &["2 devices"]);
    // The one that is good is known to be, until it changes; the others are tried again.
    let known = || kept(&folder.path("cache"), Kind::Plugin).len();
    let is_beside = |name: &&str| programs().join(format!("liboffkit_plugin_{name}.so")).is_file();
    assert_eq!(
        known(),
        1 + ["opencl", "ur"].into_iter().filter(is_beside).count()
    );
    plugin("good", &table("abort()"));
    let findings = machine.findings("Plugins", &variables);
    says(
        &findings,
        "libgood.so",
        "problem",
        &["it crashes while it lists its devices"],
    );
}

#[test]
fn harm_is_found_wherever_it_is_done() {
    let machine = Machine {
        folder: Folder::new(),
    };
    let script = machine.folder.path("script").display().to_string();
    let mock = mock().display().to_string();
    let variables = |seconds: &'static str| {
        [
            ("OFFKIT_PLUGINS", mock.as_str()),
            ("OFFKIT_PROBE_SECONDS", seconds),
            (pi_mock::SCRIPT_VARIABLE, script.as_str()),
            // Nothing is known of it: the same file does another thing each time.
            ("XDG_CACHE_HOME", "/dev/null"),
        ]
    };
    for (harm, parts) in [
        (
            "crash piPluginInit",
            &["it crashes while it is loaded (signal 6, SIGABRT)", "Take it off"][..],
        ),
        (
            "exit piPluginInit 7",
            &["it ends the process with exit code 7 while it is loaded"],
        ),
        (
            "hang piPluginInit",
            &["it has not come back after 5 seconds, while it is loaded"],
        ),
        ("eat piPluginInit", &["MiB of memory while it is loaded"]),
        (
            "fail piPluginInit PI_INVALID_OPERATION rats",
            &["refuses PI 2.3, 6.8", "PI_INVALID_OPERATION", "rats"],
        ),
        (
            "crash piPlatformsGet",
            &["it crashes while it lists its devices (signal 6"],
        ),
        (
            "exit piDevicesGet 0",
            &["it ends the process with exit code 0 while it lists its devices"],
        ),
        (
            "hang piDeviceGetInfo",
            &["it has not come back after 5 seconds, while it lists its devices"],
        ),
        (
            "fail piDevicesGet PI_OUT_OF_RESOURCES",
            &["does not list its devices", "PI_OUT_OF_RESOURCES"],
        ),
        (
            "missing piPlatformsGet",
            &["piPlatformsGet is not provided by plugin libpi_mock.so"],
        ),
        (
            "crash piTearDown",
            &["it crashes while it is torn down (signal 6"],
        ),
        (
            "exit piTearDown 3",
            &["it ends the process with exit code 3 while it is torn down"],
        ),
    ] {
        machine.folder.write("script", harm);
        let seconds = if harm.starts_with("hang") { "5" } else { "30" };
        let findings = machine.findings("Plugins", &variables(seconds));
        says(&findings, "libpi_mock.so", "problem", parts);
        says(&findings, "cpu (built in)", "ok", &["2 devices"]);
    }
    machine.folder.write("script", "device gpu Good");
    let findings = machine.findings("Plugins", &variables("30"));
    says(&findings, "libpi_mock.so", "ok", &["1 device"]);
}

#[test]
fn plugins_say_in_their_files_what_they_speak() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    let include = format!("-I{}", root().join("include").display());
    let source = |note: &str| {
        format!(
            "#include <offkit_pi.h>\n#include <unistd.h>\nOFFKIT_PI_NOTE(\"{note}\");\n\
             __attribute__((constructor)) static void start(void) {{ _exit(3); }}\n\
             pi_result piPluginInit(void *record) {{ return PI_INVALID_OPERATION; }}"
        )
    };
    // The constructors would end the process; nobody gets that far where the note has no version that is known.
    let future = library(folder, "future", &source("16.2 99.1"), &include);
    let present = library(folder, "present", &source("16.2 6.8"), &include);
    let variable = [future.as_str(), present.as_str()].join(":");
    let variables = [("OFFKIT_PLUGINS", variable.as_str())];
    let findings = machine.findings("Plugins", &variables);
    says(
        &findings,
        "libfuture.so",
        "problem",
        &[
            "speaks PI 16.2, 99.1, as the note in its file says; this host speaks PI 2.3, 6.8, 12.27, 15.47",
            "Use a plugin for PI 2.3",
        ],
    );
    says(
        &findings,
        "libpresent.so",
        "problem",
        &["it ends the process with exit code 3 while it is loaded"],
    );
    let outcome = machine.run("devices", &variables);
    assert!(
        outcome.stderr.contains("as the note in its file says"),
        "{outcome:#?}"
    );

    // All of offkit's own have one.
    for name in ["pi_mock", "offkit_plugin_cpu", "offkit_plugin_opencl"] {
        let plugin = offkit_tests::library(name);
        let file = std::fs::read(&plugin).unwrap_or_else(|error| panic!("{}: {error}", plugin.display()));
        let note = offkit_object::elf_note(&file, "offkit", 1);
        assert_eq!(note, Some(&b"2.3 6.8 12.27 15.47\0"[..]), "{}", plugin.display());
    }
    let plugin = mock().display().to_string();
    let findings = machine.findings("Plugins", &[("OFFKIT_PLUGINS", &plugin)]);
    let words = "speaks PI 2.3 (its file's note says 2.3 6.8 12.27 15.47)";
    says(&findings, "libpi_mock.so", "info", &[words]);
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
