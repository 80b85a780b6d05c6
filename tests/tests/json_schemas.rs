//! `docs/schemas`: every command with `--json` writes what its schema says. Other tests check it of all that they have
//! commands write; here each schema meets at least one real file.

use std::collections::BTreeSet;
use std::process::Command;

use offkit_image::Compression;
use offkit_tests::drivers::alone;
use offkit_tests::{Folder, Outcome, need, offkit, root, schemas};
use serde_json::{Value, json};

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
    ("extract", "extract --json hip.o -o images"),
    ("extract", "extract --json --libdevice=amd amd.bc -o libraries"),
    ("replace", "replace --json hip.o 0=gfx90a.hsaco -o replaced.o"),
    ("wrap", "wrap --json k.syclbin -o wrapped.o --runtime sycl-v3"),
    ("mark", "mark --json k.bc --module-id k -o marked.bc"),
    (
        "link",
        "link --json k.bc --device-lib library.bc --state executable -o linked.syclbin",
    ),
    (
        "link",
        "link --json k.bc --to offload --state object -o linked.out",
    ),
    ("link", "link --json k.bc --state executable -o unlinked.syclbin"),
    ("link", "link --json k.bc --to object,offload --dry-run -o -"),
    ("split", "split --json app.o -o packs"),
    ("join", "join --json packs -o whole"),
    ("post-link", "post-link --json k.bc -o images"),
    ("explain", "explain --json k.syclbin k --link library.syclbin"),
    ("graph", "graph --json k.syclbin library.syclbin"),
    ("graph", "graph --json k.syclbin"),
    ("devices", "devices --json"),
    ("doctor", "doctor --json"),
    (
        "icd-install",
        "icd install --json --library k.spv --folder vendors",
    ),
    ("icd-status", "icd status --json"),
    ("icd-remove", "icd remove --json --folder vendors"),
    (
        "run",
        "run --json alone.syclbin alone --global 1 --arg i32[1] --out a.npy",
    ),
    (
        "run",
        "run --json alone.syclbin alone --global 1 --arg i32[1] --check a.npy",
    ),
    (
        "run",
        "run --json values.syclbin values --global 4 --local 2 --device cpu --arg u32:4294967295 --arg f32:1,2,inf,4 --arg local:8 --arg a.npy",
    ),
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
    folder.syclbin(
        "values",
        "kernel void values(uint n, float4 v, local float *l, global int *a) { l[0] = v.x; a[0] = n + (int)l[0]; }",
        "",
    );
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
    folder.write("shift.cl", LIBRARY);
    for name in ["amd", "shift"] {
        clang(&format!("-mcpu=gfx90a -emit-llvm -c {name}.cl -o {name}.bc"));
    }
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

/// The only object that a command writes as JSON.
#[track_caller]
fn object(outcome: &Outcome) -> Value {
    let [only] = outcome.json().try_into().unwrap();
    only
}

#[test]
fn files_are_told_as_they_were_written() {
    need!("clang-22", "llc", "ld.lld");
    let folder = prepared();
    let size = |file: &str| folder.read(file).len() as u64;
    let extracted = object(&folder.offkit("extract --json hip.o -o images"));
    let written = extracted["written"].as_array().unwrap();
    assert_eq!(written.len(), 2);
    for (file, arch) in written.iter().zip(["gfx90a", "gfx1100"]) {
        assert_eq!(file["size"], size(file["path"].as_str().unwrap()));
        assert_eq!(file["images"][0]["arch"], arch);
    }
    assert_eq!(extracted["total"]["images"], 2);
    assert_eq!(
        extracted["total"]["size"],
        size("gfx90a.hsaco") + size("gfx1100.hsaco")
    );
    // A library of two images is one file, of both.
    let library = object(&folder.offkit("extract --json --libdevice=x amd.bc shift.bc -o libraries"));
    let [file] = library["written"].as_array().unwrap().as_slice() else {
        panic!("{library:#}")
    };
    assert_eq!(file["images"].as_array().unwrap().len(), 2);

    let before = size("hip.o");
    let replaced = object(&folder.offkit("replace --json --force hip.o =k.spv --arch gfx90a -o replaced.o"));
    assert_eq!(
        (&replaced["size_before"], &replaced["size_after"]),
        (&before.into(), &size("replaced.o").into())
    );
    let [image] = replaced["replaced"].as_array().unwrap().as_slice() else {
        panic!("{replaced:#}")
    };
    assert_eq!(
        (&image["before"]["format"], &image["after"]["format"]),
        (&"amdgpu".into(), &"spirv".into())
    );
    assert_eq!(image["after"]["size"], size("k.spv"));

    let wrapped = object(&folder.offkit("wrap --json k.syclbin -o k.o --runtime sycl-v3"));
    assert_eq!(wrapped["runtime"], "sycl-v3");
    let [file] = wrapped["written"].as_array().unwrap().as_slice() else {
        panic!("{wrapped:#}")
    };
    assert_eq!(
        (&file["container"], &file["size"]),
        (&"host".into(), &size("k.o").into())
    );
    assert_eq!(
        file["images"].as_array().unwrap(),
        &without_schema(&folder.offkit("ls --json k.o"))
    );
}

