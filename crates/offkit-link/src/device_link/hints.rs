//! What to do next where a link failed.

use std::env;

use offkit_image::Family;
use offkit_llvm::{WORKER_VARIABLE, WorkerError};

use super::{LinkError, UndefinedSymbol};

impl LinkError {
    /// Whether the machine lacks something, as opposed to the input being wrong.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        match self {
            Self::Worker(WorkerError::Protocol { .. })
            | Self::Temporary(_)
            | Self::Kept { .. }
            | Self::NoLinker { .. } => true,
            Self::Worker(worker) => worker.is_missing_tool(),
            _ => false,
        }
    }

    /// What to do next. Whoever has a command line knows more: which of its options would help.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Worker(WorkerError::Protocol { .. }) => {
                "build both programs from the same sources: `cargo build -p offkit -p offkit-llvm-worker`"
                    .into()
            }
            Self::Worker(worker) if worker.is_missing_tool() => missing_worker(worker),
            Self::Worker(WorkerError::Unmet(need)) => {
                let version = need
                    .version
                    .map(|(major, minor)| format!("`--spirv-version={major}.{minor}`"));
                let extensions = need.extensions.iter();
                let extensions = extensions.map(|name| format!("`--spirv-ext=…,{name}`"));
                let options: Vec<String> = version.into_iter().chain(extensions).collect();
                format!("if the device takes it, say so: {}", options.join(" "))
            }
            Self::Temporary(_) => "TMPDIR names the folder for temporary files".into(),
            Self::NoLinker { .. } => "install it: `apt-get install lld-22`".into(),
            Self::NothingToLink { .. } => {
                "a kernel is what the host launches; a function is exported unless it is static".into()
            }
            Self::Undefined { symbols, .. } => return vendor_hints(symbols),
            Self::Crashed(crash) => {
                let Some(reproducer) = &crash.reproducer else {
                    return Vec::new();
                };
                return vec![
                    format!("the code that led to it is kept in `{}`", reproducer.display()),
                    format!("`offkit {}` does it again", crash.command),
                ];
            }
            _ => return Vec::new(),
        };
        vec![hint]
    }
}

fn missing_worker(worker: &WorkerError) -> String {
    match (worker, env::var_os(WORKER_VARIABLE)) {
        (WorkerError::LlvmMissing { .. }, _) => "install LLVM 22: `apt-get install libllvm22`".into(),
        (_, Some(_)) => {
            format!(
                "{WORKER_VARIABLE} names that program: correct it, or unset it to use the one beside `offkit`"
            )
        }
        _ => format!(
            "build it with `cargo build -p offkit-llvm-worker` (needs Debian's `llvm-22-dev`), or name it in \
             {WORKER_VARIABLE}"
        ),
    }
}

/// Where functions of vendors' libraries are to be had.
fn vendor_hints(symbols: &[UndefinedSymbol]) -> Vec<String> {
    let vendors: [(&[&str], &str); 2] = [
        (
            &["__nv_"],
            "functions `__nv_…` are in NVIDIA's libdevice: install CUDA, or name the folder of `libdevice.10.bc` with \
             `-L` and add `-ldevice`",
        ),
        (
            &["__ocml_", "__ockl_", "__oclc_"],
            "functions `__ocml_…` and `__ockl_…` are in ROCm's device libraries: `apt-get install rocm-device-libs`",
        ),
    ];
    let is_needed = |prefixes: &[&str]| {
        let mut names = symbols.iter().map(|symbol| &symbol.name);
        names.any(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
    };
    let needed = vendors.into_iter().filter(|(prefixes, _)| is_needed(prefixes));
    let mut hints: Vec<String> = needed.map(|(_, hint)| hint.to_owned()).collect();
    let is_nvidias = |symbol: &&UndefinedSymbol| Family::of(&symbol.target).is_nvptx();
    if symbols
        .iter()
        .filter(is_nvidias)
        .any(|symbol| symbol.name == "printf")
    {
        hints.push(
            "NVIDIA's driver has no `printf` of OpenCL C: clang 22 leaves its calls as they are, and lowers those of \
             C++, CUDA and OpenMP"
                .into(),
        );
    }
    hints
}
