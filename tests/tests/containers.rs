//! Listing, showing, extracting, replacing, converting and verifying, as scripts and people type it, on files
//! that clang and LLVM's tools made.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use offkit_tests::{Folder, need, offkit, tool};
use serde_json::Value;

const KERNELS: &str = "
    kernel void saxpy(float a, global const float *x, global float *y) { y[0] += a * x[0]; }
    kernel void zero(global float *y) { y[0] = 0; }";

/// The tools that all of these files need.
const TOOLS: [&str; 4] = [
    "clang-22",
    "llvm-offload-binary",
    "clang-offload-bundler",
    "llvm-ar",
];

/// A file and the images in it: where they are, and which file they were made of.
type Made = (&'static str, Vec<(&'static str, &'static str)>);

/// Device images, and objects, bundles and archives with them; `None` without the tools.
fn made() -> Option<(Folder, Vec<Made>)> {
    for name in TOOLS {
        tool(name)?;
    }
    let folder = Folder::new();
    folder.write("k.cl", KERNELS);
    folder.write("host.c", "int host(void) { return 0; }");
    let gpu = "-x cl -cl-std=CL3.0 -O1 -nogpulib k.cl";
    let targets =
        "-targets=host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa--gfx90a,hip-amdgcn-amd-amdhsa--gfx906";
    let inputs = "-input=host.o -input=k.hsaco -input=k.bc";
    for line in [
        &format!(
            "clang-22 --target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx70 {gpu} -S -o k.ptx"
        ),
        &format!("clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx906 {gpu} -emit-llvm -c -o k.bc"),
        // Not linked: lld may not be there.
        &format!("clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx90a {gpu} -c -o k.hsaco"),
        "clang-22 --target=x86_64-linux-gnu -c host.c -o host.o",
        "llvm-offload-binary -o packed --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda \
         --image=file=k.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
        "clang-22 --target=x86_64-linux-gnu -c host.c -o new.o -Xclang -fembed-offload-object=packed",
        "clang-22 --target=x86_64-windows-msvc -c host.c -o new.obj -Xclang -fembed-offload-object=packed",
        &format!("clang-offload-bundler -type=o {targets} {inputs} -output=old.o"),
        &format!("clang-offload-bundler -type=bc {targets} {inputs} -output=plain"),
        &format!("clang-offload-bundler -type=bc -compress {targets} {inputs} -output=squeezed"),
        "mkdir sub",
        "cp new.o sub/new.o",
        "llvm-ar rcs lib.a new.o host.o old.o",
        "llvm-ar rcs --thin thin.a sub/new.o host.o k.bc",
    ] {
        let mut words = line.split_whitespace();
        let program = tool(words.next()?)?;
        folder.run(program, words).ok();
    }
    let files = vec![
        ("k.ptx", vec![("k.ptx", "k.ptx")]),
        ("packed", vec![("packed!0", "k.ptx"), ("packed!1", "k.hsaco")]),
        (
            "new.o",
            vec![
                ("new.o!.llvm.offloading/0", "k.ptx"),
                ("new.o!.llvm.offloading/1", "k.hsaco"),
            ],
        ),
        (
            "new.obj",
            vec![
                ("new.obj!.llvm.offloading/0", "k.ptx"),
                ("new.obj!.llvm.offloading/1", "k.hsaco"),
            ],
        ),
        (
            "old.o",
            vec![
                ("old.o!bundle/gfx90a", "k.hsaco"),
                ("old.o!bundle/gfx906", "k.bc"),
            ],
        ),
        (
            "plain",
            vec![("plain!0/gfx90a", "k.hsaco"), ("plain!0/gfx906", "k.bc")],
        ),
        (
            "squeezed",
            vec![("squeezed!0/gfx90a", "k.hsaco"), ("squeezed!0/gfx906", "k.bc")],
        ),
        (
            "lib.a",
            vec![
                ("lib.a!new.o/.llvm.offloading/0", "k.ptx"),
                ("lib.a!new.o/.llvm.offloading/1", "k.hsaco"),
                ("lib.a!old.o/bundle/gfx90a", "k.hsaco"),
                ("lib.a!old.o/bundle/gfx906", "k.bc"),
            ],
        ),
        (
            "thin.a",
            vec![
                ("thin.a!sub/new.o/.llvm.offloading/0", "k.ptx"),
                ("thin.a!sub/new.o/.llvm.offloading/1", "k.hsaco"),
                ("thin.a!k.bc", "k.bc"),
            ],
        ),
    ];
    Some((folder, files))
}

/// The locations of device images in a listing; those of code for the host are left out.
fn locations(rows: &[Value]) -> Vec<&str> {
    let device = rows.iter().filter(|row| row["producer"] != "host");
    device.filter_map(|row| row["location"].as_str()).collect()
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

/// Makes a file with the content of another one, twice.
fn doubled(folder: &Folder, name: &str) {
    let bytes = folder.read(name);
    folder.write("twice", [bytes.clone(), bytes].concat());
}

#[test]
fn every_location_that_is_listed_gives_back_what_went_in() {
    let Some((folder, files)) = made() else { return };
    for (file, images) in &files {
        let listing = folder.offkit(&format!("ls --json {file}"));
        assert_eq!((listing.code, listing.stderr.as_str()), (0, ""), "{file}");
        let rows = listing.json();
        let expected: Vec<_> = images.iter().map(|(place, _)| *place).collect();
        assert_eq!(locations(&rows), expected);
        for (place, image) in images {
            folder.offkit(&format!("extract {place} -o out")).ok();
            let [name] = <[String; 1]>::try_from(list(&folder, "out")).unwrap();
            assert!(
                folder.read(&format!("out/{name}")) == folder.read(image),
                "{place}"
            );
            std::fs::remove_dir_all(folder.path("out")).unwrap();
            let shown = folder.offkit(&format!("show --json {place}")).json();
            assert_eq!(shown[0]["location"], *place);
        }
        folder.offkit(&format!("verify {file}")).ok();
    }
}

fn list(folder: &Folder, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(name)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_line_of_json_has_exactly_these_keys() {
    let Some((folder, files)) = made() else { return };
    let keys: BTreeSet<_> =
        "schema file location container version format producer triple arch offset size stored_size \
        compression kernels entries imports exports properties sha256"
            .split_whitespace()
            .collect();
    for (file, _) in &files {
        for row in folder.offkit(&format!("ls --json --hash {file}")).json() {
            let row = row.as_object().unwrap();
            assert_eq!(row.keys().map(String::as_str).collect::<BTreeSet<_>>(), keys);
            assert_eq!(row["file"], *file);
            assert_eq!(row["sha256"].as_str().unwrap().len(), 64);
        }
    }
    let row = &folder.offkit("ls --json packed").json()[0];
    let bytes = folder.read("packed");
    let offset = row["offset"].as_u64().unwrap() as usize;
    assert!(bytes[offset..].starts_with(&folder.read("k.ptx")));
    assert_eq!(row["size"], folder.read("k.ptx").len());
    for (key, value) in [
        ("container", Value::from("offload-binary")),
        ("version", 1.into()),
        ("format", "ptx".into()),
        ("producer", "cuda".into()),
        ("triple", "nvptx64-nvidia-cuda".into()),
        ("arch", "sm_80".into()),
        ("stored_size", row["size"].clone()),
        ("compression", Value::Null),
        ("kernels", vec!["saxpy", "zero"].into()),
        ("entries", Value::Null),
        ("sha256", Value::Null),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    // Inside of something compressed nothing has a place of its own in the file.
    let row = &folder.offkit("ls --json squeezed --arch gfx90a").json()[0];
    assert_eq!(row["compression"], "zstd");
    assert_eq!(
        (&row["offset"], &row["stored_size"]),
        (&Value::Null, &Value::Null)
    );
    let row = &folder.offkit("ls --json k.ptx").json()[0];
    assert_eq!(
        (&row["container"], &row["producer"]),
        (&Value::from("none"), &Value::Null)
    );
}

/// So many images that they are asked for their names on all cores, in two packages, with something damaged between.
#[test]
fn many_images_are_listed_in_order() {
    need!("python3");
    const IMAGES: usize = 300;
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    let symbol = |number: usize| {
        let name = format!("kernel{number}");
        format!("_Z{}{name}v", name.len())
    };
    for number in 0..IMAGES {
        let entry = format!(".visible .entry {}(.param .u64 x) {{ ret; }}\n", symbol(number));
        let more = "// what makes it large enough\n".repeat(400);
        folder.write(
            &format!("in/{number:03}.ptx"),
            format!(".version 8.4\n.target sm_80\n.address_size 64\n{entry}{more}"),
        );
    }
    let packed = |first: usize, name: &str| {
        let images = (first..IMAGES).step_by(2).map(|number| {
            format!("--image=file=in/{number:03}.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda")
        });
        let images: Vec<_> = images.collect();
        folder
            .offkit(&format!("pack -o in/{name} {}", images.join(" ")))
            .ok();
    };
    packed(0, "even");
    packed(1, "odd");
    folder.write("in/cut", &folder.read("in/odd")[..200]);
    let python = tool("python3").unwrap();
    folder
        .run(
            &python,
            "-m zipfile -c all.zip in/even in/cut in/odd in/007.ptx".split(' '),
        )
        .ok();
    let listed = |words: &str, threads: &str| {
        let mut command = std::process::Command::new(offkit());
        let command = command.args(words.split(' ')).env("RAYON_NUM_THREADS", threads);
        folder.run_command(command)
    };
    let numbers: Vec<usize> = (0..IMAGES)
        .step_by(2)
        .chain((1..IMAGES).step_by(2))
        .chain([7])
        .collect();
    for threads in ["1", "4"] {
        let outcome = listed("ls --json --totals all.zip", threads);
        assert_eq!(outcome.code, 2, "one is damaged");
        let rows = outcome.json();
        let kernels: Vec<_> = rows
            .iter()
            .filter_map(|row| Some(row.get("kernels")?[0].as_str()?.to_owned()))
            .collect();
        let expected: Vec<_> = numbers.iter().map(|number| symbol(*number)).collect();
        assert!(kernels == expected, "{kernels:?}");
        let problem = rows.iter().find(|row| row.get("problem").is_some()).unwrap();
        let place = problem["location"].as_str().unwrap();
        assert!(place.starts_with("all.zip!cut"), "{place}");
        assert_eq!(rows.last().unwrap()["total"]["images"], IMAGES + 1);

        let outcome = listed("ls --kernels --mangled all.zip", threads);
        let kernels: Vec<_> = (outcome.stdout.lines())
            .filter_map(|line| Some(line.split_once("kernel   ")?.1.to_owned()))
            .collect();
        assert!(kernels == expected, "{kernels:?}");
        // Each package is above what is in it.
        let place = |text: &str| outcome.stdout.find(text).unwrap();
        assert!(place("even  ") < place("_Z7kernel0v\n") && place("_Z9kernel298v\n") < place("odd  "));
        assert!(place("odd  ") < place("_Z7kernel1v\n"));

        let row = &listed("ls --json --kernel kernel123 all.zip", threads).json()[0];
        assert_eq!(row["kernels"][0], "_Z9kernel123v");
        let outcome = listed("ls --kernels --kernel kernel123 in/odd", threads).ok();
        assert_eq!(outcome.matches("kernel123").count(), 1, "{outcome}");
        listed("ls --json --kernel nothing in/odd", threads).fails(1);
    }
}

#[test]
fn members_of_thin_archives_are_files_of_their_own() {
    let Some((folder, _)) = made() else { return };
    says(
        &folder.offkit("ls thin.a").ok(),
        &["sub/new.o", ".llvm.offloading/1", "k.bc", "3 images"],
    );
    // They are beside the archive, wherever that is listed from.
    let inside = folder.path("sub");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "cd \"$0\" && \"$1\" ls --json ../thin.a!sub"]);
    command.arg(&inside).arg(offkit());
    assert_eq!(folder.run_command(&mut command).json().len(), 2);
    let refused = folder.offkit("replace thin.a sub/new.o/.llvm.offloading/0=k.ptx");
    says(&refused.fails(2), &["files of their own", "replace sub/new.o"]);
    // An archive in an archive, and one that names itself.
    let ar = tool("llvm-ar").unwrap();
    folder.run(&ar, ["rcs", "--thin", "outer.a", "thin.a"]).ok();
    assert_eq!(folder.offkit("ls --json outer.a").json().len(), 3);
    let header = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "self.a/", 0, 0, 0, 644, 0);
    folder.write("self.a", ["!<thin>\n", &header, &header].concat());
    folder.offkit("ls self.a").ok();
    // What is not there, and what is no file.
    std::fs::remove_file(folder.path("sub/new.o")).unwrap();
    for command in ["ls", "verify"] {
        let outcome = folder.offkit(&format!("{command} --json thin.a"));
        assert_eq!(outcome.code, if command == "ls" { 2 } else { 1 });
        let rows = outcome.json();
        let problem = rows.iter().find(|row| row["problem"].is_string()).unwrap();
        assert_eq!(problem["location"], "thin.a!sub/new.o");
    }
    symlink("/dev/zero", folder.path("sub/new.o")).unwrap();
    let outcome = folder.offkit("ls --json thin.a");
    assert_eq!(outcome.json().len(), 2, "the others are listed");
    says(&outcome.fails(2), &["not a regular file"]);
}

#[test]
fn options_narrow_down_every_command() {
    let Some((folder, _)) = made() else { return };
    let listed = |options: &str| {
        let rows = folder.offkit(&format!("ls --json lib.a {options}")).json();
        rows.iter()
            .map(|row| row["location"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("--triple nvptx64"), ["lib.a!new.o/.llvm.offloading/0"]);
    assert_eq!(listed("--kind cuda").len(), 1);
    assert_eq!(listed("--arch gfx90a --kind hip").len(), 2);
    assert_eq!(listed("--format bitcode"), ["lib.a!old.o/bundle/gfx906"]);
    assert_eq!(listed("--kernel zero").len(), 4);
    assert!(listed("--kernel one").is_empty());
    says(
        &folder.offkit("ls lib.a --arch one").fails(1),
        &["no image matches the options", "--arch could be gfx906, "],
    );
    // It is said once, and of several files those that match are listed.
    assert_eq!(folder.offkit("ls lib.a --arch one").stdout, "");
    let listed_files = folder.offkit("ls new.o k.ptx --arch gfx90a").ok();
    assert!(
        listed_files.contains("new.o") && !listed_files.contains("k.ptx"),
        "{listed_files}"
    );
    says(
        &folder.offkit("ls lib.a --arch gfx90").fails(1),
        &["gfx906 is there; --arch takes the whole name"],
    );
    says(
        &folder.offkit("ls lib.a --kind openmp").fails(1),
        &["--kind could be "],
    );
    // Of several files one that matches is enough.
    folder.offkit("ls new.o lib.a --format bitcode").ok();
    for command in ["show", "extract", "verify"] {
        let refused = folder.offkit(&format!("{command} lib.a --arch one"));
        says(&refused.fails(1), &["no image matches the options"]);
    }
    // A word that never fits anything is wrong usage.
    for option in ["--kind rust", "--format elf64"] {
        says(
            &folder.offkit(&format!("ls lib.a {option}")).fails(2),
            &["possible values"],
        );
    }
    assert_eq!(folder.offkit("show --json lib.a --kind cuda").json().len(), 1);
    folder.offkit("extract -q lib.a --arch gfx906 -o - ").ok();
    folder
        .offkit("replace --force lib.a =k.hsaco --arch sm_80 -o changed.a")
        .ok();
    let rows = folder
        .offkit("ls --json changed.a!new.o/.llvm.offloading/0")
        .json();
    assert_eq!(rows[0]["format"], "amdgpu");
    let refused = folder.offkit("replace lib.a old.o=k.bc --kernel saxpy");
    says(
        &refused.fails(2),
        &["2 images match", "lib.a!old.o/bundle/gfx90a"],
    );
}

#[test]
fn kernels_are_found_by_the_names_that_are_shown() {
    need!("clang-22");
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "kernel __attribute__((overloadable)) void scale(global float *x) { x[0] = 1; }",
    );
    let clang = tool("clang-22").unwrap();
    let options = "--target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx70 -cl-std=CL3.0 -nogpulib -S k.cl -o k.ptx";
    folder.run(clang, options.split_whitespace()).ok();
    let name = folder.offkit("ls --json k.ptx").json()[0]["kernels"][0].clone();
    let name = name.as_str().unwrap();
    if name.starts_with("_Z") {
        says(&folder.offkit("ls -k k.ptx").ok(), &["scale("]);
        says(&folder.offkit("ls -k --mangled k.ptx").ok(), &[name]);
    }
    for by in [name, "scale"] {
        assert_eq!(
            folder
                .offkit(&format!("ls --json k.ptx --kernel {by}"))
                .json()
                .len(),
            1
        );
    }
}

#[test]
fn an_image_is_replaced_and_nothing_else() {
    let Some((folder, files)) = made() else { return };
    for (file, images) in files.iter().filter(|(file, _)| *file != "thin.a") {
        let before = folder.read(file);
        for (number, (place, image)) in images.iter().enumerate() {
            // The same image again: the same file.
            folder.offkit(&format!("replace {file} {place}={image}")).ok();
            assert!(folder.read(file) == before, "{place}");
            folder.offkit(&format!("replace {file}! {place}={image}")).ok();
            assert!(!folder.path(&format!("{file}!")).exists(), "{place}");
            // A larger one: there it is, and all others are as they were.
            doubled(&folder, image);
            folder
                .offkit(&format!("replace {file} {place}=twice -o changed"))
                .ok();
            let again = place.replacen(file, "changed", 1);
            assert_eq!(folder.offkit(&format!("ls --json {again}")).json().len(), 1);
            for (other, (place, image)) in images.iter().enumerate() {
                let image = if other == number { "twice" } else { image };
                let place = place.replacen(file, "changed", 1);
                folder.offkit(&format!("extract -q {place} -o out")).ok();
                let [name] = <[String; 1]>::try_from(list(&folder, "out")).unwrap();
                let taken = folder.read(&format!("out/{name}"));
                assert!(taken == folder.read(image), "{place}");
                std::fs::remove_dir_all(folder.path("out")).unwrap();
            }
            // A module and another one behind it are not one module, and that is all that is wrong.
            let verified = folder.offkit("verify changed");
            assert!(
                verified.code == 0 || verified.stdout.contains(": bitcode "),
                "{verified:?}"
            );
        }
        assert!(folder.read(file) == before, "-o leaves the file alone");
    }
    for line in [
        "replace new.o nothing=k.ptx",
        "replace new.o .llvm.offloading=k.ptx",
        "replace new.o old.o!bundle/gfx90a=k.ptx",
        "replace new.o .llvm.offloading/0=missing",
        "replace new.o .llvm.offloading/0",
    ] {
        folder.offkit(line).fails(2);
    }
}

#[test]
fn a_linked_program_says_why_it_cannot_grow() {
    need!("clang-22", "llvm-offload-binary");
    let folder = Folder::new();
    folder.write("image", vec![7; 4096]);
    folder.write("main.c", "int main(void) { return 0; }");
    let packer = tool("llvm-offload-binary").unwrap();
    folder
        .run(
            packer,
            ["-o", "packed", "--image=file=image,triple=t,arch=a,kind=openmp"],
        )
        .ok();
    // As the linker wrapper does, the binary is part of the program.
    folder.write(
        "blob.s",
        ".section .llvm.offloading,\"a\",@progbits\n.incbin \"packed\"\n",
    );
    let clang = tool("clang-22").unwrap();
    folder.run(clang, ["main.c", "blob.s", "-o", "program"]).ok();
    let before = folder.read("program");
    folder.write("small", vec![8; 4000]);
    folder.write("large", vec![9; 100_000]);
    folder
        .offkit("replace program .llvm.offloading/0=small -o shorter")
        .ok();
    assert_eq!(folder.read("shorter").len(), before.len());
    let refused = folder.offkit("replace program .llvm.offloading/0=large");
    says(&refused.fails(2), &["addresses in a linked program cannot move"]);
    assert!(folder.read("program") == before);
}

#[test]
fn containers_convert_there_and_back() {
    let Some((folder, _)) = made() else { return };
    let convert = |from: &str, to: &str, format: &str| {
        folder.offkit(&format!("convert {from} -o {to} --to {format} --json"))
    };
    convert("packed", "two", "offload,v2").ok();
    convert("two", "three", "offload,v3").ok();
    convert("three", "one", "offload,v1").ok();
    assert!(folder.read("one") == folder.read("packed"));
    convert("plain", "compressed", "bundle,compressed").ok();
    convert("compressed", "back", "bundle,binary").ok();
    let images = |file: &str| {
        let rows = folder.offkit(&format!("ls --json --hash {file}")).json();
        let about = |row: &Value| ["triple", "arch", "producer", "sha256"].map(|key| row[key].to_string());
        rows.iter().map(about).collect::<Vec<_>>()
    };
    assert_eq!(images("back"), images("plain"));

    // What would be lost is listed, and nothing is written.
    let refused = convert("packed", "bundle", "syclbin,v1");
    let losses = refused.json();
    assert!(!losses.is_empty());
    for loss in &losses {
        assert_eq!(loss["file"], "packed");
        assert!(loss["location"].is_string() && loss["loss"].is_string());
    }
    refused.fails(1);
    assert!(!folder.path("bundle").exists());
    folder
        .offkit("convert packed -o bundle --to bundle --allow-loss")
        .ok();
    assert_eq!(folder.offkit("ls --json bundle").json().len(), 2);
    let refused = folder.offkit("convert packed -o - --to bundle --allow-loss --json");
    says(&refused.fails(2), &["cannot both go to standard output"]);
    says(
        &folder.offkit("convert new.o -o x --to bundle").fails(2),
        &["can be converted", "offkit extract"],
    );
}

#[test]
fn everything_about_an_image_is_shown() {
    let Some((folder, _)) = made() else { return };
    let text = folder.offkit("show new.o!.llvm.offloading/1").ok();
    says(
        &text,
        &[
            "new.o!.llvm.offloading/1",
            "host code",
            "offload binary v1",
            "AMDGPU code object",
            "amdgcn-amd-amdhsa-gfx90a",
            "hip",
            "SHA-256",
            "saxpy",
            "vector registers",
        ],
    );
    let [image] =
        <[Value; 1]>::try_from(folder.offkit("show --json new.o!.llvm.offloading/1").json()).unwrap();
    let listed = folder.offkit("ls --json --hash new.o!.llvm.offloading/1").json();
    for (key, value) in listed[0].as_object().unwrap() {
        assert_eq!(image[key], *value, "{key} is what `ls` says");
    }
    let kinds: Vec<_> = image["containers"].as_array().unwrap().iter().collect();
    assert_eq!(kinds.len(), 2);
    // The processor of bare bitcode is only in the attributes of its functions.
    let rows = ["show --json k.bc", "ls --json k.bc"].map(|command| folder.offkit(command).json());
    for key in ["triple", "arch", "kernels", "imports", "exports"] {
        assert_eq!(rows[0][0][key], rows[1][0][key], "{key}");
    }
    assert_eq!(rows[0][0]["arch"], "gfx906");
    for command in ["show k.bc", "ls k.bc"] {
        says(&folder.offkit(command).ok(), &["amdgcn-amd-amdhsa-gfx906"]);
    }
    assert_eq!(kinds[1]["kind"], "offload binary");
    let kernels = image["inspection"]["kernels"].as_array().unwrap();
    assert_eq!(kernels[0]["name"], "saxpy");
    assert!(kernels[0]["details"]["vector registers"].is_u64());
    // A container stands for all that is in it.
    assert_eq!(folder.offkit("show --json lib.a!new.o k.ptx").json().len(), 3);
    says(
        &folder.offkit("show new.o!.llvm.offloading/2").fails(2),
        &["no device code there", "offkit ls"],
    );
    // Of a damaged file, what is left is shown, and what is wrong is said.
    let bytes = folder.read("lib.a");
    folder.write("cut.a", &bytes[..bytes.len() - 100]);
    let damaged = folder.offkit("show --json cut.a");
    let rows = damaged.json();
    assert!(
        rows.iter()
            .any(|row| row["location"] == "cut.a!new.o/.llvm.offloading/0")
    );
    assert!(rows.iter().any(|row| row["problem"].is_string()));
    damaged.fails(2);
}

/// An object for gfx90a in containers that say gfx1100. Lists and filters go by the code where it is stored as it is, and
/// by the container's word where it is compressed; `show` and `verify` have both.
#[test]
fn a_container_that_contradicts_the_code_is_told_from_it() {
    let Some((folder, _)) = made() else { return };
    let told = "--image=file=k.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx1100,kind=hip";
    for (file, options, listed, other) in [
        ("wrong.out", "--to offload,v1", "gfx90a", "gfx1100"),
        ("wrong.bundle", "--to bundle,binary", "gfx90a", "gfx1100"),
        ("wrong.ccob", "--to bundle,compressed", "gfx1100", "gfx90a"),
    ] {
        folder
            .offkit(&format!("pack -o {file} --allow-loss {options} {told}"))
            .ok();
        let arch = |command: &str| {
            let rows = folder.offkit(&format!("{command} --json {file}")).json();
            let device: Vec<_> = rows
                .iter()
                .filter(|row| row["producer"] != "host")
                .cloned()
                .collect();
            let [row] = <[Value; 1]>::try_from(device).unwrap();
            row
        };
        assert_eq!(arch("ls")["arch"], listed, "{file}");
        says(&folder.offkit(&format!("ls {file}")).ok(), &[listed]);
        says(
            &folder.offkit(&format!("ls --arch {listed} {file}")).ok(),
            &[listed],
        );
        says(
            &folder.offkit(&format!("ls --arch {other} {file}")).fails(1),
            &[listed],
        );
        let row = arch("show");
        let contradiction = &row["contradiction"];
        assert_eq!(row["arch"], listed, "{file}");
        assert_eq!(contradiction["container"]["arch"], "gfx1100", "{file}");
        assert_eq!(contradiction["code"]["arch"], "gfx90a", "{file}");
        let text = folder.offkit(&format!("show {file}")).ok();
        says(&text, &["target in the container  amdgcn-amd-amdhsa-gfx1100"]);
        let code = text
            .lines()
            .filter(|line| line.contains("target"))
            .find(|line| line.contains("gfx90a"));
        assert!(code.is_some(), "{text}");
        let verified = folder.offkit(&format!("verify {file}"));
        says(&verified.stdout, &["another target", "gfx1100", "gfx90a"]);
        verified.fails(1);
    }
    // Where both name targets that one image can have, there is nothing to tell.
    let row = &folder.offkit("show --json squeezed!0/gfx90a").json()[0];
    assert_eq!(row["contradiction"], Value::Null);
    assert!(!folder.offkit("show squeezed").ok().contains("in the container"));
}

#[test]
fn problems_are_told_to_people_and_to_programs() {
    let Some((folder, _)) = made() else { return };
    let bytes = folder.read("packed");
    folder.write("cut", &bytes[..bytes.len() - 100]);
    folder.write("empty", "");
    folder.write("text", "hello");
    for file in ["cut", "empty", "text"] {
        let outcome = folder.offkit(&format!("ls --json {file}"));
        let rows = outcome.json();
        let problem = rows.iter().find(|row| row["problem"].is_string()).unwrap();
        assert_eq!(problem["file"], file);
        let error = outcome.fails(2);
        says(&error, &["warning: ", file, "offset 0x"]);
        let outcome = folder.offkit(&format!("verify --json {file}"));
        assert!(outcome.json().iter().any(|row| row["problem"].is_string()));
        says(&outcome.fails(1), &["problem"]);
        folder.offkit(&format!("extract {file} -o out")).fails(2);
    }
    for command in ["ls", "show", "verify", "extract"] {
        says(
            &folder.offkit(&format!("{command} missing")).fails(2),
            &["`missing`", "No such file"],
        );
        folder.offkit(&format!("{command} new.o!9")).fails(2);
    }
    let quiet = folder.offkit("verify -q new.o!.llvm.offloading");
    assert_eq!((quiet.code, &*quiet.stdout, &*quiet.stderr), (0, "", ""));
}

#[test]
fn bounds_can_be_set() {
    let Some((folder, _)) = made() else { return };
    let limited = folder.offkit("ls --json packed --limit images=1");
    let rows = limited.json();
    assert_eq!(rows.iter().filter(|row| row["size"].is_u64()).count(), 1);
    says(&limited.fails(2), &["too many images", "at most 1"]);
    for command in ["verify", "extract -o out", "show"] {
        let limited = folder.offkit(&format!("{command} lib.a --limit nesting=0"));
        assert_ne!(limited.code, 0, "{command}");
    }
    folder
        .offkit("convert packed -o x --to offload,v2 --limit images=1")
        .fails(2);
    says(
        &folder.offkit("ls lib.a --limit pages=1").fails(2),
        &["`pages` is not a limit", "nesting"],
    );
}

#[test]
fn a_dash_is_a_file_for_every_command() {
    let Some((folder, _)) = made() else { return };
    let shell = |line: &str| {
        let mut command = std::process::Command::new("sh");
        let text = format!("offkit() {{ '{}' \"$@\"; }}; {line}", offkit().display());
        command.args(["-c", &text]);
        folder.run_command(&mut command)
    };
    shell("offkit extract -q -o - -- '-!0' < packed > a").ok();
    assert!(folder.read("a") == folder.read("k.ptx"));
    shell("offkit convert - -o - --to offload,v2 < packed | offkit convert - -o - --to offload,v1 > b").ok();
    assert!(folder.read("b") == folder.read("packed"));
    shell("offkit replace -q - 0=k.ptx < packed > c").ok();
    assert!(folder.read("c") == folder.read("packed"));
    shell("offkit pack -o - --image=file=k.ptx,arch=sm_80 | offkit verify -").ok();
    says(&shell("offkit show -- - < packed").ok(), &["-!0", "-!1", "PTX"]);
    says(
        &shell("offkit extract packed -o - ").fails(2),
        &["images cannot go to standard output: packed!0, packed!1"],
    );
}

#[test]
fn peers_are_there_by_link_and_by_name() {
    let Some((folder, _)) = made() else { return };
    let lines = [
        ("clang-offload-bundler", "--list --type=o --input=old.o"),
        (
            "clang-offload-bundler",
            "-unbundle -type=o -targets=hip-amdgcn-amd-amdhsa--gfx906 -input=old.o -output=OUT",
        ),
        (
            "llvm-offload-binary",
            "new.o --image=file=OUT,arch=gfx90a,kind=hip,triple=amdgcn-amd-amdhsa",
        ),
        (
            "clang-offload-packager",
            "-o OUT --image=file=k.bc,triple=t,arch=a,kind=openmp",
        ),
    ];
    for (name, line) in lines {
        let link = folder.path(name);
        if !link.exists() {
            symlink(offkit(), &link).unwrap();
        }
        let run = |program: &std::path::Path, before: &[&str], out: &str| {
            let line = line.replace("OUT", out);
            let words = before.iter().copied().chain(line.split_whitespace());
            let outcome = folder.run(program, words.map(str::to_owned));
            assert_eq!(outcome.code, 0, "{outcome:?}");
            (outcome.stdout, std::fs::read(folder.path(out)).ok())
        };
        let theirs = run(&tool(name).unwrap_or_else(|| link.clone()), &[], "theirs");
        assert_eq!(run(&link, &[], "by-link"), theirs, "{name} {line}");
        assert_eq!(run(&offkit(), &["as", name], "by-name"), theirs, "{name} {line}");
    }
    // Options of these names are the tool's, not offkit's.
    let help = folder.offkit("as clang-offload-bundler --help").ok();
    says(&help, &["OVERVIEW", "-unbundle"]);
    says(&folder.offkit("as syclbin-dump --help").ok(), &["SYCLBIN"]);
    says(&folder.offkit("as --help").ok(), &["clang-offload-packager"]);
    says(
        &folder.offkit("as objdump").fails(2),
        &["`objdump`", "llvm-offload-binary"],
    );
}