/// The lines of a listing as images of other commands.
fn without_schema(listing: &Outcome) -> Vec<Value> {
    let mut lines = listing.json();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("schema");
    }
    lines
}

#[test]
fn a_link_tells_of_libraries_and_of_what_is_missing() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("k", KERNELS);
    folder.bitcode("library", LIBRARY);
    let line = "link --json k.bc --state executable -o k.syclbin";
    let missing = folder.offkit(line);
    let said = object(&missing);
    missing.fails(2);
    let [symbol] = said["undefined"].as_array().unwrap().as_slice() else {
        panic!("{said:#}")
    };
    assert_eq!(symbol["symbol"], "shift");
    assert_eq!(symbol["ways"][0][0], "k");
    assert_eq!(said["written"], json!([]));
    assert!(!folder.path("k.syclbin").exists());

    let linked = object(&folder.offkit(&format!("{line} --device-lib library.bc")));
    assert_eq!(linked["libraries"].as_array().unwrap().len(), 1);
    assert_eq!(linked["libraries"][0]["library"], "library.bc");
    assert_eq!(linked["plan"], Value::Null);
    assert_eq!(
        linked["written"][0]["images"].as_array().unwrap(),
        &without_schema(&folder.offkit("ls --json k.syclbin"))
    );
    let plan = object(&folder.offkit("link --json k.bc -o - --dry-run"));
    assert_eq!(plan["plan"][0]["inputs"], json!(["k.bc"]));
}

#[test]
fn a_launch_tells_values_and_checks() {
    need!("clang-22", "llc");
    let folder = prepared();
    let line = "run --json values.syclbin values --global 2 --local 2 --device cpu --arg u32:4294967295 \
                --arg f32:1,2,inf,4 --arg local:8 --arg i32[2] --out a.npy";
    let launch = object(&folder.offkit(line));
    let first = |argument: usize| launch["arguments"][argument]["first"].clone();
    assert_eq!(first(0), json!([4_294_967_295_u32]));
    assert_eq!(first(1), json!([1.0, 2.0, null, 4.0]));
    assert_eq!(
        (&launch["arguments"][1]["type"], &launch["arguments"][2]["size"]),
        (&"f32".into(), &8.into())
    );
    assert_eq!(
        launch["outputs"],
        json!([{"argument": 3, "path": "a.npy", "type": "i32", "shape": [2], "size": 8, "first": [0, 0]}])
    );
    assert_eq!((&launch["global"], &launch["local"]), (&json!([2]), &json!([2])));
    // One is not what was expected: that is told, and fails all the same.
    let line = "run --json alone.syclbin alone --global 1 --device cpu --arg i32[2] --check a.npy";
    let outcome = folder.offkit(line);
    let check = object(&outcome)["checks"][0].clone();
    outcome.fails(1);
    assert_eq!((&check["agrees"], &check["elements"]), (&false.into(), &2.into()));
    assert!(
        check["difference"].as_str().unwrap().contains("index 0"),
        "{check}"
    );
}

#[test]
fn a_file_and_json_do_not_go_to_one_place() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin("k", "kernel void k(global int *a) { a[0] = 1; }", "");
    for line in [
        "extract k.syclbin",
        "replace k.syclbin 0/ir/0=k.bc",
        "wrap k.syclbin --runtime sycl-v3",
        "mark k.bc --module-id k",
        "link k.bc",
    ] {
        let refused = folder.offkit(&format!("{line} --json -o -"));
        assert_eq!(refused.stdout, "", "{line}");
        let error = refused.fails(2);
        assert!(error.contains("cannot both go to standard output"), "{error}");
    }
    let refused = folder.offkit("run k.syclbin k --global 1 --arg i32[1] --json --out -");
    let error = refused.fails(2);
    assert!(error.contains("cannot both go to standard output"), "{error}");
}

/// Other schemas than that of `ls` have its description of an image.
#[test]
fn an_image_is_the_same_in_all_schemas() {
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(root().join(format!("docs/schemas/{name}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let mut image = read("ls")["oneOf"][0]["properties"].take();
    image.as_object_mut().unwrap().remove("schema");
    for name in ["extract", "link", "mark", "replace", "run", "wrap"] {
        assert_eq!(read(name)["$defs"]["image"]["properties"], image, "{name}");
    }
}

/// A method that is rare in tests' files is none the less one.
#[test]
fn schemas_know_all_compressions() {
    for name in ["ls", "show"] {
        let text = std::fs::read_to_string(root().join(format!("docs/schemas/{name}.json"))).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
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
