//! Processors of hosts.

crate::named! {
    /// A kind of processor that operating systems run on. It can be a device, too: OpenMP offloads to hosts.
    #[non_exhaustive]
    pub enum HostCpu, "The usual name in triples." {
        /// x86 with 32 bits.
        X86 => "i386",
        /// x86 with 64 bits.
        X86_64 => "x86_64",
        /// ARM with 32 bits.
        Arm => "arm",
        /// ARM with 64 bits.
        Aarch64 => "aarch64",
        /// The same, big endian.
        Aarch64Be => "aarch64_be",
        /// POWER, big endian.
        PowerPc64 => "powerpc64",
        /// POWER, little endian.
        PowerPc64Le => "powerpc64le",
        /// RISC-V with 32 bits.
        Riscv32 => "riscv32",
        /// RISC-V with 64 bits.
        Riscv64 => "riscv64",
        /// LoongArch with 64 bits.
        LoongArch64 => "loongarch64",
        /// z/Architecture.
        S390x => "s390x",
    }
}

impl HostCpu {
    /// The processor that the first part of a triple names.
    #[must_use]
    pub fn of(architecture: &str) -> Option<Self> {
        Some(match architecture {
            "i386" | "i486" | "i586" | "i686" => Self::X86,
            // `x86_64h` is Apple's name of x86-64 from Haswell on.
            "x86_64" | "amd64" | "x86_64h" => Self::X86_64,
            "aarch64" | "arm64" | "arm64e" => Self::Aarch64,
            "aarch64_be" => Self::Aarch64Be,
            "powerpc64" | "ppc64" => Self::PowerPc64,
            "powerpc64le" | "ppc64le" => Self::PowerPc64Le,
            "riscv32" => Self::Riscv32,
            "riscv64" => Self::Riscv64,
            "loongarch64" => Self::LoongArch64,
            "s390x" | "systemz" => Self::S390x,
            "arm" | "thumb" => Self::Arm,
            name if name.starts_with("armv") || name.starts_with("thumbv") => Self::Arm,
            _ => return None,
        })
    }

    /// The processor that the machine in an ELF header names, with the width and the byte order that the header says.
    #[must_use]
    pub fn of_elf(machine: u16, is_64: bool, is_big_endian: bool) -> Option<Self> {
        let cpu = match (elf_machine_name(machine)?, is_64) {
            ("riscv", false) => Self::Riscv32,
            ("riscv", true) => Self::Riscv64,
            ("loongarch", true) => Self::LoongArch64,
            // Programs for x32 are ELF files of 32 bits: the processor is x86-64 all the same.
            (name, _) => Self::of(name)?,
        };
        Some(cpu.in_order(is_big_endian))
    }

    /// The same processor with this byte order, where it has a name for each. What programs are told at build time, as
    /// [`std::env::consts::ARCH`], leaves the order out, too.
    #[must_use]
    pub fn in_order(self, is_big_endian: bool) -> Self {
        match (self, is_big_endian) {
            (Self::Aarch64 | Self::Aarch64Be, false) => Self::Aarch64,
            (Self::Aarch64 | Self::Aarch64Be, true) => Self::Aarch64Be,
            (Self::PowerPc64 | Self::PowerPc64Le, false) => Self::PowerPc64Le,
            (Self::PowerPc64 | Self::PowerPc64Le, true) => Self::PowerPc64,
            (other, _) => other,
        }
    }

    /// Whether pointers have 64 bits.
    #[must_use]
    pub fn is_64(self) -> bool {
        !matches!(self, Self::X86 | Self::Arm | Self::Riscv32)
    }
}

/// What the machine in an ELF header (`e_machine`) is called. The number does not tell the width of RISC-V and
/// `LoongArch`.
#[must_use]
pub fn elf_machine_name(machine: u16) -> Option<&'static str> {
    Some(match machine {
        3 => HostCpu::X86.name(),
        21 => HostCpu::PowerPc64.name(),
        22 => HostCpu::S390x.name(),
        40 => HostCpu::Arm.name(),
        62 => HostCpu::X86_64.name(),
        183 => HostCpu::Aarch64.name(),
        243 => "riscv",
        247 => "bpf",
        251 => "ve",
        258 => "loongarch",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_knows_its_own_name() {
        use HostCpu::*;
        for cpu in [
            X86,
            X86_64,
            Arm,
            Aarch64,
            Aarch64Be,
            PowerPc64,
            PowerPc64Le,
            Riscv32,
            Riscv64,
            LoongArch64,
            S390x,
        ] {
            assert_eq!(HostCpu::of(cpu.name()), Some(cpu));
        }
        assert_eq!(HostCpu::of("i686"), Some(X86));
        assert_eq!(HostCpu::of("armv7l"), Some(Arm));
        assert_eq!(HostCpu::of("nvptx64"), None);
        assert_eq!(HostCpu::of_elf(62, true, false), Some(X86_64));
        assert_eq!(HostCpu::of_elf(243, false, false), Some(Riscv32));
        assert_eq!(HostCpu::of_elf(190, true, false), None);
        assert_eq!(HostCpu::of_elf(22, true, true), Some(S390x));
        for (machine, little, big) in [(21, PowerPc64Le, PowerPc64), (183, Aarch64, Aarch64Be)] {
            assert_eq!(HostCpu::of_elf(machine, true, false), Some(little));
            assert_eq!(HostCpu::of_elf(machine, true, true), Some(big));
        }
    }
}
