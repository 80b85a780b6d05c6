//! `MessagePack` as it is in notes and archives: maps by names, lists, text.

use rmpv::ValueRef;

/// What a map has by that name; nothing where it is no map.
pub(crate) fn field<'a, 'data>(map: &'a ValueRef<'data>, key: &str) -> Option<&'a ValueRef<'data>> {
    // One after the other: maps that are asked by name have few keys.
    let mut pairs = pairs(map).iter();
    pairs
        .find(|(name, _)| text(name) == Some(key))
        .map(|(_, value)| value)
}

/// All that a map has.
pub(crate) fn pairs<'a, 'data>(map: &'a ValueRef<'data>) -> &'a [(ValueRef<'data>, ValueRef<'data>)] {
    match map {
        ValueRef::Map(pairs) => pairs,
        _ => &[],
    }
}

/// The list that a map has by that name.
pub(crate) fn list<'a, 'data>(map: &'a ValueRef<'data>, key: &str) -> &'a [ValueRef<'data>] {
    match field(map, key) {
        Some(ValueRef::Array(values)) => values,
        _ => &[],
    }
}

pub(crate) fn text<'a>(value: &'a ValueRef<'_>) -> Option<&'a str> {
    match value {
        ValueRef::String(text) => text.as_str(),
        _ => None,
    }
}

/// The number that a map has by that name.
pub(crate) fn number(map: &ValueRef<'_>, key: &str) -> Option<u64> {
    field(map, key)?.as_u64()
}
