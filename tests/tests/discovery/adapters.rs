//! Adapters of Unified Runtime: each that is named has a finding of its own, and none hides the others.

use super::*;
use offkit_tests::root;

/// The heading in `offkit doctor`.
const ABOUT: &str = "Unified Runtime";

/// An adapter of a device, in the form of the newest release.
fn good(folder: &Folder) -> String {
    let source = root().join("tests/ur-adapter/adapter.c");
    let source = format!("#include \"{}\"", source.display());
    library(
        folder,
        "ur_adapter_good",
        &source,
        "-w -std=c11 -fvisibility=hidden -DFORM=3 -DODD=0 -DVERSION=12",
    )
}

const CRASH: &str = "__attribute__((constructor)) static void start(void) { *(volatile int *)0 = 1; }";

#[test]
fn adapters_that_cannot_be_used_are_named_with_the_reason() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    let lacks = "int zeInit(void); int use(void) { return zeInit(); }";
    let named = [
        library(folder, "lacks_symbol", lacks, ""),
        library(folder, "no_adapter", "int other;", ""),
        folder.path("libur_adapter_cuda.so.0").display().to_string(),
    ];
    let named = named.join(",");
    let variables = [("UR_ADAPTERS_FORCE_LOAD", &*named)];
    let plugins = machine.findings("Plugins", &variables);
    says(
        &plugins,
        "liboffkit_plugin_ur.so",
        "problem",
        &[
            "nothing that it finds below it can be used",
            "is under Unified Runtime",
        ],
    );
    let text = format!("{plugins:?}");
    assert!(!text.contains("the driver below it does not"), "{text}");
    let findings = machine.findings(ABOUT, &variables);
    for (what, parts) in [
        (
            "liblacks_symbol.so",
            &[
                "undefined symbol: zeInit",
                "libze_loader.so.1: install or update Debian's package libze1",
            ][..],
        ),
        (
            "libno_adapter.so",
            &[
                "it is no adapter of Unified Runtime",
                "take it off UR_ADAPTERS_FORCE_LOAD",
            ],
        ),
        (
            "libur_adapter_cuda.so.0",
            &[
                "is not there: install the Python package intel-cmplr-lib-ur, or take it off UR_ADAPTERS_FORCE_LOAD",
            ],
        ),
    ] {
        says(&findings, what, "problem", parts);
    }
    // Where none is wanted, and where none is found.
    says(
        &machine.findings(ABOUT, &[]),
        "no adapter is there",
        "info",
        &["UR_ADAPTERS_FORCE_LOAD names none"],
    );
}

#[test]
fn an_adapter_that_does_harm_is_left_out_and_hides_no_other() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    let (good, crash) = (good(folder), library(folder, "crash", CRASH, ""));
    for_another_machine(folder, "libcrash.so", "libother_machine.so");
    let other = folder.path("libother_machine.so").display().to_string();
    let named = [crash, other, good].join(",");
    let cache = folder.path("cache").display().to_string();
    let variables = [("UR_ADAPTERS_FORCE_LOAD", &*named), ("XDG_CACHE_HOME", &*cache)];
    let outcome = machine.run("devices", &variables);
    assert!(outcome.stdout.contains("Toaster"), "{outcome:#?}");
    assert!(
        outcome
            .stderr
            .contains("warning: left out: adapter of Unified Runtime ")
            && outcome
                .stderr
                .contains("libcrash.so (UR_ADAPTERS_FORCE_LOAD): it crashes while it is loaded"),
        "{outcome:#?}"
    );
    let findings = machine.findings(ABOUT, &variables);
    says(
        &findings,
        "libur_adapter_good.so",
        "ok",
        &["libur_adapter_good.so, UR 0.12, ", "1 device"],
    );
    says(
        &findings,
        "libcrash.so",
        "problem",
        &[
            "left out: it crashes while it is loaded",
            "take it off UR_ADAPTERS_FORCE_LOAD",
        ],
    );
    says(
        &findings,
        "libother_machine.so",
        "problem",
        &["it is for ", ", and this program for ", "another architecture"],
    );
}

/// An adapter over OpenCL has a loader of its own, which loads every driver that is listed.
#[test]
fn an_adapter_is_not_blamed_for_a_driver_that_it_loads() {
    need!("cc");
    let machine = Machine {
        folder: Folder::new(),
    };
    let folder = &machine.folder;
    let loads = format!(
        r#"#include "{}"
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void start(void) {{
  char pattern[4096], driver[4096];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/*.icd", getenv("OCL_ICD_VENDORS"));
  if (glob(pattern, 0, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc; i++) {{
    FILE *file = fopen(found.gl_pathv[i], "r");
    if (file && fscanf(file, "%4095s", driver) == 1) dlopen(driver, RTLD_NOW);
  }}
}}
"#,
        root().join("tests/ur-adapter/adapter.c").display()
    );
    let options = "-w -std=gnu11 -fvisibility=hidden -DFORM=3 -DODD=0 -DVERSION=12";
    let adapter = library(folder, "ur_adapter_loads", &loads, options);
    std::fs::create_dir(folder.path("vendors")).unwrap();
    let crash = library(folder, "crash", CRASH, "");
    let harmless = library(folder, "harmless", "int other;", "");
    folder.write("vendors/a.icd", format!("{harmless}\n"));
    folder.write("vendors/b.icd", format!("{crash}\n"));
    let path = |name: &str| folder.path(name).display().to_string();
    let (vendors, cache) = (path("vendors"), path("cache"));
    let variables = [
        ("UR_ADAPTERS_FORCE_LOAD", &*adapter),
        ("OCL_ICD_VENDORS", &*vendors),
        ("XDG_CACHE_HOME", &*cache),
    ];
    let outcome = machine.run("devices", &variables);
    let blamed = format!(
        "while it is loaded (signal 11, SIGSEGV); the OpenCL driver {crash}, which it loads, does that"
    );
    assert!(outcome.stderr.contains(&blamed), "{outcome:#?}");
    says(
        &machine.findings(ABOUT, &variables),
        "libur_adapter_loads.so",
        "problem",
        &[&blamed, "See OpenCL drivers for what to do"],
    );
    // Without that driver the adapter's device is there.
    std::fs::remove_file(folder.path("vendors/b.icd")).unwrap();
    let outcome = machine.run("devices", &variables);
    assert!(outcome.stdout.contains("Toaster"), "{outcome:#?}");
}
