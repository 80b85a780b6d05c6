//! Where libraries are found.

use super::*;

/// A library that is there, and who finds it.
struct Row {
    /// The files: what each was compiled for, and where it is.
    files: &'static [(&'static str, &'static str)],
    /// The target, and `-L`.
    line: &'static str,
    library_path: &'static str,
    /// The path and the rule.
    expected: Option<(&'static str, &'static str)>,
}

const PROCESSOR_FOLDER: &str = "libdevice/<gpu>/libX-<arch>-<gpu>.bc";

const PROCESSOR: &str = "libX-<arch>-<gpu>.bc";

const ARCHITECTURE: &str = "libX-<arch>.bc";

const TRIPLE_FOLDER: &str = "<triple>/libX.a";

/// Each row has folders of its own.
const ROWS: [Row; 28] = [
    // In a folder, from the most special name to the most general.
    Row {
        files: &[
            ("sm_60", "a/libdevice/sm_60/libx-nvptx-sm_60.bc"),
            ("sm_60", "a/libx-nvptx-sm_60.bc"),
            ("sm_60", "a/libx-nvptx.bc"),
        ],
        line: "--arch sm_60 -L a",
        library_path: "",
        expected: Some(("a/libdevice/sm_60/libx-nvptx-sm_60.bc", PROCESSOR_FOLDER)),
    },
    Row {
        files: &[("sm_60", "a/libx-nvptx-sm_60.bc"), ("sm_60", "a/libx-nvptx.bc")],
        line: "--arch sm_60 -L a",
        library_path: "",
        expected: Some(("a/libx-nvptx-sm_60.bc", PROCESSOR)),
    },
    Row {
        files: &[("sm_60", "a/libx-nvptx.bc"), ("sm_60", "a/libx.bc")],
        line: "--arch sm_60 -L a",
        library_path: "",
        expected: Some(("a/libx-nvptx.bc", ARCHITECTURE)),
    },
    Row {
        files: &[("sm_60", "a/libx.bc"), ("sm_60", "a/libx.a")],
        line: "--arch sm_60 -L a",
        library_path: "",
        expected: Some(("a/libx.bc", "libX.bc")),
    },
    Row {
        files: &[
            ("spirv64", "a/libdevice/spirv64/libx-spirv64.bc"),
            ("spirv64", "a/libx-spirv64.bc"),
        ],
        line: "--arch spirv64 -L a",
        library_path: "",
        expected: Some((
            "a/libdevice/spirv64/libx-spirv64.bc",
            "libdevice/<arch>/libX-<arch>.bc",
        )),
    },
    // Triples and the other names in use are as good.
    Row {
        files: &[("sm_60", "a/libx-nvptx64-nvidia-cuda-sm_60.bc")],
        line: "--arch nvptx64-nvidia-cuda,arch=sm_60 -L a",
        library_path: "",
        expected: Some(("a/libx-nvptx64-nvidia-cuda-sm_60.bc", PROCESSOR)),
    },
    Row {
        files: &[("gfx906", "a/libx-amdgpu.bc")],
        line: "--arch gfx906 -L a",
        library_path: "",
        expected: Some(("a/libx-amdgpu.bc", ARCHITECTURE)),
    },
    Row {
        files: &[("spirv64", "a/libx-spir64.bc")],
        line: "--arch spirv64-unknown-unknown -L a",
        library_path: "",
        expected: Some(("a/libx-spir64.bc", ARCHITECTURE)),
    },
    // Folders in order: all rules in one before the next; -L, then LIBRARY_PATH, then the compiler's.
    Row {
        files: &[
            ("sm_60", "a/libx.bc"),
            ("sm_60", "b/libdevice/sm_60/libx-nvptx-sm_60.bc"),
        ],
        line: "--arch sm_60 -L nowhere -L a -L b",
        library_path: "",
        expected: Some(("a/libx.bc", "libX.bc")),
    },
    Row {
        files: &[("sm_60", "a/libx.bc"), ("sm_60", "b/libx.bc")],
        line: "--arch sm_60 -L b",
        library_path: "a",
        expected: Some(("b/libx.bc", "libX.bc")),
    },
    Row {
        files: &[
            ("sm_60", "a/libx.bc"),
            ("sm_60", "compiler/lib/libx-nvptx-sm_60.bc"),
        ],
        line: "--arch sm_60",
        library_path: "unrelated:a:",
        expected: Some(("a/libx.bc", "libX.bc")),
    },
    Row {
        files: &[("sm_60", "compiler/lib/libdevice/sm_60/libx-nvptx-sm_60.bc")],
        line: "--arch sm_60",
        library_path: "/usr/share",
        expected: Some((
            "compiler/bin/../lib/libdevice/sm_60/libx-nvptx-sm_60.bc",
            PROCESSOR_FOLDER,
        )),
    },
    // Features are left out, then the generic target stands for the processor: what is closest is taken.
    Row {
        files: &[
            (
                "gfx906:xnack+",
                "a/libdevice/gfx906-xnack+/libx-amdgcn-gfx906-xnack+.bc",
            ),
            ("gfx906", "a/libdevice/gfx906/libx-amdgcn-gfx906.bc"),
        ],
        line: "--arch gfx906:xnack+:sramecc- -L a",
        library_path: "",
        expected: Some((
            "a/libdevice/gfx906-xnack+/libx-amdgcn-gfx906-xnack+.bc",
            PROCESSOR_FOLDER,
        )),
    },
    Row {
        files: &[
            (
                "gfx906:xnack+",
                "a/libdevice/gfx906-xnack+/libx-amdgcn-gfx906-xnack+.bc",
            ),
            ("gfx906", "a/libdevice/gfx906/libx-amdgcn-gfx906.bc"),
        ],
        line: "--arch gfx906:xnack- -L a",
        library_path: "",
        expected: Some(("a/libdevice/gfx906/libx-amdgcn-gfx906.bc", PROCESSOR_FOLDER)),
    },
    Row {
        files: &[
            (
                "gfx9-generic",
                "a/libdevice/gfx9-generic/libx-amdgcn-gfx9-generic.bc",
            ),
            ("gfx906", "a/libx-amdgcn-gfx906.bc"),
        ],
        line: "--arch gfx906:xnack+ -L a",
        library_path: "",
        expected: Some(("a/libx-amdgcn-gfx906.bc", PROCESSOR)),
    },
    Row {
        files: &[
            ("sm_60", "a/libdevice/sm_60/libx-nvptx-sm_60.bc"),
            ("sm_60", "a/libx-nvptx-sm_75.bc"),
        ],
        line: "--arch sm_75 -L a",
        library_path: "",
        expected: Some(("a/libx-nvptx-sm_75.bc", PROCESSOR)),
    },
    // A feature that the code demands counts as one in the name would.
    Row {
        files: &[("gfx906:xnack+", "a/libx.bc")],
        line: "--arch gfx906:xnack- -L a",
        library_path: "",
        expected: None,
    },
    Row {
        files: &[("gfx906:xnack+", "a/libx.bc"), ("gfx906", "b/libx.bc")],
        line: "--arch gfx906 -L a -L b",
        library_path: "",
        expected: Some(("b/libx.bc", "libX.bc")),
    },
    Row {
        files: &[("gfx906:xnack+", "a/libx.bc"), ("gfx906", "b/libx.bc")],
        line: "--arch gfx906:xnack+ -L a -L b",
        library_path: "",
        expected: Some(("a/libx.bc", "libX.bc")),
    },
    Row {
        files: &[("gfx9-generic", "a/libx-amdgcn-gfx9-generic.bc")],
        line: "--arch gfx90a -L a",
        library_path: "",
        expected: None,
    },
    // Code for an older processor is part of that for a newer one, and not the other way round.
    Row {
        files: &[
            ("sm_60", "a/libx-nvptx-sm_60.bc"),
            ("sm_50", "a/libx-nvptx-sm_50.bc"),
        ],
        line: "--arch sm_75 -L a",
        library_path: "",
        expected: Some(("a/libx-nvptx-sm_60.bc", PROCESSOR)),
    },
    Row {
        files: &[("sm_60", "a/libx-nvptx-sm_60.bc")],
        line: "--arch sm_50 -L a",
        library_path: "",
        expected: None,
    },
    // A general name says nothing: the file is for another device, and the next one is taken.
    Row {
        files: &[("gfx906", "a/libx.bc"), ("sm_60", "b/libx.bc")],
        line: "--arch sm_60 -L a -L b",
        library_path: "",
        expected: Some(("b/libx.bc", "libX.bc")),
    },
    // The layouts of others.
    Row {
        files: &[("gfx906", "a/amdgcn-amd-amdhsa/libx.a"), ("gfx906", "a/libx.a")],
        line: "--arch gfx906 -L a",
        library_path: "",
        expected: Some(("a/amdgcn-amd-amdhsa/libx.a", TRIPLE_FOLDER)),
    },
    Row {
        files: &[("sm_60", "a/nvvm/libdevice/libdevice.10.bc")],
        line: "--arch sm_70 -L a/lib64 -ldevice",
        library_path: "a",
        expected: Some(("a/nvvm/libdevice/libdevice.10.bc", "CUDA")),
    },
    Row {
        files: &[
            ("gfx9-generic", "a/clc/amdgcn-amd-amdhsa.bc"),
            ("gfx906", "a/clc/gfx906-amdgcn-amd-amdhsa.bc"),
        ],
        line: "--arch gfx906 -L a -lclc",
        library_path: "",
        expected: Some(("a/clc/gfx906-amdgcn-amd-amdhsa.bc", "libclc")),
    },
    Row {
        files: &[("sm_60", "a/libx.a")],
        line: "--arch sm_60 -L a",
        library_path: "",
        expected: Some(("a/libx.a", "libX.a")),
    },
    Row {
        files: &[("sm_60", "a/odd-name.bc")],
        line: "--arch sm_60 -L a -l:odd-name.bc",
        library_path: "",
        expected: Some(("a/odd-name.bc", ":FILE")),
    },
];

