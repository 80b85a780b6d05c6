//! Writing Unix archives, byte for byte as LLVM's tools write them.

use std::borrow::Cow;

use object::{Object, ObjectSymbol};

use crate::chunks::Chunks;
use crate::error::Error;

/// The longest name that is in a member's header; longer ones are in a table of their own.
const LONGEST_NAME: usize = 15;

/// An archive in GNU form: no times, owners 0, mode 644, and a table of the symbols that objects in ELF, COFF and
/// Mach-O define.
///
/// Bitcode has symbols too, which only LLVM can tell: they are not in the table.
///
/// # Errors
///
/// Members that are too large for the table's offsets of 32 bits.
pub fn write_archive<'data>(
    members: impl IntoIterator<Item = (String, Cow<'data, [u8]>)>,
) -> Result<Chunks<'data>, Error> {
    let members: Vec<_> = members.into_iter().collect();
    let mut names = String::new();
    let mut fields = Vec::new();
    for (name, _) in &members {
        if name.len() <= LONGEST_NAME && !name.contains('/') {
            fields.push(format!("{name}/"));
        } else {
            fields.push(format!("/{}", names.len()));
            names.push_str(name);
            names.push_str("/\n");
        }
    }
    let symbols: Vec<(usize, String)> = members
        .iter()
        .enumerate()
        .flat_map(|(number, (_, bytes))| symbols(bytes).into_iter().map(move |symbol| (number, symbol)))
        .collect();
    let symbol_text: String = symbols
        .iter()
        .flat_map(|(_, name)| [name.as_str(), "\0"])
        .collect();
    let table_size = symbols
        .len()
        .saturating_add(1)
        .saturating_mul(4)
        .saturating_add(symbol_text.len());

    // Where each member will be is needed before it is written.
    let member_size = |size: usize| even(size).saturating_add(HEADER_SIZE) as u64;
    let mut offset = MAGIC.len() as u64;
    if !symbols.is_empty() {
        offset = offset.saturating_add(member_size(table_size));
    }
    if !names.is_empty() {
        offset = offset.saturating_add(member_size(names.len()));
    }
    let mut offsets = Vec::new();
    for (_, bytes) in &members {
        offsets.push(offset);
        offset = offset.saturating_add(member_size(bytes.len()));
    }

    let mut out = Chunks::new();
    out.copy(MAGIC);
    if !symbols.is_empty() {
        header(&mut out, "/", "0", even(table_size));
        let count = u32::try_from(symbols.len()).map_err(|_| too_large())?;
        out.copy(&count.to_be_bytes());
        for (number, _) in &symbols {
            let offset = offsets.get(*number).copied().unwrap_or_default();
            out.copy(&u32::try_from(offset).map_err(|_| too_large())?.to_be_bytes());
        }
        out.copy(symbol_text.as_bytes());
        if !table_size.is_multiple_of(2) {
            out.copy(b"\0");
        }
    }
    if !names.is_empty() {
        if !names.len().is_multiple_of(2) {
            names.push('\n');
        }
        // This header has nothing but name and size.
        out.copy(format!("{:48}{:<10}`\n", "//", names.len()).as_bytes());
        out.copy(names.as_bytes());
    }
    for ((_, bytes), field) in members.into_iter().zip(fields) {
        header(&mut out, &field, "644", bytes.len());
        let is_odd = !bytes.len().is_multiple_of(2);
        out.push(bytes);
        if is_odd {
            out.copy(b"\n");
        }
    }
    Ok(out)
}

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_SIZE: usize = 60;

fn even(size: usize) -> usize {
    size.next_multiple_of(2)
}

fn too_large() -> Error {
    Error::unrepresentable("archive is too large for its table of symbols").expecting("less than 4 GiB")
}

fn header(out: &mut Chunks<'_>, name: &str, mode: &str, size: usize) {
    out.copy(format!("{name:16}{:<12}{:<6}{:<6}{mode:8}{size:<10}`\n", 0, 0, 0).as_bytes());
}

/// The symbols that others may use.
fn symbols(bytes: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    file.symbols()
        .filter(|symbol| symbol.is_global() && !symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| !name.is_empty())
        .collect()
}
