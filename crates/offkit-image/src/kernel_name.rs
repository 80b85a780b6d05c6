//! Kernel names as users know them.
//!
//! A compiler may call a kernel something else than its author: the SYCL compiler puts
//! `__sycl_kernel_` before the name of a free function, and names a lambda after the type of its
//! kernel name (`_ZTS6saxpy`, "typeinfo name for saxpy").

use crate::symbol_name::demangle;

/// What the SYCL compiler puts before the name of a free function that is a kernel.
const SYCL_PREFIX: &str = "__sycl_kernel_";

/// The name of a kernel as it is in an image, and the only rule for what else people may call it.
///
/// ```
/// use offkit_image::{KernelName, NameMatch};
///
/// let kernel = KernelName::new("_Z5saxpyfPf");
/// assert_eq!(kernel.matches("saxpy(float, float*)"), Some(NameMatch::Demangled));
/// assert_eq!(kernel.matches("saxpy"), Some(NameMatch::BaseName));
/// assert_eq!(kernel.matches("axpy"), None);
/// assert_eq!(KernelName::new("_ZTS5saxpy").readable(), "saxpy");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelName<'a>(&'a str);

/// How a name fits a kernel, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    /// Letter by letter.
    Exact,
    /// Without the compiler's prefix.
    Unprefixed,
    /// Demangled, with argument types.
    Demangled,
    /// Demangled, without argument types.
    BaseName,
}

impl<'a> KernelName<'a> {
    /// The name of the kernel with this symbol.
    #[must_use]
    pub fn new(symbol: &'a str) -> Self {
        Self(symbol)
    }

    /// How `name` fits the kernel, if it does: exactly, without its compiler's prefix, or demangled, with or
    /// without argument types.
    #[must_use]
    pub fn matches(self, name: &str) -> Option<NameMatch> {
        if self.0 == name {
            return Some(NameMatch::Exact);
        }
        if unprefixed(self.0) == name {
            return Some(NameMatch::Unprefixed);
        }
        let readable = self.readable();
        if readable == name {
            return Some(NameMatch::Demangled);
        }
        (base_name(&readable) == name).then_some(NameMatch::BaseName)
    }

    /// Whether the kernel may be called `name`.
    #[must_use]
    pub fn is(self, name: &str) -> bool {
        self.matches(name).is_some()
    }

    /// Whether the kernel may be called something else than what it is called in the image.
    #[must_use]
    pub fn has_other_names(self) -> bool {
        self.0.starts_with(SYCL_PREFIX) || mangled(self.0).is_some()
    }

    /// A word that the names by which a kernel may be called have in common, to look it up by; empty where the name
    /// has none that is told without demangling it.
    ///
    /// A kernel that a name [`matches`](Self::matches) has the same key as the name, or an empty one.
    ///
    /// ```
    /// use offkit_image::KernelName;
    ///
    /// for name in ["_Z5saxpyfPf", "saxpy(float, float*)", "saxpy", "__sycl_kernel__Z5saxpyfPf"] {
    ///     assert_eq!(KernelName::new(name).key(), "saxpy");
    /// }
    /// ```
    #[must_use]
    pub fn key(self) -> &'a str {
        let name = self.0.strip_prefix(SYCL_PREFIX).unwrap_or(self.0);
        let word = match mangled(name) {
            Some(mangled) => last_word(mangled).unwrap_or_default(),
            None => {
                let base = base_name(name);
                base.rsplit("::").next().unwrap_or(base)
            }
        };
        let is_word = word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match is_word {
            // In a mangled name the prefix is a part of the word.
            true => word.strip_prefix(SYCL_PREFIX).unwrap_or(word),
            false => "",
        }
    }

    /// The name as the kernel's author wrote it, with the argument types if the compiler kept them.
    #[must_use]
    pub fn readable(self) -> String {
        let demangled = demangle(&unprefixed(self.0));
        let name = demangled.strip_prefix("typeinfo name for ").unwrap_or(&demangled);
        name.replacen(SYCL_PREFIX, "", 1)
    }

    /// The readable name without types.
    #[must_use]
    pub fn base_name(self) -> String {
        base_name(&self.readable()).to_owned()
    }
}

/// Takes the compiler's prefix off, also where it is inside a mangled name: in
/// `_Z24__sycl_kernel_app_kernelPi` the number counts the letters of the name that follows.
fn unprefixed(kernel: &str) -> String {
    if let Some(plain) = kernel.strip_prefix(SYCL_PREFIX) {
        return plain.to_owned();
    }
    // A mangled free function is prefixed as a whole: `_Z` and the length come after the prefix or
    // around it, depending on the release.
    let inside = kernel.strip_prefix("_Z").and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (length, rest) = rest.split_at_checked(digits)?;
        let plain = rest.strip_prefix(SYCL_PREFIX)?;
        let length = length.parse::<usize>().ok()?.checked_sub(SYCL_PREFIX.len())?;
        Some(format!("_Z{length}{plain}"))
    });
    inside.unwrap_or_else(|| kernel.to_owned())
}

/// What follows `_Z` in a mangled name.
fn mangled(symbol: &str) -> Option<&str> {
    // Some systems put more underscores before it.
    let plain = symbol.trim_start_matches('_');
    // Without any underscore it is a name like all others that begin with this letter.
    plain.strip_prefix('Z').filter(|_| plain.len() < symbol.len())
}

