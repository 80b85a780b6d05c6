//! Command lines as tables: each option's names, its value, what it sets, and its help.
//!
//! [`CommandLine::read`] follows the rules of LLVM's `cl::opt`: options have one dash or two, values follow after `=`
//! or as the next argument, and all mistakes are reported at once.

use std::ffi::OsString;
use std::fmt;
use std::ops::{Deref, RangeInclusive};
use std::path::PathBuf;

use offkit_host::command_line::after;

use crate::failure::Failure;

/// A table of options, a row each: the spellings, `=` and what help calls the value if there is one, what it sets, and
/// what help says.
macro_rules! options {
    (@value) => { None };
    (@value $value:literal) => { Some($value) };
    ($o:ident: $of:ty; $($($name:literal)|+ $(= $value:literal)? => $slot:expr, $help:expr;)*) => {
        &[$($crate::options::Opt {
            names: &[$($name),+],
            value: options!(@value $($value)?),
            slot: |$o: &mut $of| &mut $slot,
            help: $help,
        }),*]
    };
}

/// An option of a tool whose options are an `O`.
pub(crate) struct Opt<O> {
    /// Its spellings without dashes. Help shows the first.
    pub(crate) names: &'static [&'static str],
    /// What help calls its value; an option without one is there or not.
    pub(crate) value: Option<&'static str>,
    /// What it sets.
    pub(crate) slot: fn(&mut O) -> &mut dyn Slot,
    /// Its help. Help leaves out options without any.
    pub(crate) help: &'static str,
}

impl<O> Opt<O> {
    /// Whether it has a value.
    pub(crate) fn takes_value(&self) -> bool {
        self.value.is_some()
    }

    /// The option as help shows it, and what help says.
    fn line(&self) -> Option<(String, &'static str)> {
        let name = self.names.first().filter(|_| !self.help.is_empty())?;
        let dashed = dashed(name);
        let shown = match self.value {
            None => dashed,
            Some(value) if name.len() == 1 => format!("{dashed} {value}"),
            Some(value) => format!("{dashed}={value}"),
        };
        Some((shown, self.help))
    }
}

/// An option with its dashes, as messages have it.
fn dashed(name: &str) -> String {
    let dashes = if name.len() == 1 { "-" } else { "--" };
    format!("{dashes}{name}")
}

/// What an option sets.
pub(crate) trait Slot {
    /// Takes the value of an option; a flag's is empty.
    fn take(&mut self, value: OsString) -> Result<(), Wrong>;
}

/// What is wrong with the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Boolean,
    Integer,
    Unsigned,
    /// None of the words that the option knows.
    Word,
    NotUtf8,
    /// The option was given before.
    Repeated,
    /// What was expected.
    Expected(&'static str),
}

/// For options that have no effect.
impl Slot for () {
    fn take(&mut self, _: OsString) -> Result<(), Wrong> {
        Ok(())
    }
}

impl Slot for bool {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        *self = match value.to_str() {
            Some("" | "true" | "TRUE" | "True" | "1") => true,
            Some("false" | "FALSE" | "False" | "0") => false,
            _ => return Err(Wrong::Boolean),
        };
        Ok(())
    }
}

/// A type that option values are read into. A slot keeps the last value, or all of them.
pub(crate) trait Value: Sized {
    fn of(value: OsString) -> Result<Self, Wrong>;
}

impl<V: Value> Slot for V {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        *self = V::of(value)?;
        Ok(())
    }
}

impl<V: Value> Slot for Option<V> {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        *self = Some(V::of(value)?);
        Ok(())
    }
}

impl<V: Value> Slot for Vec<V> {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        self.push(V::of(value)?);
        Ok(())
    }
}

impl Value for u64 {
    fn of(value: OsString) -> Result<Self, Wrong> {
        text(value)?.parse().map_err(|_| Wrong::Unsigned)
    }
}

impl Value for i32 {
    fn of(value: OsString) -> Result<Self, Wrong> {
        text(value)?.parse().map_err(|_| Wrong::Integer)
    }
}

impl Value for String {
    fn of(value: OsString) -> Result<Self, Wrong> {
        text(value)
    }
}

