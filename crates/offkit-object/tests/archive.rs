//! Archives that real tools made, and archives for real tools.

#![cfg(feature = "default")]

mod common;
#[path = "common/tools.rs"]
mod tools;

use std::path::Path;

use common::{entry, limits, locations, offload_v1, read};
use offkit_object::archive::{ArchiveKind, Member, ThinMembers, members, write};
use offkit_object::host::{NewSection, ObjectFormat, write_object};
use offkit_object::{
    ContainerKind, ErrorKind, Location, OffloadBinary, OffloadBinaryVersion, offload_entries,
};
use proptest::prelude::*;
use tools::{Folder, need};

const LONG: &str = "a-name-that-has-no-room-in-a-header.o";

/// Objects with device code and symbols, one without either, and a file of odd size.
fn inputs(folder: &Folder, triple: &str) -> [&'static str; 4] {
    let binary = OffloadBinary::from(entry(b"BC\xc0\xde device"));
    folder.write("one", binary.write(OffloadBinaryVersion::V1).unwrap());
    folder.write(
        "a.c",
        "int g; int h; extern int u; static int s; __attribute__((weak)) int w(void) { return u + s; } int f(void) { return w(); }",
    );
    folder.write("b.c", "int second(void) { return 2; } int common[3];");
    folder.write("empty.c", "");
    for (source, output) in [("a.c", "a.o"), ("b.c", LONG), ("empty.c", "empty.o")] {
        folder.run(&format!(
            "clang -cc1 -triple {triple} -emit-obj -fcommon -fembed-offload-object=one {source} -o {output}"
        ));
    }
    folder.write("text", "odd");
    ["a.o", LONG, "empty.o", "text"]
}

fn ours(folder: &Folder, names: &[&str], kind: ArchiveKind) -> Vec<u8> {
    let contents: Vec<Vec<u8>> = names.iter().map(|name| folder.read(name)).collect();
    let files: Vec<Member<'_>> = names
        .iter()
        .zip(&contents)
        .map(|(name, bytes)| Member::new(name, bytes))
        .collect();
    write(&files, kind).unwrap()
}

#[test]
fn archives_are_written_byte_for_byte_as_llvm_writes_them() {
    need!("clang", "llvm-ar");
    for triple in [
        "x86_64-unknown-linux-gnu",
        "s390x-unknown-linux-gnu",
        "x86_64-pc-windows-msvc",
    ] {
        let folder = Folder::new();
        let names = inputs(&folder, triple);
        for count in 0..=names.len() {
            for (format, kind) in [("gnu", ArchiveKind::Gnu), ("bsd", ArchiveKind::Bsd)] {
                let list = names[..count].join(" ");
                let _ = std::fs::remove_file(folder.path().join("theirs.a"));
                folder.run(&format!("llvm-ar --format={format} rcsD theirs.a {list}"));
                let mine = ours(&folder, &names[..count], kind);
                folder.write("ours.a", &mine);
                assert!(mine == folder.read("theirs.a"), "{triple} {format} {list}");
            }
        }
    }
}

#[test]
fn archives_of_all_kinds_are_read() {
    need!("clang", "llvm-ar", "ar");
    let folder = Folder::new();
    let names = inputs(&folder, "x86_64-unknown-linux-gnu");
    let list = names.join(" ");
    let mut commands: Vec<String> = ["gnu", "bsd", "darwin", "coff"]
        .iter()
        .map(|format| format!("llvm-ar --format={format} rcs {format}.a {list}"))
        .collect();
    commands.push(format!("ar rcs binutils.a {list}"));
    commands.push(format!("ar rcS without.a {list}"));
    for command in commands {
        folder.run(&command);
        let bytes = folder.read(
            command
                .split_whitespace()
                .find(|word| word.ends_with(".a"))
                .unwrap(),
        );
        let contents = read(&bytes);
        assert_eq!(contents.container, ContainerKind::Archive);
        assert_eq!(contents.problems, [], "{command}");
        let expected = ["a.o", LONG, "empty.o"].map(|name| format!("file!{name}/.llvm.offloading/0"));
        assert_eq!(locations(&contents), expected, "{command}");
        let found = members(&bytes, &limits()).unwrap();
        let found_names: Vec<_> = found
            .iter()
            .map(|member| String::from_utf8_lossy(member.name))
            .collect();
        assert_eq!(found_names, names, "{command}");
        assert!(thin_members(&bytes).is_empty());
    }
}

