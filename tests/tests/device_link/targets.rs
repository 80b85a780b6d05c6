//! What each kind of device gets.

use super::*;

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
fn spirv_is_for_pointers_as_wide_as_its_own() {
    need!("clang-22", "spirv-val");
    let folder = Folder::new();
    let clang = tool("clang-22").unwrap();
    for width in ["32", "64"] {
        for (name, source) in [("app", APP_ALONE), ("helper", HELPER), ("deep", DEEP)] {
            folder.write("source.cl", source);
            let line = format!("--target=spirv{width} -cl-std=CL3.0 -O1 -c source.cl -o {name}{width}.spv");
            folder.run(&clang, line.split_whitespace()).ok();
        }
        let triple = format!("spirv{width}-unknown-unknown");
        let app = format!("app{width}.spv");
        let is_for = |file: &str, json: &str| {
            let shown = folder.offkit(&format!("{json} {file}")).json();
            assert_eq!(shown.len(), 1, "{shown:#?}");
            assert_eq!(shown[0]["triple"], triple.as_str(), "{shown:#?}");
            assert_eq!(shown[0]["kernels"], serde_json::json!(["k"]), "{shown:#?}");
        };
        is_for(&app, "ls --json");
        is_for(&app, "show --json");
        is_for(&app, &format!("ls --json --triple {triple}"));
        let types = folder.offkit(&format!("devlib query {app}")).ok();
        assert_eq!(types.trim(), format!("spirv{width}-spv"));
        // A container that names no target leaves it to the bytes.
        folder
            .offkit(&format!("pack -o packed --image=file={app},kind=sycl"))
            .ok();
        is_for("packed", "ls --json");
        let short = if width == "32" { "spir" } else { "spir64" };
        folder
            .offkit(&format!("wrap {app} --kind sycl-v2 -o wrapped.o"))
            .ok();
        let wrapped = folder.offkit("ls --json wrapped.o").json();
        assert_eq!(wrapped[0]["triple"], short, "{wrapped:#?}");

        let inputs = format!("{app} helper{width}.spv deep{width}.spv");
        folder
            .offkit(&format!("link {inputs} -o out.syclbin --state executable"))
            .ok();
        is_for("out.syclbin", "ls --json");
        folder.offkit("verify out.syclbin").ok();
    }
    let mixed = folder
        .offkit("link app32.spv helper64.spv deep64.spv -o x.syclbin")
        .fails(2);
    says(
        &mixed,
        &["app32.spv", "spirv32-unknown-unknown", "spirv64-unknown-unknown"],
    );
    // A container may say what it likes, but not to `verify`.
    folder
        .offkit("pack -o packed --image=file=app32.spv,kind=sycl,triple=spir64-unknown-unknown")
        .ok();
    let found = folder.offkit("verify --json packed").json();
    assert_eq!(found.len(), 1, "{found:#?}");
    let message = found[0]["problem"].as_str().unwrap();
    says(
        message,
        &["expected spir64-unknown-unknown", "found spirv32-unknown-unknown"],
    );
}

#[test]
fn nvidia_gets_ptx_of_a_version_that_its_processor_has() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    chain(&folder, NVIDIA);
    for (arch, version) in [("sm_60", "6.0"), ("sm_90a", "8.0"), ("sm_120", "8.7")] {
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
fn native_code_of_no_bytes_is_passed_on() {
    let folder = Folder::new();
    folder.write("empty.bin", "");
    folder
        .offkit("pack --image=file=empty.bin,triple=spir64_gen-unknown-unknown,arch=pvc,kind=sycl --to syclbin -o in.syclbin")
        .ok();
    folder.offkit("link in.syclbin -o out.syclbin").ok();
    let images = folder.offkit("ls --json out.syclbin").json();
    assert_eq!(images[0]["arch"], "pvc", "{images:#?}");
    assert_eq!(images[0]["size"], 0, "{images:#?}");
}

#[test]
fn machine_code_is_put_together_for_the_runtime_to_link() {
    let folder = Folder::new();
    for (name, set) in [("app", "imported"), ("library", "exported")] {
        folder.write(name, name);
        folder.write(&format!("{name}.txt"), format!("[SYCL/{set} symbols]\nf=1|1\n"));
        let image = format!("file={name},triple=spir64_gen,arch=bmg,kind=sycl,properties={name}.txt");
        folder
            .offkit(&format!("pack --image={image} --to syclbin -o {name}.syclbin"))
            .ok();
    }
    for state in ["object", "executable"] {
        folder
            .offkit(&format!(
                "link app.syclbin library.syclbin --state {state} -o out.syclbin"
            ))
            .ok();
        let images = folder.offkit("ls --json out.syclbin").json();
        assert_eq!(images[0]["imports"][0], "f", "{images:#?}");
        assert_eq!(images[1]["exports"][0], "f", "{images:#?}");
    }
    folder.offkit("link app.syclbin -o object.syclbin").ok();
    let message = folder
        .offkit("link app.syclbin --state executable -o out.syclbin")
        .fails(2);
    assert!(message.contains("undefined symbol `f`"), "{message}");
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

#[test]
fn memory_of_a_launch_is_nobodys_to_define() {
    need!("llvm-as");
    let folder = Folder::new();
    for (triple, arch, kernel) in [
        ("amdgcn-amd-amdhsa", "gfx90a", "amdgpu_kernel"),
        ("nvptx64-nvidia-cuda", "sm_70", "ptx_kernel"),
    ] {
        folder.write(
            "k.ll",
            format!(
                "target triple = \"{triple}\"
                 @dynamic = external addrspace(3) global [0 x i8], align 16
                 define {kernel} void @k(i8 %x) {{ store i8 %x, ptr addrspace(3) @dynamic ret void }}"
            ),
        );
        folder
            .offkit(&format!(
                "link k.ll --target {triple},arch={arch} --state executable -o k.out"
            ))
            .ok();
        folder.run(tool("llvm-as").unwrap(), ["k.ll", "-o", "k.bc"]).ok();
        for file in ["k.out", "k.bc"] {
            let image = &folder.offkit(&format!("ls --json {file}")).json()[0];
            assert_eq!(image["imports"], serde_json::json!([]), "{image}");
        }
    }
}

#[test]
fn ptx_is_of_the_newest_version_that_a_function_is_compiled_for() {
    need!("llvm-as");
    let folder = Folder::new();
    folder.write(
        "k.ll",
        "target triple = \"nvptx64-nvidia-cuda\"
         define ptx_kernel void @k(ptr %p) #0 { %m = call i32 @active() store i32 %m, ptr %p ret void }
         define internal i32 @active() #1 { %m = call i32 @llvm.nvvm.activemask() ret i32 %m }
         declare i32 @llvm.nvvm.activemask()
         attributes #0 = { \"target-features\"=\"+ptx60,+sm_70\" }
         attributes #1 = { \"target-features\"=\"+ptx63,+sm_70\" }",
    );
    let line = "link k.ll --target nvptx64-nvidia-cuda,arch=sm_70 --state executable -o k.out";
    folder.offkit(line).ok();
    folder.offkit("extract k.out -o out").ok();
    let mut images = std::fs::read_dir(folder.path("out")).expect("a folder");
    let code = std::fs::read(images.next().expect("an image").expect("an entry").path()).expect("a file");
    let code = String::from_utf8_lossy(&code);
    assert!(code.contains(".version 6.3"), "{code}");
}
