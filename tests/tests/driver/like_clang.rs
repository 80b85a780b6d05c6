//! What build systems and people who know clang expect.

use super::*;

#[test]
fn the_plan_can_be_typed() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write(
        "with space.cl",
        "#include <offkit/device.h>\nOFFKIT_EXPORT int spaced(int x) { return x; }",
    );
    let mut command = Command::new(offkit());
    command
        .env("XDG_CACHE_HOME", folder.path("cache"))
        .env("TMPDIR", folder.path(""));
    command.args([
        "c++",
        "-fsyclbin=object",
        "-DQUOTED=\"a $b\"",
        "kernel.cpp",
        "with space.cl",
        "-o",
        "out.syclbin",
        "-###",
    ]);
    let plan = folder.run_command(&mut command);
    assert_eq!((plan.code, &*plan.stdout), (0, ""));
    let lines: Vec<_> = plan.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(lines.iter().all(|line| line.starts_with(" \"/")), "{lines:#?}");
    assert!(!folder.path("out.syclbin").exists());
    for line in &lines {
        folder.run("sh", ["-c", line]).ok();
    }
    let listing = folder.offkit("ls --json out.syclbin").json();
    assert!(
        listing
            .iter()
            .any(|image| image["kernels"] == serde_json::json!(["saxpy"])),
        "{listing:#?}"
    );
    assert!(
        listing
            .iter()
            .any(|image| image["exports"] == serde_json::json!(["spaced"])),
        "{listing:#?}"
    );
}

#[test]
fn temporary_files_stay_when_asked_to() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    driver(&folder, "c++ -fsycl -save-temps -c kernel.cpp").ok();
    let files = folder.list();
    for name in [
        "kernel-sycl-spirv64-unknown-unknown.bc",
        "kernel-sycl-spirv64-unknown-unknown.marked.bc",
        "kernel-sycl.out",
        "kernel.o",
    ] {
        assert!(
            files.iter().any(|file| file == name),
            "{name} is not among {files:?}"
        );
    }
    let clean = sources();
    driver(&clean, "c++ -fsycl -c kernel.cpp").ok();
    assert_eq!(clean.list(), ["cache", "kernel.cpp", "kernel.o", "library.cl"]);
}

#[test]
fn without_offloading_it_is_clang() {
    need!("clang-22");
    let folder = Folder::new();
    folder.write("a.c", "int f(int x) { return x + ADDED; }\n");
    folder.write("broken.c", "int f( { return }\n");
    folder.write(
        "main.cpp",
        "#include <string>\nint main() { return std::string(\"four\").size(); }\n",
    );
    let clang = tool("clang-22").expect("asked for");
    for line in [
        "--version",
        "-print-resource-dir",
        "-dumpmachine",
        "-E -DADDED=1 a.c",
        "-M a.c",
        "-S -O2 -DADDED=1 a.c -o -",
        "-c broken.c",
        "-c a.c -unknown-option",
        "-c a.c -lm -DADDED=1",
        "missing.c",
        "",
    ] {
        let ours = driver(&folder, &format!("cc {line}"));
        let theirs = folder.run(&clang, line.split_whitespace());
        assert_eq!(
            (ours.code, ours.stdout, ours.stderr),
            (theirs.code, theirs.stdout, theirs.stderr),
            "{line}"
        );
    }
    driver(&folder, "c++ main.cpp -o main").ok();
    assert_eq!(folder.run(folder.path("main"), [""; 0]).code, 4);
    // Nothing was written beside what clang writes.
    assert!(!folder.path("cache").exists());
}

#[test]
fn build_systems_learn_what_objects_depend_on() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("inner.h", "#define INNER 1\n");
    for source in ["kernel.cpp", "library.cl"] {
        let text = String::from_utf8(folder.read(source)).expect("text");
        folder.write(source, format!("#include \"inner.h\"\n{text}"));
    }
    driver(&folder, "c++ -fsycl -MMD -c kernel.cpp -o k.o").ok();
    driver(&folder, "c++ -fsycl -MMD -c library.cl -o l.o").ok();
    driver(
        &folder,
        "c++ -fsycl -MD -MF l.dep -MT target -c library.cl -o m.o",
    )
    .ok();
    for (file, target) in [("k.d", "k.o:"), ("l.d", "l.o:"), ("l.dep", "target:")] {
        let content = String::from_utf8(folder.read(file)).expect("text");
        assert!(
            content.starts_with(target) && content.contains("inner.h"),
            "{file}: {content}"
        );
    }
}

