//! Symbols as people write them.

/// The demangled form of an Itanium-mangled symbol, `saxpy(float, float*)` for `_Z5saxpyfPf`; the
/// symbol itself if it is not mangled.
///
/// ```
/// assert_eq!(offkit_object::demangle("_Z5scalef"), "scale(float)");
/// assert_eq!(offkit_object::demangle("scale"), "scale");
/// ```
#[must_use]
pub fn demangle(symbol: &str) -> String {
    cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|parsed| parsed.demangle().ok())
        .unwrap_or_else(|| symbol.to_owned())
}
