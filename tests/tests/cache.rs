//! The cache as users have it: built programs on Intel's driver, and `offkit cache`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use offkit_cache::Kind;
use offkit_tests::drivers::{intel, with_drivers};
use offkit_tests::{Folder, Outcome, example, kept, library, need, offkit, read_f32};
use serde_json::Value;

/// A kernel that needs a library, and a driver that builds them.
struct Machine {
    folder: Folder,
    intel: PathBuf,
}

const RUN: &str = "run app.syclbin saxpy --link library.syclbin --global 64 --arg f32:2 --arg x.npy --arg y.npy \
                   --out z.npy --device opencl";

const WHY: &str = "cache why app.syclbin saxpy --link library.syclbin --device opencl";
const EXPLAIN: &str = "explain app.syclbin saxpy --link library.syclbin --device opencl";

impl Machine {
    fn new() -> Option<Self> {
        let intel = intel()?;
        let folder = Folder::new();
        folder.linked_example();
        Some(Self { folder, intel })
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(offkit());
        command.args(line.split_whitespace());
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command
            .env("OFFKIT_PLUGINS", library("offkit_plugin_opencl"))
            .env("XDG_CACHE_HOME", self.folder.path("cache"))
            .env("OFFKIT_LOG", "offkit_cache=debug,offkit_runtime::built=debug")
            .current_dir(self.folder.path("."));
        with_drivers(command, &[("OCL_ICD_VENDORS", &self.intel)]);
    }

    /// Runs a line, with more variables.
    fn with(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        self.folder.run_command(&mut command)
    }

    /// Runs the kernel; whether its program came from the cache.
    fn run(&self, variables: &[(&str, &str)]) -> bool {
        let _ = fs::remove_file(self.folder.path("z.npy"));
        self.is_hit(self.with(RUN, variables))
    }

    fn is_hit(&self, outcome: Outcome) -> bool {
        let log = outcome.stderr.clone();
        outcome.ok();
        let result = read_f32(&self.folder.read("z.npy"));
        assert_eq!(&result[result.len() - 64..][..3], [64.0, 65.0, 66.0], "{log}");
        log.contains("taken from the cache kind=\"program\"")
    }

    /// The file of the program's entry.
    fn program(&self) -> PathBuf {
        let listed = self.with("cache list --kind program --json", &[]).json();
        let name = listed[0]["name"].as_str().expect("a name");
        self.folder.path("cache/offkit/entries").join(name)
    }
}

#[test]
fn a_program_is_built_once() {
    need!("clang-22", "llc");
    let Some(machine) = Machine::new() else { return };
    let explained = || machine.with(EXPLAIN, &[]).ok();
    assert!(explained().contains("not in the cache: "));
    assert!(!machine.run(&[]));
    assert!(explained().contains("the program is in the cache"));
    assert_eq!(kept(&machine.folder.path("cache"), Kind::Program).len(), 1);
    assert!(machine.run(&[]));
    assert!(machine.with(WHY, &[]).ok().starts_with("hit for "));
    // Everything that can change the result does.
    for variable in [
        ("SYCL_PROGRAM_COMPILE_OPTIONS", "-g"),
        ("SYCL_PROGRAM_LINK_OPTIONS", "-cl-denorms-are-zero"),
        ("CL_CONFIG_USE_VECTORIZER", "false"),
    ] {
        assert!(!machine.run(&[variable]), "{variable:?}");
        assert!(machine.run(&[variable]), "{variable:?}");
    }
    assert!(machine.run(&[]));
    assert!(!machine.run(&[("OFFKIT_CACHE", "off")]));
}

#[test]
fn a_miss_is_explained() {
    need!("clang-22", "llc");
    let Some(machine) = Machine::new() else { return };
    let why = |variables: &[(&str, &str)]| machine.with(WHY, variables).stdout;
    assert!(why(&[]).contains("nothing like it has been kept"));
    machine.with(WHY, &[]).fails(1);
    machine.run(&[]);
    let options = ("SYCL_PROGRAM_COMPILE_OPTIONS", "-g");
    assert!(
        why(&[options]).contains("compile options of image 1 changed: it was `` and is `-g`"),
        "{}",
        why(&[options])
    );
    let json = machine.with(&format!("{WHY} --json"), &[options]);
    let json: Value = serde_json::from_str(json.stdout.trim()).expect("JSON");
    assert_eq!(json["hit"], false);
    assert_eq!(json["differences"][0]["now"], "-g");
    // Another library of the image.
    let changed = example("library.cl").replace("return ", "return 1.0f + ");
    machine.folder.syclbin("library", &changed, "");
    let text = why(&[]);
    assert!(text.contains("image 2 changed"), "{text}");
    assert!(!text.contains("image 1 changed"), "{text}");
}

