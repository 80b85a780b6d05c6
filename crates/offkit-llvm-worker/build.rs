//! Links LLVM, and compiles the few functions in C++ for what its C interface does not offer; see `src/beyond_c.cpp`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The parts of LLVM that are linked: what is not among them needs no time when the worker starts.
const COMPONENTS: [&str; 15] = [
    "aarch64",
    "amdgpu",
    "bitreader",
    "bitwriter",
    "core",
    "frontendoffloading",
    "ipo",
    "irreader",
    "linker",
    "loongarch",
    "nvptx",
    "passes",
    "riscv",
    "spirv",
    "x86",
];

/// The environment variable that names the folder in which LLVM is installed, as llvm-sys has it.
const PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";

fn main() {
    const SOURCES: [&str; 2] = ["src/beyond_c.cpp", "src/narrow.cpp"];
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-env-changed={PREFIX_VARIABLE}");
    let llvm = Llvm::find();
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(llvm.ask(&["--includedir"]).expect("a folder"))
        // As LLVM itself is compiled; its headers are not to be warned of.
        .flag_if_supported("-fno-exceptions")
        .flag_if_supported("-fno-rtti")
        .warnings(false)
        .files(SOURCES)
        // Linked below.
        .cpp_link_stdlib(None)
        .compile("offkit_beyond_c");
    llvm.link();
    link_to_start_fast();
}

/// An LLVM that is installed, known by its program `llvm-config`.
struct Llvm {
    config: String,
}

impl Llvm {
    fn find() -> Self {
        let named = env::var(PREFIX_VARIABLE).map(|prefix| format!("{prefix}/bin/llvm-config"));
        let names = [
            named.unwrap_or_default(),
            "llvm-config-22".into(),
            "llvm-config".into(),
        ];
        let mut found = names.into_iter().map(|config| Self { config });
        found
            .find(|llvm| {
                llvm.ask(&["--version"])
                    .is_some_and(|version| version.starts_with("22."))
            })
            .unwrap_or_else(|| {
                panic!("LLVM 22 was not found: install llvm-22-dev, or name its folder in {PREFIX_VARIABLE}")
            })
    }

    /// What `llvm-config` answers; `None` if it cannot.
    fn ask(&self, question: &[&str]) -> Option<String> {
        let output = Command::new(&self.config).args(question).output().ok()?;
        let answer = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| answer.trim().to_owned())
    }

    /// Links the parts of LLVM that are used, where it and what it needs can be linked as static libraries: relocating
    /// all of the shared one takes most of the worker's time for a small link.
    fn link(&self) {
        let folder = self.ask(&["--libdir"]).expect("a folder");
        println!("cargo::rustc-link-search=native={folder}");
        let words = |question: &str| {
            let answer = self.ask(&[&["--link-static", question], &COMPONENTS[..]].concat());
            let words = answer.unwrap_or_default();
            words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let names = |words: Vec<String>| {
            let names = words.iter().filter_map(|word| library_name(word));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let (own, system) = (names(words("--libs")), names(words("--system-libs")));
        let is_there = |name: &String| Path::new(&folder).join(format!("lib{name}.a")).is_file();
        if own.is_empty() || !own.iter().all(is_there) || !system.iter().all(|name| is_installed(name)) {
            println!(
                "cargo::warning=LLVM is linked as a shared library, with which the worker starts slower"
            );
            println!("cargo::rustc-link-lib=dylib=LLVM-22");
        } else {
            own.iter()
                .for_each(|name| println!("cargo::rustc-link-lib=static:-bundle={name}"));
            system.iter().for_each(|name| link_system(name));
        }
        link_system("stdc++");
        // The standard library of Rust asks for it, of C++ as well.
        static_copy("libgcc_eh.a", "libgcc_s.a");
    }
}

/// Has the worker of the CPU device start fast: without relocations of its own, which take a millisecond and make 600 KiB
/// of its file private, and with all functions that are called once at the start side by side, which else are spread over
/// pages of all its 34 MB. It is loaded to the same address each time then; the other worker, which reads bitcode of
/// strangers, is not.
fn link_to_start_fast() {
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_linux {
        for option in ["-no-pie", "-Wl,-z,keep-text-section-prefix"] {
            println!("cargo::rustc-link-arg-bin=offkit-cpu-worker={option}");
        }
    }
}

/// Libraries of the system that are linked as static ones where they are there: loading them, and looking up what LLVM
/// needs of them, would take a millisecond at each start.
const SYSTEM_STATIC: [&str; 3] = ["stdc++", "z", "zstd"];

/// Links a library of the system. A static one is found in a folder without the shared one, and not named as such: then it
/// would come before the allocator, which has functions in the place of its own.
fn link_system(name: &str) {
    let file = format!("lib{name}.a");
    if SYSTEM_STATIC.contains(&name) {
        static_copy(&file, &file);
    }
    println!("cargo::rustc-link-lib=dylib={name}");
}

/// Has the linker find a static library, if it is there, in a folder without the shared one, by that name.
fn static_copy(file: &str, name: &str) {
    if let Some(library) = found(file) {
        let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says it")).join("static");
        fs::create_dir_all(&folder).expect("a folder");
        fs::copy(library, folder.join(name)).expect("a copy");
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}

/// Whether the system's compiler finds what is needed to link with a library.
fn is_installed(name: &str) -> bool {
    ["so", "a"]
        .iter()
        .any(|extension| found(&format!("lib{name}.{extension}")).is_some())
}

/// The file of a library, if the system's compiler finds it.
fn found(file: &str) -> Option<PathBuf> {
    let mut compiler = cc::Build::new().cpp(true).get_compiler().to_command();
    let output = compiler.arg(format!("-print-file-name={file}")).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    // It answers with the name alone if there is no such file.
    (answer.trim() != file).then(|| PathBuf::from(answer.trim()))
}

/// The name of a library as linkers are told it: `z3` of `/usr/lib/libz3.so`, `z` of `-lz`.
fn library_name(word: &str) -> Option<&str> {
    word.strip_prefix("-l").or_else(|| {
        let file = Path::new(word).file_name()?.to_str()?;
        file.strip_prefix("lib")?.strip_suffix(".so")
    })
}
