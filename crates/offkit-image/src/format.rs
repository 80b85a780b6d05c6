//! What the bytes of a device image are.

crate::named! {
    /// The format of a device image.
    #[non_exhaustive]
    pub enum ImageFormat, "The name in messages and listings." {
        /// A SPIR-V module, of either byte order.
        Spirv => "SPIR-V",
        /// LLVM bitcode, with or without its wrapper header.
        Bitcode => "LLVM bitcode",
        /// NVIDIA's virtual assembly, as text.
        Ptx => "PTX",
        /// NVIDIA's intermediate code for optimizing while linking, `nvcc -dlto`; only NVIDIA's linker runs it.
        LtoIr => "LTO-IR",
        /// NVIDIA machine code in ELF (machine 190).
        Cubin => "cubin",
        /// An AMDGPU code object: ELF (machine 224).
        Amdgpu => "AMDGPU code object",
        /// Intel GPU machine code in ELF (machine 205).
        Zebin => "zebin",
        /// ELF for any other machine, such as a host's object or shared library.
        Elf => "ELF",
        /// Apple's library of compiled Metal functions.
        Metal => "Metal library",
        /// A built program as PoCL keeps it.
        Poclbin => "PoCL binary",
        /// A Unix `ar` archive, thin or not; Intel's ahead-of-time compiler makes one for several GPUs.
        Archive => "archive",
        /// NVIDIA's container of several images, as a whole: only to be written, for readers open it.
        Fatbin => "fatbin",
        /// Compressed bytes: zstd, gzip or clang's compressed offload bundle.
        Compressed => "compressed",
        /// None of these.
        Unknown => "unknown",
    }
}

const MACHINE_CUDA: u16 = 190;
/// The ELF machine of Intel GPU code.
pub const MACHINE_INTEL_GPU: u16 = 205;
const MACHINE_AMDGPU: u16 = 224;

/// Every magic number that decides alone.
const MAGICS: &[(&[u8], ImageFormat)] = &[
    (&[0x03, 0x02, 0x23, 0x07], ImageFormat::Spirv),
    (&[0x07, 0x23, 0x02, 0x03], ImageFormat::Spirv),
    (&[b'B', b'C', 0xc0, 0xde], ImageFormat::Bitcode),
    (&[0xde, 0xc0, 0x17, 0x0b], ImageFormat::Bitcode),
    (&[0xed, 0x43, 0x4e, 0x7f], ImageFormat::LtoIr),
    (b"MTLB", ImageFormat::Metal),
    (b"poclbin\0", ImageFormat::Poclbin),
    (b"!<arch>\n", ImageFormat::Archive),
    (b"!<thin>\n", ImageFormat::Archive),
    (&[0x28, 0xb5, 0x2f, 0xfd], ImageFormat::Compressed),
    (&[0x1f, 0x8b], ImageFormat::Compressed),
    (b"CCOB", ImageFormat::Compressed),
];

impl ImageFormat {
    /// Decides from the bytes alone; [`Unknown`](Self::Unknown) when they say nothing.
    ///
    /// ```
    /// use offkit_image::ImageFormat;
    ///
    /// assert_eq!(ImageFormat::detect(b"\x03\x02\x23\x07\0\0\x01\0"), ImageFormat::Spirv);
    /// assert_eq!(ImageFormat::detect(b"// generated\n.version 7.8\n.target sm_80\n"), ImageFormat::Ptx);
    /// assert_eq!(ImageFormat::detect(b""), ImageFormat::Unknown);
    /// ```
    #[must_use]
    pub fn detect(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"\x7fELF") {
            return match elf_machine(bytes) {
                Some(MACHINE_CUDA) => Self::Cubin,
                Some(MACHINE_INTEL_GPU) => Self::Zebin,
                Some(MACHINE_AMDGPU) => Self::Amdgpu,
                // Also where the file ends before the machine: it is nothing else either.
                _ => Self::Elf,
            };
        }
        if let Some((_, format)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return *format;
        }
        if is_ptx(bytes) { Self::Ptx } else { Self::Unknown }
    }

    /// This format, or for an unknown one what a header claims.
    #[must_use]
    #[inline]
    pub fn or(self, claim: Option<Self>) -> Self {
        if self == Self::Unknown {
            claim.unwrap_or(self)
        } else {
            self
        }
    }

    /// Whether bytes of this format are what a header means that claims `claim`.
    #[must_use]
    #[inline]
    pub fn satisfies(self, claim: Self) -> bool {
        match claim {
            // "Object" means whatever the target's tools call an object.
            Self::Elf => matches!(
                self,
                Self::Elf | Self::Cubin | Self::Amdgpu | Self::Zebin | Self::Archive
            ),
            _ => self == claim,
        }
    }

    /// The usual extension of a file with such an image.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Spirv => "spv",
            Self::Bitcode => "bc",
            Self::Ptx => "ptx",
            Self::LtoIr => "ltoir",
            Self::Cubin => "cubin",
            Self::Amdgpu => "hsaco",
            Self::Zebin => "zebin",
            Self::Elf => "o",
            Self::Metal => "metallib",
            Self::Poclbin => "poclbin",
            Self::Archive => "a",
            Self::Fatbin => "fatbin",
            Self::Compressed | Self::Unknown => "bin",
        }
    }
}