#[test]
fn symbol_tables_with_wide_numbers_are_passed_over() {
    need!("clang", "llvm-ar");
    let folder = Folder::new();
    let names = inputs(&folder, "x86_64-unknown-linux-gnu");
    // The variable makes LLVM believe that offsets need 64 bits.
    let status = std::process::Command::new("/usr/lib/llvm-22/bin/llvm-ar")
        .env("SYM64_THRESHOLD", "1")
        .args(["--format=gnu", "rcs", "wide.a"])
        .args(names)
        .current_dir(folder.path())
        .status();
    assert!(status.unwrap().success());
    let bytes = folder.read("wide.a");
    assert!(bytes[8..].starts_with(b"/SYM64/"));
    assert_eq!(read(&bytes).problems, []);
    assert_eq!(read(&bytes).images.len(), 3);
}

#[test]
fn members_of_one_name_have_places_of_their_own() {
    let device = offload_v1();
    let archive = write(
        &[
            Member::new("a.o", &device),
            Member::new("dir/a.o", &device),
            Member::new("a.o", &device),
            Member::new("a.o", &device),
            Member::new("/a.o", &device),
        ],
        ArchiveKind::Gnu,
    )
    .unwrap();
    let contents = read(&archive);
    assert_eq!(contents.problems, []);
    assert_eq!(
        locations(&contents),
        [
            "file!a.o/0",
            "file!dir/a.o/0",
            "file!a.o#1/0",
            "file!a.o#2/0",
            "file!a.o#3/0"
        ]
    );
}

/// Where the files are that an archive `in/thin.a` with these bytes names.
fn thin_members(bytes: &[u8]) -> Vec<String> {
    let (path, limits) = (Path::new("in/thin.a"), limits());
    let members = ThinMembers::of(path, bytes, Location::of_file("thin.a"), None, &limits);
    members.map(|member| member.path.display().to_string()).collect()
}

#[test]
fn members_of_thin_archives_are_named() {
    need!("clang", "llvm-ar", "ar");
    let folder = Folder::new();
    inputs(&folder, "x86_64-unknown-linux-gnu");
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    folder.write("sub/c.o", folder.read("a.o"));
    for (command, file) in [
        ("llvm-ar rcs --thin llvm.a a.o sub/c.o", "llvm.a"),
        ("ar rcsT binutils.a a.o sub/c.o", "binutils.a"),
    ] {
        folder.run(command);
        let bytes = folder.read(file);
        assert_eq!(thin_members(&bytes), ["in/a.o", "in/sub/c.o"], "{command}");
        let contents = read(&bytes);
        assert!(contents.images.is_empty());
        assert_eq!(contents.problems.len(), 1);
        assert_eq!(contents.problems[0].error.kind(), ErrorKind::Unsupported);
        assert_eq!(contents.problems[0].error.found(), Some("2 members"));
    }
}

/// The members with their sizes and the symbol table, as `llvm-nm` has it.
fn table(folder: &Folder, bytes: &[u8]) -> String {
    folder.write("table.a", bytes);
    folder.run("llvm-nm --print-armap --quiet table.a")
}

#[test]
fn a_replaced_member_leaves_all_others_and_the_linker_finds_its_symbols() {
    need!("clang", "llvm-ar", "llvm-nm", "ld.lld");
    let folder = Folder::new();
    let names = inputs(&folder, "x86_64-unknown-linux-gnu");
    let list = names.join(" ");
    let bundle = "__CLANG_OFFLOAD_BUNDLE__openmp-amdgcn-amd-amdhsa--gfx90a";
    for name in &names[..3] {
        let section = offkit_object::host::NewSection::excluded(bundle, b"BC\xc0\xde short");
        let object = offkit_object::host::add_sections(&folder.read(name), &[section]).unwrap();
        folder.write(name, object);
    }
    for format in ["gnu", "bsd", "darwin", "coff"] {
        folder.run(&format!("llvm-ar --format={format} rcsD {format}.a {list}"));
        let old = folder.read(&format!("{format}.a"));
        let contents = read(&old);
        let bundled: Vec<_> = contents
            .images
            .iter()
            .filter(|image| *image.bytes().unwrap() == *b"BC\xc0\xde short")
            .collect();
        assert_eq!(bundled.len(), 3, "{format}");
        for image in bundled {
            for new in [[7; 1003].as_slice(), b"BC\xc0\xde"] {
                let changed = offkit_object::replace(&old, &image.location, new, &limits()).unwrap();
                assert_eq!(read(&changed).problems, [], "{format}");
                assert_eq!(table(&folder, &changed), table(&folder, &old), "{format}");
                // The same with the tool: extract, replace, put back.
                let name = image.location.parts().next().unwrap().into_owned();
                let member = members(&changed, &limits()).unwrap();
                let member = member
                    .iter()
                    .find(|member| member.name == name.as_bytes())
                    .unwrap();
                let before = folder.read(&name);
                folder.write(&name, member.bytes);
                let _ = std::fs::remove_file(folder.path().join("theirs.a"));
                folder.run(&format!("llvm-ar --format={format} rcsD theirs.a {list}"));
                if format == "gnu" {
                    assert!(changed == folder.read("theirs.a"), "{name}");
                }
                folder.write(&name, before);
                folder.write("changed.a", &changed);
                if format != "coff" {
                    folder.run("ld.lld -shared --undefined=second changed.a -o linked.so");
                    assert!(folder.run("llvm-nm -D linked.so").contains("second"));
                }
                let back = offkit_object::replace(&changed, &image.location, b"BC\xc0\xde short", &limits())
                    .unwrap();
                if format != "darwin" {
                    assert!(back == old, "{format}");
                }
            }
        }
    }
}

