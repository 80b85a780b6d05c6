//! `offkit split`: files without their device code, and packs of it, one for each architecture.

pub(super) mod folder;
pub(super) mod manifest;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use offkit_host::files::{self, Content};
use offkit_inventory::count;
use offkit_object::split::{Destination, PackedImage, Split as Apart, join, write_pack};
use offkit_object::{DeviceImage, Limits, Location, Problem, Thinning, images};
use serde_json::json;

use self::folder::NewFolder;
use self::manifest::{Layout, MANIFEST, Manifest, Pack, SCHEMA, SplitFile, Stored, digest};
use super::folder::files_in;
use super::limits::Bounds;
use super::thin::{is_machine_code, label};
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Progress, Terminal, escape, size};

const HELP: &str = "\
The folder gets `host/`, which holds the files without machine code for devices, a pack for each architecture, named \
after it, and `split.json`, which lists them. PTX, SPIR-V and LTO-IR suit several architectures and stay in the host \
files. `offkit join` puts the files back together: with all packs byte for byte, with some of them as `offkit thin` \
would leave them.

CUDA's programs read device code only from their own file: nothing loads packs for them. Join them on the machine where \
you install them, or use `--to copies`, which writes a copy that runs for each group of architectures. Programs with \
AMD's code find the packs of `--to kpack` by themselves, if their HIP runtime supports that.

Examples:
  offkit split lib.so -o packs
  offkit split lib.so --to copies --group sm_80,sm_86 -o out
  offkit split prefix/ --to kpack --name foo -o split
  offkit join packs --only sm_90 -o here";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Split {
    /// Objects, archives, libraries, programs and wheels, or folders with them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write this folder, which must be new or empty
    #[arg(short, long, value_name = "DIR", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// How to store packs
    #[arg(long, value_name = "LAYOUT", default_value = "offkit")]
    to: Layout,
    /// Architectures that share a copy; may be repeated. By default, each has its own
    #[arg(long, value_name = "NAME[,NAME…]")]
    group: Vec<String>,
    /// Begin the names of packs with this, instead of the name of the file
    #[arg(long)]
    name: Option<String>,
    /// Print what offkit would write, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON: the manifest
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: Bounds,
}

/// A file to be split.
struct Input {
    /// Where it is.
    source: PathBuf,
    /// Its path among what is written.
    path: String,
    content: Content,
}

impl Input {
    fn images(&self, limits: &Limits, problems: &mut Vec<Problem>) -> Vec<DeviceImage<'_>> {
        let mut found = Vec::new();
        for image in images(&self.path, &self.content, limits) {
            match image {
                Ok(image) if image.target.family().is_host() => {}
                Ok(image) => found.push(image),
                Err(problem) => problems.push(problem),
            }
        }
        found
    }
}

/// All that will be in the folder.
struct Output {
    manifest: Manifest,
    /// Path, content, and the file whose permissions it gets.
    files: Vec<(String, Vec<u8>, Option<PathBuf>)>,
}

pub(crate) fn run(options: &Split, terminal: Terminal) -> Result<(), Failure> {
    if let Some(output) = options.output.as_deref().filter(|_| !options.dry_run) {
        folder::check(output)?;
    }
    if !options.group.is_empty() && options.to != Layout::Copies {
        return Err(Failure::input(
            "--group is for `--to copies`: packs have one architecture each",
        ));
    }
    let limits = options.limits.limits();
    let progress = terminal.progress();
    progress.step("reading");
    let inputs = inputs(&options.files)?;
    let name = match (&options.name, inputs.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => stem(&only.path),
        (None, _) => {
            return Err(
                Failure::input("several files need a name for their packs").hint("--name NAME gives it")
            );
        }
    };
    check_name(&name)?;
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    let mut splitter = Splitter {
        options,
        name,
        limits: &limits,
        progress: &progress,
        notes: &mut notes,
    };
    let output = splitter.split(&inputs, &mut problems)?;
    if let Some(target) = options.output.as_deref().filter(|_| !options.dry_run) {
        progress.step("writing");
        write(target, &output)?;
    }
    drop(progress);
    report(options, &output.manifest, terminal)?;
    for note in notes {
        terminal.note(escape(&note));
    }
    for problem in &problems {
        terminal.warning(problem);
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::input(
            "not everything could be read: the rest stays in the host files",
        )),
    }
}

