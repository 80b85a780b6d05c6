//! `clang-offload-bundler` under its own name, beside the real one.

use std::fs;
use std::path::Path;
use std::process::Command;

use offkit_tests::{Outcome, need, offkit, tool};

const HOST: &str = "host-x86_64-unknown-linux-gnu";

/// Runs a bundler in a folder.
fn run(program: &Path, arguments: &[&str], folder: &Path) -> Outcome {
    let output = offkit_tests::output(Command::new(program).args(arguments).current_dir(folder));
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A folder with our program under the tool's name, and two small inputs.
fn workplace() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("there is room");
    let ours = folder.path().join("clang-offload-bundler");
    std::os::unix::fs::symlink(offkit(), &ours).expect("links can be made");
    fs::write(folder.path().join("h"), "host\n").expect("it can be written");
    fs::write(folder.path().join("d"), "device\n").expect("it can be written");
    (folder, ours)
}

/// Numbers that look random and are the same in every run.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    }
}

#[test]
fn fifty_bundles_are_the_same_files_and_listed_in_the_same_order() {
    need!("clang-offload-bundler");
    let theirs = tool("clang-offload-bundler").expect("it is there");
    let (folder, ours) = workplace();
    let folder = folder.path();
    let processors = [
        "gfx600", "gfx700", "gfx801", "gfx803", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx90a",
        "gfx90c", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201",
    ];
    let mut next = numbers();
    for number in 0..50 {
        let mut left = processors.to_vec();
        let mut targets = vec![HOST.to_owned()];
        for _ in 0..=next(processors.len() - 1) {
            let processor = left.remove(next(left.len()));
            targets.push(format!("openmp-amdgcn-amd-amdhsa--{processor}"));
        }
        let targets_option = format!("-targets={}", targets.join(","));
        let align = format!("-bundle-align={}", [1, 8, 4096][number % 3]);
        let mut arguments = vec!["-type=bc", &targets_option, &align, "-input=h"];
        arguments.extend(targets[1..].iter().map(|_| "-input=d"));
        if number % 2 == 1 {
            arguments.push("-compress");
        }
        run(&ours, &[&arguments[..], &["-output=ours"]].concat(), folder).ok();
        run(&theirs, &[&arguments[..], &["-output=theirs"]].concat(), folder).ok();
        if number % 2 == 0 {
            let read = |name| fs::read(folder.join(name)).expect("it was written");
            assert!(read("ours") == read("theirs"), "{targets_option}");
        }
        for file in ["-input=ours", "-input=theirs"] {
            let list = ["-type=bc", "-list", file];
            assert_eq!(run(&ours, &list, folder).ok(), run(&theirs, &list, folder).ok());
        }
        // Each takes the other's apart.
        for (program, file) in [(&ours, "-input=theirs"), (&theirs, "-input=ours")] {
            let targets = format!("-targets={HOST},{}", targets[1]);
            let unbundle = [
                "-type=bc",
                "-unbundle",
                &targets,
                file,
                "-output=h2",
                "-output=d2",
            ];
            run(program, &unbundle, folder).ok();
            assert_eq!(fs::read(folder.join("h2")).expect("it was written"), b"host\n");
            assert_eq!(fs::read(folder.join("d2")).expect("it was written"), b"device\n");
        }
    }
}

