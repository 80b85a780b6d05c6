//! The order of the crates, the circles of modules, and the one crate that knows how targets are spelt.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates, from below: each depends only on those before its own line.
const LEVELS: [&[&str]; 11] = [
    &["offkit-image", "offkit-sync"],
    &["offkit-host"],
    &[
        "offkit-cache",
        "offkit-opencl",
        "offkit-pi",
        "offkit-spirv",
        "offkit-ur",
    ],
    &["offkit-kernel", "offkit-object"],
    &["offkit-compile", "offkit-inventory", "offkit-plugin-tests"],
    &["offkit-llvm"],
    &[
        "offkit-llvm-worker",
        "offkit-devlib",
        "offkit-runtime",
        "offkit-plugin-cpu",
        "offkit-plugin-cuda",
        "offkit-plugin-mock",
        "offkit-plugin-opencl",
        "offkit-plugin-ur",
        "offkit-example-plugin",
    ],
    &["offkit-link", "offkit-capi"],
    &["offkit-driver", "offkit-peers"],
    &["offkit", "offkit-gpu", "offkit-opencl-front"],
    &["offkit-tests"],
];

/// What some crates never depend on, not even through others, and why.
const APART: [(&[&str], &[&str], &str); 4] = [
    (
        &["offkit-image", "offkit-spirv", "offkit-kernel", "offkit-object"],
        &["offkit-pi", "offkit-llvm", "llvm-sys", "libloading"],
        "containers are read without devices and without LLVM",
    ),
    (
        &[
            "offkit-pi",
            "offkit-runtime",
            "offkit-capi",
            "offkit-plugin-cpu",
            "offkit-plugin-cuda",
            "offkit-plugin-opencl",
            "offkit-plugin-ur",
        ],
        &["llvm-sys"],
        "programs load and launch device code without LLVM",
    ),
    (
        &["offkit", "offkit-compile", "offkit-llvm", "offkit-link"],
        &["llvm-sys"],
        "LLVM is in a process of its own",
    ),
    (
        &["offkit-image"],
        &["rayon", "object", "serde"],
        "everybody depends on the words that everybody speaks",
    ),
];

/// A package of the workspace.
struct Package {
    name: String,
    folder: PathBuf,
    dependencies: Vec<String>,
}

