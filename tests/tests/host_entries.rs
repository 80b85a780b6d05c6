//! The host's entry of a bundle, which every bundle of HIP's has, is no code for a device: it is listed and nowhere
//! counted. Code for the host's processor as a device, as OpenMP may have, is.

use offkit_tests::{Folder, need, tool};
use serde_json::Value;

#[track_caller]
fn run(folder: &Folder, line: &str) {
    let mut words = line.split_whitespace();
    let program = tool(words.next().unwrap()).expect("the test asked for it");
    folder.run(program, words).ok();
}

fn object(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.offkit(line).ok()).unwrap()
}

/// Two bundles in a library, each with the host's entry, as hipcc makes them; the second has code for gfx90a alone.
fn library(folder: &Folder) {
    folder.write("k.cl", "kernel void saxpy(global int *p) { p[0] = 1; }");
    folder.write("other.cl", "kernel void other(global int *p) { p[1] = 2; }");
    folder.write("empty", "");
    for (name, arch) in [("k", "gfx90a"), ("k", "gfx942"), ("other", "gfx90a")] {
        run(
            folder,
            &format!(
                "clang-22 --target=amdgcn-amd-amdhsa -mcpu={arch} -nogpulib -x cl {name}.cl -o {name}.{arch}.hsaco"
            ),
        );
    }
    let bundler = "clang-offload-bundler -type=o -bundle-align=4096 -input=empty";
    let [host, device] = ["host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--"];
    run(
        folder,
        &format!(
            "{bundler} -targets={host},{device}gfx90a,{device}gfx942 -input=k.gfx90a.hsaco -input=k.gfx942.hsaco \
             -output=one.hipfb"
        ),
    );
    run(
        folder,
        &format!("{bundler} -targets={host},{device}gfx90a -input=other.gfx90a.hsaco -output=two.hipfb"),
    );
    folder.write(
        "a.s",
        ".section .hip_fatbin,\"a\"\n.balign 4096\n.incbin \"one.hipfb\"\n.balign 4096\n.incbin \"two.hipfb\"\n\
         .text\n.globl f\nf: ret\n",
    );
    run(folder, "clang-22 -shared -nostdlib -fuse-ld=lld a.s -o libhip.so");
}

#[test]
fn nothing_that_is_counted_has_the_host_s_entries() {
    need!("clang-22", "ld.lld", "clang-offload-bundler");
    let folder = Folder::new();
    library(&folder);
    // A listing has them, and its sums do not.
    let text = folder.offkit("ls libhip.so").ok();
    assert_eq!(text.matches("(host)").count(), 2, "{text}");
    assert!(text.contains("\n3 images, "), "{text}");
    let rows = folder.offkit("ls --json --totals libhip.so").json();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[5]["total"]["images"], 3);
    let mut archs: Vec<_> = rows[5]["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["arch"].as_str().unwrap())
        .collect();
    archs.sort_unstable();
    assert_eq!(archs, ["gfx90a", "gfx942"]);
    let text = folder.offkit("ls --kind host libhip.so").ok();
    assert!(!text.contains("images") && !text.contains("no image"), "{text}");

    let found = object(&folder, "size --json libhip.so");
    assert_eq!(found["total"]["images"], 3);
    assert_eq!(found["redundant"], Value::Array(Vec::new()));
    let text = folder.offkit("size --html page.html libhip.so").ok();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    let families = folder.offkit("size --by family libhip.so").ok();
    let markdown = folder.offkit("size --markdown libhip.so").ok();
    folder.offkit("check --write-baseline kernels.txt libhip.so").ok();
    let baseline = String::from_utf8(folder.read("kernels.txt")).unwrap();
    for said in [&text, &page, &families, &markdown, &baseline, &found.to_string()] {
        assert!(
            !said.contains("x86_64") && !said.contains("unknown") && !said.contains("(no kernels)"),
            "{said}"
        );
    }
    // The library is in order.
    folder.write(
        "offkit.toml",
        "[check]\ntargets = ['gfx90a', 'gfx942']\nholes = 'off'\nextra = 'error'\n[size]\nredundant = 'error'\n",
    );
    folder.offkit("check libhip.so --policy offkit.toml").ok();
    folder.offkit("check libhip.so --images --targets gfx90a").ok();
    // A bundle that has nothing else has no code.
    run(
        &folder,
        "clang-offload-bundler -type=o -targets=host-x86_64-unknown-linux-- -input=a.s -output=host.hipfb",
    );
    assert!(
        folder
            .offkit("ls host.hipfb")
            .ok()
            .contains("no device code inside")
    );
    folder.offkit("size host.hipfb").fails(2);
}

#[test]
fn the_host_s_processor_as_a_device_has_images_like_any_other() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    folder.write(
        "a.c",
        "void f(int *p) {\n#pragma omp target map(tofrom : p[0])\n  p[0] += 1;\n}\n",
    );
    run(
        &folder,
        "clang-22 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -nogpulib -c a.c -o a.o",
    );
    let found = object(&folder, "size --json a.o");
    assert_eq!(found["total"]["images"], 1, "{found:#}");
    let rows = folder.offkit("ls --json --totals a.o").json();
    assert!(
        rows[0]["triple"].as_str().unwrap().starts_with("x86_64"),
        "{rows:#?}"
    );
    assert_eq!(rows[1]["total"]["images"], 1);
}

#[test]
fn kernels_with_too_many_registers_are_named_with_their_architecture() {
    need!("clang-22", "ld.lld", "clang-offload-bundler");
    let folder = Folder::new();
    library(&folder);
    folder.write("offkit.toml", "[kernels]\nmax-registers = 1\n");
    let outcome = folder.offkit("check libhip.so --policy offkit.toml --json");
    assert_eq!(outcome.code, 1);
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let findings = found["findings"].as_array().unwrap().iter();
    let mut findings: Vec<_> = findings
        .map(|finding| {
            let message = finding["message"].as_str().unwrap();
            let said = message.split(" takes ").next().unwrap();
            let target = finding["target"].as_str().unwrap();
            assert!(said.ends_with(target), "{message}");
            assert_eq!(finding["library"], "libhip.so");
            said
        })
        .collect();
    findings.sort_unstable();
    assert_eq!(
        findings,
        ["other on gfx90a", "saxpy on gfx90a", "saxpy on gfx942"]
    );
}

#[test]
fn a_device_that_is_named_twice_is_checked_once() {
    need!("clang-22", "ld.lld", "clang-offload-bundler");
    let folder = Folder::new();
    library(&folder);
    folder.write(
        "offkit.toml",
        "[check]\ntargets = ['gfx90a', 'mi210']\nnative = ['gfx90a']\n",
    );
    let outcome = folder.offkit("check libhip.so --policy offkit.toml --targets gfx90a,gfx90a --json");
    let found: Value = serde_json::from_str(&outcome.ok()).unwrap();
    assert_eq!(found["targets"], serde_json::json!(["gfx90a"]));
    assert_eq!(found["coverage"].as_array().unwrap().len(), 1);
    // Whoever asks for more in one place gets that.
    folder.write(
        "k.ptx",
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy() { ret; }\n",
    );
    for targets in ["sm_80,sm_80+ptx", "sm_80+ptx,a100"] {
        let outcome = folder.offkit(&format!("check k.ptx --targets {targets} --json"));
        let found: Value = serde_json::from_str(&outcome.ok()).unwrap();
        assert_eq!(found["targets"], serde_json::json!(["sm_80+ptx"]));
    }
}