/// The files, those of folders with their paths in them.
fn inputs(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs: Vec<Input> = Vec::new();
    let mut add = |source: &Path, path: &Path| {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        });
        inputs.push(Input {
            source: source.to_owned(),
            path: parts.collect::<Vec<_>>().join("/"),
            content: files::open(source).map_err(Failure::input)?,
        });
        Ok::<(), Failure>(())
    };
    for path in paths {
        if files::is_standard_stream(path) {
            return Err(Failure::input(
                "files are split, not standard input: the parts have its name",
            ));
        }
        if !path.is_dir() {
            add(path, Path::new(path.file_name().unwrap_or_default()))?;
            continue;
        }
        let (found, failures) = files_in(path);
        if let Some(failure) = failures.into_iter().next() {
            return Err(failure);
        }
        for file in found {
            add(&file, file.strip_prefix(path).unwrap_or(&file))?;
        }
    }
    // One would be written over the other in `host/`.
    let mut names: Vec<&str> = inputs.iter().map(|input| input.path.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::input(format!("two files are called `{}`", pair[0]))
            .hint("name the folder that both are in")),
        None => Ok(inputs),
    }
}

/// A file's name up to where its kind begins; that of a wheel is up to its version.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some(wheel) = name.strip_suffix(".whl") {
        return wheel.splitn(3, '-').take(2).collect::<Vec<_>>().join("-");
    }
    match name.find('.') {
        Some(0) | None => name.to_owned(),
        Some(end) => name[..end].to_owned(),
    }
}

fn check_name(name: &str) -> Result<(), Failure> {
    // Names of packs begin with it: it must be no way out of the folder, on Windows either.
    match is_name(name) && !name.contains(['/', '\\', '\0']) {
        true => Ok(()),
        false => Err(Failure::input(format!("`{name}` is no name for files"))),
    }
}

/// Whether a part of a path means something in its folder, and not the folder itself or the one around it.
fn is_name(part: &str) -> bool {
    !matches!(part, "" | "." | "..")
}

/// The paths of what each architecture or group gets in the folder, where `path` makes one of its name as files have it.
fn paths<'a>(
    archs: impl IntoIterator<Item = &'a str>,
    path: impl Fn(&str) -> String,
) -> Result<Vec<String>, Failure> {
    let mut archs_of = BTreeMap::new();
    let path_of = |arch: &'a str| {
        // Colons are not allowed in all names of files, and on Windows a backslash leads into a folder.
        let path = path(&arch.replace([':', '/', '\\'], "-"));
        // Architectures are texts from files: `..` would lead out of the folder.
        if !path.split('/').all(is_name) {
            let failure = Failure::input(format!("the architecture `{arch}` is no name for files"));
            return Err(failure.hint("`--to offkit` writes packs, whose names begin with that of the file"));
        }
        match archs_of.insert(path.clone(), arch) {
            None => Ok(path),
            Some(other) => Err(Failure::input(format!(
                "the code for `{other}` and for `{arch}` would both be in `{path}`"
            ))),
        }
    };
    archs.into_iter().map(path_of).collect()
}

struct Splitter<'s> {
    options: &'s Split,
    name: String,
    limits: &'s Limits,
    progress: &'s Progress,
    notes: &'s mut Vec<String>,
}

