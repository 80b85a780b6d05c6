//! Triples, taken apart.

/// A target triple: `ARCHITECTURE-VENDOR-SYSTEM[-ENVIRONMENT]`, of which the vendor or all but the first may
/// be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triple<'a> {
    text: &'a str,
}

/// An operating system, or what stands for it on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System<'a> {
    /// The triple names none.
    Open,
    /// Linux.
    Linux,
    /// Windows, with Cygwin and `MinGW`.
    Windows,
    /// One of Apple's.
    Apple,
    /// NVIDIA's CUDA.
    Cuda,
    /// AMD's HSA, which ROCm is.
    AmdHsa,
    /// AMD's PAL.
    AmdPal,
    /// Mesa.
    Mesa3d,
    /// Another, by its name.
    Other(&'a str),
}

impl<'a> Triple<'a> {
    /// The parts of a text; every text is a triple.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The whole text.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// The first part, as it is written.
    #[must_use]
    pub fn architecture(self) -> &'a str {
        match memchr::memchr(b'-', self.text.as_bytes()) {
            Some(dash) => self.text.get(..dash).unwrap_or_default(),
            None => self.text,
        }
    }

    /// Vendor, system and environment; empty where they are left out.
    fn others(self) -> [&'a str; 3] {
        let mut parts = self.text.splitn(4, '-').skip(1);
        let mut next = || parts.next().unwrap_or_default();
        let parts = [next(), next(), next()];
        match parts {
            // Without a vendor, as in `x86_64-linux-gnu`.
            [system, environment, ""] if is_system(system) && !is_system(environment) => {
                ["", system, environment]
            }
            parts => parts,
        }
    }

    /// The vendor, as it is written; empty if it is left out.
    #[must_use]
    pub fn vendor(self) -> &'a str {
        let [vendor, ..] = self.others();
        vendor
    }

    /// The operating system.
    #[must_use]
    pub fn system(self) -> System<'a> {
        let [vendor, system, _] = self.others();
        // By their beginnings, as versions follow: `macosx10.15`.
        let starts = |names: &[&str]| names.iter().any(|name| system.starts_with(name));
        match system {
            "" if vendor == "apple" => System::Apple,
            "" | "unknown" | "none" => System::Open,
            _ if starts(&["linux"]) => System::Linux,
            _ if starts(&["windows", "win32", "mingw", "cygwin"]) => System::Windows,
            _ if starts(&["darwin", "macos", "ios", "tvos", "watchos", "xros"]) => System::Apple,
            _ if starts(&["cuda"]) => System::Cuda,
            _ if starts(&["amdhsa"]) => System::AmdHsa,
            _ if starts(&["amdpal"]) => System::AmdPal,
            _ if starts(&["mesa3d"]) => System::Mesa3d,
            other => System::Other(other),
        }
    }

    /// Whether Windows' C library is GNU's kind.
    #[must_use]
    pub fn is_mingw(self) -> bool {
        let [_, system, environment] = self.others();
        self.system() == System::Windows && (system.starts_with("mingw") || environment.starts_with("gnu"))
    }

    /// Whether pointers have 32 bits on a processor with 64: `x86_64-linux-gnux32`.
    #[must_use]
    pub fn is_x32(self) -> bool {
        // LLVM has two such environments, `gnux32` and `muslx32`.
        self.text.ends_with("x32")
    }

    /// The version of SPIR-V that the architecture's name ends in: 1.4 of `spirv64v1.4-unknown-unknown`.
    #[must_use]
    pub fn spirv_version(self) -> Option<(u8, u8)> {
        let architecture = self.architecture();
        // The shortest last, for the others begin with it.
        let version = ["spirv64v", "spirv32v", "spirv"]
            .iter()
            .find_map(|prefix| architecture.strip_prefix(prefix))?;
        let (major, minor) = version.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Whether it begins with an architecture that LLVM 22 or SYCL's compilers know.
    #[must_use]
    pub fn has_known_architecture(self) -> bool {
        is_known_architecture(self.architecture())
    }
}

/// Whether two triples name the same operating system, or one names none.
#[must_use]
pub(super) fn same_system(one: Triple<'_>, other: Triple<'_>) -> bool {
    let (one, other) = (one.system(), other.system());
    one == System::Open || other == System::Open || one == other
}

/// Whether a part of a triple is the name of an operating system, perhaps with a version.
#[must_use]
pub fn is_system(part: &str) -> bool {
    // A system that is missing here is taken for a vendor where the triple has none: `x86_64-haiku`
    // then says nothing of a system, and fits all.
    const KNOWN: &[&str] = &[
        "amdhsa", "cuda", "cygwin", "darwin", "freebsd", "fuchsia", "ios", "linux", "macos", "mesa3d",
        "mingw32", "netbsd", "openbsd", "windows",
    ];
    KNOWN.iter().any(|known| part.starts_with(known))
}

/// Whether a part of a triple is an environment, and not a processor that follows the triple: one may be
/// empty.
#[must_use]
pub fn is_environment(part: &str) -> bool {
    const KNOWN: [&str; 8] = [
        "gnu",
        "musl",
        "msvc",
        "android",
        "eabi",
        "itanium",
        "sycldevice",
        "unknown",
    ];
    part.is_empty() || KNOWN.iter().any(|known| part.starts_with(known))
}