#[test]
fn symbols_of_a_member_change_with_it() {
    need!("clang", "llvm-ar", "llvm-nm");
    let folder = Folder::new();
    let names = inputs(&folder, "x86_64-unknown-linux-gnu");
    folder.write(
        "other.c",
        "int one(void) { return 1; } int two, three, four, five;",
    );
    folder.run("clang --target=x86_64-unknown-linux-gnu -c other.c -o other.o");
    let other = folder.read("other.o");
    for format in ["gnu", "bsd"] {
        folder.run(&format!(
            "llvm-ar --format={format} rcsD {format}.a {}",
            names.join(" ")
        ));
        let old = folder.read(&format!("{format}.a"));
        // The second member is not looked into here: it becomes another object as a whole.
        let changed = offkit_object::archive::replace_member(&old, 1, &other).unwrap();
        let found = members(&changed, &limits()).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(found[1].bytes, other);
        folder.write(LONG, &other);
        let _ = std::fs::remove_file(folder.path().join("theirs.a"));
        folder.run(&format!(
            "llvm-ar --format={format} rcsD theirs.a {}",
            names.join(" ")
        ));
        assert!(changed == folder.read("theirs.a"), "{format}");
        inputs(&folder, "x86_64-unknown-linux-gnu");
    }
}

#[test]
fn a_sorted_table_of_symbols_stays_sorted() {
    need!("clang");
    let folder = Folder::new();
    let names = inputs(&folder, "x86_64-unknown-linux-gnu");
    folder.write("other.c", "int zero, alpha;");
    folder.run("clang --target=x86_64-unknown-linux-gnu -c other.c -o other.o");
    let mut old = ours(&folder, &names, ArchiveKind::Bsd);
    // The other form of the name, for which there is no room behind the header: in the header itself.
    assert_eq!(&old[8..13], b"#1/12");
    old[8..24].copy_from_slice(b"__.SYMDEF SORTED");
    let size: usize = std::str::from_utf8(&old[56..66]).unwrap().trim().parse().unwrap();
    old[68..68 + size].rotate_left(12);
    old[68 + size - 12..68 + size].fill(0);
    let changed = offkit_object::archive::replace_member(&old, 1, &folder.read("other.o")).unwrap();
    // The size of the pairs and these, the size of the names and these.
    let word = |at: usize| u32::from_le_bytes(changed[at..at + 4].try_into().unwrap()) as usize;
    let at = 68 + 4 + word(68) + 4;
    let symbols: Vec<_> = changed[at..at + word(at - 4)].split(|byte| *byte == 0).collect();
    let symbols = symbols.strip_suffix(&[&[][..]]).unwrap();
    assert_eq!(symbols, [&b"alpha"[..], b"f", b"g", b"h", b"w", b"zero"]);
}

#[test]
fn odd_archives_are_read() {
    let device = offload_v1();
    let even = write(
        &[Member::new("a", b"odd"), Member::new("b", &device)],
        ArchiveKind::Gnu,
    )
    .unwrap();
    // Some writers do not pad.
    let place = even.windows(2).position(|window| window == b"d\n").unwrap() + 1;
    let mut unpadded = even.clone();
    unpadded.remove(place);
    assert_eq!(locations(&read(&unpadded)), ["file!b/0"]);
    assert_eq!(read(&unpadded).problems, []);
    let error = offkit_object::archive::replace_member(&unpadded, 0, b"new").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unrepresentable);
    assert_eq!(read(b"!<arch>\n").problems, []);
    assert_eq!(read(b"!<thin>\n").problems, []);
    // A long name that is nowhere.
    let mut nameless = even;
    nameless[8..10].copy_from_slice(b"/9");
    let contents = read(&nameless);
    assert_eq!(contents.images.len(), 1);
    assert_eq!(contents.problems.len(), 1);
}

