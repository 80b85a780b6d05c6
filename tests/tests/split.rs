//! `offkit split` and `offkit join` on programs that real compilers and linkers make.

use std::collections::BTreeMap;
use std::path::Path;

use offkit_tests::packages::python;
use offkit_tests::workshop::{LINKED, Workshop, fatbins};
use offkit_tests::{Folder, tool};
use serde_json::Value;

fn split(folder: &Folder, words: &str) -> Value {
    let said = folder.offkit(&format!("split --json {words}"));
    let manifest = said.json()[0].clone();
    said.ok();
    manifest
}

/// All files of a folder, with their contents.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    files
}

fn names(folder: &Path) -> Vec<String> {
    tree(folder).into_keys().collect()
}

#[test]
fn libraries_programs_objects_and_archives_come_together_again() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let folder = &workshop.folder;
    let (Some(ar), Some(ld)) = (tool("llvm-ar"), tool("ld")) else {
        return;
    };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    workshop.clang(&format!("-no-pie loader.c {LINKED} -o fixed"));
    folder
        .run(&ld, ["-r", "one.o", "two.o", "three.o", "-o", "all.o"])
        .ok();
    folder
        .run(&ar, ["rcs", "all.a", "one.o", "two.o", "three.o"])
        .ok();
    for file in ["lib.so", "fixed", "one.o", "all.o", "all.a"] {
        let packs = format!("packs-{file}");
        let manifest = split(folder, &format!("{file} -o {packs}"));
        assert_eq!(manifest["schema"], 1);
        let archs: Vec<&str> = manifest["packs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pack| pack["arch"].as_str().unwrap())
            .collect();
        assert_eq!(archs, ["sm_80", "sm_86", "sm_90"], "{file}");
        folder.offkit(&format!("join {packs} -o whole-{file}")).ok();
        assert!(
            folder.read(file) == folder.read(&format!("whole-{file}/{file}")),
            "{file}"
        );
        let mode = |path: &str| folder.path(path).metadata().unwrap().permissions();
        assert_eq!(mode(file), mode(&format!("whole-{file}/{file}")));

        // Some packs make what `thin` makes.
        workshop.thin(&format!("{file} --keep sm_80,sm_90 -o thin-{file}"));
        folder
            .offkit(&format!("join {packs} --only sm_80,sm_90 -o some-{file}"))
            .ok();
        let some = folder.read(&format!("some-{file}/{file}"));
        assert!(some == folder.read(&format!("thin-{file}")), "{file}");
        // So does one that is not there.
        std::fs::remove_file(folder.path(&format!(
            "{packs}/{}-sm_86.tar.zst",
            file.split('.').next().unwrap()
        )))
        .unwrap();
        let said = folder.offkit(&format!("join {packs} -o more-{file}")).ok();
        assert!(said.contains("left out: sm_86"), "{said}");
        assert!(some == folder.read(&format!("more-{file}/{file}")), "{file}");
        folder
            .offkit(&format!("join {packs} --only sm_86 -o no"))
            .fails(2);
    }
    let host = "packs-lib.so/host/lib.so";
    assert_eq!(workshop.registers(host), fatbins("").replace(": \n", ":\n"));
    assert_eq!(workshop.registers("some-lib.so/lib.so"), fatbins("sm_80 sm_90"));
    folder.offkit(&format!("verify {host}")).ok();
    // Packs are files like others.
    let listed = folder.offkit("ls --json packs-lib.so/lib-sm_90.tar.zst").json();
    let images: Vec<&Value> = listed.iter().filter(|line| line["format"] == "cubin").collect();
    assert_eq!(images.len(), 3, "{listed:?}");
    let unpacked = folder.run("tar", ["--zstd", "-tf", "packs-lib.so/lib-sm_90.tar.zst"]);
    assert_eq!(unpacked.stdout.lines().count(), 3, "{unpacked:?}");
    // What is split already has nothing more to split off.
    folder.offkit(&format!("split {host} -o twice")).fails(1);
    assert!(!folder.path("twice").exists());
}

