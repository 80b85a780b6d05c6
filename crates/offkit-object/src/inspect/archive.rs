//! Archives that are one image: Intel's ahead-of-time compiler puts code for several GPUs into one.

use std::collections::HashSet;

use super::findings::Findings;
use super::{Inspection, inspect_part};
use crate::error::{Error, ErrorKind};
use crate::format::ImageFormat;
use crate::source::Source;

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_SIZE: u64 = 60;

/// Looks into every member; kernels and symbols are those of all members together.
pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let mut whole = Union::default();
    let result = members(source, |name, data| {
        let format = ImageFormat::detect(data.bytes());
        if format == ImageFormat::Unknown {
            // Padding that aligns the next member.
            return Ok(());
        }
        let name = findings.text(name)?;
        findings.inspection = Inspection::default();
        inspect_part(data, format, findings, false);
        let member = std::mem::take(&mut findings.inspection);
        let target = member.target.arch_with_features();
        let target = if target.is_empty() {
            String::new()
        } else {
            format!(" for {target}")
        };
        whole.add(member, format!("{name}: {format}{target}, {} bytes", data.len()));
        Ok(())
    });
    findings.inspection = whole.inspection;
    for member in whole.members {
        findings.detail("member", member);
    }
    result
}

/// What the members have, each name once.
#[derive(Default)]
struct Union {
    inspection: Inspection,
    members: Vec<String>,
    names: HashSet<(u8, String)>,
}

impl Union {
    fn add(&mut self, member: Inspection, description: String) {
        self.members.push(description);
        let mut is_new = |kind, name: &String| self.names.insert((kind, name.clone()));
        let whole = &mut self.inspection;
        let kernels = member.kernels.into_iter();
        whole
            .kernels
            .extend(kernels.filter(|kernel| is_new(0, &kernel.name)));
        let imports = member.imports.into_iter();
        whole.imports.extend(imports.filter(|name| is_new(1, name)));
        let exports = member.exports.into_iter();
        whole.exports.extend(exports.filter(|name| is_new(2, name)));
    }
}

/// Calls `visit` for every member with its name, tables of the archive left out.
fn members<'data>(
    source: Source<'data>,
    mut visit: impl FnMut(&'data [u8], Source<'data>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rest = source.from(MAGIC.len() as u64);
    let mut long_names: &[u8] = &[];
    while rest.len() > 0 {
        let header = rest.need(0, HEADER_SIZE, "archive member is cut off", "header")?;
        let field = |at: u64, size: u64| header.get(at, size).map_or(&[][..], |field| field.bytes());
        let size = number(field(48, 10)).ok_or_else(|| {
            Error::malformed("archive member has no size")
                .at(header.at(48))
                .field("size")
                .expecting("a decimal number")
        })?;
        let data = rest.need(HEADER_SIZE, size, "archive member is cut off", "data")?;
        let name = field(0, 16).trim_ascii_end();
        match name {
            b"/" | b"/SYM64/" | b"__.SYMDEF" | b"__.SYMDEF SORTED" => {}
            b"//" => long_names = data.bytes(),
            [b'/', at @ ..] => {
                let long = number(at).and_then(|at| long_names.get(usize::try_from(at).ok()?..));
                let long = long.and_then(|name| name.split(|byte| *byte == b'\n').next());
                let long = long.ok_or_else(|| {
                    Error::new(ErrorKind::OutOfBounds, "archive member's long name is missing")
                        .at(header.at(0))
                        .field("name")
                })?;
                visit(long.strip_suffix(b"/").unwrap_or(long), data)?;
            }
            name => visit(name.strip_suffix(b"/").unwrap_or(name), data)?,
        }
        let end = HEADER_SIZE.saturating_add(size);
        rest = rest.from(end.saturating_add(end % 2));
    }
    Ok(())
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.trim_ascii_end().parse().ok()
}