#[test]
fn messages_and_exit_codes_are_the_real_tools() {
    need!("clang-offload-bundler");
    let theirs = tool("clang-offload-bundler").expect("it is there");
    let (folder, ours) = workplace();
    let folder = folder.path();
    let gfx = "hip-amdgcn-amd-amdhsa--gfx900";
    let other = "hip-amdgcn-amd-amdhsa--gfx906";
    let bundle = format!("-targets={HOST},{gfx}");
    run(
        &ours,
        &["-type=bc", &bundle, "-input=h", "-input=d", "-output=b"],
        folder,
    )
    .ok();
    let targets = |list: &[&str]| format!("-targets={}", list.join(","));
    let cases: Vec<Vec<String>> = [
        vec![],
        vec!["-type=bc"],
        vec!["-type=bc", "-list"],
        vec!["-type=bc", "-list", "-input=missing"],
        vec!["-type=what", "-list", "-input=b"],
        vec!["-type=bc", "-list=maybe", "-input=b"],
        vec!["-type=bc", "-list", "-unbundle", "-input=b"],
        vec!["-type=bc", "-list", "-input=h"],
        vec!["-type=bc", "-bundle-align=x"],
        vec!["-type=bc", "-input=h", "-output=x"],
        vec!["-type=bc", "-input=h", "-output=x", "-targets=host"],
        vec!["-type=bc", "-input=h", "-output=x", "-targets=hxst-pwc-a-b-c"],
        vec!["-type=bc", "-input=h", "-output=x", &targets(&[gfx, other])],
        vec![
            "-type=bc",
            "-input=h",
            "-input=d",
            "-output=x",
            &targets(&[gfx, gfx]),
        ],
        vec![
            "-type=bc",
            "-input=h",
            "-output=x",
            "-targets=openmp-x86_64-pc-linux-gnu",
        ],
        vec![
            "-type=bc",
            "-input=h",
            "-input=d",
            "-output=x",
            &format!("-targets={gfx},{gfx}:xnack+"),
        ],
        vec![
            "-type=bc",
            "-unbundle",
            "-input=b",
            "-output=x",
            &targets(&[other]),
        ],
        vec![
            "-type=bc",
            "-unbundle",
            "-input=h",
            "-output=x",
            "-output=y",
            &targets(&[other, gfx]),
        ],
        vec!["-type=a", "-unbundle", "-input=h", "-output=x", &targets(&[gfx])],
        vec!["-type=a", "-input=h", "-output=x", &targets(&[gfx])],
        vec!["-type=bc", "-inputs=h", "-outputs=x", &targets(&[gfx])],
        vec!["-type=bc", "-inputs=h", "-input=h", "-output=x", &targets(&[gfx])],
    ]
    .into_iter()
    .map(|case| case.into_iter().map(str::to_owned).collect())
    .collect();
    for case in cases {
        let case: Vec<&str> = case.iter().map(String::as_str).collect();
        let (ours, theirs) = (run(&ours, &case, folder), run(&theirs, &case, folder));
        let path = tool("clang-offload-bundler").expect("it is there");
        let expected = theirs
            .stderr
            .replace(&*path.to_string_lossy(), "clang-offload-bundler");
        assert_eq!((ours.code, ours.stderr), (theirs.code, expected), "{case:?}");
    }
}

#[test]
fn objects_and_archives_are_taken_apart_as_by_the_real_tool() {
    need!("clang-offload-bundler", "clang", "llvm-ar", "llvm-nm");
    let real = |name: &str| tool(name).expect("it is there");
    let theirs = real("clang-offload-bundler");
    let (folder, ours) = workplace();
    let folder = folder.path();
    fs::write(folder.join("t.c"), "int f(void) { return 1; } int g;").expect("it can be written");
    run(&real("clang"), &["-c", "t.c", "-o", "t.o"], folder).ok();
    let gfx = "hip-amdgcn-amd-amdhsa--gfx900";
    let targets = format!("-targets={HOST},{gfx}");
    for (program, name) in [(&ours, "-output=ours.o"), (&theirs, "-output=theirs.o")] {
        run(
            program,
            &["-type=o", &targets, "-input=t.o", "-input=d", name],
            folder,
        )
        .ok();
    }
    for file in ["-input=ours.o", "-input=theirs.o"] {
        for program in [&ours, &theirs] {
            let list = run(program, &["-type=o", "-list", file], folder).ok();
            assert_eq!(list, format!("{HOST}-\n{gfx}\n"));
            let unbundle = ["-type=o", "-unbundle", &targets, file, "-output=h2", "-output=d2"];
            run(program, &unbundle, folder).ok();
            assert_eq!(fs::read(folder.join("d2")).expect("it was written"), b"device\n");
            let symbols = |file| run(&real("llvm-nm"), &[file], folder).ok();
            assert_eq!(symbols("h2"), symbols("t.o"));
        }
    }
    run(
        &real("llvm-ar"),
        &["cr", "all.a", "ours.o", "theirs.o", "t.o", "h"],
        folder,
    )
    .ok();
    let mut answers = Vec::new();
    for program in [&ours, &theirs] {
        let unbundle = [
            "-type=a",
            "-unbundle",
            &targets,
            "-input=all.a",
            "-output=h.a",
            "-output=d.a",
        ];
        run(program, &unbundle, folder).ok();
        let names = run(&real("llvm-ar"), &["t", "h.a"], folder).ok();
        let symbols = run(&real("llvm-nm"), &["-M", "h.a"], folder).ok();
        answers.push((
            names,
            symbols,
            fs::read(folder.join("d.a")).expect("it was written"),
        ));
    }
    assert_eq!(answers[0], answers[1]);
    // Which the real tool does not tell.
    let list = run(&ours, &["-type=a", "-list", "-input=all.a"], folder).ok();
    assert_eq!(list, format!("{HOST}-\n{gfx}\n"));
}