impl Value for PathBuf {
    fn of(value: OsString) -> Result<Self, Wrong> {
        Ok(value.into())
    }
}

/// Values separated by commas, collected over all uses of the option.
#[derive(Debug, Default)]
pub(crate) struct List(pub(crate) Vec<String>);

impl Slot for List {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        self.0.extend(text(value)?.split(',').map(str::to_owned));
        Ok(())
    }
}

impl Deref for List {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// For an option that may be given only once.
#[derive(Debug, Default)]
pub(crate) struct Once<T>(pub(crate) Option<T>);

impl<V: Value> Slot for Once<V> {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        match self.0 {
            Some(_) => Err(Wrong::Repeated),
            None => Slot::take(&mut self.0, value),
        }
    }
}

pub(crate) fn text(value: OsString) -> Result<String, Wrong> {
    value.into_string().map_err(|_| Wrong::NotUtf8)
}

/// What is wrong with a command line, in the words of LLVM's tools, which print it after their name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("Unknown command line argument '{argument}'.  Try: '{tool} --help'")]
    Unknown { argument: String, tool: &'static str },
    #[error("for the {option} option: requires a value!")]
    NoValue { option: String },
    #[error("for the {option} option: must be specified at least once!")]
    Required { option: String },
    #[error("{}", value_words(.option, .value, *.wrong))]
    Value {
        option: String,
        value: String,
        wrong: Wrong,
    },
    #[error(
        "Too many positional arguments specified!\nCan specify at most {most} positional arguments: See: {tool} --help"
    )]
    TooMany { most: usize, tool: &'static str },
    #[error(
        "Not enough positional command line arguments specified!\nMust specify at least {least} positional argument: See: {tool} --help"
    )]
    TooFew { least: usize, tool: &'static str },
}

fn value_words(option: &str, value: &str, wrong: Wrong) -> String {
    let of = format!("for the {option} option:");
    match wrong {
        Wrong::Boolean => format!("{of} '{value}' is invalid value for boolean argument! Try 0 or 1"),
        Wrong::Integer => format!("{of} '{value}' value invalid for integer argument!"),
        Wrong::Unsigned => format!("{of} '{value}' value invalid for uint argument!"),
        Wrong::Word => format!("{of} Cannot find option named '{value}'!"),
        Wrong::NotUtf8 => format!("{of} '{value}' is not UTF-8"),
        Wrong::Repeated => format!("{of} may only occur zero or one times!"),
        Wrong::Expected(what) => format!("{option}=: expected {what}, got '{value}'"),
    }
}

impl UsageError {
    /// Has an option take a value.
    pub(crate) fn of(name: &str, value: OsString, slot: &mut dyn Slot) -> Result<(), Self> {
        let shown = value.to_string_lossy().into_owned();
        slot.take(value).map_err(|wrong| Self::Value {
            option: dashed(name),
            value: shown,
            wrong,
        })
    }
}

/// A tool's command line.
pub(crate) struct CommandLine<O: 'static> {
    pub(crate) tool: &'static str,
    pub(crate) overview: &'static str,
    /// What help shows behind the tool's name.
    pub(crate) usage: &'static str,
    pub(crate) options: &'static [Opt<O>],
    /// Takes an argument that is no option.
    pub(crate) positional: fn(&mut O, OsString),
    /// How many of these there may be.
    pub(crate) positionals: RangeInclusive<usize>,
    /// The options that are missing.
    pub(crate) missing: fn(&O) -> Option<&'static str>,
}

/// What a command line asks for.
pub(crate) enum Asked<O> {
    /// To do something.
    Run(O),
    /// For this text: help, or the version.
    Show(String),
}

/// The options that every tool has.
const GENERIC: [(&str, &str); 3] = [
    ("--help", "Display available options (--help-hidden for more)"),
    (
        "--help-list",
        "Display list of available options (--help-list-hidden for more)",
    ),
    ("--version", "Display the version of this program"),
];

