//! `offkit devlib find`: which files `-lX` means.

use std::path::PathBuf;

use clap::Args;
use offkit_devlib::{Answer, Found, Outcome, Search};
use offkit_object::Target;
use serde_json::{Value, json};

use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, NAME, Terminal};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit devlib find -lm --arch sm_60,gfx90a:xnack+ -L lib
  offkit devlib find -lm -locml --arch gfx90a --trace
  offkit devlib find -lclc --arch nvptx --json | jq -r .path

Exit code 1: a target lacks a library.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Find {
    /// A library, as `-l` has it at a link: NAME or :FILE; may be repeated
    #[arg(short, long = "library", value_name = "NAME", required = true)]
    library: Vec<String>,
    #[command(flatten)]
    search: SearchOptions,
    /// Write one JSON object a line, one line a library and target
    #[arg(long)]
    json: bool,
    /// Show every path that offkit tried, and why it did not take it
    #[arg(long)]
    trace: bool,
}

/// For which targets libraries are looked for, and where.
#[derive(Debug, Args)]
pub(super) struct SearchOptions {
    /// The targets, by processors or architectures: sm_60, gfx90a:xnack+, gfx9-generic, nvptx, spirv64, a triple,
    /// TRIPLE,arch=ARCH; may be repeated
    #[arg(long = "arch", visible_alias = "target", value_name = "ARCH[,ARCH…]")]
    archs: Vec<String>,
    /// A folder in which libraries are looked for, before those of LIBRARY_PATH and `lib` beside the compiler; may be
    /// repeated
    #[arg(short = 'L', long = "library-path", value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The version of AMDGPU code objects, which chooses among ROCm's libraries: 4, 5, 6
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u32).range(2..=9))]
    code_object_version: Option<u32>,
}

impl SearchOptions {
    /// The targets, in order.
    pub(super) fn targets(&self) -> Vec<Target> {
        // A feature that is off ends with a dash, and generic processors have some in their names.
        let is_triple = |names: &str| {
            let first = names.split(',').next().unwrap_or_default();
            !Target::is_processor_name(first) && first.matches('-').count() >= 2
        };
        let mut targets: Vec<Target> = Vec::new();
        for archs in &self.archs {
            // `TRIPLE,arch=ARCH` is one target.
            let names = match archs.contains(",arch=") || is_triple(archs) {
                true => vec![archs.as_str()],
                false => archs.split(',').filter(|name| !name.is_empty()).collect(),
            };
            for target in names.into_iter().map(Target::named) {
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
        }
        targets
    }

    /// The search.
    pub(super) fn search(&self) -> Search {
        let mut search = Search::on_this_machine(&self.folders);
        // ROCm's libraries are named by hundreds: `oclc_abi_version_500.bc` is for version 5.
        search.code_object_version = self
            .code_object_version
            .map(|version| version.saturating_mul(100));
        search
    }
}

pub(super) fn run(options: &Find, terminal: Terminal) -> Result<(), Failure> {
    let targets = options.search.targets();
    if targets.is_empty() {
        return Err(Failure::input("for which target? none was named")
            .hint("add `--arch`, as in `--arch sm_60,gfx90a,spirv64`"));
    }
    let search = options.search.search();
    let mut missing = Vec::new();
    for library in &options.library {
        for target in &targets {
            let answer = search.find(library, target);
            if let Some(problem) = answer.problem {
                return Err(Failure::input(problem));
            }
            match options.json {
                true => terminal.json(SCHEMA, &answer_json(&answer, options.trace))?,
                false => show(&answer, options.trace, terminal)?,
            }
            if answer.found.is_none() {
                missing.push(format!("-l{library} for {target}"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(
        ExitStatus::No,
        format!("not found: {}", offkit_object::backquoted(&missing)),
    );
    Err(match options.trace {
        true => failure,
        false => failure.hint("`--trace` shows every path that was looked at"),
    })
}

fn show(answer: &Answer, trace: bool, terminal: Terminal) -> Result<(), Failure> {
    let Answer {
        library,
        target,
        found,
        tried,
        ..
    } = answer;
    match found {
        None => terminal.line(format_args!("-l{library} for {target}: not found"))?,
        Some(found) => {
            terminal.line(format_args!(
                "-l{library} for {target}: {NAME}{}{NAME:#}  {FAINT}[{}, {}]{FAINT:#}",
                path_of(found),
                found.rule.name(),
                found.origin.name()
            ))?;
            for file in found.files.iter().skip(1) {
                terminal.line(format_args!("  with {}", file.path.display()))?;
            }
            for path in &found.missing {
                terminal.line(format_args!("  without {}, which is not there", path.display()))?;
            }
        }
    }
    if trace {
        for tried in tried {
            let path = tried.path.display();
            match &tried.outcome {
                Outcome::Missing => terminal.line(format_args!("  no     {path}"))?,
                Outcome::Skipped(reason) => terminal.line(format_args!("  skip   {path}: {reason}"))?,
                Outcome::Taken => terminal.line(format_args!("  taken  {path}"))?,
            }
        }
    }
    Ok(())
}

fn path_of(found: &Found) -> String {
    let first = found.files.first();
    first
        .map(|file| file.path.display().to_string())
        .unwrap_or_default()
}

/// A library and a target as a line of JSON.
fn answer_json(answer: &Answer, trace: bool) -> Value {
    let found = answer.found.as_ref();
    let paths = |found: &Found| {
        let files = found.files.iter().skip(1);
        files
            .map(|file| file.path.display().to_string())
            .collect::<Vec<_>>()
    };
    let mut line = json!({
        "library": answer.library,
        "triple": answer.target.triple.as_str(),
        "arch": answer.target.arch_with_features(),
        "path": found.map(path_of),
        "rule": found.map(|found| found.rule.name()),
        "from": found.map(|found| found.origin.name()),
        "with": found.map(paths).unwrap_or_default(),
        "without": found.map(|found| &found.missing).into_iter().flatten()
            .map(|path| path.display().to_string()).collect::<Vec<_>>(),
    });
    if trace {
        let tried = answer.tried.iter().map(|tried| {
            let (outcome, reason) = match &tried.outcome {
                Outcome::Missing => ("missing", None),
                Outcome::Skipped(reason) => ("skipped", Some(reason.to_string())),
                Outcome::Taken => ("taken", None),
            };
            json!({
                "path": tried.path.display().to_string(),
                "rule": tried.rule.name(),
                "from": tried.origin.name(),
                "outcome": outcome,
                "reason": reason,
            })
        });
        line["tried"] = tried.collect();
    }
    line
}
