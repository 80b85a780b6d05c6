//! Device code outside of known sections, put there by a real assembler.

#![cfg(feature = "default")]

mod common;
#[path = "common/tools.rs"]
mod tools;

use common::{limits, locations, offload_v1, read};
use offkit_object::registration::{HostTarget, Registration, RegistrationKind};
use offkit_object::{ContainerKind, Contents, DeviceImage, ErrorKind, ImageFormat, Limits, Target};
use tools::{Folder, need};

fn scan(bytes: &[u8]) -> Contents<'_> {
    let limits = Limits {
        scan: true,
        ..limits()
    };
    offkit_object::read("file", bytes, &limits)
}

/// Device code of every kind, as compilers make it.
fn samples(folder: &Folder) {
    folder.write("k.cl", "kernel void f(global int *p) { p[0] = 1; }");
    folder.run("clang-22 --target=spirv64 -x cl -cl-std=CL2.0 -O1 -c k.cl -o k.spv");
    folder.run("clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -x cl -c k.cl -o k.o");
    folder.run("ld.lld -shared k.o -o k.hsaco");
    folder.run("clang-22 --target=nvptx64-nvidia-cuda -march=sm_52 -nogpulib -x cl -S k.cl -o k.ptx");
    folder.write("k.out", offload_v1());
    folder.run(
        "clang-offload-bundler -type=o -bundle-align=4096 -targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx90a \
         -input=/dev/null -input=k.hsaco -output=k.bundle",
    );
}

/// A library with files in its constants, with other bytes between them.
fn library(folder: &Folder, files: &[&str], between: &str) -> Vec<u8> {
    let content = files.iter().fold(String::new(), |text, file| {
        text + &format!(".p2align 4\n.incbin \"{file}\"\n.byte 0\n{between}\n")
    });
    folder.write("a.s", format!(".section .rodata\n{between}\n{content}"));
    folder.run("clang-22 --target=x86_64-linux-gnu -c a.s -o a.o");
    folder.run("ld.lld -shared a.o -o a.so");
    folder.read("a.so")
}

#[test]
fn code_in_constants_is_found_and_is_whole() {
    need!("clang-22", "ld.lld", "clang-offload-bundler");
    let folder = Folder::new();
    samples(&folder);
    let files = ["k.spv", "k.hsaco", "k.ptx", "k.out", "k.bundle"];
    let bytes = library(&folder, &files, ".quad 0x0123456789abcdef");
    assert_eq!(read(&bytes).images, [], "nobody looks without being asked");
    let contents = scan(&bytes);
    assert_eq!(contents.problems, []);
    let formats: Vec<_> = contents.images.iter().map(|image| image.format).collect();
    assert_eq!(
        formats[..3],
        [ImageFormat::Spirv, ImageFormat::Amdgpu, ImageFormat::Ptx]
    );
    for (image, file) in contents.images.iter().zip(["k.spv", "k.hsaco"]) {
        assert_eq!(*image.bytes().unwrap(), *folder.read(file), "{file}");
        let offset = image.offset.unwrap();
        assert_eq!(image.location.to_string(), format!("file!scan/{offset:#x}"));
    }
    // PTX is found by its version, behind the comment that it begins with.
    let ptx = folder.read("k.ptx");
    assert!(ptx.ends_with(contents.images[2].bytes().unwrap()));
    assert!(contents.images[2].bytes().unwrap().starts_with(b".version"));
    let kinds: Vec<_> = contents.images[3..].iter().map(|image| image.container).collect();
    assert!(kinds.contains(&ContainerKind::OffloadBinary), "{kinds:?}");
    let bundled = contents.images.last().unwrap();
    assert_eq!(bundled.target.to_string(), "amdgcn-amd-amdhsa-gfx90a");
    assert_eq!(*bundled.bytes().unwrap(), *folder.read("k.hsaco"));
    let changed = offkit_object::replace(
        &bytes,
        &contents.images[0].location,
        b"x",
        &Limits {
            scan: true,
            ..limits()
        },
    );
    assert!(changed.is_err());
}

#[test]
fn first_bytes_alone_are_no_device_code() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    let magics = ".ascii \"\\177ELF\\2\\1\\1\"\n.quad 0\n.long 0x07230203\n.long 0x10000\n.quad 0\n.long 0xba55ed50\n.long 0x100001\n\
                  .quad 12\n.long 0xad10ff10\n.quad 1\n.ascii \"__CLANG_OFFLOAD_BUNDLE__\"\n.quad 5\n.ascii \"CCOB\"\n.asciz \".version 8.0 of it\"\n";
    let bytes = library(&folder, &[], magics);
    let contents = scan(&bytes);
    assert_eq!((contents.images, contents.problems), (vec![], vec![]));
}

/// A fatbin with PTX, as CUDA's `fatbinary` lays it out.
fn fatbin(ptx: &[u8]) -> Vec<u8> {
    const KIND_PTX: u32 = 1;
    let mut text = ptx.to_vec();
    text.push(0);
    text.resize(text.len().next_multiple_of(8), 0);
    let mut entry = vec![0; 64];
    common::put_u32(&mut entry, 0, KIND_PTX | 0x0101 << 16);
    common::put_u32(&mut entry, 4, 64);
    common::put_u64(&mut entry, 8, text.len() as u64);
    common::put_u32(&mut entry, 28, 52);
    common::put_u64(&mut entry, 40, 0x11);
    let size = (entry.len() + text.len()) as u64;
    let header = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    [&header, &size.to_le_bytes()[..], &entry, &text].concat()
}

