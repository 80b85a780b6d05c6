//! Debian packages: a Unix archive of a version, of what the package says about itself, and of its files. The last two are
//! tar files, `control.tar.*` and `data.tar.*`.

use offkit_image::ContainerKind;

use crate::archive;
use crate::format::{ContainerFormat, Standing};

/// A Debian package. Its first member is the version of the format, whatever else is in it.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Deb,
    standing: Standing::File,
    // The member must come first (deb(5)): that tells a package from an archive of such files.
    is: |bytes| bytes.starts_with(b"!<arch>\ndebian-binary"),
    parts: archive::parts,
    ..ContainerFormat::USUAL
};
