//! `offkit link` with inputs and targets of every kind, looked at with LLVM's own tools, and run where this machine
//! can run it.

use std::process::Command;

use offkit_object::syclbin::AbstractModule;
use offkit_object::{BundleState, Limits, SyclBin};
use offkit_tests::documentation::commands;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, npy_i32, offkit, read_i32, tool};

/// A kernel, the function that it calls, and the one that calls in turn.
const APP: &str = "int helper(int x);
kernel void k(global int *a) { a[get_global_id(0)] = helper(a[get_global_id(0)]); }";
const HELPER: &str = "int deep(int x);
int helper(int x) { return deep(x) * 3; }";
const DEEP: &str = "int deep(int x) { return x + 1; }
int beside(int x) { return x + 2; }";
/// Another of the same name.
const OTHER: &str = "int deep(int x) { return -2; }";

/// Compiles OpenCL C for a target to bitcode.
#[track_caller]
fn compile(folder: &Folder, name: &str, source: &str, target: &str, options: &str) {
    let clang = tool("clang-22").expect("asked for before");
    folder.write(&format!("{name}.cl"), source);
    let line = format!("--target={target} -cl-std=CL3.0 -O1 {options} -emit-llvm -c {name}.cl -o {name}.bc");
    folder.run(clang, line.split_whitespace()).ok();
}

const AMD: (&str, &str) = ("amdgcn-amd-amdhsa", "-mcpu=gfx900 -nogpulib");
const NVIDIA: (&str, &str) = (
    "nvptx64-nvidia-cuda",
    "-march=sm_60 --cuda-feature=+ptx60 -nogpulib",
);
const HOST: (&str, &str) = ("x86_64-unknown-linux-gnu", "");

/// The kernel with an id that every target has: none.
const APP_ALONE: &str = "int helper(int x);
kernel void k(global int *a) { a[0] = helper(a[0]); }";

fn chain(folder: &Folder, (target, options): (&str, &str)) {
    for (name, source) in [("app", APP_ALONE), ("helper", HELPER), ("deep", DEEP)] {
        compile(folder, name, source, target, options);
    }
}

/// What a program says must contain each of these.
#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

/// Puts bitcode into an object for the host, as clang does for offloading languages.
fn embed(folder: &Folder, name: &str, images: &[(&str, &str, &str)]) {
    let packager = tool("llvm-offload-binary").expect("asked for before");
    let images = images
        .iter()
        .map(|(file, triple, arch)| format!("--image=file={file},triple={triple},arch={arch},kind=sycl"));
    let arguments = ["-o".to_owned(), format!("{name}.bin")].into_iter().chain(images);
    folder.run(packager, arguments).ok();
    folder.write("empty.c", format!("int host_{name};"));
    let clang = tool("clang-22").expect("asked for before");
    let line = format!(
        "-cc1 -triple x86_64-unknown-linux-gnu -emit-obj -fembed-offload-object={name}.bin -x c empty.c -o {name}.o"
    );
    folder.run(clang, line.split_whitespace()).ok();
}