#[test]
fn nothing_is_half_written_or_replaced() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let folder = &workshop.folder;
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    let before = folder.list();
    let said = folder.offkit("split lib.so --dry-run").ok();
    assert!(said.contains("lib-sm_80.tar.zst"), "{said}");
    folder.offkit("split libruntime.so -o packs").fails(1);
    folder.offkit("split libruntime.so lib.so -o packs").fails(2);
    folder.offkit("split lib.so --group sm_80 -o packs").fails(2);
    let failed = folder
        .offkit("split lib.so --to copies --group sm_80 -o packs")
        .fails(2);
    assert!(failed.contains("no group has sm_86"), "{failed}");
    let failed = folder.offkit("split lib.so --to kpack -o packs").fails(2);
    assert!(failed.contains("kpack"), "{failed}");
    assert_eq!(folder.list(), before);

    // Files for the host alone go along.
    let manifest = split(folder, "libruntime.so lib.so --name both -o packs");
    assert_eq!(manifest["files"][0]["images"], 0);
    assert!(folder.read("libruntime.so") == folder.read("packs/host/libruntime.so"));
    assert_eq!(
        names(&folder.path("packs")),
        [
            "both-sm_80.tar.zst",
            "both-sm_86.tar.zst",
            "both-sm_90.tar.zst",
            "both.recipes",
            "host/lib.so",
            "host/libruntime.so",
            "split.json"
        ]
    );
    let all = tree(&folder.path("packs"));
    let failed = folder.offkit("split lib.so -o packs").fails(2);
    assert!(failed.contains("not empty"), "{failed}");
    assert!(tree(&folder.path("packs")) == all);

    // A pack that is damaged is no pack that is not there.
    let mut pack = folder.read("packs/both-sm_80.tar.zst");
    let middle = pack.len() / 2;
    pack[middle] ^= 1;
    folder.write("packs/both-sm_80.tar.zst", &pack);
    let failed = folder.offkit("join packs -o whole").fails(2);
    assert!(
        failed.contains("not the file that `offkit split` wrote"),
        "{failed}"
    );
    let escaping = String::from_utf8(folder.read("packs/split.json")).unwrap();
    folder.write("packs/split.json", escaping.replace("host/lib.so", "../lib.so"));
    folder.offkit("join packs -o whole").fails(2);
    assert!(!folder.path("whole").exists());
}

#[test]
fn cuda_has_copies_that_run() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let folder = &workshop.folder;
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    split(
        folder,
        "lib.so --to copies --group sm_80,sm_86 --group sm_90 -o copies",
    );
    assert_eq!(
        workshop.registers("copies/sm_80+sm_86/lib.so"),
        fatbins("sm_80 sm_86")
    );
    assert_eq!(workshop.registers("copies/sm_90/lib.so"), fatbins("sm_90"));
    folder.offkit("join copies -o whole").ok();
    assert!(folder.read("lib.so") == folder.read("whole/lib.so"));
    std::fs::remove_file(folder.path("copies/sm_90/lib.so")).unwrap();
    folder.offkit("join copies -o again").fails(2);
}

#[test]
fn wheels_come_together_again() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let Some(python) = python("wheel", &["wheel==0.45.1"]) else {
        return;
    };
    let folder = &workshop.folder;
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    workshop.wheel(&python);
    let wheel = "pack-1.0-py3-none-any.whl";
    let manifest = split(folder, &format!("{wheel} -o packs"));
    assert_eq!(manifest["name"], "pack-1.0");
    folder
        .run(
            &python,
            [
                "-m",
                "wheel",
                "unpack",
                &format!("packs/host/{wheel}"),
                "-d",
                "host",
            ],
        )
        .ok();
    folder.offkit("join packs -o whole").ok();
    for (file, to) in [(wheel.to_owned(), "before"), (format!("whole/{wheel}"), "after")] {
        folder
            .run(&python, ["-m", "wheel", "unpack", &file, "-d", to])
            .ok();
    }
    // Every member, RECORD among them; where the compressor is known, the wheel itself.
    assert!(tree(&folder.path("before")) == tree(&folder.path("after")));
    if manifest["files"][0]["exact"] == true {
        assert!(folder.read(wheel) == folder.read(&format!("whole/{wheel}")));
    }
    let list = "import sys, zipfile\nfor i in zipfile.ZipFile(sys.argv[1]).infolist(): print(i.filename, i.date_time, i.external_attr, i.compress_type, i.CRC, i.file_size)";
    let listed = |file: &str| folder.run(&python, ["-c", list, file]).ok();
    assert_eq!(listed(wheel), listed(&format!("whole/{wheel}")));

    folder.offkit("join packs --only sm_90 -o some").ok();
    workshop.thin(&format!("{wheel} --keep sm_90 -o thin.whl"));
    assert!(folder.read("thin.whl") == folder.read(&format!("some/{wheel}")));
    folder
        .run(
            &python,
            ["-m", "wheel", "unpack", &format!("some/{wheel}"), "-d", "some"],
        )
        .ok();
    assert_eq!(workshop.registers("some/pack-1.0/pack/lib.so"), fatbins("sm_90"));
}

