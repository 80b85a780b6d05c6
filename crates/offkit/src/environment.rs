//! The environment variables that offkit looks at, whichever crate does: what `offkit --help` and the README say.

use offkit_cache::{
    AGE_VARIABLE, CACHE_VARIABLE, REMOTE_VARIABLE, SIGN_VARIABLE, SIZE_VARIABLE, SWITCH_VARIABLE,
    TRUST_VARIABLE,
};
use offkit_devlib::LIBRARY_PATH_VARIABLE;
use offkit_host::clang::CLANG_VARIABLE;
use offkit_host::nodes::DEV_VARIABLE;
use offkit_link::device_link::LLVM_FOLDER_VARIABLE;
use offkit_llvm::WORKER_VARIABLE;
use offkit_opencl::icd;
use offkit_pi::host::trace;
use offkit_plugin_cpu::{
    CHECK_BOUNDS_VARIABLE, COMPILE_VARIABLE, GDB_VARIABLE, LIBMVEC_VARIABLE, PERF_VARIABLE,
    PROCESSOR_VARIABLE, THREADS_VARIABLE,
};
use offkit_runtime::{COMPILE_OPTIONS_VARIABLE, LINK_OPTIONS_VARIABLE, filter, probe, search};

/// Says what is logged, such as `offkit_runtime=debug`.
pub(crate) const LOG: &str = "OFFKIT_LOG";

/// Names the program that shows long listings.
pub(crate) const PAGER: &str = "OFFKIT_PAGER";

/// The same for all programs.
pub(crate) const USUAL_PAGER: &str = "PAGER";

/// Every variable and what it does. Those of the peers' tools are theirs, and are not here.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    (WORKER_VARIABLE, "names the LLVM worker program"),
    (
        LLVM_FOLDER_VARIABLE,
        "names the folder with LLVM 22's `ld.lld`, where it is not on `PATH`",
    ),
    (CLANG_VARIABLE, "names the clang 22 that `offkit cc` runs"),
    (
        search::PLUGINS_VARIABLE,
        "names plugin libraries besides the built-in CPU device, separated by `:`; offkit loads each when something asks for its devices",
    ),
    (
        probe::PATIENCE_VARIABLE,
        "sets how long offkit waits for a plugin that it tries, instead of 30 seconds",
    ),
    (
        search::CONFIG_VARIABLE,
        "names the configuration file of plugins, instead of the user's and the system's `offkit/plugins.conf`",
    ),
    (
        filter::VARIABLES[0],
        "chooses devices, such as `opencl:gpu;!*:1`; without it, `SYCL_DEVICE_FILTER` and `SYCL_BE` do",
    ),
    (
        trace::VARIABLES[0],
        "prints calls into plugins, as `SYCL_PI_TRACE` does: a sum of 1 (plugins found, devices chosen) and 2 (calls), or -1 for everything",
    ),
    (
        COMPILE_OPTIONS_VARIABLE,
        "replaces the options that a kernel's images have for the device's compiler",
    ),
    (
        LINK_OPTIONS_VARIABLE,
        "replaces the options that a kernel's images have for the device's linker",
    ),
    (
        icd::VENDORS,
        "names the folder of OpenCL's list of drivers, a file of it, or a driver",
    ),
    (
        icd::FILENAMES,
        "names OpenCL drivers, separated by `:`, before those of the list",
    ),
    (
        offkit_ur::FORCE_LOAD,
        "names adapters of Unified Runtime, separated by `,`, instead of all others",
    ),
    (
        offkit_ur::SEARCH_PATH,
        "names folders of adapters of Unified Runtime, separated by `,`",
    ),
    (
        THREADS_VARIABLE,
        "sets how many threads the CPU device runs a kernel on, instead of as many as affinity and control groups allow",
    ),
    (
        COMPILE_VARIABLE,
        "if 0, the CPU device interprets every kernel and checks every access; `offkit doctor` shows what compiles them otherwise",
    ),
    (
        CHECK_BOUNDS_VARIABLE,
        "if 1, compiled kernels of the CPU device check each memory access, as with `offkit run --check-bounds`",
    ),
    (
        PROCESSOR_VARIABLE,
        "names the level of x86-64 that kernels are compiled for (`x86-64-v2`, `x86-64-v3`, `x86-64-v4`), instead of this processor",
    ),
    (
        LIBMVEC_VARIABLE,
        "if 0, compiled kernels of the CPU device don't call glibc's libmvec, and compute the same wherever they run",
    ),
    (PERF_VARIABLE, "if 1, tells perf the names of compiled kernels"),
    (
        GDB_VARIABLE,
        "if 1, tells debuggers the names and source lines of compiled kernels",
    ),
    (
        LOG,
        "chooses what offkit logs, such as `offkit_runtime=debug`; `-v` is the short form",
    ),
    (
        LIBRARY_PATH_VARIABLE,
        "names folders to search for device libraries, after those of `-L`, separated by `:`",
    ),
    ("ROCM_PATH", "names the folder of ROCm, for its device libraries"),
    (
        "CUDA_PATH",
        "names the folder of CUDA, for libdevice; so does `CUDA_HOME`",
    ),
    (
        CACHE_VARIABLE,
        "names the folder for the cache: built programs and device libraries",
    ),
    (
        SWITCH_VARIABLE,
        "if `off`, offkit keeps no cache and builds programs and sources every time",
    ),
    (
        SIZE_VARIABLE,
        "sets the largest size of the cache in MiB, instead of 1024",
    ),
    (
        AGE_VARIABLE,
        "sets for how many days the cache keeps what nobody uses, instead of 30",
    ),
    (
        REMOTE_VARIABLE,
        "names a store that many machines share, such as `redis://host:6379`, in builds of offkit with that feature",
    ),
    (
        TRUST_VARIABLE,
        "names a file of public keys: offkit takes from the shared store only what one of them signed",
    ),
    (
        SIGN_VARIABLE,
        "names the private key that signs entries for the shared store",
    ),
    (
        PAGER,
        "names the pager for output longer than the terminal; empty, or `cat`, for none",
    ),
    (
        USUAL_PAGER,
        "does the same for all programs; without both, offkit uses `less -FRX`",
    ),
    ("NO_COLOR", "switches colours off"),
    (
        DEV_VARIABLE,
        "names a folder with device nodes to use instead of `/dev`, for tests",
    ),
];

