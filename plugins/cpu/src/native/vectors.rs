//! Functions of glibc's libmvec, where it is present.

use offkit_compile::math::Registers;

use crate::processor::{self, Level};

/// The library that functions of vectors are in, opened when it is first asked for. Nothing on other systems and processors.
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod library {
    use std::path::Path;

    use offkit_compile::math::VECTOR_LIBRARY;
    use offkit_pi::driver::{Library, open_resolved};

    use crate::sync::OnceLock;

    pub(super) fn address(symbol: &str) -> Option<u64> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| {
            // SAFETY: it is a part of the C library that runs this process, and has no initialisers of its own.
            let opened = unsafe { open_resolved(Path::new(VECTOR_LIBRARY)) };
            opened
                .inspect_err(|error| tracing::debug!(%error, "no functions of vectors"))
                .ok()
        });
        // SAFETY: an address is taken, and called as what the vector ABI has by that name.
        let function = unsafe { library.as_ref()?.get::<*const ()>(symbol.as_bytes()) };
        Some(*function.ok()? as u64)
    }
}

/// The address of a function by its symbol, if it is there.
pub(crate) fn address(symbol: &str) -> Option<u64> {
    // The library needs others, in which the system would look as well.
    if !symbol.starts_with("_ZGV") {
        return None;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    return library::address(symbol);
    #[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
    None
}

/// The widest registers that kernels are compiled for and such functions take their operands in.
pub(crate) fn registers() -> Option<Registers> {
    // By what code is made for, and not by what the processor has: these functions check nothing.
    match processor::level() {
        Level::V4 => Some(Registers::Avx512),
        Level::V3 => Some(Registers::Avx2),
        Level::V2 | Level::Basic => None,
    }
}
