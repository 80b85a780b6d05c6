//! OpenCL's drivers: each that is listed is named with what became of it, and none hides the others.

use super::*;
use offkit_cache::{Cache, Kind, Limits};
use offkit_tests::{kept, programs, root};
use std::fs;

/// The heading in `offkit doctor`.
const ABOUT: &str = "OpenCL drivers";

/// A driver that does not come back from being loaded.
const HANGS: &str =
    "#include <unistd.h>\n__attribute__((constructor)) static void start(void) { for (;;) sleep(1); }";

/// A folder of files that name drivers.
struct Vendors {
    machine: Machine,
}

impl Vendors {
    fn new() -> Vendors {
        let machine = Machine {
            folder: Folder::new(),
        };
        fs::create_dir(machine.folder.path("vendors")).unwrap();
        Vendors { machine }
    }

    /// Lists a driver in `NAME.icd`.
    fn list(&self, name: &str, library: &str) {
        self.machine
            .folder
            .write(&format!("vendors/{name}.icd"), format!("{library}\n"));
    }

    /// Makes a driver, and lists it.
    fn driver(&self, name: &str, source: &str, options: &str) -> String {
        let library = library(&self.machine.folder, name, source, options);
        self.list(name, &library);
        library
    }

    /// A driver that has a device, or as many as it is told.
    fn stand_in(&self, name: &str, options: &str) -> String {
        let source = root().join("tests/opencl/stand-in.c");
        let source = format!("#include \"{}\"", source.display());
        self.driver(name, &source, &format!("-w {options}"))
    }

    fn with<T>(&self, more: &[(&str, &str)], then: impl Fn(&Machine, &[(&str, &str)]) -> T) -> T {
        let path = |name: &str| self.machine.folder.path(name).display().to_string();
        let (vendors, cache) = (path("vendors"), path("cache"));
        let mut variables = vec![("OCL_ICD_VENDORS", &*vendors), ("XDG_CACHE_HOME", &*cache)];
        variables.extend(more);
        then(&self.machine, &variables)
    }

    fn findings(&self, about: &str) -> Vec<Value> {
        self.with(&[], |machine, variables| machine.findings(about, variables))
    }

    fn run(&self, line: &str) -> Outcome {
        self.with(&[], |machine, variables| machine.run(line, variables))
    }

    /// Has what is remembered of hangs be as if each had been waited for as long as is usual.
    fn have_hung_for_30_seconds(&self) {
        let cache = Cache::at(
            self.machine.folder.path("cache").join("offkit"),
            Limits::default(),
        );
        let keys = cache
            .entries()
            .into_iter()
            .filter_map(|entry| Some(entry.header?.key));
        for key in keys.filter(|key| key.kind == Kind::Plugin) {
            let kept = cache.get(&key).unwrap();
            let kept = std::str::from_utf8(&kept).unwrap();
            if let Some(rest) = kept.strip_prefix("hang 5 ") {
                cache.put(&key, &[], format!("hang 30 {rest}").as_bytes());
            }
        }
    }
}

