//! Linking images that are SPIR-V already: those that need each other become one.
//!
//! What a link makes of bitcode was split as it was asked to, and stays apart. A SPIR-V module or a module of a
//! SYCLBIN that comes with it is linked with whatever needs it, and with what it needs.

use std::collections::{BTreeMap, HashMap, HashSet};

use offkit_object::property_set::{PropertySet, names};
use offkit_object::{Code, DeviceImage, ImageFormat, Symbols};
use offkit_spirv::dr::Operand;
use offkit_spirv::grammar::Decoration;
use offkit_spirv::{LinkInput, LinkOptions, Linkage, Module, Reflection, link, reflect};

use super::constants::Constants;
use super::device_globals;
use super::error::LinkError;
use super::properties::merge;
use crate::properties::{DUMMY_IMAGE, VIRTUAL_FUNCTIONS_SET};

/// An image on its way to be joined with others.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) image: DeviceImage<'static>,
    /// What messages call it.
    pub(super) label: String,
    /// What its code has, also imports that are not recorded because their names belong to the compiler.
    pub(super) symbols: Symbols,
    /// What is known about a SPIR-V module.
    pub(super) reflection: Option<Reflection>,
    /// Whether this link made it of bitcode.
    pub(super) is_generated: bool,
    /// Whether its property sets, and not its code alone, say what it exports.
    pub(super) is_told: bool,
    /// The same as native code.
    pub(super) natives: Vec<DeviceImage<'static>>,
}

impl Part {
    /// A part of which no symbols are known yet.
    pub(super) fn new(label: String, image: DeviceImage<'static>) -> Self {
        Self {
            image,
            label,
            symbols: Symbols::default(),
            reflection: None,
            is_generated: false,
            is_told: false,
            natives: Vec::new(),
        }
    }

    /// The code; that of parts was read before.
    pub(super) fn bytes(&self) -> &[u8] {
        self.image.bytes().unwrap_or_default()
    }

    pub(super) fn set_reflection(&mut self, reflection: Reflection) {
        let kernels = reflection.kernels.iter().map(|kernel| kernel.name.clone());
        let exports = reflection.exports.iter().map(|symbol| symbol.name.clone());
        let imports = reflection.imports.iter().map(|symbol| symbol.name.clone());
        self.symbols = Symbols {
            kernels: kernels.collect(),
            exports: exports.collect(),
            imports: imports.collect(),
        };
        self.reflection = Some(reflection);
    }
}

/// Joins the parts that need each other, in whatever state the result is to be: today's SYCL runtime does not link
/// the images of a file in the input state with each other. `is_closed` tells that nothing will be linked with the
/// result: then of what is exported only that stays so which other images of the result need, and images that are
/// there for others alone go. `notes` is told what is lost.
pub(super) fn join(
    mut parts: Vec<Part>,
    is_closed: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, LinkError> {
    // Before anything else, as it also refuses symbols that are defined twice, which must not depend on the state.
    let providers = providers(&mut parts)?;
    if !is_closed && parts.iter().all(|part| part.is_generated) {
        return Ok(parts);
    }
    // Joining is transitive: what a module needs may need a third one, so that parts are put into groups first and linked
    // group by group, once each.
    let mut groups = Groups::new(parts.len());
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| is_spirv(part)) {
        for import in &part.symbols.imports {
            if let Some(&provider) = providers.get(import)
                // What the split put apart stays apart: those two find each other when they are loaded.
                && !(part.is_generated && parts[provider].is_generated)
            {
                groups.unite(number, provider);
            }
        }
    }
    let firsts: Vec<usize> = (0..parts.len()).map(|number| groups.first(number)).collect();
    // A group goes by its first part, and stands where that stood: the order of inputs is the order of images, whatever
    // order imports were met in, so that one link gives the same bytes each time.
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    for (number, &first) in firsts.iter().enumerate() {
        members[first].push(number);
    }
    let used = match is_closed {
        true => used(&parts, &providers),
        false => vec![true; parts.len()],
    };
    // Symbols that an image of another group needs have to stay visible.
    let mut needed: HashMap<usize, HashSet<String>> = HashMap::new();
    for (number, part) in parts.iter().enumerate().filter(|(number, _)| used[*number]) {
        for import in &part.symbols.imports {
            if let Some(&provider) = providers.get(import) {
                let (own, other) = (firsts[number], firsts[provider]);
                if own != other {
                    needed.entry(other).or_default().insert(import.clone());
                }
            }
        }
    }
    let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
    let mut joined = Vec::new();
    for (first, members) in members.iter().enumerate() {
        if !members.iter().any(|&member| used[member]) {
            continue;
        }
        let group: Vec<Part> = members
            .iter()
            .filter_map(|&member| parts[member].take())
            .collect();
        let needed = needed.remove(&first).unwrap_or_default();
        // One alone keeps its bytes, its property sets and its native code: linking it with nothing would write it anew.
        let mut part = match <[Part; 1]>::try_from(group) {
            Ok([alone]) => alone,
            Err(group) if group.is_empty() => continue,
            Err(group) => one_of(group, !is_closed || !needed.is_empty(), notes)?,
        };
        // Virtual functions are called from images that the runtime links with theirs.
        let has_virtual_functions = (part.image.properties)
            .get(names::VIRTUAL_FUNCTIONS, VIRTUAL_FUNCTIONS_SET)
            .is_some();
        if is_closed && is_spirv(&part) && !has_virtual_functions {
            hide_all_but(&mut part, &needed)?;
        }
        joined.push(part);
    }
    Ok(joined)
}

