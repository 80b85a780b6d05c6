//! Families of targets: what is common to all spellings and processors of one kind of device.

use std::fmt;

use super::host::HostCpu;
use super::triple::Triple;

/// A family of targets: one instruction set, or one form of portable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Family {
    /// SPIR-V with pointers of 32 bits.
    Spirv32,
    /// SPIR-V with pointers of 64 bits.
    Spirv64,
    /// SPIR-V without physical addresses, as graphics has it.
    SpirvLogical,
    /// PTX and machine code of NVIDIA's, with pointers of 32 bits.
    Nvptx32,
    /// PTX and machine code of NVIDIA's, with pointers of 64 bits.
    Nvptx64,
    /// AMDGPU code objects.
    Amdgcn,
    /// Code that Intel's compiler made ahead of time for a GPU: `spir64_gen`.
    IntelGpu,
    /// Code that Intel's compiler made ahead of time for a CPU: `spir64_x86_64`.
    IntelCpu,
    /// Code that Intel's compiler made ahead of time for an FPGA: `spir64_fpga`.
    IntelFpga,
    /// Code of a host's processor.
    Host(HostCpu),
    /// Nothing that is known, or nothing at all.
    Other,
}

impl Family {
    /// The family of a triple, however it is spelt, or of its first part alone.
    #[must_use]
    pub fn of(triple: &str) -> Self {
        match Triple::new(triple).architecture() {
            // `spir64` is what DPC++'s front end writes; the code is the same.
            "spir64" => Self::Spirv64,
            "spir" => Self::Spirv32,
            "spir64_gen" => Self::IntelGpu,
            "spir64_x86_64" => Self::IntelCpu,
            "spir64_fpga" => Self::IntelFpga,
            "spirv" => Self::SpirvLogical,
            // The version of SPIR-V may follow the name: `spirv64v1.4`.
            name if name.starts_with("spirv64") => Self::Spirv64,
            name if name.starts_with("spirv32") => Self::Spirv32,
            name if name.starts_with("spirv1.") => Self::SpirvLogical,
            "nvptx64" => Self::Nvptx64,
            "nvptx" => Self::Nvptx32,
            "amdgcn" | "amdgpu" => Self::Amdgcn,
            name => HostCpu::of(name).map_or(Self::Other, Self::Host),
        }
    }

    /// Whether its code is SPIR-V.
    #[must_use]
    pub fn is_spirv(self) -> bool {
        matches!(self, Self::Spirv64 | Self::Spirv32 | Self::SpirvLogical)
    }

    /// Whether its modules are written as those for SPIR-V are, with its calling conventions and address
    /// spaces: also what becomes machine code behind it.
    #[must_use]
    pub fn is_written_as_spirv(self) -> bool {
        self.is_spirv() || matches!(self, Self::IntelGpu | Self::IntelCpu | Self::IntelFpga)
    }

    /// Whether its devices are NVIDIA's.
    #[must_use]
    pub fn is_nvptx(self) -> bool {
        matches!(self, Self::Nvptx64 | Self::Nvptx32)
    }

    /// Whether it is code for a device that is no host.
    #[must_use]
    pub fn is_device(self) -> bool {
        self.is_written_as_spirv() || self.is_nvptx() || self == Self::Amdgcn
    }

    /// Whether it is code for a host's processor.
    #[must_use]
    pub fn is_host(self) -> bool {
        matches!(self, Self::Host(_))
    }

    /// Whether code is for one processor, which must be known.
    #[must_use]
    pub fn needs_processor(self) -> bool {
        self.is_nvptx() || self == Self::Amdgcn
    }

    /// Whether this toolkit generates code for it. Of hosts' processors these are the ones that run devices of
    /// their own; `offkit-llvm-worker` links the code generators.
    #[must_use]
    pub fn is_generated(self) -> bool {
        match self {
            Self::Spirv64 | Self::Spirv32 | Self::Nvptx64 | Self::Amdgcn => true,
            Self::Host(cpu) => matches!(
                cpu,
                HostCpu::X86_64 | HostCpu::Aarch64 | HostCpu::Riscv64 | HostCpu::LoongArch64
            ),
            _ => false,
        }
    }

