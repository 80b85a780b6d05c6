//! Where listings go: to standard output, and on a terminal that they are too long for, to a pager.
//!
//! What is shorter than the terminal never meets a pager: it is held back until the listing ends or gets longer.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{environment, terminal};

/// What the pager is without one of the user's: quits where all fits, lets colours through, leaves the text there.
const DEFAULT: [&str; 2] = ["less", "-FRX"];

/// What of a command line only a shell understands.
const SHELL: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=', '%',
];

/// Where standard output goes.
enum Target {
    /// Where it always does.
    Direct,
    /// Nowhere yet: it may be short.
    Held {
        text: Vec<u8>,
        rows: usize,
        limits: Limits,
    },
    Pager(Child),
}

#[derive(Clone, Copy)]
struct Limits {
    rows: usize,
    columns: usize,
}

static TARGET: Mutex<Target> = Mutex::new(Target::Direct);

fn target() -> MutexGuard<'static, Target> {
    TARGET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a pager shows what is longer than the terminal. Without a terminal nothing changes.
pub(crate) fn start() {
    let Some((width, height)) = terminal_size::terminal_size_of(io::stdout()) else {
        return;
    };
    if command().is_none() || !io::stdout().is_terminal() {
        return;
    }
    // The prompt of the shell takes a row.
    let rows = usize::from(height.0).saturating_sub(1);
    *target() = Target::Held {
        text: Vec::new(),
        rows: 0,
        limits: Limits {
            rows,
            columns: usize::from(width.0).max(1),
        },
    };
}

/// Whether long listings go to a pager.
pub(crate) fn is_on() -> bool {
    !matches!(*target(), Target::Direct)
}

/// Writes what is held back, and waits until the user has left the pager.
pub(crate) fn finish() -> io::Result<()> {
    match std::mem::replace(&mut *target(), Target::Direct) {
        Target::Direct => Ok(()),
        Target::Held { text, .. } => {
            terminal::hide_progress();
            io::stdout().write_all(&text)?;
            io::stdout().flush()
        }
        Target::Pager(mut pager) => {
            // Closed first: a pager learns by that where the text ends, and would be waited for in
            // vain.
            drop(pager.stdin.take());
            pager.wait().map(drop)
        }
    }
}

/// Standard output, or the pager in its place.
#[derive(Debug)]
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut target = target();
        match &mut *target {
            Target::Direct => {
                terminal::hide_progress();
                io::stdout().write_all(bytes)
            }
            Target::Pager(pager) => write_to(pager, bytes),
            Target::Held { text, rows, limits } => {
                text.extend_from_slice(bytes);
                // Colours count as letters: the pager knows better, and shows what fits without stopping.
                let lines = bytes.split(|byte| *byte == b'\n');
                *rows += lines.clone().count() - 1;
                *rows += lines.map(|line| line.len() / limits.columns).sum::<usize>();
                if *rows <= limits.rows {
                    return Ok(());
                }
                let text = std::mem::take(text);
                *target = open();
                // It is locked again to write.
                drop(target);
                self.write_all(&text)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut *target() {
            Target::Direct => io::stdout().flush(),
            // What is held back stays so: it is not yet known whether it needs a pager.
            Target::Held { .. } | Target::Pager(_) => Ok(()),
        }
    }
}

fn write_to(pager: &mut Child, bytes: &[u8]) -> io::Result<()> {
    match &mut pager.stdin {
        Some(input) => input.write_all(bytes),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Starts the pager; one that is not there is done without.
fn open() -> Target {
    let Some(words) = command() else {
        return Target::Direct;
    };
    terminal::hide_progress();
    let mut pager = Command::new(&words[0]);
    pager.args(&words[1..]).stdin(Stdio::piped());
    // As Git has them, for pagers of the user's that read these.
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if env::var_os(name).is_none() {
            pager.env(name, value);
        }
    }
    match pager.spawn() {
        Ok(pager) => {
            // An interrupt is meant for the pager, which has the terminal now.
            offkit_host::temporary::ignore_interrupts();
            Target::Pager(pager)
        }
        Err(_) => Target::Direct,
    }
}

/// The pager as a command line: the user's, or the usual one; `None` where the user wants none.
fn command() -> Option<Vec<String>> {
    // The first that is set counts, one that is set to nothing too: it says that none is wanted.
    let named = [environment::PAGER, environment::USUAL_PAGER]
        .into_iter()
        .find_map(|name| env::var(name).ok());
    let Some(line) = named else {
        return Some(DEFAULT.map(str::to_owned).to_vec());
    };
    let words: Vec<String> = match line.contains(SHELL) {
        true => ["sh", "-c", &line].map(str::to_owned).to_vec(),
        false => line.split_whitespace().map(str::to_owned).collect(),
    };
    // `cat` shows what would be there without it.
    (!words.is_empty() && words != ["cat"]).then_some(words)
}