impl<O> CommandLine<O> {
    /// Reads the arguments into `options` and does what they ask for; returns what is printed.
    pub(crate) fn run(
        &self,
        arguments: Vec<OsString>,
        options: O,
        work: impl FnOnce(O) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        match self.read(arguments, options)? {
            Asked::Run(options) => work(options),
            Asked::Show(text) => Ok(text),
        }
    }

    /// Reads the arguments into `options`.
    pub(crate) fn read(&self, arguments: Vec<OsString>, mut options: O) -> Result<Asked<O>, Vec<UsageError>> {
        let tool = self.tool;
        // All of them are told, and not the first alone, as LLVM's tools do it.
        let mut errors = Vec::new();
        let mut count = 0_usize;
        let mut only_positional = false;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            // To LLVM's tools one dash and two are the same.
            let dashless = text.strip_prefix("--").or(text.strip_prefix('-'));
            // A dash alone is standard input, and after two all are files.
            let name = dashless.filter(|name| !only_positional && (!name.is_empty() || text == "--"));
            let unknown = || UsageError::Unknown {
                argument: text.clone(),
                tool,
            };
            let Some(name) = name else {
                count = count.saturating_add(1);
                match *self.positionals.end() {
                    // LLVM's tools that take no files call them unknown arguments, and not too
                    // many.
                    0 => errors.push(unknown()),
                    _ => (self.positional)(&mut options, argument),
                }
                continue;
            };
            if name.is_empty() {
                only_positional = true;
                continue;
            }
            // Of the argument and not of its text: names of files need not be UTF-8.
            let value = text.find('=').map(|end| after(&argument, &text[..=end]));
            let name = name.split_once('=').map_or(name, |(name, _)| name);
            match name {
                "help" | "h" | "help-hidden" => return Ok(Asked::Show(self.help(false))),
                "help-list" | "help-list-hidden" => return Ok(Asked::Show(self.help(true))),
                "version" => return Ok(Asked::Show(crate::version())),
                _ => {}
            }
            let Some(option) = self.options.iter().find(|option| option.names.contains(&name)) else {
                errors.push(unknown());
                continue;
            };
            let value = match option.value {
                // A flag may still say `=false`. It never takes the next argument, which may be a
                // file.
                None => Some(value.unwrap_or_default()),
                Some(_) => value.or_else(|| arguments.next()),
            };
            let taken = match value {
                Some(value) => UsageError::of(name, value, (option.slot)(&mut options)),
                None => Err(UsageError::NoValue { option: dashed(name) }),
            };
            errors.extend(taken.err());
        }
        let (&least, &most) = (self.positionals.start(), self.positionals.end());
        if count < least {
            errors.push(UsageError::TooFew { least, tool });
        } else if count > most && most > 0 {
            errors.push(UsageError::TooMany { most, tool });
        }
        errors.extend((self.missing)(&options).map(|name| UsageError::Required { option: dashed(name) }));
        match errors.is_empty() {
            true => Ok(Asked::Run(options)),
            false => Err(errors),
        }
    }

    /// The text of `--help`; as a list without headings, of `--help-list`.
    pub(crate) fn help(&self, is_list: bool) -> String {
        let tool = self.tool;
        let own = || self.options.iter().filter_map(Opt::line);
        let generic = || GENERIC.map(|(shown, help)| (shown.to_owned(), help)).into_iter();
        let mut text = format!(
            "OVERVIEW: {}\n\nUSAGE: {tool} {}\n\nOPTIONS:\n",
            self.overview, self.usage
        );
        let mut all: Vec<_> = own().chain(generic()).collect();
        let width = all.iter().map(|(shown, _)| shown.len()).max().unwrap_or_default();
        if is_list {
            all.sort_by(|(one, _), (other, _)| {
                one.trim_start_matches('-').cmp(other.trim_start_matches('-'))
            });
            add_lines(&mut text, all, width);
        } else {
            text.push_str("\nGeneric Options:\n\n");
            add_lines(&mut text, generic(), width);
            text.push_str(&format!("\n{tool} options:\n\n"));
            add_lines(&mut text, own(), width);
        }
        text
    }
}