    /// Whether this toolkit compiles kernels in SPIR-V to code for it that is loaded as such: that of GPUs whose drivers take
    /// no SPIR-V.
    #[must_use]
    pub fn is_compiled_from_spirv(self) -> bool {
        matches!(self, Self::Nvptx64 | Self::Amdgcn)
    }

    /// An example of a target, for messages: as `--target` takes it.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            Self::Nvptx64 | Self::Nvptx32 => "nvptx64-nvidia-cuda,arch=sm_80",
            Self::Amdgcn => "amdgcn-amd-amdhsa,arch=gfx90a",
            _ => "spirv64-unknown-unknown",
        }
    }

    /// The option by which clang takes a processor.
    #[must_use]
    pub fn clang_processor_option(self) -> &'static str {
        match self {
            Self::Amdgcn => "-mcpu",
            _ => "-march",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Spirv32 => "SPIR-V with 32-bit pointers",
            Self::Spirv64 => "SPIR-V with 64-bit pointers",
            Self::SpirvLogical => "SPIR-V for graphics",
            Self::Nvptx32 => "NVIDIA GPUs with 32-bit pointers",
            Self::Nvptx64 => "NVIDIA GPUs",
            Self::Amdgcn => "AMD GPUs",
            Self::IntelGpu => "Intel GPUs",
            Self::IntelCpu => "Intel's OpenCL CPU device",
            Self::IntelFpga => "Intel FPGAs",
            Self::Host(cpu) => cpu.name(),
            Self::Other => "an unknown target",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_family_are_known() {
        for (spellings, family) in [
            (
                &[
                    "spir64",
                    "spirv64",
                    "spirv64v1.2",
                    "spir64-unknown-unknown",
                    "spirv64-unknown-unknown",
                    "spirv64v1.6-unknown-unknown",
                    "spir64-unknown-unknown-sycldevice",
                    "spirv64-intel",
                    "spirv64-amd-amdhsa",
                ][..],
                Family::Spirv64,
            ),
            (
                &[
                    "spir",
                    "spirv32",
                    "spir-unknown-unknown",
                    "spirv32v1.4-unknown-unknown",
                ],
                Family::Spirv32,
            ),
            (
                &["spirv", "spirv1.6-unknown-vulkan1.3-compute"],
                Family::SpirvLogical,
            ),
            (&["spir64_gen", "spir64_gen-unknown-unknown"], Family::IntelGpu),
            (&["spir64_x86_64-unknown-unknown"], Family::IntelCpu),
            (&["spir64_fpga"], Family::IntelFpga),
            (&["nvptx64", "nvptx64-nvidia-cuda", "nvptx64--"], Family::Nvptx64),
            (&["nvptx-nvidia-cuda"], Family::Nvptx32),
            (
                &["amdgcn", "amdgcn-amd-amdhsa", "amdgcn-mesa-mesa3d", "amdgpu"],
                Family::Amdgcn,
            ),
            (
                &["x86_64-pc-linux-gnu", "amd64-unknown-linux-gnu", "x86_64"],
                Family::Host(HostCpu::X86_64),
            ),
            (&["", "vax", "spirit", "<unknown>"], Family::Other),
        ] {
            for spelling in spellings {
                assert_eq!(Family::of(spelling), family, "{spelling}");
            }
        }
    }

    #[test]
    fn examples_are_of_their_family() {
        for family in [Family::Nvptx64, Family::Amdgcn, Family::Spirv64] {
            let example = crate::Target::named(family.example());
            assert_eq!(example.family(), family);
            assert_eq!(family.needs_processor(), !example.arch.is_empty());
        }
    }
}
