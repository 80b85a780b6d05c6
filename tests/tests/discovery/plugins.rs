//! Plugins that are broken, where they come from, and what their files say.

use super::*;
use offkit_tests::root;

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
        folder.path("other_machine.so").display().to_string(),
        folder.path("").display().to_string(),
    ];
    folder.write("text.so", "no library at all");
    let mut bytes = folder.read("librefuses.so");
    bytes[4] = 1;
    folder.write("other_class.so", bytes);
    for_another_machine(folder, "librefuses.so", "other_machine.so");
    let variable = plugins.join(":");
    let variables = [("OFFKIT_PLUGINS", variable.as_str()), ("LD_LIBRARY_PATH", "")];

    let findings = machine.findings("Plugins", &variables);
    says(&findings, "cpu (built in)", "ok", &["2 devices"]);
    for (what, parts) in [
        (
            "lacks_library",
            &["libbelow.so: cannot open shared object file", "needs libbelow.so"][..],
        ),
        (
            "lacks_symbol",
            &[
                "undefined symbol: zeInit",
                "none has zeInit, which is a function of libze_loader.so.1: install or update Debian's package libze1",
            ],
        ),
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
            &["No such file or directory", "There is no such file"],
        ),
        (
            "libpi_nobody_has.so",
            &["nowhere that the system looks", "It is in none of "],
        ),
        ("text.so", &["file too short", "install it again"]),
        ("other_class.so", &["ELFCLASS32", "another architecture"]),
        (
            "other_machine.so",
            &["it is for ", ", and this program for ", "another architecture"],
        ),
    ] {
        says(&findings, what, "problem", parts);
    }

    let of_folder = format!("{} (OFFKIT_PLUGINS)", folder.path("").display());
    says(
        &findings,
        &of_folder,
        "problem",
        &["it is a folder, and no library", "Name the library in it"],
    );

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
        "# ours\nlibrefuses.so cuda\nfolder .\nhas too many words\n\n./librefuses.so # again\nfolder nowhere\n",
    );
    // Below the current folder, where an empty `XDG_CONFIG_HOME` would lead.
    std::fs::create_dir(folder.path("offkit")).unwrap();
    folder.write("offkit/plugins.conf", "libnever.so\n");
    let findings = machine.findings("Plugins", &[]);
    assert!(
        findings
            .iter()
            .all(|finding| !finding.to_string().contains("libnever")),
        "{findings:#?}"
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
        "plugins.conf:7: cannot list the folder",
        "problem",
        &[],
    );
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
    // Backends that no variable could name, or that are mistyped.
    folder.write(
        "mistaken.conf",
        "librefuses.so gpu\nlibpi_other.so opncl\nlibpi_own.so acme\n",
    );
    let mistaken = folder.path("mistaken.conf").display().to_string();
    let mistaken = [("SYCL_PI_CONFIG", mistaken.as_str())];
    let findings = machine.findings("Plugins", &mistaken);
    let what = "mistaken.conf:1: `gpu` cannot be a backend";
    says(&findings, what, "problem", &["expected opencl, level_zero"]);
    let what = "mistaken.conf:2: `opncl` is none of the known backends; is `opencl` meant?";
    says(&findings, what, "problem", &[]);
    assert!(!format!("{findings:?}").contains("`acme`"), "{findings:#?}");
    let told = machine.run("devices", &mistaken).stderr;
    assert!(told.contains("`gpu` cannot be a backend"), "{told}");
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
    // Whoever traces everything sees both, as other runtimes show what cannot be loaded.
    let outcome = machine.run("devices", &[variables[0], ("OFFKIT_TRACE", "-1")]);
    for plugin in [&future, &present] {
        let line =
            format!("SYCL_PI_TRACE[all]: Check if plugin is present. Failed to load plugin: {plugin}\n");
        assert_eq!(outcome.stderr.matches(&line).count(), 1, "{outcome:#?}");
    }

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
