//! The names that code has for others: LLVM would give the second of two that are the same another one, and nobody would find
//! it.

use std::collections::HashSet;

use super::super::kernel::refuse;
use super::kernel::Result;

/// The names that are taken.
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// With those that the code itself needs.
    pub(super) fn new(needed: &[&str]) -> Names {
        Names {
            taken: needed.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Takes a name for what others know by it.
    pub(super) fn take(&mut self, name: &str) -> Result<()> {
        if !is_symbol(name) {
            return refuse(format!("the name `{name}` can't be one in code for devices"));
        }
        match self.taken.insert(name.to_owned()) {
            true => Ok(()),
            false => refuse(format!(
                "its code has the name `{name}` for something else already: rename one of the two"
            )),
        }
    }
}

/// The name of what nobody else knows, which no other name can be.
pub(super) fn own(name: &str) -> String {
    // No name that `take` lets pass has a dot.
    format!("{name}.own")
}

/// Whether a name can be one in code for devices.
pub(super) fn is_symbol(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    !name.is_empty() && name.chars().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit())
}