#[test]
fn each_rule_finds_its_library() {
    need!("clang-22", "llvm-ar");
    let archiver = tool("llvm-ar").unwrap();
    let modules = Folder::new();
    for target in [
        "sm_50",
        "sm_60",
        "gfx906",
        "gfx906:xnack+",
        "gfx9-generic",
        "spirv64",
    ] {
        compile(&modules, NEXT, target, &[], &format!("{target}.bc"));
    }
    for row in ROWS {
        let folder = Folder::new();
        for (target, path) in row.files {
            let module = modules.path(&format!("{target}.bc"));
            let path = folder.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if path.extension().is_some_and(|extension| extension == "a") {
                folder.run(&archiver, [Path::new("rcs"), &path, &module]).ok();
            } else {
                fs::copy(module, path).unwrap();
            }
        }
        let library = if row.line.contains(" -l") { "" } else { "-lx" };
        let line = format!("devlib find {library} {} --json --trace", row.line);
        let outcome = alone(&folder, &line, row.library_path);
        let case = format!("{line} of {:?}: {outcome:#?}", row.files);
        assert_eq!(outcome.code, i32::from(row.expected.is_none()), "{case}");
        let answer = &outcome.json()[0];
        let found = answer["path"]
            .as_str()
            .map(|path| fs::canonicalize(folder.path(path)).unwrap());
        let expected = row
            .expected
            .map(|(path, _)| fs::canonicalize(folder.path(path)).unwrap());
        assert_eq!(found, expected, "{case}");
        assert_eq!(
            answer["rule"].as_str(),
            row.expected.map(|(_, rule)| rule),
            "{case}"
        );
        // The way to it: nothing was taken before, and every path that was looked at is told.
        let tried = answer["tried"].as_array().unwrap();
        let taken: Vec<_> = tried.iter().filter(|tried| tried["outcome"] == "taken").collect();
        assert_eq!(taken.len(), usize::from(row.expected.is_some()), "{case}");
        assert_eq!(
            tried.last().map(|tried| &tried["outcome"] == "taken"),
            Some(row.expected.is_some()),
            "{case}"
        );
    }
}

