//! The commands that the documentation shows, typed as it shows them.

use std::env;
use std::process::Command;

use crate::{Folder, programs, root};

/// A command of a `console` block.
#[derive(Clone, Debug)]
pub struct Example {
    /// What is typed after `$ `, with the lines that go on behind `\`.
    pub line: String,
    /// What is shown after it.
    pub output: String,
}

/// What the blocks of code in a Markdown file of the repository hold, with the language that each opens with.
///
/// # Panics
///
/// If the file cannot be read.
pub fn blocks(file: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let content: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language.to_owned(), content.join("\n") + "\n"));
        }
    }
    blocks
}

/// The commands of all `console` blocks in a Markdown file of the repository.
///
/// # Panics
///
/// If the file cannot be read.
pub fn commands(file: &str) -> Vec<Example> {
    let consoles = blocks(file)
        .into_iter()
        .filter(|(language, _)| language == "console");
    consoles.flat_map(|(_, content)| examples(&content)).collect()
}

/// The commands in the content of a `console` block.
pub fn examples(block: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in block.split_inclusive('\n') {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example {
                line: command.to_owned(),
                output: String::new(),
            }),
            (None, Some(last)) if last.line.ends_with("\\\n") => last.line.push_str(line),
            (None, Some(last)) => last.output.push_str(line),
            (None, None) => {}
        }
    }
    examples
}

impl Example {
    /// Types the command in the folder, where `offkit` is on the path, and compares all that it prints with what is
    /// shown, if anything is. It must fail if an error ends what is shown, and else must not.
    ///
    /// # Panics
    ///
    /// If it does otherwise.
    #[track_caller]
    pub fn check(&self, folder: &Folder) {
        let mut path = programs().into_os_string();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("exec 2>&1\n{}", self.line))
            .env("PATH", path)
            .env("XDG_CACHE_HOME", folder.path("cache"));
        let outcome = folder.run_command(&mut command);
        let last = self.output.lines().last().unwrap_or_default();
        let fails = last.starts_with("error: ") || last.starts_with("hint: ");
        assert_eq!(outcome.code != 0, fails, "{}: {outcome:#?}", self.line);
        if !self.output.is_empty() {
            assert_eq!(outcome.stdout, self.output, "{}", self.line);
        }
    }
}