impl Splitter<'_> {
    fn split(&mut self, inputs: &[Input], problems: &mut Vec<Problem>) -> Result<Output, Failure> {
        let found: Vec<Vec<DeviceImage<'_>>> = inputs
            .iter()
            .map(|input| input.images(self.limits, problems))
            .collect();
        let to_go = found.iter().flatten().filter(|image| is_machine_code(image));
        let mut labels: Vec<String> = to_go.map(label).collect();
        // From here on a label's place in the list is the number of its pack, in all files.
        labels.sort();
        labels.dedup();
        if labels.is_empty() {
            let failure = Failure::new(
                ExitStatus::No,
                "there is no machine code for any device to split off",
            );
            return Err(match problems.first() {
                Some(problem) => Failure::input(problem.to_string()),
                None => failure.hint("`offkit ls` lists the device code inside files"),
            });
        }
        match self.options.to {
            Layout::Copies => self.copies(inputs, &found, &labels),
            Layout::Offkit | Layout::Kpack => self.packs(inputs, &found, &labels),
        }
    }

    /// Host files, and a pack for each architecture.
    fn packs(
        &mut self,
        inputs: &[Input],
        found: &[Vec<DeviceImage<'_>>],
        labels: &[String],
    ) -> Result<Output, Failure> {
        let is_kpack = self.options.to == Layout::Kpack;
        let packs_at = paths(labels.iter().map(String::as_str), |arch| match is_kpack {
            true => format!(".kpack/{}_{arch}.kpack", self.name),
            false => format!("{}-{arch}.tar.zst", self.name),
        })?;
        let mut members: Vec<Vec<(String, Vec<u8>)>> = vec![Vec::new(); labels.len()];
        let mut recipes: Vec<(String, Vec<u8>)> = Vec::new();
        let mut files = Vec::new();
        let mut split_files = Vec::new();
        for (input, images) in inputs.iter().zip(found) {
            self.progress.step(format!("taking {} apart", input.path));
            let failed = |error: offkit_object::Error| Failure::input(format!("{}: {error}", input.path));
            let going: Vec<&DeviceImage<'_>> = images.iter().filter(|image| is_machine_code(image)).collect();
            if going.is_empty() {
                self.notes
                    .push(format!("{} has no machine code for devices", input.path));
                let host = Stored::of(format!("host/{}", input.path), &input.content);
                split_files.push(split_file(input, &host, 0, true));
                files.push((host.file, input.content.to_vec(), Some(input.source.clone())));
                continue;
            }
            let (host, names) = match is_kpack {
                true => offkit_object::split::kpack::host_file(
                    &input.content,
                    &input.path,
                    &self.search_paths(&input.path),
                    self.limits,
                )
                .map_err(failed)?,
                false => (self.thinned(input, &going)?, BTreeMap::new()),
            };
            let mut destinations = BTreeMap::new();
            for image in &going {
                let arch = label(image);
                let pack = labels.iter().position(|label| *label == arch).unwrap_or_default();
                let path = image.location.path().to_owned();
                let name = match names.get(image.location.path()) {
                    Some(name) => name.clone(),
                    None if is_kpack => {
                        return Err(Failure::input(format!(
                            "{}: kpack archives have no place for it",
                            image.location
                        )));
                    }
                    None => format!("{}/{path}", input.path),
                };
                let pack = pack as u64;
                destinations.insert(image.location.clone(), Destination { pack, name });
            }
            let apart =
                Apart::of(&input.path, &input.content, destinations.clone(), self.limits).map_err(failed)?;
            let (recipe, inexact) = apart.recipe(&host, !is_kpack).map_err(failed)?;
            let mut packed: BTreeMap<(u64, String), Vec<u8>> = BTreeMap::new();
            for image in apart.images() {
                let Some(destination) = destinations.get(&image.location) else {
                    continue;
                };
                let content = match is_kpack {
                    true => image.bytes,
                    false => with_surroundings(image),
                };
                packed.insert((destination.pack, destination.name.clone()), content);
            }
            // While the original is there: later nobody could make up for a recipe that is wrong.
            self.check(input, &host, &recipe, &packed, inexact.is_empty())?;
            self.say_inexact(&inexact);
            let count = packed.len();
            for ((pack, name), content) in packed {
                if let Some(pack) = usize::try_from(pack).ok().and_then(|pack| members.get_mut(pack)) {
                    pack.push((name, content));
                }
            }
            let stored = Stored::of(format!("host/{}", input.path), &host);
            split_files.push(split_file(input, &stored, count, inexact.is_empty()));
            files.push((stored.file, host, Some(input.source.clone())));
            recipes.push((input.path.clone(), recipe));
        }
        let mut packs = Vec::new();
        for ((arch, members), file) in labels.iter().zip(&members).zip(packs_at) {
            self.progress.step(format!("packing {arch}"));
            let content = match is_kpack {
                true => {
                    let images = members
                        .iter()
                        .map(|(name, image)| (name.as_str(), image.as_slice()));
                    let content = offkit_object::split::kpack::write(&self.name, arch, images);
                    content.map_err(Failure::input)?
                }
                false => packed(members)?,
            };
            packs.push(Pack {
                arch: arch.clone(),
                images: members.len(),
                files: vec![Stored::of(&file, &content)],
            });
            files.push((file, content, None));
        }
        self.finish(split_files, packs, recipes, files)
    }

    fn thinned(&self, input: &Input, going: &[&DeviceImage<'_>]) -> Result<Vec<u8>, Failure> {
        let dropped: Vec<Location> = going.iter().map(|image| image.location.clone()).collect();
        let (thinning, limits) = (Thinning::default(), self.limits);
        let thinned = offkit_object::thin(&input.path, &input.content, &dropped, thinning, limits, &|_| {});
        match thinned {
            Ok(thinned) => Ok(thinned.bytes),
            Err(error) => Err(Failure::input(format!("{}: {error}", input.path))),
        }
    }

    /// Where a library finds kpack archives: from its own folder.
    fn search_paths(&self, path: &str) -> Vec<String> {
        // A file further down has to go up first: `.kpack` is beside the topmost ones.
        let up = "../".repeat(path.matches('/').count());
        vec![format!("{up}.kpack/{}_@GFXARCH@.kpack", self.name)]
    }

    /// Runnable copies, each with the code for a group of architectures.
    fn copies(
        &mut self,
        inputs: &[Input],
        found: &[Vec<DeviceImage<'_>>],
        labels: &[String],
    ) -> Result<Output, Failure> {
        let groups = self.groups(labels)?;
        let mut recipes = Vec::new();
        let mut files = Vec::new();
        let mut split_files = Vec::new();
        let mut packs: Vec<Pack> = groups
            .iter()
            .map(|group| Pack {
                arch: group.join("+"),
                images: 0,
                files: Vec::new(),
            })
            .collect();
        let folders = paths(packs.iter().map(|pack| pack.arch.as_str()), str::to_owned)?;
        for (input, images) in inputs.iter().zip(found) {
            let first_copy = files.len();
            let mut destinations = BTreeMap::new();
            let mut packed = BTreeMap::new();
            let failed = |error: offkit_object::Error| Failure::input(format!("{}: {error}", input.path));
            for (number, ((group, pack), folder)) in groups.iter().zip(&mut packs).zip(&folders).enumerate() {
                self.progress
                    .step(format!("copying {} for {}", input.path, pack.arch));
                let is_in =
                    |image: &&DeviceImage<'_>| is_machine_code(image) && group.contains(&label(image));
                let staying = images.iter().filter(is_in);
                for (index, image) in staying.enumerate() {
                    let (pack, name) = (number as u64, index.to_string());
                    destinations.insert(image.location.clone(), Destination { pack, name });
                }
                let going = images
                    .iter()
                    .filter(|image| is_machine_code(image) && !is_in(image));
                let going: Vec<&DeviceImage<'_>> = going.collect();
                let copy = match going.is_empty() {
                    true => input.content.to_vec(),
                    false => self.thinned(input, &going)?,
                };
                // Copies keep the order of images, by which those that stay were numbered above.
                for (index, image) in machine_images(&input.path, &copy, self.limits)?
                    .into_iter()
                    .enumerate()
                {
                    packed.insert((number as u64, index.to_string()), image);
                    pack.images += 1;
                }
                let stored = Stored::of(format!("{folder}/{}", input.path), &copy);
                files.push((stored.file.clone(), copy, Some(input.source.clone())));
                pack.files.push(stored);
            }
            // The copy for the first group is what the recipe makes the file of.
            let host = packs.first().and_then(|pack| pack.files.last());
            let (Some((_, first, _)), Some(host)) = (files.get(first_copy), host) else {
                continue;
            };
            let apart = Apart::of(&input.path, &input.content, destinations, self.limits).map_err(failed)?;
            let (recipe, inexact) = apart.recipe(first, false).map_err(failed)?;
            self.check(input, first, &recipe, &packed, inexact.is_empty())?;
            self.say_inexact(&inexact);
            split_files.push(split_file(input, host, packed.len(), inexact.is_empty()));
            recipes.push((input.path.clone(), recipe));
        }
        self.finish(split_files, packs, recipes, files)
    }

    /// The architectures of each copy.
    fn groups(&self, labels: &[String]) -> Result<Vec<Vec<String>>, Failure> {
        if self.options.group.is_empty() {
            return Ok(labels.iter().map(|label| vec![label.clone()]).collect());
        }
        let words = |group: &String| group.split(',').map(str::to_owned).collect::<Vec<_>>();
        let groups: Vec<Vec<String>> = self.options.group.iter().map(words).collect();
        let named: Vec<&String> = groups.iter().flatten().collect();
        let there = || format!("there are: {}", labels.join(", "));
        if let Some(unknown) = named.iter().find(|name| !labels.contains(name)) {
            return Err(Failure::input(format!("there is no machine code for `{unknown}`")).hint(there()));
        }
        for label in labels {
            match named.iter().filter(|name| **name == label).count() {
                1 => {}
                0 => {
                    return Err(
                        Failure::input(format!("no group has {label}, which would be in no copy"))
                            .hint("add a --group for it, or leave it out by `offkit thin` first"),
                    );
                }
                _ => return Err(Failure::input(format!("two groups have {label}"))),
            }
        }
        Ok(groups)
    }

    /// Puts a file together again before anything of it is written.
    fn check(
        &self,
        input: &Input,
        host: &[u8],
        recipe: &[u8],
        packed: &BTreeMap<(u64, String), Vec<u8>>,
        is_exact: bool,
    ) -> Result<(), Failure> {
        self.progress
            .step(format!("putting {} together again", input.path));
        let image = |pack: u64, name: &str| packed.get(&(pack, name.to_owned())).cloned();
        let joined = join(&input.path, host, recipe, &image, self.limits)
            .map_err(|error| Failure::input(format!("{}: {error}", input.path)))?;
        // Parts that are compressed anew have other bytes: of these it can be checked only that
        // none is missing.
        match joined.missing.is_empty() && (joined.bytes == *input.content || !is_exact) {
            true => Ok(()),
            false => Err(Failure::input(format!(
                "{}: its parts do not come together again as it was: nothing was written",
                input.path
            ))),
        }
    }

    fn say_inexact(&mut self, inexact: &[Location]) {
        if let [first, rest @ ..] = inexact {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {}", count(more, "other part")),
            };
            self.notes.push(format!(
                "{first}{more} will be compressed anew by `offkit join`: the same content, not the same bytes"
            ));
        }
    }

    fn finish(
        &self,
        split_files: Vec<SplitFile>,
        packs: Vec<Pack>,
        recipes: Vec<(String, Vec<u8>)>,
        mut files: Vec<(String, Vec<u8>, Option<PathBuf>)>,
    ) -> Result<Output, Failure> {
        let file = format!("{}.recipes", self.name);
        let content = packed(&recipes)?;
        let manifest = Manifest {
            schema: SCHEMA,
            layout: self.options.to,
            name: self.name.clone(),
            recipes: Some(Stored::of(&file, &content)),
            files: split_files,
            packs,
        };
        files.push((file, content, None));
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(Failure::input)?;
        text.push(b'\n');
        files.push((MANIFEST.to_owned(), text, None));
        Ok(Output { manifest, files })
    }
}

fn split_file(input: &Input, host: &Stored, images: usize, exact: bool) -> SplitFile {
    SplitFile {
        path: input.path.clone(),
        size: input.content.len() as u64,
        sha256: digest(&input.content),
        host: host.clone(),
        images,
        exact,
    }
}

fn packed(members: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Failure> {
    let members = members
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()));
    write_pack(members).map_err(Failure::input)
}

