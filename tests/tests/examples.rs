//! The examples of `examples/build-systems`: built as their users would build them, run, and compared.

use std::env;
use std::path::Path;
use std::process::Command;

use offkit_tests::documentation::{blocks, examples};
use offkit_tests::{Folder, need, programs, root};

/// A command that finds `offkit` as a user does, with the words of a line.
fn command(folder: &Folder, line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    let mut path = programs().into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    command
        .args(words)
        .env("PATH", path)
        .env("XDG_CACHE_HOME", folder.path("cache"));
    command
}

fn run(folder: &Folder, line: &str) -> String {
    folder.run_command(&mut command(folder, line)).ok()
}

fn example() -> String {
    root().join("examples/build-systems").display().to_string()
}

/// Runs what was built: the program on the host, its kernels on the CPU device.
fn check(folder: &Folder, built: &str) {
    let in_built = |line: &str| {
        let line = line.replace("BUILT", &folder.path(built).display().to_string());
        folder.run_command(&mut command(folder, &line))
    };
    // The program's three images, and the shared library's.
    assert_eq!(in_built("BUILT/app").ok(), "4 device images registered\n");

    let saxpy = "offkit run BUILT/app saxpy --global 1024 --arg f32:2.5 --arg x.npy --arg y.npy --check 2=expected.npy";
    in_built(&format!("{saxpy} --link BUILT/libblend.so")).ok();
    in_built("offkit run BUILT/app scale --global 1024 --arg f32:3 --arg x.npy --check 1=scaled.npy").ok();
    // What is in a shared library stays there.
    let message = in_built(saxpy).fails(2);
    assert!(message.contains("blend"), "{message}");

    let images = in_built("offkit ls --json BUILT/app BUILT/libblend.so BUILT/libvector.a").json();
    let all = |key: &str, file: &str| -> Vec<String> {
        let images = images.iter().filter(|image| {
            image["location"]
                .as_str()
                .is_some_and(|place| place.contains(file))
        });
        let names = images.flat_map(|image| image[key].as_array().cloned().unwrap_or_default());
        let mut names: Vec<_> = names
            .map(|name| name.as_str().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(all("kernels", "/app!"), ["saxpy", "scale"]);
    assert!(all("imports", "/app!").contains(&"blend".to_owned()));
    // Of the static library only the member that is needed, and of that only what is marked.
    assert_eq!(all("exports", "/app!"), ["multiply_add"]);
    assert_eq!(all("exports", "libblend.so!"), ["blend"]);
    assert!(all("exports", "libvector.a!").contains(&"nobody_calls_this".to_owned()));
}

#[test]
fn make_builds_the_example() {
    need!("clang-22", "llvm-config-22", "make");
    let folder = Folder::new();
    let built = folder.path("built");
    let make = format!(
        "make --no-print-directory -C {} FOLDER={}",
        example(),
        built.display()
    );
    run(&folder, &format!("{make} -j2"));
    check(&folder, "built");
    // What did not change is not made again, and headers count.
    assert!(run(&folder, &make).contains("up to date"));
    let dependencies =
        std::fs::read_to_string(built.join("objects/app/scale.d")).expect("the compiler wrote it");
    assert!(dependencies.contains("vector/vector.h"), "{dependencies}");
}

#[test]
fn cmake_builds_the_example() {
    need!("clang-22", "llvm-config-22", "cmake", "ninja");
    // From version 3.20 on, CMake tells the compiler the language of each file, unless it is asked not to.
    for policy in ["OLD", "NEW"] {
        let folder = Folder::new();
        let policy = format!("-DCMAKE_POLICY_DEFAULT_CMP0119={policy}");
        let configure = format!("cmake -G Ninja -S {} -B built {policy}", example());
        let mut configure = command(&folder, &configure);
        configure.env("CC", "offkit cc").env("CXX", "offkit c++");
        let told = folder.run_command(&mut configure).ok();
        assert!(
            told.contains("The CXX compiler identification is Clang 22"),
            "{told}"
        );
        run(&folder, "cmake --build built");
        check(&folder, "built");
        assert!(run(&folder, "cmake --build built").contains("no work to do"));
    }
}

#[test]
fn cmakes_own_checks_pass_with_offloading_switched_on() {
    need!("clang-22", "llvm-config-22", "cmake", "ninja");
    let folder = Folder::new();
    folder.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)
         project(checks C CXX)
         include(CheckCXXSourceCompiles)
         check_cxx_source_compiles(\"
           #include <offkit/device.h>
           OFFKIT_EXTERNAL int elsewhere();
           int main() {}\" HAS_HEADER)
         if(NOT HAS_HEADER)
           message(FATAL_ERROR \"offkit/device.h was not found\")
         endif()",
    );
    let mut configure = command(&folder, "cmake -G Ninja -S . -B built");
    configure
        .env("CC", "offkit cc")
        .env("CXX", "offkit c++")
        .env("CFLAGS", "-fsycl")
        .env("CXXFLAGS", "-fsycl");
    folder.run_command(&mut configure).ok();
}

#[test]
fn a_script_builds_the_example() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = Folder::new();
    let script = Path::new(&example()).join("build.sh");
    run(
        &folder,
        &format!("{} {}", script.display(), folder.path("built").display()),
    );
    check(&folder, "built");
}

#[test]
fn the_commands_of_the_guide_do_what_it_says() {
    need!("clang-22", "llvm-config-22", "ar", "jq");
    let folder = Folder::new();
    let mut commands = 0;
    for (language, content) in blocks("docs/driver.md") {
        if language != "console" {
            let first = content.lines().next().unwrap_or_default();
            let name = first.strip_prefix("// ").or(first.strip_prefix("; "));
            folder.write(name.expect("a source says its name"), &content);
            continue;
        }
        for example in examples(&content) {
            example.check(&folder);
            commands += 1;
        }
    }
    assert!(commands > 10, "{commands}");
}
