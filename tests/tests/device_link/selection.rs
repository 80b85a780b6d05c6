//! What takes part in a link.

use super::*;

#[test]
fn of_archives_only_what_is_needed_is_linked() {
    need!("clang-22", "llc", "llvm-offload-binary", "llvm-ar");
    let folder = Folder::new();
    for (name, source) in [("app", APP), ("helper", HELPER), ("deep", DEEP), ("other", OTHER)] {
        folder.bitcode(name, source);
        let file = format!("{name}.bc");
        embed(
            &folder,
            name,
            &[(file.as_str(), "spirv64-unknown-unknown", "generic")],
        );
    }
    let archiver = tool("llvm-ar").unwrap();
    let archive = |name: &str, members: &[&str]| {
        let options = ["rcs", name];
        folder.run(&archiver, options.iter().chain(members)).ok();
    };
    archive("libfirst.a", &["helper.o"]);
    archive("libsecond.a", &["other.o", "deep.o"]);
    archive("libthird.a", &["deep.o"]);
    // Objects in archives, bitcode in an archive, a thin archive; whichever order they are named in.
    archive("libbitcode.a", &["helper.bc", "deep.bc"]);
    folder
        .run(&archiver, ["rcsT", "libthin.a", "helper.o", "deep.o"])
        .ok();
    for (number, inputs) in [
        "app.o -L . -l first -lthird",
        "-L. -lthird -lfirst app.o",
        "app.bc --start-group libfirst.a libthird.a --end-group",
        "app.bin libbitcode.a",
        "app.o libthin.a",
        "app.o --whole-archive libfirst.a --no-whole-archive -L . -l:libthird.a",
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("{number}.syclbin");
        folder
            .offkit(&format!("link {inputs} -o {file} --state executable"))
            .ok();
        runs(&folder, &file);
    }
    // The first archive that defines a symbol provides it.
    folder
        .offkit("link app.o -L. -lfirst -lsecond -o second.syclbin --state executable --split none")
        .ok();
    folder.write("a.npy", npy_i32("(1,)", [1]));
    folder
        .offkit("run second.syclbin k --global 1 --arg a.npy --out b.npy")
        .ok();
    assert_eq!(read_i32(&folder.read("b.npy")), [-6]);
    // With all members there are two of a function.
    let twice = folder
        .offkit("link app.o -L. --whole-archive -lsecond -lfirst -o x.syclbin")
        .fails(2);
    says(&twice, &["libsecond.a!other.o", "multiply defined"]);
    // What is missing is told with the way to it, and with what would have it.
    let missing = folder
        .offkit("link app.o -L. -lfirst -o x.syclbin --state executable")
        .fails(2);
    says(&missing, &["undefined symbol `deep`", "`k`", "k → helper → deep"]);
    // What is not there for devices may be there for hosts.
    let library = folder
        .offkit("link app.o -L. -lfourth -o x.syclbin --state executable")
        .fails(2);
    says(
        &library,
        &[
            "undefined symbol `helper",
            "-lfourth, of which there is no device library",
        ],
    );
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn members_with_kernels_come_along_where_that_is_asked_for() {
    need!("clang-22", "llc", "llvm-ar");
    let folder = Folder::new();
    folder.bitcode("app", "kernel void first(global int *a) { a[0] = 1; }");
    folder.bitcode("more", "kernel void second(global int *a) { a[0] = 2; }");
    folder
        .run(tool("llvm-ar").unwrap(), ["rcs", "libmore.a", "more.bc"])
        .ok();
    let kernels = |options: &str| {
        folder
            .offkit(&format!("link app.bc libmore.a -o out.syclbin {options}"))
            .ok();
        folder.offkit("ls -k out.syclbin").ok()
    };
    assert!(!kernels("").contains("second"));
    assert!(kernels("--archive-kernels").contains("second"));
}

#[test]
fn bundles_and_offload_binaries_hold_inputs() {
    need!("clang-22", "llc", "clang-offload-bundler");
    let folder = Folder::new();
    for (name, source) in [("app", APP), ("helper", HELPER), ("deep", DEEP)] {
        folder.bitcode(name, source);
    }
    folder.write("host.bc", folder.read("app.bc"));
    let line = "--type=bc --targets=host-x86_64-unknown-linux-gnu-,openmp-spirv64-unknown-unknown-- \
                --input=host.bc --input=helper.bc --output=helper.bundle";
    folder
        .run(tool("clang-offload-bundler").unwrap(), line.split_whitespace())
        .ok();
    folder
        .offkit(
            "pack -o deep.out --format offload,v2 \
             --image=file=deep.bc,triple=spirv64-unknown-unknown,arch=generic,kind=sycl",
        )
        .ok();
    folder
        .offkit("link app.bc helper.bundle deep.out --target spirv64 -o out.syclbin --state executable")
        .ok();
    runs(&folder, "out.syclbin");
}

#[test]
fn several_targets_each_get_their_own() {
    need!("clang-22", "llc", "ld.lld", "llvm-offload-binary");
    let folder = Folder::new();
    let targets = [
        ("spirv64", "spirv64-unknown-unknown", "", "generic"),
        ("nvidia", NVIDIA.0, NVIDIA.1, "sm_60"),
        ("amd", AMD.0, AMD.1, "gfx900"),
    ];
    for (name, source) in [("app", APP_ALONE), ("helper", HELPER), ("deep", DEEP)] {
        let mut images = Vec::new();
        for (target, triple, options, arch) in targets {
            // One function is not there for one of the targets.
            if (name, target) != ("deep", "amd") {
                compile(&folder, &format!("{name}-{target}"), source, triple, options);
                images.push((format!("{name}-{target}.bc"), triple, arch));
            }
        }
        let images: Vec<_> = (images.iter())
            .map(|(file, triple, arch)| (file.as_str(), *triple, *arch))
            .collect();
        embed(&folder, name, &images);
    }
    let link = "link app.o helper.o deep.o --split none --format offload,v2 -o out";
    let missing = folder.offkit(link).fails(2);
    says(
        &missing,
        &[
            "undefined symbol `deep`",
            "deep.o",
            "for `spirv64-unknown-unknown`",
        ],
    );
    let chosen = format!("{link} --target spirv64 --target nvptx64-nvidia-cuda,arch=sm_60");
    folder.offkit(&chosen).ok();
    let listing = folder.offkit("ls --json out").json();
    let formats: Vec<_> = listing.iter().map(|image| image["format"].clone()).collect();
    assert_eq!(formats, ["spirv", "ptx"], "{listing:#?}");
    // The plan says the same, and nothing is written.
    std::fs::remove_file(folder.path("out")).unwrap();
    let before = folder.list();
    for flag in ["--dry-run", "-###"] {
        let plan = folder.offkit(&format!("{chosen} {flag}")).ok();
        says(
            &plan,
            &[
                "target spirv64\n",
                "target nvptx64-nvidia-cuda-sm_60",
                "link helper.o!",
                "write out",
            ],
        );
    }
    let plan = folder
        .offkit(&format!("{link} --target {},arch=gfx900 -###", AMD.0))
        .ok();
    says(&plan, &["ld.lld", "-shared"]);
    assert_eq!(folder.list(), before);
}

#[test]
fn of_device_libraries_only_what_is_needed_is_linked() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    folder.bitcode("helper", HELPER);
    folder.bitcode("deep", DEEP);
    folder
        .offkit("link app.bc --device-lib deep.bc --device-lib helper.bc -o out.syclbin --state executable")
        .ok();
    runs(&folder, "out.syclbin");
    let listing = folder.offkit("ls --json out.syclbin").json();
    assert_eq!(
        listing[0]["exports"],
        serde_json::json!([]),
        "a library's functions stay inside"
    );
    let (target, options) = NVIDIA;
    compile(&folder, "deep-nvidia", DEEP, target, options);
    says(
        &folder
            .offkit("link app.bc --device-lib deep-nvidia.bc -o x.syclbin")
            .fails(2),
        &["deep-nvidia.bc", "nvptx64", "spirv64"],
    );
    says(
        &folder
            .offkit("link app.bc --device-lib deep-nvidia.cl -o x.syclbin")
            .fails(2),
        &["deep-nvidia.cl"],
    );
}

