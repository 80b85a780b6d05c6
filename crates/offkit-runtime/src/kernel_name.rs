//! Kernel names as users know them.
//!
//! A compiler may call a kernel something else than its author: the SYCL compiler puts
//! `__sycl_kernel_` before the name of a free function, and names a lambda after the type of its
//! kernel name (`_ZTS6saxpy`, "typeinfo name for saxpy").

/// What the SYCL compiler puts before the name of a free function that is a kernel.
const SYCL_PREFIX: &str = "__sycl_kernel_";

/// How many names are suggested for one that is not there.
const SUGGESTIONS: usize = 5;

/// How a name fits a kernel, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    /// Letter by letter.
    Exact,
    /// Without the compiler's prefix.
    Unprefixed,
    /// Demangled, with argument types.
    Demangled,
    /// Demangled, without argument types.
    BaseName,
}

/// How `name` fits the kernel whose symbol is `kernel`, if it does.
pub(crate) fn matches(kernel: &str, name: &str) -> Option<Match> {
    if kernel == name {
        return Some(Match::Exact);
    }
    let unprefixed = unprefixed(kernel);
    if unprefixed == name {
        return Some(Match::Unprefixed);
    }
    let demangled = readable(kernel);
    if demangled == name {
        return Some(Match::Demangled);
    }
    (base_name(&demangled) == name).then_some(Match::BaseName)
}

/// Whether a kernel of this symbol may be called `name`: exactly, without its compiler's prefix, or demangled, with
/// or without argument types.
///
/// ```
/// assert!(offkit_runtime::is_kernel_called("_ZTS5saxpy", "saxpy"));
/// ```
pub fn is_kernel_called(kernel: &str, name: &str) -> bool {
    matches(kernel, name).is_some()
}

/// The kernel's name as its author wrote it, with the argument types if the compiler kept them.
///
/// ```
/// assert_eq!(offkit_runtime::readable_kernel_name("_ZTS5saxpy"), "saxpy");
/// assert_eq!(offkit_runtime::readable_kernel_name("_Z5saxpyfPf"), "saxpy(float, float*)");
/// ```
pub fn readable(kernel: &str) -> String {
    let demangled = offkit_object::demangle(&unprefixed(kernel));
    let name = demangled.strip_prefix("typeinfo name for ").unwrap_or(&demangled);
    name.replacen(SYCL_PREFIX, "", 1)
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
        let (length, rest) = rest.split_at(digits);
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

/// The names among `kernels` that are most like `name`; all of them if they are few.
pub(crate) fn similar<'a>(name: &str, kernels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ranked: Vec<(f64, String)> = kernels
        .map(|kernel| {
            let readable = readable(kernel);
            let likeness =
                strsim::jaro_winkler(name, base_name(&readable)).max(strsim::jaro_winkler(name, kernel));
            (likeness, readable)
        })
        .collect();
    ranked.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    ranked.dedup_by(|(_, x), (_, y)| x == y);
    ranked.truncate(SUGGESTIONS);
    ranked.into_iter().map(|(_, kernel)| kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_several_names() {
        assert_eq!(matches("saxpy", "saxpy"), Some(Match::Exact));
        assert_eq!(
            matches("__sycl_kernel_app_kernel", "app_kernel"),
            Some(Match::Unprefixed)
        );
        assert_eq!(
            matches("_Z5kfuncIfEvPf", "kfunc"),
            Some(Match::BaseName),
            "void kfunc<float>(float*)"
        );
        assert_eq!(
            matches("_Z5saxpyfPf", "saxpy(float, float*)"),
            Some(Match::Demangled)
        );
        assert_eq!(matches("_Z5saxpyfPf", "saxpy"), Some(Match::BaseName));
        assert_eq!(matches("_ZTS5saxpy", "saxpy"), Some(Match::Demangled));
        assert_eq!(matches("_ZTSN3app5saxpyE", "app::saxpy"), Some(Match::Demangled));
        assert_eq!(
            matches("_Z24__sycl_kernel_app_kernelPi", "app_kernel"),
            Some(Match::BaseName)
        );
        assert_eq!(
            matches("__sycl_kernel__Z5saxpyfPf", "saxpy"),
            Some(Match::BaseName)
        );
        assert_eq!(matches("saxpy", "sax"), None);
    }

    #[test]
    fn near_misses_are_suggested_best_first() {
        let kernels = [
            "matmul",
            "saxpy",
            "daxpy",
            "reduce",
            "scan",
            "histogram",
            "transpose",
        ];
        let similar = similar("sxapy", kernels.into_iter());
        assert_eq!(similar[0], "saxpy");
        assert_eq!(similar.len(), SUGGESTIONS);
    }
}
