//! Post-link planning: how a linked device module is cut into images.
//!
//! Pure data in, pure data out: a [`ModuleSummary`] says what there is, a [`Plan`] says which
//! symbols go where. Cutting the module along the plan is LLVM's work, in the worker.

use std::collections::BTreeMap;
use std::str::FromStr;

use offkit_worker::ModuleSummary;

use crate::symbols::{exported_functions, exported_variables};

/// How a module is split into images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitMode {
    /// One image with everything.
    None,
    /// An image for each source file: its kernels and its exported symbols. An exported symbol of
    /// another source file is imported from that file's image.
    #[default]
    Source,
    /// An image for each kernel, holding all that the kernel needs, and one for each source file's
    /// exported symbols, if it has any. What both need is in both, and exported from the latter.
    Kernel,
}

impl FromStr for SplitMode {
    type Err = String;

    /// The names of `sycl-post-link`'s option; `auto` is by source.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" | "off" => Ok(Self::None),
            "auto" | "source" => Ok(Self::Source),
            "kernel" => Ok(Self::Kernel),
            _ => Err(format!(
                "`{name}` is no way of splitting: expected `auto`, `source`, `kernel` or `none`"
            )),
        }
    }
}

/// What goes into each image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The images, in the order in which their first symbol stands in the module.
    pub images: Vec<PlannedImage>,
}

/// What goes into one image, by symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedImage {
    /// Its kernels.
    pub kernels: Vec<String>,
    /// The functions and variables it exports.
    pub exports: Vec<String>,
    /// Exported symbols of other images, which it imports where it needs them instead of having a
    /// copy.
    pub left_out: Vec<String>,
}

impl PlannedImage {
    /// All symbols that stay visible.
    pub fn roots(&self) -> Vec<String> {
        self.kernels.iter().chain(&self.exports).cloned().collect()
    }
}

/// Plans the images of a linked module.
///
/// `sources` tells which source file each symbol comes from, by name; a symbol that is not in it
/// counts as coming from one nameless file. Nothing is planned for a module that has neither
/// kernels nor exported symbols.
pub fn plan(module: &ModuleSummary, sources: &BTreeMap<String, String>, split: SplitMode) -> Plan {
    let kernels = module.kernels().map(|function| (function.name.as_str(), true));
    let functions = exported_functions(module).map(|function| (function.name.as_str(), false));
    let variables = exported_variables(module).map(|variable| (variable.name.as_str(), false));

    let mut groups: Vec<(Key<'_>, PlannedImage)> = Vec::new();
    for (name, is_kernel) in kernels.chain(functions).chain(variables) {
        let source = sources.get(name).map(String::as_str).unwrap_or_default();
        let key = match split {
            SplitMode::None => Key::All,
            SplitMode::Kernel if is_kernel => Key::Kernel(name),
            SplitMode::Source | SplitMode::Kernel => Key::Source(source),
        };
        let index = groups
            .iter()
            .position(|(other, _)| *other == key)
            .unwrap_or_else(|| {
                groups.push((key, PlannedImage::default()));
                groups.len() - 1
            });
        let image = &mut groups[index].1;
        if is_kernel {
            &mut image.kernels
        } else {
            &mut image.exports
        }
        .push(name.to_owned());
    }

    let exports: Vec<String> = groups
        .iter()
        .flat_map(|(_, image)| image.exports.clone())
        .collect();
    let images = groups
        .into_iter()
        .map(|(key, mut image)| {
            if let Key::Source(_) = key {
                image.left_out = exports
                    .iter()
                    .filter(|name| !image.exports.contains(name))
                    .cloned()
                    .collect();
            }
            image
        })
        .collect();
    Plan { images }
}

/// What the symbols of one image have in common.
#[derive(PartialEq)]
enum Key<'a> {
    All,
    Source(&'a str),
    Kernel(&'a str),
}

#[cfg(test)]
mod tests {
    use offkit_worker::{CallingConvention, FunctionSummary};

    use super::*;

    fn module() -> (ModuleSummary, BTreeMap<String, String>) {
        let function = |name: &str, calling_convention| FunctionSummary {
            name: name.into(),
            calling_convention,
            ..FunctionSummary::default()
        };
        let symbols = [
            ("k1", CallingConvention::Kernel, "a.cl"),
            ("scale", CallingConvention::Function, "b.cl"),
            ("k2", CallingConvention::Kernel, "b.cl"),
            ("twice", CallingConvention::Function, "a.cl"),
            ("k3", CallingConvention::Kernel, "a.cl"),
        ];
        let functions = symbols
            .iter()
            .map(|(name, convention, _)| function(name, *convention))
            .collect();
        let sources = symbols
            .iter()
            .map(|(name, _, source)| (name.to_string(), source.to_string()))
            .collect();
        (
            ModuleSummary {
                functions,
                ..ModuleSummary::default()
            },
            sources,
        )
    }

    fn planned(split: SplitMode) -> Vec<(String, String, String)> {
        let (module, sources) = module();
        plan(&module, &sources, split)
            .images
            .iter()
            .map(|image| {
                (
                    image.kernels.join(" "),
                    image.exports.join(" "),
                    image.left_out.join(" "),
                )
            })
            .collect()
    }

    fn image(kernels: &str, exports: &str, left_out: &str) -> (String, String, String) {
        (kernels.into(), exports.into(), left_out.into())
    }

    #[test]
    fn without_splitting_all_is_in_one_image() {
        assert_eq!(planned(SplitMode::None), [image("k1 k2 k3", "scale twice", "")]);
    }

    #[test]
    fn by_source_each_file_imports_what_the_others_export() {
        assert_eq!(
            planned(SplitMode::Source),
            [image("k1 k3", "twice", "scale"), image("k2", "scale", "twice")]
        );
    }

    #[test]
    fn by_kernel_each_kernel_is_self_contained() {
        assert_eq!(
            planned(SplitMode::Kernel),
            [
                image("k1", "", ""),
                image("k2", "", ""),
                image("k3", "", ""),
                image("", "scale", "twice"),
                image("", "twice", "scale"),
            ]
        );
    }

    #[test]
    fn every_symbol_is_exported_once() {
        for split in [SplitMode::None, SplitMode::Source, SplitMode::Kernel] {
            let (module, sources) = module();
            let mut roots: Vec<_> = plan(&module, &sources, split)
                .images
                .iter()
                .flat_map(PlannedImage::roots)
                .collect();
            roots.sort();
            assert_eq!(roots, ["k1", "k2", "k3", "scale", "twice"], "{split:?}");
        }
    }

    #[test]
    fn a_module_without_anything_to_see_makes_no_image() {
        assert_eq!(
            plan(&ModuleSummary::default(), &BTreeMap::new(), SplitMode::None),
            Plan::default()
        );
    }

    #[test]
    fn a_wrong_mode_lists_the_right_ones() {
        assert!("sources".parse::<SplitMode>().unwrap_err().contains("`kernel`"));
        assert_eq!("auto".parse(), Ok(SplitMode::Source));
    }
}
