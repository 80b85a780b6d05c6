//! What people see: text with colours where they help, and progress on a terminal.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};
use serde::Serialize;

use crate::failure::{ExitStatus, Failure};
use crate::pager;

pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Green.on_default().bold();

/// How long a command works before it shows progress.
const UNSEEN: Duration = Duration::from_millis(300);

/// How much is said besides what was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    pub(crate) quiet: bool,
}

impl Terminal {
    /// A line of what was asked for, on standard output.
    ///
    /// Ends the program with success when the reader has seen enough, as in `offkit ls … | head`.
    pub(crate) fn line(self, text: impl Display) -> Result<(), Failure> {
        if !pager::is_on() {
            return written(writeln!(anstream::stdout(), "{text}"));
        }
        let mut output = self.output();
        let text = text.to_string();
        match has_colours() {
            true => output.line(text)?,
            false => output.line(anstream::adapter::strip_str(&text))?,
        }
        output.finish()
    }

    /// One object of JSON, as [`Output::json`] writes it.
    pub(crate) fn json(self, schema: u32, object: &impl Serialize) -> Result<(), Failure> {
        let mut output = self.output();
        output.json(schema, object)?;
        output.finish()
    }

    /// Writes what others, such as a kernel's printf, have left in the buffer of standard output.
    pub(crate) fn flush(self) -> Result<(), Failure> {
        written(io::stdout().flush())
    }

    /// Standard output for much text.
    pub(crate) fn output(self) -> Output {
        Output {
            stream: io::BufWriter::with_capacity(1 << 16, pager::Stdout),
            styles: match has_colours() {
                true => Styles::coloured(),
                false => Styles::default(),
            },
        }
    }

    /// A line of news, on standard error; not said when quiet.
    pub(crate) fn note(self, text: impl Display) {
        if !self.quiet {
            say(text);
        }
    }

    /// Something the user should know although it stops nothing.
    pub(crate) fn warning(self, text: impl Display) {
        let text = escape_lines(&text.to_string());
        say(format_args!("{WARNING}warning{WARNING:#}: {text}"));
    }

    /// Why the command failed, what led to it, and what to do next.
    pub(crate) fn failure(self, failure: &Failure) {
        let text = escape_lines(&failure.to_string());
        say(format_args!("{ERROR}error{ERROR:#}: {text}"));
        for cause in failure.causes() {
            let cause = escape_lines(&cause);
            say(format_args!("  {FAINT}caused by{FAINT:#}: {cause}"));
        }
        for hint in failure.hints() {
            let hint = escape_lines(hint);
            say(format_args!("{HINT}hint{HINT:#}: {hint}"));
        }
    }

    /// A sign of life for work that may take long; shown on a terminal only, and once it does take long.
    pub(crate) fn progress(self) -> Progress {
        self.bar(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed:.dim}")
    }

    /// The same for work on that many bytes, with how many of them are done.
    pub(crate) fn progress_of(self, bytes: u64) -> Progress {
        let template = "{bar:24} {binary_bytes} of {binary_total_bytes}, {eta} to go  {wide_msg:.dim}";
        self.bar(ProgressBar::new(bytes), template)
    }

    fn bar(self, bar: ProgressBar, template: &str) -> Progress {
        if self.quiet || !io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        // Hidden until it is due: short work leaves no trace on the terminal.
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        // Without a share in it, so that work which ends early takes its bar along.
        show_later(bar.downgrade());
        *shown() = Some(bar.clone());
        Progress(bar)
    }
}

/// Shows progress that is still there after a while. One thread waits for all of it: a folder has many files.
fn show_later(bar: WeakProgressBar) {
    static WAITING: LazyLock<Sender<(Instant, WeakProgressBar)>> = LazyLock::new(|| {
        let (waiting, bars) = mpsc::channel::<(Instant, WeakProgressBar)>();
        std::thread::spawn(move || {
            for (due, bar) in bars {
                // All wait equally long: whoever comes first is due first.
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(100));
                }
            }
        });
        waiting
    });
    // Without the thread nothing is shown.
    let _ = WAITING.send((Instant::now() + UNSEEN, bar));
}

/// Whether standard output is to have colours.
fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// What was asked for, on its way to standard output: buffered; to be ended with [`finish`](Self::finish).
///
/// Unlike [`Terminal::line`] it does not look for colours in what is written: these are left out by writing
/// with [`styles`](Self::styles), for in a long listing the search costs more than the rest.
#[derive(Debug)]
pub(crate) struct Output {
    stream: io::BufWriter<pager::Stdout>,
    styles: Styles,
}

/// An object with the number of its form.
#[derive(Serialize)]
struct Numbered<'a, T> {
    schema: u32,
    #[serde(flatten)]
    object: &'a T,
}

/// The styles of a listing; all of them plain where colours are not wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Styles {
    pub(crate) heading: Paint,
    pub(crate) faint: Paint,
    pub(crate) name: Paint,
}

/// A style as text: long listings have many. Shown, it begins; shown as `{:#}`, it ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paint {
    pub(crate) start: &'static str,
    pub(crate) end: &'static str,
}

impl Display for Paint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if f.alternate() { self.end } else { self.start })
    }
}

impl Styles {
    fn coloured() -> Self {
        static TEXTS: LazyLock<[[String; 2]; 3]> = LazyLock::new(|| {
            [HEADING, FAINT, NAME].map(|style| [style.render().to_string(), style.render_reset().to_string()])
        });
        let [heading, faint, name] = TEXTS.each_ref().map(|[start, end]| Paint { start, end });
        Self { heading, faint, name }
    }
}