/// The last word of the name without template arguments in what follows `_Z`; `None` for names that are no plain
/// words, such as those of lambdas, and in namespaces that are written otherwise.
fn last_word(mangled: &str) -> Option<&str> {
    let mut rest = mangled.strip_prefix("TS").unwrap_or(mangled);
    let is_nested = rest.starts_with('N');
    if is_nested {
        rest = rest.get(1..)?.trim_start_matches(['r', 'V', 'K', 'R', 'O']);
    }
    let mut last = None;
    loop {
        // The letter stands before names of what is local to a file.
        rest = rest.strip_prefix('L').unwrap_or(rest);
        if let Some(after) = rest.strip_prefix("St") {
            // `std`: the name follows.
            rest = after;
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            break;
        }
        let (length, after) = rest.split_at_checked(digits)?;
        let (word, after) = after.split_at_checked(length.parse().ok()?)?;
        // It is demangled to `(anonymous namespace)`, whose bracket ends the name without types.
        if word.starts_with("_GLOBAL__N") {
            return None;
        }
        (last, rest) = (Some(word), after);
        if !is_nested {
            break;
        }
    }
    // Template arguments and the end of a nested name, or the types of parameters; no operator and no mark of an ABI.
    let is_whole = match is_nested {
        true => rest.starts_with(['I', 'E']),
        false => !rest.starts_with('B'),
    };
    last.filter(|_| is_whole)
}

fn base_name(demangled: &str) -> &str {
    let name = demangled.split(['(', '<']).next().unwrap_or(demangled);
    // Templates are demangled with the type that they return.
    name.rsplit(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_kernel_leads_to_its_key() {
        let kernels = [
            ("saxpy", "saxpy"),
            ("__sycl_kernel_app_kernel", "app_kernel"),
            ("_Z24__sycl_kernel_app_kernelPi", "app_kernel"),
            ("__sycl_kernel__Z5saxpyfPf", "saxpy"),
            ("_Z5kfuncIfEvPf", "kfunc"),
            ("_ZL5saxpyfPf", "saxpy"),
            ("_ZTS5saxpy", "saxpy"),
            ("_ZTSN3app5saxpyE", "saxpy"),
            ("_ZTSN3app5saxpyIfN2ns1tEEE", "saxpy"),
            ("_ZTSN1AIfE1BE", "A"),
            ("_ZN3app5saxpyEPf", "saxpy"),
            ("_ZTSSt4plusIfE", "plus"),
            // Told only by demangling.
            ("_ZTSN12_GLOBAL__N_16kernelE", ""),
            ("_ZTSZ4mainE6kernel", ""),
            (
                "_ZTSZZ4mainENKUlRN4sycl3_V17handlerEE_clES2_EUlNS0_4itemILi1ELb1EEEE_",
                "",
            ),
            ("_ZN1AclEv", ""),
            ("_Z1fB5cxx11v", ""),
        ];
        for (symbol, key) in kernels {
            let kernel = KernelName::new(symbol);
            assert_eq!(kernel.key(), key, "{symbol}");
            let names = [
                symbol.to_owned(),
                unprefixed(symbol),
                kernel.readable(),
                kernel.base_name(),
            ];
            for name in names {
                assert!(kernel.is(&name), "{symbol} {name}");
                assert!(
                    key.is_empty() || KernelName::new(&name).key() == key,
                    "{symbol} {name}"
                );
            }
        }
        for damaged in [
            "_Z",
            "_Z9",
            "_Z99999999999999999999a",
            "_ZN",
            "_ZN1",
            "_Z3\u{fc}\u{fc}",
        ] {
            assert_eq!(KernelName::new(damaged).key(), "", "{damaged}");
        }
    }

    #[test]
    fn a_kernel_is_known_by_several_names() {
        assert_eq!(KernelName::new("saxpy").matches("saxpy"), Some(NameMatch::Exact));
        assert_eq!(
            KernelName::new("__sycl_kernel_app_kernel").matches("app_kernel"),
            Some(NameMatch::Unprefixed)
        );
        assert_eq!(
            KernelName::new("_Z5kfuncIfEvPf").matches("kfunc"),
            Some(NameMatch::BaseName),
            "void kfunc<float>(float*)"
        );
        assert_eq!(
            KernelName::new("_Z5saxpyfPf").matches("saxpy(float, float*)"),
            Some(NameMatch::Demangled)
        );
        assert_eq!(
            KernelName::new("_Z5saxpyfPf").matches("saxpy"),
            Some(NameMatch::BaseName)
        );
        assert_eq!(
            KernelName::new("_ZTS5saxpy").matches("saxpy"),
            Some(NameMatch::Demangled)
        );
        assert_eq!(
            KernelName::new("_ZTSN3app5saxpyE").matches("app::saxpy"),
            Some(NameMatch::Demangled)
        );
        assert_eq!(
            KernelName::new("_Z24__sycl_kernel_app_kernelPi").matches("app_kernel"),
            Some(NameMatch::BaseName)
        );
        assert_eq!(
            KernelName::new("__sycl_kernel__Z5saxpyfPf").matches("saxpy"),
            Some(NameMatch::BaseName)
        );
        assert_eq!(KernelName::new("saxpy").matches("sax"), None);
    }
}
