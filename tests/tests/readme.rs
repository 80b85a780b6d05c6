//! `README.md`: its commands do what it shows, on files that clang, LLVM's tools and real packages supply.

#![cfg(unix)]

use std::fs;

use offkit_tests::documentation::{Example, blocks, examples};
use offkit_tests::packages::Package;
use offkit_tests::{Folder, need, npy_f32, root, tool};

const PAGE: &str = "README.md";

/// What the blocks of commands are about, by a word in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// `libtorch_cuda_linalg.so` is in a wheel of PyTorch, half a gigabyte that `./dev bench packages` fetches and tests do not:
    /// another library stands in for it, so that titles are compared and numbers are not.
    Torch,
    /// A library of the wheel of bitsandbytes.
    Bitsandbytes,
    /// An archive with embedded and with bundled device code.
    Archive,
    /// The demo in short.
    Demo,
    /// Not typed here, for this reason.
    Untyped(&'static str),
}

const BLOCKS: [(&str, Block); 8] = [
    ("offkit size libtorch_cuda_linalg.so", Block::Torch),
    ("offkit check libtorch_cuda_linalg.so", Block::Torch),
    ("libbitsandbytes_cuda130.so", Block::Bitsandbytes),
    ("lib.a", Block::Archive),
    ("app.cl", Block::Demo),
    (
        "./dev demo",
        Block::Untyped("builds a release for minutes; what it does is tested in `end_to_end.rs`"),
    ),
    ("./dev test", Block::Untyped("runs all tests, this one too")),
    (
        "cargo install",
        Block::Untyped("builds two releases for minutes, and installs them for the user"),
    ),
];

fn block_of(content: &str) -> Block {
    let mut known = BLOCKS.iter().filter(|(word, _)| content.contains(word));
    match (known.next(), known.next()) {
        (Some((_, block)), None) => *block,
        _ => panic!("this test should know one way to type, or a reason not to type:\n{content}"),
    }
}

/// The commands about something, of which there is at least one.
fn commands(wanted: Block) -> Vec<Example> {
    let blocks = blocks(PAGE).into_iter();
    let consoles = blocks.filter(|(language, content)| language == "console" && block_of(content) == wanted);
    let commands: Vec<Example> = consoles.flat_map(|(_, content)| examples(&content)).collect();
    assert!(!commands.is_empty(), "{PAGE} shows nothing of {wanted:?}");
    commands
}

fn type_commands(wanted: Block, folder: &Folder) {
    for example in commands(wanted) {
        example.check(folder);
    }
}

#[test]
fn every_command_is_typed_or_has_a_reason_not_to_be() {
    let consoles: Vec<String> = (blocks(PAGE).into_iter())
        .filter(|(language, _)| language == "console")
        .map(|(_, content)| content)
        .collect();
    let mut found: Vec<Block> = consoles.iter().map(|content| block_of(content)).collect();
    let mut known: Vec<Block> = BLOCKS.iter().map(|(_, block)| *block).collect();
    for blocks in [&mut found, &mut known] {
        blocks.sort_by_key(|block| format!("{block:?}"));
    }
    assert_eq!(found, known);
}

#[test]
fn it_looks_into_an_archive() {
    need!(
        "clang-22",
        "llvm-offload-binary",
        "clang-offload-bundler",
        "llvm-ar"
    );
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "kernel void saxpy(float a, global const float *x, global float *y) {
           size_t i = get_global_id(0);
           y[i] = a * x[i] + y[i];
         }
         kernel void zero(global float *y) { y[get_global_id(0)] = 0; }",
    );
    folder.write("host.c", "int host(void) { return 0; }");
    for line in [
        "clang-22 --target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx70 -cl-std=CL3.0 -O1 -S k.cl -o k.ptx",
        "clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -cl-std=CL3.0 -O1 -c k.cl -o k.hsaco",
        "llvm-offload-binary -o packed --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda \
         --image=file=k.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
        "clang-22 --target=x86_64-linux-gnu -c host.c -o host.o",
        "clang-22 --target=x86_64-linux-gnu -c host.c -o emb.o -Xclang -fembed-offload-object=packed",
        "clang-offload-bundler -type=o -input=host.o -input=k.hsaco -output=b.o \
         -targets=host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa--gfx90a",
        "llvm-ar rcs lib.a emb.o host.o b.o",
    ] {
        let mut words = line.split_whitespace();
        let program = tool(words.next().unwrap()).expect("the test asked for it");
        folder.run(program, words).ok();
    }
    type_commands(Block::Archive, &folder);
}

#[test]
fn it_leaves_code_out_of_a_library() {
    let folder = Folder::new();
    let Some(name) = bitsandbytes(&folder) else { return };
    type_commands(Block::Bitsandbytes, &folder);
    assert!(folder.read("thin.so").len() < folder.read(name).len());
}

#[test]
fn the_titles_of_its_tables_are_those_of_the_program() {
    const LIBRARY: &str = "libtorch_cuda_linalg.so";
    let folder = Folder::new();
    let Some(name) = bitsandbytes(&folder) else { return };
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for example in commands(Block::Torch) {
        let line = example.line.trim();
        // What it checks has no code for one of the devices.
        match line.contains(" check ") {
            true => drop(
                folder
                    .offkit(&format!("thin {name} --keep sm_80,sm_90 -o {LIBRARY}"))
                    .ok(),
            ),
            false => drop(folder.write(LIBRARY, folder.read(name))),
        }
        let fails = example.output.starts_with("failed\n");
        let outcome = folder.offkit(line.strip_prefix("offkit ").expect("a command of offkit"));
        assert_eq!(outcome.code, i32::from(fails), "{line}: {outcome:#?}");
        // In order; lines with numbers are about the library.
        let mut said = outcome.stdout.lines().map(words);
        let titles = (example.output.lines())
            .filter(|line| !line.is_empty() && *line != "…" && !line.contains(|c: char| c.is_ascii_digit()));
        let mut count = 0;
        for title in titles {
            let title = words(title);
            assert!(
                said.any(|line| line == title),
                "{line}: {title:?} is not in {outcome:#?}"
            );
            count += 1;
        }
        assert!(count >= 3, "{line}: {count}");
    }
}

/// Puts the library of bitsandbytes into the folder.
fn bitsandbytes(folder: &Folder) -> Option<&'static str> {
    const NAME: &str = "libbitsandbytes_cuda130.so";
    let package = Package {
        name: "bitsandbytes==0.50.2",
        python: "3.11",
    };
    let library = package.file(&format!("/{NAME}"))?;
    folder.write(NAME, fs::read(library).unwrap());
    Some(NAME)
}

#[test]
fn it_shows_the_demo_in_short() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    for entry in fs::read_dir(root().join("examples/shared-library")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path(&path.file_name().unwrap().to_string_lossy())).unwrap();
    }
    // What the demo makes and the page leaves out.
    folder.compiled_example();
    fs::remove_file(folder.path("app.bc")).unwrap();
    folder.offkit("link library.bc -o library.syclbin").ok();
    for name in ["x.npy", "y.npy"] {
        folder.write(
            name,
            npy_f32("(1048576,)", (0..1 << 20).map(|i| (i % 1000) as f32)),
        );
    }
    type_commands(Block::Demo, &folder);
    let result = offkit_tests::read_f32(&folder.read("result.npy"));
    assert!((0..1 << 20).all(|i: usize| result[i] == 3.5 * (i % 1000) as f32));
}
