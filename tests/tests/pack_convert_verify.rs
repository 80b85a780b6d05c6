//! Packing, converting and verifying, beside LLVM 22's packager and under its name.

#![cfg(unix)]

use std::path::{Path, PathBuf};

use offkit_object::{BundleState, Limits, OffloadBinary, SyclBin};
use offkit_tests::{Folder, Outcome, need, offkit, tool};

const SPIRV: &[u8] = b"\x03\x02\x23\x07\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";

fn images() -> Folder {
    let folder = Folder::new();
    folder.write("a.o", b"\x7fELF something");
    folder.write("b.bc", b"BC\xc0\xde bitcode");
    folder.write("c.cubin", b"");
    folder.write("d.s", b".version 7.8\n");
    folder.write("e.spv", SPIRV);
    folder.write("large.o", vec![7; 300_001]);
    folder
}

/// The same with code that is whole.
fn whole_images(triple: &str) -> Folder {
    let folder = images();
    folder.write("a.c", "int a;");
    let clang = tool("clang-22").unwrap();
    folder.run(&clang, ["-c", "a.c", "-o", "a.o"]).ok();
    folder
        .run(
            &clang,
            [
                "-c",
                "-emit-llvm",
                &format!("--target={triple}"),
                "a.c",
                "-o",
                "b.bc",
            ],
        )
        .ok();
    // Padding follows only what is no multiple of 8.
    folder.write("a.o", [folder.read("a.o"), vec![0]].concat());
    folder
}

/// The program under a peer's name.
fn peer(folder: &Folder, name: &str) -> PathBuf {
    let link = folder.path(name);
    if !link.exists() {
        std::os::unix::fs::symlink(offkit(), &link).unwrap();
    }
    link
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

const PACK: &str = "--image=file=a.o,triple=nvptx64-nvidia-cuda,arch=sm_70,kind=openmp \
    --image=file=b.bc,arch=gfx90a:xnack+,triple=amdgcn-amd-amdhsa,kind=hip \
    --image=file=c.cubin,triple=x,kind=cuda --image=file=d.s,arch=a --image=file=e.spv,kind=sycl,triple=spirv64 \
    --image=kind=openmp,file=large.o,feature=+f,triple=t,arch=u,symbols=k";

#[test]
fn version_1_is_packed_byte_for_byte_as_llvm_packs_it() {
    need!("llvm-offload-binary");
    let folder = images();
    let words = || PACK.split_whitespace();
    let llvm = tool("llvm-offload-binary").unwrap();
    folder
        .run(&llvm, ["-o", "theirs"].into_iter().chain(words()))
        .ok();
    folder.offkit(&format!("pack -o ours {PACK}")).ok();
    assert!(folder.read("ours") == folder.read("theirs"));
    let under_its_name = peer(&folder, "llvm-offload-binary");
    folder
        .run(under_its_name, ["-o", "link"].into_iter().chain(words()))
        .ok();
    assert!(folder.read("link") == folder.read("theirs"));
}

/// What both tools do in folders of their own: the files there and the exit code must be the same.
#[test]
fn extraction_makes_the_same_files_as_llvm() {
    need!("llvm-offload-binary", "clang-22", "llvm-ar");
    let clang = tool("clang-22").unwrap();
    let lines = [
        "pkg --image=",
        "pkg --image=kind=openmp --image=arch=gfx90a:xnack+",
        "pkg -image file=one,triple=x --image=file=last",
        "pkg --archive --image=file=all.a,arch=plain --image=file=text.a,arch=a",
        "pkg --image=arch=none,file=nothing",
        "pkg --archive --image=arch=none,file=nothing.a",
        "pkg --archive --image=arch=none",
        "pkg",
        "host.o --image=",
        "host.o --image=file=x.a,arch=plain --archive",
        "lib.a --image= --archive=false",
        "lib.a --archive --image=file=libs.a,arch=plain",
        "text --image=",
        "none --image=",
        "pkg pkg --image=",
        "pkg -o out",
        "--image=kind=hip -o out",
        "--image=file=none -o out",
        "-o out",
        "--nonsense",
        "pkg -o",
    ];
    let run = |program: &Path| {
        let folder = images();
        folder.write("host.c", "int host(void) { return 1; }");
        folder.run(&clang, ["-c", "host.c", "-o", "plain.o"]).ok();
        let plain = "--image=file=plain.o,triple=x,arch=plain --image=file=plain.o,triple=y,arch=plain";
        folder.offkit(&format!("pack -o pkg {PACK} {plain}")).ok();
        folder.write("text", "neither object nor package");
        folder
            .run(&clang, ["-c", "host.c", "-Xclang", "-fembed-offload-object=pkg"])
            .ok();
        folder
            .run(tool("llvm-ar").unwrap(), ["rcs", "lib.a", "host.o"])
            .ok();
        let mut codes = Vec::new();
        for line in lines {
            codes.push((line, folder.run(program, line.split_whitespace()).code));
        }
        let files: Vec<_> = folder
            .list()
            .into_iter()
            .filter(|name| !name.starts_with("llvm-offload"))
            .map(|name| (name.clone(), folder.read(&name)))
            .collect();
        (codes, files)
    };
    let links = Folder::new();
    let (our_codes, ours) = run(&peer(&links, "llvm-offload-binary"));
    let (their_codes, theirs) = run(&tool("llvm-offload-binary").unwrap());
    assert_eq!(our_codes, their_codes);
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        assert!(ours == theirs, "{name}");
    }
    assert!(ours.len() > 20, "{:?}", names(&ours));
}

