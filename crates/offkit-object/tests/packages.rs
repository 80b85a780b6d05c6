//! Packages and archives that real tools made, unpacked from front to back.

#![cfg(feature = "default")]

mod common;
#[path = "common/tools.rs"]
mod tools;

use common::{limits, locations, offload_v1, read};
use offkit_object::{Compression, ContainerKind, ErrorKind, Limits, Storage};
use tools::{Folder, need};

/// A path that is longer than a tar header has room for.
fn long_folder() -> String {
    format!("{}/{}", "d".repeat(90), "e".repeat(90))
}

/// A folder `t` with device code in some of its files.
fn tree(folder: &Folder) {
    let long = folder.path().join("t").join(long_folder());
    std::fs::create_dir_all(&long).unwrap();
    std::fs::create_dir_all(folder.path().join("t/lib")).unwrap();
    folder.write("t/lib/code.bin", offload_v1());
    folder.write("t/readme", "text ".repeat(1000));
    folder.write("t/manual", "text ".repeat(1000));
    folder.run("gzip t/manual");
    folder.write("t/empty", "");
    std::fs::write(long.join("k.ptx"), ptx()).unwrap();
    std::os::unix::fs::symlink("code.bin", folder.path().join("t/lib/link.bin")).unwrap();
}

fn ptx() -> String {
    format!("//\n.version 8.0\n.target sm_80\n// {}\n", "x".repeat(3000))
}

fn expected() -> Vec<String> {
    let mut all = vec![
        "file!lib/code.bin/0".to_owned(),
        format!("file!{}/k.ptx", long_folder()),
    ];
    all.sort();
    all
}

fn sorted_locations(bytes: &[u8]) -> Vec<String> {
    let contents = read(bytes);
    assert_eq!(contents.problems, []);
    for image in &contents.images {
        let code = image.bytes().unwrap();
        if image.location.to_string().ends_with(".ptx") {
            assert_eq!(*code, *ptx().as_bytes());
        }
        assert_eq!(
            image.container_version.is_none(),
            image.location.to_string().ends_with("ptx")
        );
    }
    let mut found = locations(&contents);
    found.sort();
    found
}

