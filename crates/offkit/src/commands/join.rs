//! `offkit join`: files that `offkit split` took apart, put together again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use offkit_inventory::count;
use offkit_object::Limits;
use offkit_object::split::{join, read_pack};
use serde_json::{Value, json};

use super::limits::Bounds;
use super::split::folder::{self, NewFolder};
use super::split::machine_images;
use super::split::manifest::{Layout, Manifest, Pack, SplitFile, digest};
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Progress, Terminal, escape, size};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const HELP: &str = "\
With all packs, the files are what they were, byte for byte. If a pack is missing, or --only leaves it out, they are \
what `offkit thin` makes of them without its architecture.

Examples:
  offkit join packs -o whole
  offkit join packs --only sm_80,sm_90 -o here";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Join {
    /// The folder that `offkit split` wrote; packs may be missing
    folder: PathBuf,
    /// Write the files into this folder, which must be new or empty
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Use only these packs
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',')]
    only: Vec<String>,
    /// Print what offkit would write, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: Bounds,
}

/// A file that is whole again, or as whole as can be.
struct Whole<'m> {
    split: &'m SplitFile,
    bytes: Vec<u8>,
    sha256: String,
    missing: usize,
}

impl Whole<'_> {
    fn is_as_before(&self) -> bool {
        self.sha256 == self.split.sha256
    }
}

pub(crate) fn run(options: &Join, terminal: Terminal) -> Result<(), Failure> {
    if let Some(output) = options.output.as_deref().filter(|_| !options.dry_run) {
        folder::check(output)?;
    }
    let limits = options.limits.limits();
    let progress = terminal.progress();
    progress.step("reading");
    let manifest = Manifest::read(&options.folder)?;
    let (packs, absent) = packs(options, &manifest, &limits, &progress)?;
    let recipes = match &manifest.recipes {
        Some(stored) => read_pack(&stored.read(&options.folder)?, &limits)
            .map_err(|error| Failure::input(format!("{}: {error}", stored.file)))?,
        None => HashMap::new(),
    };
    let mut files = Vec::new();
    for split in &manifest.files {
        progress.step(format!("putting {} together", split.path));
        files.push(whole(options, split, &recipes, &packs, &limits)?);
    }
    // Only now: where one of the files does not come together, nothing is left behind.
    if let Some(target) = options.output.as_deref().filter(|_| !options.dry_run) {
        progress.step("writing");
        let folder = NewFolder::new(target)?;
        for file in &files {
            let like = file.split.host.path(&options.folder)?;
            folder.write(&file.split.path, &file.bytes, Some(&like))?;
        }
        folder.finish()?;
    }
    drop(progress);
    if options.json {
        return terminal.json(SCHEMA, &object(options, &files, &absent));
    }
    for file in &files {
        let what = match (file.missing, file.split.exact) {
            (0, true) => "as it was".to_owned(),
            (0, false) => "with the same content as before, compressed anew".to_owned(),
            (missing, _) => format!("without {}", count(missing, "image")),
        };
        let size = size(file.bytes.len() as u64);
        terminal.line(format_args!("{}  {size}  {what}", escape(&file.split.path)))?;
    }
    match absent.as_slice() {
        [] => Ok(()),
        absent => terminal.line(format_args!("left out: {}", escape(&absent.join(", ")))),
    }
}

/// Images by the number of their pack and their name in it.
type Images = HashMap<u64, HashMap<String, Vec<u8>>>;