#[test]
fn conda_packages_come_together_again() {
    let Some(workshop) = Workshop::cuda("") else {
        return;
    };
    let Some(python) = python("conda", &["zstandard==0.25.0"]) else {
        return;
    };
    let folder = &workshop.folder;
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    workshop.conda(&python);
    let package = "a-1-0.conda";
    let manifest = split(folder, &format!("{package} -o packs"));
    assert_eq!(manifest["files"][0]["exact"], false, "{manifest}");
    workshop.thin(&format!(
        "{package} --drop sm_80,sm_86,sm_90 --allow-lost-kernels -o host.conda"
    ));
    assert!(folder.read("host.conda") == folder.read(&format!("packs/host/{package}")));
    // Small, as what did not go is taken from the host file.
    let recipes = folder.path("packs/a-1-0.recipes").metadata().unwrap().len();
    assert!(recipes < 8 << 10, "{recipes}");

    // The members of the zip file with their dates, and the files of both tar files with their headers.
    let list = "import hashlib, io, sys, tarfile, zipfile, zstandard
package = zipfile.ZipFile(sys.argv[1])
for member in package.infolist():
  data = package.read(member)
  if member.filename.endswith('.zst'):
    data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    print([(m.name, m.mode, m.mtime, m.size) for m in tarfile.open(fileobj=io.BytesIO(data))])
  print(member.filename, member.date_time, member.compress_type, hashlib.sha256(data).hexdigest())
print(package.testzip())";
    let listed = |file: &str| folder.run(&python, ["-c", list, file]).ok();
    folder.offkit("join packs -o whole").ok();
    assert_eq!(listed(package), listed(&format!("whole/{package}")));

    folder.offkit("join packs --only sm_90 -o some").ok();
    workshop.thin(&format!("{package} --keep sm_90 -o thin.conda"));
    assert!(folder.read("thin.conda") == folder.read(&format!("some/{package}")));

    // What offkit has compressed comes back as the very same file.
    folder
        .offkit(&format!("split some/{package} --name some -o packs-of-some"))
        .ok();
    folder.offkit("join packs-of-some -o again").ok();
    assert!(folder.read("thin.conda") == folder.read(&format!("again/{package}")));
}