#[test]
fn drivers_that_fail_in_words_are_named_with_the_reason() {
    need!("cc");
    let vendors = Vendors::new();
    let folder = &vendors.machine.folder;
    let good = vendors.stand_in("good", "");
    vendors.stand_in("no_device", "-DDEVICES=0");
    vendors.stand_in("fails", "-DFAILS=-6");
    vendors.driver(
        "lacks_symbol",
        "int clNobodyHas(void); int use(void) { return clNobodyHas(); }",
        "",
    );
    library(
        folder,
        "ze_loader",
        "int zeInit(void) { return 0; }",
        "-Wl,-soname,libze_loader.so.1",
    );
    let beside = format!("-L{} -lze_loader", folder.path("").display());
    vendors.driver(
        "lacks_library",
        "int zeInit(void); int use(void) { return zeInit(); }",
        &beside,
    );
    vendors.driver("no_driver", "int other;", "");
    for_another_machine(folder, "libgood.so", "libother_machine.so");
    vendors.list(
        "other_machine",
        &folder.path("libother_machine.so").display().to_string(),
    );
    vendors.list("intel", "/opt/nowhere/libintelocl.so");
    vendors.list("libc", "libc.so.6");
    vendors.list("twice", &good);
    vendors.list("folder", &folder.path("vendors").display().to_string());
    folder.write("vendors/empty.icd", "");
    fs::create_dir(folder.path("vendors/unreadable.icd")).unwrap();

    let findings = vendors.findings(ABOUT);
    for (what, state, parts) in [
        (
            "libgood.so",
            "ok",
            &[
                "/good.icd",
                "Stand-in platform, OpenCL 1.2 for tests, driver 7.5; 1 device",
            ][..],
        ),
        (
            "libno_device.so",
            "problem",
            &["OpenCL 1.2 for tests; it sees no device", "see Kernel"],
        ),
        (
            "libfails.so",
            "problem",
            &[
                "clGetDeviceIDs: CL_OUT_OF_HOST_MEMORY",
                "Look at its own tools and log, or remove ",
            ],
        ),
        (
            "liblacks_symbol.so",
            "problem",
            &[
                "undefined symbol: clNobodyHas",
                "a function of libOpenCL.so.1: install or update Debian's package ocl-icd-libopencl1",
            ],
        ),
        (
            "liblacks_library.so",
            "problem",
            &[
                "libze_loader.so.1: cannot open shared object file",
                "It needs libze_loader.so.1: install Debian's package libze1",
            ],
        ),
        (
            "libno_driver.so",
            "problem",
            &[
                "it is no OpenCL driver",
                "something else: remove ",
                "no_driver.icd",
            ],
        ),
        (
            "libother_machine.so",
            "problem",
            &["it is for ", ", and this program for ", "another architecture"],
        ),
        (
            "/opt/nowhere/libintelocl.so",
            "problem",
            &[
                "is not there: install the Python package intel-opencl-rt, or remove ",
                "intel.icd",
            ],
        ),
        ("libc.so.6", "problem", &["it is no OpenCL driver", "libc.icd"]),
        ("/twice.icd", "info", &["left out: it is named twice"]),
        ("/folder.icd", "problem", &["it is a folder, and no library"]),
        (
            "/empty.icd",
            "problem",
            &[
                "the file names no library",
                "Write the path of the driver's library into it, or remove ",
            ],
        ),
        ("/unreadable.icd", "problem", &["the file cannot be read"]),
    ] {
        says(&findings, what, state, parts);
    }
    // Each has one finding, and the device is there.
    assert_eq!(findings.len(), 13, "{findings:#?}");
    let listed = vendors.run("devices").ok();
    assert!(listed.contains("Stand-in device  opencl:0"), "{listed}");
    let verbose = vendors.run("devices -v").ok();
    for part in [
        "Stand-in device  opencl:0",
        "\nOpenCL drivers\n",
        "undefined symbol: clNobodyHas",
        "\nUnified Runtime\n",
    ] {
        assert!(verbose.contains(part), "{part}: {verbose}");
    }
}

#[test]
fn where_no_driver_can_be_used_each_says_why() {
    need!("cc");
    let vendors = Vendors::new();
    vendors.driver("no_driver", "int other;", "");
    vendors.list("missing", "libnowhere.so.7");
    let plugins = vendors.findings("Plugins");
    says(
        &plugins,
        "liboffkit_plugin_opencl.so",
        "problem",
        &[
            "nothing that it finds below it can be used",
            "is under OpenCL drivers",
        ],
    );
    let findings = vendors.findings(ABOUT);
    says(
        &findings,
        "libno_driver.so",
        "problem",
        &["it is no OpenCL driver"],
    );
    says(
        &findings,
        "libnowhere.so.7",
        "problem",
        &["is not there: install it again, or remove "],
    );
    // Nobody opens them where none of their devices is wanted.
    let selector = [("ONEAPI_DEVICE_SELECTOR", "offkit:*")];
    let findings = vendors.with(&selector, |machine, variables| machine.findings(ABOUT, variables));
    says(
        &findings,
        "libno_driver.so",
        "info",
        &["not opened: ONEAPI_DEVICE_SELECTOR wants none of its devices"],
    );
    says(&findings, "libnowhere.so.7", "problem", &["is not there"]);
}

