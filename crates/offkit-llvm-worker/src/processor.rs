//! The processor that functions are compiled for, an attribute of each.

use std::collections::BTreeMap;
use std::ffi::c_uint;

use llvm_sys::core::{LLVMGetStringAttributeAtIndex, LLVMRemoveStringAttributeAtIndex};

use crate::module::{FUNCTION_ATTRIBUTES, Global, Module, add_attribute};

/// The attributes that say it: the processor, its features, and the one that instructions are ordered for.
const ATTRIBUTES: [&str; 3] = ["target-cpu", FEATURES, "tune-cpu"];
const FEATURES: &str = "target-features";

/// The newest version of PTX that a module's functions are compiled for, as LLVM's features have it: 63 of `+ptx63`.
/// LLVM generates PTX of one version, which it does not look for in functions.
pub(crate) fn newest_ptx(module: &Module) -> Option<u32> {
    let functions = module.globals().filter(|global| global.is_function());
    functions
        .filter_map(|function| ptx_version(&function.string_attributes(FUNCTION_ATTRIBUTES)))
        .max()
}

fn ptx_version(attributes: &BTreeMap<String, String>) -> Option<u32> {
    attributes.get(FEATURES).and_then(|features| version_in(features))
}

fn version_in(features: &str) -> Option<u32> {
    let versions = features
        .split(',')
        .filter_map(|feature| feature.strip_prefix("+ptx")?.parse().ok());
    versions.max()
}

/// What a module's code says of the processor: the values of these attributes.
#[derive(Clone, Debug, Default)]
pub struct Processor([Option<String>; 3]);

impl Processor {
    /// That of the first function that says one.
    pub fn of(module: &Module) -> Self {
        let functions = module
            .globals()
            .filter(|global| global.is_function() && !global.is_declaration());
        for function in functions {
            let attributes = function.string_attributes(FUNCTION_ATTRIBUTES);
            if attributes.contains_key(ATTRIBUTES[0]) {
                return Self(ATTRIBUTES.map(|name| attributes.get(name).cloned()));
            }
        }
        Self::default()
    }

    /// Has these functions of a module, which come from a library, compiled for this processor. A library may be built
    /// for another one, whose code is part of this one's; left as it is it would not be inlined.
    pub(crate) fn adopt<'a>(&self, module: &Module, functions: impl Iterator<Item = Global<'a>>) {
        for function in functions {
            let raw = function.as_raw();
            let size = |text: &str| c_uint::try_from(text.len()).unwrap_or(0);
            let name = ATTRIBUTES[0];
            // SAFETY: a function that is alive with its module, and strings whose lengths are given.
            let says_none = unsafe {
                LLVMGetStringAttributeAtIndex(raw, FUNCTION_ATTRIBUTES, name.as_ptr().cast(), size(name))
                    .is_null()
            };
            if says_none {
                continue;
            }
            let ptx = ptx_version(&function.string_attributes(FUNCTION_ATTRIBUTES));
            for (name, value) in ATTRIBUTES.iter().zip(&self.0) {
                // SAFETY: as above.
                unsafe {
                    LLVMRemoveStringAttributeAtIndex(
                        raw,
                        FUNCTION_ATTRIBUTES,
                        name.as_ptr().cast(),
                        size(name),
                    );
                }
                // What the code says nothing of is taken away all the same: LLVM compares these
                // attributes before it inlines.
                let Some(value) = value else { continue };
                match ptx {
                    // The version of PTX is the code's own, and that of the whole the highest.
                    Some(ptx) if *name == FEATURES && version_in(value) < Some(ptx) => {
                        add_attribute(module, &function, name, &format!("{value},+ptx{ptx}"));
                    }
                    _ => add_attribute(module, &function, name, value),
                }
            }
        }
    }
}
