//! Objects and programs that real compilers and linkers made: what is found in them, and what they are after
//! changes.

#![cfg(feature = "default")]

mod changes;

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/tools.rs"]
mod tools;

use std::ops::ControlFlow;

use common::{entry, limits, locations, offload_v1, read, u64_at};
use offkit_object::host::{
    NewSection, ObjectFormat, SectionContent, add_sections, device_sections, is_host, remove_sections,
    replace_section, write_object,
};
use offkit_object::{ContainerKind, ErrorKind, Item, OffloadBinary, OffloadBinaryVersion, walk};
use tools::{Folder, need};

const ELF_TRIPLES: [&str; 6] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "powerpc64-unknown-linux-gnu",
    "i386-unknown-linux-gnu",
    "mips-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
];

const COFF_TRIPLES: [&str; 2] = ["x86_64-pc-windows-msvc", "i686-pc-windows-msvc"];

const SOURCE: &str = "int g = 3; int h(void); static int s(int a) { return a + g; } \
    __attribute__((section(\".other\"))) int o[5] = {1}; int f(int a) { return s(a) + h() + o[a]; }";

fn offload(image: &[u8]) -> Vec<u8> {
    OffloadBinary::from(entry(image))
        .write(OffloadBinaryVersion::V1)
        .unwrap()
}

/// An object in which clang embedded two offload binaries.
fn embedded(folder: &Folder, triple: &str) -> Vec<u8> {
    folder.write("a.c", SOURCE);
    folder.write("one", offload(b"BC\xc0\xde one"));
    folder.write("two", offload(b"BC\xc0\xde the second image"));
    folder.run(&format!(
        "clang -cc1 -triple {triple} -O1 -debug-info-kind=limited -emit-obj -fembed-offload-object=one \
         -fembed-offload-object=two a.c -o {triple}.o"
    ));
    folder.read(&format!("{triple}.o"))
}

/// What `llvm-readobj` says of an object but for what is in the sections with device code and where it is.
fn outline(folder: &Folder, name: &str, bytes: &[u8]) -> String {
    folder.write(name, bytes);
    let text = folder.run(&format!(
        "llvm-readobj --sections --symbols --relocations --section-groups {name}"
    ));
    let varies = |line: &&str| {
        let line = line.trim_start();
        [
            "File:",
            "Offset:",
            "PointerTo",
            "Size:",
            "RawDataSize:",
            "Length:",
            "Checksum:",
        ]
        .iter()
        .all(|field| !line.starts_with(field))
    };
    text.lines().filter(varies).collect::<Vec<_>>().join("\n")
}

#[test]
fn embedded_offload_binaries_are_found_in_objects_of_every_kind() {
    need!("clang");
    let folder = Folder::new();
    for triple in ELF_TRIPLES.iter().chain(&COFF_TRIPLES) {
        let bytes = embedded(&folder, triple);
        assert!(is_host(&bytes), "{triple}");
        let contents = read(&bytes);
        assert_eq!(contents.problems, [], "{triple}");
        assert_eq!(contents.container, ContainerKind::Host);
        assert_eq!(
            locations(&contents),
            ["file!.llvm.offloading/0", "file!.llvm.offloading/1"],
            "{triple}"
        );
        assert_eq!(contents.images[0].bytes().unwrap(), b"BC\xc0\xde one");
        let sections = device_sections(&bytes, &limits()).unwrap();
        assert_eq!(sections.len(), 1);
        assert_eq!(
            sections[0].content,
            SectionContent::Container(ContainerKind::OffloadBinary)
        );
        assert_eq!(
            bytes[sections[0].offset as usize..][..sections[0].bytes.len()],
            *sections[0].bytes
        );
    }
}

