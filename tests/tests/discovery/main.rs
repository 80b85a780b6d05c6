//! What `offkit devices` and `offkit doctor` say of plugins that are there, that are broken, and that nobody wants.

mod choice;
mod drivers;
mod harm;
mod plugins;

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