/// Runs `k` of a file on the CPU device; it makes 6 of 1.
#[track_caller]
fn runs(folder: &Folder, file: &str) {
    folder.write("a.npy", npy_i32("(4,)", 1..5));
    folder
        .offkit(&format!("run {file} k --global 4 --arg a.npy --out b.npy"))
        .ok();
    assert_eq!(read_i32(&folder.read("b.npy")), [6, 9, 12, 15], "{file}");
}

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
fn spirv_is_linked_with_what_bitcode_becomes() {
    need!("clang-22", "llc", "spirv-val");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    folder.bitcode("helper", HELPER);
    folder.bitcode("deep", DEEP);
    for name in ["helper", "deep"] {
        let line = format!("-mtriple=spirv64v1.4-unknown-unknown -filetype=obj {name}.bc -o {name}.spv");
        folder.run(tool("llc").unwrap(), line.split_whitespace()).ok();
    }
    let link = "link app.bc helper.spv deep.spv -o out.syclbin --state executable --save-temps=kept";
    folder.offkit(link).ok();
    runs(&folder, "out.syclbin");
    let listing = folder.offkit("ls --json out.syclbin").json();
    assert_eq!(listing.len(), 1, "{listing:#?}");
    assert_eq!(listing[0]["exports"], serde_json::json!([]));
    folder.offkit("extract out.syclbin!0/ir/0 -o .").ok();
    let image = folder
        .list()
        .into_iter()
        .find(|name| name.contains("ir") && name.ends_with(".spv"));
    folder
        .run(tool("spirv-val").unwrap(), [image.expect("an image")])
        .ok();
    // An object keeps what it exports, and what it needs.
    folder.offkit("link app.bc helper.spv -o out.syclbin").ok();
    let listing = folder.offkit("ls --json out.syclbin").json();
    assert_eq!(listing.len(), 1, "{listing:#?}");
    assert_eq!(listing[0]["exports"], serde_json::json!(["helper"]));
    assert_eq!(listing[0]["imports"], serde_json::json!(["deep"]));
    // Two of one function are told with both names.
    let twice = folder.offkit("link helper.bc helper.spv -o x.syclbin").fails(2);
    says(&twice, &["helper", "helper.bc", "helper.spv"]);
    let kept: Vec<_> = std::fs::read_dir(folder.path("kept"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for file in ["linked.bc", "0.bc", "0.opt.bc", "0.spv"] {
        assert!(kept.iter().any(|name| name == file), "{file}: {kept:?}");
    }
}

#[test]
fn nvidia_gets_ptx_of_a_version_that_its_processor_has() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    chain(&folder, NVIDIA);
    for (arch, version) in [("sm_60", "5.0"), ("sm_90a", "8.0"), ("sm_120", "8.7")] {
        let target = format!("nvptx64-nvidia-cuda,arch={arch}");
        let outcome = folder.offkit(&format!(
            "link app.bc helper.bc deep.bc --target {target} --split none --format offload -o {arch}.out"
        ));
        if arch == "sm_60" {
            outcome.ok();
        } else {
            // The bitcode says what it was compiled for.
            says(&outcome.fails(2), &["sm_60", arch]);
            continue;
        }
        let ptx = folder.offkit(&format!("extract {arch}.out -o -")).ok();
        says(
            &ptx,
            &[
                &format!(".version {version}"),
                &format!(".target {arch}"),
                ".visible .entry k(",
                ".visible .func  (.param .b32 func_retval0) helper(",
            ],
        );
    }
    // Without a processor in the bitcode, the one that is asked for.
    let (target, _) = NVIDIA;
    folder.write(
        "plain.ll",
        format!("target triple = \"{target}\"\ndefine ptx_kernel void @k() {{ ret void }}\n"),
    );
    folder.run(tool("llvm-as").unwrap(), ["plain.ll"]).ok();
    says(
        &folder.offkit("link plain.bc --format offload -o x.out").fails(2),
        &["processor", "arch=sm_80"],
    );
    for (arch, version) in [("sm_90a", "8.0"), ("sm_120,features=+ptx88", "8.8")] {
        folder
            .offkit(&format!(
                "link plain.bc --target {target},arch={arch} --format offload -o x.out"
            ))
            .ok();
        let ptx = folder.offkit("extract x.out -o -").ok();
        says(&ptx, &[&format!(".version {version}"), ".visible .entry k("]);
    }
    // What nothing supplies is found, and can be left open.
    let line = "link app.bc helper.bc --split none --format offload -o x.out";
    says(
        &folder.offkit(line).fails(2),
        &["undefined symbol `deep`", "k → helper → deep"],
    );
    folder.offkit(&format!("{line} --allow-undefined")).ok();
    says(
        &folder.offkit("extract x.out -o -").ok(),
        &[".extern .func", "deep"],
    );
}

#[test]
fn amd_gets_code_objects() {
    need!("clang-22", "llc", "ld.lld", "llvm-readelf");
    let folder = Folder::new();
    chain(&folder, AMD);
    folder
        .offkit("link app.bc helper.bc deep.bc --split none --format offload -o a.out")
        .ok();
    let listing = folder.offkit("ls --json a.out").json();
    assert_eq!(listing[0]["format"], "amdgpu", "{listing:#?}");
    assert_eq!(listing[0]["arch"], "gfx900");
    assert_eq!(listing[0]["kernels"], serde_json::json!(["k"]));
    folder.offkit("extract a.out -o image").ok();
    let image = std::fs::read_dir(folder.path("image"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let path = image.to_str().unwrap();
    let shown = folder
        .run(
            tool("llvm-readelf").unwrap(),
            ["-h", "--dyn-syms", "--notes", path],
        )
        .ok();
    says(
        &shown,
        &[
            "EM_AMDGPU",
            "DYN (Shared object file)",
            "k.kd",
            "amdhsa.target:   amdgcn-amd-amdhsa--gfx900",
        ],
    );
    says(
        &folder
            .offkit("link app.bc helper.bc --split none --format offload -o x.out")
            .fails(2),
        &["undefined symbol `deep`", "k → helper → deep"],
    );
}

#[test]
fn images_need_each_other_only_where_a_runtime_can_link_them() {
    need!("clang-22", "llc", "ld.lld", "llvm-readelf");
    let folder = Folder::new();
    let link = |options: &str| {
        let line = format!("link app.bc helper.bc deep.bc {options}");
        folder.offkit(&line).ok();
    };
    // As it is split if nothing is said: an image for each file.
    chain(&folder, NVIDIA);
    link("--format offload -o nvidia.out");
    folder.offkit("extract nvidia.out -o ptx").ok();
    let images: Vec<_> = std::fs::read_dir(folder.path("ptx"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert_eq!(images.len(), 3);
    for ptx in &images {
        assert!(!ptx.contains(".extern"), "{ptx}");
    }
    for (target, output) in [(AMD, "amd"), (HOST, "host")] {
        chain(&folder, target);
        link(&format!("--format offload -o {output}.out"));
        folder.offkit(&format!("extract {output}.out -o {output}")).ok();
        let images: Vec<_> = std::fs::read_dir(folder.path(output)).unwrap().collect();
        assert_eq!(images.len(), 3);
        for image in images {
            let path = image.unwrap().path();
            let arguments = ["--dyn-syms", path.to_str().unwrap()];
            let symbols = folder.run(tool("llvm-readelf").unwrap(), arguments).ok();
            let open = (symbols.lines()).filter(|line| line.contains("UND") && !line.trim().ends_with("UND"));
            assert_eq!(open.collect::<Vec<_>>(), [""; 0], "{symbols}");
        }
    }
    // SPIR-V is linked by runtimes, but not in an executable unless that is asked for.
    for (name, source) in [("app", APP), ("helper", HELPER), ("deep", DEEP)] {
        folder.bitcode(name, source);
    }
    let imports = |options: &str| {
        link(&format!("{options} -o out.syclbin"));
        runs(&folder, "out.syclbin");
        let images = folder.offkit("ls --json out.syclbin").json();
        let mut imports: Vec<String> = (images.iter())
            .flat_map(|image| image["imports"].as_array().unwrap())
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        imports.sort();
        imports
    };
    let none = Vec::<String>::new();
    assert_eq!(imports(""), ["deep", "helper"]);
    assert_eq!(imports("--no-allow-device-image-dependencies"), none);
    assert_eq!(imports("--state executable"), none);
    assert_eq!(
        imports("--state executable --allow-device-image-dependencies"),
        ["deep", "helper"]
    );
}

/// What SYCL's front end leaves: kernels that need different things of a device, all of them marked as used, and
/// specialization constants.
const SYCL: &str = r#"
target triple = "spirv64-unknown-unknown"
%id = type { i32 }
@n.int = private unnamed_addr addrspace(1) constant [4 x i8] c"int\00"
@n.other = private unnamed_addr addrspace(1) constant [6 x i8] c"other\00"
@d.int = internal addrspace(1) constant %id { i32 7 }
@d.other = internal addrspace(1) constant %id { i32 9 }
@llvm.used = appending global [3 x ptr] [ptr @plain, ptr @sized, ptr @wide], section "llvm.metadata"
declare spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1), ptr addrspace(1), ptr)

define spir_kernel void @plain(ptr addrspace(1) %out) #0 {
  %a = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1) @n.int, ptr addrspace(1) @d.int, ptr null)
  %b = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1) @n.other, ptr addrspace(1) @d.other, ptr null)
  %c = mul i32 %a, %b
  store i32 %c, ptr addrspace(1) %out
  ret void
}
define spir_kernel void @sized(ptr addrspace(1) %out) #0 !reqd_work_group_size !0 !sycl_kernel_omit_args !1 {
  store i32 1, ptr addrspace(1) %out
  ret void
}
define spir_kernel void @wide(ptr addrspace(1) %out) #0 !sycl_used_aspects !2 {
  store i32 2, ptr addrspace(1) %out
  ret void
}
attributes #0 = { "sycl-module-id"="a.cpp" }
!0 = !{i32 16, i32 2, i32 1}
!1 = !{i1 true}
!2 = !{!3}
!3 = !{!"fp64", i32 6}
"#;

