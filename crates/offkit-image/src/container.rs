//! The kinds of containers.

crate::named! {
    /// What a container is; also what a file is, as far as its outermost layer goes.
    #[non_exhaustive]
    pub enum ContainerKind, "The name in messages and listings." {
        /// No container: the file is itself an image.
        Image => "device image",
        /// One or several offload binaries, one after the other.
        OffloadBinary => "offload binary",
        /// A SYCLBIN, with or without an offload binary around it.
        SyclBin => "SYCLBIN",
        /// Clang offload bundles, plain or compressed, one after the other.
        Bundle => "offload bundle",
        /// One of these, decompressed: what the parts of a [`Bundle`](Self::Bundle) are.
        SingleBundle => "offload bundle",
        /// A clang offload bundle in text form.
        TextBundle => "offload bundle",
        /// CUDA's fatbins, one after the other.
        Fatbin => "fatbin",
        /// SYCL images as a linked program registers them.
        SyclWrapped => "wrapped SYCL images",
        /// An ELF, COFF, PE or Mach-O file for the host.
        Host => "host code",
        /// A Unix archive.
        Archive => "archive",
        /// A zip file, such as a wheel.
        Zip => "zip",
        /// A tar file.
        Tar => "tar",
        /// A compressed file, of one file or of an archive.
        Compressed => "compressed file",
        /// A Debian package.
        Deb => "Debian package",
        /// An RPM package.
        Rpm => "RPM package",
        /// An archive of AMD's kpack.
        Kpack => "kpack archive",
        /// A container of AdaptiveCpp.
        Hcf => "HCF",
        /// Nothing that is known.
        Unknown => "unknown",
    }
}

impl ContainerKind {
    /// Whether it holds files, which may have device code inside, rather than device code.
    #[must_use]
    pub fn is_host(self) -> bool {
        matches!(self, Self::Host) || self.holds_files()
    }

    /// Whether it holds files of any kind, each with a name.
    #[must_use]
    pub fn holds_files(self) -> bool {
        matches!(
            self,
            Self::Archive | Self::Zip | Self::Tar | Self::Compressed | Self::Deb | Self::Rpm
        )
    }

    /// Whether each of the files it holds stands for itself, as in a package. The members of a Unix archive are one
    /// library together.
    #[must_use]
    pub fn is_package(self) -> bool {
        self.holds_files() && self != Self::Archive
    }

    /// Whether a device loads one image of it and none of the others, so that a kernel which only another has is not
    /// there. Of other containers programs choose kernel by kernel.
    #[must_use]
    pub fn loads_one(self) -> bool {
        matches!(self, Self::Fatbin | Self::Bundle | Self::SingleBundle)
    }
}
