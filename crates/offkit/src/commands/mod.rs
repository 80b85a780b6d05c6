//! One module for each verb.

mod below;
pub(crate) mod cache;
pub(crate) mod cc;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod devices;
pub(crate) mod devlib;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod extract;
pub(crate) mod filter;
mod finding;
mod folder;
pub(crate) mod graph;
pub(crate) mod icd;
mod inventory;
pub(crate) mod join;
mod kernels;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod ls;
pub(crate) mod man;
mod mapped;
pub(crate) mod mark;
mod module_source;
mod needed;
pub(crate) mod pack;
pub(crate) mod post_link;
pub(crate) mod replace;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod size;
mod source;
pub(crate) mod split;
mod table;
pub(crate) mod thin;
mod thin_archive;
pub(crate) mod tool;
mod triton;
pub(crate) mod verify;
pub(crate) mod wrap;
mod written;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use offkit_object::{KernelName, Limits, Location, Problem};
use offkit_runtime::{ImageId, ImageRegistry};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::terminal::escape;
use source::{Source, concerning, locate};

/// There is no image at a place; `problems` may say why.
fn nothing_in(place: &Location, problems: &[Problem]) -> Failure {
    match problems {
        [only] => Failure::input(only.to_string()),
        [first, rest @ ..] => Failure::input(first.to_string()).hint(format!(
            "`offkit verify {}` lists this and {} more",
            place.file(),
            rest.len()
        )),
        [] => Failure::input(format!("{place}: no device code there"))
            .hint("`offkit ls` lists the device code inside files"),
    }
}

/// A name as it is shown: as the source has it, or, `mangled`, as it stands in the file.
fn shown_name(name: &str, mangled: bool) -> String {
    match mangled {
        true => escape(name).into_owned(),
        false => readable(name),
    }
}

/// A name as the source has it, fit to be shown. It is demangled once for all threads: the images for several
/// architectures have the same names, and to demangle them takes as long as to unpack the images.
fn readable(name: &str) -> String {
    /// So many threads can be at it at once, as a rule.
    const PARTS: usize = 32;
    static READABLE: LazyLock<[Mutex<Readable>; PARTS]> = LazyLock::new(Default::default);
    // Names have as many lengths as there are parts, and a hash of them all would cost more.
    let part = &READABLE[name.len() % PARTS];
    part.lock().unwrap_or_else(PoisonError::into_inner).of(name)
}

/// Names as they are shown.
#[derive(Default)]
struct Readable {
    shown: HashMap<String, String>,
    bytes: usize,
}

impl Readable {
    fn of(&mut self, name: &str) -> String {
        /// Of the names together: 32 MiB in all.
        const KEPT: usize = 1 << 20;
        if let Some(shown) = self.shown.get(name) {
            return shown.clone();
        }
        let shown = escape(&KernelName::new(name).readable()).into_owned();
        if self.bytes > KEPT {
            *self = Self::default();
        }
        self.bytes += name.len() + shown.len();
        self.shown.insert(name.to_owned(), shown.clone());
        shown
    }
}

/// What a registered image is, `SPIR-V for spirv64-unknown-unknown`; nothing once it is withdrawn.
fn code(registry: &ImageRegistry, image: ImageId) -> String {
    let format = registry.format(image).map(|format| format.name());
    let target = registry.target(image).map(|target| target.to_string());
    match (format, target) {
        (Some(format), Some(target)) if !target.is_empty() => format!("{format} for {target}"),
        (format, _) => format.unwrap_or_default().to_owned(),
    }
}

/// A problem as a line of JSON.
fn problem_json(problem: &Problem) -> Value {
    json!({
        "file": problem.location.file(),
        "location": problem.location.to_string(),
        "offset": problem.error.offset(),
        "problem": problem.error.to_string(),
    })
}

/// The limits that readers work under.
fn limits() -> Limits {
    Limits::default()
}