#[test]
fn a_bad_cache_costs_time_alone() {
    need!("clang-22", "llc");
    let Some(machine) = Machine::new() else { return };
    assert!(!machine.run(&[]));
    let program = machine.program();
    let good = fs::read(&program).expect("it is kept");
    let mut bad = good.clone();
    let last = bad.len() - 1;
    bad[last] ^= 1;
    fs::write(&program, &bad).expect("it is ours");
    machine.with("cache verify", &[]).fails(1);
    assert!(!machine.run(&[]));
    assert!(machine.run(&[]));
    machine.with("cache verify", &[]).ok();

    // Right by all its digests, and nothing that the driver takes.
    let cache = offkit_cache::Cache::at(
        machine.folder.path("cache/offkit"),
        offkit_cache::Limits::default(),
    );
    let entry = &cache
        .entries()
        .into_iter()
        .find(|entry| program.ends_with(entry.name.to_string()));
    let header = entry
        .as_ref()
        .and_then(|entry| entry.header.clone())
        .expect("its header");
    cache.put(&header.key, &header.files, b"no program at all");
    let outcome = machine.with(RUN, &[]);
    assert!(outcome.stderr.contains("does not take back"), "{outcome:?}");
    machine.is_hit(outcome);
    assert!(machine.run(&[]));

    // Made by another build of the driver.
    let mut other = header.files.clone();
    other[0].identity = "build 00".to_owned();
    cache.put(&header.key, &other, b"made by another driver");
    let why = machine.with(WHY, &[]).stdout;
    assert!(
        why.contains("driver library `") && why.contains("changed"),
        "{why}"
    );
    assert!(!machine.run(&[]));
    assert!(machine.run(&[]));

    // No place for anything, and a place where everybody writes.
    assert!(!machine.run(&[("XDG_CACHE_HOME", "/dev/null")]));
    assert!(!machine.run(&[("OFFKIT_CACHE_SIZE", "0"), ("XDG_CACHE_HOME", "/proc/none")]));
    fs::remove_dir_all(machine.folder.path("cache")).expect("it is ours");
    assert!(!machine.run(&[]));
    // A full disk, as far as a limit is one.
    let full = |variables: &[(&str, &str)]| {
        let mut command = Command::new("sh");
        let line = format!("trap '' XFSZ; ulimit -f 4; exec {} {RUN}", offkit().display());
        command.args(["-c", &line]);
        machine.prepare(&mut command);
        command.envs(variables.iter().copied());
        machine.folder.run_command(&mut command)
    };
    let place = machine.folder.path("full").display().to_string();
    let outcome = full(&[("XDG_CACHE_HOME", &place)]);
    assert!(outcome.stderr.contains("not in the cache"), "{outcome:?}");
    assert!(!machine.is_hit(outcome));
    assert!(kept(&machine.folder.path("full"), Kind::Program).is_empty());
}

#[test]
fn a_cache_that_is_deleted_while_programs_run_costs_time_alone() {
    need!("clang-22", "llc");
    let Some(machine) = Machine::new() else { return };
    machine.run(&[]);
    thread::scope(|scope| {
        let runs: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..3 {
                        machine.with(RUN, &[]).ok();
                    }
                })
            })
            .collect();
        while runs.iter().any(|run| !run.is_finished()) {
            let _ = fs::remove_dir_all(machine.folder.path("cache/offkit"));
            thread::yield_now();
        }
    });
    machine.run(&[]);
    assert!(machine.run(&[]));
}

#[test]
fn a_warm_cache_ships_as_a_file() {
    need!("clang-22", "llc", "ssh-keygen");
    let Some(machine) = Machine::new() else { return };
    machine.run(&[]);
    for name in ["ours", "theirs"] {
        let arguments = ["-q", "-t", "ed25519", "-N", "", "-f", name];
        machine.folder.run("ssh-keygen", arguments).ok();
    }
    machine.with("cache export -o warm.cache --sign ours", &[]).ok();
    machine.with("cache export -o plain.cache", &[]).ok();
    let there = machine.folder.path("there").display().to_string();
    let there = [("XDG_CACHE_HOME", there.as_str())];
    for refused in ["plain.cache --trust ours.pub", "warm.cache --trust theirs.pub"] {
        let error = machine.with(&format!("cache import {refused}"), &there).fails(1);
        assert!(
            error.contains("is not signed by a key that is trusted"),
            "{error}"
        );
    }
    assert!(!machine.with(WHY, &there).stdout.starts_with("hit"));
    machine
        .with("cache import warm.cache --trust ours.pub", &there)
        .ok();
    assert!(machine.with(WHY, &there).stdout.starts_with("hit"));
    assert!(machine.run(&there));
    // What is no cache, and a key that is none.
    machine.with("cache import x.npy", &there).fails(1);
    machine.with("cache import nowhere", &there).fails(2);
    machine
        .with("cache export -o other.cache --sign x.npy", &[])
        .fails(2);
    machine.with("cache export -o - --json", &[]).fails(2);
    machine.with("cache clear --kind program", &there).ok();
    assert!(!machine.run(&there));
}

#[test]
fn what_is_kept_can_be_listed() {
    need!("clang-22", "llc");
    let Some(machine) = Machine::new() else { return };
    machine.run(&[]);
    let listed = machine.with("cache list --json", &[]).json();
    let mut kinds = BTreeMap::new();
    for entry in &listed {
        let kind = entry["kind"].as_str().expect("a kind").to_owned();
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert_eq!(kinds["program"], 1, "{kinds:?}");
    let program = listed.iter().find(|entry| entry["kind"] == "program");
    let program = program.expect("a program");
    let subject = program["subject"].as_str().expect("a subject");
    assert!(
        subject.contains("app.syclbin") && subject.contains("library.syclbin"),
        "{subject}"
    );
    let names: Vec<_> = program["inputs"].as_array().expect("a list").iter().collect();
    for name in ["image 1", "image 2", "driver version", "processor", "offkit"] {
        assert!(
            names.iter().any(|input| input["name"] == name),
            "{name}: {program}"
        );
    }
    let files = program["files"].to_string();
    assert!(
        files.contains("libintelocl.so") && files.contains("libc.so.6"),
        "{files}"
    );
    let text = machine.with("cache list", &[]).ok();
    assert!(
        text.lines()
            .any(|line| line.contains("program") && line.contains("app.syclbin")),
        "{text}"
    );
    machine.with("cache clear", &[]).ok();
    assert!(machine.with("cache list", &[]).ok().is_empty());
}