/// The variables as `offkit --help` shows them.
pub(crate) fn help() -> String {
    let mut text = "Environment:".to_owned();
    for (name, does) in VARIABLES {
        text += &format!("\n  {name}\n      {does}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_readme_says_the_same() {
        let readme = fs::read_to_string(root().join("README.md")).unwrap();
        let (_, table) = readme
            .split_once("| Variable | Does |\n|---|---|\n")
            .expect("the README has a table of variables");
        let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        let expected: Vec<_> = VARIABLES
            .iter()
            .map(|(name, does)| format!("| `{name}` | {does} |"))
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn no_variable_is_looked_at_in_secret() {
        let mut folders = vec![root().join("crates"), root().join("plugins")];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    // What tests set for themselves is nobody's business, and so are their plugins.
                    let is_for_tests = path.ends_with("tests") || path.ends_with("plugins/mock");
                    folders.extend(Some(path).filter(|_| !is_for_tests));
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs") || path.ends_with("tests.rs") {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                for rest in text.split("\"OFFKIT_").skip(1) {
                    let Some((name, _)) = rest.split_once('"') else {
                        continue;
                    };
                    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                    {
                        continue;
                    }
                    let name = format!("OFFKIT_{name}");
                    // Tests of a crate may ask for tools.
                    let is_known =
                        VARIABLES.iter().any(|(known, _)| *known == name) || name == "OFFKIT_REQUIRE_TOOLS";
                    assert!(
                        is_known,
                        "{}: `{name}` is not among the variables",
                        path.display()
                    );
                    found += 1;
                }
            }
        }
        assert!(found >= 5, "{found}");
    }
}