#[test]
fn where_none_is_listed_the_places_are_told() {
    let vendors = Vendors::new();
    let folder = vendors.machine.folder.path("vendors").display().to_string();
    says(
        &vendors.findings(ABOUT),
        "no driver is listed",
        "info",
        &[
            &folder,
            "(OCL_ICD_VENDORS), which has no .icd file",
            "OCL_ICD_FILENAMES",
        ],
    );
    says(
        &vendors.machine.findings(ABOUT, &[]),
        "no driver is listed",
        "info",
        &["/nowhere/ (OCL_ICD_VENDORS), which is not there"],
    );
    let system = vendors.machine.findings(ABOUT, &[("OCL_ICD_VENDORS", "")]);
    let is_listed = fs::read_dir("/etc/OpenCL/vendors").is_ok_and(|files| files.count() > 0);
    if !is_listed {
        says(
            &system,
            "no driver is listed",
            "info",
            &["looked in /etc/OpenCL/vendors"],
        );
    }
}

#[test]
fn a_driver_that_does_harm_is_left_out_and_hides_no_other() {
    need!("cc");
    let vendors = Vendors::new();
    let start = |body: &str| {
        format!(
            "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
             __attribute__((constructor)) static void start(void) {{ {body} }}"
        )
    };
    vendors.stand_in("good", "");
    vendors.stand_in("other", "");
    let harms = [
        (
            "crash",
            start("*(volatile int *)0 = 1;"),
            "it crashes while it is loaded (signal 11, SIGSEGV)",
        ),
        (
            "exit",
            start("_exit(0);"),
            "it ends the process with exit code 0 while it is loaded",
        ),
        (
            "eat",
            start("for (size_t size = 1 << 26;;) memset(malloc(size), 1, size);"),
            "MiB of memory while it is loaded",
        ),
        (
            "at_exit",
            "#include <stdlib.h>\nint clGetPlatformIDs(unsigned room, void **places, unsigned *found) {\n\
             if (found) *found = 0; return 0; }\n\
             __attribute__((destructor)) static void end(void) { abort(); }"
                .to_owned(),
            "it crashes while the process ends (signal 6",
        ),
    ];
    for (name, source, _) in &harms {
        vendors.driver(name, source, "");
    }
    let devices = |outcome: &Outcome| outcome.stdout.matches("Stand-in device  opencl:").count();
    // When they are tried, and when those that are good are known.
    for _ in 0..2 {
        let outcome = vendors.run("devices");
        assert_eq!(devices(&outcome), 2, "{outcome:#?}");
        for (name, _, harm) in &harms {
            let line = outcome
                .stderr
                .lines()
                .find(|line| line.contains(&format!("lib{name}.so")));
            let line = line.unwrap_or_else(|| panic!("{name}: {outcome:#?}"));
            assert!(
                line.starts_with("warning: left out: OpenCL driver ") && line.contains(harm),
                "{line}"
            );
        }
    }
    let findings = vendors.findings(ABOUT);
    for (name, _, harm) in &harms {
        let what = format!("lib{name}.so");
        let file = format!("or remove {}", vendors.machine.folder.path("vendors").display());
        says(&findings, &what, "problem", &["left out: ", harm, &file]);
    }
    says(&findings, "libgood.so", "ok", &["1 device"]);
    let plugins = vendors.findings("Plugins");
    says(&plugins, "liboffkit_plugin_opencl.so", "ok", &["2 devices"]);

    // One that is made good again is tried and used, and then known: all of it is one entry.
    for (name, ..) in &harms {
        fs::remove_file(vendors.machine.folder.path(&format!("vendors/{name}.icd"))).unwrap();
    }
    vendors.stand_in("crash", "");
    assert_eq!(devices(&vendors.run("devices")), 3);
    let known = || kept(&vendors.machine.folder.path("cache"), Kind::Plugin).len();
    let before = known();
    assert_eq!(devices(&vendors.run("devices")), 3);
    assert_eq!(known(), before);
}

#[test]
fn a_driver_that_hangs_is_left_out() {
    need!("cc");
    let vendors = Vendors::new();
    vendors.stand_in("good", "");
    vendors.driver("hangs", HANGS, "");
    let patience = [("OFFKIT_PROBE_SECONDS", "5")];
    let findings = vendors.with(&patience, |machine, variables| machine.findings(ABOUT, variables));
    says(
        &findings,
        "libhangs.so",
        "problem",
        &["left out: it has not come back after 5 seconds, while it is loaded"],
    );
    says(&findings, "libgood.so", "ok", &["1 device"]);
    // The next program does not wait for it again, unless it is asked to.
    vendors.have_hung_for_30_seconds();
    let findings = vendors.with(&[], |machine, variables| machine.findings(ABOUT, variables));
    let said = "it has not come back after 30 seconds, while it is loaded (";
    says(
        &findings,
        "libhangs.so",
        "problem",
        &[said, "ago; it is tried again after 60 minutes"],
    );
    says(&findings, "libgood.so", "ok", &["1 device"]);
}

