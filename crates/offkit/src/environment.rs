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
    CHECK_BOUNDS_VARIABLE, COMPILE_VARIABLE, GDB_VARIABLE, PERF_VARIABLE, THREADS_VARIABLE,
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
        "names plugin libraries besides the built-in CPU device, separated by `:`; each is loaded when its devices are asked for",
    ),
    (
        probe::PATIENCE_VARIABLE,
        "says how long a plugin may take when it is tried, instead of 30 seconds",
    ),
    (
        search::CONFIG_VARIABLE,
        "names the configuration file of plugins, instead of the user's and the system's `offkit/plugins.conf`",
    ),
    (
        filter::VARIABLES[0],
        "says which devices are used, such as `opencl:gpu;!*:1`; without it, `SYCL_DEVICE_FILTER` and `SYCL_BE` do",
    ),
    (
        trace::VARIABLES[0],
        "prints calls into plugins, as `SYCL_PI_TRACE` does: a sum of 1 (plugins found, devices chosen) and 2 (calls), or -1 for everything",
    ),
    (
        COMPILE_OPTIONS_VARIABLE,
        "says what a device's compiler is told, instead of what the images of a kernel say",
    ),
    (
        LINK_OPTIONS_VARIABLE,
        "says what a device's linker is told, instead of what the images of a kernel say",
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
        "says how many threads the CPU device runs a kernel on, instead of as many as affinity and control groups leave the process",
    ),
    (
        COMPILE_VARIABLE,
        "has the CPU device interpret every kernel, with every access checked, if it is 0; `offkit doctor` says what compiles them otherwise",
    ),
    (
        CHECK_BOUNDS_VARIABLE,
        "has compiled kernels of the CPU device check each access to memory if it is 1, as `offkit run --check-bounds` does",
    ),
    (
        PERF_VARIABLE,
        "tells perf the names of compiled kernels if it is 1",
    ),
    (
        GDB_VARIABLE,
        "tells debuggers the names and source lines of compiled kernels if it is 1",
    ),
    (
        LOG,
        "says what is logged, such as `offkit_runtime=debug`; `-v` is the short form",
    ),
    (
        LIBRARY_PATH_VARIABLE,
        "names folders to look for device libraries in, after those of `-L`, separated by `:`",
    ),
    (
        "ROCM_PATH",
        "names the folder of ROCm, whose device libraries are found there",
    ),
    (
        "CUDA_PATH",
        "names the folder of CUDA, for libdevice; so does `CUDA_HOME`",
    ),
    (
        CACHE_VARIABLE,
        "names the folder for files that can be made again, such as built programs and device libraries",
    ),
    (
        SWITCH_VARIABLE,
        "switches the cache off if it is `off`: programs and sources are built every time",
    ),
    (
        SIZE_VARIABLE,
        "says how many MiB the cache may take, instead of 1024",
    ),
    (
        AGE_VARIABLE,
        "says for how many days the cache keeps what nobody uses, instead of 30",
    ),
    (
        REMOTE_VARIABLE,
        "names a store that many machines share behind the cache, such as `redis://host:6379`, where offkit was built with it",
    ),
    (
        TRUST_VARIABLE,
        "names a file of public keys: what none of them has signed does not come from the shared store",
    ),
    (
        SIGN_VARIABLE,
        "names the private key that entries for the shared store are signed with",
    ),
    (
        PAGER,
        "names the program that shows what is longer than the terminal; empty, or `cat`, for none",
    ),
    (
        USUAL_PAGER,
        "does the same for all programs, without the one above; without both it is `less -FRX`",
    ),
    ("NO_COLOR", "switches colours off"),
    (
        DEV_VARIABLE,
        "names a folder in which nodes of devices are looked for in the place of `/dev`, for tests",
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