/// Which parts of a complete result are of use: those that a host finds something in, and what these need. The
/// others were for files that will not come.
fn used(parts: &[Part], providers: &HashMap<String, usize>) -> Vec<bool> {
    let mut used = vec![false; parts.len()];
    let mut next: Vec<usize> = (0..parts.len())
        .filter(|&number| is_found(&parts[number]))
        .collect();
    while let Some(number) = next.pop() {
        if !std::mem::replace(&mut used[number], true) {
            let imports = parts[number].symbols.imports.iter();
            next.extend(imports.filter_map(|import| providers.get(import)).copied());
        }
    }
    // A file without images would not even tell what it was made of.
    if !used.contains(&true) {
        used.fill(true);
    }
    used
}

/// Whether a host finds something in an image. What somebody else made is kept as it is.
fn is_found(part: &Part) -> bool {
    const BY_NAME: [&str; 3] = [names::DEVICE_GLOBALS, names::HOST_PIPES, names::VIRTUAL_FUNCTIONS];
    let image = &part.image;
    let has = |name: &&str| image.properties.set(name).is_some();
    !part.is_generated || !is_spirv(part) || !part.symbols.kernels.is_empty() || BY_NAME.iter().any(has)
}

/// Takes the linkage of all definitions away but of those that are needed, and of device globals, which the host
/// finds by name.
fn hide_all_but(part: &mut Part, needed: &HashSet<String>) -> Result<(), LinkError> {
    let device_globals = device_globals::device_globals(&part.image.properties);
    let device_globals: HashSet<&str> = device_globals.map(|(_, name)| name).collect();
    let hidden: HashSet<String> = (part.symbols.exports.iter())
        .filter(|export| !needed.contains(*export) && !device_globals.contains(export.as_str()))
        .cloned()
        .collect();
    hide(part, &hidden)
}

/// Whether an image stands in for another with the same virtual functions: a runtime takes one or the other.
fn is_dummy(part: &Part) -> bool {
    (part.image.properties)
        .get(names::VIRTUAL_FUNCTIONS, DUMMY_IMAGE)
        .is_some()
}

fn is_spirv(part: &Part) -> bool {
    part.image.format == ImageFormat::Spirv
}

