//! Images as real tools make them, looked into and compared with what the tools say of them.

#![cfg(feature = "default")]

mod damage;
mod devices;
mod old_bitcode;

#[path = "../common/tools.rs"]
mod tools;

use std::collections::BTreeSet;

use offkit_object::{
    DeviceImage, ImageFormat, Inspect, Inspection, Limits, header_target, inspect, inspect_for_resources,
};
use tools::{Folder, need};

fn look(bytes: &[u8]) -> Inspection {
    inspect(bytes, ImageFormat::detect(bytes), &Limits::default())
}

fn names(inspection: &Inspection) -> Vec<&str> {
    inspection.kernel_names().collect()
}

fn facts(inspection: &Inspection, kernel: &str) -> Vec<String> {
    let kernel = inspection
        .kernels
        .iter()
        .find(|found| found.name == kernel)
        .unwrap();
    let facts = kernel.details.iter();
    facts
        .map(|detail| format!("{}: {}", detail.name, detail.value))
        .collect()
}

fn sorted<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    names.into_iter().collect()
}

const OPENCL: &str = "
int twice(int x);
extern constant int table[4];
constant int own[4] = {1, 2, 3, 4};
__attribute__((noinline)) int thrice(int x) { return x * 3 + twice(x) + table[x & 3] + own[x & 3]; }

static __attribute__((noinline)) int hidden(int x) { return x * 5 ^ x; }
kernel void saxpy(float a, global const float *x, global float *y) { y[0] += a * x[0]; }
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reduce(global int *x, local int *l) {
  x[0] = hidden(thrice(x[1])) + l[0];
}
";

/// Compiles OpenCL C with clang.
fn compile(folder: &Folder, source: &str, options: &str, output: &str) -> Vec<u8> {
    folder.write("source.cl", source);
    folder.run(&format!(
        "clang {options} -w -cl-std=CL3.0 -nogpulib source.cl -o {output}"
    ));
    folder.read(output)
}

/// The module in the other byte order.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    bytes
        .chunks(4)
        .flat_map(|word| word.iter().rev().copied())
        .collect()
}

#[test]
fn spirv_says_what_it_has_and_what_it_is_for() {
    need!("clang");
    let folder = Folder::new();
    for (target, triple, version) in [
        ("spirv64", "spirv64-unknown-unknown", "1.4"),
        ("spirv32", "spirv32-unknown-unknown", "1.4"),
        ("spirv64v1.1", "spirv64-unknown-unknown", "1.1"),
    ] {
        let options = format!("--target={target} -O1 -c");
        let bytes = compile(&folder, OPENCL, &options, "kernels.spv");
        let module = look(&bytes);
        assert_eq!(module.problems, []);
        assert_eq!(module.target.to_string(), triple);
        assert_eq!(header_target(&bytes, ImageFormat::Spirv), module.target);
        assert_eq!(module.version.as_deref(), Some(version));
        assert!(
            module
                .producer
                .as_ref()
                .is_some_and(|tool| tool.starts_with("LLVM"))
        );
        assert_eq!(names(&module), ["saxpy", "reduce"]);
        assert_eq!(facts(&module, "reduce"), ["required work-group size: 64 x 1 x 1"]);
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(set(&module.imports), set(&["table".into(), "twice".into()]));
        assert_eq!(set(&module.exports), set(&["own".into(), "thrice".into()]));
        let details = module.details.iter();
        let details: Vec<_> = details
            .map(|detail| format!("{}: {}", detail.name, detail.value))
            .collect();
        for detail in ["memory model: OpenCL", "source language: OpenCL C 300000"] {
            assert!(details.iter().any(|found| found == detail), "{details:?}");
        }
        assert_eq!(look(&swapped(&bytes)), module);
    }
}

