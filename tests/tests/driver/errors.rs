//! What a compilation that fails says.

use super::*;

#[test]
fn failures_are_told_once() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("broken.cpp", "int f( { return }\n");
    let outcome = driver(&folder, "c++ -fsyclbin broken.cpp library.cl -o out.syclbin");
    let message = outcome.fails(1);
    assert!(
        message.contains("broken.cpp:1:10: error: expected expression"),
        "{message}"
    );
    assert_eq!(message.matches("expected expression").count(), 1, "{message}");
    assert!(!folder.path("out.syclbin").exists());

    for (line, expected) in [
        (
            "c++ -fsyclbin=some kernel.cpp",
            "invalid value 'some' in '-fsyclbin='",
        ),
        (
            "c++ -fsycl -c kernel.cpp library.cl -o x.o",
            "cannot specify -o when generating multiple output files",
        ),
        (
            "c++ -fsyclbin=input -fno-sycl-allow-device-image-dependencies kernel.cpp",
            "'-fno-sycl-allow-device-image-dependencies' not allowed with '-fsyclbin=input'",
        ),
    ] {
        let message = driver(&folder, line).fails(2);
        assert!(message.contains(expected), "{line}: {message}");
    }
}

#[test]
fn warnings_about_host_and_device_are_told_once() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "warned.cpp",
        "int both() { int on_both; return 1; }
#ifdef __SYCL_DEVICE_ONLY__
int device() { int on_device; return 1; }
#else
int host() { int on_host; return 1; }
#endif
",
    );
    let said = driver(&folder, "c++ -fsycl -Wall -c warned.cpp -o warned.o").stderr;
    for name in ["on_both", "on_device", "on_host"] {
        let warning = format!("unused variable '{name}'");
        assert_eq!(said.matches(&warning).count(), 1, "{said}");
    }
    assert!(said.contains("2 warnings generated.\n"), "{said}");
    assert!(said.contains("\n1 warning generated.\n"), "{said}");
}

#[test]
fn errors_speak_of_what_was_typed() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    const FILL: &str = "kernel void fill(global int *p) { p[get_global_id(0)] = 1; }\n";
    folder.write("one.cl", FILL);
    folder.write("two.cl", FILL);
    folder.write("main.cpp", "int missing();\nint main() { return missing(); }\n");
    let said = |line: &str| {
        let outcome = driver(&folder, line);
        assert_ne!(outcome.code, 0, "{line}");
        // Neither temporary files nor the options of what the driver calls.
        for foreign in [".marked.bc", "--state", "--allow-undefined", "--target"] {
            assert!(!outcome.stderr.contains(foreign), "{line}: {}", outcome.stderr);
        }
        outcome.stderr
    };
    let twice = said("c++ -fsyclbin one.cl two.cl");
    assert!(twice.contains("(one.cl and two.cl)"), "{twice}");
    let undefined = said("c++ -fsyclbin kernel.cpp");
    assert!(undefined.contains("`-fsyclbin=object`"), "{undefined}");
    let undefined = said("c++ -fsycl kernel.cpp main.cpp");
    assert!(
        undefined.contains("`-fsycl-allow-device-image-dependencies`"),
        "{undefined}"
    );
    // Without that option a program gets offkit's own runtime.
    let linked = said("c++ -fsycl one.cl main.cpp -nodefaultlibs");
    assert!(
        linked.contains("main.cpp:(.text") && linked.contains("hint: a runtime registers"),
        "{linked}"
    );
    let processor = said("c++ -fsyclbin -fsycl-targets=nvptx64-nvidia-cuda one.cl");
    assert!(processor.contains("--offload-arch=sm_80"), "{processor}");
    let native = said("c++ -fsyclbin -fsycl-targets=native_cpu one.cl");
    assert!(native.contains("`native_cpu` is a target of DPC++"), "{native}");
    let work_items = said("c++ -fsyclbin -fsycl-targets=x86_64-unknown-linux-gnu kernel.cpp");
    assert!(
        work_items.contains("'offkit_global_id' is unavailable"),
        "{work_items}"
    );
    // Host and device say the same of a source, once; and of what is written, its own name is said.
    let unknown = said("c++ -fsycl -fsycl-nonsense kernel.cpp");
    assert_eq!(unknown.matches("-fsycl-nonsense").count(), 1, "{unknown}");
    let itself = said("c++ -fsyclbin one.cl -o one.cl");
    assert!(itself.contains("`one.cl` is read"), "{itself}");
    assert_eq!(folder.read("one.cl"), FILL.as_bytes());
    // Files that stay are known by their own names.
    let kept = driver(&folder, "c++ -fsyclbin -save-temps one.cl two.cl").fails(2);
    assert!(kept.contains("marked.bc"), "{kept}");
}

#[test]
fn options_without_effect_are_told() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    let unused = "argument unused during compilation: '-fsyclbin=object' [-Wunused-command-line-argument]";
    let line = "c++ -fsycl -fsycl-device-only -fsyclbin=object -c library.cl -o library.bc";
    let outcome = driver(&folder, line);
    assert!(outcome.stderr.contains(unused), "{outcome:#?}");
    outcome.ok();
    let outcome = driver(&folder, &format!("{line} -Wno-unused-command-line-argument"));
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
    let outcome = driver(
        &folder,
        "c++ -fsyclbin -fsycl-allow-device-image-dependencies -### library.cl",
    );
    let ignored = "'-fsycl-allow-device-image-dependencies' has no effect with '-fsyclbin=executable' [-Woption-ignored]";
    assert!(outcome.stderr.contains(ignored), "{outcome:#?}");
    // What `-fsycl-device-only` leaves is linked like any bitcode, by its marks.
    folder.offkit("link library.bc -o library.syclbin").ok();
    let listing = folder.offkit("ls --json library.syclbin").json();
    assert_eq!(listing[0]["exports"], serde_json::json!(["axpy"]));
}

#[test]
fn a_missing_compiler_is_the_machines_fault() {
    let folder = sources();
    let mut command = Command::new(offkit());
    command
        .args(["cc", "-c", "kernel.cpp"])
        .env("OFFKIT_CLANG", "/nonexistent/clang");
    let message = folder.run_command(&mut command).fails(3);
    assert!(
        message.contains("/nonexistent/clang") && message.contains("OFFKIT_CLANG"),
        "{message}"
    );
}

#[test]
fn device_code_in_c_is_refused_in_one_error() {
    need!("clang-22");
    let folder = Folder::new();
    folder.write(
        "a.c",
        "#include <offkit/device.h>\nOFFKIT_EXPORT int f(int x) { return x; }\n",
    );
    let message = driver(&folder, "cc -fsycl -c a.c").fails(1);
    assert!(
        message.contains("compile the file as C++ or as OpenCL C"),
        "{message}"
    );
    assert_eq!(message.matches("error:").count(), 1, "{message}");
}
