//! offkit beside the real SYCL and OpenMP runtimes in one process: whoever the loader finds first, each has what was
//! linked with it.

use std::fs;
use std::process::Command;

use offkit_tests::c_program::{compile, liboffkit};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, has_openmp, need, opencl_driver, programs, root, tool};

fn run(folder: &Folder, program: &str, words: &str) -> String {
    let mut command = Command::new(tool(program).expect("asked for before"));
    folder.run_command(command.args(words.split_whitespace())).ok()
}

/// Wraps an image of OpenCL C: `NAME.o`.
fn wrap(folder: &Folder, name: &str, source: &str) {
    folder.syclbin(name, source, "");
    let line = format!("wrap -q {name}.syclbin -o {name}.o --runtime sycl-v3");
    folder.offkit(&line).ok();
}

const KERNEL: &str = "kernel void k(global int *a) { size_t i = get_global_id(0); a[i] *= 10; }";

/// A library of offkit's with the kernel `k`, and the objects of a program that runs it after what another does.
fn prepared() -> Folder {
    let folder = Folder::new();
    wrap(&folder, "ours", KERNEL);
    compile(&folder, "cc", "-shared ours.o", "libours.so");
    let (include, sources) = (root().join("include"), root().join("tests/c-api"));
    let (include, sources) = (include.display(), sources.display());
    run(
        &folder,
        "cc",
        &format!("-c -I{include} -Dmain=run_offkit {sources}/scopes.c -o scopes.o"),
    );
    run(&folder, "cc", &format!("-c {sources}/both.c -o both.o"));
    folder
}

const TEN: &str = "10 20 30 40\n";

/// What `images` and `k` print: where the only image is.
#[track_caller]
fn has_only(printed: &str, file: &str) {
    let lines: Vec<_> = printed.lines().collect();
    let [location, numbers] = lines.as_slice() else {
        panic!("{printed}");
    };
    assert!(location.contains(file), "{printed}");
    assert_eq!(format!("{numbers}\n"), TEN);
}

#[test]
fn the_sycl_runtime_and_offkit_have_each_their_own_in_either_order() {
    need!("cc", "clang-22", "llc", "llvm-config-22", "llvm-objcopy");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = prepared();
    let kernel = |name: &str| {
        format!("kernel void {name}(global int *n) {{ size_t i = get_global_id(0); n[i] = n[i] * 7 + 1; }}")
    };
    wrap(&folder, "theirs", &kernel("app_kernel"));
    runtime.link(&folder, "clang-22", "libtheirs.so", &["-shared", "theirs.o"]);
    let other = runtime.registered_object().display().to_string();
    run(
        &folder,
        "llvm-objcopy",
        &format!("--redefine-sym main=run_other {other} other.o"),
    );
    wrap(
        &folder,
        "later",
        "kernel void k(global int *a) { a[get_global_id(0)] = 0; }",
    );
    // A program that is linked with both may have images for either.
    wrap(&folder, "mixed", &(kernel("app_kernel") + &kernel("m")));

    let sycl = format!("-L{} -l:libsycl.so.9", runtime.library_folder().display());
    let library = liboffkit();
    let place = library.parent().expect("a folder").display();
    let offkit = format!("-L{place} -Wl,-rpath,{place} -loffkit");
    let answer = "8 15 22 29 36 43 50 57 ";
    for (number, order) in [format!("{offkit} {sycl}"), format!("{sycl} {offkit}")]
        .iter()
        .enumerate()
    {
        let link = |output: &str, more: &str| {
            let words =
                format!("other.o scopes.o both.o -Wl,--no-as-needed {more} {order} -Wl,-rpath,$ORIGIN");
            runtime.link(
                &folder,
                "cc",
                output,
                &words.split_whitespace().collect::<Vec<_>>(),
            );
        };
        link("loads", "");
        link("linked", "-L. -ltheirs -lours");
        link("mixes", "mixed.o");
        let run = |program: &str, words: &str| {
            let words: Vec<_> = words.split(' ').collect();
            runtime.run_linked(&folder, program, &words).ok()
        };
        // Libraries that come and go.
        let printed = run(
            "loads",
            "./libtheirs.so -- global:./libours.so images k close images",
        );
        let rest = printed.strip_prefix(&format!("{answer}gone\n"));
        has_only(
            rest.unwrap_or_else(|| panic!("{number}: {printed}")),
            "/libours.so!",
        );
        // Libraries that are there from the start.
        let printed = run("linked", "-- images k");
        let rest = printed.strip_prefix(&format!("{answer}registered\n"));
        has_only(
            rest.unwrap_or_else(|| panic!("{number}: {printed}")),
            "/libours.so!",
        );
        // Libraries whose files are others by the time that somebody looks for a kernel, or gone.
        for change in ["replace", "remove"] {
            compile(&folder, "cc", "-shared later.o", "libours.so.new");
            let words = format!("./libtheirs.so -- global:./libours.so {change}:./libours.so images k");
            let printed = run("loads", &words);
            let rest = printed.strip_prefix(&format!("{answer}gone\n"));
            has_only(
                rest.unwrap_or_else(|| panic!("{number}: {printed}")),
                "/libours.so!",
            );
            compile(&folder, "cc", "-shared ours.o", "libours.so");
        }
        // The program's own.
        let printed = run("mixes", "-- m");
        assert_eq!(printed, format!("{answer}registered\n8 15 22 29\n"), "{number}");
    }
}

