//! CUDA's own tools, from their Python packages.

use std::path::PathBuf;

use crate::packages::Package;
use crate::{Folder, skip};

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