/// Which part defines each symbol.
///
/// A toolchain may leave more visible in a module than its property sets say it exports, such as inline functions,
/// which other modules have too. Where another part defines such a symbol it is hidden.
fn providers(parts: &mut [Part]) -> Result<HashMap<String, usize>, LinkError> {
    let mut providers: HashMap<String, usize> = HashMap::new();
    // Of those that may occur several times.
    let mut replaceable: HashSet<&str> = HashSet::new();
    let mut hidden: BTreeMap<usize, HashSet<String>> = BTreeMap::new();
    let mut kernels: HashMap<&str, usize> = HashMap::new();
    let duplicate = |symbol: &str, first: usize, second: usize| LinkError::Duplicate {
        symbol: symbol.to_owned(),
        first: parts[first].label.clone(),
        second: parts[second].label.clone(),
    };
    // A dummy defines what the image before it defines, on purpose: counted as well, each pair would be a duplicate.
    let provides = |part: &Part| is_spirv(part) && !is_dummy(part);
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| provides(part)) {
        // A host launches kernels by name, and could not tell two of one name apart.
        for kernel in &part.symbols.kernels {
            if let Some(other) = kernels.insert(kernel, number) {
                return Err(duplicate(kernel, other, number));
            }
        }
        let symbols = (part.reflection.iter()).flat_map(|reflection| &reflection.exports);
        for symbol in symbols {
            // Three cases for a second definition: inline code, of which any copy will do; an export, which goes before inline
            // code; and a symbol that is visible without being meant to, which gives way. Only two that are both meant are an
            // error, as for every linker.
            let may_recur = symbol.linkage == Linkage::LinkOnceOdr;
            let Some(&other) = providers.get(&symbol.name) else {
                providers.insert(symbol.name.clone(), number);
                if may_recur {
                    replaceable.insert(&symbol.name);
                }
                continue;
            };
            if may_recur {
                continue;
            }
            if replaceable.remove(symbol.name.as_str()) {
                providers.insert(symbol.name.clone(), number);
                continue;
            }
            let is_meant = |number: usize| {
                let part = &parts[number];
                let exported = part.image.properties.get(names::EXPORTED_SYMBOLS, &symbol.name);
                !part.is_told || exported.is_some()
            };
            let is_device_global = |number: usize| {
                let mut globals = device_globals::device_globals(&parts[number].image.properties);
                globals.any(|(_, name)| name == symbol.name)
            };
            match (is_meant(other), is_meant(number)) {
                // Each image of a program has its own, and the runtime tells them all where the value is.
                (true, true)
                    if is_device_global(other)
                        && is_device_global(number)
                        && device_globals::have_one_origin(&parts[other], &parts[number]) => {}
                (true, true) => return Err(duplicate(&symbol.name, other, number)),
                (true, false) | (false, false) => {
                    hidden.entry(number).or_default().insert(symbol.name.clone());
                }
                (false, true) => {
                    hidden.entry(other).or_default().insert(symbol.name.clone());
                    providers.insert(symbol.name.clone(), number);
                }
            }
        }
    }
    for (number, symbols) in hidden {
        hide(&mut parts[number], &symbols)?;
    }
    Ok(providers)
}

/// Takes the linkage of definitions away, and what the property sets say of it.
fn hide(part: &mut Part, symbols: &HashSet<String>) -> Result<(), LinkError> {
    if symbols.is_empty() {
        return Ok(());
    }
    let mut module = read(part)?;
    let exports = part.reflection.iter().flat_map(|reflection| &reflection.exports);
    let ids: HashSet<u32> = exports
        .filter(|export| symbols.contains(&export.name))
        .map(|export| export.id)
        .collect();
    // In SPIR-V a symbol is visible by a decoration alone: without it the function stays and has no name outside.
    module.dr_mut().annotations.retain(|annotation| {
        !matches!(
            annotation.operands.as_slice(),
            [Operand::IdRef(of), Operand::Decoration(Decoration::LinkageAttributes), ..] if ids.contains(of)
        )
    });
    part.reflection = Some(reflect(&module));
    part.symbols.exports.retain(|export| !symbols.contains(export));
    let image = &mut part.image;
    image.code = Code::from(module.to_bytes());
    if image.properties.set(names::EXPORTED_SYMBOLS).is_some() {
        let recorded = image.properties.set_mut(names::EXPORTED_SYMBOLS);
        let mut left = PropertySet::new();
        for (key, value) in recorded.iter().filter(|(key, _)| !symbols.contains(*key)) {
            left.insert(key, value.clone());
        }
        *recorded = left;
        if recorded.is_empty() {
            image.properties.remove(names::EXPORTED_SYMBOLS);
        }
    }
    Ok(())
}