#[test]
fn what_the_real_tool_gets_wrong_is_right() {
    let (folder, ours) = workplace();
    let folder = folder.path();
    // Two processors that no compiler knows yet.
    let targets = "-targets=openmp-amdgcn-amd-amdhsa--gfx9999,openmp-amdgcn-amd-amdhsa--gfx8888";
    let with_host = format!("{targets},{HOST}");
    let inputs = [
        "-type=bc",
        &with_host,
        "-input=h",
        "-input=d",
        "-input=h",
        "-output=b",
    ];
    run(&ours, &inputs, folder).ok();
    let unbundle = [
        "-type=bc",
        "-unbundle",
        targets,
        "-input=b",
        "-output=x",
        "-output=y",
    ];
    run(&ours, &unbundle, folder).ok();
    assert_eq!(fs::read(folder.join("x")).expect("it was written"), b"host\n");
    assert_eq!(fs::read(folder.join("y")).expect("it was written"), b"device\n");

    let whole = fs::read(folder.join("b")).expect("it was written");
    for length in 24..whole.len() {
        fs::write(folder.join("cut"), &whole[..length]).expect("it can be written");
        let error = run(&ours, &["-type=bc", "-list", "-input=cut"], folder).fails(1);
        assert!(
            error.starts_with("clang-offload-bundler: error: cut: offset 0x"),
            "{error}"
        );
    }

    let text = [
        "-type=i",
        &with_host,
        "-input=h",
        "-input=d",
        "-input=h",
        "-output=t",
    ];
    run(&ours, &text, folder).ok();
    let whole = fs::read(folder.join("t")).expect("it was written");
    fs::write(folder.join("cut"), &whole[..whole.len() - 60]).expect("it can be written");
    let error = run(&ours, &["-type=i", "-list", "-input=cut"], folder).fails(1);
    assert!(error.contains("cut off (entry 2)"), "{error}");
}

#[test]
fn a_query_names_devices_and_kinds_of_code() {
    let (folder, ours) = workplace();
    let folder = folder.path();
    fs::write(folder.join("bc"), b"BC\xc0\xde").expect("it can be written");
    fs::write(folder.join("ptx"), ".version 7.8\n.target sm_60\n").expect("it can be written");
    let targets = format!(
        "-targets={HOST},hip-amdgcn-amd-amdhsa--gfx900,openmp-nvptx64-nvidia-cuda--sm_60,openmp-x86_64-pc-linux-gnu"
    );
    let inputs = ["-input=h", "-input=bc", "-input=ptx", "-input=bc"];
    let bundle = [
        &["-type=bc", targets.as_str()][..],
        &inputs,
        &["-compress", "-output=b"],
    ]
    .concat();
    run(&ours, &bundle, folder).ok();
    assert_eq!(
        run(&ours, &["-q", "b"], folder).ok(),
        "x86_64, gfx900-bc, sm_60-ptx, x86_64-bc\n"
    );
}
