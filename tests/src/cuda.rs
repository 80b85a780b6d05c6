//! CUDA's own tools, from their Python packages.

use std::path::{Path, PathBuf};

use crate::packages::Package;
use crate::{Folder, skip, tool};

/// The compiler's package: `ptxas`, `fatbinary`, libdevice.
pub const NVCC: Package = Package {
    name: "nvidia-cuda-nvcc==13.5.37",
    python: "3.11",
};

/// The last compiler that knows the processors before sm_75.
const NVCC_12: Package = Package {
    name: "nvidia-cuda-nvcc-cu12==12.9.86",
    python: "3.11",
};

/// The package of `cuobjdump`.
pub const CUOBJDUMP: Package = Package {
    name: "nvidia-cuda-cuobjdump==13.5.37",
    python: "3.11",
};

/// CUDA's compiler as a library.
const NVRTC: Package = Package {
    name: "nvidia-cuda-nvrtc==13.5.37",
    python: "3.11",
};

/// The package of the linker of LTO-IR.
pub const NVJITLINK: Package = Package {
    name: "nvidia-nvjitlink==13.5.37",
    python: "3.11",
};

/// The package of `cuda.h`, of the version that the driver's newest functions in use are in.
pub const RUNTIME: Package = Package {
    name: "nvidia-cuda-runtime-cu12==12.8.90",
    python: "3.11",
};

/// CUDA's assembler and the program that makes fatbins.
#[derive(Debug)]
pub struct Cuda {
    /// `ptxas`.
    pub ptxas: PathBuf,
    /// `fatbinary`.
    pub fatbinary: PathBuf,
}

impl Cuda {
    /// The tools; `None`, loudly, if they cannot be had here.
    #[must_use]
    pub fn get() -> Option<Self> {
        if std::env::consts::ARCH != "x86_64" {
            skip("CUDA's tools are for x86-64");
            return None;
        }
        Some(Self {
            ptxas: NVCC.file("/bin/ptxas")?,
            fatbinary: NVCC.file("/bin/fatbinary")?,
        })
    }

    /// CUDA 12's assembler, for processors before sm_75.
    #[must_use]
    pub fn ptxas_12() -> Option<PathBuf> {
        NVCC_12.file("/bin/ptxas")
    }

    /// Assembles PTX to a cubin; what ptxas says of it.
    pub fn cubin(&self, folder: &Folder, ptx: &str, arch: &str, cubin: &str, options: &[&str]) -> String {
        let arch = format!("-arch={arch}");
        let words = [arch.as_str(), ptx, "-o", cubin];
        let outcome = folder.run(&self.ptxas, words.iter().chain(options));
        assert_eq!(outcome.code, 0, "{outcome:#?}");
        outcome.stderr + &outcome.stdout
    }

    /// Makes a fatbin of images, each a kind (`elf` or `ptx`), an architecture and a file.
    pub fn fatbin(&self, folder: &Folder, fatbin: &str, options: &[&str], images: &[(&str, &str, String)]) {
        let images = images.iter().map(|(kind, arch, file)| {
            let number = arch.trim_start_matches("sm_");
            format!("--image3=kind={kind},sm={number},file={file}")
        });
        let first = ["--create", fatbin, "--64"];
        let options = first.iter().chain(options);
        let words = options.map(|option| (*option).to_owned()).chain(images);
        folder.run::<String>(&self.fatbinary, words).ok();
    }
}

/// CUDA's compiler as a library; `None`, loudly, if it cannot be had here. A test that has another process compile asks
/// before: two processes would fetch it at the same time.
#[must_use]
pub fn nvrtc() -> Option<PathBuf> {
    if std::env::consts::ARCH != "x86_64" {
        skip("CUDA's tools are for x86-64");
        return None;
    }
    NVRTC.file("/libnvrtc-builtins.so.13.5")?;
    NVRTC.file("/libnvrtc.so.13")
}

/// LTO-IR for sm_80 that CUDA's compiler makes of CUDA C++; `None`, loudly, if it cannot be had here.
#[must_use]
pub fn lto_ir(folder: &Folder, source: &str) -> Option<Vec<u8>> {
    const SCRIPT: &str = r#"
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
source = open("k.cu", "rb").read()
program, size = ctypes.c_void_p(), ctypes.c_size_t()
options = (ctypes.c_char_p * 3)(b"-arch=sm_80", b"-dlto", b"-rdc=true")
assert library.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None) == 0
assert library.nvrtcCompileProgram(program, 3, options) == 0
assert library.nvrtcGetLTOIRSize(program, ctypes.byref(size)) == 0
code = ctypes.create_string_buffer(size.value)
assert library.nvrtcGetLTOIR(program, code) == 0
open("k.ltoir", "wb").write(code.raw)"#;
    let library = nvrtc()?;
    let python = tool("python3")?;
    folder.write("k.cu", source);
    folder
        .run(python, [Path::new("-c"), Path::new(SCRIPT), &library])
        .ok();
    Some(folder.read("k.ltoir"))
}
