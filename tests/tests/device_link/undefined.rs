//! What nobody defines: recorded for other images to supply, or an error, whatever it is called.

use super::*;

/// Calls what a compiler's own library defines, an operation of SPIR-V, and one that only looks like it.
const MODULE: &str = "target triple = \"spirv64-unknown-unknown\"
define spir_kernel void @k(ptr addrspace(1) %p) {
  call spir_func void @outer(ptr addrspace(1) %p)
  ret void
}
define internal spir_func void @outer(ptr addrspace(1) %p) noinline {
  %a = load float, ptr addrspace(1) %p
  %b = call spir_func <2 x float> @__mulsc3(float %a, float %a, float %a, float %a)
  %c = extractelement <2 x float> %b, i32 0
  %d = call spir_func float @_Z15__spirv_ocl_sinf(float %c)
  %e = call spir_func float @_Z16__spirv_Sandwichf(float %d)
  store float %e, ptr addrspace(1) %p
  ret void
}
declare spir_func <2 x float> @__mulsc3(float, float, float, float)
declare spir_func float @_Z15__spirv_ocl_sinf(float)
declare spir_func float @_Z16__spirv_Sandwichf(float)
";

#[test]
fn functions_of_compilers_are_imports_like_others() {
    need!("clang-22", "llvm-as");
    let folder = Folder::new();
    folder.write("k.ll", MODULE);
    folder.run(tool("llvm-as").unwrap(), ["k.ll"]).ok();
    for state in ["input", "object"] {
        folder
            .offkit(&format!("link k.bc --state {state} -o k.syclbin"))
            .ok();
        let listing = folder.offkit("ls --json k.syclbin").json();
        let imports = serde_json::json!(["__mulsc3", "_Z16__spirv_Sandwichf"]);
        assert_eq!(listing[0]["imports"], imports, "{listing:#?}");
        // A runtime reads the property set.
        let shown = folder.offkit("show k.syclbin").ok();
        let (_, set) = shown.split_once("SYCL/imported symbols").expect("a set");
        says(set, &["__mulsc3 = 1", "_Z16__spirv_Sandwichf = 1"]);
    }
    let text = folder
        .offkit("link k.bc --state executable --no-default-device-libs -o x.syclbin")
        .fails(2);
    says(&text, &["`__mulsc3`", "k → outer → __mulsc3", "Sandwich"]);
    assert!(!text.contains("ocl_sin"), "{text}");

    // Who has it supplies it, by its name.
    folder.bitcode(
        "library",
        "float2 __mulsc3(float a, float b, float c, float d) { return (float2)(a * c - b * d, a * d + b * c); }
         float sandwich(float x) __asm(\"_Z16__spirv_Sandwichf\");
         float sandwich(float x) { return x; }",
    );
    folder
        .offkit("link k.bc --device-lib library.bc --state executable -o x.syclbin")
        .ok();
}

#[test]
fn ptx_tells_what_it_needs() {
    need!("clang-22", "llvm-as");
    let folder = Folder::new();
    folder.write(
        "k.ll",
        MODULE
            .replace("spirv64-unknown-unknown", "nvptx64-nvidia-cuda")
            .replace("spir_kernel", "ptx_kernel")
            .replace("spir_func ", ""),
    );
    folder.run(tool("llvm-as").unwrap(), ["k.ll"]).ok();
    let target = "--target nvptx64-nvidia-cuda,arch=sm_60 --state object";
    folder.offkit(&format!("link k.bc {target} -o k.syclbin")).ok();
    let shown = folder.offkit("show k.syclbin").ok();
    let (_, set) = shown.split_once("SYCL/imported symbols").expect("a set");
    says(set, &["__mulsc3 = 1"]);
}
