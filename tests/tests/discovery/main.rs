//! What `offkit devices` and `offkit doctor` say of plugins, drivers and adapters that are there, that are broken, and that
//! nobody wants.

mod adapters;
mod choice;
mod drivers;
mod harm;
mod plugins;

use std::path::Path;
use std::process::Command;

use offkit_tests::{Folder, Outcome, mock, need, offkit, tool};
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

/// A copy of a library that says that it is for another machine.
fn for_another_machine(folder: &Folder, library: &str, copy: &str) {
    const X86_64: [u8; 2] = [62, 0];
    const AARCH64: [u8; 2] = [183, 0];
    let mut bytes = folder.read(library);
    let machine: &mut [u8; 2] = (&mut bytes[18..20]).try_into().unwrap();
    *machine = if *machine == X86_64 { AARCH64 } else { X86_64 };
    folder.write(copy, bytes);
}

/// A folder in which a plugin's author has made every mistake, and their commands run.
struct Machine {
    folder: Folder,
}

impl Machine {
    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        self.run_program(&offkit(), line, variables)
    }

    /// Runs a copy of `offkit`.
    fn run_program(&self, program: &Path, line: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut command = Command::new(program);
        command.args(line.split_whitespace());
        for name in [
            "ONEAPI_DEVICE_SELECTOR",
            "SYCL_DEVICE_FILTER",
            "SYCL_BE",
            "SYCL_PI_CONFIG",
            "OFFKIT_PLUGINS",
            "OCL_ICD_FILENAMES",
            "UR_ADAPTERS_SEARCH_PATH",
        ] {
            command.env_remove(name);
        }
        command
            .env("HOME", self.folder.path("home"))
            // As if it were not set: what an empty one led to would be below the current folder.
            .env("XDG_CONFIG_HOME", "")
            // No drivers and adapters but those of the test.
            .env("OCL_ICD_VENDORS", "/nowhere/")
            .env("UR_ADAPTERS_FORCE_LOAD", "");
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
