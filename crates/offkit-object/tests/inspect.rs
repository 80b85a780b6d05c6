//! Images as real tools make them, looked into and compared with what the tools say of them.

#[path = "common/tools.rs"]
mod tools;

use std::collections::BTreeSet;

use offkit_object::{ImageFormat, Inspection, Limits, header_target, inspect};
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
fn spirv_is_read_as_the_reader_of_whole_modules_reads_it() {
    need!("clang");
    let folder = Folder::new();
    for target in ["spirv64", "spirv32", "spirv64v1.1"] {
        let bytes = compile(
            &folder,
            OPENCL,
            &format!("--target={target} -O1 -c"),
            "kernels.spv",
        );
        let module = offkit_spirv::Module::from_bytes(&bytes).unwrap();
        let whole = offkit_spirv::reflect(&module);
        let light = look(&bytes);
        assert_eq!(light.problems, []);
        assert_eq!(names(&light), ["saxpy", "reduce"]);
        assert_eq!(light.version.as_deref(), Some(&*whole.version.to_string()));
        assert_eq!(light.producer.as_deref(), Some(&*whole.generator.to_string()));
        let symbols = |symbols: &[offkit_spirv::Symbol]| -> BTreeSet<String> {
            symbols.iter().map(|symbol| symbol.name.clone()).collect()
        };
        assert_eq!(symbols(&whole.exports), light.exports.iter().cloned().collect());
        let imports = light
            .imports
            .iter()
            .filter(|name| !offkit_spirv::is_opencl_builtin(name));
        assert_eq!(symbols(&whole.imports), imports.cloned().collect());
        assert!(
            symbols(&whole.imports).contains("table"),
            "variables count as well"
        );
        let capabilities: Vec<_> = whole
            .capabilities
            .iter()
            .map(|capability| format!("{capability:?}"))
            .collect();
        let detail = |name| {
            light
                .details
                .iter()
                .find(|detail| detail.name == name)
                .unwrap()
                .value
                .to_string()
        };
        assert_eq!(detail("capabilities"), capabilities.join(", "));
        assert_eq!(
            detail("addressing model"),
            format!("{:?}", whole.addressing_model)
        );
        assert_eq!(facts(&light, "reduce"), ["required work-group size: 64 x 1 x 1"]);
        assert_eq!(look(&swapped(&bytes)), light);
    }
}

