//! Links LLVM, and compiles the few functions in C++ for what its C interface does not offer; see `src/beyond_c.cpp`.

use std::env;
use std::path::Path;
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
    const SOURCE: &str = "src/beyond_c.cpp";
    println!("cargo::rerun-if-changed={SOURCE}");
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
        .file(SOURCE)
        .compile("offkit_beyond_c");
    llvm.link();
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
            system
                .iter()
                .for_each(|name| println!("cargo::rustc-link-lib=dylib={name}"));
        }
        println!("cargo::rustc-link-lib=dylib=stdc++");
    }
}

/// Whether the system's compiler finds what is needed to link with a library.
fn is_installed(name: &str) -> bool {
    let compiler = cc::Build::new().cpp(true).get_compiler();
    ["so", "a"].iter().any(|extension| {
        let file = format!("lib{name}.{extension}");
        let output = compiler
            .to_command()
            .arg(format!("-print-file-name={file}"))
            .output();
        // It answers with the name alone if there is no such file.
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() != file)
    })
}

/// The name of a library as linkers are told it: `z3` of `/usr/lib/libz3.so`, `z` of `-lz`.
fn library_name(word: &str) -> Option<&str> {
    word.strip_prefix("-l").or_else(|| {
        let file = Path::new(word).file_name()?.to_str()?;
        file.strip_prefix("lib")?.strip_suffix(".so")
    })
}
