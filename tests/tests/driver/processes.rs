//! What the driver starts, and what it shows instead.

use super::*;

/// Stands for a SYCL runtime.
const MAIN: &str = "
#include <cstdint>
#include <cstdio>
static int images;
extern \"C\" void __sycl_register_lib(const std::uint16_t *descriptor) { images += descriptor[1]; }
extern \"C\" void __sycl_unregister_lib(const std::uint16_t *) {}
int main() { std::printf(\"%s\\n\", images ? \"registered\" : \"nothing there\"); }
";

#[test]
fn a_program_takes_one_offkit_and_one_worker() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("main.cpp", MAIN);
    // The program is gone when clang runs: no other can be started.
    std::fs::copy(offkit(), folder.path("offkit")).expect("a copy");
    let clang = folder.script(
        "clang",
        &format!(
            "echo $PPID >> clang.log; rm -f offkit; exec {} \"$@\"",
            tool("clang-22").expect("asked for").display()
        ),
    );
    let worker = folder.script(
        "worker",
        &format!(
            "echo $PPID >> worker.log; exec {} \"$@\"",
            programs().join("offkit-llvm-worker").display()
        ),
    );
    let mut command = Command::new(folder.path("offkit"));
    command
        .args([
            "c++",
            "-fsycl",
            "main.cpp",
            "kernel.cpp",
            "library.cl",
            "-o",
            "app",
        ])
        .env("XDG_CACHE_HOME", folder.path("cache"))
        .env("OFFKIT_CLANG", clang)
        .env("OFFKIT_LLVM_WORKER", worker);
    folder.run_command(&mut command).ok();
    assert!(!folder.path("offkit").exists());
    assert_eq!(folder.run(folder.path("app"), [""; 0]).ok(), "registered\n");

    let starts = |log: &str| -> Vec<String> {
        let text = String::from_utf8(folder.read(log)).expect("numbers");
        text.lines().map(str::to_owned).collect()
    };
    let (clangs, workers) = (starts("clang.log"), starts("worker.log"));
    assert_eq!(workers.len(), 1, "{workers:?}");
    // Two sources for host and device, one for the device, and the host's link.
    assert_eq!(clangs.len(), 6, "{clangs:?}");
    assert!(
        clangs.iter().all(|parent| *parent == workers[0]),
        "{clangs:?} {workers:?}"
    );
}

#[test]
fn commands_that_are_typed_make_the_same_files() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("main.cpp", MAIN);
    let device_options = "-Xsycl-target-backend -cl-fast-relaxed-math";
    for (line, output) in [
        (
            "-fsyclbin kernel.cpp library.cl -o kernels.syclbin",
            "kernels.syclbin",
        ),
        ("-fsycl -c kernel.cpp -o kernel.o", "kernel.o"),
        (
            "-fsycl -fsycl-device-only -c kernel.cpp -o kernel.bc",
            "kernel.bc",
        ),
        (
            &*format!("-fsycl -fsycl-link {device_options} kernel.cpp library.cl -o images.o"),
            "images.o",
        ),
    ] {
        driver(&folder, &format!("c++ {line}")).ok();
        let ours = folder.read(output);
        std::fs::remove_file(folder.path(output)).expect("it was made");
        let plan = driver(&folder, &format!("c++ {line} -###"));
        assert_eq!(plan.code, 0, "{plan:?}");
        folder.run("sh", ["-e", "-c", &*plan.stderr]).ok();
        assert!(ours == folder.read(output), "{line}");
    }
}
