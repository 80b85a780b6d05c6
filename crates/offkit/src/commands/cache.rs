//! `offkit cache`: what is kept, and why something is not.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use offkit_cache::{Cache as Store, Found, Kind, Refused, Signer, Trust, Why};
use offkit_host::files;
use offkit_runtime::{CollectOptions, Runtime};
use serde_json::{Value, json};

use super::kernels::{choice_failure, collect_failure, read_images, tell_left_out};
use super::written::keep_apart;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Terminal, escape, size};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const LIST_EXAMPLES: &str = "\
Examples:
  offkit cache list
  offkit cache list --kind program --json | jq .subject";

const VERIFY_EXAMPLES: &str = "\
Examples:
  offkit cache verify
  offkit cache verify --json | jq .problem

Exit code 1: an entry is damaged. offkit makes it again when something needs it.";

const WHY_EXAMPLES: &str = "\
Examples:
  offkit cache why app.syclbin saxpy
  offkit cache why app.syclbin saxpy --device 1 --json

Exit code 1: offkit would build the program.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  offkit cache export -o warm.cache
  offkit cache export -o warm.cache --sign key

`ssh-keygen -t ed25519 -N '' -f key` makes a pair of keys, key and key.pub.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  offkit cache import warm.cache --trust key.pub
  offkit cache import warm.cache

Imported code is native code that programs will run. Without --trust, you trust whoever wrote the file.

Exit code 1: offkit refused an entry.";

const CLEAR_EXAMPLES: &str = "\
Examples:
  offkit cache clear
  offkit cache clear --kind program";

/// What to do with the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// List the entries, the last used first
    List(List),
    /// Check every entry against its digest
    Verify(Verify),
    /// Say whether a kernel's program comes from the cache, and why not
    Why(WhyOptions),
    /// Write built programs, compiled sources and device libraries to a file, for another machine
    Export(Export),
    /// Add what another machine exported
    Import(Import),
    /// Remove the entries
    Clear(Clear),
}

