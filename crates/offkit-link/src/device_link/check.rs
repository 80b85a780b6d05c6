//! A link for its answer alone: which library supplies each symbol that code needs, and what nothing supplies.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use offkit_devlib::code::Module;
use offkit_object::{BundleState, Target};

use super::select::select;
use super::{DeviceLink, LinkError, Llvm, Steps, UndefinedSymbol};
use crate::symbols::is_supplied;

/// What a link would come to.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The symbols that code needs and does not define, by name.
    pub symbols: Vec<SymbolCheck>,
    /// What the links have to say, for people.
    pub notes: Vec<String>,
}

/// A symbol that code needs and does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolCheck {
    /// The symbol.
    pub symbol: String,
    /// The code that needs it.
    pub needed_by: Vec<String>,
    /// For each target that needs it, what supplies it.
    pub targets: Vec<(Target, Option<Provider>)>,
}

/// What supplies a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The library, as `-l` has it.
    pub library: String,
    /// The file of it.
    pub path: PathBuf,
}

impl DeviceLink<'_> {
    /// Links to an executable for each target, of which nothing is kept, and tells of each symbol that the inputs need
    /// where it comes from. What nothing supplies and no kernel needs either is left out, as the link leaves it out.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run) but undefined symbols.
    pub fn check(&self, llvm: &mut Llvm<'_>) -> Result<Checked, LinkError> {
        // Only such a link has to be complete, and says what it misses.
        let link = DeviceLink {
            state: BundleState::Executable,
            allow_imports: false,
            ..self.clone()
        };
        let mut steps = Steps {
            done: Vec::new(),
            progress: &mut |_| {},
        };
        let mut sources = link.read()?;
        let mut prepared = link.prepare(&mut sources, llvm, &mut steps)?;
        let mut checked = Checked {
            notes: std::mem::take(&mut prepared.libraries.notes),
            ..Checked::default()
        };
        let mut symbols: BTreeMap<String, SymbolCheck> = BTreeMap::new();
        for (number, target) in prepared.targets.iter().enumerate() {
            let undefined = match link.link_for(number, &prepared, llvm, &mut steps, &mut checked.notes) {
                Ok((parts, _)) if parts.is_empty() => {
                    return Err(LinkError::NothingToLink { inputs: self.names() });
                }
                Ok(_) => Vec::new(),
                Err(LinkError::Undefined { symbols, .. }) => symbols,
                Err(error) => return Err(error),
            };
            for (symbol, need) in self.needs(&prepared.modules, target, undefined) {
                let check = symbols.entry(symbol.clone()).or_insert_with(|| SymbolCheck {
                    symbol,
                    needed_by: Vec::new(),
                    targets: Vec::new(),
                });
                for label in need.by {
                    if !check.needed_by.contains(&label) {
                        check.needed_by.push(label);
                    }
                }
                check.targets.push((target.clone(), need.provider));
            }
        }
        checked.symbols = symbols.into_values().collect();
        let mut told = HashSet::new();
        checked.notes.retain(|note| told.insert(note.clone()));
        Ok(checked)
    }

    /// What the inputs need for a target, with what supplies it, and what a link found undefined.
    fn needs(
        &self,
        modules: &[Module<'_>],
        target: &Target,
        undefined: Vec<UndefinedSymbol>,
    ) -> BTreeMap<String, Need> {
        let chosen = select(modules, target, self.archive_kernels, &[]);
        let (supplied, own): (Vec<&Module<'_>>, Vec<_>) = chosen
            .into_iter()
            .map(|number| &modules[number])
            .partition(|module| module.found_for.is_some());
        let defined: HashSet<&str> = own
            .iter()
            .flat_map(|module| module.exports().chain(module.kernels()))
            .collect();
        let family = target.family();
        // SPIR-V has instructions for OpenCL C's functions, whatever the language they are called in.
        let is_open = |name: &&str| !defined.contains(name) && !is_supplied(family, family.is_spirv(), name);
        let open: BTreeSet<&str> = own
            .iter()
            .flat_map(|module| module.imports())
            .filter(is_open)
            .collect();
        let mut needs: BTreeMap<String, Need> = BTreeMap::new();
        for symbol in open {
            let provider = supplied
                .iter()
                .find(|module| module.exports().any(|name| name == symbol));
            let needing = own
                .iter()
                .filter(|module| module.imports().any(|name| name == symbol));
            let is_undefined = undefined.iter().any(|undefined| undefined.name == symbol);
            let need = Need {
                by: needing.map(|module| module.label.clone()).collect(),
                // Not all that a library has can be linked with all code.
                provider: provider
                    .filter(|_| !is_undefined)
                    .and_then(|module| self.provider(module)),
            };
            if need.provider.is_some() || is_undefined {
                needs.insert(symbol.to_owned(), need);
            }
        }
        for symbol in undefined {
            needs.entry(symbol.name).or_insert(Need {
                by: symbol.images,
                provider: None,
            });
        }
        needs
    }

    fn provider(&self, module: &Module<'_>) -> Option<Provider> {
        let file = module.image.location.file();
        let path = module.path.clone().unwrap_or_else(|| file.into());
        let library = match self.inputs.get(module.input) {
            Some(input) => input.library_name()?.to_owned(),
            // One that comes with offkit, or that such a one needs: nobody has named it.
            None => {
                let stem = path.file_stem()?.to_string_lossy();
                let name = stem.strip_prefix("lib").unwrap_or(&stem);
                // Behind it is what the file is for, as in `libm-nvptx64.bc`.
                name.split('-').next()?.to_owned()
            }
        };
        Some(Provider { library, path })
    }
}

/// Who needs a symbol, and what supplies it.
struct Need {
    by: Vec<String>,
    provider: Option<Provider>,
}