#[test]
fn tools_have_the_names_that_the_reader_of_whole_modules_gives_them() {
    let mut bytes = Vec::new();
    for tool in 0..64_u16 {
        bytes.clear();
        for word in [0x0723_0203, 0x0001_0400, u32::from(tool) << 16 | 7, 1, 0] {
            bytes.extend(u32::to_le_bytes(word));
        }
        let generator = offkit_spirv::Generator { tool, version: 7 };
        assert_eq!(look(&bytes).producer, Some(generator.to_string()));
    }
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
    assert_eq!(facts(&ptx, "saxpy"), ["arguments: 3"]);
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

#[test]
fn amdgpu_code_objects_tell_their_target_and_kernels() {
    need!("clang");
    let folder = Folder::new();
    let cases = [
        ("gfx900", "4", "gfx900"),
        ("gfx90a:xnack+", "4", "gfx90a:xnack+"),
        ("gfx90a:sramecc-:xnack+", "5", "gfx90a:sramecc-:xnack+"),
        ("gfx908:sramecc+:xnack-", "6", "gfx908:sramecc+:xnack-"),
        ("gfx1100", "5", "gfx1100"),
        ("gfx11-generic", "6", "gfx11-generic"),
    ];
    for (processor, version, arch) in cases {
        let options =
            format!("--target=amdgcn-amd-amdhsa -mcpu={processor} -mcode-object-version={version} -O1");
        let bytes = compile(&folder, AMDGPU, &options, "kernels.hsaco");
        let inspection = look(&bytes);
        assert_eq!(inspection.problems, []);
        assert_eq!(inspection.target.triple, "amdgcn-amd-amdhsa");
        assert_eq!(inspection.target.arch_with_features(), arch);
        assert_eq!(header_target(&bytes, ImageFormat::Amdgpu), inspection.target);
        assert_eq!(inspection.version.as_deref(), Some(version));
        assert!(
            inspection
                .producer
                .as_ref()
                .is_some_and(|producer| producer.contains("clang version 22"))
        );
        assert_eq!(names(&inspection), ["saxpy", "reduce"]);
        let target = inspection
            .details
            .iter()
            .find(|detail| detail.name == "target id")
            .unwrap();
        assert_eq!(target.value.to_string(), format!("amdgcn-amd-amdhsa--{arch}"));

        // Every number is where LLVM's own dump of the metadata has it.
        let dump = folder.run("llvm-readobj --notes kernels.hsaco");
        let numbers = |key: &str| -> Vec<String> {
            let lines = dump
                .lines()
                .filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(key));
            lines.map(|value| value.trim().to_owned()).collect()
        };
        for (name, key) in [
            ("argument bytes", ".kernarg_segment_size:"),
            ("local memory", ".group_segment_fixed_size:"),
            ("vector registers", ".vgpr_count:"),
            ("scalar registers", ".sgpr_count:"),
            ("wavefront size", ".wavefront_size:"),
        ] {
            let found: Vec<_> = inspection
                .kernels
                .iter()
                .flat_map(|kernel| &kernel.details)
                .filter(|detail| detail.name == name)
                .map(|detail| detail.value.to_string())
                .collect();
            assert_eq!(found, numbers(key), "{name}");
        }
        let reduce = facts(&inspection, "reduce");
        assert!(reduce.contains(&"local memory: 256".to_owned()), "{reduce:?}");
        assert!(
            reduce.contains(&"required work-group size: 64 x 1 x 1".to_owned()),
            "{reduce:?}"
        );
        assert!(
            facts(&inspection, "saxpy")
                .contains(&"arguments: by_value 4, global_buffer 8, global_buffer 8".to_owned())
        );
    }
}

#[test]
fn every_amdgpu_processor_of_llvm_is_known_by_its_number() {
    need!("llc", "llvm-mc");
    let folder = Folder::new();
    folder.write("empty.s", "");
    // The list comes on standard error.
    folder.write(
        "processors.sh",
        "PATH=/usr/lib/llvm-22/bin:$PATH; exec llc -march=amdgcn -mcpu=help </dev/null 2>&1",
    );
    let help = folder.run("sh processors.sh");
    let mut known = 0;
    for line in help.lines().filter(|line| line.contains(" - Select the gfx")) {
        let processor = line.split_whitespace().next().unwrap();
        folder.run(&format!(
            "llvm-mc -triple=amdgcn-amd-amdhsa -mcpu={processor} -filetype=obj empty.s -o out.o"
        ));
        let bytes = folder.read("out.o");
        assert_eq!(header_target(&bytes, ImageFormat::Amdgpu).arch, processor);
        known += 1;
    }
    assert!(known > 40, "{help}");
}

const CUBINS: [(&str, &[u8]); 4] = [
    (
        "sm_80",
        include_bytes!("data/inspect/kernels-sm_80-rdc-cuda-12.4.cubin"),
    ),
    (
        "sm_80",
        include_bytes!("data/inspect/kernels-sm_80-rdc-cuda-13.5.cubin"),
    ),
    (
        "sm_90a",
        include_bytes!("data/inspect/kernels-sm_90a-cuda-12.4.cubin"),
    ),
    (
        "sm_90a",
        include_bytes!("data/inspect/kernels-sm_90a-cuda-13.5.cubin"),
    ),
];

