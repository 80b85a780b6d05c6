//! Plugins that do harm.

use super::*;
use offkit_cache::Kind;
use offkit_tests::{kept, programs};

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
        // Behind the name, which is asked for first: the size of the answer, and the answer.
        (
            "crash piDeviceGetInfo#3",
            &["it crashes while it lists its devices (signal 6"],
        ),
        (
            "crash piPlatformGetInfo",
            &["it crashes while it lists its devices (signal 6"],
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
