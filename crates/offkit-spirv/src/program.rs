//! SPIR-V as a host hands it to a device: a program whose specialization constants get values, and that is linked with
//! others. What is asked of every device that compiles SPIR-V has its answer here.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{LinkError, LinkInput, LinkOptions, Module, ReadError, link, reflect, specialize};

/// The versions of SPIR-V that are compiled, the newest first, as OpenCL's devices say them.
pub const IL_VERSION: &str = "SPIR-V_1.6 SPIR-V_1.5 SPIR-V_1.4 SPIR-V_1.3 SPIR-V_1.2 SPIR-V_1.1 SPIR-V_1.0";

/// A module as a host hands it over. It is read when it is compiled, where there is a log to write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    spirv: Vec<u8>,
}

/// What is wrong with a program, or with what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It is something else.
    #[error("this is no SPIR-V: it does not start with its magic number")]
    NotSpirv,
    /// It cannot be read.
    #[error("not valid SPIR-V: {0}")]
    Read(#[from] ReadError),
    /// It has no constant of that number.
    #[error("there is no specialization constant {id}")]
    NoConstant {
        /// The number, which `SpecId` decorates constants with.
        id: u32,
    },
    /// The constant has another size.
    #[error("specialization constant {id} has {expected} bytes, the value given has {found}")]
    ConstantSize {
        /// Its number.
        id: u32,
        /// Its size in bytes.
        expected: u64,
        /// The size of the value.
        found: usize,
    },
}

impl Program {
    /// A module of bytes in either order.
    ///
    /// # Errors
    ///
    /// [`ProgramError::NotSpirv`]: nothing but the first word is looked at.
    pub fn new(spirv: &[u8]) -> Result<Self, ProgramError> {
        match spirv {
            [0x03, 0x02, 0x23, 0x07, ..] | [0x07, 0x23, 0x02, 0x03, ..] => Ok(Self {
                spirv: spirv.to_vec(),
            }),
            _ => Err(ProgramError::NotSpirv),
        }
    }

    /// A value for a specialization constant as [`specialized`](Self::specialized) takes it, from its bytes, the lowest
    /// first.
    ///
    /// # Errors
    ///
    /// That there is no such constant, or that it has another size.
    pub fn constant(&self, id: u32, value: &[u8]) -> Result<u64, ProgramError> {
        let constants = reflect(&Module::from_bytes(&self.spirv)?).specialization_constants;
        let constant = constants.iter().find(|constant| constant.id == id);
        let constant = constant.ok_or(ProgramError::NoConstant { id })?;
        // An error in OpenCL, too: cut off or filled up, the value would be another one.
        if constant.size != value.len() as u64 {
            return Err(ProgramError::ConstantSize {
                id,
                expected: constant.size,
                found: value.len(),
            });
        }
        let bits = value.iter().rev();
        Ok(bits.fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }

    /// The module, in which specialization constants have these values, as bits, for good, and the others their defaults.
    /// Each module numbers its constants for itself, so they get their values before modules are linked.
    ///
    /// # Errors
    ///
    /// That it cannot be read.
    pub fn specialized(&self, values: &HashMap<u32, u64>) -> Result<Module, ProgramError> {
        let mut module = Module::from_bytes(&self.spirv)?;
        specialize(&mut module, values);
        Ok(module)
    }
}

/// Modules that were linked, with the symbols that none of them has. The device may have those: compilers leave some
/// built-in functions to it as imports.
#[derive(Debug, Clone)]
pub struct LinkedPrograms {
    /// The module.
    pub module: Module,
    unresolved: Option<LinkError>,
}

/// Links the modules of programs, into a library if that is asked for, which keeps its exports and may have imports.
///
/// # Errors
///
/// What cannot be joined. A symbol that is missing is no error yet.
pub fn link_programs(modules: &[Arc<Module>], is_library: bool) -> Result<LinkedPrograms, LinkError> {
    let labels: Vec<String> = (0..modules.len())
        .map(|index| format!("program {index}"))
        .collect();
    let inputs = modules.iter().zip(&labels);
    let inputs: Vec<LinkInput<'_>> = inputs
        .map(|(module, label)| LinkInput { label, module })
        .collect();
    let options = LinkOptions::default().with_keep_exports(is_library);
    match link(&inputs, options.with_allow_unresolved(is_library)) {
        Ok(module) => Ok(LinkedPrograms {
            module,
            unresolved: None,
        }),
        Err(unresolved @ LinkError::Unresolved(_)) => Ok(LinkedPrograms {
            // Once more: the first attempt gave no module, but tells by which calls each symbol is needed.
            module: link(&inputs, options.with_allow_unresolved(true))?,
            unresolved: Some(unresolved),
        }),
        Err(error) => Err(error),
    }
}

impl LinkedPrograms {
    /// All that is known of a symbol that the device does not have either: who needs it, and by which calls.
    #[must_use]
    pub fn unresolved(&self, name: &str) -> Option<String> {
        let Some(LinkError::Unresolved(symbols)) = &self.unresolved else {
            return None;
        };
        let symbol = symbols.iter().find(|symbol| symbol.name == name)?;
        Some(format!("unresolved symbol: {symbol}"))
    }

    /// The symbols that no module has.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let symbols = match &self.unresolved {
            Some(LinkError::Unresolved(symbols)) => symbols.as_slice(),
            _ => &[],
        };
        symbols.iter().map(|symbol| symbol.name.as_str())
    }
}