#[test]
fn every_form_of_tar_is_read_however_it_is_compressed() {
    need!("tar", "gzip", "xz", "zstd");
    let folder = Folder::new();
    tree(&folder);
    for form in ["gnu", "pax", "ustar"] {
        folder.run(&format!("tar --format={form} -cf a.tar -C t ."));
        let plain = folder.read("a.tar");
        assert_eq!(read(&plain).container, ContainerKind::Tar);
        assert_eq!(sorted_locations(&plain), expected(), "{form}");
        for (tool, end, method) in [
            ("gzip -f", "gz", Compression::Gzip),
            ("xz -f", "xz", Compression::Xz),
            ("zstd -q -f --rm", "zst", Compression::Zstd),
        ] {
            folder.write("a.tar", &plain);
            folder.run(&format!("{tool} a.tar"));
            let bytes = folder.read(&format!("a.tar.{end}"));
            let contents = read(&bytes);
            assert_eq!(contents.container, ContainerKind::Compressed);
            assert_eq!(sorted_locations(&bytes), expected(), "{form} {end}");
            assert!(
                contents
                    .images
                    .iter()
                    .all(|image| image.storage() == Storage::Within(method))
            );
            let location = &contents.images[0].location;
            let changed = offkit_object::replace(&bytes, location, b"other", &limits());
            assert_eq!(changed.unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}

#[test]
fn layers_of_container_images_are_archives_within_an_archive() {
    need!("tar", "gzip");
    let folder = Folder::new();
    tree(&folder);
    folder.run("tar -cf layer.tar -C t lib");
    folder.run("gzip -k layer.tar");
    folder.write("manifest.json", "[]");
    folder.run("tar -cf image.tar manifest.json layer.tar layer.tar.gz");
    let expected = [
        "file!layer.tar/lib/code.bin/0",
        "file!layer.tar.gz/lib/code.bin/0",
    ];
    assert_eq!(sorted_locations(&folder.read("image.tar")), {
        let mut all = expected;
        all.sort_unstable();
        all
    });
    folder.run("gzip image.tar");
    assert_eq!(sorted_locations(&folder.read("image.tar.gz")).len(), 2);
}

#[test]
fn files_that_are_compressed_alone_are_opened() {
    need!("gzip", "xz");
    let folder = Folder::new();
    folder.write("a", offload_v1());
    folder.run("gzip -k a");
    folder.run("xz -k a");
    for name in ["a.gz", "a.xz"] {
        assert_eq!(locations(&read(&folder.read(name))), ["file!0"], "{name}");
    }
    // Others are not worth unpacking.
    folder.write("b", "text ".repeat(10_000));
    folder.run("gzip b");
    let compressed = folder.read("b.gz");
    let contents = read(&compressed);
    assert_eq!((contents.problems, contents.images), (vec![], vec![]));
}

#[test]
fn debian_s_packages_are_read() {
    need!("dpkg-deb");
    let folder = Folder::new();
    tree(&folder);
    std::fs::create_dir_all(folder.path().join("t/DEBIAN")).unwrap();
    folder.write(
        "t/DEBIAN/control",
        "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: a\n",
    );
    for method in ["gzip", "xz", "zstd"] {
        folder.run(&format!("dpkg-deb --root-owner-group -Z{method} -b t a.deb"));
        let found = sorted_locations(&folder.read("a.deb"));
        assert_eq!(found.len(), 2, "{method}");
        assert!(found[0].starts_with("file!data.tar."), "{}", found[0]);
    }
}

/// Makes `a-1-1.noarch.rpm` of the folder `t`.
fn rpm(folder: &Folder, method: &str) {
    folder.write(
        "a.spec",
        format!(
            "%global _topdir {0}/rpm\n%global _binary_payload {method}\nName: a\nVersion: 1\nRelease: 1\nSummary: a\nLicense: none\n\
             BuildArch: noarch\n%description\na\n%install\nmkdir -p %{{buildroot}}/opt\n\
             cp -r {0}/t %{{buildroot}}/opt/t\n%files\n/opt/t\n",
            folder.path().display()
        ),
    );
    folder.run("rpmbuild -bb --quiet a.spec");
}

#[test]
fn rpm_packages_are_read() {
    need!("rpmbuild");
    let folder = Folder::new();
    tree(&folder);
    for method in ["w9.gzdio", "w6.xzdio", "w3.zstdio"] {
        rpm(&folder, method);
        let bytes = folder.read("rpm/RPMS/noarch/a-1-1.noarch.rpm");
        assert_eq!(read(&bytes).container, ContainerKind::Rpm);
        let found = sorted_locations(&bytes);
        assert!(
            found.iter().any(|name| name == "file!opt/t/lib/code.bin/0"),
            "{method}: {found:?}"
        );
        assert_eq!(found.len(), 2, "{method}");
    }
}

#[test]
fn conda_s_packages_are_read() {
    need!("python3", "tar", "zstd");
    let folder = Folder::new();
    tree(&folder);
    folder.run("tar -cf pkg-a.tar -C t .");
    folder.run("zstd -q pkg-a.tar");
    folder.write(
        "make.py",
        "import zipfile\nz = zipfile.ZipFile('a.conda', 'w')\nz.writestr('metadata.json', '{}')\n\
         z.write('pkg-a.tar.zst')\nz.close()",
    );
    folder.run("python3 make.py");
    let found = sorted_locations(&folder.read("a.conda"));
    assert!(
        found.contains(&"file!pkg-a.tar.zst/lib/code.bin/0".to_owned()),
        "{found:?}"
    );
}

#[test]
fn what_cannot_be_unpacked_is_named() {
    need!("tar", "bzip2");
    let folder = Folder::new();
    tree(&folder);
    folder.run("tar -cf a.tar -C t .");
    folder.run("bzip2 a.tar");
    let bytes = folder.read("a.tar.bz2");
    let contents = read(&bytes);
    assert_eq!(contents.problems[0].error.kind(), ErrorKind::Unsupported);
    assert_eq!(contents.problems[0].error.found(), Some("bzip2"));
}

#[test]
fn bombs_end_at_the_limit() {
    need!("python3");
    let folder = Folder::new();
    // A member of 100 MB of zeros behind the first bytes of an ELF file, and one that is no device code.
    folder.write(
        "make.py",
        "import tarfile, io\nt = tarfile.open('a.tar.gz', 'w:gz')\n\
         for name, head in ('a.so', b'\\x7fELF'), ('b', b'text'):\n\
         \x20   info = tarfile.TarInfo(name)\n    info.size = 100 << 20\n\
         \x20   t.addfile(info, io.BytesIO(head + bytes(info.size)))\nt.close()",
    );
    folder.run("python3 make.py");
    let bytes = folder.read("a.tar.gz");
    let few = Limits {
        max_inflation: 10,
        ..limits()
    };
    let contents = offkit_object::read("file", &bytes, &few);
    let kinds: Vec<_> = contents
        .problems
        .iter()
        .map(|problem| problem.error.kind())
        .collect();
    assert!(
        kinds.contains(&ErrorKind::LimitExceeded),
        "{:?}",
        contents.problems
    );
    assert!(contents.images.is_empty());
}

/// A member of a tar file.
fn tar_member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    bytes[148..157].copy_from_slice(b"        0");
    bytes[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn as_much_as_the_limit_says_may_come_out() {
    let few = Limits {
        max_inflation: 0,
        ..limits()
    };
    let most = Limits::FREE_INFLATION as usize;
    for (size, problems) in [(most, &[][..]), (most + 512, &[ErrorKind::LimitExceeded])] {
        let mut tar = tar_member("code.bin", &offload_v1());
        let rest = vec![b' '; size - tar.len() - 512];
        tar.extend(tar_member("readme", &rest));
        assert_eq!(tar.len(), size);
        let bytes = zstd::bulk::compress(&tar, 1).unwrap();
        let contents = offkit_object::read("file", &bytes, &few);
        assert_eq!(locations(&contents), ["file!code.bin/0"]);
        let kinds = contents.problems.iter().map(|problem| problem.error.kind());
        assert_eq!(kinds.collect::<Vec<_>>(), problems, "{size}");
    }
}

#[test]
fn files_that_are_looked_into_count_as_what_comes_out() {
    let few = Limits {
        max_inflation: 0,
        ..limits()
    };
    let mut large = ptx().into_bytes();
    large.resize(Limits::FREE_INFLATION as usize / 3 * 2, b' ');
    let tar = [tar_member("a.ptx", &large), tar_member("b.ptx", &large)].concat();
    let bytes = zstd::bulk::compress(&tar, 1).unwrap();
    let contents = offkit_object::read("file", &bytes, &few);
    assert_eq!(locations(&contents), ["file!a.ptx"]);
    let kinds = contents.problems.iter().map(|problem| problem.error.kind());
    assert!(
        kinds.clone().count() > 0 && kinds.clone().all(|kind| kind == ErrorKind::LimitExceeded),
        "{:?}",
        contents.problems
    );
}

#[test]
fn every_truncation_and_many_flipped_bits_are_harmless() {
    need!("tar", "gzip", "xz", "zstd", "dpkg-deb");
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("t/lib")).unwrap();
    folder.write("t/lib/code.bin", offload_v1());
    folder.run("tar --format=pax -cf a.tar -C t .");
    folder.run("gzip -k a.tar");
    folder.run("xz -k a.tar");
    folder.run("zstd -q a.tar");
    for name in ["a.tar", "a.tar.gz", "a.tar.xz", "a.tar.zst"] {
        let mut bytes = folder.read(name);
        let whole = locations(&read(&bytes));
        assert_eq!(whole, ["file!lib/code.bin/0"]);
        for length in (0..bytes.len()).step_by(3) {
            let contents = read(&bytes[..length]);
            assert!(contents.images.len() <= 1, "{name} cut to {length}");
            // Behind the last file are zeros, which many programs leave out.
            let is_known = contents.problems.is_empty() && contents.images.len() == 1;
            assert!(
                is_known || !contents.problems.is_empty() || length < 6 || name == "a.tar",
                "{name} cut to {length}"
            );
        }
        for position in (0..bytes.len()).step_by(7) {
            for bit in [0, 7] {
                bytes[position] ^= 1 << bit;
                assert!(read(&bytes).images.len() <= 2, "{name} {position:#x}.{bit}");
                bytes[position] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn every_truncation_of_rpm_and_cpio_is_harmless() {
    need!("rpmbuild", "cpio", "gzip");
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("t/lib")).unwrap();
    folder.write("t/lib/code.bin", offload_v1());
    rpm(&folder, "w9.gzdio");
    let package = folder.read("rpm/RPMS/noarch/a-1-1.noarch.rpm");
    folder.write("make.sh", "find t -depth | cpio --quiet -o -H newc > a.cpio");
    // Outside of packages an archive is known once it comes out of something compressed.
    folder.run("sh make.sh");
    let archive = folder.read("a.cpio");
    let whole = locations(&read(&package));
    assert_eq!(whole, ["file!opt/t/lib/code.bin/0"]);
    for length in 0..package.len() {
        let contents = read(&package[..length]);
        assert!(contents.images.len() <= 1, "cut to {length}");
        assert!(
            contents.images.len() == 1 || !contents.problems.is_empty(),
            "cut to {length}"
        );
    }
    let compressed = |bytes: &[u8]| {
        let folder = Folder::new();
        folder.write("a.cpio", bytes);
        folder.run("gzip -1 a.cpio");
        folder.read("a.cpio.gz")
    };
    assert_eq!(locations(&read(&compressed(&archive))), ["file!t/lib/code.bin/0"]);
    // Less than its magic is anything.
    for length in (6..archive.len()).step_by(5) {
        let bytes = compressed(&archive[..length]);
        let contents = read(&bytes);
        assert!(contents.images.len() <= 1, "cut to {length}");
        assert!(
            contents.images.len() == 1 || !contents.problems.is_empty(),
            "cut to {length}"
        );
    }
}

#[test]
fn what_is_compressed_again_and_again_ends_at_the_limit() {
    need!("gzip");
    let folder = Folder::new();
    folder.write("a", offload_v1());
    for _ in 0..40 {
        folder.run("gzip -f a");
        std::fs::rename(folder.path().join("a.gz"), folder.path().join("a")).unwrap();
    }
    let bytes = folder.read("a");
    let contents = read(&bytes);
    assert!(contents.images.is_empty());
    assert_eq!(contents.problems[0].error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn a_stream_that_failed_is_not_read_on() {
    // Damaged so that the decoder of xz never ended when it was read on behind its error.
    let file = [
        253, 55, 122, 88, 90, 0, 0, 4, 230, 214, 180, 70, 2, 0, 33, 1, 22, 0, 0, 0, 116, 47, 229, 163, 1, 0,
        105, 0, 0, 0, 0, 209, 0, 39, 139, 138, 7, 132, 233, 145, 203, 198, 203, 143, 239, 126, 17, 37, 197,
        210, 62, 83, 233, 70, 100, 225, 244, 178, 189, 220, 191, 182, 36, 36, 30, 254, 143, 167, 186, 249,
        75, 6, 220, 81, 35, 144, 75, 96, 66, 230, 29, 178, 233, 145, 203, 198, 203, 143, 239, 126, 17, 37,
        197, 210, 62, 83, 233, 70, 100, 225, 244, 178, 189, 220, 191, 182, 36, 36, 30, 254, 143, 167, 186,
        249, 75, 6, 220, 81, 35, 144, 75, 242, 23, 126, 59, 25, 7, 191, 163, 246, 15, 0, 0, 191, 76, 28, 179,
        177, 196, 103, 251, 2, 0, 0, 0, 0, 4, 89, 90,
    ];
    let contents = read(&file);
    assert!(contents.images.is_empty());
    assert!(!contents.problems.is_empty());
}
