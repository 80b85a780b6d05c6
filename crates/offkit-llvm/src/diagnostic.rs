//! What LLVM has to say about code.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that LLVM reports while it works on a module.
///
/// Shown without an error's or warning's severity, for whoever shows it has a way to tell these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What it says.
    pub message: String,
    /// Where.
    pub place: Place,
}

/// How bad something is that LLVM reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The code would be wrong.
    Error,
    /// The code may not be what its author wanted.
    Warning,
    /// What was done to the code.
    Remark,
    /// More about the diagnostic before.
    Note,
}

/// A place in source code, as far as it is known: lines only of code that was compiled with `-g`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The function's symbol, or nothing.
    pub function: String,
    /// The file, or nothing.
    pub file: String,
    /// The line in the file, from 1; 0 if that is not known.
    pub line: u32,
    /// The column in the line, from 1; 0 if that is not known.
    pub column: u32,
}

impl Place {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.function.is_empty() && self.file.is_empty()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place {
            function,
            file,
            line,
            column,
        } = &self.place;
        if !file.is_empty() {
            f.write_str(file)?;
            // A column behind a line that isn't known would be read as that line.
            for number in [line, column].into_iter().take_while(|number| **number != 0) {
                write!(f, ":{number}")?;
            }
            f.write_str(": ")?;
        }
        match self.severity {
            Severity::Error | Severity::Warning => {}
            Severity::Remark => f.write_str("remark: ")?,
            Severity::Note => f.write_str("note: ")?,
        }
        f.write_str(&self.message)?;
        // Some of LLVM's messages name the function themselves, such as those of stack frames.
        if !function.is_empty() && !self.message.contains(function) {
            write!(f, ", in `{function}`")?;
        }
        Ok(())
    }
}
