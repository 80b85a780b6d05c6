//! What people see: text with colours where they help, and progress on a terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Green.on_default().bold();

/// How much is said besides what was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pub(crate) quiet: bool,
}

impl Terminal {
    /// A line of what was asked for, on standard output.
    ///
    /// Ends the program with success when the reader has seen enough, as in `offkit ls … | head`.
    pub(crate) fn line(self, text: impl Display) {
        let written = writeln!(anstream::stdout(), "{text}");
        if written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            std::process::exit(0);
        }
    }

    /// A line of news, on standard error; not said when quiet.
    pub(crate) fn note(self, text: impl Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Something the user should know although it stops nothing.
    pub(crate) fn warning(self, text: impl Display) {
        eprintln!("{WARNING}warning{WARNING:#}: {text}");
    }

    /// Why the command failed, what led to it, and what to do next.
    pub(crate) fn failure(self, failure: &Failure) {
        eprintln!("{ERROR}error{ERROR:#}: {failure}");
        for cause in failure.causes() {
            eprintln!("  {FAINT}caused by{FAINT:#}: {cause}");
        }
        for hint in failure.hints() {
            eprintln!("{HINT}hint{HINT:#}: {hint}");
        }
    }

    /// A sign of life for work that may take long; shown on a terminal only.
    pub(crate) fn progress(self) -> Progress {
        if self.quiet || !io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }
}

/// A line on the terminal that says what is going on; it goes away when dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn step(&self, text: impl Into<String>) {
        self.0.set_message(text.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A size in binary units, `3.2 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A time as people read it, `1.24 s` or `870 µs`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.0} µs", seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_readable() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(3277), "3.2 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
        assert_eq!(duration(Duration::from_micros(870)), "870 µs");
        assert_eq!(duration(Duration::from_millis(1240)), "1.24 s");
    }
}
