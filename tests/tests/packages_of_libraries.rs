//! What is a library of its own: each file of a package, whatever the package is, and a static library as a whole.

#![cfg(unix)]

use offkit_tests::{Folder, need, tool};
use serde_json::Value;

#[track_caller]
fn run(folder: &Folder, line: &str) {
    let mut words = line.split_whitespace();
    let program = tool(words.next().unwrap()).expect("the test asked for it");
    folder.run(program, words).ok();
}

/// The libraries `t/lib/libA.so`, for gfx90a alone, and `t/lib/libB.so`, for gfx942 alone. Both have the same kernel.
fn libraries() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("t/lib")).unwrap();
    folder.write("k.cl", "kernel void saxpy(global int *p) { p[0] = 1; }");
    for (name, arch) in [("A", "gfx90a"), ("B", "gfx942")] {
        let code = format!("--target=amdgcn-amd-amdhsa -mcpu={arch} -nogpulib -x cl k.cl -o {arch}.hsaco");
        run(&folder, &format!("clang-22 {code}"));
        let image = format!("--image=file={arch}.hsaco,triple=amdgcn-amd-amdhsa,arch={arch},kind=hip");
        folder.offkit(&format!("pack -o {arch}.out {image}")).ok();
        let source =
            format!(".section .llvm.offloading,\"a\"\n.incbin \"{arch}.out\"\n.text\n.globl f\nf: ret\n");
        folder.write(&format!("{name}.s"), source);
        run(&folder, &format!("clang-22 -c {name}.s -o {name}.o"));
        run(
            &folder,
            &format!("clang-22 -shared -nostdlib -fuse-ld=lld {name}.o -o t/lib/lib{name}.so"),
        );
    }
    folder
}

/// What `size` says of the libraries in a file: their names, and the bytes of each that are no device code.
fn libraries_of(folder: &Folder, file: &str) -> Vec<(String, u64)> {
    let found: Value = serde_json::from_str(&folder.offkit(&format!("size --json {file}")).ok()).unwrap();
    let mut libraries: Vec<_> = found["libraries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|library| {
            let name = library["library"].as_str().unwrap();
            let name = name.rsplit('/').next().unwrap().to_owned();
            (name, library["host"].as_u64().unwrap())
        })
        .collect();
    libraries.sort();
    libraries
}

/// A package has two libraries, of which each has to have code for a device.
#[track_caller]
fn has_two_libraries(folder: &Folder, file: &str) {
    let plain = [
        ("libA.so".to_owned(), host_bytes(folder, "t/lib/libA.so")),
        ("libB.so".to_owned(), host_bytes(folder, "t/lib/libB.so")),
    ];
    assert_eq!(libraries_of(folder, file), plain, "{file}");
    let outcome = folder.offkit(&format!("check {file} --targets gfx942"));
    assert!(
        outcome.stdout.contains("libA.so") && outcome.stdout.contains("no code"),
        "{file}: {outcome:#?}"
    );
    outcome.fails(1);
}

fn host_bytes(folder: &Folder, library: &str) -> u64 {
    let [(_, bytes)] = libraries_of(folder, library).try_into().expect("one library");
    assert!(bytes > 0, "{library}");
    bytes
}

#[test]
fn debian_packages_have_the_libraries_in_them() {
    need!("clang-22", "ld.lld", "dpkg-deb");
    let folder = libraries();
    std::fs::create_dir_all(folder.path("t/DEBIAN")).unwrap();
    folder.write(
        "t/DEBIAN/control",
        "Package: two\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@b.c>\nDescription: a\n",
    );
    for method in ["none", "gzip", "xz", "zstd"] {
        run(
            &folder,
            &format!("dpkg-deb --root-owner-group -Z{method} -b t two.deb"),
        );
        has_two_libraries(&folder, "two.deb");
    }
    assert!(
        folder
            .offkit("ls two.deb")
            .ok()
            .starts_with("two.deb  Debian package, ")
    );
    // One in another archive is one, too.
    run(&folder, "tar -cf debs.tar two.deb");
    has_two_libraries(&folder, "debs.tar");
}

#[test]
fn rpm_packages_have_the_libraries_in_them() {
    need!("clang-22", "ld.lld", "rpmbuild");
    let folder = libraries();
    for method in ["w9.gzdio", "w6.xzdio", "w3.zstdio"] {
        let spec = format!(
            "%global _topdir {0}/rpm\n%global _binary_payload {method}\n%global __os_install_post %{{nil}}\nName: two\n\
             Version: 1\nRelease: 1\nSummary: a\nLicense: none\nBuildArch: noarch\nAutoReqProv: no\n\
             %description\na\n%install\nmkdir -p %{{buildroot}}/opt\ncp -r {0}/t/lib %{{buildroot}}/opt/lib\n\
             %files\n/opt/lib\n",
            folder.path("").display()
        );
        // Libraries in a package for all machines are an error otherwise.
        folder.write(
            "two.spec",
            format!("%global _binaries_in_noarch_packages_terminate_build 0\n{spec}"),
        );
        run(&folder, "rpmbuild -bb --quiet two.spec");
        has_two_libraries(&folder, "rpm/RPMS/noarch/two-1-1.noarch.rpm");
    }
}

#[test]
fn archives_wheels_and_images_have_the_libraries_in_them() {
    need!("clang-22", "ld.lld", "tar", "zstd", "xz", "gzip", "python3");
    let folder = libraries();
    run(&folder, "tar -cf two.tar -C t lib");
    for program in ["gzip", "xz", "zstd -q"] {
        run(&folder, &format!("{program} -k two.tar"));
    }
    for file in ["two.tar", "two.tar.gz", "two.tar.xz", "two.tar.zst"] {
        has_two_libraries(&folder, file);
    }
    // A wheel in a wheel, a package of conda, and a container's image with its layers, as `docker save` and as OCI have
    // them.
    folder.write(
        "make.py",
        "import zipfile\n\
         def make(name, kind, *files):\n\
         \x20   with zipfile.ZipFile(name, 'w', kind) as z:\n\
         \x20       for path, place in files: z.write(path, place)\n\
         deflated, stored = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED\n\
         make('two.whl', deflated, ('t/lib/libA.so', 'lib/libA.so'), ('t/lib/libB.so', 'lib/libB.so'))\n\
         make('nested.whl', deflated, ('two.whl', 'two.whl'))\n\
         make('two.conda', stored, ('two.tar.zst', 'pkg-two-1.tar.zst'))\n",
    );
    run(&folder, "python3 make.py");
    std::fs::create_dir_all(folder.path("oci/blobs/sha256")).unwrap();
    folder.write("oci/index.json", "{}");
    folder.write("oci/blobs/sha256/0123", folder.read("two.tar.gz"));
    run(&folder, "tar -cf docker.tar two.tar");
    run(&folder, "tar -cf oci.tar -C oci index.json blobs");
    for file in ["two.whl", "nested.whl", "two.conda", "docker.tar", "oci.tar"] {
        has_two_libraries(&folder, file);
    }
}

#[test]
fn a_static_library_is_one_library() {
    need!("clang-22", "ld.lld", "llvm-ar", "tar");
    let folder = libraries();
    run(&folder, "llvm-ar rcs libtwo.a A.o B.o");
    let [(name, _)] = libraries_of(&folder, "libtwo.a").try_into().unwrap();
    assert_eq!(name, "libtwo.a");
    folder.offkit("check libtwo.a --targets gfx90a,gfx942").ok();
    // In a package too.
    run(&folder, "tar -czf dev.tar.gz libtwo.a");
    folder.offkit("check dev.tar.gz --targets gfx90a,gfx942").ok();
}
