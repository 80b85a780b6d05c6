//! A module gets as much of SPIR-V as it needs, and no more than its device is said to take.

use super::*;

const SHUFFLES: &str = "kernel void plain(global int *a) { a[get_global_id(0)] += 1; }
kernel void k(global int *a) {
  int i = get_global_id(0);
  a[i] = sub_group_shuffle(a[i], 0);
  a[i] += sub_group_ballot(a[i] > 3).x;
}";

/// An indirect call, which takes an extension.
const POINTERS: &str = "target triple = \"spirv64-unknown-unknown\"
define spir_kernel void @k(ptr addrspace(1) %p, i32 %i) {
  %c = icmp eq i32 %i, 3
  %f = select i1 %c, ptr @a, ptr @b
  %r = call spir_func i32 %f(i32 %i)
  store i32 %r, ptr addrspace(1) %p
  ret void
}
define internal spir_func i32 @a(i32 %x) noinline {
  %y = add i32 %x, 3
  ret i32 %y
}
define internal spir_func i32 @b(i32 %x) noinline {
  %y = mul i32 %x, 3
  ret i32 %y
}";

/// The formats of the images of a file, such as `SPIR-V 1.3`, and the extensions they use.
fn needs(folder: &Folder, file: &str) -> Vec<(String, String)> {
    let shown = folder.offkit(&format!("show {file}")).ok();
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key));
        line.unwrap_or_default().trim().to_owned()
    };
    let images = shown.split("\n\n");
    images
        .map(|image| (value(image, "format "), value(image, "extensions ")))
        .filter(|(format, _)| !format.is_empty())
        .collect()
}

#[test]
fn versions_and_extensions_follow_from_the_module() {
    need!("clang-22", "llvm-as", "spirv-val");
    let folder = Folder::new();
    folder.bitcode("shuffles", SHUFFLES);
    folder
        .offkit("link shuffles.bc --split kernel -o shuffles.syclbin")
        .ok();
    let mut images = needs(&folder, "shuffles.syclbin");
    images.sort();
    // What needs nothing newer does not get it.
    let formats: Vec<_> = images.iter().map(|(format, _)| format.as_str()).collect();
    assert_eq!(formats, ["SPIR-V 1.2", "SPIR-V 1.3"]);
    folder.write("a.npy", npy_i32("(4,)", [7, 8, 9, 10]));
    folder
        .offkit("run shuffles.syclbin k --global 1 --arg a.npy --out b.npy")
        .ok();
    assert_eq!(read_i32(&folder.read("b.npy"))[0], 8);

    folder.write("pointers.ll", POINTERS);
    folder.run(tool("llvm-as").unwrap(), ["pointers.ll"]).ok();
    folder.offkit("link pointers.bc -o pointers.syclbin").ok();
    let expected = ("SPIR-V 1.2".to_owned(), "SPV_INTEL_function_pointers".to_owned());
    assert_eq!(needs(&folder, "pointers.syclbin"), [expected]);
}

#[test]
fn limits_name_the_kernel_the_line_and_the_option() {
    need!("clang-22", "llvm-as", "llvm-config-22");
    let folder = Folder::new();
    folder.write("shuffles.cl", SHUFFLES);
    let clang = tool("clang-22").unwrap();
    let line =
        "--target=spirv64 -cl-std=CL3.0 -O1 -gline-tables-only -emit-llvm -c shuffles.cl -o shuffles.bc";
    folder.run(clang, line.split_whitespace()).ok();
    let text = folder
        .offkit("link shuffles.bc --spirv-version 1.2 -o x.syclbin")
        .fails(2);
    says(
        &text,
        &[
            "`k` needs SPIR-V 1.3",
            "`sub_group_shuffle` (shuffles.cl:4)",
            "--spirv-version=1.3",
        ],
    );
    assert!(!text.contains("plain"), "{text}");
    folder.write("pointers.ll", POINTERS);
    folder.run(tool("llvm-as").unwrap(), ["pointers.ll"]).ok();
    let text = folder
        .offkit("link pointers.bc --spirv-ext SPV_KHR_expect_assume -o x.syclbin")
        .fails(2);
    says(
        &text,
        &[
            "`k` needs SPV_INTEL_function_pointers",
            "--spirv-ext=…,SPV_INTEL_function_pointers",
        ],
    );
    // What is about no call blames none.
    folder.bitcode(
        "sum",
        "kernel void k(global ulong *a, ulong n) {
           ulong sum = 0;
           for (ulong i = 0; i < n; i++) sum += i;
           a[get_global_id(0)] = sum;
         }",
    );
    let text = folder.offkit("link sum.bc -O3 -o x.syclbin").fails(2);
    says(&text, &["`k` needs SPV_ALTERA_arbitrary_precision_integers"]);
    assert!(!text.contains("get_global_id"), "{text}");
    // The driver passes both on.
    let cc = "cc -fsyclbin=object shuffles.cl -o x.syclbin";
    let text = folder.offkit(&format!("{cc} --spirv-version=1.2")).fails(2);
    says(&text, &["`k` needs SPIR-V 1.3", "--spirv-version=1.3"]);
    folder.offkit(&format!("{cc} --spirv-version=1.3")).ok();
    let text = folder.offkit(&format!("{cc} --spirv-version=2")).fails(2);
    says(&text, &["--spirv-version=", "1.0 to 1.6"]);
}
