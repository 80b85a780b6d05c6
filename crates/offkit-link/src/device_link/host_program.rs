//! What the host's linker leaves out of a program: members of archives that nothing of it needs.

use std::collections::{HashMap, HashSet};
use std::fmt;

use offkit_devlib::Search;
use offkit_devlib::code::{self, Input, Module, Source};
use offkit_object::host::is_host;
use offkit_object::{ImageFormat, Inspection, Limits, archive, describe_symbol, inspect};

use super::UndefinedSymbol;

/// What the startup code of the host's C library needs.
const ENTRY: &str = "main";

/// A file or a member of an archive, with what it defines and needs.
struct Unit {
    /// What messages call it.
    label: String,
    on_demand: bool,
    symbols: Inspection,
}

/// The members of archives, by what messages call them, that the host's linker leaves out of a program that is linked of
/// these inputs. None where not all of them are ELF, whose symbols tell.
pub(super) fn left_out(program: &[Input<'_>], search: &Search) -> HashSet<String> {
    let inputs: Vec<Input<'_>> = (program.iter())
        .filter_map(|input| match input.library_name() {
            Some(name) => {
                // One that is not found is taken for the system's, which has no members to leave
                // out.
                let file = search.host_library(name)?;
                Some(Input::file(file).with_whole_archive(input.is_whole_archive()))
            }
            None => Some(input.clone()),
        })
        .collect();
    let sources = code::sources(&inputs).unwrap_or_default();
    let Some(units) = units(&sources) else {
        return HashSet::new();
    };
    let taken = taken(&units);
    let labels = |is_taken: bool| {
        let units = units.iter().zip(&taken);
        units.filter_map(move |(unit, taken)| (*taken == is_taken).then_some(unit.label.as_str()))
    };
    // Members may share a name.
    let kept: HashSet<&str> = labels(true).collect();
    let left = labels(false).filter(|label| !kept.contains(label));
    left.map(str::to_owned).collect()
}

/// What the sources have for the host; `None` where that is not known of all of them.
fn units(sources: &[Source<'_>]) -> Option<Vec<Unit>> {
    let mut units = Vec::new();
    for source in sources {
        let (location, bytes) = (source.location(), source.bytes());
        let mut add = |label: String, bytes: &[u8]| {
            let limits = Limits::default();
            let format = ImageFormat::detect(bytes);
            match format {
                ImageFormat::Elf => units.push(Unit {
                    label,
                    on_demand: source.is_on_demand(),
                    symbols: inspect(bytes, format, &limits),
                }),
                // Its symbols are known when it is compiled.
                ImageFormat::Bitcode => return inspect(bytes, format, &limits).target.family().is_device(),
                _ => return !is_host(bytes),
            }
            true
        };
        // One file that is not understood is enough to give up: it could need any member, and to leave out one that
        // is needed would lose kernels which the program launches.
        let is_known = match ImageFormat::detect(bytes) {
            ImageFormat::Archive => {
                let members = archive::members(bytes, &Limits::default()).ok()?;
                let mut members = members.iter();
                members.all(|member| {
                    let name = String::from_utf8_lossy(member.name);
                    add(location.join_member(&name).to_string(), member.bytes)
                })
            }
            _ => add(location.to_string(), bytes),
        };
        if !is_known {
            return None;
        }
    }
    Some(units)
}

/// Which of them are part of the program, as today's linkers have it: a member is there for a symbol that nothing else
/// defines so far; of several that define it, the first one.
fn taken(units: &[Unit]) -> Vec<bool> {
    let mut providers: HashMap<&str, usize> = HashMap::new();
    for (number, unit) in units.iter().enumerate().filter(|(_, unit)| unit.on_demand) {
        for symbol in &unit.symbols.exports {
            providers.entry(symbol).or_insert(number);
        }
    }
    let mut taken = vec![false; units.len()];
    let mut defined: HashSet<&str> = HashSet::new();
    let mut needed: Vec<&str> = vec![ENTRY];
    let mut next: Vec<usize> = (0..units.len())
        .filter(|&number| !units[number].on_demand)
        .collect();
    loop {
        for number in next.drain(..) {
            if !std::mem::replace(&mut taken[number], true) {
                let symbols = &units[number].symbols;
                defined.extend(symbols.exports.iter().map(String::as_str));
                needed.extend(symbols.imports.iter().map(String::as_str));
            }
        }
        let Some(symbol) = needed.pop() else { return taken };
        if !defined.contains(symbol) {
            next.extend(providers.get(symbol));
        }
    }
}

/// A member of an archive that was left out of a link.
pub(super) struct LeftOut {
    label: String,
    /// What it needs, of itself or by way of others.
    undefined: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let undefined = describe_symbol(&self.undefined);
        write!(
            f,
            "{} is left out: the program does not use it, and {undefined}, which it needs, is undefined",
            self.label
        )
    }
}

/// Marks the modules of members that the program leaves out and that need what is undefined, of themselves or by way of
/// others. Returns those that were not marked before.
pub(super) fn leave_out(
    modules: &mut [Module<'_>],
    left_out: &HashSet<String>,
    undefined: &[UndefinedSymbol],
) -> Vec<LeftOut> {
    // Symbols that are undefined or need one that is, with that one.
    let roots = undefined.iter().map(|symbol| &symbol.name);
    let mut missing: HashMap<String, String> = roots.map(|name| (name.clone(), name.clone())).collect();
    // What is undefined spreads from those who need it to what they define, and so on to the next, until nothing new
    // is reached: each module is met once, and keeps the symbol that it all came from.
    let mut is_open = vec![true; modules.len()];
    let mut marked = Vec::new();
    loop {
        let before = missing.len();
        for (module, is_open) in modules
            .iter_mut()
            .zip(&mut is_open)
            .filter(|(_, is_open)| **is_open)
        {
            let Some(root) = module.imports().find_map(|name| missing.get(name)).cloned() else {
                continue;
            };
            *is_open = false;
            for name in module.exports() {
                missing.entry(name.to_owned()).or_insert_with(|| root.clone());
            }
            if !module.is_left_out && is_of(&module.label, left_out) {
                // It may still come along for a symbol, as before for its kernels: then the error is told, for
                // somebody needs it.
                (module.is_left_out, module.on_demand) = (true, true);
                marked.push(LeftOut {
                    label: module.label.clone(),
                    undefined: root,
                });
            }
        }
        if missing.len() == before {
            return marked;
        }
    }
}

/// Whether a place is one of these, or inside one of them.
fn is_of(label: &str, places: &HashSet<String>) -> bool {
    let ends = label.match_indices('/').map(|(at, _)| at);
    ends.chain([label.len()])
        .filter_map(|end| label.get(..end))
        .any(|place| places.contains(place))
}
