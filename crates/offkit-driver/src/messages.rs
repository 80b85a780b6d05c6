//! What compilers and linkers say, each warning and error once.
//!
//! A source is compiled for the host and for each device, and most of what there is to say of it is the same every
//! time. clang's messages are taken apart for that: a diagnostic begins at the line that says how bad it is, or at the
//! `In file included from` before it, and goes on until the next one: with the lines it is about, and notes.

use std::collections::HashSet;

/// Ends whatever colour text before it has left on.
const RESET: &str = "\x1b[0m";

/// Remembers what was said.
#[derive(Debug, Default)]
pub(super) struct Messages {
    said: HashSet<String>,
}

impl Messages {
    /// What is new in the messages of a command, to be shown now.
    pub(super) fn news(&mut self, message: Vec<u8>) -> Vec<u8> {
        let text = match String::from_utf8(message) {
            Ok(text) => text,
            // Taken as a whole where it cannot be taken apart.
            Err(error) => return error.into_bytes(),
        };
        let blocks = blocks(&text);
        let is_new: Vec<bool> = blocks
            .iter()
            .map(|block| block.is_summary() || self.said.insert(block.plain.clone()))
            .collect();
        if is_new.iter().all(|is_new| *is_new) {
            return text.into_bytes();
        }
        let mut news = String::new();
        let mut counts = [0; 2];
        for (block, _) in blocks.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
            match block.kind {
                // Anew: the command has also counted what is left out here.
                Kind::Summary => news.push_str(&summary(counts)),
                kind => {
                    counts[0] += usize::from(kind == Kind::Warning);
                    counts[1] += usize::from(kind == Kind::Error);
                    news.push_str(block.text);
                }
            }
        }
        // The end of a colour is at the start of the next line, which may be left out.
        if news.contains('\x1b') {
            news.push_str(RESET);
        }
        news.into_bytes()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Warning,
    Error,
    /// Anything else, such as a command that is shown before it runs.
    Other,
    /// `2 warnings generated.`
    Summary,
}

/// Lines that belong together.
struct Block<'a> {
    kind: Kind,
    text: &'a str,
    /// The text without colours.
    plain: String,
}

impl Block<'_> {
    fn is_summary(&self) -> bool {
        self.kind == Kind::Summary
    }
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut kind = Kind::Other;
    // Whether the block has but the way to the file that its diagnostic is about.
    let mut is_beginning = false;
    let mut end = |kind, from: usize, to: usize| {
        if let Some(text) = text.get(from..to).filter(|text| !text.is_empty()) {
            let plain = without_colors(text);
            blocks.push(Block { kind, text, plain });
        }
    };
    for line in text.split_inclusive('\n') {
        let plain = without_colors(line);
        let begins = kind_of(&plain);
        let is_way = is_way(&plain);
        if begins == Some(Kind::Summary) || !is_beginning && (begins.is_some() || is_way) {
            end(kind, start, at);
            start = at;
        }
        if let Some(begun) = begins {
            kind = begun;
        } else if is_way && !is_beginning {
            kind = Kind::Other;
        }
        is_beginning = begins.is_none() && (is_way || is_beginning);
        at += line.len();
    }
    end(kind, start, at);
    blocks
}

/// What a line begins; `None` if it goes on with what is before it.
fn kind_of(line: &str) -> Option<Kind> {
    // Lines of a source are shown with their numbers, behind spaces.
    if line.starts_with(' ') {
        return None;
    }
    if line.trim_end().ends_with(" generated.") && line.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Kind::Summary);
    }
    let says = |word: &str| line.starts_with(word) || line.contains(&format!(": {word}"));
    if says("error: ") || says("fatal error: ") {
        Some(Kind::Error)
    } else if says("warning: ") {
        Some(Kind::Warning)
    } else if says("remark: ") {
        Some(Kind::Other)
    } else {
        None
    }
}

/// Whether a line tells how a file that a diagnostic is about came to be read.
fn is_way(line: &str) -> bool {
    line.starts_with("In file included from ") || line.starts_with("In module ")
}

/// How clang counts its diagnostics.
fn summary([warnings, errors]: [usize; 2]) -> String {
    let some = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        several => Some(format!("{several} {what}s")),
    };
    let counts: Vec<_> = [some(warnings, "warning"), some(errors, "error")]
        .into_iter()
        .flatten()
        .collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!("{} generated.\n", counts.join(" and ")),
    }
}

/// The text without the codes that colour it.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(end.and_then(|end| part.get(end + 1..)).unwrap_or_default());
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = "\
In file included from a.cpp:1:
./a.h:2:5: warning: unused variable 'both' [-Wunused-variable]
    2 | int both; // warning: this is no warning
      |     ^~~~
a.cpp:4:1: note: called here
a.cpp:5:1: warning: on the device
2 warnings generated.
";

    const HOST: &str = "\
In file included from a.cpp:1:
./a.h:2:5: warning: unused variable 'both' [-Wunused-variable]
    2 | int both; // warning: this is no warning
      |     ^~~~
a.cpp:4:1: note: called here
a.cpp:6:1: error: on the host
1 warning and 1 error generated.
";

    fn told(all: &[&str]) -> String {
        let mut messages = Messages::default();
        let news = all.iter().map(|text| messages.news(text.as_bytes().to_vec()));
        String::from_utf8(news.collect::<Vec<_>>().concat()).expect("it is text")
    }

    #[test]
    fn what_host_and_device_both_say_is_told_once() {
        let host_alone = "a.cpp:6:1: error: on the host\n1 error generated.\n";
        assert_eq!(told(&[DEVICE, HOST]), format!("{DEVICE}{host_alone}"));
        assert_eq!(told(&[DEVICE, DEVICE]), DEVICE);
    }

    #[test]
    fn the_same_about_another_file_is_told() {
        let other = DEVICE.replace("a.cpp", "b.cpp");
        assert_eq!(told(&[DEVICE, &other]), format!("{DEVICE}{other}"));
    }

    #[test]
    fn commands_that_are_shown_stay() {
        let (first, second) = (format!(" clang 1\n{DEVICE}"), format!(" clang 2\n{DEVICE}"));
        assert_eq!(told(&[&first, &second]), format!("{first} clang 2\n"));
    }

    #[test]
    fn colors_end_where_what_they_are_for_ends() {
        let warning = |file: &str| {
            format!(
                "\x1b[1m{file}:1:2: \x1b[0m\x1b[0;1;35mwarning: \x1b[0m\x1b[1msome\x1b[0m\n    1 | \x1b[0;1;32m^\n\x1b[0m"
            )
        };
        let (both, host) = (warning("a"), warning("b"));
        let device = format!("{both}1 warning generated.\n");
        let host = format!("{host}{both}2 warnings generated.\n");
        let rest = format!(
            "{}1 warning generated.\n{RESET}",
            warning("b").trim_end_matches(RESET)
        );
        assert_eq!(told(&[&device, &host]), format!("{device}{rest}"));
    }
}
