//! Command lines as LLVM's tools read them: options with one dash or two, values after `=` or as the next
//! argument.

use std::ffi::OsString;

/// One thing on a command line.
pub(super) enum Argument {
    /// An option without its dashes, and its value if that came with `=`.
    Option { name: String, value: Option<OsString> },
    /// Anything else.
    Positional(OsString),
}

/// The arguments that are left.
pub(super) struct Arguments {
    called: String,
    rest: std::vec::IntoIter<OsString>,
    only_positional: bool,
}

impl Arguments {
    pub(super) fn new(called: &str, args: Vec<OsString>) -> Self {
        Self {
            called: called.to_owned(),
            rest: args.into_iter(),
            only_positional: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Argument> {
        let argument = self.rest.next()?;
        let text = argument.to_string_lossy();
        if self.only_positional || !text.starts_with('-') || text == "-" {
            return Some(Argument::Positional(argument));
        }
        if text == "--" {
            self.only_positional = true;
            return self.next();
        }
        let without = text
            .strip_prefix("--")
            .or(text.strip_prefix('-'))
            .unwrap_or(&text);
        let (name, value) = match without.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.into())),
            None => (without.to_owned(), None),
        };
        Some(Argument::Option { name, value })
    }

    /// The value of an option that must have one.
    pub(super) fn os_value(&mut self, name: &str, value: Option<OsString>) -> Result<OsString, String> {
        let dashes = if name.len() == 1 { "-" } else { "--" };
        value.or_else(|| self.rest.next()).ok_or_else(|| {
            format!(
                "{}: for the {dashes}{name} option: requires a value!",
                self.called
            )
        })
    }

    /// The value of an option that must have one, as text.
    pub(super) fn value(&mut self, name: &str, value: Option<OsString>) -> Result<String, String> {
        let value = self.os_value(name, value)?;
        value
            .into_string()
            .map_err(|value| format!("{}: '{}' is not UTF-8", self.called, value.display()))
    }

    /// The value of an option that is there or not.
    pub(super) fn flag(&self, name: &str, value: Option<OsString>) -> Result<bool, String> {
        let Some(value) = value else { return Ok(true) };
        match value.to_str() {
            Some("" | "true" | "TRUE" | "True" | "1") => Ok(true),
            Some("false" | "FALSE" | "False" | "0") => Ok(false),
            _ => Err(format!(
                "{}: for the --{name} option: '{}' is invalid value for boolean argument! Try 0 or 1",
                self.called,
                value.display()
            )),
        }
    }

    /// What is said of an option that the tool does not have.
    pub(super) fn unknown(&self, name: &str) -> String {
        let called = &self.called;
        let dashes = if name.len() == 1 { "-" } else { "--" };
        format!("{called}: Unknown command line argument '{dashes}{name}'.  Try: '{called} --help'")
    }
}
