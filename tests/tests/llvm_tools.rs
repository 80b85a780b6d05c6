//! LLVM's and Khronos's own tools agree with what offkit writes.

use offkit_tests::{Folder, example, need, tool};

fn linked(format: &str) -> Folder {
    let folder = Folder::new();
    folder.write("library.h", example("library.h"));
    folder.bitcode("app", &example("app.cl"));
    folder.bitcode("library", &example("library.cl"));
    folder
        .offkit(&format!(
            "link app.bc library.bc -o out.bin --split kernel --format {format}"
        ))
        .ok();
    folder
}

#[test]
fn llvm_reads_the_offload_binaries_that_offkit_writes() {
    need!("clang-22", "llc", "llvm-objdump", "llvm-offload-binary");
    let folder = linked("offload,v1");
    let listing = folder.offkit("ls --json out.bin").json();
    assert_eq!(listing.len(), 4, "{listing:#?}");
    let dump = folder
        .run(
            tool("llvm-objdump-22").or(tool("llvm-objdump")).unwrap(),
            ["--offloading", "out.bin"],
        )
        .ok();
    assert_eq!(dump.matches("OFFLOADING IMAGE").count(), 4, "{dump}");
    assert_eq!(dump.matches("producer        sycl").count(), 4, "{dump}");
    assert_eq!(
        dump.matches("triple          spirv64-unknown-unknown").count(),
        4,
        "{dump}"
    );

    // Taken out by LLVM, each image is what offkit says it is.
    let extractor = tool("llvm-offload-binary").unwrap();
    folder
        .run(extractor, ["out.bin", "--image=kind=sycl,arch=generic"])
        .ok();
    let bytes = folder.read("out.bin");
    let extracted: Vec<_> = folder
        .list()
        .into_iter()
        .filter(|name| name.starts_with("out-"))
        .collect();
    assert_eq!(extracted.len(), 4, "{extracted:?}");
    for (image, name) in listing.iter().zip(extracted) {
        let (offset, size) = (
            image["offset"].as_u64().unwrap() as usize,
            image["size"].as_u64().unwrap() as usize,
        );
        assert!(folder.read(&name) == bytes[offset..offset + size], "{name}");
    }
}

#[test]
fn offkit_reads_the_offload_binaries_that_llvm_writes() {
    need!("clang-22", "llc", "llvm-offload-binary");
    let folder = linked("offload,v1");
    folder.write("a.spv", b"\x03\x02\x23\x07");
    let pack = [
        "-o",
        "packed.bin",
        "--image=file=a.spv,triple=spirv64-unknown-unknown,arch=generic,kind=sycl",
        "--image=file=app.bc,triple=spirv64-unknown-unknown,kind=openmp",
    ];
    folder.run(tool("llvm-offload-binary").unwrap(), pack).ok();
    let listing = folder.offkit("ls --json packed.bin").json();
    let facts: Vec<_> = listing
        .iter()
        .map(|image| (&image["format"], &image["producer"]))
        .collect();
    assert_eq!(
        facts,
        [
            (&"spirv".into(), &"sycl".into()),
            (&"bitcode".into(), &"openmp".into())
        ]
    );
}

#[test]
fn every_image_is_valid_spirv() {
    need!("clang-22", "llc", "spirv-val");
    for (format, version) in [
        ("syclbin,v1", "1.0"),
        ("syclbin,v2", "1.2"),
        ("offload,v2", "1.4"),
    ] {
        let folder = linked(&format!("{format} --spirv-version {version}"));
        let bytes = folder.read("out.bin");
        for image in folder.offkit("ls --json out.bin").json() {
            let (offset, size) = (
                image["offset"].as_u64().unwrap() as usize,
                image["size"].as_u64().unwrap() as usize,
            );
            folder.write("image.spv", &bytes[offset..offset + size]);
            folder.run(tool("spirv-val").unwrap(), ["image.spv"]).ok();
        }
    }
}
