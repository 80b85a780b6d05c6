//! LLVM's and Khronos's own tools agree with what offkit writes.

use offkit_tests::{Folder, need, tool};

fn linked(format: &str) -> Folder {
    let folder = Folder::new();
    folder.compiled_example();
    folder
        .offkit(&format!(
            "link app.bc library.bc -o out.bin --split kernel --format {format} --state object"
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
        .run(tool("llvm-objdump").unwrap(), ["--offloading", "out.bin"])
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

/// LLVM's code generator keeps state between modules: every image must come out as if it were the only one.
#[test]
fn many_images_are_valid_and_the_same_every_time() {
    need!("clang-22", "llc", "spirv-val");
    let folder = Folder::new();
    let mut source = "float shared(float x) { float y = x;
        for (int i = 0; i < 9; ++i) y = sin(y) * x + cos(y); return y; }\n"
        .to_owned();
    for k in 0..32 {
        source.push_str(&format!(
            "static float own{k}(float x) {{ float y = shared(x) + {k};
               for (int i = 0; i < {k} + 3; ++i) y = sqrt(y * y + x); return y; }}
             kernel void k{k}(global float *a) {{
               size_t i = get_global_id(0); a[i] = own{k}(a[i]) + shared(a[i]); }}\n"
        ));
    }
    folder.bitcode("many", &source);
    let link = |output: &str| {
        folder
            .offkit(&format!("link many.bc --split kernel -o {output}"))
            .ok()
    };
    link("first");
    let listing = folder.offkit("ls --json first").json();
    assert_eq!(listing.len(), 33, "32 kernels and the exported function");
    let bytes = folder.read("first");
    for image in &listing {
        let (offset, size) = (
            image["offset"].as_u64().unwrap() as usize,
            image["size"].as_u64().unwrap() as usize,
        );
        folder.write("image.spv", &bytes[offset..offset + size]);
        folder.run(tool("spirv-val").unwrap(), ["image.spv"]).ok();
    }
    for _ in 0..3 {
        link("again");
        assert!(
            folder.read("again") == bytes,
            "the same input gives the same bytes"
        );
    }
    let unknown = folder
        .offkit("link many.bc --spirv-ext SPV_FOO -o third")
        .fails(2);
    assert!(unknown.contains("SPV_FOO"), "{unknown}");
}