/// Adds options and what help says of them, each a line and what belongs to it.
fn add_lines(text: &mut String, lines: impl IntoIterator<Item = (String, &'static str)>, width: usize) {
    use fmt::Write;
    for (shown, help) in lines {
        for (number, line) in help.lines().enumerate() {
            // Writing to a string cannot fail.
            let _ = match number {
                0 => writeln!(text, "  {shown:width$} - {line}"),
                _ => writeln!(text, "  {:width$}   {line}", ""),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Told {
        verbose: bool,
        level: Option<i32>,
        names: Vec<String>,
        files: Vec<OsString>,
    }

    const LINE: CommandLine<Told> = CommandLine {
        tool: "tool",
        overview: "Tells.",
        usage: "[options] <file>",
        options: options![o: Told;
            "verbose" => o.verbose, "Say more";
            "level" = "<n>" => o.level, "How much\nto say";
            "n" | "name" = "<name>" => o.names, "A name";
        ],
        positional: |told, file| told.files.push(file),
        positionals: 1..=1,
        missing: |told| told.names.is_empty().then_some("n"),
    };

    fn read(line: &str) -> Result<Told, String> {
        let arguments = line.split(' ').map(OsString::from).collect();
        match LINE.read(arguments, Told::default()) {
            Ok(Asked::Run(told)) => Ok(told),
            Ok(Asked::Show(text)) => Err(text),
            Err(errors) => Err(errors.iter().map(|error| format!("{error}\n")).collect()),
        }
    }

    #[test]
    fn options_have_one_dash_or_two_and_values_behind_or_after_them() {
        let told = read("-verbose --level=3 -n a --name=b -- -file").unwrap();
        assert_eq!(
            told,
            Told {
                verbose: true,
                level: Some(3),
                names: vec!["a".into(), "b".into()],
                files: vec!["-file".into()],
            }
        );
        assert!(!read("--verbose --verbose=0 -n a -").unwrap().verbose);
    }

    #[cfg(unix)]
    #[test]
    fn values_behind_an_option_keep_their_bytes() {
        use std::os::unix::ffi::OsStringExt;

        #[derive(Debug, Default)]
        struct Files {
            output: Option<PathBuf>,
        }
        const LINE: CommandLine<Files> = CommandLine {
            tool: "tool",
            overview: "Tells.",
            usage: "[options]",
            options: options![o: Files;
                "o" = "<file>" => o.output, "A file";
            ],
            positional: |_, _| (),
            positionals: 0..=0,
            missing: |_| None,
        };
        let name = b"caf\xe9".to_vec();
        let word = [b"--o=".to_vec(), name.clone()].concat();
        let Ok(Asked::Run(files)) = LINE.read(vec![OsString::from_vec(word)], Files::default()) else {
            panic!("a command line that is right");
        };
        assert_eq!(files.output, Some(PathBuf::from(OsString::from_vec(name))));
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        assert_eq!(
            read("-frob=1 --verbose=no --level=x a b").unwrap_err(),
            "Unknown command line argument '-frob=1'.  Try: 'tool --help'\n\
             for the --verbose option: 'no' is invalid value for boolean argument! Try 0 or 1\n\
             for the --level option: 'x' value invalid for integer argument!\n\
             Too many positional arguments specified!\n\
             Can specify at most 1 positional arguments: See: tool --help\n\
             for the -n option: must be specified at least once!\n"
        );
        assert_eq!(
            read("a -n").unwrap_err(),
            "for the -n option: requires a value!\nfor the -n option: must be specified at least once!\n"
        );
    }

    #[test]
    fn help_says_what_the_table_says() {
        assert_eq!(
            read("--help").unwrap_err(),
            "OVERVIEW: Tells.\n\n\
             USAGE: tool [options] <file>\n\n\
             OPTIONS:\n\n\
             Generic Options:\n\n  \
               --help      - Display available options (--help-hidden for more)\n  \
               --help-list - Display list of available options (--help-list-hidden for more)\n  \
               --version   - Display the version of this program\n\n\
             tool options:\n\n  \
               --verbose   - Say more\n  \
               --level=<n> - How much\n                \
                             to say\n  \
               -n <name>   - A name\n"
        );
    }
}