#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct List {
    #[command(flatten)]
    only: Only,
    /// Write one JSON object a line, one line an entry
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct Verify {
    /// Write one JSON object a line, one line an entry
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = WHY_EXAMPLES)]
pub(crate) struct WhyOptions {
    /// The file with the kernel, or the location of an image as `offkit ls` prints it; `-` is standard input
    file: PathBuf,
    /// The kernel: its exact name, its name without the compiler's prefix, or its demangled name
    kernel: String,
    /// A file or location that may supply functions the kernel imports; may be repeated
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// The device: its number, place (`opencl:0`), kind (`cpu`) or a part of its name; without it, the first that takes
    /// the code
    #[arg(long)]
    device: Option<String>,
    /// Write a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct Export {
    #[command(flatten)]
    only: Only,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The private key to sign every entry with: Ed25519, by OpenSSH, without a passphrase
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Write a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Public keys, one a line: takes what one of them has signed, and nothing else
    #[arg(long, value_name = "KEYS")]
    trust: Option<PathBuf>,
    /// Write a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = CLEAR_EXAMPLES)]
pub(crate) struct Clear {
    #[command(flatten)]
    only: Only,
    /// Write a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Only {
    /// Only this kind: program, opencl-c, device-library, plugin, driver or kernel
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<Kind>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let known = Kind::ALL.into_iter().find(|kind| kind.name() == text);
    known.ok_or_else(|| {
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

impl Only {
    fn entries(&self, store: &Store) -> Vec<Found> {
        let mut entries = store.entries();
        // What is damaged has no kind any more, and belongs to none that is asked for.
        entries.retain(|entry| self.kind.is_none() || entry_kind(entry) == self.kind);
        entries
    }
}

fn entry_kind(entry: &Found) -> Option<Kind> {
    entry.header.as_ref().map(|header| header.key.kind)
}

fn subject(entry: &Found) -> &str {
    entry
        .header
        .as_ref()
        .map_or("(damaged)", |header| &header.key.subject)
}

pub(crate) fn run(cache: &Cache, terminal: Terminal) -> Result<(), Failure> {
    let store = Store::user();
    match cache {
        Cache::List(options) => list(options, store, terminal),
        Cache::Verify(options) => verify(options, store, terminal),
        Cache::Why(options) => why(options, store, terminal),
        Cache::Export(options) => export(options, store, terminal),
        Cache::Import(options) => import(options, store, terminal),
        Cache::Clear(options) => clear(options, store, terminal),
    }
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    // A clock that was wrong when the entry was used is no reason to fail.
    since.map_or(0, |since| since.as_secs())
}

fn described(entry: &Found) -> Value {
    json!({
        "name": entry.name.to_string(),
        "kind": entry_kind(entry).map(Kind::name),
        "subject": entry.header.as_ref().map(|header| &header.key.subject),
        "size": entry.size,
        "made": entry.header.as_ref().map(|header| header.made),
        "used": seconds(entry.used),
        "inputs": entry.header.as_ref().map(|header| &header.key.inputs),
        "files": entry.header.as_ref().map(|header| {
            let files = header.files.iter();
            let described = files.map(|file| json!({"path": file.path.display().to_string(), "identity": file.identity}));
            described.collect::<Vec<_>>()
        }),
    })
}

fn list(options: &List, store: &Store, terminal: Terminal) -> Result<(), Failure> {
    let entries = options.only.entries(store);
    let mut output = terminal.output();
    if options.json {
        for entry in &entries {
            output.json(SCHEMA, &described(entry))?;
        }
        return output.finish();
    }
    let name = output.styles().name;
    for entry in &entries {
        let kind = entry_kind(entry).map_or("?", Kind::name);
        let age = age(entry.used);
        let digest = entry.name.to_string();
        output.line(format_args!(
            "{}  {kind:<14} {:>9}  {age:>9}  {name}{}{name:#}",
            digest.get(..12).unwrap_or(&digest),
            size(entry.size),
            escape(subject(entry))
        ))?;
    }
    output.finish()?;
    let sum = entries.iter().map(|entry| entry.size).sum();
    terminal.note(format_args!(
        "{} entries, {} in {}",
        entries.len(),
        size(sum),
        store.path().display()
    ));
    Ok(())
}

/// How long ago something was, roughly.
fn age(time: SystemTime) -> String {
    let seconds = time.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..60 => "now".to_owned(),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}

fn verify(options: &Verify, store: &Store, terminal: Terminal) -> Result<(), Failure> {
    let entries = store.entries();
    let mut output = terminal.output();
    let mut bad = 0_usize;
    for entry in &entries {
        let problem = store.verify(entry.name).err();
        bad += usize::from(problem.is_some());
        if options.json {
            let problem = problem.map(|problem| problem.to_string());
            output.json(
                SCHEMA,
                &json!({ "name": entry.name.to_string(), "problem": problem }),
            )?;
        } else if let Some(problem) = problem {
            output.line(format_args!(
                "{} ({}): {problem}",
                entry.name,
                escape(subject(entry))
            ))?;
        }
    }
    output.finish()?;
    match bad {
        0 => {
            terminal.note(format_args!(
                "all {} entries are as they were written",
                entries.len()
            ));
            Ok(())
        }
        bad => Err(Failure::new(
            ExitStatus::No,
            format!("{bad} of {} entries are damaged", entries.len()),
        )
        .hint("they are made again when they are needed; `offkit cache clear` removes all")),
    }
}

fn why(options: &WhyOptions, store: &Store, terminal: Terminal) -> Result<(), Failure> {
    let (registry, kernel) = read_images(&options.file, &options.kernel, &options.link, terminal)?;
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let chosen = runtime.choose(options.device.as_deref(), &registry, &kernel);
    tell_left_out(&runtime, terminal);
    let (device, kernel) = chosen.map_err(choice_failure)?;
    let asked = CollectOptions {
        device: Some(&device),
        ..CollectOptions::default()
    };
    let collection = registry.collect_with(&kernel, &asked).map_err(collect_failure)?;
    let key = registry.cache_key(&collection, &device).map_err(Failure::input)?;
    let name = device.name().unwrap_or_default();
    let why = key.as_ref().map(|key| store.why(key));
    let is_hit = matches!(why, Some(Why::Hit(_)));
    let text = match &why {
        Some(why) => why.to_string(),
        None => "the device takes this code as it is; kernels that it compiles are under `offkit cache list --kind kernel`"
            .to_owned(),
    };
    let mut output = terminal.output();
    if options.json {
        let differences = match &why {
            Some(Why::Differs { differences, .. }) => differences
                .iter()
                .map(|one| json!({ "name": one.name, "then": one.then, "now": one.now }))
                .collect(),
            _ => Vec::new(),
        };
        output.json(
            SCHEMA,
            &json!({
                "device": name,
                "hit": is_hit,
                "name": key.as_ref().map(|key| key.digest().to_string()),
                "why": text,
                "differences": differences,
            }),
        )?;
    } else {
        let verdict = match (&key, is_hit) {
            (None, _) => "no program is kept",
            (_, true) => "hit",
            (_, false) => "miss",
        };
        output.line(format_args!("{verdict} for {}: {}", escape(&name), escape(&text)))?;
    }
    output.finish()?;
    // Where nothing could be kept, nothing is missing.
    match is_hit || key.is_none() {
        true => Ok(()),
        false => Err(Failure::new(ExitStatus::No, "the program would be built")),
    }
}

fn export(options: &Export, store: &Store, terminal: Terminal) -> Result<(), Failure> {
    keep_apart(options.json, &options.output)?;
    let signer = options.sign.as_deref().map(Signer::read).transpose();
    let signer = signer.map_err(Failure::input)?;
    files::check_output(&options.output).map_err(Failure::input)?;
    let mut bytes = Vec::new();
    let count = store
        .export(&options.only.entries(store), signer.as_ref(), &mut bytes)
        .map_err(|error: io::Error| Failure::input(error))?;
    files::write(&options.output, &[&bytes]).map_err(Failure::input)?;
    if options.json {
        let mut output = terminal.output();
        output.json(SCHEMA, &json!({ "entries": count, "size": bytes.len() }))?;
        return output.finish();
    }
    terminal.note(format_args!("{count} entries, {}", size(bytes.len() as u64)));
    Ok(())
}

fn import(options: &Import, store: &Store, terminal: Terminal) -> Result<(), Failure> {
    let trust = options.trust.as_deref().map(Trust::read).transpose();
    let trust = trust.map_err(Failure::input)?;
    let bytes = files::open(&options.file).map_err(Failure::input)?;
    let imported = store.import(&bytes, trust.as_ref());
    if options.json {
        let refused = imported.refused.iter();
        let refused: Vec<_> = refused
            .map(|(subject, why)| json!({ "subject": subject, "why": why.to_string() }))
            .collect();
        let added: Vec<_> = imported.added.iter().map(ToString::to_string).collect();
        let mut output = terminal.output();
        output.json(
            SCHEMA,
            &json!({ "added": added, "known": imported.known, "refused": refused }),
        )?;
        output.finish()?;
    } else {
        terminal.note(format_args!(
            "{} entries added, {} were there",
            imported.added.len(),
            imported.known
        ));
        for (subject, why) in &imported.refused {
            terminal.warning(format_args!("{} is refused: {why}", escape(subject)));
        }
    }
    // A disk that is full is nothing that the imported file is to blame for.
    let is_unwritable = imported
        .refused
        .iter()
        .any(|(_, why)| matches!(why, Refused::Write(_)));
    match imported.refused.len() {
        0 => Ok(()),
        count => {
            let status = if is_unwritable {
                ExitStatus::Machine
            } else {
                ExitStatus::No
            };
            Err(Failure::new(status, format!("{count} entries are refused")))
        }
    }
}

fn clear(options: &Clear, store: &Store, terminal: Terminal) -> Result<(), Failure> {
    let entries = options.only.entries(store);
    for entry in &entries {
        store.remove(entry.name).map_err(|error| {
            Failure::new(
                ExitStatus::Machine,
                format!(
                    "cannot remove {} from {}: {error}",
                    entry.name,
                    store.path().display()
                ),
            )
        })?;
    }
    let sum = entries.iter().map(|entry| entry.size).sum();
    if options.json {
        let mut output = terminal.output();
        output.json(SCHEMA, &json!({ "removed": entries.len(), "size": sum }))?;
        return output.finish();
    }
    terminal.note(format_args!("{} entries removed, {}", entries.len(), size(sum)));
    Ok(())
}
