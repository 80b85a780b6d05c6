//! Objects and programs that are changed or written.

use super::*;

#[test]
fn an_image_in_an_object_grows_and_shrinks_and_nothing_else_changes() {
    need!("clang", "llvm-readobj");
    let folder = Folder::new();
    for triple in ELF_TRIPLES.iter().chain(&COFF_TRIPLES) {
        let old = embedded(&folder, triple);
        let before = outline(&folder, "before.o", &old);
        let content = device_sections(&old, &limits()).unwrap()[0].bytes;
        for image in [[7; 10_001].as_slice(), b"", b"BC\xc0\xde two"] {
            let new = offload(image);
            let changed = replace_section(&old, ".llvm.offloading", &new).unwrap();
            let contents = read(&changed);
            assert_eq!(contents.problems, [], "{triple}");
            assert_eq!(contents.images.len(), 1);
            assert_eq!(*contents.images[0].bytes().unwrap(), *image);
            assert_eq!(outline(&folder, "after.o", &changed), before, "{triple}");
            folder.run("llvm-objdump --offloading -d -r after.o");
            let back = replace_section(&changed, ".llvm.offloading", content).unwrap();
            assert!(back == old, "{triple}: the old content brings the old file back");
        }
    }
}

#[test]
fn changed_objects_link_and_copy() {
    need!(
        "clang",
        "ld.lld",
        "ld",
        "llvm-objcopy",
        "llvm-objdump",
        "lld-link"
    );
    let folder = Folder::new();
    let old = embedded(&folder, "x86_64-unknown-linux-gnu");
    let new = [9; 5_000];
    let content = [offload(b"BC\xc0\xde first"), offload(&new)].concat();
    folder.write(
        "new.o",
        replace_section(&old, ".llvm.offloading", &content).unwrap(),
    );
    folder.run("ld -r new.o -o gnu.o");
    folder.run("ld.lld -r new.o -o lld.o");
    folder.run("llvm-objcopy new.o copy.o");
    for output in ["copy.o", "lld.o", "gnu.o"] {
        let bytes = folder.read(output);
        let contents = read(&bytes);
        assert_eq!(contents.problems, [], "{output}");
        // GNU ld leaves out sections that are excluded, with -r too.
        let expected = if output == "gnu.o" {
            contents.images.len()
        } else {
            2
        };
        assert_eq!(contents.images.len(), expected, "{output}");
        assert!(
            contents
                .images
                .get(1)
                .is_none_or(|image| *image.bytes().unwrap() == new)
        );
    }
    folder.run("ld.lld -shared new.o -o with-lld.so");
    folder.run("ld -shared new.o -o with-gnu.so --allow-shlib-undefined -z notext");
    let old = embedded(&folder, "x86_64-pc-windows-msvc");
    folder.write(
        "new.obj",
        replace_section(&old, ".llvm.offloading", &content).unwrap(),
    );
    folder.run("lld-link /dll /noentry /force:unresolved new.obj /out:new.dll");
    assert!(is_host(&folder.read("new.dll")));
    assert_eq!(read(&folder.read("new.dll")).problems, []);
}