#[test]
fn the_only_driver_is_left_out_again_and_not_its_plugin() {
    need!("cc");
    let vendors = Vendors::new();
    vendors.driver("hangs", HANGS, "");
    for (patience, seconds) in [(&[("OFFKIT_PROBE_SECONDS", "5")][..], 5), (&[], 30)] {
        let findings = vendors.with(patience, |machine, variables| machine.findings(ABOUT, variables));
        let said = format!("left out: it has not come back after {seconds} seconds, while it is loaded");
        says(&findings, "libhangs.so", "problem", &[&said]);
        vendors.have_hung_for_30_seconds();
    }
}

#[test]
fn without_the_helper_plugins_are_not_probed_and_say_so() {
    need!("cc");
    let vendors = Vendors::new();
    vendors.stand_in("good", "");
    let folder = &vendors.machine.folder;
    fs::create_dir(folder.path("bin")).unwrap();
    for file in ["offkit", "liboffkit_plugin_opencl.so"] {
        let (from, to) = (programs().join(file), folder.path("bin").join(file));
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).unwrap();
        }
    }
    let run = |line: &str| {
        vendors.with(&[], |machine, variables| {
            machine.run_program(&folder.path("bin/offkit"), line, variables)
        })
    };
    let listed = run("devices").ok();
    assert!(
        listed.contains("Stand-in device  opencl:0")
            && listed.contains(", not probed, as offkit-probe is missing"),
        "{listed}"
    );
    let lines = run("devices --json");
    offkit_tests::schemas::check("devices", &lines.stdout);
    let probed: Vec<_> = lines
        .json()
        .iter()
        .map(|line| line["plugin_probed"].clone())
        .collect();
    assert!(
        probed.contains(&Value::Null) && probed.contains(&false.into()),
        "{probed:?}"
    );
    let doctor = run("doctor").stdout;
    assert!(
        doctor.contains("1 device; not probed, as offkit-probe is missing"),
        "{doctor}"
    );
    // One that is there and cannot be started is no reason to load what may do harm.
    folder.write("bin/offkit-probe", "no program");
    let findings = vendors.with(&[], |machine, variables| {
        machine
            .run_program(&folder.path("bin/offkit"), "doctor", variables)
            .stdout
    });
    assert!(
        findings.contains("it could not be tried by") && findings.contains("Permission denied"),
        "{findings}"
    );
    // What it is tried by is beside the other one.
    let lines = vendors.run("devices --json").json();
    assert!(
        lines.iter().any(|line| line["plugin_probed"] == true),
        "{lines:#?}"
    );
}

#[test]
fn the_places_of_a_worker_that_is_missing_are_told_once() {
    let vendors = Vendors::new();
    let folder = &vendors.machine.folder;
    fs::create_dir(folder.path("bin")).unwrap();
    let (from, to) = (programs().join("offkit"), folder.path("bin/offkit"));
    if fs::hard_link(&from, &to).is_err() {
        fs::copy(&from, &to).unwrap();
    }
    let bin = folder.path("bin").display().to_string();
    let path = format!("{bin}:/nowhere/a:/nowhere/b:/nowhere/a:{bin}");
    let listed = vendors
        .machine
        .run_program(&to, "devices", &[("PATH", &path)])
        .ok();
    let expected = format!("was not found (looked in `{bin}`, `/nowhere/a`, `/nowhere/b`)");
    assert!(listed.contains(&expected), "{listed}");
}

#[test]
fn amds_library_is_found_whatever_its_release() {
    let machine = Machine {
        folder: Folder::new(),
    };
    machine.folder.write("libamdhip64.so.6", "");
    let folder = machine.folder.path("").display().to_string();
    let findings = machine.findings("Libraries of drivers", &[("LD_LIBRARY_PATH", &folder)]);
    says(&findings, "libamdhip64.so.6", "ok", &[]);
    let findings = machine.findings("Libraries of drivers", &[]);
    says(
        &findings,
        "libamdhip64.so.7",
        "info",
        &["not installed", "ROCm 7"],
    );
}