fn with_surroundings(image: PackedImage) -> Vec<u8> {
    let [before, behind] = image.around;
    [before, image.bytes, behind].concat()
}

/// The machine code in a file, as it is stored, in order.
pub(super) fn machine_images(path: &str, content: &[u8], limits: &Limits) -> Result<Vec<Vec<u8>>, Failure> {
    let found = images(path, content, limits).into_iter().filter_map(Result::ok);
    let places: Vec<Location> = found
        .filter(|image| !image.target.family().is_host() && is_machine_code(image))
        .map(|image| image.location)
        .collect();
    let nowhere = || Destination {
        pack: 0,
        name: String::new(),
    };
    let destinations = places.iter().map(|place| (place.clone(), nowhere())).collect();
    let apart = Apart::of(path, content, destinations, limits);
    let apart = apart.map_err(|error| Failure::input(format!("{path}: {error}")))?;
    // Numbered as images are listed, wherever they are stored.
    let mut stored: BTreeMap<Location, Vec<u8>> = BTreeMap::new();
    stored.extend(
        apart
            .images()
            .into_iter()
            .map(|image| (image.location, image.bytes)),
    );
    Ok(places.iter().filter_map(|place| stored.remove(place)).collect())
}

fn write(target: &Path, output: &Output) -> Result<(), Failure> {
    let folder = NewFolder::new(target)?;
    for (path, content, like) in &output.files {
        folder.write(path, content, like.as_deref())?;
    }
    folder.finish()
}