/// Numbers as property sets have them.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn what_a_device_must_support_tells_images_apart() {
    need!("llvm-as", "llc", "spirv-dis", "spirv-val");
    let folder = Folder::new();
    folder.write("app.ll", SYCL);
    folder.run(tool("llvm-as").unwrap(), ["app.ll"]).ok();
    let nvidia = SYCL
        .replace("spirv64-unknown-unknown", "nvptx64-nvidia-cuda")
        .replace("spir_kernel", "ptx_kernel")
        .replace("spir_func ", "");
    folder.write("nvidia.ll", nvidia);
    folder.run(tool("llvm-as").unwrap(), ["nvidia.ll"]).ok();
    folder.offkit("link app.bc -o spirv.syclbin").ok();
    folder
        .offkit("link nvidia.bc --target nvptx64-nvidia-cuda,arch=sm_80 -o nvidia.syclbin")
        .ok();
    for file in ["spirv.syclbin", "nvidia.syclbin"] {
        let bytes = folder.read(file);
        let program = SyclBin::parse(&bytes, &Limits::default()).unwrap();
        let [wide, sized, plain] = program.modules.as_slice() else {
            panic!("{program:#?}")
        };
        for (module, kernel) in [(wide, "wide"), (sized, "sized"), (plain, "plain")] {
            let kernels: Vec<_> = module.properties.symbols("SYCL/kernel names").collect();
            assert_eq!(kernels, [kernel], "{file}");
        }
        let bytes = |module: &AbstractModule<'_>, set: &str, key: &str| {
            let value = module.properties.get(&format!("SYCL/{set}"), key);
            value.and_then(|value| value.as_bytes()).map(<[u8]>::to_vec)
        };
        let (needs, constants) = ("device requirements", "specialization constants");
        assert_eq!(bytes(wide, needs, "aspects"), Some(words(&[6])), "{file}");
        assert_eq!(
            bytes(sized, needs, "reqd_work_group_size_uint64_t"),
            Some(words(&[16, 0, 2, 0, 1, 0]))
        );
        assert_eq!(bytes(sized, "kernel param opt", "sized"), Some(vec![1]));
        assert_eq!(
            bytes(sized, "program metadata", "sized@reqd_work_group_size"),
            Some(words(&[16, 2, 1]))
        );
        assert!(sized.properties.set("SYCL/specialization constants").is_none());
        assert_eq!(bytes(plain, needs, "aspects"), Some(Vec::new()));
        assert_eq!(bytes(plain, constants, "other"), Some(words(&[0, 0, 4])));
        assert_eq!(bytes(plain, constants, "int"), Some(words(&[1, 0, 4])));
        assert_eq!(
            bytes(plain, "specialization constants default values", "all"),
            Some(words(&[9, 7]))
        );
    }
    folder.offkit("extract spirv.syclbin!2/ir/0 -o plain.spv").ok();
    let image = folder.path("plain.spv").join("spirv.syclbin.2.ir.0.spv");
    let image = image.to_str().unwrap();
    folder.run(tool("spirv-val").unwrap(), [image]).ok();
    let shown = folder.run(tool("spirv-dis").unwrap(), ["--raw-id", image]).ok();
    says(&shown, &["SpecId 0", "SpecId 1", "OpSpecConstant"]);
    assert!(!shown.contains("SpecConstantValue"), "{shown}");
    // In one image all is said of it together.
    folder.offkit("link app.bc -o one.syclbin --split none").ok();
    let bytes = folder.read("one.syclbin");
    let program = SyclBin::parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(program.modules.len(), 1);
}

