//! The archives of `cpio` in its new ASCII form, which RPM packages hold.
//!
//! Each member is a header of 110 characters, its name with a zero byte, and its content, the last two padded to a
//! multiple of 4. The numbers are 8 hexadecimal digits. A member `TRAILER!!!` is the last.

use offkit_image::Error;

/// The size of a header.
pub(crate) const HEADER: usize = 110;

/// The last member.
pub(crate) const LAST: &[u8] = b"TRAILER!!!";

/// Longer paths no system has.
const LONGEST_NAME: u64 = 1 << 12;

/// Whether the bytes begin like such an archive.
pub(crate) fn is_cpio(bytes: &[u8]) -> bool {
    // The second form differs in a sum of the content alone, and nobody here compares that.
    bytes.starts_with(b"070701") || bytes.starts_with(b"070702")
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) is_file: bool,
    pub(crate) size: u64,
    /// With the zero byte.
    pub(crate) name_size: u64,
}

impl Header {
    pub(crate) fn read(header: &[u8; HEADER], position: u64) -> Result<Self, Error> {
        let wrong = |message: &'static str| Error::malformed(message).at(position);
        // RPM's own form for files that large: the header has no more than a number, and the package's header has the
        // sizes.
        if header.starts_with(b"07070X") {
            return Err(Error::unsupported("files of 4 GiB in an RPM package are not read").at(position));
        }
        if !is_cpio(header) {
            return Err(wrong("cpio header is damaged").expecting("070701 or 070702"));
        }
        let field = |number: usize| {
            let start = number.saturating_mul(8).saturating_add(6);
            let digits = header.get(start..start.saturating_add(8))?;
            u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        // Of the 13 numbers `c_mode`, `c_filesize` and `c_namesize`.
        let fields = [field(1), field(6), field(11)];
        let [Some(mode), Some(size), Some(name_size)] = fields else {
            return Err(wrong("cpio header is damaged").expecting("hexadecimal numbers"));
        };
        // A name is read into memory as a whole, which the number alone could make 4 GiB.
        if name_size > LONGEST_NAME {
            return Err(wrong("cpio header is damaged")
                .field("size of the name")
                .finding(name_size));
        }
        Ok(Self {
            // `S_IFMT` and `S_IFREG`: no folders, links or devices.
            is_file: mode & 0o170_000 == 0o100_000,
            size,
            name_size,
        })
    }

    /// The bytes behind the name up to the content.
    pub(crate) fn name_padding(self) -> u64 {
        padding((HEADER as u64).saturating_add(self.name_size))
    }

    /// The bytes behind the content up to the next header.
    pub(crate) fn padding(self) -> u64 {
        padding(self.size)
    }
}

fn padding(size: u64) -> u64 {
    let padded = size.checked_next_multiple_of(4).unwrap_or(size);
    padded.saturating_sub(size)
}