#[test]
fn the_old_name_warns_and_faults_are_told() {
    let folder = images();
    let old = peer(&folder, "clang-offload-packager");
    let outcome = folder.run(&old, ["-o", "p", "--image=file=a.o,kind=hop"]);
    says(
        &outcome.stderr,
        &[
            "warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.",
            "unknown kind 'hop'",
        ],
    );
    outcome.ok();
    let run = |line: &str| folder.run(peer(&folder, "llvm-offload-binary"), line.split_whitespace());
    says(&run("p --image=arch=x").stderr, &["nothing in 'p' matches"]);
    // LLVM 22 writes what lies behind the file in memory.
    let mut bytes = folder.read("p");
    bytes[64..72].copy_from_slice(&4000_u64.to_le_bytes());
    folder.write("bad", &bytes);
    says(
        &run("bad --image=file=x").fails(1),
        &["Invalid image offset and size"],
    );
    assert!(!folder.path("x").exists());
    for line in ["--image=", "p --archive --image="] {
        assert_eq!(run(&format!("--help {line}")).code, 0);
    }
    says(&run("--help").ok(), &["--image=<<key>=<value>,...>", "-o <file>"]);
    says(&run("--version").ok(), &["LLVM version 22"]);
}

#[test]
fn every_format_is_packed_listed_and_verified() {
    need!("clang-22");
    let folder = whole_images("spir64");
    folder.write("e.prop", "[SYCL/kernel names]\nk=1|1\n");
    for format in [
        "offload,v1",
        "offload,v2",
        "offload,v3",
        "offload,v3,zlib",
        "syclbin,v1",
        "syclbin,v2",
        "bundle",
        "bundle,compressed",
    ] {
        let mut line = format!(
            "pack -o out --format {format} \
             --image=file=e.spv,triple=spirv64-unknown-unknown,kind=sycl \
             --image=file=b.bc,triple=spir64-unknown-unknown,kind=sycl"
        );
        if format.starts_with("syclbin") {
            line = line.replace("file=e.spv", "file=e.spv,properties=e.prop");
        }
        let outcome = folder.offkit(&line);
        assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
        let listing = folder.offkit("ls --json out").json();
        assert_eq!(listing.len(), 2, "{format}");
        assert_eq!(listing[0]["format"], "spirv", "{format}");
        if format.starts_with("syclbin") {
            assert_eq!(listing[0]["properties"]["SYCL/kernel names"]["k"], 1);
        }
        folder.offkit("verify --no-spirv out").ok();
        for (number, file) in ["e.spv", "b.bc"].into_iter().enumerate() {
            let place = listing[number]["location"].as_str().unwrap();
            let taken = folder.offkit(&format!("extract {place} -o -"));
            assert_eq!(taken.code, 0, "{taken:?}");
            let size = listing[number]["size"].as_u64().unwrap();
            assert_eq!(size as usize, folder.read(file).len());
        }
    }
}

#[test]
fn what_a_format_cannot_say_is_listed_and_nothing_is_written() {
    let folder = images();
    folder.write(
        "p.prop",
        "[SYCL/device requirements]\naspects=2|gAAAAAAAAAABAAAA\n",
    );
    folder
        .offkit("pack -o in.syclbin --format syclbin,v1 --image=file=e.spv,triple=spirv64,kind=sycl,properties=p.prop")
        .ok();
    let refused = folder.offkit("convert in.syclbin -o out --to offload,v1");
    says(
        &refused.fails(1),
        &[
            "in.syclbin: the state of the program: object is lost",
            "in.syclbin!0: the property set 'SYCL/device requirements' is lost",
            "offload,v1 cannot hold 2 things",
            "--allow-loss",
        ],
    );
    assert!(!folder.path("out").exists());
    folder
        .offkit("convert in.syclbin -o out --to offload,v1 --allow-loss")
        .ok();
    let out = folder.read("out");
    let binary = OffloadBinary::parse(&out, &Limits::default()).unwrap();
    assert_eq!(*binary.entries[0].image, *SPIRV);

    // Without loss, and back to the very file.
    folder.offkit("convert in.syclbin -o v2 --to syclbin,v2").ok();
    folder.offkit("convert v2 -o v1 --to syclbin,v1").ok();
    assert!(folder.read("v1") == folder.read("in.syclbin"));
    let v2 = folder.read("v2");
    let program = SyclBin::parse(&v2, &Limits::default()).unwrap();
    assert_eq!(program.state, BundleState::Object);

    folder.offkit(&format!("pack -o p1 {PACK}")).ok();
    for (from, to, format) in [
        ("p1", "p2", "offload,v2"),
        ("p2", "p3", "offload,v3"),
        ("p3", "p4", "offload,v3,zlib"),
        ("p4", "p5", "offload,v1"),
    ] {
        folder
            .offkit(&format!("convert {from} -o {to} --to {format}"))
            .ok();
    }
    assert!(folder.read("p5") == folder.read("p1"));
    says(
        &folder.offkit("convert a.o -o x --to offload,v1").fails(2),
        &["a.o", "not a container that can be converted"],
    );
    says(
        &folder.offkit("convert p1 -o x --to bundle").fails(1),
        &["p1!5: the string 'symbols' is lost"],
    );
}

