//! Members of archives that the host's linker leaves out.

use super::*;

/// A function for the host, and a kernel that needs a function, which is nowhere, by way of another one.
const BAD: &str = "#include <offkit/device.h>
    OFFKIT_C OFFKIT_EXTERNAL int nowhere(int x);
    OFFKIT_C OFFKIT_EXTERNAL __attribute__((noinline)) int between(int x) { return nowhere(x) + 1; }
    OFFKIT_C OFFKIT_KERNEL void bad_kernel(OFFKIT_GLOBAL int *x) { x[0] = between(x[0]); }
    extern \"C\" int bad() { return 1; }";

const GOOD: &str = "#include <offkit/device.h>
    OFFKIT_C OFFKIT_KERNEL void good_kernel(OFFKIT_GLOBAL int *x) { x[0] = 1; }";

/// Prints whether images registered themselves, and what another file says.
const MAIN: &str = "#include <stdio.h>
    static int images;
    void __sycl_register_lib(const unsigned short *descriptor) { images += descriptor[1]; }
    void __sycl_unregister_lib(const unsigned short *descriptor) {}
    int other(void);
    int main(void) { printf(\"%s %d\\n\", images ? \"registered\" : \"nothing\", other()); return 0; }";

/// A folder with `libmembers.a`: a member with a bad kernel, one that uses it on the host, and one with a good kernel.
fn archives() -> Folder {
    let folder = sources();
    folder.write("main.c", MAIN);
    folder.write("without.c", "int other(void) { return 0; }");
    folder.write("with.c", "int user(void);\nint other(void) { return user(); }");
    folder.write("user.c", "int bad(void);\nint user(void) { return bad() + 1; }");
    folder.write("bad.cpp", BAD);
    folder.write("good.cpp", GOOD);
    driver(&folder, "c++ -fsycl -c kernel.cpp library.cl bad.cpp good.cpp").ok();
    driver(&folder, "cc -c user.c with.c without.c").ok();
    let members = ["rcs", "libmembers.a", "bad.o", "user.o", "good.o"];
    folder.run(tool("ar").unwrap(), members).ok();
    folder
        .run(
            tool("ar").unwrap(),
            ["rcsT", "libthin.a", "bad.o", "user.o", "good.o"],
        )
        .ok();
    folder
}

#[test]
fn a_member_that_the_program_leaves_out_may_need_what_is_nowhere() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = archives();
    let device = "kernel.o library.o";
    // The host's objects made in the same command or before, the archive by its name or as a library.
    driver(&folder, "cc -fsycl -c main.c -o main.o").ok();
    for inputs in [
        format!("main.c without.c {device} libmembers.a"),
        format!("main.o without.o {device} libmembers.a"),
        format!("main.c without.c {device} -L. -lmembers"),
        format!("main.c without.o {device} libthin.a"),
        format!("main.o without.o {device} -Wl,--start-group,libmembers.a,--end-group"),
    ] {
        let linked = driver(&folder, &format!("cc -fsycl {inputs} -o app"));
        let program = folder.path("app");
        let no_arguments: [&str; 0] = [];
        assert_eq!(linked.code, 0, "{inputs}: {linked:#?}");
        assert_eq!(
            folder.run(&program, no_arguments).ok(),
            "registered 0\n",
            "{inputs}"
        );
        // Whoever launches the kernel by its name should know.
        let left_out = "bad.o/.llvm.offloading";
        for part in [left_out, "is left out: the program does not use it", "`nowhere`"] {
            assert!(
                linked.stderr.contains(part),
                "{inputs}: {part}: {}",
                linked.stderr
            );
        }
        let kernels: Vec<_> = (folder.offkit("ls --json app").json().iter())
            .flat_map(|image| image["kernels"].as_array().expect("a list").clone())
            .collect();
        assert!(kernels.contains(&"good_kernel".into()), "{inputs}: {kernels:?}");
        assert!(!kernels.contains(&"bad_kernel".into()), "{inputs}: {kernels:?}");
    }
}

#[test]
fn a_member_that_the_program_needs_has_to_be_complete() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = archives();
    let device = "kernel.o library.o";
    folder.write(
        "caller.cpp",
        "#include <offkit/device.h>
         OFFKIT_C OFFKIT_EXTERNAL int between(int x);
         OFFKIT_C OFFKIT_KERNEL void caller(OFFKIT_GLOBAL int *x) { x[0] = between(x[0]); }",
    );
    for (inputs, kernel) in [
        // The host needs it by way of another member, or device code does, or all members are wanted.
        (format!("main.c with.c {device} libmembers.a"), "bad_kernel"),
        (format!("main.c with.c {device} -L. -lmembers"), "bad_kernel"),
        (
            format!("main.c without.c caller.cpp {device} libmembers.a"),
            "caller",
        ),
        (
            format!("main.c without.c {device} -Wl,--whole-archive libmembers.a -Wl,--no-whole-archive"),
            "bad_kernel",
        ),
        (
            format!("-Wl,-u,bad -flto main.c with.c {device} libmembers.a"),
            "bad_kernel",
        ),
    ] {
        let error = driver(&folder, &format!("cc -fsycl {inputs} -o app")).fails(2);
        for part in [
            "undefined symbol `nowhere`",
            &format!("{kernel} → between → nowhere"),
        ] {
            assert!(error.contains(part), "{inputs}: {part}: {error}");
        }
    }
}

#[test]
fn objects_may_be_bitcode_for_the_host() {
    need!("clang-22", "llvm-config-22", "ar", "ld.lld");
    let folder = archives();
    // One object with device code and one without, both bitcode; the same in an archive.
    driver(&folder, "c++ -fsycl -flto -c good.cpp").ok();
    driver(&folder, "cc -flto -c without.c").ok();
    let listed = folder.offkit("ls --json good.o").json();
    assert_eq!(listed[0]["location"], "good.o!.llvm.offloading/0");
    assert_eq!(listed[0]["kernels"], serde_json::json!(["good_kernel"]));
    assert_eq!(listed[0]["compression"], "bitcode");
    let members = ["rcs", "liblto.a", "good.o", "without.o"];
    folder.run(tool("ar").unwrap(), members).ok();
    for inputs in ["good.o without.o", "liblto.a"] {
        driver(
            &folder,
            &format!("cc -fsycl -flto -fuse-ld=lld main.c {inputs} -o app"),
        )
        .ok();
        let kernels = folder.offkit("ls --json app").json();
        assert_eq!(
            kernels[0]["kernels"],
            serde_json::json!(["good_kernel"]),
            "{inputs}"
        );
        let no_arguments: [&str; 0] = [];
        let app = folder.path("app");
        assert_eq!(folder.run(&app, no_arguments).ok(), "registered 0\n", "{inputs}");
    }
}

#[test]
fn a_link_of_archives_can_be_typed() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = archives();
    let plan = driver(
        &folder,
        "cc -fsycl main.c without.c kernel.o library.o libmembers.a -o app -###",
    );
    assert_eq!(plan.code, 0, "{plan:#?}");
    folder.write("plan.sh", format!("set -e\n{}", plan.stderr));
    folder.run("sh", ["plan.sh"]).ok();
    let no_arguments: [&str; 0] = [];
    assert_eq!(
        folder.run(folder.path("app"), no_arguments).ok(),
        "registered 0\n"
    );
}
