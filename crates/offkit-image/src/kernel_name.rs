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

fn base_name(demangled: &str) -> &str {
    let name = demangled.split(['(', '<']).next().unwrap_or(demangled);
    // Templates are demangled with the type that they return.
    name.rsplit(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
