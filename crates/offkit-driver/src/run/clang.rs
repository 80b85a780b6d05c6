//! Running clang.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use offkit_host::command_line;

use super::RunError;
use crate::plan::Clang;

/// What registers device code, in a library of whoever's runtime it is.
const REGISTER: &str = "__sycl_register_lib";

/// What to do where it is missing.
const RUNTIME_HINT: &str =
    "hint: a runtime registers the program's device code: link one, `-lsycl` or offkit's `-loffkit`\n";

impl Clang {
    /// Runs it, and adds what it says to `messages`. Arguments too long for the system go through a file at
    /// `arguments_file`.
    pub(super) fn run(&self, arguments_file: &Path, messages: &mut Vec<u8>) -> Result<(), RunError> {
        let [program, arguments @ ..] = self.words.as_slice() else {
            return Ok(());
        };
        let failed_to_start = |source| RunError::Start {
            program: program.to_string_lossy().into_owned(),
            source,
        };
        let mut command = Command::new(program);
        let length: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
        if length > command_line::LONGEST_COMMAND {
            let (first, rest) = arguments.split_at(self.before_response_file.min(arguments.len()));
            fs::write(arguments_file, command_line::response_file(rest)).map_err(|source| {
                RunError::Arguments {
                    program: program.to_string_lossy().into_owned(),
                    path: arguments_file.to_owned(),
                    source,
                }
            })?;
            let mut word = OsString::from("@");
            word.push(arguments_file);
            command.args(first).arg(word);
        } else {
            command.args(arguments);
        }
        // clang looks for a terminal itself, but what it writes goes through a pipe.
        if io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && self.lets_colors_be_chosen()
        {
            command.arg("-fcolor-diagnostics");
        }
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed_to_start)?;
        // Before the wait: a child that says more than a pipe holds would never end.
        if let Some(mut stderr) = child.stderr.take() {
            // What cannot be read was not said.
            let _ = stderr.read_to_end(messages);
        }
        let status = child.wait().map_err(failed_to_start)?;
        if status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(messages);
        if said.contains("undefined") && said.contains(REGISTER) {
            messages.extend_from_slice(RUNTIME_HINT.as_bytes());
        }
        Err(RunError::Failed {
            program: program.to_string_lossy().into_owned(),
            status,
        })
    }

    /// Whether it takes an option about colours, and has none yet.
    fn lets_colors_be_chosen(&self) -> bool {
        self.is_clang && !self.words.iter().any(|word| is_about_colors(word))
    }
}

/// Whether an option says already whether clang's messages are to have colours.
fn is_about_colors(word: &OsStr) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix("-f"));
    name.is_some_and(|name| {
        let (name, _) = name.split_once('=').unwrap_or((name, ""));
        matches!(
            name.strip_prefix("no-").unwrap_or(name),
            "color-diagnostics" | "diagnostics-color"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clang_is_asked_for_colors() {
        let clang = |words: &[&str], is_clang| Clang {
            words: words.iter().map(OsString::from).collect(),
            is_clang,
            before_response_file: 0,
        };
        assert!(clang(&["clang", "-c", "a.cpp"], true).lets_colors_be_chosen());
        assert!(!clang(&["clang", "-fno-color-diagnostics", "a.cpp"], true).lets_colors_be_chosen());
        assert!(!clang(&["ptxas", "a.s"], false).lets_colors_be_chosen());
    }

    #[test]
    fn arguments_that_cannot_be_written_are_not_a_program_that_cannot_be_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let clang = Clang {
            words: vec![
                "true".into(),
                "x".repeat(command_line::LONGEST_COMMAND + 1).into(),
            ],
            is_clang: true,
            before_response_file: 0,
        };
        let file = folder.path().join("missing/arguments");
        let error = clang
            .run(&file, &mut Vec::new())
            .expect_err("there is no such folder");
        let text = format!("cannot write the arguments of `true` to `{}`", file.display());
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn only_options_choose_colors() {
        for word in [
            "-fcolor-diagnostics",
            "-fno-color-diagnostics",
            "-fdiagnostics-color",
            "-fno-diagnostics-color",
            "-fdiagnostics-color=never",
        ] {
            assert!(is_about_colors(word.as_ref()), "{word}");
        }
        for word in ["colors.cpp", "-Icolor", "-fcolors", "-o", "color-diagnostics"] {
            assert!(!is_about_colors(word.as_ref()), "{word}");
        }
    }
}