#[test]
fn a_host_gets_a_library_that_it_can_load() {
    need!("clang-22", "llc", "ld.lld", "gcc");
    let folder = Folder::new();
    chain(&folder, HOST);
    folder
        .offkit("link app.bc helper.bc deep.bc --split none --format offload -o a.out")
        .ok();
    folder.write("libk.so", {
        folder.offkit("extract a.out -o image").ok();
        let image = std::fs::read_dir(folder.path("image"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        std::fs::read(image.path()).unwrap()
    });
    folder.write(
        "main.c",
        "#include <dlfcn.h>
         #include <stdio.h>
         int main(void) {
           void *library = dlopen(\"./libk.so\", RTLD_NOW);
           if (!library) { puts(dlerror()); return 1; }
           int a = 1;
           ((void (*)(int *))dlsym(library, \"k\"))(&a);
           printf(\"%d\\n\", a);
         }",
    );
    let gcc = tool("gcc").unwrap();
    folder.run(&gcc, ["main.c", "-o", "main", "-ldl"]).ok();
    let shown = folder.run(folder.path("main"), [""; 0]).ok();
    assert_eq!(shown, "6\n");

    // An object to be linked again, and objects as inputs: those that were compiled already.
    folder
        .offkit("link app.bc helper.bc --split none --relocatable --format offload -o r.out")
        .ok();
    folder.offkit("extract r.out -o object").ok();
    let object = std::fs::read_dir(folder.path("object"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    folder.write("part.o", std::fs::read(object.path()).unwrap());
    let clang = tool("clang-22").unwrap();
    folder.write("main2.c", "#include <stdio.h>\nvoid k(int *); int deep(int x) { return x + 1; }\nint main(void) { int a = 1; k(&a); printf(\"%d\\n\", a); }");
    folder.run(clang, ["main2.c", "part.o", "-o", "main2"]).ok();
    assert_eq!(folder.run(folder.path("main2"), [""; 0]).ok(), "6\n");
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
fn exported_functions_are_where_they_are_asked_to_be() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let helper =
        "int helper(int x) { return (x + 1) * 3; } kernel void beside(global int *a) { a[0] = helper(1); }";
    folder.bitcode("helper", helper);
    let images = |options: &str| {
        let line = format!("link app.bc helper.bc {options} -o out.syclbin");
        folder.offkit(&line).ok();
        runs(&folder, "out.syclbin");
        folder.offkit("ls --json out.syclbin").json().len()
    };
    assert_eq!(images(""), 2);
    assert_eq!(images("--exports grouped"), 2);
    assert_eq!(images("--exports apart"), 3);
    assert_eq!(images("--exports apart --split none"), 2);
    assert_eq!(images("--split kernel"), 3);
    assert_eq!(images("--split kernel --exports grouped"), 3);
    says(
        &folder.offkit("link app.bc --exports nowhere -o x").fails(2),
        &["nowhere", "`grouped`"],
    );
}

#[test]
fn an_image_can_be_there_for_its_variables_alone() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("data", "global int factor = 3; constant int one[1] = {1};");
    let app = "extern global int factor; extern constant int one[1];
        kernel void k(global int *a) { int i = get_global_id(0); a[i] = (a[i] + one[i / 8]) * factor; }";
    folder.bitcode("app", app);
    folder.offkit("link app.bc data.bc -o out.syclbin").ok();
    let listing = folder.offkit("ls --json out.syclbin").json();
    let exports: Vec<_> = listing.iter().map(|image| &image["exports"]).collect();
    assert!(
        exports.contains(&&serde_json::json!(["factor", "one"])),
        "{listing:?}"
    );
    runs(&folder, "out.syclbin");
}

#[test]
fn variables_that_images_have_copies_of_are_told() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    let (target, options) = AMD;
    let count = "extern global int counter; kernel void NAME(global int *a) { a[0] = counter++; }";
    let data = "global int counter = 1; constant int table[2] = {1, 2};
        kernel void first(global int *a) { a[0] = counter++ + table[a[1] & 1]; }";
    compile(&folder, "data", data, target, options);
    compile(&folder, "app", &count.replace("NAME", "second"), target, options);
    let outcome = folder.offkit("link app.bc data.bc --format offload -o out");
    says(
        &outcome.stderr,
        &[
            "`counter` is in 2 images",
            "(image 0)",
            "(image 1)",
            "--split none",
        ],
    );
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        !outcome.stderr.contains("table"),
        "what cannot change may be copied"
    );
    let outcome = folder.offkit("link app.bc data.bc --split none --format offload -o out");
    assert!(!outcome.stderr.contains("counter"), "{}", outcome.stderr);
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

#[test]
fn options_that_llvms_back_ends_do_not_have_are_refused() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let link = |option: &str| folder.offkit(&format!("link app.bc --backend-option={option} -o x.syclbin"));
    says(&link("--frobnicate").fails(2), &["--frobnicate", "back ends"]);
    says(
        &link("--inline-threshold=many").fails(2),
        &["--inline-threshold=many"],
    );
    assert!(!folder.path("x.syclbin").exists());
    link("--inline-threshold=7").ok();
}

#[test]
fn damaged_bitcode_is_told_by_its_name() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let bytes = folder.read("app.bc");
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    for byte in &mut damaged[middle..middle + 64] {
        *byte ^= 0xff;
    }
    folder.write("damaged.bc", &damaged);
    folder.write("cut.bc", &bytes[..bytes.len() / 2]);
    for name in ["damaged.bc", "cut.bc"] {
        let text = folder.offkit(&format!("link {name} -o x.syclbin")).fails(2);
        says(&text, &[name]);
        let text = folder
            .offkit(&format!("link app.bc --device-lib {name} -o x.syclbin"))
            .fails(2);
        says(&text, &[name]);
    }
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn a_crash_of_llvm_leaves_what_led_to_it() {
    need!("clang-22", "llc", "llvm-as");
    let folder = Folder::new();
    folder.write(
        "k.ll",
        "target triple = \"spirv64\"
         define spir_kernel void @good() { ret void }
         define spir_kernel void @bad(ptr addrspace(1) %p) {
           %x = load bfloat, ptr addrspace(1) %p
           %y = fadd bfloat %x, %x
           store bfloat %y, ptr addrspace(1) %p
           ret void
         }",
    );
    folder.run(tool("llvm-as").unwrap(), ["k.ll"]).ok();
    let mut command = Command::new(offkit());
    command
        .args("link k.bc -o x.syclbin --split kernel".split_whitespace())
        .env("TMPDIR", folder.path(""));
    let text = folder.run_command(&mut command).fails(2);
    says(
        &text,
        &[
            "generating code for bad",
            "LLVM ERROR",
            "offkit-crash-bad-",
            "does it again",
        ],
    );
    let hint = text.lines().find(|line| line.contains("does it again")).unwrap();
    let again = hint.split('`').nth(1).unwrap();
    let again = again.strip_prefix("offkit ").unwrap().replace('\'', "");
    let text = folder.offkit(&again).fails(2);
    says(&text, &["generating code for bad", "LLVM ERROR"]);
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn a_disk_that_is_full_is_an_error() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    says(
        &folder.offkit("link app.bc -o /dev/full").fails(2),
        &["/dev/full"],
    );
    let mut command = Command::new(offkit());
    command
        .args(["link", "app.bc", "-o", "x.syclbin"])
        .env("TMPDIR", "/nowhere");
    says(&folder.run_command(&mut command).fails(3), &["TMPDIR"]);
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn without_a_linker_for_objects_the_package_is_named() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    chain(&folder, AMD);
    let mut command = Command::new(offkit());
    command
        .args("link app.bc helper.bc deep.bc --split none --format offload -o a.out".split_whitespace())
        .env("PATH", "/nowhere")
        .env("OFFKIT_LLVM_BIN", "/nowhere");
    says(&folder.run_command(&mut command).fails(3), &["ld.lld", "lld-22"]);
}

/// SYCLBIN files that the SYCL compiler made, linked by offkit, in the real SYCL runtime.
#[test]
fn syclbin_files_are_linked_as_the_sycl_runtime_would_link_them() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    runtime.compile(&folder, "kernel.cpp", "app.syclbin");
    runtime.compile(&folder, "library.cpp", "library.syclbin");
    folder.bitcode("library", "int _Z16library_functioni(int x) { return x * 7; }");
    let expected = "8 15 22 29 36 43 50 57 ";
    for library in ["library.syclbin", "library.bc"] {
        folder
            .offkit(&format!("link app.syclbin {library} -o object.syclbin"))
            .ok();
        let shown = runtime.run(&folder, "link_and_run", &["object.syclbin"]).ok();
        assert_eq!(shown, expected, "{library}");
        folder
            .offkit(&format!(
                "link app.syclbin {library} -o executable.syclbin --state executable"
            ))
            .ok();
        let shown = runtime
            .run(&folder, "link_and_run", &["--executable", "executable.syclbin"])
            .ok();
        assert_eq!(shown, expected, "{library}");
    }
    let bytes = folder.read("executable.syclbin");
    let program = SyclBin::parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(program.state, BundleState::Executable);
    let [module] = program.modules.as_slice() else {
        panic!("{program:#?}")
    };
    let sets: Vec<_> = module.properties.iter().map(|(name, _)| name).collect();
    assert!(!sets.contains(&"SYCL/imported symbols") && !sets.contains(&"SYCL/exported symbols"));
    let level = module.properties.get("SYCL/misc properties", "optLevel");
    assert!(level.is_some(), "what the compiler recorded stays");

    let missing = folder
        .offkit("link app.syclbin -o x.syclbin --state executable")
        .fails(2);
    says(&missing, &["_Z16library_functioni", "app_kernel"]);
    let twice = folder
        .offkit("link app.syclbin library.bc library.syclbin -o x.syclbin")
        .fails(2);
    says(
        &twice,
        &["_Z16library_functioni", "library.bc", "library.syclbin"],
    );
}

/// Types what `docs/linking.md` shows, line by line.
#[test]
fn the_examples_of_the_documentation_work() {
    need!("clang-22", "llc", "llvm-ar-22", "sh");
    let folder = Folder::new();
    let commands = commands("docs/linking.md");
    for example in &commands {
        example.check(&folder);
    }
    assert!(commands.len() > 10, "{}", commands.len());
}

/// Of the same inputs the output is that of LLVM's tool, byte for byte.
#[test]
fn the_stand_in_for_clang_sycl_linker_writes_what_that_writes() {
    need!("clang-22", "llc", "clang-sycl-linker");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    folder.bitcode("helper", HELPER);
    folder.bitcode("deep", DEEP);
    let peer = tool("clang-sycl-linker").unwrap();
    for options in [
        "app.bc helper.bc deep.bc",
        "app.bc helper.bc --device-libs=deep.bc --library-path=.",
        "app.bc --arch=something -triple=spirv64v1.2-unknown-unknown",
    ] {
        let line = format!("-triple=spirv64 {options}");
        let both = [("ours", "as clang-sycl-linker "), ("theirs", "")];
        for (output, before) in both {
            let line = format!("{before}{line} -o {output}");
            let program = if output == "ours" { offkit() } else { peer.clone() };
            folder.run(program, line.split_whitespace()).ok();
        }
        assert!(folder.read("ours") == folder.read("theirs"), "{options}");
    }
    assert!(
        !folder.path("ours_0.spv").exists(),
        "nothing is left beside the output"
    );
    folder
        .offkit("as clang-sycl-linker -triple=spirv64 app.bc -o kept --save-temps")
        .ok();
    assert!(folder.path("kept_0.spv").exists());
    for (line, expected) in [
        ("-triple=spirv64 app.bc", "Output file must be specified"),
        ("app.bc -o x", "Target triple must be specified"),
        ("-triple=spirv64 none.bc -o x", "none.bc"),
        ("-triple=spirv64 app.cl -o x", "Unsupported file type"),
        (
            "-triple=spirv64 app.bc app.bc -o x",
            "error: Linking globals named 'k'",
        ),
        ("-triple=nvptx64 app.bc -o x", "SPIR-V"),
        ("-triple=spirv64 app.bc --arch=bmg_g21 -o x", "'ocloc'"),
    ] {
        let outcome = folder.offkit(&format!("as clang-sycl-linker {line}"));
        says(&outcome.fails(1), &[expected]);
        assert!(!folder.path("x").exists(), "{line}");
    }
    let before = folder.list();
    folder
        .offkit("as clang-sycl-linker -triple=spirv64 app.bc -o x --dry-run -v")
        .ok();
    assert_eq!(folder.list(), before, "a dry run writes nothing");
}

/// Intel's compiler for its GPUs, played by a script.
#[test]
fn the_stand_in_for_clang_sycl_linker_calls_intels_compilers() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let body = r#"echo "$@" > called; while [ "$1" != -output ]; do shift; done; echo native > "$2""#;
    folder.script("ocloc", body);
    let mut command = Command::new(offkit());
    let path = format!("{}:{}", folder.path("").display(), std::env::var("PATH").unwrap());
    command
        .args("as clang-sycl-linker -triple=spirv64 app.bc -o x --arch=bmg_g21".split_whitespace())
        .arg("--ocloc-options=-a -b")
        .env("PATH", path);
    folder.run_command(&mut command).ok();
    let called = String::from_utf8(folder.read("called")).unwrap();
    says(
        &called,
        &["-output_no_suffix -spirv_input -device bmg_g21 -a -b -output"],
    );
    let image = folder.offkit("extract --stored x!0 -o -").ok();
    assert_eq!(image, "native\n");
}

/// From bitcode to a program in one step, run by the real SYCL runtime.
#[test]
fn a_host_object_registers_what_was_linked() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    folder.bitcode(
        "app",
        "int library_function(int x);
         kernel void app_kernel(global int *numbers) {
           size_t i = get_global_id(0);
           numbers[i] = library_function(numbers[i]) + 1;
         }",
    );
    folder.bitcode("library", "int library_function(int x) { return x * 7; }");
    folder
        .offkit("link app.bc library.bc --format object,sycl-v3 -o images.o --split none")
        .ok();
    let main = runtime.registered_object();
    let main = main.to_str().expect("a readable path");
    runtime.link(&folder, "cc", "program", &[main, "images.o"]);
    let printed = runtime.run_linked(&folder, "program", &[]).ok();
    assert_eq!(printed, "8 15 22 29 36 43 50 57 registered\n");
    says(
        &folder
            .offkit("link app.bc --format object,sycl-v3 -o x.o")
            .fails(2),
        &["undefined symbol `library_function`"],
    );
    says(
        &folder
            .offkit("link app.bc library.bc --format object,sycl-v3 --host-triple nothing -o x.o")
            .fails(2),
        &["nothing"],
    );
}

/// OpenMP regions, and the functions they need from an archive, on the host device of LLVM's own runtime.
#[test]
fn openmp_regions_run_on_the_real_runtime() {
    need!("clang-22", "llc", "ld.lld", "llvm-ar");
    let runtime = "/usr/lib/llvm-22/lib";
    if !std::path::Path::new(runtime).join("libomptarget.so").exists() {
        offkit_tests::skip("LLVM's runtime for OpenMP offloading is not installed");
        return;
    }
    let folder = Folder::new();
    let declared =
        |text: &str| format!("#pragma omp declare target\n{text}\n#pragma omp end declare target\n");
    folder.write("lib.c", declared("int triple(int x) { return 3 * x; }"));
    folder.write(
        "main.c",
        declared("int triple(int x);")
            + "#include <omp.h>
#include <stdio.h>
int main(void) {
  int a[8], away = 0;
  for (int i = 0; i < 8; ++i) a[i] = i;
#pragma omp target map(tofrom : a, away)
  { away = !omp_is_initial_device(); for (int i = 0; i < 8; ++i) a[i] = triple(a[i]) + 1; }
  printf(\"%d %d %d\\n\", a[0], a[7], away);
}
",
    );
    let clang = tool("clang-22").unwrap();
    // Bitcode, and code for the processor.
    for lto in ["-foffload-lto", "-fno-offload-lto"] {
        for name in ["main", "lib"] {
            let line =
                format!("-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu {lto} -O1 -c {name}.c -o {name}.o");
            folder.run(&clang, line.split_whitespace()).ok();
        }
        folder
            .run(tool("llvm-ar").unwrap(), ["rcs", "libdevice.a", "lib.o"])
            .ok();
        for inputs in ["main.o lib.o", "main.o -L. -ldevice"] {
            folder
                .offkit(&format!("link {inputs} --format object,openmp -o device.o"))
                .ok();
            let line = format!(
                "main.o lib.o device.o -o program -L{runtime} -lomp -lomptarget -Wl,-rpath,{runtime}"
            );
            folder.run(&clang, line.split_whitespace()).ok();
            let mut command = Command::new(folder.path("program"));
            command.env("OMP_TARGET_OFFLOAD", "MANDATORY");
            assert_eq!(
                folder.run_command(&mut command).ok(),
                "1 22 1\n",
                "{lto} {inputs}"
            );
        }
    }
}