#[test]
fn bundles_convert_to_offload_binaries_and_back() {
    need!("clang-offload-bundler");
    let folder = images();
    folder.write("host", "");
    let bundle = "-type=bc -bundle-align=4096 -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+,\
        hipv4-amdgcn-amd-amdhsa--gfx1100 -input=host -input=b.bc -input=a.o -output=in.bundle";
    folder
        .run(tool("clang-offload-bundler").unwrap(), bundle.split_whitespace())
        .ok();
    let to = folder.offkit("convert in.bundle -o out --to offload,v2");
    assert_eq!(to.code, 0, "{}", to.stderr);
    let back = folder.offkit("convert out -o back --to bundle,binary");
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(folder.read("back") == folder.read("in.bundle"));
}

#[test]
fn broken_rules_are_reported_with_their_place() {
    need!("clang-22");
    let folder = whole_images("amdgcn-amd-amdhsa");
    folder.offkit(&format!("pack -o good {PACK}")).ok();
    folder.offkit("verify --no-spirv good").ok();
    let good = folder.read("good");
    let check = |change: &dyn Fn(&mut Vec<u8>)| -> Outcome {
        let mut bytes = good.clone();
        change(&mut bytes);
        folder.write("bad", &bytes);
        folder.offkit("verify --no-spirv --json bad")
    };
    let first = check(&|bytes| bytes[36] = 4);
    assert_eq!(first.code, 1);
    let problem = &first.json()[0];
    assert_eq!(problem["location"], "bad");
    says(problem["problem"].as_str().unwrap(), &["flags without a meaning"]);
    // The image is followed by padding.
    let padded = check(&|bytes| {
        let size = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
        bytes[size - 1] = 1;
    });
    assert_eq!(padded.code, 1, "{padded:?}");
    let shifted = check(&|bytes| bytes.splice(0..0, [0; 8]).for_each(drop));
    assert_eq!(
        shifted.code, 1,
        "a file that begins with zeros is none: {shifted:?}"
    );
    let between = check(&|bytes| {
        let size = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
        bytes.splice(size..size, [0; 3]).for_each(drop);
    });
    assert_eq!(between.code, 1);
    says(&between.stdout, &["not a multiple of 8"]);
    folder.offkit("verify nothing").fails(2);
}

#[test]
fn a_syclbin_is_dumped_as_dpcpp_does() {
    let folder = images();
    folder.write("p.prop", "[SYCL/kernel names]\nk=1|1\n");
    folder
        .offkit("pack -o in.syclbin --format syclbin,v1 --image=file=e.spv,triple=spir64-unknown-unknown,kind=sycl,properties=p.prop")
        .ok();
    let dump = peer(&folder, "syclbin-dump");
    let expected = "\
Version: 1
Global metadata:
  SYCLBIN/global metadata:
    state: 1
Number of Abstract Modules: 1
Abstract Module 0:
  Metadata:
    SYCL/kernel names:
      k: 1
  Number of IR Modules: 1
  IR module 0:
    Metadata:
      SYCLBIN/ir module metadata:
        type: 0
        target: spir64-unknown-unknown
    Raw IR bytes: <Binary blob of 20 bytes>
  Number of Native Device Code Images: 0
";
    assert_eq!(folder.run(&dump, ["in.syclbin"]).ok(), expected);
    folder.run(&dump, ["in.syclbin", "-o", "text"]).ok();
    assert_eq!(folder.read("text"), expected.as_bytes());
    says(
        &folder.run(&dump, ["none"]).fails(1),
        &["Failed to open or read file none"],
    );
    says(
        &folder.run(&dump, ["a.o"]).fails(1),
        &["Failed to parse SYCLBIN file."],
    );
}
