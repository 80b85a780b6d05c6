//! The text form of property sets.

use std::fmt::Write;

use offkit_image::Error;

use super::{ByteArray, PropertySets, PropertyValue, base64};
use crate::reading::Reading;
use crate::source::Source;

const TYPE_U32: u32 = 1;
const TYPE_BYTES: u32 = 2;

/// Reads the text; a tolerant reading leaves out the lines that are wrong.
pub(crate) fn parse_text(text: Source<'_>, reading: &mut Reading) -> Result<PropertySets, Error> {
    let mut sets = PropertySets::new();
    let counted = reading
        .count_metadata(text.len())
        .map_err(|error| error.at(text.at(0)));
    if reading.accept(counted)?.is_none() {
        return Ok(sets);
    }
    let mut current = None;
    let mut offset = 0_u64;
    for (number, line) in text.bytes().split(|byte| *byte == b'\n').enumerate() {
        let line_offset = offset;
        offset = offset.saturating_add(line.len() as u64).saturating_add(1);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        // A line that is wrong costs as much as one that is not.
        let counted = reading
            .count_properties(1)
            .map_err(|error| error.at(text.at(line_offset)));
        if reading.accept(counted)?.is_none() {
            break;
        }
        let parsed = parse_line(line).map_err(|fault| {
            fault
                .error
                .at(text.at(line_offset.saturating_add(fault.column)))
                .field(format!("line {}", number.saturating_add(1)))
        });
        let Some(parsed) = reading.accept(parsed)? else {
            continue;
        };
        match parsed {
            Line::Set(name) => {
                current = Some(sets.set_mut(name));
            }
            Line::Property(key, value) => {
                let Some(set) = &mut current else {
                    reading.fault(
                        Error::malformed("property category missing")
                            .at(text.at(line_offset))
                            .field(format!("line {}", number.saturating_add(1)))
                            .expecting("a line [NAME] first"),
                    )?;
                    continue;
                };
                set.insert(key, value);
            }
        }
    }
    Ok(sets)
}

enum Line<'text> {
    Set(&'text str),
    Property(&'text str, PropertyValue),
}

/// What is wrong with a line, and from which of its bytes on.
struct Fault {
    error: Error,
    column: u64,
}

impl Fault {
    fn new(message: String, expected: &'static str, column: usize) -> Self {
        Self {
            error: Error::malformed(message).expecting(expected),
            column: column as u64,
        }
    }
}

fn parse_line(line: &[u8]) -> Result<Line<'_>, Fault> {
    let line = std::str::from_utf8(line).map_err(|error| {
        Fault::new(
            format!("invalid line: {}", excerpt(&String::from_utf8_lossy(line))),
            "UTF-8 text",
            error.valid_up_to(),
        )
    })?;
    // Names and keys with these could be read, but not written again: the text would come back as
    // something else.
    if let Some(column) = line.find(['\0', '\r']) {
        return Err(Fault::new(
            format!("invalid line: {}", excerpt(line)),
            "text without zero bytes and carriage returns",
            column,
        ));
    }
    if let Some(rest) = line.strip_prefix('[') {
        // The last bracket, so that a name with one in it, as `write_text` lets it have, comes back whole.
        let Some((name, _)) = rest.rsplit_once(']') else {
            return Err(Fault::new(
                format!("invalid line: {}", excerpt(line)),
                "[NAME]",
                0,
            ));
        };
        return Ok(Line::Set(name));
    }
    let invalid_line = || {
        Fault::new(
            format!("invalid property line: {}", excerpt(line)),
            "KEY=TYPE|VALUE",
            0,
        )
    };
    let (key, typed_value) = line.split_once('=').ok_or_else(invalid_line)?;
    if key.is_empty() || typed_value.is_empty() {
        return Err(invalid_line());
    }
    let type_column = key.len().saturating_add(1);
    let invalid_value = |expected| {
        Fault::new(
            format!("invalid property value: {}", excerpt(typed_value)),
            expected,
            type_column,
        )
    };
    let (type_text, value) = typed_value.split_once('|').unwrap_or((typed_value, ""));
    if type_text.is_empty() || value.is_empty() {
        return Err(invalid_value("TYPE|VALUE"));
    }
    let value_column = type_column.saturating_add(type_text.len()).saturating_add(1);
    let value_type = parse_u32(type_text).ok_or_else(|| {
        Fault::new(
            format!("invalid property type: {}", excerpt(type_text)),
            "1 or 2",
            type_column,
        )
    })?;
    let value = match value_type {
        TYPE_U32 => {
            PropertyValue::U32(parse_u32(value).ok_or_else(|| invalid_value("a decimal number of 32 bits"))?)
        }
        TYPE_BYTES => {
            let raw = base64::decode(value.as_bytes()).map_err(|(message, at)| {
                Fault::new(message, "base64 without padding", value_column.saturating_add(at))
            })?;
            let array = raw
                .split_first_chunk::<8>()
                .and_then(|(bits, bytes)| ByteArray::with_bits(u64::from_le_bytes(*bits), bytes))
                .ok_or_else(|| invalid_value("a 64-bit count of bits, then as many bytes as these need"))?;
            PropertyValue::Bytes(array)
        }
        other => {
            return Err(Fault::new(
                format!("bad property type {other}"),
                "1 or 2",
                type_column,
            ));
        }
    };
    Ok(Line::Property(key, value))
}

/// A number as the format has it: digits only.
fn parse_u32(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

/// The beginning of some text from a file, fit for a message.
pub(crate) fn excerpt(text: &str) -> String {
    // A line of a hostile file may have megabytes, and a message is printed as it is.
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// Writes the text.
pub(crate) fn write_text(sets: &PropertySets) -> Result<String, Error> {
    let mut text = String::new();
    for (name, set) in sets.iter() {
        if name.contains(['\n', '\r', '\0']) {
            return Err(refused(
                "name of a property set",
                name,
                "no line ends and no zero bytes",
            ));
        }
        text.push('[');
        text.push_str(name);
        text.push_str("]\n");
        for (key, value) in set.iter() {
            if key.is_empty() || key.starts_with('[') || key.contains(['=', '\n', '\r', '\0']) {
                return Err(refused(
                    "key of a property",
                    key,
                    "characters other than '=', line ends and zero bytes, the first not '['",
                ));
            }
            text.push_str(key);
            text.push('=');
            match value {
                PropertyValue::U32(value) => {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{TYPE_U32}|{value}");
                }
                PropertyValue::Bytes(array) => {
                    let raw = [array.bits().to_le_bytes().as_slice(), array.bytes()].concat();
                    let _ = write!(text, "{TYPE_BYTES}|");
                    base64::encode(&raw, &mut text);
                }
            }
            text.push('\n');
        }
    }
    Ok(text)
}

fn refused(what: &'static str, found: &str, expected: &'static str) -> Error {
    Error::unrepresentable("property cannot be written as text")
        .field(what)
        .expecting(expected)
        .finding(format_args!("'{}'", excerpt(found)))
}