/// The images of the packs that are wanted and there, and the names of the other packs.
fn packs(
    options: &Join,
    manifest: &Manifest,
    limits: &Limits,
    progress: &Progress,
) -> Result<(Images, Vec<String>), Failure> {
    let names: Vec<&str> = manifest.packs.iter().map(|pack| pack.arch.as_str()).collect();
    let unknown = options.only.iter().find(|name| !names.contains(&name.as_str()));
    if let Some(unknown) = unknown {
        return Err(
            Failure::new(ExitStatus::No, format!("there is no pack for `{unknown}`"))
                .hint(format!("there are: {}", names.join(", "))),
        );
    }
    let mut images = Images::new();
    let mut absent = Vec::new();
    for (number, pack) in (0_u64..).zip(&manifest.packs) {
        let is_wanted = options.only.is_empty() || options.only.contains(&pack.arch);
        if is_wanted && is_there(&options.folder, pack)? {
            progress.step(format!("unpacking {}", pack.arch));
            images.insert(number, unpacked(options, manifest, pack, limits)?);
        } else if options.only.contains(&pack.arch) {
            // Packs that nobody names may be missing; one that was asked for may not.
            return Err(Failure::input(format!("the pack for {} is not there", pack.arch)));
        } else {
            absent.push(pack.arch.clone());
        }
    }
    // A recipe for copies begins with the first one, and takes out of the others what it lacks.
    if manifest.layout == Layout::Copies && !absent.is_empty() {
        return Err(
            Failure::input(format!("the copies for {} are needed too", absent.join(", ")))
                .hint("each copy runs as it is: `offkit join` is for what it was made from"),
        );
    }
    Ok((images, absent))
}

fn is_there(folder: &Path, pack: &Pack) -> Result<bool, Failure> {
    for file in &pack.files {
        if !file.path(folder)?.exists() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn unpacked(
    options: &Join,
    manifest: &Manifest,
    pack: &Pack,
    limits: &Limits,
) -> Result<HashMap<String, Vec<u8>>, Failure> {
    let mut images = HashMap::new();
    // Of copies a pack has one file for each that was split, in the same order; of other layouts it
    // has one for all of them, and the rest of the list is not looked at.
    for (stored, split) in pack.files.iter().zip(&manifest.files) {
        let content = stored.read(&options.folder)?;
        let failed = |error: offkit_object::Error| Failure::input(format!("{}: {error}", stored.file));
        match manifest.layout {
            Layout::Offkit => images.extend(read_pack(&content, limits).map_err(failed)?),
            Layout::Kpack => {
                images.extend(offkit_object::split::kpack::images(&content, limits).map_err(failed)?)
            }
            Layout::Copies => {
                let found = machine_images(&split.path, &content, limits)?
                    .into_iter()
                    .enumerate();
                images.extend(found.map(|(index, image)| (copied(split, &index.to_string()), image)));
            }
        }
    }
    Ok(images)
}

/// The name of an image of a copy: copies of several files have one table.
fn copied(split: &SplitFile, index: &str) -> String {
    format!("{}!{index}", split.path)
}

fn whole<'m>(
    options: &Join,
    split: &'m SplitFile,
    recipes: &HashMap<String, Vec<u8>>,
    packs: &Images,
    limits: &Limits,
) -> Result<Whole<'m>, Failure> {
    let host = split.host.read(&options.folder)?;
    if split.images == 0 {
        return Ok(Whole {
            split,
            sha256: digest(&host),
            bytes: host.to_vec(),
            missing: 0,
        });
    }
    let recipe = recipes
        .get(&split.path)
        .ok_or_else(|| Failure::input(format!("{}: there is no recipe for it", split.path)))?;
    let image = |pack: u64, name: &str| {
        let images = packs.get(&pack)?;
        images
            .get(name)
            .or_else(|| images.get(&copied(split, name)))
            .cloned()
    };
    let joined = join(&split.path, &host, recipe, &image, limits)
        .map_err(|error| Failure::input(format!("{}: {error}", split.path)))?;
    let whole = Whole {
        split,
        sha256: digest(&joined.bytes),
        bytes: joined.bytes,
        missing: joined.missing.len(),
    };
    // What is compressed anew has other bytes though all is well: then there is nothing to compare.
    if whole.missing == 0 && split.exact && !whole.is_as_before() {
        return Err(Failure::input(format!(
            "{}: the packs do not give back the file as it was; nothing is written",
            split.path
        )));
    }
    Ok(whole)
}

fn object(options: &Join, files: &[Whole<'_>], absent: &[String]) -> Value {
    let files = files.iter().map(|file| {
        json!({
            "path": file.split.path,
            "size": file.bytes.len(),
            "sha256": file.sha256,
            "missing_images": file.missing,
            "as_before": file.is_as_before(),
        })
    });
    json!({
        "files": files.collect::<Vec<_>>(),
        "left_out": absent,
        "written": !options.dry_run,
    })
}