#[test]
fn modules_that_do_not_fit_are_both_named() {
    need!("clang-22", "llc", "llvm-as");
    let folder = Folder::new();
    let assemble = |name: &str, text: &str| {
        folder.write(
            &format!("{name}.ll"),
            format!("target triple = \"spirv64\"\n{text}"),
        );
        folder.run(tool("llvm-as").unwrap(), [format!("{name}.ll")]).ok();
    };
    let function = |name: &str| format!("define spir_func void @{name}() {{ ret void }}\n");
    let layout = |text: &str| format!("target datalayout = \"{text}\"\n");
    assemble("a", &(layout("e-i64:64-n8:16:32:64-G1") + &function("a")));
    assemble("b", &(layout("e-i64:32-n8:16:32:64-G1") + &function("b")));
    let flags =
        |value: u32| format!("!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !\"wchar_size\", i32 {value}}}\n");
    assemble("c", &(function("c") + &flags(4)));
    assemble("d", &(function("d") + &flags(2)));
    assemble("e", &function("c"));
    for (pair, reason) in [
        (
            "a.bc b.bc",
            "the data layout is i64:64 in the first and i64:32 in the second",
        ),
        ("c.bc d.bc", "wchar_size"),
        ("c.bc e.bc", "multiply defined"),
    ] {
        let text = folder.offkit(&format!("link {pair} -o x.syclbin")).fails(2);
        let (one, other) = pair.split_once(' ').unwrap();
        says(&text, &[one, other, reason]);
    }
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn files_may_be_more_than_a_command_line_holds() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    compile(
        &folder,
        "app",
        "kernel void k(global int *a) { a[0] = 1; }",
        HOST.0,
        HOST.1,
    );
    folder.write("part.c", "static int own;");
    folder
        .run(tool("clang-22").unwrap(), ["-c", "part.c", "-o", "part.o"])
        .ok();
    // Names of 3.8 KB, of which 600 are more than Linux takes.
    let deep = vec!["d".repeat(250); 15].join("/");
    std::fs::create_dir_all(folder.path(&deep)).unwrap();
    let names: Vec<String> = (0..600).map(|number| format!("{deep}/{number}.o")).collect();
    for name in &names {
        std::fs::hard_link(folder.path("part.o"), folder.path(name)).unwrap();
    }
    folder.write("files", names.join("\n"));
    folder
        .offkit("link app.bc @files --target x86_64-unknown-linux-gnu --format offload -o out")
        .ok();
    let listing = folder.offkit("ls --json --kernels out").json();
    assert_eq!(listing.len(), 1, "{listing:?}");
}

/// `post-link` writes and takes modules in LLVM's text form, and so does the link.
#[test]
fn modules_in_text_form_are_linked() {
    need!("clang-22");
    let folder = Folder::new();
    let clang = tool("clang-22").expect("asked for before");
    for (name, source) in [("app", APP), ("helper", HELPER), ("deep", DEEP)] {
        folder.write(&format!("{name}.cl"), source);
        let line = format!("--target=spirv64 -cl-std=CL3.0 -O1 -S -emit-llvm {name}.cl -o {name}.ll");
        folder.run(&clang, line.split_whitespace()).ok();
    }
    folder
        .offkit("link --state executable app.ll helper.ll deep.ll -o app.syclbin")
        .ok();
    let [image] = &folder.offkit("ls --json app.syclbin").json()[..] else {
        panic!("one image")
    };
    assert_eq!(image["kernels"], serde_json::json!(["k"]), "{image:#}");
    folder.write("broken.ll", "define void @f( {");
    let said = folder.offkit("link broken.ll -o x.syclbin").fails(2);
    says(&said, &["broken.ll"]);
}