#[test]
fn images_in_linked_programs_are_replaced_where_they_fit() {
    need!("clang", "ld.lld", "lld-link", "llvm-readobj");
    let folder = Folder::new();
    folder.write("one", offload(b"BC\xc0\xde a first image, of some length"));
    folder.write(
        "elf.s",
        ".section .llvm.offloading,\"a\",@progbits\n.p2align 3\n.incbin \"one\"\n.text\n.globl _start\n_start: ret\n",
    );
    folder.write(
        "coff.s",
        ".section .llvm.of,\"dr\"\n.p2align 3\n.incbin \"one\"\n.text\n.globl start\nstart: ret\n",
    );
    folder.run("clang --target=x86_64-unknown-linux-gnu -c elf.s -o elf.o");
    folder.run("ld.lld elf.o -o elf");
    folder.run("clang --target=x86_64-pc-windows-msvc -c coff.s -o coff.obj");
    folder.run("lld-link coff.obj /entry:start /subsystem:console /out:coff");
    for (file, name) in [("elf", ".llvm.offloading"), ("coff", ".llvm")] {
        let old = folder.read(file);
        let contents = read(&old);
        assert_eq!(contents.problems, [], "{file}");
        assert_eq!(locations(&contents), [format!("file!{name}/0")]);
        for shorter in [
            b"BC\xc0\xde as long as the other but e".as_slice(),
            b"BC\xc0\xde short",
        ] {
            let changed = replace_section(&old, name, &offload(shorter)).unwrap();
            assert_eq!(changed.len(), old.len());
            assert_eq!(*read(&changed).images[0].bytes().unwrap(), *shorter);
            assert_eq!(read(&changed).problems, []);
            folder.write("changed", &changed);
            folder.run("llvm-readobj --sections --program-headers changed");
        }
        let error = replace_section(&old, name, &[1; 500]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable);
        assert!(
            error
                .to_string()
                .contains("addresses in a linked program cannot move"),
            "{error}"
        );
    }
}

#[test]
fn sections_are_added_and_taken_away() {
    need!("clang", "llvm-readobj", "llvm-objdump", "llvm-objcopy");
    let folder = Folder::new();
    let device = offload_v1();
    let id = "__CLANG_OFFLOAD_BUNDLE__openmp-amdgcn-amd-amdhsa--gfx90a";
    let host = "__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-";
    for triple in ELF_TRIPLES.iter().chain(&COFF_TRIPLES) {
        let old = embedded(&folder, triple);
        let before = outline(&folder, "before.o", &old);
        let more = add_sections(
            &old,
            &[
                NewSection::excluded(host, b"\0"),
                NewSection::excluded(id, b"BC\xc0\xde device"),
                NewSection::offloading(&device),
                NewSection::excluded("short", b""),
            ],
        )
        .unwrap();
        folder.write("more.o", &more);
        let dump = folder.run("llvm-objdump --offloading -h -t -r -d more.o");
        assert_eq!(dump.matches("OFFLOADING IMAGE").count(), 3, "{triple}: {dump}");
        folder.run("llvm-objcopy more.o copied.o");
        let contents = read(&more);
        assert_eq!(contents.problems, [], "{triple}");
        assert!(locations(&contents).contains(&"file!.llvm.offloading#1/0".to_owned()));
        assert_eq!(device_sections(&more, &limits()).unwrap().len(), 4);
        let less = remove_sections(&more, |name| {
            name.starts_with("__CLANG_OFFLOAD_BUNDLE__") || name == "short"
        })
        .unwrap();
        let mut seen = 0;
        let less = remove_sections(&less, |name| {
            seen += usize::from(name == ".llvm.offloading");
            name == ".llvm.offloading" && seen == 2
        })
        .unwrap();
        assert_eq!(outline(&folder, "less.o", &less), before, "{triple}");
        // Sections in the middle go too, and everything that counts sections follows.
        let without = remove_sections(&more, |name| name == ".llvm.offloading").unwrap();
        folder.write("without.o", &without);
        folder.run("llvm-objcopy --remove-section .llvm.offloading more.o expected.o");
        assert!(
            !folder
                .run("llvm-objdump --offloading without.o")
                .contains("OFFLOADING")
        );
        if triple.contains("linux") {
            let symbols = |file: &str| {
                let text = folder.run(&format!("llvm-nm -a --no-sort {file}"));
                // Symbols of sections that are gone have no name any more.
                let named = text
                    .lines()
                    .filter(|line| line.split_whitespace().count() != 2 || line.contains('U'));
                named.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(symbols("without.o"), symbols("expected.o"), "{triple}");
            let relocations = |file: &str| folder.run(&format!("llvm-readelf -r -g {file}"));
            let names = |text: String| {
                let words = text
                    .lines()
                    .map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" "));
                words
                    .filter(|line| !line.contains("at offset"))
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                names(relocations("without.o")),
                names(relocations("expected.o")),
                "{triple}"
            );
        }
        let error = remove_sections(&old, |name| name == ".text").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable, "{triple}");
    }
}

