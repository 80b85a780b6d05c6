//! Commands on folders, packages, and files that are almost right.

#![cfg(unix)]

use std::process::Command;

use offkit_tests::{Folder, need, offkit, tool};

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

/// Code for two AMD processors and PTX, as clang makes it.
fn made() -> Option<Folder> {
    let clang = tool("clang-22")?;
    let folder = Folder::new();
    folder.write("k.cl", "kernel void saxpy(global int *p) { p[0] = 1; }");
    for arch in ["gfx90a", "gfx1100"] {
        let output = format!("{arch}.o");
        let arch = format!("-mcpu={arch}");
        let arguments = [
            "--target=amdgcn-amd-amdhsa",
            &arch,
            "-nogpulib",
            "-x",
            "cl",
            "-c",
            "k.cl",
            "-o",
            &output,
        ];
        folder.run(&clang, arguments).ok();
    }
    let ptx = "--target=nvptx64-nvidia-cuda -march=sm_52 -nogpulib -x cl -S k.cl -o k.ptx";
    folder.run(&clang, ptx.split_whitespace()).ok();
    folder
        .run(
            &clang,
            "--target=spirv64 -x cl -emit-llvm -c k.cl -o k.bc".split_whitespace(),
        )
        .ok();
    Some(folder)
}

#[test]
fn a_folder_is_listed_by_what_has_device_code() {
    let Some(folder) = made() else { return };
    std::fs::create_dir_all(folder.path("site/lib")).unwrap();
    folder.write("site/readme", "text");
    folder.write("site/k.ptx", folder.read("k.ptx"));
    need!("tar");
    folder
        .run(tool("tar").unwrap(), ["-czf", "site/lib/a.tar.gz", "gfx90a.o"])
        .ok();
    let rows = folder.offkit("ls --json site").json();
    let locations: Vec<_> = rows.iter().map(|row| row["location"].as_str().unwrap()).collect();
    assert_eq!(locations, ["site/k.ptx", "site/lib/a.tar.gz!gfx90a.o"]);
    assert_eq!(rows[1]["compression"], "gzip");
    let text = folder.offkit("ls site").ok();
    says(&text, &["site/lib/a.tar.gz", "gfx90a"]);
    assert!(!text.contains("readme"), "{text}");
    says(&folder.offkit("ls --arch gfx9 site").fails(1), &["gfx90a"]);
    std::fs::remove_file(folder.path("site/k.ptx")).unwrap();
    std::fs::remove_dir_all(folder.path("site/lib")).unwrap();
    says(&folder.offkit("ls site").ok(), &["no device code in 1 file\n"]);
}

#[test]
fn several_images_for_standard_output_are_named_and_none_is_written() {
    let Some(folder) = made() else { return };
    folder
        .offkit(
            "pack -o a.out --to offload,v2 --image=file=gfx90a.o,arch=gfx90a --image=file=k.ptx,arch=sm_80",
        )
        .ok();
    let outcome = folder.offkit("extract a.out -o -");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    says(&outcome.stderr, &["2 images", "a.out!0", "a.out!1"]);
    assert!(folder.offkit("extract a.out!1 -o -").ok().contains(".version"));
}

#[test]
fn a_key_that_is_nearly_one_is_a_warning() {
    let Some(folder) = made() else { return };
    let outcome = folder.offkit("pack -o a.out --image=file=k.ptx,tripel=nvptx64-nvidia-cuda,arch=sm_80");
    assert_eq!(outcome.code, 0);
    says(&outcome.stderr, &["`tripel`", "`triple`"]);
    let other = folder.offkit("pack -o a.out --image=file=k.ptx,feature=+f,arch=sm_80");
    assert_eq!((other.code, other.stderr.as_str()), (0, ""));
}

#[test]
fn another_image_replaces_one_only_if_it_is_meant_to() {
    let Some(folder) = made() else { return };
    folder
        .offkit("pack -o a.out --image=file=gfx90a.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip")
        .ok();
    let before = folder.read("a.out");
    for (new, reason) in [("k.ptx", "PTX"), ("gfx1100.o", "gfx1100")] {
        let refused = folder.offkit(&format!("replace a.out 0={new}"));
        says(&refused.fails(2), &["nothing was changed", reason, "--force"]);
        assert!(folder.read("a.out") == before);
    }
    folder.offkit("replace a.out 0=gfx90a.o").ok();
    folder.offkit("replace --force a.out 0=gfx1100.o").ok();
    says(&folder.offkit("verify a.out").fails(1), &["one problem"]);
}

#[test]
fn what_pack_writes_by_default_can_be_converted() {
    let Some(folder) = made() else { return };
    folder.write("k.hsaco", folder.read("gfx90a.o"));
    folder
        .offkit("pack -o a.out --image=file=k.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip")
        .ok();
    folder.offkit("convert a.out -o a.bundle --to bundle").ok();
    let rows = folder.offkit("ls --json a.bundle").json();
    assert_eq!(rows[0]["arch"], "gfx90a");
}

#[test]
fn code_that_is_cut_off_is_a_problem() {
    let Some(folder) = made() else { return };
    for name in ["gfx90a.o", "k.bc"] {
        folder.offkit(&format!("verify {name}")).ok();
        let bytes = folder.read(name);
        folder.write("cut", &bytes[..bytes.len() / 2]);
        folder.offkit("verify cut").fails(1);
        folder.offkit("pack -o a.out --image=file=cut,arch=gfx90a").ok();
        says(&folder.offkit("verify a.out --json").stdout, &["a.out!0"]);
    }
}