/// A module of these instructions.
fn assembled(instructions: &[(u32, &[u32])]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 100, 0];
    for (opcode, operands) in instructions {
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend_from_slice(operands);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn spirv_without_a_width_of_pointers_is_for_no_such_target() {
    let of_model = |model| {
        let bytes = assembled(&[(17, &[6]), (14, &[model, 2])]);
        let target = look(&bytes).target;
        assert_eq!(header_target(&bytes, ImageFormat::Spirv), target);
        target.to_string()
    };
    assert_eq!(of_model(0), "spirv-unknown-unknown");
    assert_eq!(of_model(1), "spirv32-unknown-unknown");
    assert_eq!(of_model(2), "spirv64-unknown-unknown");
    assert_eq!(of_model(999), "unknown");
    assert_eq!(look(&assembled(&[(17, &[6])])).target.to_string(), "unknown");
}

/// What LLVM's own tools say of a module: kernels, definitions and declarations.
fn according_to_llvm(folder: &Folder, file: &str) -> [BTreeSet<String>; 3] {
    let text = folder.run(&format!("llvm-dis {file} -o -"));
    let kernels = text
        .lines()
        .filter(|line| line.starts_with("define ") && line.contains("_kernel "))
        .filter_map(|line| Some(line.split_once('@')?.1.split_once('(')?.0.to_owned()))
        .collect::<BTreeSet<_>>();
    let table = folder.run(&format!("llvm-nm --format=posix {file}"));
    let (mut defined, mut declared) = (BTreeSet::new(), BTreeSet::new());
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let (name, kind) = (words.next().unwrap().to_owned(), words.next().unwrap());
        if name.starts_with("__clang_ocl_kern_imp_") || name.starts_with("__spirv_") {
            continue;
        }
        match kind {
            "U" => _ = declared.insert(name),
            kind if kind.chars().all(char::is_uppercase) && !kernels.contains(&name) => {
                _ = defined.insert(name)
            }
            _ => {}
        }
    }
    [kernels, defined, declared]
}

fn assert_is_as_llvm_says(folder: &Folder, file: &str, bytes: &[u8]) {
    let [kernels, defined, declared] = according_to_llvm(folder, file);
    let inspection = look(bytes);
    assert_eq!(inspection.problems, [], "{file}");
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    let found: BTreeSet<_> = inspection.kernel_names().map(str::to_owned).collect();
    assert_eq!(found, kernels, "{file}");
    assert_eq!(set(&inspection.exports), defined, "{file}");
    assert_eq!(set(&inspection.imports), declared, "{file}");
}

#[test]
fn bitcode_is_read_as_llvm_reads_it() {
    need!("clang");
    let folder = Folder::new();
    let targets = [
        ("--target=spirv64", "spirv64", ""),
        (
            "--target=amdgcn-amd-amdhsa -mcpu=gfx90a",
            "amdgcn-amd-amdhsa",
            "gfx90a",
        ),
        (
            "--target=nvptx64-nvidia-cuda -march=sm_60 --cuda-feature=+ptx60",
            "nvptx64-nvidia-cuda",
            "sm_60",
        ),
    ];
    for (options, triple, arch) in targets {
        for level in ["-O0", "-O2 -g"] {
            let bytes = compile(
                &folder,
                OPENCL,
                &format!("{options} {level} -emit-llvm -c"),
                "kernels.bc",
            );
            assert_is_as_llvm_says(&folder, "kernels.bc", &bytes);
            let inspection = look(&bytes);
            assert_eq!(names(&inspection), ["saxpy", "reduce"]);
            assert_eq!(
                (&*inspection.target.triple, &*inspection.target.arch),
                (triple, arch)
            );
            assert!(inspection.producer.unwrap().starts_with("LLVM22"));
            assert!(
                inspection
                    .details
                    .iter()
                    .any(|detail| detail.value.to_string() == "source.cl")
            );
        }
    }
}

#[test]
fn aliases_are_exports_and_weak_symbols_are_not_needed() {
    need!("llvm-as");
    need!("llc");
    let folder = Folder::new();
    folder.write(
        "module.ll",
        "target triple = \"amdgcn-amd-amdhsa\"
        @other = alias void (), ptr @own
        @private = internal alias void (), ptr @own
        declare extern_weak void @perhaps()
        declare void @needed()
        define void @own() { call void @perhaps() call void @needed() ret void }",
    );
    folder.run("llvm-as module.ll -o module.bc");
    folder.run("llc -filetype=obj -mcpu=gfx90a module.bc -o module.o");
    for file in ["module.bc", "module.o"] {
        let inspection = look(&folder.read(file));
        let exports = sorted(inspection.exports.iter().map(String::as_str));
        assert_eq!(exports, sorted(["other", "own"]), "{file}");
        assert_eq!(inspection.imports, ["needed"], "{file}");
        assert_eq!(inspection.weak_imports, ["perhaps"], "{file}");
        assert_eq!(inspection.problems, [], "{file}");
    }
}

