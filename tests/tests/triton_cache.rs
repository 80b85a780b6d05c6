//! Triton's cache: a folder for each kernel, with all forms that it went through and what Triton noted about it. The files
//! are laid out and named as Triton 3.5 has them; the code is clang's.

#![cfg(unix)]

use offkit_tests::{Folder, need, tool};

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

/// Where the entries are that [`cache`] makes.
const CUDA: &str = "cache/3J2OVQBVQ6ZP6NAVWHXQFPG6JQ5CIVCIRV7RFQ5AQ7Q64IT7KXWQ";
const HIP: &str = "cache/7DXWFUZVQOGBCLRA5VHVR4B3TFCYPBDRG3BO2XMCH6KX3LLZJ46A";

fn metadata(target: &str) -> String {
    format!(
        "{{\"hash\": \"dab0ea\", \"target\": {target}, \"num_warps\": 4, \"num_ctas\": 1, \"num_stages\": 3, \
         \"warp_size\": 32, \"maxnreg\": null, \"ptx_version\": null, \"enable_fp_fusion\": true, \"debug\": false, \
         \"backend_name\": \"cuda\", \"triton_version\": \"3.5.1\", \"shared\": 0, \"name\": \"add_kernel\"}}"
    )
}

/// One kernel for NVIDIA's GPUs and one for AMD's.
fn cache() -> Folder {
    let folder = Folder::new();
    for entry in [CUDA, HIP] {
        std::fs::create_dir_all(folder.path(entry)).unwrap();
    }
    folder.write("k.cl", "kernel void add_kernel(global float *p) { p[0] += 1; }");
    let clang = tool("clang-22").expect("the test asked for it");
    for code in [
        format!(
            "--target=nvptx64-nvidia-cuda -march=sm_90 -Xclang -target-feature -Xclang +ptx78 -nogpulib -x cl -S k.cl -o {CUDA}/add_kernel.ptx"
        ),
        format!("--target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -x cl k.cl -o {HIP}/add_kernel.hsaco"),
        format!("--target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -x cl -S k.cl -o {HIP}/add_kernel.amdgcn"),
        format!("--target=nvptx64-nvidia-cuda -nogpulib -x cl -S -emit-llvm k.cl -o {CUDA}/add_kernel.llir"),
    ] {
        folder.run(&clang, code.split_whitespace()).ok();
    }
    let targets = [
        (
            CUDA,
            "{\"backend\": \"cuda\", \"arch\": 90, \"warp_size\": 32}",
            "cuda:90",
        ),
        (
            HIP,
            "{\"backend\": \"hip\", \"arch\": \"gfx942\", \"warp_size\": 64}",
            "hip:gfx942",
        ),
    ];
    for (entry, target, name) in targets {
        folder.write(&format!("{entry}/add_kernel.json"), metadata(target));
        folder.write(
            &format!("{entry}/__grp__add_kernel.json"),
            "{\"child_paths\": {\"add_kernel.ttir\": \"/home/u/.triton/cache/3J2O/add_kernel.ttir\"}}",
        );
        folder.write(
            &format!("{entry}/add_kernel.ttir"),
            "#loc = loc(\"/home/u/add.py\":28:0)\nmodule {\n  tt.func public @add_kernel(%arg0: !tt.ptr<f32> \
             {tt.divisibility = 16 : i32} loc(\"/home/u/add.py\":28:0)) attributes {noinline = false} {\n    tt.return\n  }\n}\n",
        );
        folder.write(
            &format!("{entry}/add_kernel.ttgir"),
            format!(
                "#blocked = #ttg.blocked<{{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>\n\
                 module attributes {{\"ttg.num-warps\" = 4 : i32, ttg.target = \"{name}\"}} {{\n  \
                 tt.func public @add_kernel(%arg0: !tt.ptr<f32>) {{\n    tt.return\n  }}\n}}\n"
            ),
        );
    }
    folder
}