#[test]
fn hosts_without_device_code_are_whole_and_empty() {
    need!("clang", "ld.lld");
    let folder = Folder::new();
    folder.write("a.c", "int main(void) { return 0; }");
    for (triple, output) in [
        ("x86_64-unknown-linux-gnu", "elf.o"),
        ("x86_64-pc-windows-msvc", "coff.o"),
        ("arm64-apple-macos", "mach.o"),
        ("armv7-apple-ios", "mach32.o"),
    ] {
        folder.run(&format!("clang --target={triple} -c a.c -o {output}"));
        let bytes = folder.read(output);
        assert!(is_host(&bytes), "{triple}");
        let contents = read(&bytes);
        assert_eq!(
            (contents.images.len(), contents.problems.len()),
            (0, 0),
            "{triple}"
        );
    }
    folder.run("ld.lld elf.o -o program -e main");
    let program = folder.read("program");
    assert_eq!(
        (read(&program).images.len(), read(&program).problems.len()),
        (0, 0)
    );
    let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!((read(&me).images.len(), read(&me).problems.len()), (0, 0));
}

#[test]
fn other_files_are_no_hosts() {
    for bytes in [
        b"".as_slice(),
        b"\x7fELF",
        b"MZ",
        b"d\x86",
        b"\xca\xfe\xba\xbe\0\0\0\x34 a class of Java, of version 52",
        b"Long text that begins as the machine i386 does: L\x01",
        b"Let it be known that text is no object file at all",
        b"\0\0\xff\xff\0\0d\x86an import of a library",
        common::SPIRV,
    ] {
        let expected = bytes == b"\x7fELF";
        assert_eq!(is_host(bytes), expected, "{bytes:?}");
    }
    let mut cubin = vec![0_u8; 64];
    cubin[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    cubin[18] = 190;
    assert!(!is_host(&cubin), "code for devices is no host");
}

#[test]
fn sections_of_mach_o_and_its_universal_files_are_found() {
    need!("clang", "llvm-lipo");
    let folder = Folder::new();
    folder.write("one", offload(b"BC\xc0\xde one"));
    folder.write(
        "a.s",
        ".section __LLVM,.llvm.offloading\n.incbin \"one\"\n.section __DATA,__data\n.long 7\n",
    );
    for arch in ["arm64", "x86_64"] {
        folder.run(&format!("clang --target={arch}-apple-macos11 -c a.s -o {arch}.o"));
        let bytes = folder.read(&format!("{arch}.o"));
        let contents = read(&bytes);
        assert_eq!(contents.problems, []);
        assert_eq!(locations(&contents), ["file!.llvm.offloading/0"]);
    }
    folder.run("llvm-lipo -create arm64.o x86_64.o -output universal.o");
    let bytes = folder.read("universal.o");
    let contents = read(&bytes);
    assert_eq!(contents.problems, []);
    assert_eq!(
        locations(&contents),
        ["file!x86_64/.llvm.offloading/0", "file!arm64/.llvm.offloading/0"]
    );
    let error = replace_section(&bytes, ".llvm.offloading", b"new").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn raw_images_of_sycl_programs_are_no_fault() {
    need!("clang", "ld.lld");
    let folder = Folder::new();
    folder.write("one", common::SPIRV);
    folder.write(
        "a.s",
        ".section .llvm.offloading,\"a\",@progbits\n.incbin \"one\"\n.text\n.globl _start\n_start: ret\n",
    );
    folder.run("clang --target=x86_64-unknown-linux-gnu -c a.s -o a.o");
    folder.run("ld.lld a.o -o program");
    for file in ["a.o", "program"] {
        let bytes = folder.read(file);
        assert_eq!(read(&bytes).problems, [], "{file}");
    }
}

#[test]
fn bundled_objects_are_read_entry_by_entry() {
    need!("clang", "clang-offload-bundler", "llvm-objcopy");
    let folder = Folder::new();
    folder.write("a.c", SOURCE);
    folder.run("clang --target=x86_64-unknown-linux-gnu -c a.c -o host.o");
    folder.write("gfx90a", b"BC\xc0\xde gfx90a");
    folder.write("sm_60", b"BC\xc0\xde sm_60");
    let targets =
        "host-x86_64-unknown-linux-gnu-,openmp-amdgcn-amd-amdhsa--gfx90a,openmp-nvptx64-nvidia-cuda--sm_60";
    folder.run(&format!(
        "clang-offload-bundler -type=o -targets={targets} -input=host.o -input=gfx90a -input=sm_60 -output=all.o"
    ));
    let bytes = folder.read("all.o");
    let contents = read(&bytes);
    assert_eq!(contents.problems, []);
    let images: Vec<_> = contents
        .images
        .iter()
        .map(|image| image.bytes().unwrap().to_vec())
        .collect();
    assert!(
        images.contains(&b"BC\xc0\xde gfx90a".to_vec()) && images.contains(&b"BC\xc0\xde sm_60".to_vec())
    );
    assert!(
        locations(&contents)
            .iter()
            .all(|place| place.starts_with("file!bundle/"))
    );
    // Their tool and this crate can take each other's place.
    let ids: Vec<String> = targets
        .split(',')
        .zip(["\0", "BC\u{0}", "x"])
        .map(|(id, _)| id.to_owned())
        .collect();
    let names: Vec<String> = device_sections(&bytes, &limits())
        .unwrap()
        .into_iter()
        .map(|section| section.name)
        .collect();
    let sections: Vec<NewSection<'_>> = names
        .iter()
        .zip([b"\0".as_slice(), b"BC\xc0\xde gfx90a", b"BC\xc0\xde sm_60"])
        .map(|(name, bytes)| NewSection::excluded(name, bytes))
        .collect();
    assert_eq!(ids.len(), sections.len());
    folder.write("ours.o", add_sections(&folder.read("host.o"), &sections).unwrap());
    assert_eq!(
        folder.run("clang-offload-bundler -type=o -list -input=ours.o"),
        folder.run("clang-offload-bundler -type=o -list -input=all.o")
    );
    folder.run("clang-offload-bundler -type=o -unbundle -targets=openmp-nvptx64-nvidia-cuda--sm_60 -input=ours.o -output=out");
    assert_eq!(folder.read("out"), b"BC\xc0\xde sm_60");
}

#[test]
fn damaged_objects_are_read_as_far_as_they_go() {
    let format = |triple| ObjectFormat::for_triple(triple).unwrap();
    let device = offload(b"BC\xc0\xde damage");
    for triple in [
        "x86_64-linux-gnu",
        "i386-linux-gnu",
        "s390x-linux-gnu",
        "x86_64-pc-windows-msvc",
    ] {
        let whole = write_object(
            format(triple),
            &[
                NewSection::offloading(&device),
                NewSection::excluded("__CLANG_OFFLOAD_BUNDLE__host-x", b"\0"),
            ],
        )
        .unwrap();
        assert_eq!(read(&whole).problems, []);
        for length in 0..whole.len() {
            let part = &whole[..length];
            let contents = read(part);
            assert!(
                contents.images.len() <= 2 && contents.problems.len() <= 5,
                "{triple} cut to {length}"
            );
            let _ = add_sections(part, &[NewSection::offloading(&device)]);
            let _ = remove_sections(part, |name| name.starts_with('_'));
        }
        let mut bytes = whole.clone();
        for position in 0..bytes.len() {
            for bit in 0..8 {
                bytes[position] ^= 1 << bit;
                let contents = read(&bytes);
                assert!(contents.images.len() <= 3, "{triple} {position:#x}.{bit}");
                if let Ok(more) = add_sections(&bytes, &[NewSection::offloading(&device)]) {
                    assert!(more.len() < bytes.len() + 10_000, "{triple} {position:#x}.{bit}");
                }
                let _ = remove_sections(&bytes, |name| name.starts_with('_'));
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn a_section_that_is_cut_off_is_a_fault_and_is_read() {
    let device = offload(&[b"BC\xc0\xde".as_slice(), &[5; 100]].concat());
    let format = ObjectFormat::for_triple("x86_64-pc-windows-msvc").unwrap();
    let both = [device.clone(), device.clone()].concat();
    let object = write_object(format, &[NewSection::offloading(&both)]).unwrap();
    // A copy whose section says that it is longer than the file.
    let mut longer = object.clone();
    let size = u32::try_from(object.len()).unwrap();
    longer[20 + 16..20 + 20].copy_from_slice(&size.to_le_bytes());
    let contents = read(&longer);
    assert_eq!(contents.images.len(), 2);
    assert_eq!(contents.problems[0].error.kind(), ErrorKind::OutOfBounds);
    assert!(device_sections(&longer, &limits()).is_err());
}

#[test]
fn many_headers_that_share_their_content_stay_cheap() {
    let format = ObjectFormat::for_triple("x86_64-linux-gnu").unwrap();
    let name = format!("__CLANG_OFFLOAD_BUNDLE__{}", "x".repeat(100_000));
    let sections = vec![NewSection::excluded(&name, b"BC\xc0\xde"); 1000];
    let mut object = write_object(format, &sections[..1]).unwrap();
    object = add_sections(&object, &vec![NewSection::excluded("y", b""); 5000]).unwrap();
    let table = u64::from_le_bytes(object[0x28..0x30].try_into().unwrap()) as usize;
    let first = object[table + 128..table + 192].to_vec();
    for number in 3..5002 {
        object[table + number * 64..][..64].copy_from_slice(&first);
    }
    let start = std::time::Instant::now();
    let contents = read(&object);
    assert!(contents.images.len() <= 5000);
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn a_section_without_a_name_has_a_place() {
    let format = ObjectFormat::for_triple("x86_64-linux-gnu").unwrap();
    let device = offload_v1();
    let mut nameless = NewSection::offloading(&device);
    nameless.name = "".into();
    let object = write_object(format, &[nameless]).unwrap();
    let contents = read(&object);
    assert_eq!(locations(&contents), ["file!#2/0"]);
    let location = &contents.images[0].location;
    assert_eq!(location.to_string().parse().as_ref(), Ok(location));
}

#[test]
fn damaged_tables_of_sections_are_problems_and_not_silence() {
    need!("clang");
    let folder = Folder::new();
    let whole = embedded(&folder, "x86_64-unknown-linux-gnu");
    assert_eq!(read(&whole).images.len(), 2);
    let headers = u64_at(&whole, 40) as usize;
    let names = usize::from(u16::from_le_bytes([whole[62], whole[63]]));
    let offloading = (0..usize::from(whole[60]))
        .find(|number| whole[headers + number * 64 + 4..][..4] == [0x0b, 0x4c, 0xff, 0x6f])
        .unwrap();
    let bitcode = b"BC";
    let cases: [(&str, usize, u8); 7] = [
        ("place of the table", 41, 0x01),
        ("number of the names", 62, 0x01),
        ("number of the names", 63, 0x40),
        ("type of the names", headers + names * 64 + 4, 0x08),
        ("place of the names", headers + names * 64 + 24, 0x40),
        ("place of the names", headers + names * 64 + 29, 0x40),
        ("name of a section", headers + offloading * 64 + 3, 0x40),
    ];
    for (what, position, bit) in cases {
        let mut damaged = whole.clone();
        damaged[position] ^= bit;
        let contents = read(&damaged);
        assert!(!contents.problems.is_empty(), "{what}");
        assert!(
            contents
                .images
                .iter()
                .all(|image| image.bytes().unwrap().starts_with(bitcode))
        );
    }
}

#[test]
fn the_processor_of_host_code_has_the_byte_order_of_its_file() {
    const MACHINE: usize = 18;
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let binary = offload(b"BC\xc0\xde one");
    let mut object = write_object(format, &[NewSection::excluded(".llvm.offloading", &binary)]).unwrap();
    for (machine, name) in [(62, "x86_64"), (21, "powerpc64le"), (183, "aarch64")] {
        object[MACHINE] = machine;
        let mut hosts = Vec::new();
        let _ = walk("file", &object, None, &limits(), &mut |item| {
            if let Item::Container(container) = item {
                hosts.extend(container.host);
            }
            ControlFlow::Continue(())
        });
        assert_eq!(hosts, [name]);
    }
}