#[test]
fn removing_sections_from_what_an_assembler_made_leaves_a_working_object() {
    need!("clang", "ld.lld");
    let folder = Folder::new();
    folder.write(
        "a.s",
        ".section gone,\"e\"\n.quad 1\n.section .text.a,\"ax\"\n.globl _start\n_start: call b\nret\n\
         .section .text.b,\"axG\",@progbits,group,comdat\nb: lea x(%rip),%rax\nret\n.data\nx: .quad b\n",
    );
    folder.run("clang --target=x86_64-unknown-linux-gnu -c a.s -o a.o");
    let less = remove_sections(&folder.read("a.o"), |name| name == "gone").unwrap();
    folder.write("less.o", less);
    folder.run("ld.lld a.o -o one");
    folder.run("ld.lld less.o -o other");
    let code = |file: &str| {
        let dump = folder.run(&format!("llvm-objdump -d -s -j .text -j .data {file}"));
        dump.lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(code("one"), code("other"));
}

#[test]
fn objects_with_nothing_but_device_code_are_written() {
    need!(
        "llvm-readobj",
        "llvm-objdump",
        "ld.lld",
        "ld",
        "lld-link",
        "readelf"
    );
    let folder = Folder::new();
    let device = offload_v1();
    for triple in [
        "x86_64-unknown-linux-gnu",
        "s390x-linux-gnu",
        "i386-linux-gnu",
        "x86_64-pc-windows-msvc",
    ] {
        let format = ObjectFormat::for_triple(triple).unwrap();
        let object = write_object(format, &[NewSection::offloading(&device)]).unwrap();
        folder.write("a.o", &object);
        let sections = folder.run("llvm-readobj --sections --file-headers a.o");
        let dump = folder.run("llvm-objdump --offloading a.o");
        assert!(dump.contains("OFFLOADING IMAGE [0]"), "{triple}: {dump}");
        let contents = read(&object);
        assert_eq!(
            (contents.images.len(), contents.problems.len()),
            (1, 0),
            "{triple}"
        );
        if triple.contains("windows") {
            assert!(
                sections.contains("IMAGE_SCN_LNK_REMOVE") && sections.contains("ALIGN_8BYTES"),
                "{sections}"
            );
            folder.run("lld-link /dll /noentry a.o /out:a.dll");
        } else {
            assert!(
                sections.contains("SHT_LLVM_OFFLOADING") && sections.contains("SHF_EXCLUDE"),
                "{sections}"
            );
            folder.run("ld.lld -r a.o -o again.o");
        }
        if triple.starts_with("x86_64-unknown") {
            folder.run("ld -r a.o -o again.o");
            assert!(!folder.run("readelf -S -W a.o").contains("Warning"));
        }
        assert!(write_object(format, &[]).is_ok());
    }
    assert_eq!(ObjectFormat::for_triple("arm64-apple-macos"), None);
    let format = ObjectFormat::for_triple("aarch64-linux-gnu").unwrap();
    let mut odd = NewSection::offloading(b"");
    odd.alignment = 3;
    assert_eq!(
        write_object(format, &[odd]).unwrap_err().kind(),
        ErrorKind::Unrepresentable
    );
}

/// More sections than 16 bits can count, which both formats store in other places than usual.
#[test]
fn objects_with_very_many_sections_are_read_and_changed() {
    need!("clang", "llvm-readobj");
    let folder = Folder::new();
    folder.write("one", offload(b"BC\xc0\xde one"));
    for (triple, flags) in [
        ("x86_64-unknown-linux-gnu", "\"a\""),
        ("x86_64-pc-windows-msvc", "\"dr\""),
    ] {
        let mut assembly = String::new();
        for number in 0..66_000 {
            assembly.push_str(&format!(".section s{number},{flags}\n"));
        }
        assembly.push_str(&format!(
            ".section .llvm.offloading,{}\n.incbin \"one\"\n",
            flags.replace('a', "e")
        ));
        assembly.push_str(".globl last\nlast: .long 0\n");
        folder.write("a.s", assembly);
        folder.run(&format!("clang --target={triple} -c a.s -o a.o"));
        let old = folder.read("a.o");
        assert!(is_host(&old), "{triple}");
        let place = |bytes: &[u8]| {
            let sections = device_sections(bytes, &limits()).unwrap();
            sections
                .iter()
                .map(|section| (section.name.clone(), section.bytes.len()))
                .collect::<Vec<_>>()
        };
        let content = device_sections(&old, &limits()).unwrap()[0].bytes.to_vec();
        let name = ".llvm.offloading";
        let grown = replace_section(&old, name, &[1; 5000]).unwrap();
        assert_eq!(place(&grown), [(name.to_owned(), 5000)], "{triple}");
        assert!(
            replace_section(&grown, name, &content).unwrap() == old,
            "{triple}"
        );
        let more = add_sections(
            &old,
            &[NewSection::excluded("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", b"x")],
        )
        .unwrap();
        assert_eq!(place(&more).len(), 2);
        let less = remove_sections(&more, |name| name.starts_with("s6") || name.starts_with("__")).unwrap();
        assert_eq!(place(&less).len(), 1);
        folder.write("less.o", &less);
        let symbols = folder.run("llvm-readobj --symbols less.o");
        let last = symbols
            .split("Symbol {")
            .find(|symbol| symbol.contains("Name: last"))
            .unwrap();
        assert!(last.contains("Section: .llvm.offloading"), "{triple}: {last}");
        // None of 6, 60 to 69, 600 to 699, 6000 to 6999, 60000 to 65999.
        let removed = 1 + 10 + 100 + 1000 + 6000;
        let count = |file: &str| {
            folder
                .run(&format!("llvm-readobj --sections {file}"))
                .matches("Name: s")
                .count()
        };
        folder.write("more.o", &more);
        assert_eq!(count("more.o") - count("less.o"), removed, "{triple}");
    }
}

#[test]
fn sections_are_added_to_objects_that_were_written_here() {
    let device = offload_v1();
    for triple in [
        "x86_64-linux-gnu",
        "i386-linux-gnu",
        "s390x-linux-gnu",
        "x86_64-pc-windows-msvc",
    ] {
        let format = ObjectFormat::for_triple(triple).unwrap();
        let mut object = write_object(format, &[]).unwrap();
        if triple.contains("windows") {
            // An object without sections cannot be told from other bytes.
            object = write_object(format, &[NewSection::excluded("first", b"1")]).unwrap();
        }
        for number in 0..3 {
            let name = format!("a long name of a section, {number}");
            object = add_sections(
                &object,
                &[NewSection::excluded(&name, b"x"), NewSection::offloading(&device)],
            )
            .unwrap();
        }
        assert_eq!(device_sections(&object, &limits()).unwrap().len(), 3, "{triple}");
        assert_eq!(read(&object).images.len(), 3, "{triple}");
        let less = remove_sections(&object, |name| name == ".llvm.offloading").unwrap();
        assert_eq!(read(&less).images.len(), 0, "{triple}");
        let changed = replace_section(&less, "a long name of a section, 1", &[7; 100]).unwrap();
        assert!(changed.windows(100).any(|window| window == [7; 100]), "{triple}");
    }
}

/// An object with local symbols of the section `code`, in as many tables.
fn with_tables_of_symbols(count: usize) -> Vec<u8> {
    const SYMTAB: u8 = 2;
    const CODE: u8 = 2;
    let names: Vec<String> = (0..count).map(|number| format!(".symtab{number}")).collect();
    // Each table has one symbol more than the next.
    let tables = (0..count).map(|number| {
        let mut table = vec![0; 24 * (count - number)];
        table.extend([0, 0, 0, 0, 3, 0, CODE, 0]);
        table.extend([0; 16]);
        table
    });
    let tables: Vec<Vec<u8>> = tables.collect();
    let mut sections = vec![NewSection::excluded("code", b"code")];
    let named = names.iter().zip(&tables);
    sections.extend(named.map(|(name, table)| NewSection::excluded(name, table)));
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let mut object = write_object(format, &sections).unwrap();
    let headers = u64_at(&object, 40) as usize;
    for number in 0..count {
        object[headers + (usize::from(CODE) + 1 + number) * 64 + 4] = SYMTAB;
    }
    object
}

#[test]
fn no_section_is_taken_out_of_an_object_with_two_tables_of_symbols() {
    let without_code = |object: &[u8]| remove_sections(object, |name| name == "code");
    without_code(&with_tables_of_symbols(1)).unwrap();
    let error = without_code(&with_tables_of_symbols(2)).unwrap_err();
    assert_eq!(error.message(), "the object has more than one table of symbols");
}

#[test]
fn what_a_section_without_bytes_has_in_its_place_stays() {
    const NO_BITS: u8 = 8;
    const UNINITIALIZED: u8 = 0x80;
    let object = |triple: &str| {
        let format = ObjectFormat::for_triple(triple).unwrap();
        let sections = [
            NewSection::excluded(".bss", &[1; 16]),
            NewSection::excluded("empty", b""),
        ];
        write_object(format, &sections).unwrap()
    };
    let mut elf = object("x86_64-unknown-linux-gnu");
    let headers = u64_at(&elf, 40) as usize;
    elf[headers + 2 * 64 + 4] = NO_BITS;
    let mut coff = object("x86_64-pc-windows-msvc");
    coff[20 + 36] |= UNINITIALIZED;
    for file in [&elf, &coff] {
        for size in [0, 8, 16, 24] {
            let error = replace_section(file, ".bss", &vec![2; size]).unwrap_err();
            assert_eq!(error.message(), "the section has no place in the file", "{size}");
        }
        assert!(replace_section(file, "empty", b"").unwrap() == *file);
    }
    let error = replace_section(&coff, "empty", b"content").unwrap_err();
    assert_eq!(error.message(), "the section has no place in the file");
}

#[test]
fn section_headers_of_an_unusual_size_are_not_written() {
    const SIZE: usize = 72;
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let device = offload_v1();
    let mut object = write_object(format, &[NewSection::offloading(&device)]).unwrap();
    let (headers, end) = (u64_at(&object, 40) as usize, object.len());
    for number in 0..3 {
        let header = object[headers + number * 64..][..64].to_vec();
        object.extend(header);
        object.extend([0; SIZE - 64]);
    }
    object[40..48].copy_from_slice(&(end as u64).to_le_bytes());
    object[58] = SIZE as u8;
    assert_eq!(read(&object).images.len(), 1);
    let shorter = &device[..device.len() - 8];
    let mut linked = object.clone();
    linked[16] = 3;
    let results = [
        add_sections(&object, &[NewSection::excluded("more", b"x")]),
        remove_sections(&object, |name| name == ".llvm.offloading"),
        replace_section(&object, ".llvm.offloading", shorter),
        replace_section(&linked, ".llvm.offloading", shorter),
    ];
    for result in results {
        assert_eq!(
            result.unwrap_err().message(),
            "section headers have an unusual size"
        );
    }
}

/// In objects for many sections, the number of the section that another one comes and goes with is in two halves.
#[test]
fn a_section_stays_with_one_of_a_number_above_16_bits() {
    need!("clang", "llvm-readobj");
    let folder = Folder::new();
    let mut assembly = String::new();
    for number in 0..66_000 {
        assembly.push_str(&format!(".section s{number},\"dr\"\n"));
    }
    assembly.push_str(".section .text$f,\"xr\",one_only,f\n.globl f\nf: ret\n");
    assembly.push_str(".section .xdata$f,\"dr\",associative,f\n.long 0\n");
    folder.write("a.s", assembly);
    folder.run("clang --target=x86_64-pc-windows-msvc -c a.s -o a.o");
    let less = remove_sections(&folder.read("a.o"), |name| name == "s5000").unwrap();
    folder.write("less.o", less);
    let symbols = folder.run("llvm-readobj --symbols less.o");
    let mut symbols = symbols.split("Symbol {");
    let other = symbols.find(|symbol| symbol.contains("Name: .xdata$f")).unwrap();
    assert!(other.contains("AssocSection: .text$f ("), "{other}");
}