/// Whether LLVM 22 (`llvm/TargetParser/Triple.cpp`) knows the architecture, or SYCL's compilers do.
fn is_known_architecture(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "aarch64",
        "aarch64_32",
        "aarch64_be",
        "amd64",
        "amdgcn",
        "amdil",
        "amdil64",
        "arc",
        "arm",
        "arm64",
        "arm64_32",
        "arm64e",
        "arm64ec",
        "armeb",
        "avr",
        "bpf",
        "bpf_be",
        "bpf_le",
        "bpfeb",
        "bpfel",
        "csky",
        "dxil",
        "hexagon",
        "hsail",
        "hsail64",
        "lanai",
        "loongarch32",
        "loongarch64",
        "m68k",
        "mips",
        "mips64",
        "mips64eb",
        "mips64el",
        "mips64r6",
        "mips64r6el",
        "mipseb",
        "mipsel",
        "mipsisa32r6",
        "mipsisa32r6el",
        "mipsisa64r6",
        "mipsisa64r6el",
        "mipsn32",
        "mipsn32el",
        "mipsn32r6",
        "mipsn32r6el",
        "mipsr6",
        "mipsr6el",
        "msp430",
        "native_cpu",
        "nvptx",
        "nvptx64",
        "powerpc",
        "powerpc64",
        "powerpc64le",
        "powerpcle",
        "powerpcspe",
        "ppc",
        "ppc32",
        "ppc32le",
        "ppc64",
        "ppc64le",
        "ppcle",
        "ppu",
        "r600",
        "renderscript32",
        "renderscript64",
        "riscv32",
        "riscv32be",
        "riscv64",
        "riscv64be",
        "s390x",
        "shave",
        "sparc",
        "sparc64",
        "sparcel",
        "sparcv9",
        "spir",
        "spir64",
        "spirv",
        "spirv32",
        "spirv64",
        "systemz",
        "tce",
        "tcele",
        "thumb",
        "thumbeb",
        "ve",
        "wasm32",
        "wasm64",
        "x86_64",
        "x86_64h",
        "xcore",
        "xscale",
        "xtensa",
    ];
    const VERSIONED: &[&str] = &[
        "armv",
        "dxilv",
        "spir64_",
        "spirv1.",
        "spirv32v1.",
        "spirv64v1.",
        "thumbv",
    ];
    // `i386` to `i986`, as LLVM reads them. `KNOWN` is sorted for the search.
    let is_i386 = name.len() == 4 && name.starts_with('i') && name.ends_with("86");
    is_i386 || KNOWN.binary_search(&name).is_ok() || VERSIONED.iter().any(|known| name.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_sorted() {
        for arch in [
            "aarch64",
            "amdgcn",
            "i686",
            "nvptx64",
            "powerpc64le",
            "spirv64",
            "spir64_gen",
            "x86_64",
            "xtensa",
            "armv7l",
        ] {
            assert!(Triple::new(arch).has_known_architecture(), "{arch}");
        }
        for arch in ["", "powerpcxxle", "x86_xx", "X86_64", "i6866"] {
            assert!(!Triple::new(arch).has_known_architecture(), "{arch}");
        }
    }

    #[test]
    fn a_vendor_may_be_left_out() {
        for (triple, vendor, system) in [
            ("x86_64-linux-gnu", "", System::Linux),
            ("x86_64-pc-linux-gnu", "pc", System::Linux),
            ("x86_64-unknown-linux", "unknown", System::Linux),
            ("x86_64-pc-windows-msvc", "pc", System::Windows),
            ("x86_64-w64-mingw32", "w64", System::Windows),
            ("arm64-apple-macosx10.15", "apple", System::Apple),
            ("amdgcn-amd-amdhsa", "amd", System::AmdHsa),
            ("amdgcn-mesa-mesa3d", "mesa", System::Mesa3d),
            ("nvptx64-nvidia-cuda", "nvidia", System::Cuda),
            ("spirv64-intel", "intel", System::Open),
            ("spir64-unknown-unknown", "unknown", System::Open),
            ("x86_64-unknown-haiku", "unknown", System::Other("haiku")),
            ("amdgcn", "", System::Open),
        ] {
            let parts = Triple::new(triple);
            assert_eq!((parts.vendor(), parts.system()), (vendor, system), "{triple}");
        }
    }

    #[test]
    fn windows_has_two_c_libraries() {
        assert!(Triple::new("x86_64-w64-mingw32").is_mingw());
        assert!(Triple::new("x86_64-w64-windows-gnu").is_mingw());
        assert!(!Triple::new("x86_64-pc-windows-msvc").is_mingw());
        assert!(!Triple::new("x86_64-pc-linux-gnu").is_mingw());
    }

    #[test]
    fn the_version_of_spirv_is_part_of_the_name() {
        let of = |triple| Triple::new(triple).spirv_version();
        assert_eq!(of("spirv64v1.2-unknown-unknown"), Some((1, 2)));
        assert_eq!(of("spirv32v1.6"), Some((1, 6)));
        assert_eq!(of("spirv1.5-unknown-vulkan1.2"), Some((1, 5)));
        assert_eq!(of("spirv64-unknown-unknown"), None);
        assert_eq!(of("spir64"), None);
    }
}