#[test]
fn damaged_archives_are_read_as_far_as_they_go() {
    let device = offload_v1();
    let files = [
        Member::new("a", b"odd"),
        Member::new(LONG, &device),
        Member::new("b", &device),
    ];
    for kind in [ArchiveKind::Gnu, ArchiveKind::Bsd] {
        let whole = write(&files, kind).unwrap();
        assert_eq!(read(&whole).images.len(), 2);
        for length in 8..whole.len() {
            let contents = read(&whole[..length]);
            assert!(contents.images.len() <= 2, "cut to {length}");
            let is_between = members(&whole[..length], &limits()).is_ok();
            assert_eq!(
                contents.problems.is_empty(),
                is_between,
                "cut to {length}: {:?}",
                contents.problems
            );
        }
        let mut bytes = whole.clone();
        for position in 0..bytes.len() {
            for bit in 0..8 {
                bytes[position] ^= 1 << bit;
                let contents = read(&bytes);
                assert!(contents.images.len() <= 3, "{position:#x}.{bit}");
                let _ = offkit_object::archive::replace_member(&bytes, 0, b"new");
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn the_first_fault_of_offload_entries_names_its_member() {
    let mut binary = offload_v1();
    binary.pop();
    let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
    let section = NewSection::excluded(".llvm.offloading", &binary);
    let object = write_object(format, &[section]).unwrap();
    for content in [&binary, &object] {
        let members = [Member::new("empty.o", b""), Member::new("damaged.o", content)];
        let archive = write(&members, ArchiveKind::Gnu).unwrap();
        let error = offload_entries(&archive, &limits(), &mut |_| {}).unwrap_err();
        let context = error.context().unwrap_or_default();
        assert!(context.starts_with("damaged.o"), "{error}");
    }
}

#[test]
fn names_need_not_be_ascii() {
    let list = [
        Member::new("gr\u{fc}n.o", b"one"),
        Member::new("#1", b"a form of BSD"),
        Member::new("\u{489}\u{489}\u{489}\u{489}\u{489}\u{489}\u{489}.o", b"two"),
    ];
    for kind in [ArchiveKind::Gnu, ArchiveKind::Bsd] {
        let archive = write(&list, kind).unwrap();
        let found = members(&archive, &limits()).unwrap();
        assert_eq!(found.len(), list.len());
        assert!(
            found
                .iter()
                .zip(&list)
                .all(|(one, other)| one.name == other.name.as_bytes() && one.bytes == other.bytes)
        );
    }
}

#[test]
fn names_without_a_place_in_an_archive_are_refused() {
    for name in ["", "a\nb", "a\0b"] {
        let error = write(&[Member::new(name, b"")], ArchiveKind::Gnu).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable);
    }
    let mut old = Member::new("a", b"");
    old.mtime = 1_000_000_000_000;
    assert!(write(&[old], ArchiveKind::Bsd).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        files in proptest::collection::vec(("[a-zA-Z0-9._/ -]{0,30}[a-z]", proptest::collection::vec(any::<u8>(), 0..40)), 0..8),
        is_bsd in any::<bool>(),
        replaced in 0_usize..8,
        new in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let list: Vec<Member<'_>> = files.iter().map(|(name, bytes)| Member::new(name, bytes)).collect();
        let kind = if is_bsd { ArchiveKind::Bsd } else { ArchiveKind::Gnu };
        let archive = write(&list, kind).unwrap();
        let found = members(&archive, &limits()).unwrap();
        let pairs: Vec<_> = found.iter().map(|member| (member.name, member.bytes)).collect();
        let expected: Vec<_> = files.iter().map(|(name, bytes)| (name.as_bytes(), bytes.as_slice())).collect();
        prop_assert_eq!(pairs, expected);
        if replaced < files.len() {
            let changed = offkit_object::archive::replace_member(&archive, replaced, &new).unwrap();
            let mut list = list;
            list[replaced].bytes = &new;
            if is_bsd {
                prop_assert_eq!(members(&changed, &limits()).unwrap()[replaced].bytes, new.as_slice());
            } else {
                prop_assert_eq!(changed, write(&list, kind).unwrap());
            }
        }
    }
}
