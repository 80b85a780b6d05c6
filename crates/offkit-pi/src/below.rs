//! What is below a plugin: drivers or adapters of others, which it opens itself.
//!
//! A plugin over them says so in its file, by a [note](crate::note) of [`KIND`] beside that of its versions, and exports
//! two functions more, which [`export_below!`](crate::export_below) makes. A host has it leave some out before anything
//! else is called ([`Plugin::load_without`](crate::host::Plugin::load_without)), and asks what became of each
//! ([`Plugin::below`](crate::host::Plugin::below)).

use crate::note::Note;
use core::ffi::{CStr, c_char};
use offkit_sync::{Mutex, PoisonError};
use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The kind of note that says what is below a plugin.
pub const KIND: u32 = 2;

/// What is below a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Drivers of OpenCL.
    OpenCl,
    /// Adapters of Unified Runtime.
    UnifiedRuntime,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::OpenCl, Kind::UnifiedRuntime];

    /// The kind that a note names.
    pub fn of(note: &[u8]) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == note)
    }

    /// As a note has it.
    const fn word(self) -> &'static [u8; 8] {
        // All of one length, which is a part of a note's type.
        match self {
            Kind::OpenCl => b"opencl\0\0",
            Kind::UnifiedRuntime => b"ur\0\0\0\0\0\0",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::OpenCl => "OpenCL driver",
            Kind::UnifiedRuntime => "adapter of Unified Runtime",
        })
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// Its library, as it is named; empty where what names it has no name in it.
    pub library: String,
    /// What names it.
    pub named_by: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a driver or an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is used.
    Used {
        /// What it is, with its version.
        what: String,
        /// How many devices it has.
        devices: usize,
    },
    /// It is left out on purpose, for that reason.
    LeftOut(String),
    /// It cannot be used, for that reason.
    Unusable(String),
}

/// A line of text: it goes from the plugin to the host.
impl fmt::Display for Below {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fields end with tabs, lines with their ends, and text with a zero.
        let plain = |text: &str| text.replace(|sign: char| sign.is_control(), " ");
        let (state, devices, words) = match &self.outcome {
            Outcome::Used { what, devices } => ("used", *devices, what),
            Outcome::LeftOut(reason) => ("left out", 0, reason),
            Outcome::Unusable(reason) => ("unusable", 0, reason),
        };
        let (library, named_by) = (plain(&self.library), plain(&self.named_by));
        write!(
            formatter,
            "{state}\t{devices}\t{library}\t{named_by}\t{}",
            plain(words)
        )
    }
}

impl Below {
    /// What a line says; nothing where it is of another form.
    pub(crate) fn parse(line: &str) -> Option<Below> {
        // No field has a tab in it, for what writes the line has made spaces of them.
        let mut fields = line.splitn(5, '\t');
        let (state, devices) = (fields.next()?, fields.next()?.parse().ok()?);
        let [library, named_by, words] = [fields.next()?, fields.next()?, fields.next()?].map(str::to_owned);
        let outcome = match state {
            "used" => Outcome::Used { what: words, devices },
            "left out" => Outcome::LeftOut(words),
            "unusable" => Outcome::Unusable(words),
            _ => return None,
        };
        Some(Below {
            library,
            named_by,
            outcome,
        })
    }
}

/// The libraries that a host has had a plugin leave out, which is told so before it opens any.
#[derive(Debug, Default)]
pub struct LeftOut(Mutex<Vec<PathBuf>>);

/// Why a plugin leaves out what its host has it leave out.
pub const REASON: &str = "it does harm, as a trial has shown";

impl LeftOut {
    /// Adds one, as it is named.
    pub fn add(&self, library: PathBuf) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(library);
    }

    /// Whether that one is among them.
    pub fn has(&self, library: &Path) -> bool {
        let left_out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left_out.iter().any(|known| known == library)
    }
}

/// The note that says so.
#[doc(hidden)]
pub const fn note(kind: Kind) -> Note<8> {
    Note::new(KIND, kind.word())
}

/// `offkitPluginLeaveOut`: has the plugin leave out a library, named as whatever names it does.
pub(crate) type LeaveOut = unsafe extern "C" fn(*const c_char);

/// `offkitPluginListBelow`: a line for each, as [`Below`] writes them, in text that stays.
pub(crate) type ListBelow = unsafe extern "C" fn() -> *const c_char;

/// A path that C has.
///
/// # Safety
///
/// It is null or text with a zero at its end.
#[doc(hidden)]
pub unsafe fn path(text: *const c_char) -> Option<PathBuf> {
    if text.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some(std::ffi::OsStr::from_bytes(text.to_bytes()).into())
    }
    #[cfg(not(unix))]
    text.to_str().ok().map(PathBuf::from)
}

/// A path as C has it; none for what C cannot have.
pub(crate) fn c_path(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).ok()
}

/// The text of a list.
#[doc(hidden)]
pub fn text(below: &[Below]) -> CString {
    let lines: Vec<String> = below.iter().map(ToString::to_string).collect();
    // No line has a zero in it.
    CString::new(lines.join("\n")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_was_written() {
        let below = |outcome| Below {
            library: "/opt/liba.so".to_owned(),
            named_by: "/etc/a b.icd".to_owned(),
            outcome,
        };
        for one in [
            below(Outcome::Used {
                what: "A 3.0".to_owned(),
                devices: 2,
            }),
            below(Outcome::LeftOut(String::new())),
            below(Outcome::Unusable("undefined symbol: a".to_owned())),
        ] {
            assert_eq!(Below::parse(&one.to_string()), Some(one));
        }
        let odd = below(Outcome::Unusable("a\tb\nc".to_owned()));
        let expected = below(Outcome::Unusable("a b c".to_owned()));
        assert_eq!(Below::parse(&odd.to_string()), Some(expected));
        assert_eq!(Below::parse("used"), None);
    }

    #[test]
    fn notes_name_their_kind() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind.word()), Some(kind));
        }
        assert_eq!(Kind::of(b"other"), None);
    }
}