fn report(options: &Split, manifest: &Manifest, terminal: Terminal) -> Result<(), Failure> {
    if options.json {
        let mut value = serde_json::to_value(manifest).map_err(Failure::input)?;
        if let Some(object) = value.as_object_mut() {
            // Written with all JSON.
            object.remove("schema");
            object.insert("written".to_owned(), json!(!options.dry_run));
        }
        return terminal.json(SCHEMA, &value);
    }
    let archs: Vec<_> = manifest.packs.iter().map(|pack| escape(&pack.arch)).collect();
    let width = archs
        .iter()
        .map(|arch| arch.len())
        .max()
        .unwrap_or_default()
        .max(4);
    let sum = |files: &[Stored]| files.iter().map(|file| file.size).sum::<u64>();
    if options.to != Layout::Copies {
        let host: u64 = manifest.files.iter().map(|file| file.host.size).sum();
        let files = count(manifest.files.len(), "file");
        terminal.line(format_args!("{:width$}  {files:>12}  {:>10}", "host", size(host)))?;
    }
    for (pack, arch) in manifest.packs.iter().zip(&archs) {
        let images = count(pack.images, "image");
        let files: Vec<&str> = pack.files.iter().map(|file| file.file.as_str()).collect();
        terminal.line(format_args!(
            "{arch:width$}  {images:>12}  {:>10}  {}",
            size(sum(&pack.files)),
            escape(&files.join(", ")),
        ))?;
    }
    let whole: u64 = manifest.files.iter().map(|file| file.size).sum();
    terminal.line(format_args!(
        "{} {} of {}",
        if options.dry_run { "would split" } else { "split" },
        count(manifest.files.len(), "file"),
        size(whole),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_architecture_leads_out_of_the_folder_or_over_another() {
        let folders = |archs: &[&'static str]| paths(archs.iter().copied(), str::to_owned);
        assert_eq!(
            folders(&["gfx90a:xnack+", "a/../b", r"..\x"]).unwrap(),
            ["gfx90a-xnack+", "a-..-b", "..-x"]
        );
        for wrong in ["", ".", ".."] {
            let said = folders(&["sm_80", wrong]).unwrap_err().to_string();
            assert!(said.contains(&format!("`{wrong}` is no name")), "{said}");
        }
        // With something before it, it is a name like any other.
        assert_eq!(
            paths([".."], |arch| format!("lib-{arch}.tar.zst")).unwrap(),
            ["lib-...tar.zst"]
        );
        let said = folders(&["a:b", "sm_80", "a-b"]).unwrap_err().to_string();
        assert!(said.contains("`a:b`") && said.contains("`a-b`"), "{said}");
    }
}