#[test]
fn code_in_constants_is_found_by_those_who_search() {
    let Some(folder) = made() else { return };
    folder.write("a.s", ".section .rodata\n.quad 1\n.incbin \"gfx90a.o\"\n");
    folder
        .run(tool("clang-22").unwrap(), ["-c", "a.s", "-o", "a.o"])
        .ok();
    says(&folder.offkit("ls a.o").ok(), &["no device code inside"]);
    let rows = folder.offkit("ls --scan --json a.o").json();
    let place = rows[0]["location"].as_str().unwrap();
    folder.offkit(&format!("extract {place} -o out")).ok();
    let file = std::fs::read_dir(folder.path("out"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert!(std::fs::read(file.path()).unwrap() == folder.read("gfx90a.o"));
}

#[test]
fn libraries_that_a_program_needs_are_listed_with_it() {
    let Some(folder) = made() else { return };
    let clang = tool("clang-22").unwrap();
    folder
        .offkit("pack -o packed --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_52")
        .ok();
    folder.write(
        "a.s",
        ".section .llvm.offloading,\"a\"\n.incbin \"packed\"\n.text\n.globl f\nf: ret\n",
    );
    folder.write("main.c", "void f(void); int main(void) { f(); return 0; }");
    std::fs::create_dir(folder.path("lib")).unwrap();
    for line in [
        "-shared -nostdlib a.s -o lib/liba.so",
        "-shared -nostdlib -Wl,-soname,libgone.so -x c /dev/null -o libgone.so",
        "main.c -Wl,--no-as-needed -Llib -la -L. -lgone -Wl,-rpath,$ORIGIN/lib -o app",
    ] {
        folder.run(&clang, line.split_whitespace()).ok();
    }
    std::fs::remove_file(folder.path("libgone.so")).unwrap();
    let outcome = folder.offkit("ls --needed --json app");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows = outcome.json();
    assert_eq!(rows.len(), 1);
    assert!(
        rows[0]["location"]
            .as_str()
            .unwrap()
            .contains("lib/liba.so!.llvm.offloading/0")
    );
    says(
        &outcome.stderr,
        &["libgone.so was not found, and not looked into"],
    );
    // What a folder's files need is listed behind them: once each, and if it is not in the folder.
    std::fs::create_dir_all(folder.path("site/tool")).unwrap();
    for (from, to) in [
        ("app", "site/app"),
        ("app", "site/again"),
        ("lib/liba.so", "site/tool/libown.so"),
    ] {
        std::fs::copy(folder.path(from), folder.path(to)).unwrap();
    }
    folder.write(
        "site/notes.txt",
        "no code for devices, nor for anything else that runs",
    );
    let needed_by = |line: &str| {
        let mut command = Command::new(offkit());
        command
            .args(line.split_whitespace())
            .env("LD_LIBRARY_PATH", folder.path("lib"));
        folder.run_command(&mut command)
    };
    let outcome = needed_by("ls --needed --json site");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows = outcome.json();
    let places: Vec<_> = rows.iter().map(|row| row["location"].as_str().unwrap()).collect();
    assert_eq!(places.len(), 2, "{places:?}");
    assert_eq!(places[0], "site/tool/libown.so!.llvm.offloading/0");
    assert!(
        places[1].ends_with("/lib/liba.so!.llvm.offloading/0"),
        "{places:?}"
    );
    assert_eq!(outcome.stderr.matches("libgone.so was not found").count(), 1);
    assert_eq!(needed_by("ls --json site").json().len(), 1);
    let outcome = needed_by("check -r --needed --json site --targets sm_52 --driver 550");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let found = &outcome.json()[0];
    assert_eq!(found["coverage"].as_array().unwrap().len(), 2, "{found:#}");
    assert_eq!(
        found["not_looked_into"].as_array().unwrap().len(),
        1,
        "libgone.so alone: {found:#}"
    );
    // A file of the folder is no other one when a loader finds it there, for the program says so in its `DT_RUNPATH`.
    std::fs::create_dir(folder.path("site/lib")).unwrap();
    std::fs::copy(folder.path("lib/liba.so"), folder.path("site/lib/liba.so")).unwrap();
    let rows = folder.offkit("ls --needed --json site").json();
    let places: Vec<_> = rows.iter().map(|row| row["location"].as_str().unwrap()).collect();
    let own = ["site/lib/liba.so", "site/tool/libown.so"];
    assert_eq!(places, own.map(|file| format!("{file}!.llvm.offloading/0")));
    // The members of a package find each other, wherever they are in it.
    let python = tool("python3").unwrap();
    folder
        .run(python, ["-m", "zipfile", "-c", "app.whl", "app", "lib"])
        .ok();
    let outcome = folder.offkit("ls --needed --json app.whl");
    assert_eq!((outcome.code, outcome.json().len()), (0, 1), "{}", outcome.stderr);
    says(
        &outcome.stderr,
        &["libgone.so was not found", "app.whl!app needs it"],
    );
    assert!(!outcome.stderr.contains("liba.so"), "{}", outcome.stderr);
    // What a package lacks is where the loader finds it.
    std::fs::create_dir(folder.path("elsewhere")).unwrap();
    std::fs::copy(folder.path("lib/liba.so"), folder.path("elsewhere/libgone.so")).unwrap();
    for (words, code) in [("ls", 0), ("check --targets sm_52 --driver 550", 0)] {
        let mut command = Command::new(offkit());
        command
            .args(words.split_whitespace())
            .args(["--needed", "--json", "app.whl"])
            .env("LD_LIBRARY_PATH", folder.path("elsewhere"));
        let outcome = folder.run_command(&mut command);
        assert_eq!(outcome.code, code, "{outcome:#?}");
        says(&outcome.stdout, &["elsewhere/libgone.so"]);
        assert!(!outcome.stderr.contains("libgone.so"), "{}", outcome.stderr);
    }
}