impl Output {
    /// The styles to write with.
    pub(crate) fn styles(&self) -> Styles {
        self.styles
    }

    /// Writes a line; ends the program as [`Terminal::line`] does.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        written(writeln!(self.stream, "{text}"))
    }

    /// Writes an object as a line of JSON, with the number of its form: all JSON of this program comes from here.
    ///
    /// `docs/schemas` describes each form. The number grows when a key goes or changes its meaning; keys may be added.
    pub(crate) fn json(&mut self, schema: u32, object: &impl Serialize) -> Result<(), Failure> {
        let object = serde_json::to_writer(&mut self.stream, &Numbered { schema, object });
        written(object.map_err(io::Error::from))?;
        self.lines("\n")
    }

    /// Writes lines that are complete, such as those of [`json_line`].
    pub(crate) fn lines(&mut self, text: &str) -> Result<(), Failure> {
        written(self.stream.write_all(text.as_bytes()))
    }

    /// Writes what is still held back.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        written(self.stream.flush())
    }
}

/// What [`Output::json`] writes, to be written later.
pub(crate) fn json_line(schema: u32, object: &impl Serialize) -> Result<String, Failure> {
    let line = serde_json::to_string(&Numbered { schema, object });
    let mut line = line.map_err(|error| Failure::input(format!("no JSON can be made: {error}")))?;
    line.push('\n');
    Ok(line)
}

/// Ends the program with success when the reader has seen enough, as in `offkit ls … | head`.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // The terminal is the pager's until it has ended.
            let _ = pager::finish();
            std::process::exit(0)
        }
        Err(error) => Err(Failure::new(
            ExitStatus::Input,
            format!("cannot write to standard output: {error}"),
        )),
        Ok(()) => Ok(()),
    }
}

/// A line on standard error; where it cannot be written there is nowhere left to say so.
fn say(text: impl Display) {
    if pager::is_on() && io::stderr().is_terminal() {
        // Among what it is about: a pager would be written over.
        // Nothing else takes the colours out on this way.
        let text = format!("{text}\n");
        let _ = match has_colours() {
            true => pager::Stdout.write_all(text.as_bytes()),
            false => write!(pager::Stdout, "{}", anstream::adapter::strip_str(&text)),
        };
        return;
    }
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Whether standard output is read by a person.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The width of the terminal; very wide where standard output is none.
pub(crate) fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(usize::MAX, |(width, _)| width.0.into())
}

/// A name from a file as it may be shown: what would steer the terminal is written as `\u{1b}`.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    // Besides control characters, those that turn the direction of writing can hide what is there.
    let steers = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if is_plain(text) || !text.contains(steers) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.chars() {
        match steers(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown.into()
}

/// Whether a text is of printable ASCII alone, as nearly all names are: it fills as many columns as it has bytes.
pub(crate) fn is_plain(text: &str) -> bool {
    // Without a way out early it is done for many bytes at once.
    text.bytes()
        .fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
}

/// The same for a message, which may have several lines.
fn escape_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(escape).collect();
    lines.join("\n")
}

/// A line on the terminal that says what is going on; it goes away when dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

/// The progress that is on the terminal.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes progress away before something else is written to the terminal.
pub(crate) fn hide_progress() {
    if let Some(bar) = shown().take() {
        bar.finish_and_clear();
    }
}

impl Progress {
    /// Says how many images of a file were met; not each time, as there are very many.
    pub(crate) fn images(&self, file: &Path, count: usize) {
        if count.is_multiple_of(64) && !self.0.is_hidden() {
            self.step(format!("{}: {count} images", file.display()));
        }
    }

    /// Says what is being done; names from files may be in it.
    pub(crate) fn step(&self, text: impl AsRef<str>) {
        self.0.set_message(escape(text.as_ref()).into_owned());
    }

    /// So many more bytes are done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A size in binary units, `3.2 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut text = String::new();
    push_size(&mut text, bytes);
    text
}

/// The same at the end of a text: a tenth of the instructions of formatting, as lists have very many.
pub(crate) fn push_size(text: &mut String, bytes: u64) {
    const UNITS: [&str; 5] = [" KiB", " MiB", " GiB", " TiB", " PiB"];
    let mut digits = itoa::Buffer::new();
    if bytes < 1024 {
        text.push_str(digits.format(bytes));
        text.push_str(" B");
        return;
    }
    // Beyond the last unit the numbers of it get longer.
    let unit = (bytes.ilog2() / 10).min(UNITS.len() as u32);
    // The nearest tenth, in integers: a float has too few digits for the largest.
    let shift = 10 * unit;
    let rest = bytes & ((1 << shift) - 1);
    let tenths = (bytes >> shift) * 10 + ((rest * 10 + (1 << (shift - 1))) >> shift);
    text.push_str(digits.format(tenths / 10));
    text.push('.');
    text.push(char::from(b'0' + (tenths % 10) as u8));
    text.push_str(UNITS[unit as usize - 1]);
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
    fn nothing_steers_the_terminal() {
        assert_eq!(escape("saxpy(float, µ)"), "saxpy(float, µ)");
        assert_eq!(
            escape("\u{1b}[31m\n\u{9b}\u{202e}"),
            r"\u{1b}[31m\u{a}\u{9b}\u{202e}"
        );
        assert_eq!(escape_lines("a\n  b\u{7}"), "a\n  b\\u{7}");
    }

    #[test]
    fn sizes_and_times_are_readable() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(3277), "3.2 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
        assert_eq!(duration(Duration::from_micros(870)), "870 µs");
        assert_eq!(duration(Duration::from_millis(1240)), "1.24 s");
    }
}