#[test]
fn arguments_come_from_files() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("arguments", "-fsyclbin=object \"kernel.cpp\"\n-o out.syclbin");
    driver(&folder, "c++ @arguments").ok();
    assert!(folder.path("out.syclbin").exists());
    // More than a system takes on a command line, for clang to read from a file as well.
    let many: String = (0..5_000)
        .map(|number| format!("-DA_RATHER_LONG_NAME_OF_A_MACRO_{number}='a {number}'\n"))
        .collect();
    folder.write("many", many);
    driver(&folder, "c++ -fsycl -c kernel.cpp @many").ok();
    // And for the device's link; with so small a stack the system takes 128 KiB.
    driver(&folder, "c++ -fsycl -c library.cl").ok();
    let ar = tool("ar").expect("installed with the linker");
    folder.run(ar, ["rcs", "liblibrary.a", "library.o"]).ok();
    let again = format!("{}liblibrary.a\n", "./".repeat(100));
    folder.write("many", again.repeat(1_000));
    let link = format!(
        "ulimit -s 512; exec {} c++ -fsyclbin kernel.o @many -o many.syclbin",
        offkit().display()
    );
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &link])
        .env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(&mut shell).ok();
    assert!(folder.path("many.syclbin").exists());
}

#[test]
fn commands_are_timed() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    let timed = driver(
        &folder,
        "c++ -fsyclbin -time kernel.cpp library.cl -o out.syclbin",
    );
    assert_eq!(timed.code, 0, "{timed:?}");
    let lines: Vec<_> = timed.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{timed:?}");
    assert!(
        lines[0].contains(" kernel.cpp → kernel-") && lines[4].ends_with("offkit link → out.syclbin"),
        "{timed:?}"
    );
}

#[test]
fn tools_come_from_a_folder_that_nobody_else_writes_to() {
    use std::os::unix::fs::PermissionsExt;
    need!("clang-22");
    let folder = sources();
    let temporary = folder.path("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let without_home = || {
        let mut command = Command::new(offkit());
        command
            .args(["c++", "-fsycl", "-###", "-c", "kernel.cpp"])
            .env_remove("HOME")
            .env_remove("XDG_CACHE_HOME")
            .env("TMPDIR", &temporary);
        folder.run_command(&mut command)
    };
    without_home().ok();
    let mut made = std::fs::read_dir(&temporary).expect("it is there");
    let made = made
        .next()
        .expect("the folder of tools")
        .expect("an entry")
        .path();
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&made), 0o700);
    without_home().ok();

    std::fs::set_permissions(&made, PermissionsExt::from_mode(0o777)).expect("it is ours");
    // Its own temporary files do then.
    let commands = without_home();
    assert!(!commands.stderr.contains("offkit-cache"), "{commands:?}");
    commands.ok();
}

#[test]
fn libraries_come_from_named_folders_only() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = sources();
    driver(&folder, "c++ -fsycl -c library.cl").ok();
    folder
        .run(
            tool("ar").expect("asked for before"),
            ["rcs", "libstray.a", "library.o"],
        )
        .ok();
    let link = |variable: Option<&str>| {
        let mut command = Command::new(offkit());
        command
            .args(["c++", "-fsyclbin", "kernel.cpp", "-lstray"])
            .env("XDG_CACHE_HOME", folder.path("cache"))
            .env_remove("LIBRARY_PATH");
        command.envs(variable.map(|value| ("LIBRARY_PATH", value)));
        folder.run_command(&mut command)
    };
    link(Some(".")).ok();
    for variable in [None, Some(""), Some("/nonexistent:")] {
        let outcome = link(variable);
        assert_eq!(outcome.code, 2, "{variable:?}: {outcome:?}");
    }
}

#[test]
fn a_compiler_of_one_word_is_a_link() {
    need!("clang-22");
    let folder = Folder::new();
    std::os::unix::fs::symlink(offkit(), folder.path("offkit-c++")).expect("a link");
    folder.write(
        "main.cpp",
        "#include <string>\nint main() { return std::string(\"four\").size(); }\n",
    );
    folder
        .run(folder.path("offkit-c++"), ["main.cpp", "-o", "main"])
        .ok();
    assert_eq!(folder.run(folder.path("main"), [""; 0]).code, 4);
}

#[test]
fn another_clang_is_used_when_named() {
    need!("clang-22");
    let folder = Folder::new();
    let other = folder.script("other-clang", "echo \"called with $*\"");
    let mut command = Command::new(offkit());
    command.args(["c++", "-c", "a.cpp"]).env("OFFKIT_CLANG", other);
    assert_eq!(
        folder.run_command(&mut command).ok(),
        "called with --driver-mode=g++ -c a.cpp\n"
    );
}
