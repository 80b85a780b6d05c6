//! What images share with each other.

use super::*;

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
    // For any processor, and so for two of them.
    for name in ["app", "data"] {
        let source = String::from_utf8(folder.read(&format!("{name}.cl"))).unwrap();
        compile(&folder, name, &source, target, "-nogpulib");
    }
    let outcome = folder.offkit(
        "link app.bc data.bc --target amdgcn-amd-amdhsa,arch=gfx900 --target amdgcn-amd-amdhsa,arch=gfx906 \
         --format offload -o out",
    );
    assert_eq!(
        outcome.stderr.matches("`counter` is in 2 images").count(),
        1,
        "the same about both processors: {}",
        outcome.stderr
    );
    let outcome = folder.offkit("link app.bc data.bc --split none --format offload -o out");
    assert!(!outcome.stderr.contains("counter"), "{}", outcome.stderr);
}

/// SYCL's runtime finds an image of virtual functions by their set, passes over it without entries, and links it with
/// those that call them.
#[test]
fn virtual_functions_are_entries_that_a_runtime_can_link() {
    need!("llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "virtual.ll",
        r#"target triple = "spir64-unknown-unknown"
           define spir_func void @f(ptr addrspace(1) %x) #0 {
             store i32 1, ptr addrspace(1) %x
             ret void
           }
           define spir_func void @g(ptr addrspace(1) %x) #2 !sycl_used_aspects !0 {
             store double 1.0, ptr addrspace(1) %x
             ret void
           }
           define spir_kernel void @k(ptr addrspace(1) %x) #1 {
             store i32 2, ptr addrspace(1) %x
             ret void
           }
           attributes #0 = { "sycl-module-id"="a.cpp" "indirectly-callable"="set" }
           attributes #1 = { "sycl-module-id"="a.cpp" "calls-indirectly"="set" }
           attributes #2 = { "sycl-module-id"="a.cpp" "indirectly-callable"="precise" }
           !0 = !{i32 6}"#,
    );
    let line = "link --state=executable --format=object,sycl-v3 virtual.ll -o wrapped.o";
    folder.offkit(line).ok();
    let images = folder.offkit("ls --json wrapped.o").json();
    let mut entries: Vec<_> = images.iter().map(|image| image["entries"].to_string()).collect();
    entries.sort();
    // What needs `double` has a dummy image, too.
    assert_eq!(entries, [r#"["f"]"#, r#"["g"]"#, r#"["g"]"#, r#"["k"]"#]);
    folder.offkit("extract wrapped.o -o out").ok();
    let exports = |file: std::io::Result<std::fs::DirEntry>| {
        let bytes = std::fs::read(file.expect("a file").path()).expect("readable");
        let module = offkit_spirv::Module::from_bytes(&bytes).expect("a module");
        offkit_spirv::reflect(&module)
            .exports
            .into_iter()
            .map(|symbol| symbol.name)
    };
    let files = std::fs::read_dir(folder.path("out")).expect("a folder");
    let mut exports: Vec<_> = files.flat_map(exports).collect();
    exports.sort();
    assert_eq!(exports, ["f", "g", "g"]);
}