fn read(part: &Part) -> Result<Module, LinkError> {
    Module::from_bytes(part.bytes()).map_err(|error| LinkError::Module {
        label: part.label.clone(),
        error,
    })
}

/// Links the parts into one.
fn one_of(mut parts: Vec<Part>, keep_exports: bool, notes: &mut Vec<String>) -> Result<Part, LinkError> {
    let labels: Vec<String> = parts.iter().map(|part| part.label.clone()).collect();
    let mut modules: Vec<Module> = parts.iter().map(read).collect::<Result<_, _>>()?;
    // Names of device globals and numbers of specialization constants are known to the host by the property sets. Where two
    // modules use one for different things, it changes in code and properties together, and so before the code is linked:
    // afterwards nobody could tell the two apart.
    let hidden = device_globals::settle(&mut parts, &mut modules);
    let mut constants = Constants::default();
    let mut result: Option<Part> = None;
    for (part, module) in parts.into_iter().zip(&mut modules) {
        let so_far = result.as_ref().map_or("", |result| result.label.as_str());
        constants.add(&part.image.properties, module, (so_far, &part.label))?;
        // Native code was made of this module by itself; it would lack what the others supply.
        for native in &part.natives {
            notes.push(format!(
                "{}: its native code for `{}` is left out, for the module is linked with others",
                part.label, native.target
            ));
        }
        match &mut result {
            None => result = Some(part),
            Some(result) => merge(
                &mut result.image.properties,
                &part.image.properties,
                (&result.label, &part.label),
            )?,
        }
    }
    let Some(mut result) = result else {
        return Err(LinkError::NoInput);
    };
    let inputs: Vec<LinkInput<'_>> = (labels.iter().zip(&modules))
        .map(|(label, module)| LinkInput { label, module })
        .collect();
    let options = LinkOptions::default()
        // What is still open is judged behind this, of all images together: see `undefined`.
        .with_allow_unresolved(true)
        .with_keep_exports(keep_exports);
    let mut module = link(&inputs, options)?;
    device_globals::hide(&mut module, &hidden);
    result.label = labels.join(" + ");
    result.set_reflection(reflect(&module));
    let image = &mut result.image;
    image.code = Code::from(module.to_bytes());
    constants.describe(&mut image.properties);
    // Of what the modules recorded, what is still so.
    for (set, symbols) in [
        (names::IMPORTED_SYMBOLS, &result.symbols.imports),
        (names::EXPORTED_SYMBOLS, &result.symbols.exports),
    ] {
        // Merged sets still name what the parts needed from each other, which is settled now. Only names that were recorded
        // come back: a compiler may have left out some on purpose.
        let recorded = image.properties.remove(set);
        let symbols: HashSet<&str> = symbols.iter().map(String::as_str).collect();
        let recorded = recorded.iter().flat_map(|set| set.iter());
        let left: Vec<&str> = (recorded.map(|(key, _)| key))
            .filter(|name| symbols.contains(name))
            .collect();
        if !left.is_empty() {
            image.properties.insert_symbols(set, left);
        }
    }
    result.is_generated = false;
    result.natives = Vec::new();
    Ok(result)
}

/// Sets of numbers that grow together.
struct Groups(Vec<usize>);