#[test]
fn bitcode_may_be_wrapped_or_hold_several_modules() {
    need!("clang");
    let folder = Folder::new();
    let first = compile(&folder, OPENCL, "--target=spirv64 -O1 -emit-llvm -c", "first.bc");
    let other = "int twice(int x) { return x * 2; } kernel void other() {}";
    compile(&folder, other, "--target=spirv64 -O1 -emit-llvm -c", "second.bc");
    folder.run("llvm-cat -b first.bc second.bc -o both.bc");
    let both = look(&folder.read("both.bc"));
    assert_eq!(both.problems, []);
    assert_eq!(names(&both), ["saxpy", "reduce", "other"]);
    assert!(both.exports.contains(&"thrice".to_owned()) && both.exports.contains(&"twice".to_owned()));

    let mut wrapped = Vec::new();
    for field in [0x0b17_c0de, 0, 24, first.len() as u32, 0x0100_0007, 0] {
        wrapped.extend(u32::to_le_bytes(field));
    }
    wrapped.extend(&first);
    wrapped.extend([0; 8]);
    let inside = look(&wrapped);
    assert_eq!(inside.problems, []);
    assert_eq!(inside.kernels, look(&first).kernels);
}

#[test]
fn ptx_has_the_symbols_of_the_bitcode_it_was_made_of() {
    need!("clang");
    let folder = Folder::new();
    let options = "--target=nvptx64-nvidia-cuda -march=sm_60 --cuda-feature=+ptx60 -O1";
    let bitcode = look(&compile(
        &folder,
        OPENCL,
        &format!("{options} -emit-llvm -c"),
        "kernels.bc",
    ));
    let bytes = compile(&folder, OPENCL, &format!("{options} -S"), "kernels.s");
    let ptx = look(&bytes);
    assert_eq!(ptx.problems, []);
    assert_eq!(ptx.version.as_deref(), Some("6.0"));
    assert_eq!(ptx.target, bitcode.target);
    assert_eq!(header_target(&bytes, ImageFormat::Ptx), ptx.target);
    assert_eq!(names(&ptx), names(&bitcode));
    assert_eq!(facts(&ptx, "saxpy"), ["argument sizes: 4, 8, 8"]);
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(set(&ptx.exports), set(&bitcode.exports));
    assert_eq!(set(&ptx.imports), set(&bitcode.imports));
}

const AMDGPU: &str = "
__attribute__((noinline)) int thrice(int x) { return x * 3; }
kernel void saxpy(float a, global const float *x, global float *y) { y[0] += a * x[0]; }
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reduce(global int *x) {
  local int l[64];
  l[x[2] & 63] = thrice(x[1]);
  x[0] = l[x[3] & 63];
}
";

const CUBINS: [(&str, &[u8]); 4] = [
    (
        "sm_80",
        include_bytes!("../data/inspect/kernels-sm_80-rdc-cuda-12.4.cubin"),
    ),
    (
        "sm_80",
        include_bytes!("../data/inspect/kernels-sm_80-rdc-cuda-13.5.cubin"),
    ),
    (
        "sm_90a",
        include_bytes!("../data/inspect/kernels-sm_90a-cuda-12.4.cubin"),
    ),
    (
        "sm_90a",
        include_bytes!("../data/inspect/kernels-sm_90a-cuda-13.5.cubin"),
    ),
];

/// As Intel's compiler lays it out, made with LLVM's tool for ELF.
const ZEBIN: &str = include_str!("../data/inspect/zebin.yaml");

const ZE_INFO: &str = include_str!("../data/inspect/zebin-info.yaml");