/// What a loader has of a file is without section headers, and so is what `strip` has gone over.
#[test]
fn libraries_without_section_headers_have_all_that_they_had() {
    need!("clang-22", "ld.lld", "llvm-objcopy");
    let folder = Folder::new();
    samples(&folder);
    folder.write(
        "openmp.c",
        "int twice(int x) {\n#pragma omp target map(tofrom: x)\n  x *= 2;\n  return x;\n}\n",
    );
    let openmp = "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -fPIC -nostdlib";
    folder.run(&format!("clang-22 {openmp} -shared openmp.c -o openmp.so"));
    folder.write("a.hip", "__attribute__((device)) int v = 3;\n");
    folder.run("clang-22 -x hip --offload-arch=gfx90a -nogpulib -nogpuinc --no-offload-new-driver -fPIC -c a.hip -o hip.o");
    folder.run("ld.lld -shared hip.o -o hip.so");
    let host = HostTarget::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let wrapped = |kind, name: &str, image: Vec<u8>| {
        let mut image = DeviceImage::new(image);
        image.target = Target::new("spirv64-unknown-unknown", "");
        folder.write("w.o", Registration::new(kind, host).write(&[image]).unwrap());
        folder.run(&format!("ld.lld -shared w.o -o {name}"));
    };
    wrapped(RegistrationKind::Cuda, "cuda.so", fatbin(&folder.read("k.ptx")));
    for (kind, name) in [
        (RegistrationKind::Offload, "offload.so"),
        (RegistrationKind::SyclV3, "sycl.so"),
        (RegistrationKind::SyclLlvm, "llvm.so"),
    ] {
        wrapped(kind, name, folder.read("k.spv"));
    }
    for name in [
        "openmp.so",
        "hip.so",
        "cuda.so",
        "offload.so",
        "sycl.so",
        "llvm.so",
    ] {
        folder.run(&format!("llvm-objcopy --strip-sections {name} stripped"));
        let (before, after) = (folder.read(name), folder.read("stripped"));
        let (before, after) = (read(&before), read(&after));
        assert_eq!(after.problems, [], "{name}");
        let described = |contents: &Contents<'_>| {
            let images = contents.images.iter();
            images
                .map(|image| {
                    (
                        image.format,
                        image.target.clone(),
                        image.bytes().unwrap().to_vec(),
                    )
                })
                .collect::<Vec<_>>()
        };
        assert!(!before.images.is_empty(), "{name}");
        assert_eq!(described(&after), described(&before), "{name}");
    }
    // Nothing of an ordinary library is taken for code.
    folder.write(
        "h.c",
        "const char text[] = \".version \\3\\2#\\7\"; int f(void) { return 1; }",
    );
    folder.run("clang-22 -shared -fPIC -nostdlib h.c -o h.so");
    folder.run("llvm-objcopy --strip-sections h.so stripped");
    let bytes = folder.read("stripped");
    let contents = read(&bytes);
    assert_eq!((contents.images, contents.problems), (vec![], vec![]));
}

/// A library of nothing but this, for which no section says what it is.
fn bare_library(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (bytes[16], bytes[18]) = (3, 62);
    bytes.extend(content);
    bytes
}

#[test]
fn what_only_begins_like_device_code_takes_no_time_and_is_said() {
    // PTX from each of many beginnings, none of which ends: each would be searched for its end.
    let text = ".version 8.0\n.target sm_80\n".repeat(40_000).into_bytes();
    // Bundles with one ID, which reaches to the end and is none.
    let size = 56 * 20_000;
    let mut bundles = Vec::new();
    while bundles.len() < size {
        bundles.extend(b"__CLANG_OFFLOAD_BUNDLE__");
        let id_size = (size - bundles.len() - 32) as u64;
        for number in [1, 0, 0, id_size] {
            bundles.extend(number.to_le_bytes());
        }
    }
    for content in [text, bundles] {
        let bytes = bare_library(&content);
        let contents = scan(&bytes);
        assert_eq!(contents.images, []);
        let [problem] = contents.problems.as_slice() else {
            panic!("{:?}", contents.problems)
        };
        assert!(
            problem.to_string().contains("too much begins like device code"),
            "{problem}"
        );
    }
}

#[test]
fn a_search_that_ends_at_the_limit_of_images_says_so() {
    let bytes = bare_library(&b".version 8.0\n.target sm_80\n\0".repeat(3));
    let limits = Limits {
        scan: true,
        max_images: 2,
        ..limits()
    };
    let contents = offkit_object::read("file", &bytes, &limits);
    assert_eq!(locations(&contents), ["file!scan/0x40", "file!scan/0x5c"]);
    let [problem] = contents.problems.as_slice() else {
        panic!("{:?}", contents.problems)
    };
    assert_eq!(problem.error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(problem.error.offset(), Some(0x78));
}

#[test]
fn what_sections_have_is_not_found_again() {
    need!("clang");
    let folder = Folder::new();
    folder.write("a.c", "int a;");
    folder.write("one", offload_v1());
    folder.run("clang -cc1 -triple x86_64-linux-gnu -emit-obj -fembed-offload-object=one a.c -o a.o");
    let bytes = folder.read("a.o");
    assert_eq!(locations(&scan(&bytes)), locations(&read(&bytes)));
}

#[test]
fn every_truncation_and_many_flipped_bits_are_harmless() {
    need!("clang-22", "ld.lld", "clang-offload-bundler");
    let folder = Folder::new();
    samples(&folder);
    let mut bytes = library(&folder, &["k.spv", "k.out", "k.ptx"], "");
    let count = scan(&bytes).images.len();
    assert!(count >= 3);
    for length in (0..bytes.len()).step_by(5) {
        assert!(scan(&bytes[..length]).images.len() <= count, "cut to {length}");
    }
    for position in (0..bytes.len()).step_by(3) {
        bytes[position] ^= 0x10;
        assert!(scan(&bytes).images.len() <= count + 4, "{position:#x}");
        bytes[position] ^= 0x10;
    }
}
