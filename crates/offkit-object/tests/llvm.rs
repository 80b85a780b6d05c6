//! Offload binaries compared with LLVM 22's own tools.

#![cfg(feature = "default")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{entry, limits};
use offkit_object::{
    ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, SyclBinVersion,
};

/// The name of an LLVM 22 tool that can be started, or `None` after saying that the test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn tool(name: &str) -> Option<String> {
    let found = [format!("{name}-22"), name.to_owned()]
        .into_iter()
        .find(|candidate| {
            let output = Command::new(candidate).arg("--version").output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("LLVM version 22"))
        });
    if found.is_none() {
        assert!(
            std::env::var("OFFKIT_REQUIRE_TOOLS").as_deref() != Ok("1"),
            "{name} of LLVM 22 is required and missing"
        );
        eprintln!("SKIPPED: {name} of LLVM 22 is missing");
    }
    found
}

fn run(program: &str, arguments: &[String], directory: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn version_1_is_written_byte_for_byte_as_llvm_writes_it() {
    let Some(packager) = tool("llvm-offload-binary") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let images: [(&str, &[u8], ImageKind); 6] = [
        ("a.o", b"abc", ImageKind::OBJECT),
        ("empty.cubin", b"", ImageKind::CUBIN),
        ("eight.bc", b"12345678", ImageKind::BITCODE),
        ("magic.bin", b"BC\xc0\xde rest", ImageKind::BITCODE),
        ("text.s", b".version 7.8\n", ImageKind::PTX),
        ("module.spv", common::SPIRV, ImageKind::NONE),
    ];
    let targets = [
        ("nvptx64-nvidia-cuda", "sm_60"),
        ("nvptx64-nvidia-cuda", "cuda"),
        ("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-"),
        ("spir64-unknown-unknown", ""),
        ("unknown", "spir64-unknown"),
        ("x", "x"),
        ("arch", "triple"),
    ];
    let kinds = [
        ("openmp", OffloadKind::OPENMP),
        ("cuda", OffloadKind::CUDA),
        ("hip", OffloadKind::HIP),
        ("sycl", OffloadKind::SYCL),
        ("none", OffloadKind::NONE),
    ];
    let mut arguments = Vec::new();
    let mut ours = OffloadBinary::default();
    for (number, (file, bytes, image_kind)) in images.iter().enumerate() {
        std::fs::write(directory.path().join(file), bytes).unwrap();
        for (triple, arch) in targets {
            let (kind_name, kind) = kinds[(number + ours.entries.len()) % kinds.len()];
            arguments.push(format!(
                "--image=file={file},triple={triple},arch={arch},kind={kind_name}"
            ));
            let mut entry = OffloadEntry::new(*image_kind, kind, *bytes);
            entry.strings.set("triple", triple);
            entry.strings.set("arch", arch);
            entry.strings.sort();
            ours.entries.push(entry);
        }
    }
    arguments.extend(["-o", "out"].map(str::to_owned));
    run(&packager, &arguments, directory.path());
    let theirs = std::fs::read(directory.path().join("out")).unwrap();
    assert!(
        ours.write_v1_sequence().unwrap() == theirs,
        "{} images differ from LLVM's",
        ours.entries.len()
    );
}

/// With more keys LLVM's order is that of a hash table; ours is the order of the model, so that what LLVM
/// wrote comes back.
#[test]
fn what_llvm_wrote_is_written_again_unchanged() {
    let Some(packager) = tool("llvm-offload-binary") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("image"), b"some image").unwrap();
    let extras = [
        "",
        ",feature=+a",
        ",symbols=saxpy,zebra=1,compile-opts=-O2 -g",
        ",b=,a=,c=x,dx=x,ddx=dx",
    ];
    let arguments: Vec<String> = extras
        .iter()
        .map(|extra| {
            format!("--image=file=image,triple=spirv64-unknown-unknown,arch=generic,kind=sycl{extra}")
        })
        .chain(["-o", "out"].map(str::to_owned))
        .collect();
    run(&packager, &arguments, directory.path());
    let theirs = std::fs::read(directory.path().join("out")).unwrap();
    let mut again = Vec::new();
    let mut counts = Vec::new();
    for binary in OffloadBinary::parse_all(&theirs, &limits()).unwrap() {
        counts.push(binary.entries[0].strings.len());
        assert_eq!(binary.entries[0].strings.get("arch"), Some("generic"));
        again.extend(binary.write(OffloadBinaryVersion::V1).unwrap());
    }
    assert_eq!(counts, [2, 3, 5, 7]);
    assert!(again == theirs);
}

#[test]
fn llvm_lists_and_extracts_what_was_written() {
    let (Some(objdump), Some(packager)) = (tool("llvm-objdump"), tool("llvm-offload-binary")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut sycl = OffloadEntry::new(ImageKind::PTX, OffloadKind::SYCL, b".version 7.8\n");
    sycl.strings.set("triple", "nvptx64-nvidia-cuda");
    sycl.strings.set("arch", "sm_80");
    let binary = OffloadBinary {
        entries: vec![entry(b"BC\xc0\xde bitcode"), sycl],
    };
    std::fs::write(directory.path().join("ours"), binary.write_v1_sequence().unwrap()).unwrap();

    let listing = run(
        &objdump,
        &["--offloading".to_owned(), "ours".to_owned()],
        directory.path(),
    );
    let words: Vec<&str> = listing.split_whitespace().collect();
    let expected = [
        "OFFLOADING IMAGE [0]: kind llvm ir arch gfx90a:xnack+ triple amdgcn-amd-amdhsa producer openmp",
        "OFFLOADING IMAGE [1]: kind ptx arch sm_80 triple nvptx64-nvidia-cuda producer sycl",
    ];
    assert_eq!(words.join(" "), expected.join(" "));

    let select = "--image=file=extracted,arch=sm_80,kind=sycl".to_owned();
    run(&packager, &["ours".to_owned(), select], directory.path());
    assert_eq!(
        std::fs::read(directory.path().join("extracted")).unwrap(),
        b".version 7.8\n"
    );
}

#[test]
fn llvm_takes_a_syclbin_in_an_envelope_of_version_1() {
    let Some(objdump) = tool("llvm-objdump") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let bytes = common::program().write(SyclBinVersion::V1EnvelopedV1).unwrap();
    std::fs::write(directory.path().join("ours"), bytes).unwrap();
    let listing = run(
        &objdump,
        &["--offloading".to_owned(), "ours".to_owned()],
        directory.path(),
    );
    let words: Vec<&str> = listing.split_whitespace().collect();
    // LLVM 22 has no name for the image kind of DPC++.
    assert_eq!(words[..5], ["OFFLOADING", "IMAGE", "[0]:", "kind", "<none>"]);
    assert_eq!(words.last(), Some(&"sycl"));
}
