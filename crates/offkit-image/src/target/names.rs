//! How targets are written: by compilers, by containers, in names of files and on command lines.

use super::family::Family;
use super::triple::System;
use super::{Target, amd, intel, nvidia};

/// The usual triples.
pub mod triples {
    /// SPIR-V with 64-bit pointers for any device.
    pub const SPIRV64: &str = "spirv64-unknown-unknown";
    /// SPIR-V with 32-bit pointers for any device.
    pub const SPIRV32: &str = "spirv32-unknown-unknown";
    /// SPIR-V without pointers that have a width.
    pub const SPIRV_LOGICAL: &str = "spirv-unknown-unknown";
    /// SPIR-V that ROCm compiles for AMD's GPUs.
    pub const SPIRV64_AMD: &str = "spirv64-amd-amdhsa";
    /// NVIDIA's GPUs.
    pub const NVPTX64: &str = "nvptx64-nvidia-cuda";
    /// NVIDIA's GPUs with 32-bit pointers.
    pub const NVPTX32: &str = "nvptx-nvidia-cuda";
    /// AMD's GPUs, with nothing said of the system.
    pub const AMDGCN: &str = "amdgcn";
    /// AMD's GPUs with ROCm.
    pub const AMDHSA: &str = "amdgcn-amd-amdhsa";
    /// AMD's GPUs with PAL.
    pub const AMDPAL: &str = "amdgcn-amd-amdpal";
    /// AMD's GPUs with Mesa.
    pub const MESA3D: &str = "amdgcn-amd-mesa3d";
    /// Linux on x86 with 64 bits.
    pub const X86_64_LINUX: &str = "x86_64-unknown-linux-gnu";
    /// Linux on ARM with 64 bits.
    pub const AARCH64_LINUX: &str = "aarch64-unknown-linux-gnu";
}

/// What DPC++'s device binaries have as target when it is not known.
const UNKNOWN_SYCL_NAME: &str = "<unknown>";

impl Target {
    /// The target that a name stands for, in any of the spellings in use:
    ///
    /// - a processor: `sm_60`, `gfx90a:xnack+`, `gfx9-generic`;
    /// - DPC++'s names of devices: `nvidia_gpu_sm_80`, `amd_gpu_gfx90a`, `intel_gpu_pvc`;
    /// - a short name of an architecture: `nvptx`, `amdgcn`, `spirv64`, `spir64`;
    /// - a triple;
    /// - a triple or short name with a processor: `amdgcn,gfx90a`, `nvptx64-nvidia-cuda,arch=sm_60`.
    ///
    /// Any other text becomes a triple as it is.
    ///
    /// ```
    /// use offkit_image::Target;
    ///
    /// let target = Target::new("nvptx64-nvidia-cuda", "sm_80");
    /// for name in ["sm_80", "nvidia_gpu_sm_80", "nvptx,sm_80", "nvptx64-nvidia-cuda,arch=sm_80"] {
    ///     assert_eq!(Target::named(name), target);
    /// }
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Self {
        if let Some((triple, arch)) = name.split_once(',') {
            // No deeper than this: what stands before the first comma has none.
            let Self { triple, .. } = Self::named(triple);
            return Self::new(triple, arch.strip_prefix("arch=").unwrap_or(arch));
        }
        for (prefix, triple) in [
            ("nvidia_gpu_", triples::NVPTX64),
            ("amd_gpu_", triples::AMDHSA),
            // Compiled for that GPU when it is loaded, or ahead of time from the same code.
            (intel::PREFIX, triples::SPIRV64),
        ] {
            if let Some(arch) = name.strip_prefix(prefix) {
                return Self::new(triple, arch);
            }
        }
        // Before the short names: what looks like a processor is one, whether it is known or not.
        if Self::is_processor_name(name) {
            return Self::of_processor(name);
        }
        let triple = match name {
            "nvptx" | "nvptx64" => triples::NVPTX64,
            "amdgcn" | "amdgpu" => triples::AMDHSA,
            "spirv" | "spirv64" | "spir64" => triples::SPIRV64,
            "spirv32" | "spir" => triples::SPIRV32,
            "x86_64" => triples::X86_64_LINUX,
            "aarch64" => triples::AARCH64_LINUX,
            other => other,
        };
        Self::new(triple, "")
    }

