//! What `offkit size` calls redundant: each kind alone, on files that clang and CUDA's tools make, and what each saves.

use std::fmt::Write;

use offkit_tests::cuda::Cuda;
use offkit_tests::{Folder, need, tool};
use serde_json::Value;

#[track_caller]
fn run(folder: &Folder, line: &str) {
    let mut words = line.split_whitespace();
    let program = tool(words.next().unwrap()).expect("the test asked for it");
    folder.run(program, words).ok();
}

/// Makes `NAME.hsaco` with these kernels for gfx90a.
fn code(folder: &Folder, name: &str, kernels: &[&str]) {
    let mut source = String::new();
    for kernel in kernels {
        let length = kernel.len();
        writeln!(
            source,
            "kernel void {kernel}(global int *p) {{ p[{length}] *= {length}; }}"
        )
        .unwrap();
    }
    folder.write("k.cl", source);
    run(
        folder,
        &format!("clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -x cl k.cl -o {name}.hsaco"),
    );
}

/// Links a library of such images, each in an offload binary of its own.
fn library(folder: &Folder, output: &str, images: &[&str]) {
    let mut source = ".section .llvm.offloading,\"a\"\n".to_owned();
    for (number, image) in images.iter().enumerate() {
        let options = format!("--image=file={image}.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip");
        folder.offkit(&format!("pack -o {number}.out {options}")).ok();
        writeln!(source, ".balign 8\n.incbin \"{number}.out\"").unwrap();
    }
    source += ".text\n.globl f\nf: ret\n";
    folder.write("a.s", source);
    run(
        folder,
        &format!("clang-22 -shared -nostdlib -fuse-ld=lld a.s -o {output}"),
    );
}

/// What is redundant in a file: kinds, and all that is said of each.
fn redundant(folder: &Folder, file: &str) -> Vec<(String, Value)> {
    let found: Value = serde_json::from_str(&folder.offkit(&format!("size --json {file}")).ok()).unwrap();
    let redundant = found["redundant"].as_array().unwrap().iter();
    redundant
        .map(|one| (one["kind"].as_str().unwrap().to_owned(), one.clone()))
        .collect()
}

/// The only thing that is redundant in a file.
#[track_caller]
fn only(folder: &Folder, file: &str, kind: &str) -> Value {
    let [(found, one)] = redundant(folder, file).try_into().unwrap();
    assert_eq!(found, kind, "{one:#}");
    one
}

fn length(folder: &Folder, file: &str) -> u64 {
    folder.read(file).len() as u64
}

#[test]
fn images_with_the_same_bytes_are_copies() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    code(&folder, "a", &["one", "three"]);
    code(&folder, "b", &["other"]);
    library(&folder, "libk.so", &["a", "b", "a", "a"]);
    let one = only(&folder, "libk.so", "same-image");
    assert_eq!(
        (&one["images"], &one["kernels"]),
        (&Value::from(2), &Value::from(4))
    );
    assert_eq!(one["saves"], 2 * length(&folder, "a.hsaco"));
    assert_eq!(one["what"], "2 images are copies of others");
    assert_eq!(one["library"], "libk.so");
    library(&folder, "libk.so", &["a", "a"]);
    assert_eq!(
        only(&folder, "libk.so", "same-image")["what"],
        "1 image is a copy of another"
    );
    library(&folder, "libk.so", &["a", "b"]);
    assert_eq!(redundant(&folder, "libk.so"), []);
}

#[test]
fn kernels_of_several_images_are_there_again() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    code(&folder, "a", &["shared", "one", "again"]);
    code(&folder, "b", &["shared", "other"]);
    library(&folder, "libk.so", &["a", "b"]);
    let one = only(&folder, "libk.so", "same-kernels");
    assert_eq!(
        (&one["images"], &one["kernels"]),
        (&Value::from(1), &Value::from(1))
    );
    assert_eq!(
        one["what"],
        "1 kernel is there again in another image of the same architecture"
    );
    assert_eq!(one["library"], "libk.so");
    // A part of the image that it is in again.
    let saves = one["saves"].as_u64().unwrap();
    assert!(saves > 0 && saves < length(&folder, "b.hsaco"), "{saves}");
    // Libraries are not compared with each other: a program may load one of them alone.
    library(&folder, "liba.so", &["a"]);
    library(&folder, "libb.so", &["b"]);
    assert_eq!(redundant(&folder, "liba.so libb.so"), []);
}