fn zebin() -> Option<Vec<u8>> {
    if !tools::is_there("yaml2obj") {
        return None;
    }
    let folder = Folder::new();
    let info: String = ZE_INFO.bytes().map(|byte| format!("{byte:02x}")).collect();
    folder.write("in.yaml", ZEBIN.replace("@INFO@", &info));
    folder.run("yaml2obj in.yaml -o out");
    Some(folder.read("out"))
}

fn member(name: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        0,
        0,
        0,
        644,
        data.len()
    )
    .into_bytes();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    bytes
}

#[test]
fn an_archive_has_the_kernels_of_all_its_members() {
    need!("clang");
    let Some(zebin) = zebin() else { return };
    let spirv = compile(&Folder::new(), OPENCL, "--target=spirv64 -O1 -c", "kernels.spv");
    let archive = [
        b"!<arch>\n".to_vec(),
        member("pad_0/", &[0; 8]),
        member("64.12.60.7/", &zebin),
        member("//", b"a name longer than fits/\n"),
        member("/0", &spirv),
    ]
    .concat();
    let inspection = look(&archive);
    assert_eq!(inspection.problems, []);
    assert_eq!(names(&inspection), ["saxpy", "reduce"]);
    let members: Vec<_> = inspection
        .details
        .iter()
        .map(|detail| detail.value.to_string())
        .collect();
    assert_eq!(members.len(), 2);
    assert!(
        members[0].starts_with("64.12.60.7: zebin for 12.60.7, "),
        "{members:?}"
    );
    assert!(
        members[1].starts_with("a name longer than fits: SPIR-V, "),
        "{members:?}"
    );
}

#[test]
fn code_for_hosts_shows_target_regions_as_kernels() {
    need!("clang");
    let folder = Folder::new();
    let source = "void missing(void); static void own(void) { missing(); }\n\
        void __omp_offloading_10_2f_main_l3(void) { own(); }\nvoid helper(void) {}\nint variable = 1;\n";
    folder.write("region.c", source);
    // What is still to be linked offers its variables too.
    let forms = [
        ("-c", ["helper", "variable"].as_slice()),
        ("-shared -fuse-ld=lld -nostdlib", &["helper"]),
    ];
    for (options, exports) in forms {
        folder.run(&format!(
            "clang {options} --target=x86_64-linux-gnu -fPIC region.c -o out"
        ));
        let inspection = look(&folder.read("out"));
        assert_eq!(inspection.problems, []);
        assert_eq!(names(&inspection), ["__omp_offloading_10_2f_main_l3"]);
        assert_eq!(inspection.exports, exports);
        assert_eq!(inspection.imports, ["missing"]);
        assert_eq!(inspection.details[0].value.to_string(), "x86_64");
    }
}

#[test]
fn an_archive_needs_what_its_members_need() {
    let spirv = assembled(&[(17, &[6]), (17, &[10]), (14, &[2, 2])]);
    let needed = look(&spirv).aspects;
    assert!(!needed.is_empty());
    let archive = [b"!<arch>\n".to_vec(), member("a/", &spirv), member("b/", &spirv)].concat();
    assert_eq!(look(&archive).aspects, needed);
}

#[test]
fn what_was_found_in_an_archive_before_a_limit_is_kept() {
    let ptx = |kernel: &str| format!(".version 8.4\n.target sm_90\n.visible .entry {kernel}() {{ ret; }}\n");
    let first = [b"!<arch>\n".to_vec(), member("a/", ptx("one").as_bytes())].concat();
    let both = [first.clone(), member("b/", ptx("two").as_bytes())].concat();
    let with = |bytes: &[u8], max_strings: usize| {
        let limits = Limits {
            max_strings,
            ..Limits::default()
        };
        inspect(bytes, ImageFormat::Archive, &limits)
    };
    let enough = (0..100).find(|strings| with(&first, *strings).problems.is_empty());
    let inspection = with(&both, enough.unwrap());
    assert_eq!(names(&inspection), ["one"]);
    assert_eq!(inspection.details.len(), 1);
    assert_eq!(
        inspection.problems[0].kind(),
        offkit_object::ErrorKind::LimitExceeded
    );
}
