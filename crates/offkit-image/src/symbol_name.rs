//! Symbols as people write them.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// How long a demangled name may be: substitutions let 200 bytes stand for gigabytes. The longest of `libtorch_cuda.so`'s
/// kernels has 12,945 bytes; none is more than 13 times as long as its symbol.
fn most_demangled_bytes(symbol: &str) -> usize {
    const LEAST: usize = 4096;
    const TIMES: usize = 32;
    symbol.len().saturating_mul(TIMES).max(LEAST)
}

/// The demangled form of an Itanium-mangled symbol, `saxpy(float, float*)` for `_Z5saxpyfPf`; the
/// symbol itself if it is not mangled, or if the demangled form would have more than 4096 bytes and be more than 32 times as
/// long.
///
/// ```
/// assert_eq!(offkit_image::demangle("_Z5scalef"), "scale(float)");
/// assert_eq!(offkit_image::demangle("scale"), "scale");
/// assert_eq!(offkit_image::demangle("f"), "f", "not `float`, as which it would stand in a mangled name");
/// ```
#[must_use]
pub fn demangle(symbol: &str) -> String {
    // Some systems put more underscores before it.
    if !symbol.starts_with('_') || !symbol.trim_start_matches('_').starts_with('Z') {
        return symbol.to_owned();
    }
    let mut text = Bounded {
        text: String::new(),
        most: most_demangled_bytes(symbol),
    };
    let demangled = Symbol::new(symbol).is_ok_and(|parsed| {
        parsed
            .structured_demangle(&mut text, &DemangleOptions::default())
            .is_ok()
    });
    if demangled { text.text } else { symbol.to_owned() }
}

/// The name of a function with an Itanium-mangled symbol that is in no namespace, and its mangled parameters.
///
/// ```
/// assert_eq!(offkit_image::mangled_function("_Z5scalefPi"), Some(("scale", "fPi")));
/// assert_eq!(offkit_image::mangled_function("_ZN3lib5scaleEf"), None);
/// ```
#[must_use]
pub fn mangled_function(symbol: &str) -> Option<(&str, &str)> {
    let rest = symbol.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (length, rest) = rest.split_at_checked(digits)?;
    // Nested names and operators have no length in front: no digits are no number.
    rest.split_at_checked(length.parse().ok()?)
}

/// Text that refuses to become too long.
struct Bounded {
    text: String,
    most: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len().saturating_add(part.len()) > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// A symbol for people: demangled, with the raw name where that is another.
///
/// ```
/// assert_eq!(offkit_image::describe_symbol("_Z5scalef"), "`scale(float)` (symbol `_Z5scalef`)");
/// assert_eq!(offkit_image::describe_symbol("scale"), "`scale`");
/// ```
#[must_use]
pub fn describe_symbol(symbol: &str) -> String {
    match demangle(symbol) {
        demangled if demangled == symbol => format!("`{symbol}`"),
        demangled => format!("`{demangled}` (symbol `{symbol}`)"),
    }
}

/// Names in backquotes, with commas between them.
///
/// ```
/// assert_eq!(offkit_image::backquoted(["a", "b"]), "`a`, `b`");
/// ```
#[must_use]
pub fn backquoted<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_of_templates_are_demangled() {
        // As those of torch's kernels: a functor with many types as arguments, repeated by substitution.
        let long = "a_type_with_a_long_name_as_templates_have_them_in_libraries";
        let symbol = format!("_Z6kernelIN2ns{}{long}EEv{}", long.len(), "T_".repeat(100));
        let demangled = demangle(&symbol);
        assert!(demangled.len() > 4096, "{demangled}");
        assert!(demangled.starts_with("void kernel<ns::a_type"), "{demangled}");
    }

    #[test]
    fn names_that_explode_stay_as_they_are() {
        // `a<int, int>`, then a template of two of the one before, again and again.
        let mut symbol = "_Z1f1aIiiE".to_owned();
        for previous in "0123456789ABCDEFGHIJKLMNOPQRSTUV".chars() {
            symbol.push_str(&format!("S_IS{previous}_S{previous}_E"));
        }
        assert_eq!(demangle(&symbol), symbol);
        assert!(
            demangle(&symbol[.."_Z1f1aIiiES_IS0_S0_E".len()]).starts_with("f(a<int, int>, a<a<int, int>")
        );
    }
}