fn packages() -> Vec<Package> {
    let output = offkit_tests::output(
        Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let package = |package: &Value| Package {
        name: text(&package["name"]),
        folder: Path::new(&text(&package["manifest_path"]))
            .parent()
            .expect("a folder")
            .to_owned(),
        dependencies: package["dependencies"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    };
    let packages = metadata["packages"].as_array().expect("a list");
    packages.iter().map(package).collect()
}

/// Dependencies that point up or to the side, and crates without a place.
fn upward(packages: &[Package]) -> Vec<String> {
    let level = |name: &str| LEVELS.iter().position(|level| level.contains(&name));
    let mut wrong = Vec::new();
    for package in packages {
        let Some(own) = level(&package.name) else {
            wrong.push(format!("{} has no place in the order of crates", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            if level(dependency).is_some_and(|other| other >= own) {
                wrong.push(format!(
                    "{} depends on {dependency}, which is not below it",
                    package.name
                ));
            }
        }
    }
    wrong
}

/// All that a package depends on, directly or through others of the workspace.
fn reached<'a>(packages: &'a [Package], name: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        let package = packages.iter().find(|package| package.name == name);
        for dependency in package.iter().flat_map(|package| &package.dependencies) {
            if reached.insert(dependency.as_str()) {
                open.push(dependency);
            }
        }
    }
    reached
}

#[test]
fn crates_depend_on_crates_below() {
    let packages = packages();
    let mut wrong = upward(&packages);
    for (names, never, reason) in APART {
        for name in names {
            let reached = reached(&packages, name);
            for other in never.iter().filter(|other| reached.contains(**other)) {
                wrong.push(format!("{name} depends on {other}: {reason}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_dependency_that_points_upward_is_seen() {
    let package = |name: &str, dependencies: &[&str]| Package {
        name: name.to_owned(),
        folder: PathBuf::new(),
        dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
    };
    let packages = [
        package("offkit-image", &["offkit-object"]),
        package("offkit-object", &["offkit-image", "memchr"]),
        package("offkit-new", &[]),
    ];
    assert_eq!(
        upward(&packages),
        [
            "offkit-image depends on offkit-object, which is not below it",
            "offkit-new has no place in the order of crates"
        ]
    );
}

/// The first parts of triples, which only `offkit-image` spells; some have a version behind them.
const ARCHITECTURES: &[&str] = &[
    "aarch64",
    "amd64",
    "amdgcn",
    "amdgpu",
    "arm64",
    "i386",
    "i486",
    "i586",
    "i686",
    "loongarch64",
    "nvptx",
    "nvptx64",
    "powerpc64",
    "powerpc64le",
    "ppc64",
    "ppc64le",
    "riscv64",
    "s390x",
    "spir",
    "spir64",
    "spir64_fpga",
    "spir64_gen",
    "spir64_x86_64",
    "spirv",
    "spirv32",
    "spirv64",
    "systemz",
    "x86_64",
];

/// What stands before a processor's number, and before its whole name in DPC++'s spelling.
const PROCESSORS: &[&str] = &["sm_", "compute_", "gfx"];
const DEVICES: &[&str] = &["nvidia_gpu_", "amd_gpu_", "intel_gpu_"];

/// What only triples have.
const ENDS: &[&str] = &[
    "-unknown-unknown",
    "-nvidia-cuda",
    "-amd-amdhsa",
    "-amd-amdpal",
    "-mesa3d",
];

/// Whether a literal spells a triple, an architecture or a processor, or what one begins with.
fn spells_target(literal: &str) -> bool {
    if literal.is_empty() || literal.contains(char::is_whitespace) {
        return false;
    }
    let architecture = literal.split('-').next().unwrap_or_default();
    let is_versioned = ["spirv64v", "spirv32v", "spirv1."]
        .iter()
        .any(|known| architecture.starts_with(known));
    let is_processor = PROCESSORS.iter().any(|prefix| {
        let number = literal.strip_prefix(prefix);
        number.is_some_and(|number| {
            number.is_empty() || number.starts_with(|c: char| c.is_ascii_digit() || c == '{')
        })
    });
    is_versioned
        || is_processor
        || ARCHITECTURES.contains(&architecture)
        || DEVICES.iter().any(|prefix| literal.starts_with(prefix))
        || ENDS.iter().any(|end| literal.ends_with(end))
        || literal == "generic"
}

/// Literals that look like spellings of targets and are none, or that are about another tool's rules: how the path
/// of their files begins or ends, the literals (none: all there), and why.
const ALLOWED: &[(&str, &[&str], &str)] = &[
    (
        "device/gpu/amd.rs",
        &["amdgpu-flat-work-group-size"],
        "the name of an attribute",
    ),
    ("commands/filter.rs", &["spirv", "amdgpu"], "names of formats"),
    ("commands/triton.rs", &["amdgcn"], "the ending of a file"),
    (
        "commands/thin.rs",
        &["spirv", "compute_"],
        "the name of a format, and how the options name PTX",
    ),
    (
        "offkit-runtime/src/machine.rs",
        &["amdgpu"],
        "a driver of the kernel's",
    ),
    ("offload_binary/kind.rs", &["spirv"], "the name of a format"),
    (
        "offload_wrapper.rs",
        &["spirv"],
        "the name of a format in an option of clang-offload-wrapper",
    ),
    ("commands/link/mod.rs", &["spirv-ext"], "an option"),
    (
        "offkit-plugin-cpu/src/",
        &["x86_64", "aarch64"],
        "what this program is compiled for",
    ),
    (
        "compile/lanes/options.rs",
        &["x86_64", "aarch64"],
        "what this program is compiled for",
    ),
    (
        "offkit-llvm-worker/src/targets.rs",
        &["x86_64", "aarch64"],
        "what this program is compiled for",
    ),
    (
        "sycl_linker.rs",
        &["spirv-dump-device-code"],
        "an option of clang-sycl-linker",
    ),
    ("offkit-spirv/src/validate.rs", &["spirv-val"], "a program"),
    ("offkit-spirv/src/types.rs", &["generic"], "an address space"),
    ("offkit-spirv/src/signature.rs", &["generic"], "an address space"),
    (
        "host/macho.rs",
        &["arm64"],
        "what Apple's tools call a part of a universal file",
    ),
    (
        "sycl_targets.rs",
        &[],
        "the table of intel/llvm's device configuration, by its names: what sycl-post-link's filter is about",
    ),
];

/// The string literals in Rust code, with their lines; comments and a module of tests at the end are left out.
fn literals(source: &str) -> Vec<(usize, String)> {
    let (code, strings) = split(without_tests(source));
    drop(code);
    strings
}

/// The source before its module of tests, which is the last item of a file (clippy sees to that).
fn without_tests(source: &str) -> &str {
    let mut from = 0;
    let begins = ["#[cfg(test)]", "#[cfg(all(test, "];
    while let Some(found) = begins.iter().filter_map(|begin| source[from..].find(begin)).min() {
        let at = from + found;
        let item = source[at..].lines().nth(1).unwrap_or_default();
        if item.contains("mod ") && item.trim_end().ends_with('{') {
            return &source[..at];
        }
        from = at + 1;
    }
    source
}

/// Rust code without comments and with empty strings, and the strings with their lines.
fn split(source: &str) -> (String, Vec<(usize, String)>) {
    let mut code = String::new();
    let mut strings = Vec::new();
    let mut rest = source;
    let line = |rest: &str| source[..source.len() - rest.len()].matches('\n').count() + 1;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            let mut depth = 0;
            loop {
                if rest.starts_with("/*") {
                    depth += 1;
                    rest = &rest[2..];
                } else if rest.starts_with("*/") {
                    depth -= 1;
                    rest = &rest[2..];
                    if depth == 0 {
                        break;
                    }
                } else {
                    let Some(c) = rest.chars().next() else { break };
                    rest = &rest[c.len_utf8()..];
                }
            }
        } else if let Some(raw) = raw_string(&code, rest) {
            let (text, after) = raw;
            strings.push((line(rest), text.to_owned()));
            code.push_str("\"\"");
            rest = after;
        } else if c == '"' {
            let start = line(rest);
            let mut text = String::new();
            let mut characters = rest[1..].char_indices();
            let mut end = rest.len();
            while let Some((at, c)) = characters.next() {
                match c {
                    '"' => {
                        end = at + 2;
                        break;
                    }
                    '\\' => text.extend(characters.next().map(|(_, c)| c)),
                    c => text.push(c),
                }
            }
            strings.push((start, text));
            code.push_str("\"\"");
            rest = &rest[end..];
        } else if c == '\'' && is_char(rest) {
            let mut characters = rest
                .char_indices()
                .skip(if rest[1..].starts_with('\\') { 3 } else { 2 });
            let end = characters
                .find(|(_, c)| *c == '\'')
                .map_or(rest.len(), |(at, _)| at + 1);
            rest = &rest[end..];
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    (code, strings)
}

/// A raw string at the beginning of the rest, and what follows it.
fn raw_string<'a>(code: &str, rest: &'a str) -> Option<(&'a str, &'a str)> {
    let body = rest.strip_prefix('r')?;
    if code.ends_with(|c: char| c.is_alphanumeric() && c != 'b' || c == '_') {
        return None;
    }
    let hashes = body.len() - body.trim_start_matches('#').len();
    let body = body[hashes..].strip_prefix('"')?;
    body.split_once(&format!("\"{}", "#".repeat(hashes)))
}

/// Whether a quote begins a character and not a lifetime.
fn is_char(rest: &str) -> bool {
    let mut characters = rest.chars().skip(1);
    matches!(
        (characters.next(), characters.next()),
        (Some('\\'), _) | (Some(_), Some('\''))
    )
}

/// The Rust files below a folder, those of tests left out.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "tests" {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn only_one_crate_spells_targets() {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for package in packages() {
        if ["offkit-image", "offkit-tests"].contains(&&*package.name) {
            continue;
        }
        for file in sources(&package.folder.join("src")) {
            let source = fs::read_to_string(&file).expect("a source");
            let name = file.strip_prefix(&package.folder).expect("in its package");
            let name = format!("{}/{}", package.name, name.display());
            for (line, literal) in literals(&source) {
                if !spells_target(&literal) {
                    continue;
                }
                let allowed = ALLOWED.iter().position(|(file, literals, _)| {
                    let is_there = name.ends_with(file) || name.starts_with(file);
                    is_there && (literals.is_empty() || literals.contains(&&*literal))
                });
                match allowed {
                    Some(allowed) => _ = used.insert((allowed, literal)),
                    None => wrong.push(format!("{name}:{line}: \"{literal}\"")),
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "targets are spelt in offkit-image alone; ask `Target` or `Family`, or use `target::triples`:\n{}",
        wrong.join("\n")
    );
    // What is allowed and not there is taken out of the list, so that nobody else comes to rely on it.
    for (number, (file, literals, _)) in ALLOWED.iter().enumerate() {
        for literal in *literals {
            let key = (number, (*literal).to_owned());
            assert!(used.contains(&key), "{file} has no \"{literal}\" any more");
        }
    }
}

#[test]
fn a_spelling_is_seen() {
    let source = r####"
        // "nvptx64" in a comment, /* "sm_80" */
        /// "gfx90a"
        fn f<'a>(triple: &'a str) -> bool {
            let (quote, backslash) = ('"', '\\');
            let raw = r#"amdgcn"#;
            match triple { "spirv64v1.4-unknown-unknown" => true, _ => triple.starts_with("sm_") }
                || format!("gfx{major}") == "spirited" || b"x86_64" == b"" || say("build for x86_64 alone")
        }
        #[cfg(test)]
        mod tests {
            const TRIPLE: &str = "spir64";
        }
    "####;
    let found: Vec<_> = literals(source)
        .into_iter()
        .filter(|(_, literal)| spells_target(literal))
        .collect();
    let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
    assert_eq!(
        found,
        [
            (6, "amdgcn"),
            (7, "spirv64v1.4-unknown-unknown"),
            (7, "sm_"),
            (8, "gfx{major}"),
            (8, "x86_64")
        ]
    );
}

/// For each top-level module of a crate, the others that it names as `crate::…`.
fn module_graph(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let src = folder.join("src");
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for file in sources(&src) {
        let inside = file.strip_prefix(&src).expect("in its folder");
        let first = inside.components().next().expect("a name");
        let module = Path::new(first.as_os_str()).with_extension("");
        let module = module.to_string_lossy().into_owned();
        if ["lib", "main"].contains(&&*module) {
            continue;
        }
        let source = fs::read_to_string(&file).expect("a source");
        texts
            .entry(module)
            .or_default()
            .push_str(&split(without_tests(&source)).0);
    }
    let named = |text: &str| -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for rest in text.split("crate::").skip(1) {
            // One name, or several in braces.
            let list = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            for name in list.map_or(rest, |(list, _)| list).split(',') {
                let name = name.trim_start();
                let end = name
                    .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .unwrap_or(name.len());
                names.insert(name[..end].to_owned());
                if list.is_none() {
                    break;
                }
            }
        }
        names
    };
    let uses = |(module, text): (&String, &String)| {
        let mut others = named(text);
        others.retain(|other| other != module && texts.contains_key(other));
        (module.clone(), others)
    };
    texts.iter().map(uses).collect()
}

/// Groups of modules that reach each other.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for other in graph.get(module).into_iter().flatten() {
                if reached.insert(other.clone()) {
                    open.push(other);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|module| (module, reached(module))).collect();
    let circle_of = |module: &String| -> BTreeSet<String> {
        let back = |other: &&String| reached.get(other).is_some_and(|others| others.contains(module));
        reached[module].iter().filter(back).cloned().collect()
    };
    let circles = graph.keys().map(circle_of);
    circles.filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn modules_make_no_circles() {
    let mut found = BTreeSet::new();
    for package in packages() {
        // Files beside each other may name each other; rooms may not.
        let is_folder = |module: &String| package.folder.join("src").join(module).is_dir();
        let circles = circles(&module_graph(&package.folder));
        let circles = circles.into_iter().filter(|circle| circle.iter().any(is_folder));
        found.extend(circles.map(|circle| (package.name.clone(), circle)));
    }
    assert!(found.is_empty(), "circles of modules: {found:#?}");
}

#[test]
fn a_circle_is_seen() {
    let graph = |edges: &[(&str, &[&str])]| {
        let edge = |(from, to): &(&str, &[&str])| {
            let to = to.iter().map(|to| (*to).to_owned());
            ((*from).to_owned(), to.collect())
        };
        edges.iter().map(edge).collect()
    };
    assert_eq!(
        circles(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &[])])).len(),
        0
    );
    let found = circles(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]));
    let circle = ["b", "c"].map(str::to_owned);
    assert_eq!(found, BTreeSet::from([BTreeSet::from(circle)]));
}

/// The features of each package, in the tree of these kinds of dependencies.
fn features(kinds: &str) -> BTreeSet<String> {
    let output = offkit_tests::output(
        Command::new(env!("CARGO"))
            .args([
                "tree",
                "--workspace",
                "--offline",
                "--prefix=none",
                "--format={p} [{f}]",
                "--edges",
                kinds,
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

/// Tests build programs while tests run. With other features they would put other libraries in the place of those that
/// the documentation's tests are built with, and these fail.
#[test]
fn programs_alone_have_the_features_that_they_have_with_tests() {
    let with_tests = features("normal,build,dev");
    let missing: Vec<String> = features("normal,build")
        .difference(&with_tests)
        .cloned()
        .collect();
    assert!(
        missing.is_empty(),
        "other features without the dependencies of tests: {missing:#?}"
    );
}
