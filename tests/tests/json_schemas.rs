//! `docs/schemas`: every command with `--json` writes what its schema says. Other tests check it of all that they have
//! commands write; here each schema meets at least one real file.

use std::collections::BTreeSet;
use std::process::Command;

use offkit_image::Compression;
use offkit_tests::drivers::alone;
use offkit_tests::{Folder, Outcome, need, offkit, root, schemas};

const KERNELS: &str = "int shift(int x); kernel void k(global int *a) { a[0] = shift(a[0]); }";
const LIBRARY: &str = "int shift(int x) { return x << 3; }";

/// Command lines by schema. Those that are run for what they leave behind have none.
const LINES: &[(&str, &str)] = &[
    ("ls", "ls --json --hash --totals k.syclbin hip.o broken"),
    ("show", "show --json hip.o k.syclbin"),
    ("show", "show --json --kernel-ir --kernel alone alone.syclbin"),
    ("verify", "verify --json broken"),
    ("size", "size --json --diff gfx90a.hsaco hip.o"),
    ("size", "size --json --by arch,format hip.o"),
    (
        "check",
        "check --json --kernels --targets gfx90a,gfx1100,gfx1030 hip.o",
    ),
    ("diff", "diff --json --kernels gfx90a.hsaco hip.o"),
    ("thin", "thin --json hip.o --drop gfx1100 --dry-run"),
    (
        "convert",
        "convert --json k.syclbin --to offload,v1 --allow-loss -o k.out",
    ),
    (
        "pack",
        "pack --json --image file=k.spv,triple=spirv64,note=x --to bundle --allow-loss -o k.bundle",
    ),
    ("split", "split --json app.o -o packs"),
    ("join", "join --json packs -o whole"),
    ("post-link", "post-link --json k.bc -o images"),
    ("explain", "explain --json k.syclbin k --link library.syclbin"),
    ("graph", "graph --json k.syclbin library.syclbin"),
    ("graph", "graph --json k.syclbin"),
    ("devices", "devices --json"),
    ("doctor", "doctor --json"),
    ("icd-status", "icd status --json"),
    ("", "run alone.syclbin alone --global 1 --arg i32[1]"),
    ("cache-list", "cache list --json"),
    ("cache-verify", "cache verify --json"),
    ("cache-why", "cache why k.syclbin k --link library.syclbin --json"),
    ("cache-export", "cache export --json -o kept"),
    ("cache-clear", "cache clear --json"),
    ("cache-import", "cache import --json kept"),
    (
        "devlib-build",
        "devlib build --json library/libdevice.toml -o lib --target gfx90a",
    ),
    (
        "devlib-find",
        "devlib find --json --trace -ltest -lnone --arch gfx90a -L lib",
    ),
    ("devlib-query", "devlib query --json --symbols hip.o k.syclbin"),
    (
        "devlib-check",
        "devlib check --json amd.bc -ltest --arch gfx90a -L lib",
    ),
];