#[test]
fn libraries_with_the_same_images_are_named() {
    need!("clang-22", "ld.lld", "python3");
    let folder = Folder::new();
    code(&folder, "a", &["one"]);
    code(&folder, "b", &["other"]);
    // The code for the host may be another.
    library(&folder, "libk.so.1", &["a", "b"]);
    run(
        &folder,
        "clang-22 -shared -nostdlib -fuse-ld=lld -Wl,-soname,libk.so a.s -o libk.so",
    );
    library(&folder, "libother.so", &["b"]);
    run(
        &folder,
        "python3 -m zipfile -c a.whl libk.so.1 libk.so libother.so",
    );
    let found = redundant(&folder, "a.whl");
    let same: Vec<_> = found.iter().filter(|(kind, _)| kind == "same-library").collect();
    let [(_, one)] = same.as_slice() else {
        panic!("{found:#?}")
    };
    assert_eq!(one["what"], "libk.so has the device code of libk.so.1");
    assert_eq!(
        one["saves"],
        length(&folder, "a.hsaco") + length(&folder, "b.hsaco")
    );
    // Its images are copies, too, and that of `libother.so` is.
    let [(_, images)] = found
        .iter()
        .filter(|(kind, _)| kind == "same-image")
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert_eq!(
        (&images["images"], &images["library"]),
        (&Value::from(3), &Value::Null)
    );
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn images_that_zstd_would_make_smaller_are_counted() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    // Numbers that no compression makes small, behind code of no length.
    let mut text =
        ".version 8.8\n.target sm_80\n.address_size 64\n.global .align 4 .b32 noise[16384] = {".to_owned();
    let mut state = 1_u32;
    for number in 0..16384 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let comma = if number == 0 { "" } else { "," };
        write!(text, "{comma}{}", state.rotate_left(number)).unwrap();
    }
    text += "};\n.visible .entry scale(.param .u64 p) { ret; }\n";
    folder.write("large.ptx", text);
    folder.write(
        "small.ptx",
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry small(.param .u64 p) { ret; }\n",
    );
    let images = [
        ("ptx", "sm_80", "large.ptx".to_owned()),
        ("ptx", "sm_90", "small.ptx".to_owned()),
    ];
    for (mode, how) in [
        ("speed", Some("by LZ4")),
        ("none", Some("uncompressed")),
        ("size", None),
    ] {
        let options = ["--compress-all", &format!("--compress-mode={mode}")];
        cuda.fatbin(&folder, "a.fatbin", &options, &images);
        let Some(how) = how else {
            assert_eq!(redundant(&folder, "a.fatbin"), [], "{mode}");
            continue;
        };
        let one = only(&folder, "a.fatbin", "compression");
        // CUDA's own tools store small images as they are: that is worth nothing.
        assert_eq!(one["images"], 1);
        let what = one["what"].as_str().unwrap();
        let rest = format!(" bytes, is stored {how} and not by zstd");
        let bytes = what
            .strip_prefix("1 image of a fatbin, ")
            .and_then(|what| what.strip_suffix(&rest))
            .unwrap_or_else(|| panic!("{what}"));
        let stored: u64 = bytes.parse().unwrap();
        assert!(stored > 1 << 16 && stored < length(&folder, "a.fatbin"), "{what}");
        assert_eq!(one["library"], "a.fatbin");
        // It was not tried.
        assert_eq!(one["saves"], Value::Null);
        assert!(one["costs"].as_str().unwrap().contains("550.54.14"), "{one:#}");
    }
}