/// The machine field of an ELF header, in the byte order that the header says.
fn elf_machine(bytes: &[u8]) -> Option<u16> {
    let field = *bytes.get(18..)?.first_chunk::<2>()?;
    match bytes.get(5)? {
        1 => Some(u16::from_le_bytes(field)),
        2 => Some(u16::from_be_bytes(field)),
        _ => None,
    }
}

/// Whether the first thing that is neither space nor comment is PTX's version directive.
fn is_ptx(bytes: &[u8]) -> bool {
    // Compilers put a banner of a few lines first; a limit keeps this cheap for many images that share long
    // comments.
    const LONGEST_BANNER: usize = 1 << 12;
    let mut rest = bytes.get(..LONGEST_BANNER).unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start();
        let (start, end) = match rest {
            [b'/', b'/', tail @ ..] => (tail, b"\n".as_slice()),
            [b'/', b'*', tail @ ..] => (tail, b"*/".as_slice()),
            _ => break,
        };
        // A comment that is longer than the limit counts as one without an end.
        let Some(length) = memchr::memmem::find(start, end) else {
            return false;
        };
        rest = start
            .get(length..)
            .and_then(|tail| tail.strip_prefix(end))
            .unwrap_or_default();
    }
    rest.strip_prefix(b".version")
        .is_some_and(|tail| tail.first().is_some_and(u8::is_ascii_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16, big_endian: bool) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        bytes[..4].copy_from_slice(b"\x7fELF");
        bytes[5] = if big_endian { 2 } else { 1 };
        bytes[18..].copy_from_slice(&if big_endian {
            machine.to_be_bytes()
        } else {
            machine.to_le_bytes()
        });
        bytes
    }

    #[test]
    fn elf_files_are_told_apart_by_their_machine() {
        for big_endian in [false, true] {
            assert_eq!(ImageFormat::detect(&elf(190, big_endian)), ImageFormat::Cubin);
            assert_eq!(ImageFormat::detect(&elf(205, big_endian)), ImageFormat::Zebin);
            assert_eq!(ImageFormat::detect(&elf(224, big_endian)), ImageFormat::Amdgpu);
            assert_eq!(ImageFormat::detect(&elf(62, big_endian)), ImageFormat::Elf);
        }
        assert_eq!(ImageFormat::detect(b"\x7fELF"), ImageFormat::Elf);
    }

    #[test]
    fn ptx_is_found_behind_comments_only() {
        assert_eq!(
            ImageFormat::detect(b"//\n// LLVM\n//\n\n.version 3.2\n"),
            ImageFormat::Ptx
        );
        assert_eq!(
            ImageFormat::detect(b"\n/* a\n b */ .version\t8.0"),
            ImageFormat::Ptx
        );
        assert_eq!(ImageFormat::detect(b"// only a comment"), ImageFormat::Unknown);
        assert_eq!(ImageFormat::detect(b".versions"), ImageFormat::Unknown);
        assert_eq!(ImageFormat::detect(b"int x; // .version 1"), ImageFormat::Unknown);
    }

    #[test]
    fn magic_numbers_decide() {
        for (magic, format) in MAGICS {
            assert_eq!(ImageFormat::detect(&[*magic, b"rest"].concat()), *format);
            assert_eq!(
                ImageFormat::detect(&magic[..magic.len() - 1]),
                ImageFormat::Unknown
            );
        }
    }
}