#[test]
fn the_openmp_runtime_and_offkit_have_each_their_own_in_either_order() {
    need!("cc", "clang-22", "llc", "llvm-config-22");
    if !has_openmp() {
        return;
    }
    let folder = prepared();
    folder.write(
        "other.c",
        "#include <dlfcn.h>
         #include <stdio.h>
         int run_other(int argc, char **argv) {
           void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
           int (*twice)(int) = (int (*)(int))dlsym(library ? library : RTLD_DEFAULT, \"twice\");
           if (!twice) { puts(dlerror()); return 1; }
           printf(\"%d\\n\", twice(21));
           if (library) dlclose(library);
           return 0;
         }",
    );
    folder.write(
        "theirs.c",
        "int twice(int x) {
           int is_host = 1;
         #pragma omp target map(tofrom: x, is_host)
           { x *= 2; is_host = 0; }
           return is_host ? -1 : x;
         }",
    );
    let openmp = "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu";
    run(
        &folder,
        "clang-22",
        &format!("{openmp} -shared -fPIC theirs.c -o libtheirs.so"),
    );
    run(&folder, "cc", "-c other.c -o other.o");
    // Meant for offkit: what clang registers for OpenMP, and an image that offkit runs.
    let meant = |words: &str, output: &str| compile(&folder, "clang-22", words, output);
    meant(&format!("{openmp} -shared -fPIC theirs.c"), "libclangs.so");
    folder.write("openmp.cl", KERNEL);
    run(
        &folder,
        "clang-22",
        "--target=spirv64 -cl-std=CL3.0 -O1 -c openmp.cl -o openmp.spv",
    );
    folder
        .offkit("wrap -q openmp.spv -o openmp.o --runtime openmp")
        .ok();
    meant("-shared openmp.o", "libopenmp.so");
    let library = liboffkit();
    let place = library.parent().expect("a folder").display();
    let offkit = format!("-L{place} -Wl,-rpath,{place} -loffkit");
    let runtime = "-L/usr/lib/llvm-22/lib -lomptarget -Wl,-rpath,/usr/lib/llvm-22/lib";
    for order in [format!("{offkit} {runtime}"), format!("{runtime} {offkit}")] {
        let link = |output: &str, more: &str| {
            let words = format!(
                "other.o scopes.o both.o -rdynamic -Wl,--no-as-needed {more} {order} -ldl -Wl,-rpath,$ORIGIN -o {output}"
            );
            run(&folder, "cc", &words);
        };
        link("loads", "");
        link("linked", "-L. -ltheirs -lours");
        let run = |program: &str, words: &str| {
            let mut command = Command::new(folder.path(program));
            command
                .args(words.split(' '))
                .env("OMP_TARGET_OFFLOAD", "MANDATORY")
                .env("OCL_ICD_VENDORS", "/nowhere/")
                .env("XDG_CACHE_HOME", programs().join("test-cache"));
            folder.run_command(&mut command).ok()
        };
        let printed = run(
            "loads",
            "./libtheirs.so -- global:./libours.so images k close images",
        );
        let rest = printed.strip_prefix("42\n");
        has_only(
            rest.unwrap_or_else(|| panic!("{order}: {printed}")),
            "/libours.so!",
        );
        let printed = run("linked", "-- images k");
        let rest = printed.strip_prefix("42\n");
        has_only(
            rest.unwrap_or_else(|| panic!("{order}: {printed}")),
            "/libours.so!",
        );
        // Descriptors of OpenMP that the other runtime may be told of, in libraries whose files are there or gone.
        for change in ["", "remove:./libopenmp.so "] {
            let printed = run(
                "loads",
                &format!("./libtheirs.so -- global:./libopenmp.so {change}images k"),
            );
            let rest = printed.strip_prefix("42\n");
            has_only(
                rest.unwrap_or_else(|| panic!("{order}: {printed}")),
                "/libopenmp.so",
            );
        }
        meant("-shared openmp.o", "libopenmp.so");
        // clang's own code for this processor is the same image, whether offkit is told of it or reads it from the library,
        // which may be gone.
        let clangs = fs::read(folder.path("libclangs.so")).expect("a library");
        let region = region_of(&clangs);
        for change in ["", "remove:./libclangs.so "] {
            let words = format!("./libtheirs.so -- global:./libclangs.so {change}images {region}");
            let printed = run("loads", &words);
            let images: Vec<_> = printed.lines().skip(1).collect();
            let [image, error] = images.as_slice() else {
                panic!("{order}: {printed}");
            };
            assert!(image.contains("/libclangs.so!"), "{order}: {printed}");
            let is_known = error.contains(&format!("takes no image of kernel `{region}`"))
                && error.contains("(ELF for x86_64-pc-linux-gnu)");
            assert!(is_known, "{order}: {printed}");
        }
        meant(&format!("{openmp} -shared -fPIC theirs.c"), "libclangs.so");
    }
}

/// The name of the region in a library that clang has made.
fn region_of(library: &[u8]) -> &str {
    const BEGIN: &[u8] = b"__omp_offloading_";
    let at = library
        .windows(BEGIN.len())
        .position(|bytes| bytes == BEGIN)
        .expect("a region");
    let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
    let name = library[at..].split(is_end).next().expect("its name");
    std::str::from_utf8(name).expect("a text")
}

/// dpnp's libraries register 17,000 images with libsycl.
#[test]
#[ignore = "takes 700 MB of packages: ./dev hosts dpnp"]
fn dpnp_and_offkit_have_each_their_own_in_either_order() {
    need!("cc", "clang-22", "llc", "llvm-config-22");
    let python = std::env::var_os("OFFKIT_DPNP").expect("OFFKIT_DPNP is an interpreter that has dpnp");
    let folder = prepared();
    let library = liboffkit();
    let place = library.parent().expect("a folder").display();
    let (include, sources) = (root().join("include"), root().join("tests/c-api"));
    let words = format!(
        "-shared -fPIC -I{} -Dmain=run_offkit {}/scopes.c -o libscopes.so -L{place} -Wl,-rpath,{place} -loffkit",
        include.display(),
        sources.display()
    );
    run(&folder, "cc", &words);
    for first in ["dpnp", "offkit"] {
        let mut command = Command::new(&python);
        command
            .arg(root().join("tests/python/both.py"))
            .args([first, "./libscopes.so", "./libours.so"])
            .env("OCL_ICD_VENDORS", folder.drivers(&opencl_driver()))
            .env("XDG_CACHE_HOME", programs().join("test-cache"))
            .env_remove("OCL_ICD_FILENAMES")
            .env_remove("ONEAPI_DEVICE_SELECTOR");
        has_only(&folder.run_command(&mut command).ok(), "/libours.so!");
    }
}
