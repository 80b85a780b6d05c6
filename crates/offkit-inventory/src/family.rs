//! Families of kernels: the name of the template that many kernels are made of.

use std::borrow::Cow;

/// The family of a kernel by its readable name: without the type it returns, its arguments, the arguments of templates
/// and what compilers add.
///
/// ```
/// use offkit_inventory::family::family;
///
/// assert_eq!(family("void at::reduce_kernel<512, 1, at::Op<float> >(at::Op<float>)"), "at::reduce_kernel");
/// assert_eq!(family("triton_poi_fused_add_0d1d2c"), "triton_poi_fused_add");
/// assert_eq!(family("Cijk_Ailk_Bljk_SB_MT64x64x8_SE"), "Cijk_Ailk_Bljk_SB");
/// ```
#[must_use]
pub fn family(readable: &str) -> String {
    let name = function_name(readable);
    let plain = without_template_arguments(name);
    let plain = plain.replace("(anonymous namespace)::", "");
    if plain.starts_with("Cijk_") {
        // Tensile's sizes of tiles.
        return plain.split("_MT").next().unwrap_or(&plain).to_owned();
    }
    let is_plain = plain == readable;
    match is_plain {
        // Numbers and signatures that Triton and others put behind a name.
        true => without_numbers(&plain).to_owned(),
        false => plain,
    }
}

/// A readable name without the hashes that compilers put into names of what is local to a file.
#[must_use]
pub fn identity(readable: &str) -> String {
    let mut name = Cow::Borrowed(readable);
    for prefix in ["_GLOBAL__N__", "_INTERNAL_", "__nv_static_"] {
        // In one pass, for a long name may have very many.
        let mut plain = String::new();
        let mut rest = &*name;
        while let Some(start) = rest.find(prefix) {
            let (before, found) = rest.split_at(start);
            let end = found.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (word, behind) = found.split_at(end.unwrap_or(found.len()));
            // What is behind the last hash is the function's own name.
            let own = word.rsplit_once("_cu_").map_or("", |(_, own)| {
                own.trim_start_matches(|c: char| c.is_ascii_hexdigit())
                    .trim_start_matches('_')
            });
            plain.push_str(before);
            plain.push_str("(local)");
            rest = match own.is_empty() || own.starts_with(prefix) {
                true => behind,
                // It may have the prefix in it, too.
                false => {
                    plain.push_str("::");
                    &found[word.len() - own.len()..]
                }
            };
        }
        if !plain.is_empty() {
            plain.push_str(rest);
            name = Cow::Owned(plain);
        }
    }
    name.into_owned()
}

/// The name of the function, without the type it returns and its arguments.
fn function_name(readable: &str) -> &str {
    let mut depth = 0_usize;
    let mut start = 0;
    // Bytes will do: all that ends a slice below is ASCII, and no other character has such a byte.
    let bytes = readable.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        // Neither does its space end a type, nor does its bracket begin the arguments.
        if rest.starts_with(b"(anonymous namespace)") {
            at += "(anonymous namespace)".len();
            continue;
        }
        if depth == 0 && begins_operator(readable, at) {
            // The name of an operator may be brackets.
            let symbols = operator_symbols(&readable[at + "operator".len()..]);
            at += "operator".len() + symbols;
            continue;
        }
        match byte {
            b'<' | b'[' | b'{' => depth += 1,
            // Names come from files: brackets need not match.
            b'>' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => return &readable[start..at],
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 => start = at + 1,
            _ => {}
        }
        at += 1;
    }
    // Without arguments nothing is returned either: a variable's name, or no C++.
    match start < readable.len() {
        true => &readable[start..],
        false => readable,
    }
}

/// Whether the word `operator` is at a place, and not the end of a longer one.
fn begins_operator(name: &str, at: usize) -> bool {
    let (before, rest) = name.as_bytes().split_at(at);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    rest.starts_with(b"operator") && !before.last().is_some_and(is_word)
}

/// How many bytes of the brackets that follow the word `operator` are its name.
fn operator_symbols(after: &str) -> usize {
    const SYMBOLS: [&str; 12] = [
        "<<=", ">>=", "<=>", "->*", "()", "<<", ">>", "<=", ">=", "->", "<", ">",
    ];
    let symbol = SYMBOLS.iter().find(|symbol| after.starts_with(**symbol));
    symbol.map_or(0, |symbol| symbol.len())
}

fn without_template_arguments(name: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if depth == 0 && begins_operator(name, name.len() - rest.len()) {
            let after = &rest["operator".len()..];
            let symbols = operator_symbols(after);
            let taken = "operator".len() + symbols;
            plain.push_str(&rest[..taken]);
            rest = &rest[taken..];
            continue;
        }
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    plain
}

/// A name without the digits and the marks of arguments behind its last underscores: `_0d1d2c`, `_12`.
fn without_numbers(name: &str) -> &str {
    let mut plain = name;
    while let Some((before, last)) = plain.rsplit_once('_') {
        let is_mark = last.starts_with(|c: char| c.is_ascii_digit())
            && last
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, 'c' | 'd' | 'e'));
        // A name that is nothing but a number keeps it.
        if !is_mark || before.is_empty() {
            break;
        }
        plain = before;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_names_of_templates() {
        for (name, expected) in [
            ("saxpy", "saxpy"),
            ("saxpy(float, float*)", "saxpy"),
            ("void saxpy<float>(float, float*)", "saxpy"),
            (
                "std::enable_if<true, void>::type ns::kernel<int, (ns::E)1>(int)",
                "ns::kernel",
            ),
            (
                "void (anonymous namespace)::elementwise<2, f(int)::{lambda(float)#1}>(int)",
                "elementwise",
            ),
            ("void ns::Op<int>::run<float>(int)", "ns::Op::run"),
            ("void ns::Op<int>::operator()<float>(int)", "ns::Op::operator()"),
            ("ns::operator<<(int)", "ns::operator<<"),
            ("void apply_operator<float>(float)", "apply_operator"),
            ("void ns::my_operator()", "ns::my_operator"),
            ("kernel_3", "kernel"),
            ("gemm_fp16_128x64", "gemm_fp16_128x64"),
            ("typeinfo", "typeinfo"),
            ("", ""),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }

    #[test]
    fn names_of_two_builds_are_one() {
        let one = "__nv_static_51__a1b2c3d4_12_Kernel_cu_0f1e2d3c_4567_scale";
        let two = "__nv_static_51__99b2c3d4_12_Kernel_cu_ffffffff_4567_scale";
        assert_eq!(identity(one), identity(two));
        assert_eq!(identity("ns::saxpy(float)"), "ns::saxpy(float)");
        assert_eq!(
            identity("f(_INTERNAL_1_k_cu_ab_own_INTERNAL_2, _INTERNAL_3)"),
            "f((local)::own(local), (local))"
        );
    }

    #[test]
    fn a_long_name_with_very_many_hashes_is_read_once() {
        const MANY: usize = 1 << 18;
        assert_eq!(identity(&"_INTERNAL_1,".repeat(MANY)), "(local),".repeat(MANY));
    }
}