#[test]
fn cubins_of_both_layouts_tell_their_target_and_kernels() {
    for (arch, bytes) in CUBINS {
        let inspection = look(bytes);
        assert_eq!(inspection.problems, []);
        assert_eq!(
            inspection.target.to_string(),
            format!("nvptx64-nvidia-cuda-{arch}")
        );
        // The newer header has no room for the letter.
        assert!(arch.starts_with(header_target(bytes, ImageFormat::Cubin).arch.as_str()));
        assert_eq!(names(&inspection), ["reduce", "saxpy"]);
        let relocatable = arch == "sm_80";
        assert_eq!(
            inspection.exports,
            if relocatable { &["thrice"][..] } else { &[] }
        );
        // As `cuobjdump -res-usage` has them.
        let (registers, shared) = if relocatable { (24, 256) } else { (10, 1280) };
        let reduce = facts(&inspection, "reduce");
        assert!(reduce.contains(&format!("registers: {registers}")), "{reduce:?}");
        assert!(reduce.contains(&format!("shared memory: {shared}")), "{reduce:?}");
        let saxpy = facts(&inspection, "saxpy");
        assert_eq!(
            saxpy,
            [
                "argument sizes: 4, 8, 8",
                "argument bytes: 24",
                "registers: 10",
                "stack: 0",
                "maximum block size: 128 x 1 x 1"
            ]
        );
    }
    let producer = look(CUBINS[3].1).producer;
    assert_eq!(
        producer.as_deref(),
        Some("ptxas, Cuda compilation tools, release 13.5, V13.5.37")
    );
}

#[test]
fn the_source_of_the_cubins_has_the_same_kernels() {
    let inspection = look(include_bytes!("data/inspect/kernels.ptx"));
    assert_eq!(names(&inspection), ["saxpy", "reduce"]);
    assert_eq!(inspection.exports, ["thrice"]);
    assert_eq!(
        facts(&inspection, "saxpy"),
        ["arguments: 3", "maximum block size: 128 x 1 x 1"]
    );
}

/// As Intel's compiler lays it out, made with LLVM's tool for ELF.
const ZEBIN: &str = r#"
--- !ELF
FileHeader: { Class: ELFCLASS64, Data: ELFDATA2LSB, ABIVersion: 1, Type: ET_REL, Machine: 205 }
Sections:
  - { Name: .text.saxpy, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC, SHF_EXECINSTR ], Content: "00000000" }
  - { Name: .ze_info, Type: 0xff000011, Content: "@INFO@" }
  - Name: .note.intelgt.compat
    Type: SHT_NOTE
    AddressAlign: 4
    Notes:
      - { Name: IntelGT, Type: 1, Desc: f7040000 }
      - { Name: IntelGT, Type: 2, Desc: 080c0000 }
      - { Name: IntelGT, Type: 4, Desc: 312e353300 }
      - { Name: IntelGT, Type: 6, Desc: 07000f03 }
Symbols:
  - { Name: saxpy, Type: STT_FUNC, Section: .text.saxpy }
  - { Name: helper, Type: STT_FUNC, Section: .text.saxpy, Binding: STB_GLOBAL }
  - { Name: elsewhere, Type: STT_FUNC, Binding: STB_GLOBAL }
  - { Name: __INTEL_PATCH_CROSS_THREAD_OFFSET_OFF_R0, Binding: STB_GLOBAL }
"#;

const ZE_INFO: &str = "---
version:         '1.53'
kernels:
  - name:            saxpy
    execution_env:
      grf_count:       128
      simd_size:       32
      required_work_group_size: [ 64, 1, 1 ]
    payload_arguments:
      - arg_type:        global_id_offset
        offset:          0
        size:            12
      - arg_type:        arg_byvalue
        offset:          48
        size:            4
        arg_index:       0
      - arg_type:        arg_bypointer
        offset:          56
        size:            8
        arg_index:       1
        addrmode:        stateless
kernels_misc_info:
  - name:            saxpy
...
";

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