    /// The target that a processor is of: NVIDIA's and AMD's by their names; all else is taken for a device of
    /// Intel's, for which SPIR-V is compiled.
    #[must_use]
    pub fn of_processor(name: &str) -> Self {
        let triple = if name == amd::SPIRV_PROCESSOR {
            triples::SPIRV64_AMD
        } else if nvidia::number_of(name).is_some() {
            triples::NVPTX64
        } else if amd::number_of(name).is_some() {
            triples::AMDHSA
        } else {
            triples::SPIRV64
        };
        Self::new(triple, name)
    }

    /// The target that one of SYCL's device binaries names, as [`sycl_name`](Self::sycl_name) writes it.
    #[must_use]
    pub fn of_sycl_name(name: &str) -> Self {
        match name {
            UNKNOWN_SYCL_NAME => Self::default(),
            name => Self::new(name, ""),
        }
    }

    /// Whether a word is the name of a processor of NVIDIA's or AMD's, perhaps with features: it may stand
    /// where a triple may, and never begins one.
    #[must_use]
    pub fn is_processor_name(word: &str) -> bool {
        let number = nvidia::number_of(word).or_else(|| amd::number_of(word));
        let is_numbered =
            number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()));
        is_numbered || word == amd::SPIRV_PROCESSOR
    }

    /// The same target with the usual triple where its own is another spelling of that: `spir64` and
    /// `spirv64-unknown` become `spirv64-unknown-unknown`. What says more, such as a version of SPIR-V or a
    /// vendor, stays.
    #[must_use]
    pub fn with_usual_triple(mut self) -> Self {
        let parts = self.parts();
        let usual = match (self.family(), parts.system()) {
            (Family::Spirv64, System::Open)
                if parts.spirv_version().is_none() && matches!(parts.vendor(), "" | "unknown" | "pc") =>
            {
                triples::SPIRV64
            }
            (Family::Nvptx64, System::Open | System::Cuda) => triples::NVPTX64,
            (Family::Amdgcn, System::Open | System::AmdHsa) => triples::AMDHSA,
            _ => return self,
        };
        self.triple = usual.into();
        self
    }

    /// The triple that LLVM generates code for: with that version of SPIR-V, where it is such.
    #[must_use]
    pub fn code_generation_triple(&self, spirv_version: (u8, u8)) -> String {
        let (major, minor) = spirv_version;
        match self.family() {
            Family::Spirv64 => format!("spirv64v{major}.{minor}-unknown-unknown"),
            Family::Spirv32 => format!("spirv32v{major}.{minor}-unknown-unknown"),
            _ => self.triple.to_string(),
        }
    }

    /// The target of SPIR-V that was generated for this one: without processor and version.
    #[must_use]
    pub fn as_generated_spirv(&self) -> Self {
        match self.family() {
            Family::Spirv32 => Self::new(triples::SPIRV32, ""),
            _ => Self::new(triples::SPIRV64, ""),
        }
    }

    /// The name that DPC++'s runtimes know a target by, which its device binaries have: `spir64`, `spir`,
    /// `spir64_gen`, `nvptx64`, `amdgcn`.
    ///
    /// What a driver of Intel's made of SPIR-V is for a processor, but has SPIR-V's triple where the SYCL runtime wrote it. The
    /// processor is that runtime's word for the device: `x86_64`, or `intel_cpu_spr` for one that it knows better.
    ///
    /// ```
    /// use offkit_image::Target;
    ///
    /// assert_eq!(Target::new("spir64-unknown-unknown", "").sycl_name(), "spir64");
    /// assert_eq!(Target::new("spir64-unknown-unknown", "x86_64").sycl_name(), "spir64_x86_64");
    /// assert_eq!(Target::new("spir64-unknown-unknown", "intel_cpu_spr").sycl_name(), "spir64_x86_64");
    /// ```
    #[must_use]
    pub fn sycl_name(&self) -> &str {
        match (self.family(), self.parts().architecture()) {
            (Family::Spirv64, _) if self.arch == "x86_64" || self.arch.starts_with("intel_cpu") => {
                "spir64_x86_64"
            }
            (Family::Spirv64, _) if self.arch.starts_with("intel_gpu") => "spir64_gen",
            (Family::Spirv64, _) => "spir64",
            (Family::Spirv32, _) => "spir",
            (_, "") => UNKNOWN_SYCL_NAME,
            (_, architecture) => architecture,
        }
    }

    /// Triple and architecture in one word, as `--target` takes it.
    #[must_use]
    pub fn option_value(&self) -> String {
        match self.arch_with_features() {
            arch if arch.is_empty() => self.triple.to_string(),
            arch => format!("{},arch={arch}", self.triple),
        }
    }

    /// A target as `--target` takes it: `TRIPLE[,arch=ARCH][,features=A,B]`. The triple stays as it is written.
    ///
    /// # Errors
    ///
    /// What was expected instead.
    pub fn from_option_value(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let triple = parts.next().filter(|triple| !triple.is_empty());
        let mut target = Self::new(triple.ok_or("expected a target triple")?, "");
        let mut in_features = false;
        for part in parts {
            match part.split_once('=') {
                Some(("arch", arch)) => {
                    // AMD's processors may have features behind them here as well: `gfx90a:xnack+`.
                    let given = Self::new("", arch);
                    target.arch = given.arch;
                    target.features.extend(given.features);
                    in_features = false;
                }
                Some(("features", feature)) => {
                    target.features.push(feature.to_owned());
                    in_features = true;
                }
                // Features are between commas, too: until the next key every part is one of them.
                None if in_features => target.features.push(part.to_owned()),
                _ => return Err(format!("`{part}`: expected arch=… or features=…")),
            }
        }
        target.features.retain(|feature| !feature.is_empty());
        Ok(target)
    }

    /// Triple and architecture in one word, for names of files.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self.arch_with_features() {
            arch if arch.is_empty() => self.triple.to_string(),
            // Windows allows no colons in the names of files.
            arch => format!("{}-{arch}", self.triple).replace(':', "-"),
        }
    }

    /// The shortest name that [`named`](Self::named) understands.
    #[must_use]
    pub fn short_name(&self) -> String {
        if !self.arch.is_empty() {
            self.arch_with_features()
        } else if self.family().is_spirv() {
            self.library_architecture().to_owned()
        } else {
            self.triple.to_string()
        }
    }

    /// The name of the architecture in the file names of device libraries: `nvptx` for `nvptx64-nvidia-cuda`,
    /// `amdgcn`, `spirv64`; for a target without a name of its own, the first part of its triple.
    #[must_use]
    pub fn library_architecture(&self) -> &str {
        match self.family() {
            Family::Nvptx64 | Family::Nvptx32 => "nvptx",
            Family::Amdgcn => "amdgcn",
            Family::Spirv64 => "spirv64",
            Family::Spirv32 => "spirv32",
            _ => self.parts().architecture(),
        }
    }

    /// Whether the triple is spelt as DPC++'s front end spells it: `spir64`, where clang's has `spirv64`.
    #[must_use]
    pub fn is_spelt_by_dpcpp(&self) -> bool {
        matches!(self.parts().architecture(), "spir64" | "spir")
    }

    /// All names that the architecture may have in the file name of a device library, the usual one first.
    #[must_use]
    pub fn library_architectures(&self) -> Vec<String> {
        let others: &[&str] = match self.family() {
            Family::Nvptx64 | Family::Nvptx32 => &["nvptx64", triples::NVPTX64],
            Family::Amdgcn => &["amdgpu", triples::AMDHSA],
            Family::Spirv64 => &["spirv", "spir64", triples::SPIRV64, "spir64-unknown-unknown"],
            Family::Spirv32 => &["spir", triples::SPIRV32, "spir-unknown-unknown"],
            _ => &[],
        };
        let mut names: Vec<String> = vec![self.library_architecture().to_owned()];
        for name in others.iter().copied().chain([self.triple.as_str()]) {
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The names of the folders that compilers keep a target's libraries in: the triple as it is written, and
    /// as clang writes it.
    #[must_use]
    pub fn library_folders(&self) -> Vec<&str> {
        let usual: &[&str] = match self.family() {
            Family::Nvptx64 | Family::Nvptx32 => &[triples::NVPTX64],
            Family::Amdgcn => &[triples::AMDHSA],
            Family::Spirv64 => &[triples::SPIRV64, "spirv64"],
            Family::Spirv32 => &[triples::SPIRV32, "spirv32"],
            _ => &[],
        };
        let mut folders = vec![self.triple.as_str()];
        folders.extend(usual.iter().copied().filter(|folder| *folder != self.triple));
        folders.retain(|folder| !folder.is_empty());
        folders
    }

    /// The triples after which LLVM's libclc names its files.
    #[must_use]
    pub fn libclc_triples(&self) -> Vec<&str> {
        match self.family() {
            Family::Nvptx64 | Family::Nvptx32 => {
                vec![triples::NVPTX64, "nvptx64--nvidiacl", "nvptx64--"]
            }
            Family::Amdgcn => vec![triples::AMDHSA, "amdgcn--"],
            Family::Spirv64 => vec!["spirv64--", "spirv64-mesa3d-"],
            Family::Spirv32 => vec!["spirv--", "spirv-mesa3d-"],
            _ => vec![&self.triple],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_and_triples_are_the_same_target() {
        for (name, expected) in [
            ("nvptx", "nvptx64-nvidia-cuda"),
            ("nvptx64", "nvptx64-nvidia-cuda"),
            ("sm_60", "nvptx64-nvidia-cuda-sm_60"),
            ("nvidia_gpu_sm_80", "nvptx64-nvidia-cuda-sm_80"),
            ("amd_gpu_gfx90a", "amdgcn-amd-amdhsa-gfx90a"),
            ("intel_gpu_pvc", "spirv64-unknown-unknown-pvc"),
            ("gfx9-4-generic", "amdgcn-amd-amdhsa-gfx9-4-generic"),
            ("amdgcnspirv", "spirv64-amd-amdhsa-amdgcnspirv"),
            ("amdgcn,gfx90a", "amdgcn-amd-amdhsa-gfx90a"),
            (
                "amdgcn-amd-amdhsa,arch=gfx90a:xnack+",
                "amdgcn-amd-amdhsa-gfx90a:xnack+",
            ),
            ("spirv64,bmg_g21", "spirv64-unknown-unknown-bmg_g21"),
            ("spirv64", "spirv64-unknown-unknown"),
            ("spir64", "spirv64-unknown-unknown"),
            ("spir", "spirv32-unknown-unknown"),
            ("spir64_gen", "spir64_gen"),
            ("x86_64", "x86_64-unknown-linux-gnu"),
            ("riscv64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"),
        ] {
            assert_eq!(Target::named(name).to_string(), expected);
        }
    }

    #[test]
    fn the_shortest_name_is_understood() {
        for name in [
            "gfx90a:xnack+",
            "sm_60",
            "spirv64",
            "spirv32",
            "riscv64-unknown-linux-gnu",
        ] {
            assert_eq!(Target::named(name).short_name(), name);
        }
    }

    #[test]
    fn other_spellings_become_the_usual_one() {
        for (triple, usual) in [
            ("spir64", triples::SPIRV64),
            ("spir64-unknown-unknown", triples::SPIRV64),
            ("spir64-unknown-unknown-sycldevice", triples::SPIRV64),
            ("spirv64-intel", "spirv64-intel"),
            ("spirv64v1.4-unknown-unknown", "spirv64v1.4-unknown-unknown"),
            ("spirv64-amd-amdhsa", triples::SPIRV64_AMD),
            ("spir64_gen", "spir64_gen"),
            ("nvptx64", triples::NVPTX64),
            ("nvptx64-nvidia-nvcl", "nvptx64-nvidia-nvcl"),
            ("amdgcn", triples::AMDHSA),
            ("amdgcn-amd-amdhsa-llvm", triples::AMDHSA),
            ("amdgcn-mesa-mesa3d", "amdgcn-mesa-mesa3d"),
            ("x86_64-pc-linux-gnu", "x86_64-pc-linux-gnu"),
        ] {
            assert_eq!(
                Target::new(triple, "").with_usual_triple().triple,
                usual,
                "{triple}"
            );
        }
    }

    #[test]
    fn containers_and_files_have_names_of_their_own() {
        for (triple, sycl, library) in [
            ("spir64-unknown-unknown", "spir64", "spirv64"),
            ("spirv64v1.4-unknown-unknown", "spir64", "spirv64"),
            ("spirv32-unknown-unknown", "spir", "spirv32"),
            ("spir64_gen-unknown-unknown", "spir64_gen", "spir64_gen"),
            ("nvptx64-nvidia-cuda", "nvptx64", "nvptx"),
            ("amdgcn-amd-amdhsa", "amdgcn", "amdgcn"),
            ("x86_64-unknown-linux-gnu", "x86_64", "x86_64"),
            ("", "<unknown>", ""),
        ] {
            let target = Target::new(triple, "");
            assert_eq!(
                (target.sycl_name(), target.library_architecture()),
                (sycl, library),
                "{triple}"
            );
            assert_eq!(Target::of_sycl_name(target.sycl_name()).sycl_name(), sycl);
        }
        let target = Target::new("amdgcn-amd-amdhsa", "gfx90a:xnack+");
        assert_eq!(target.file_name(), "amdgcn-amd-amdhsa-gfx90a-xnack+");
        assert_eq!(target.option_value(), "amdgcn-amd-amdhsa,arch=gfx90a:xnack+");
        assert_eq!(Target::named(&target.option_value()), target);
        assert_eq!(
            Target::from_option_value(&target.option_value()),
            Ok(target.clone())
        );
        assert_eq!(
            Target::from_option_value("amdgcn-amd-amdhsa,features=xnack+,arch=gfx90a"),
            Ok(target)
        );
        assert!(Target::from_option_value("amdgcn-amd-amdhsa,gfx90a").is_err());
        assert!(Target::from_option_value(",arch=gfx90a").is_err());
    }

    #[test]
    fn libraries_are_found_under_every_spelling() {
        assert_eq!(
            Target::new("spir64-unknown-unknown", "").library_architectures(),
            [
                "spirv64",
                "spirv",
                "spir64",
                "spirv64-unknown-unknown",
                "spir64-unknown-unknown"
            ]
        );
        assert_eq!(
            Target::new("spir64-unknown-unknown", "").library_folders(),
            ["spir64-unknown-unknown", "spirv64-unknown-unknown", "spirv64"]
        );
        assert_eq!(
            Target::new("riscv64-unknown-linux-gnu", "").library_architectures(),
            ["riscv64", "riscv64-unknown-linux-gnu"]
        );
        assert_eq!(
            Target::new("spirv32", "").libclc_triples(),
            ["spirv--", "spirv-mesa3d-"]
        );
    }

    #[test]
    fn code_is_generated_for_a_version_of_spirv() {
        let triple = |triple: &str| Target::new(triple, "").code_generation_triple((1, 4));
        assert_eq!(triple("spir64"), "spirv64v1.4-unknown-unknown");
        assert_eq!(
            triple("spirv32v1.0-unknown-unknown"),
            "spirv32v1.4-unknown-unknown"
        );
        assert_eq!(triple("amdgcn-amd-amdhsa"), "amdgcn-amd-amdhsa");
    }

    #[test]
    fn processors_are_told_from_parts_of_triples() {
        for word in [
            "sm_80",
            "compute_90",
            "gfx90a:xnack+",
            "gfx9-4-generic",
            "amdgcnspirv",
        ] {
            assert!(Target::is_processor_name(word), "{word}");
        }
        for word in ["", "amdhsa", "gfx", "sm_", "smart", "cuda", "amdgcn"] {
            assert!(!Target::is_processor_name(word), "{word}");
        }
        assert_eq!(Target::of_processor("bmg_g21").triple, triples::SPIRV64);
    }
}