#[test]
fn a_cache_is_listed_by_its_kernels() {
    need!("clang-22");
    let folder = cache();
    let text = folder.offkit("ls cache").ok();
    let of_cuda = format!(
        "{CUDA}/add_kernel.json  in Triton's cache: kernel add_kernel for sm_90, as ttir, ttgir, llir, ptx\n"
    );
    let of_hip = format!(
        "{HIP}/add_kernel.json  in Triton's cache: kernel add_kernel for gfx942, as ttir, ttgir, amdgcn, hsaco\n"
    );
    says(
        &text,
        &[&of_cuda, &of_hip, "add_kernel.ptx  ", "add_kernel.hsaco  "],
    );
    assert_eq!(text.matches("in Triton's cache").count(), 2, "{text}");
    // Programs get the images, and those who filter what they asked for.
    assert_eq!(folder.offkit("ls --json cache").json().len(), 2);
    let text = folder.offkit("ls --arch gfx942 cache").ok();
    assert!(
        !text.contains("in Triton's cache") && text.contains("hsaco"),
        "{text}"
    );
    // What Triton did not write is no such cache.
    std::fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/k.ptx", folder.read(&format!("{CUDA}/add_kernel.ptx")));
    for text in [
        "{}",
        "no JSON",
        "{\"name\": \"k\", \"target\": {\"backend\": \"cuda\", \"arch\": 90}}",
    ] {
        folder.write("other/k.json", text);
        let text = folder.offkit("ls other").ok();
        assert!(!text.contains("Triton") && text.contains("k.ptx"), "{text}");
    }
}

#[test]
fn a_cache_is_counted_by_the_images_that_are_listed() {
    need!("clang-22");
    let folder = cache();
    let listed = folder.offkit("ls --json --totals cache").json();
    let total = &listed.last().unwrap()["total"];
    // The cache, and an entry of it; any folder where that is asked for.
    for line in ["size --json cache", "size --json --recursive cache"] {
        let found = &folder.offkit(line).json()[0];
        let (images, stored) = (&found["total"]["images"], &found["total"]["stored"]);
        assert_eq!(
            (images, stored),
            (&total["images"], &total["stored_size"]),
            "{line}"
        );
    }
    assert_eq!(
        folder.offkit(&format!("size --json {HIP}")).json()[0]["total"]["images"],
        1
    );
    let checked = folder.offkit("check cache --targets sm_90,gfx942").ok();
    says(&checked, &["add_kernel.ptx ", "add_kernel.hsaco "]);
    folder.offkit("check cache --targets gfx90a").fails(1);
    // A form that only Triton takes is named, as in a listing.
    for command in ["size", "check --targets sm_90"] {
        says(
            &folder
                .offkit(&format!("{command} {CUDA}/add_kernel.ttir"))
                .fails(2),
            &["is Triton IR: no device code inside", "that is in add_kernel.ptx"],
        );
    }
    std::fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/k.ptx", folder.read(&format!("{CUDA}/add_kernel.ptx")));
    says(
        &folder.offkit("size other").fails(2),
        &["is a folder", "--recursive"],
    );
}

#[test]
fn a_form_that_only_triton_takes_is_named() {
    need!("clang-22");
    let folder = cache();
    for (file, form, rest) in [
        (format!("{CUDA}/add_kernel.ttir"), "Triton IR, ", "for sm_90, "),
        (
            format!("{CUDA}/add_kernel.ttgir"),
            "Triton GPU IR, ",
            "that is in add_kernel.ptx\n",
        ),
        (
            format!("{CUDA}/add_kernel.llir"),
            "LLVM IR of Triton, ",
            "for sm_90, ",
        ),
        (
            format!("{HIP}/add_kernel.amdgcn"),
            "AMD assembly of Triton, ",
            "that is in add_kernel.hsaco\n",
        ),
    ] {
        let text = folder.offkit(&format!("ls {file}")).ok();
        says(
            &text,
            &[form, "kernel add_kernel for ", "no device code inside: ", rest],
        );
        assert_eq!(folder.offkit(&format!("ls --json {file}")).ok(), "");
    }
    // Alone it is what its first bytes say.
    folder.write("k.ttir", folder.read(&format!("{CUDA}/add_kernel.ttir")));
    says(
        &folder.offkit("ls k.ttir").ok(),
        &["k.ttir  Triton IR, ", "no device code inside\n"],
    );
    folder.write("k.ttir", "text");
    folder.offkit("ls k.ttir").fails(2);
}