/// An object with code for two GPUs, modules that need each other, and something that is damaged.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.syclbin("k", KERNELS, "");
    folder.syclbin("library", LIBRARY, "");
    folder.syclbin("alone", "kernel void alone(global int *a) { a[0] = 1; }", "");
    folder.spirv("k", "kernel void k(global int *a) { a[0] = 1; }");
    folder.write("broken", b"\x10\xff\x10\xad broken");
    folder.write("gpu.cl", "kernel void k(global int *a) { a[0] = 1; }");
    folder.write("amd.cl", KERNELS);
    let clang = |line: &str| {
        let target = "-cl-std=CL2.0 --target=amdgcn-amd-amdhsa -nogpulib";
        let words = target.split_whitespace().chain(line.split_whitespace());
        folder.run(offkit_tests::tool("clang-22").unwrap(), words).ok();
    };
    for arch in ["gfx90a", "gfx1100"] {
        clang(&format!("-mcpu={arch} gpu.cl -o {arch}.hsaco"));
    }
    clang("-mcpu=gfx90a -emit-llvm -c amd.cl -o amd.bc");
    let image =
        |arch: &str| format!("--image file={arch}.hsaco,triple=amdgcn-amd-amdhsa,arch={arch},kind=hip");
    let images = [image("gfx90a"), image("gfx1100")].join(" ");
    folder.offkit(&format!("pack {images} -o hip.o")).ok();
    // What a compiler makes of it in a host's object.
    folder.write(
        "app.s",
        ".section .llvm.offloading,\"e\",@llvm_offloading\n.balign 8\n.incbin \"hip.o\"\n",
    );
    let words = ["-c", "app.s", "-o", "app.o"];
    folder.run(offkit_tests::tool("clang-22").unwrap(), words).ok();
    std::fs::create_dir(folder.path("library")).unwrap();
    folder.write("library/test.cl", LIBRARY);
    folder.write(
        "library/libdevice.toml",
        "name = \"test\"\nsources = [\"test.cl\"]\ntargets = [\"gfx90a\"]\n",
    );
    folder
}

/// Runs a line with a cache of its own.
fn run(folder: &Folder, line: &str) -> Outcome {
    let mut command = Command::new(offkit());
    alone(&mut command).env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(command.args(line.split_whitespace()))
}

#[test]
fn every_schema_describes_what_its_command_writes() {
    need!("clang-22", "llc", "ld.lld");
    let folder = prepared();
    let mut met = BTreeSet::new();
    for (schema, line) in LINES {
        let outcome = run(&folder, line);
        if schema.is_empty() {
            outcome.ok();
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(schemas::name_of(&words).as_deref(), Some(*schema));
        assert!(!outcome.stdout.is_empty(), "{line}: {outcome:#?}");
        schemas::check(schema, &outcome.stdout);
        met.insert((*schema).to_owned());
    }
    let files = std::fs::read_dir(root().join("docs/schemas")).unwrap();
    let there: BTreeSet<String> = files
        .map(|file| {
            file.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "README")
        .collect();
    assert_eq!(met, there);
}

#[test]
fn totals_are_sums_of_the_lines_above() {
    need!("clang-22", "llc", "ld.lld");
    let folder = prepared();
    let lines = folder.offkit("ls --json --totals hip.o k.syclbin").json();
    let (total, images) = lines.split_last().unwrap();
    let sum = |key: &str| {
        images
            .iter()
            .map(|image| image[key].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(total["total"]["images"], images.len());
    assert_eq!(total["total"]["size"], sum("size"));
    assert_eq!(total["total"]["stored_size"], sum("stored_size"));
    let archs: Vec<_> = total["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["arch"])
        .collect();
    assert!(
        archs.contains(&&"gfx90a".into()) && archs.contains(&&"gfx1100".into()),
        "{archs:?}"
    );
    // Nothing is printed that was not asked for.
    assert_eq!(folder.offkit("ls --json hip.o k.syclbin").json(), images);
}

/// A method that is rare in tests' files is none the less one.
#[test]
fn schemas_know_all_compressions() {
    for name in ["ls", "show"] {
        let text = std::fs::read_to_string(root().join(format!("docs/schemas/{name}.json"))).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        let known = schema["oneOf"][0]["properties"]["compression"]["enum"].as_array();
        let known: BTreeSet<_> = known.unwrap().iter().filter_map(|name| name.as_str()).collect();
        assert_eq!(
            known,
            Compression::ALL.iter().map(|one| one.name()).collect(),
            "{name}"
        );
    }
}

#[test]
#[should_panic(expected = "docs/schemas/graph.json")]
fn what_no_schema_has_is_found() {
    schemas::check(
        "graph",
        r#"{"schema":1,"location":"a","kernels":[],"imports":[],"exports":[],"closure":[]}"#,
    );
}