impl Groups {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The smallest number in the group.
    fn first(&mut self, mut number: usize) -> usize {
        while self.0[number] != number {
            // The way gets shorter each time it is gone.
            self.0[number] = self.0[self.0[number]];
            number = self.0[number];
        }
        number
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        // The smaller one stays on top, which makes `first` the first of the inputs, whatever the order of the
        // unions.
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use offkit_object::Target;
    use offkit_spirv::dr::{self, Instruction};
    use offkit_spirv::grammar::{LinkageType, Op};

    use super::*;
    use crate::properties::image_properties;

    /// A module with functions of these names, defined unless their linkage is that of an import.
    fn part(label: &str, functions: &[(&str, LinkageType)]) -> Part {
        let mut module = dr::Module {
            types_global_values: vec![
                Instruction::new(Op::TypeVoid, None, Some(1), Vec::new()),
                Instruction::new(Op::TypeFunction, None, Some(2), vec![Operand::IdRef(1)]),
            ],
            ..dr::Module::default()
        };
        for ((name, linkage), id) in functions.iter().zip((3..).step_by(2)) {
            let body = dr::Block {
                label: Some(Instruction::new(Op::Label, None, Some(id + 1), Vec::new())),
                instructions: vec![Instruction::new(Op::Return, None, None, Vec::new())],
            };
            let operands = vec![Operand::LiteralBit32(0), Operand::IdRef(2)];
            module.functions.push(dr::Function {
                def: Some(Instruction::new(Op::Function, Some(1), Some(id), operands)),
                end: Some(Instruction::new(Op::FunctionEnd, None, None, Vec::new())),
                parameters: Vec::new(),
                blocks: (*linkage != LinkageType::Import)
                    .then_some(body)
                    .into_iter()
                    .collect(),
            });
            let operands = vec![
                Operand::IdRef(id),
                Operand::Decoration(Decoration::LinkageAttributes),
                Operand::LiteralString((*name).to_owned()),
                Operand::LinkageType(*linkage),
            ];
            let decoration = Instruction::new(Op::Decorate, None, None, operands);
            module.annotations.push(decoration);
        }
        let module = Module::from_dr(module);
        let reflection = reflect(&module);
        let mut image = DeviceImage::new(module.to_bytes());
        image.target = Target::new("spirv64-unknown-unknown", "");
        image.properties = image_properties(&reflection);
        let mut part = Part::new(label.to_owned(), image);
        part.is_generated = true;
        part.set_reflection(reflection);
        part
    }

    fn exports(parts: &[Part]) -> Vec<Vec<&str>> {
        let recorded = |part: &Part| {
            let symbols = part.image.properties.symbols(names::EXPORTED_SYMBOLS);
            symbols.map(str::to_owned).collect::<Vec<_>>()
        };
        for part in parts {
            assert_eq!(recorded(part), part.symbols.exports, "{}", part.label);
        }
        (parts.iter())
            .map(|part| part.symbols.exports.iter().map(String::as_str).collect())
            .collect()
    }

    #[test]
    fn what_is_closed_exports_only_what_its_own_images_need() {
        let parts = || {
            vec![
                part("a", &[("one", LinkageType::Export), ("two", LinkageType::Export)]),
                part(
                    "b",
                    &[("one", LinkageType::Import), ("three", LinkageType::Export)],
                ),
            ]
        };
        // Without kernels it is not known what is wanted: all of it stays.
        let closed = join(parts(), true, &mut Vec::new()).unwrap();
        assert_eq!(exports(&closed), [vec!["one"], vec![]]);
        // With them, what they need stays.
        let mut called = parts();
        called[1].symbols.kernels.push("k".to_owned());
        called.push(part("c", &[("four", LinkageType::Export)]));
        let called = join(called, true, &mut Vec::new()).unwrap();
        assert_eq!(exports(&called), [vec!["one"], vec![]]);
        let mut alone = parts();
        alone[0].symbols.kernels.push("k".to_owned());
        let alone = join(alone, true, &mut Vec::new()).unwrap();
        assert_eq!(exports(&alone), [Vec::<&str>::new()]);
        let open = join(parts(), false, &mut Vec::new()).unwrap();
        assert_eq!(exports(&open), [vec!["one", "two"], vec!["three"]]);
    }

    #[test]
    fn an_export_replaces_what_may_occur_several_times() {
        let (inline, export) = (LinkageType::LinkOnceODR, LinkageType::Export);
        for (first, second) in [(inline, export), (export, inline), (inline, inline)] {
            let mut parts = vec![part("a", &[("f", first)]), part("b", &[("f", second)])];
            let provider = usize::from(second == export);
            assert_eq!(providers(&mut parts).unwrap()["f"], provider);
        }
        let mut parts = vec![part("a", &[("f", export)]), part("b", &[("f", export)])];
        assert!(matches!(providers(&mut parts), Err(LinkError::Duplicate { .. })));
    }
}