#[test]
fn vendors_libraries_come_with_what_belongs_to_them() {
    need!("clang-22");
    let bitcode = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";
    if !Path::new(bitcode).is_dir() {
        return skip("ROCm's device libraries (`rocm-device-libs`) are not installed");
    }
    let folder = Folder::new();
    let find = |line: &str| -> Value {
        let line = format!("devlib find --json -L /usr/lib/x86_64-linux-gnu {line}");
        alone(&folder, &line, "").json().remove(0)
    };
    let names = |list: &Value| -> Vec<String> {
        let paths = list.as_array().unwrap().iter();
        paths
            .map(|path| {
                Path::new(path.as_str().unwrap())
                    .file_stem()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    };
    let answer = find("-lm --arch gfx1030 --code-object-version 4");
    assert_eq!(answer["rule"], "ROCm");
    assert!(
        answer["path"]
            .as_str()
            .unwrap()
            .ends_with("amdgcn/bitcode/ocml.bc")
    );
    let with = names(&answer["with"]);
    for part in [
        "ockl",
        "oclc_isa_version_1030",
        "oclc_wavefrontsize64_off",
        "oclc_abi_version_400",
    ] {
        assert!(with.iter().any(|name| name == part), "{part}: {with:?}");
    }
    // Without a library for its version code gets that of the version before, with the same rules.
    let with = names(&find("-lm --arch gfx90a")["with"]);
    assert!(with.contains(&"oclc_abi_version_500".to_owned()), "{with:?}");
    assert!(with.contains(&"oclc_wavefrontsize64_on".to_owned()), "{with:?}");
    // What is not there is told.
    assert_eq!(
        names(&find("-lockl --arch gfx9999")["without"]),
        ["oclc_isa_version_9999"]
    );
}

#[test]
fn an_unusable_file_is_passed_over_with_the_reason() {
    need!("clang-22");
    let folder = Folder::new();
    compile(&folder, NEXT, "gfx906", &[], "a/libx.bc");
    fs::create_dir(folder.path("b")).unwrap();
    folder.write("b/libx-nvptx.bc", "no bitcode");
    let outcome = alone(&folder, "devlib find -lx --arch sm_60 -L a -L b --trace", "");
    assert_eq!(outcome.code, 1);
    for part in [
        "a/libdevice/sm_60/libx-nvptx-sm_60.bc",
        "a/libx.bc: it is for another architecture: `amdgcn-amd-amdhsa-gfx906`",
        "b/libx-nvptx.bc: offset 0x0: not a container or device image",
    ] {
        assert!(outcome.stdout.contains(part), "{part}: {outcome:#?}");
    }
    assert!(
        outcome
            .stderr
            .contains("not found: `-lx for nvptx64-nvidia-cuda-sm_60`"),
        "{outcome:#?}"
    );
    alone(&folder, "devlib find -lx", "").fails(2);
}