#[test]
fn zebin_tells_its_device_and_kernels() {
    let Some(bytes) = zebin() else { return };
    assert_eq!(ImageFormat::detect(&bytes), ImageFormat::Zebin);
    let inspection = look(&bytes);
    assert_eq!(inspection.problems, []);
    assert_eq!(inspection.version.as_deref(), Some("1.53"));
    assert_eq!(inspection.target.arch, "12.60.7");
    assert_eq!(names(&inspection), ["saxpy"]);
    assert_eq!(
        facts(&inspection, "saxpy"),
        [
            "registers: 128",
            "SIMD width: 32",
            "required work-group size: [ 64, 1, 1 ]",
            "arguments: value 4, pointer 8"
        ]
    );
    assert_eq!(inspection.exports, ["helper"]);
    assert_eq!(inspection.imports, ["elsewhere"]);
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

/// One small image of each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let mut samples: Vec<_> = CUBINS
        .iter()
        .map(|(_, bytes)| ("cubin", bytes.to_vec()))
        .collect();
    samples.push(("PTX", include_bytes!("data/inspect/kernels.ptx").to_vec()));
    samples.push(("old bitcode", old_bitcode()));
    samples.extend(zebin().map(|bytes| ("zebin", bytes)));
    if tools::is_there("clang") {
        let folder = Folder::new();
        for (name, options) in [
            ("SPIR-V", "--target=spirv64 -c"),
            ("bitcode", "--target=spirv64 -emit-llvm -c"),
            ("AMDGPU", "--target=amdgcn-amd-amdhsa -mcpu=gfx90a"),
        ] {
            let options = format!("{options} -O1");
            samples.push((name, compile(&folder, AMDGPU, &options, "image")));
        }
    }
    samples
}

#[test]
fn every_truncation_shows_no_more_than_the_whole() {
    for (name, bytes) in samples() {
        let format = ImageFormat::detect(&bytes);
        let whole = look(&bytes);
        assert_eq!(whole.problems, [], "{name}");
        let known = sorted(whole.kernel_names());
        for length in 0..bytes.len() {
            let part = inspect(&bytes[..length], format, &Limits::default());
            assert!(
                sorted(part.kernel_names()).is_subset(&known),
                "{name} cut to {length}: {part:#?}"
            );
            let _ = header_target(&bytes[..length], format);
        }
    }
}