#[test]
fn hip_programs_find_kpack_archives() {
    for options in ["", "--offload-compress"] {
        let Some(workshop) = Workshop::hip(options) else {
            return;
        };
        let folder = &workshop.folder;
        std::fs::create_dir_all(folder.path("prefix/lib")).unwrap();
        workshop.clang(&format!("-shared {LINKED} -o prefix/lib/lib.so"));
        std::fs::copy(
            folder.path("libruntime.so"),
            folder.path("prefix/lib/libruntime.so"),
        )
        .unwrap();
        let manifest = split(folder, "prefix --to kpack --name pack -o split");
        let packs = manifest["packs"].as_array().unwrap();
        assert_eq!(packs.len(), 3);
        assert_eq!(packs[2]["files"][0]["file"], ".kpack/pack_gfx942.kpack");
        assert_eq!(packs[2]["images"], 3);

        // Each wrapper has its number, and leads to a map of two pairs.
        let said = workshop.registers("split/host/lib/lib.so");
        for number in 0..3 {
            assert!(
                said.contains(&format!("reference {number}: 130 .kpack/pack_@GFXARCH@.kp")),
                "{said}"
            );
        }
        let (old, new) = (
            workshop.size("prefix/lib/lib.so"),
            workshop.size("split/host/lib/lib.so"),
        );
        assert!(old > new + 30_000 || !options.is_empty(), "{old} {new}");
        let Some(readelf) = tool("readelf") else { return };
        let sections = folder.run(readelf, ["-SW", "split/host/lib/lib.so"]).ok();
        assert!(
            sections.contains(".rocm_kpack_ref") && !sections.contains(".hip_fatbin "),
            "{sections}"
        );
        for line in ["-g", "--strip-unneeded"] {
            let Some(strip) = tool("strip") else { continue };
            folder
                .run(strip, [line, "split/host/lib/lib.so", "-o", "stripped.so"])
                .ok();
            assert_eq!(workshop.registers("stripped.so"), said, "{line}");
        }

        // Read by MessagePack's and zstd's own libraries, as AMD's readers do.
        let Some(python) = python("kpack", &["msgpack==1.1.0", "zstandard==0.25.0"]) else {
            return;
        };
        let read = "import msgpack, struct, sys, zstandard
data = open(sys.argv[1], 'rb').read()
magic, version, place = struct.unpack('<4sIQ', data[:16])
assert magic == b'KPAK' and version == 1
table = msgpack.unpackb(data[place:])
blob = data[table['zstd_offset']:][:table['zstd_size']]
frames, at = [], 4
for _ in range(struct.unpack('<I', blob[:4])[0]):
  size, = struct.unpack('<I', blob[at:at + 4])
  frames.append(zstandard.ZstdDecompressor().decompress(blob[at + 4:at + 4 + size]))
  at += 4 + size
for name, archs in sorted(table['toc'].items()):
  for arch, entry in archs.items():
    code = frames[entry['ordinal']]
    assert len(code) == entry['original_size'] and code[:4] == b'\\x7fELF' and entry['type'] == 'hsaco'
    print(name, arch)";
        let listed = folder
            .run(&python, ["-c", read, "split/.kpack/pack_gfx90a-xnack+.kpack"])
            .ok();
        assert_eq!(
            listed,
            "lib/lib.so#0 gfx90a:xnack+\nlib/lib.so#1 gfx90a:xnack+\nlib/lib.so#2 gfx90a:xnack+\n"
        );
        folder.offkit("verify split/.kpack/pack_gfx942.kpack").ok();

        folder.offkit("join split -o whole").ok();
        if manifest["files"][0]["exact"] == true {
            assert!(tree(&folder.path("prefix")) == tree(&folder.path("whole")));
        }
        folder.offkit("join split --only gfx942 -o some").ok();
        workshop.thin("prefix/lib/lib.so --keep gfx942 -o thin.so");
        assert!(folder.read("thin.so") == folder.read("some/lib/lib.so"));
        folder
            .offkit("split split/host --to kpack --name pack -o twice")
            .fails(2);
    }
}

#[test]
fn separated_debug_files_go_along() {
    let Some(workshop) = Workshop::hip("-g") else {
        return;
    };
    let folder = &workshop.folder;
    let Some(objcopy) = tool("objcopy") else { return };
    workshop.clang(&format!("-shared {LINKED} -o lib.so"));
    folder
        .run(&objcopy, ["--only-keep-debug", "lib.so", "lib.debug"])
        .ok();
    for layout in ["offkit", "kpack"] {
        let manifest = split(
            folder,
            &format!("lib.so lib.debug --to {layout} --name lib -o {layout}"),
        );
        assert_eq!(manifest["files"][1]["images"], 0);
        assert!(folder.read("lib.debug") == folder.read(&format!("{layout}/host/lib.debug")));
        folder.offkit(&format!("join {layout} -o whole-{layout}")).ok();
        assert!(folder.read("lib.so") == folder.read(&format!("whole-{layout}/lib.so")));
    }
}
