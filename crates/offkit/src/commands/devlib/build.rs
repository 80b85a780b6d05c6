//! `offkit devlib build`.

use std::path::PathBuf;
use std::thread;

use clap::Args;
use offkit_devlib::build::{self, BuildError, Message};
use offkit_devlib::manifest::{Manifest, target_named};
use offkit_object::Target;
use serde_json::json;

use crate::commands::cc::clang;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, NAME, Terminal, size};

/// The name of the usual build among the variants.
const DEFAULT_VARIANT: &str = "default";

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit devlib build libm/libdevice.toml -o lib
  offkit devlib build libm/libdevice.toml -o lib \\
      --target sm_80 --target gfx90a --variant debug
  offkit devlib build libm/libdevice.toml -o lib \\
      --arch nvptx -L /usr/local/cuda/nvvm/libdevice";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Build {
    /// The manifest of the library, libdevice.toml
    manifest: PathBuf,
    /// The folder for the library, for `-L` of later links; variants get folders in it
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Build for this target instead of those of the manifest, such as gfx90a, sm_80, spirv64; may be repeated
    #[arg(long = "target", value_name = "TARGET", value_parser = target)]
    targets: Vec<Target>,
    /// Build only for the targets of these processors or architectures, such as sm_80, amdgcn, nvptx, spirv64; may be
    /// repeated
    #[arg(long = "arch", value_name = "ARCH[,ARCH…]", value_delimiter = ',')]
    archs: Vec<String>,
    /// Build this variant of the manifest instead of all; `default` is the usual build; may be repeated
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,
    /// A folder to search for vendors' bitcode, before LIBRARY_PATH and what the manifest names; may be repeated
    #[arg(short = 'L', long = "library-path", value_name = "DIR")]
    library_paths: Vec<PathBuf>,
    /// Use only this provider of bitcode of the manifest; may be repeated
    #[arg(long = "provider", value_name = "NAME")]
    providers: Vec<String>,
    /// How many compilers to run at a time; by default, one on each core
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Write one JSON object a line, one line a library
    #[arg(long)]
    json: bool,
}

fn target(name: &str) -> Result<Target, String> {
    target_named(name)
        .ok_or_else(|| "expected a processor such as gfx90a or sm_80, spirv64, or a triple".into())
}

pub(super) fn run(arguments: &Build, terminal: Terminal) -> Result<(), Failure> {
    let manifest = Manifest::read(&arguments.manifest).map_err(Failure::input)?;
    let targets = targets(arguments, &manifest)?;
    let variants = if arguments.variants.is_empty() {
        let others = manifest.variants.keys().cloned().map(Some);
        // `None` is the usual build, which no manifest lists.
        std::iter::once(None).chain(others).collect()
    } else {
        let named = |name: &String| (name != DEFAULT_VARIANT).then(|| name.clone());
        arguments.variants.iter().map(named).collect()
    };
    let folders = offkit_devlib::Search::on_this_machine(&arguments.library_paths)
        .folders
        .into_iter();
    let build = build::Build {
        manifest: &manifest,
        clang: clang::find()?,
        output: arguments.output.clone(),
        targets,
        variants,
        folders: folders.map(|folder| folder.path).collect(),
        providers: arguments.providers.clone(),
        jobs: arguments.jobs.map_or_else(
            || thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        ),
    };
    let progress = terminal.progress();
    let built = build.run(&|done, total, what| progress.step(format!("{done}/{total} {what}")));
    drop(progress);
    let built = built.map_err(|error| failure(error, &manifest))?;
    show(&built.messages, terminal);
    for library in &built.libraries {
        let variant = library.variant.as_deref().unwrap_or(DEFAULT_VARIANT);
        if arguments.json {
            let line = json!({
                "library": manifest.name,
                "path": library.path.to_string_lossy(),
                "triple": library.target.triple.as_str(),
                "arch": library.target.arch_with_features(),
                "variant": variant,
                "provider": library.provider,
                "size": library.size,
                "built": library.is_new,
            });
            terminal.json(SCHEMA, &line)?;
        } else if library.is_new {
            let provider = library.provider.iter().map(|name| format!(", {name}"));
            terminal.note(format_args!(
                "{NAME}{}{NAME:#}  {FAINT}{}{}{FAINT:#}",
                library.path.display(),
                size(library.size),
                provider.collect::<String>(),
            ));
        }
    }
    let new = built.libraries.iter().filter(|library| library.is_new).count();
    terminal.note(format_args!(
        "{new} of {} libraries built, the others are up to date",
        built.libraries.len()
    ));
    Ok(())
}

/// The targets to build for.
fn targets(arguments: &Build, manifest: &Manifest) -> Result<Vec<Target>, Failure> {
    let all = match &*arguments.targets {
        [] => &manifest.targets,
        named => named,
    };
    if all.is_empty() {
        return Err(Failure::input(format!("{}: no targets", manifest.path.display()))
            .hint("name them there, `targets = [\"sm_80\"]`, or with `--target`"));
    }
    let is_of = |target: &Target, arch: &str| {
        target.arch == arch
            || target.arch_with_features() == arch
            || target.library_architectures().iter().any(|name| name == arch)
    };
    if let Some(arch) = arguments
        .archs
        .iter()
        .find(|arch| !all.iter().any(|target| is_of(target, arch)))
    {
        let names: Vec<_> = all.iter().map(Target::short_name).collect();
        return Err(Failure::input(format!("no target is for `{arch}`")).hint(format!(
            "the targets are {}; `--target` takes any other",
            names.join(", ")
        )));
    }
    let is_wanted = |target: &&Target| {
        arguments.archs.is_empty() || arguments.archs.iter().any(|arch| is_of(target, arch))
    };
    let wanted = all.iter().filter(is_wanted).cloned().collect();
    Ok(wanted)
}

/// Shows what the compiler said; the same words about several targets once.
fn show(messages: &[Message], terminal: Terminal) {
    let mut shown: Vec<&Message> = Vec::new();
    for message in messages {
        if shown
            .iter()
            .any(|other| other.source == message.source && other.text == message.text)
        {
            continue;
        }
        let same = messages
            .iter()
            .filter(|other| other.source == message.source && other.text == message.text);
        let targets: Vec<_> = same.map(|message| message.target.as_str()).collect();
        terminal.note(format_args!(
            "{} for {}:\n{}",
            message.source,
            targets.join("; "),
            message.text
        ));
        shown.push(message);
    }
}

fn failure(error: BuildError, manifest: &Manifest) -> Failure {
    match &error {
        BuildError::Refused { messages } => {
            // Also where nothing else is to be said: they are the reason.
            show(messages, Terminal { quiet: false });
            Failure::input(error)
        }
        BuildError::NoVariant { .. } => {
            let names: Vec<_> = manifest.variants.keys().map(String::as_str).collect();
            Failure::input(error).hint(format!(
                "the variants are {}",
                [&[DEFAULT_VARIANT], &*names].concat().join(", ")
            ))
        }
        BuildError::NoProvider { .. } => {
            Failure::new(ExitStatus::Machine, error).hint("install one of them, or name its folder with `-L`")
        }
        BuildError::Start { .. } => Failure::new(ExitStatus::Machine, error),
        BuildError::UnknownTarget { .. } => Failure::input(error)
            .hint("a target is a processor such as gfx90a, gfx90a:xnack+ or sm_80, spirv64, or a triple"),
        BuildError::NoSources { .. } | BuildError::Write(_) | BuildError::Read { .. } => {
            Failure::input(error)
        }
    }
}