#[test]
fn every_flipped_bit_is_harmless() {
    for (name, mut bytes) in samples() {
        let format = ImageFormat::detect(&bytes);
        let limits = Limits::default();
        // All bits of small images, and of larger ones two of each byte.
        let step = if bytes.len() < 3000 { 1 } else { 4 };
        for position in 0..bytes.len() {
            for bit in (position % step..8).step_by(step) {
                bytes[position] ^= 1 << bit;
                let inspection = inspect(&bytes, format, &limits);
                assert!(
                    inspection.kernels.len() <= bytes.len(),
                    "{name} {position:#x}.{bit}"
                );
                assert!(inspection.problems.len() <= limits.max_problems);
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

/// A writer of bits, for bitcode that no tool at hand writes.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn fixed(&mut self, value: u64, width: usize) {
        for bit in 0..width {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().unwrap();
            *last |= ((value >> bit & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }

    fn variable(&mut self, mut value: u64, width: usize) {
        let more = 1 << (width - 1);
        while value >= more {
            self.fixed((value % more) | more, width);
            value /= more;
        }
        self.fixed(value, width);
    }

    fn align(&mut self) {
        self.fixed(0, self.used.next_multiple_of(32) - self.used);
    }

    /// A block with abbreviation numbers of three bits, in a block where they have `outer`.
    fn block(&mut self, outer: usize, number: u64, content: impl FnOnce(&mut Self)) {
        self.fixed(1, outer);
        self.variable(number, 8);
        self.variable(3, 4);
        self.align();
        let start = self.bytes.len();
        self.fixed(0, 32);
        content(self);
        self.fixed(0, 3);
        self.align();
        let words = (self.bytes.len() - start - 4) / 4;
        self.bytes[start..start + 4].copy_from_slice(&(words as u32).to_le_bytes());
    }

    fn record(&mut self, number: u64, operands: &[u64]) {
        self.fixed(3, 3);
        self.variable(number, 6);
        self.variable(operands.len() as u64, 6);
        for operand in operands {
            self.variable(*operand, 6);
        }
    }

    /// A record with text behind its operands.
    fn text(&mut self, number: u64, operands: &[u64], text: &str) {
        let operands: Vec<_> = operands
            .iter()
            .copied()
            .chain(text.bytes().map(u64::from))
            .collect();
        self.record(number, &operands);
    }
}

/// A module as LLVM wrote it before version 5, with names in its symbol table, and its kernels named by
/// metadata as clang did up to version 19.
fn old_bitcode() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        bits.record(1, &[1]);
        bits.text(2, &[], "nvptx64-nvidia-cuda");
        // A variable, a kernel, a function, a declaration, a function of no other module's concern.
        bits.record(7, &[1, 0, 1, 0]);
        bits.record(8, &[0, 0, 0, 0, 0]);
        bits.record(8, &[0, 0, 0, 0, 0]);
        bits.record(8, &[0, 0, 1, 0, 0]);
        bits.record(8, &[0, 0, 0, 3, 0]);
        bits.block(3, 15, |bits| {
            bits.record(2, &[0, 1]);
            bits.text(1, &[], "kernel");
            bits.record(2, &[0, 9]);
            bits.record(3, &[1, 2, 3]);
            bits.text(4, &[], "nvvm.annotations");
            bits.record(10, &[3]);
        });
        bits.block(3, 14, |bits| {
            for (value, name) in ["table", "saxpy", "thrice", "twice", "hidden"]
                .into_iter()
                .enumerate()
            {
                bits.text(1, &[value as u64], name);
            }
        });
    });
    bits.bytes
}

#[test]
fn old_bitcode_is_read() {
    let inspection = look(&old_bitcode());
    assert_eq!(inspection.problems, []);
    assert_eq!(inspection.target.triple, "nvptx64-nvidia-cuda");
    assert_eq!(names(&inspection), ["saxpy"]);
    assert_eq!(inspection.exports, ["table", "thrice"]);
    assert_eq!(inspection.imports, ["twice"]);
}

/// Many symbols with the same endless name.
#[test]
fn work_is_bounded_where_everything_refers_to_the_same_bytes() {
    let count = 20_000_usize;
    let name_size = 400_000_usize;
    let mut bytes = vec![0; 64];
    bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\x40\x03\0\0\0\0\0\0\0");
    bytes[18] = 224;
    let symbols = bytes.len();
    for _ in 0..count {
        let mut symbol = [0_u8; 24];
        symbol[0] = 1;
        symbol[4] = 0x11;
        symbol[6] = 1;
        bytes.extend(symbol);
    }
    let strings = bytes.len();
    bytes.push(0);
    bytes.extend(vec![b'x'; name_size]);
    bytes.push(0);
    let table = bytes.len();
    let mut section = |kind: u32, at: usize, size: usize, link: u32| {
        let mut header = [0_u8; 64];
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
        header[40..44].copy_from_slice(&link.to_le_bytes());
        bytes.extend(header);
    };
    section(0, 0, 0, 0);
    section(2, symbols, count * 24, 2);
    section(3, strings, name_size + 2, 0);
    bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
    bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    let inspection = look(&bytes);
    let kept: usize = inspection.exports.iter().map(String::len).sum();
    assert!(kept < 9 * bytes.len());
    assert!(
        inspection
            .problems
            .iter()
            .any(|error| error.kind() == offkit_object::ErrorKind::LimitExceeded),
        "{:?}",
        inspection.problems
    );
}

/// An abbreviation of very many operands that take no bits, and very many uses of it.
#[test]
fn bitcode_cannot_make_many_operands_of_few_bits() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        bits.fixed(2, 3);
        bits.variable(5_000, 5);
        for _ in 0..5_000 {
            bits.fixed(1, 1);
            bits.variable(0, 8);
        }
        for _ in 0..100_000 {
            bits.fixed(4, 3);
        }
    });
    let inspection = look(&bits.bytes);
    assert_eq!(
        inspection.problems[0].kind(),
        offkit_object::ErrorKind::LimitExceeded
    );
}
