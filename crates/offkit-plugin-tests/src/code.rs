//! What the tests launch, as SPIR-V, and as PTX for devices that take no SPIR-V.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use offkit_host::clang;

/// Modules of SPIR-V, made of the OpenCL C in this crate.
#[derive(Debug, Clone)]
pub struct Code {
    /// Kernels.
    pub(crate) kernels: Vec<u8>,
    /// A kernel that writes a specialization constant.
    pub(crate) constant: Vec<u8>,
    /// A kernel that calls a function of the library.
    pub(crate) app: Vec<u8>,
    /// The library.
    pub(crate) library: Vec<u8>,
    /// The kernels as PTX.
    pub(crate) ptx: Option<Vec<u8>>,
}

impl Code {
    /// Compiles it with clang.
    ///
    /// # Errors
    ///
    /// If there is no clang 22, or it fails.
    pub fn compile() -> io::Result<Code> {
        Ok(Code {
            kernels: spirv(include_str!("../kernels/kernels.cl"))?,
            constant: spirv(include_str!("../kernels/constant.cl"))?,
            app: spirv(include_str!("../kernels/app.cl"))?,
            library: spirv(include_str!("../kernels/library.cl"))?,
            ptx: None,
        })
    }

    /// Reads what [`write`](Self::write) wrote, for a machine without clang; and PTX of `kernels.spv`, if somebody has put
    /// it beside that as `kernels.ptx`.
    ///
    /// # Errors
    ///
    /// If a file is missing.
    pub fn read(folder: &Path) -> io::Result<Code> {
        let module = |name: &str| {
            let path = folder.join(format!("{name}.spv"));
            fs::read(&path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        };
        Ok(Code {
            kernels: module("kernels")?,
            constant: module("constant")?,
            app: module("app")?,
            library: module("library")?,
            ptx: fs::read(folder.join("kernels.ptx")).ok(),
        })
    }

    /// Writes the modules to files in a folder.
    ///
    /// # Errors
    ///
    /// If they can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let Self {
            kernels,
            constant,
            app,
            library,
            ptx: _,
        } = self;
        let modules = [
            ("kernels", kernels),
            ("constant", constant),
            ("app", app),
            ("library", library),
        ];
        for (name, module) in modules {
            fs::write(folder.join(format!("{name}.spv")), module)?;
        }
        Ok(())
    }
}

fn spirv(source: &str) -> io::Result<Vec<u8>> {
    let clang = clang::find().map_err(io::Error::other)?;
    let folder = tempfile::tempdir()?;
    let (input, output) = (folder.path().join("code.cl"), folder.path().join("code.spv"));
    fs::write(&input, source)?;
    // An old version of SPIR-V, so that as many devices as possible take it.
    let mut command = Command::new(clang);
    command.args(["--target=spirv64v1.1", "-cl-std=CL3.0", "-O1", "-c"]);
    let ended = command.arg(&input).arg("-o").arg(&output).output()?;
    match ended.status.success() {
        true => fs::read(output),
        false => Err(io::Error::other(String::from_utf8_lossy(&ended.stderr))),
    }
}
