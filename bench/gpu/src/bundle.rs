//! What `./dev gpu --prepare` makes, as it lies on the disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// The processors that there is code for, oldest first.
pub(crate) const PROCESSORS: [u32; 3] = [75, 80, 90];

/// The folder `code` of a bundle.
pub(crate) struct Code {
    folder: PathBuf,
    capability: u32,
}

/// Where a module comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// offkit, from SPIR-V.
    Offkit,
    /// nvcc.
    Nvcc,
    /// nvcc that was told that pointers don't lead to the same memory.
    NvccRestrict,
}

impl Compiler {
    pub(crate) const ALL: [Compiler; 3] = [Compiler::Offkit, Compiler::Nvcc, Compiler::NvccRestrict];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Compiler::Offkit => "offkit",
            Compiler::Nvcc => "nvcc",
            Compiler::NvccRestrict => "nvcc-restrict",
        }
    }
}

impl Code {
    pub(crate) fn new(bundle: &Path, capability: u32) -> Code {
        Code {
            folder: bundle.join("code"),
            capability,
        }
    }

    /// The newest processor with code that this device runs as PTX.
    fn processor(&self) -> Result<u32> {
        let fits = PROCESSORS
            .iter()
            .rev()
            .find(|processor| **processor <= self.capability);
        let fits = fits.ok_or_else(|| {
            format!(
                "the bundle has no code for sm_{}: the oldest is for sm_{}",
                self.capability, PROCESSORS[0]
            )
        });
        Ok(*fits?)
    }

    /// The file of PTX that offkit made of SPIR-V: `kernels` or `stress`.
    pub(crate) fn ptx(&self, name: &str) -> Result<PathBuf> {
        Ok(self.folder.join(format!("{name}.sm_{}.ptx", self.processor()?)))
    }

    /// The kernels by a compiler: nvcc's machine code where there is some for this device, else its PTX. `None` if the
    /// bundle was made without nvcc.
    pub(crate) fn kernels(&self, compiler: Compiler) -> Result<Option<(PathBuf, Vec<u8>)>> {
        let name = compiler.name();
        let candidates = match compiler {
            Compiler::Offkit => vec![self.ptx("kernels")?],
            _ => {
                // A cubin runs on later processors of the same generation.
                let cubins = PROCESSORS.iter().rev().filter(|processor| {
                    **processor / 10 == self.capability / 10 && **processor <= self.capability
                });
                let cubins = cubins.map(|processor| self.folder.join(format!("{name}.sm_{processor}.cubin")));
                cubins.chain([self.folder.join(format!("{name}.ptx"))]).collect()
            }
        };
        match candidates.into_iter().find(|path| path.exists()) {
            Some(path) => {
                let code = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Some((path, code)))
            }
            None if compiler == Compiler::Offkit => Err(format!(
                "{} is not there: ./dev gpu --prepare makes it",
                self.ptx("kernels")?.display()
            )
            .into()),
            None => Ok(None),
        }
    }
}
