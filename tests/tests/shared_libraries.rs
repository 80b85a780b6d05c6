//! Device code of programs and shared libraries, found as the loader finds host code: preloaded libraries, libraries for
//! themselves, handles, the rule for several exporters, unloading.

use std::process::Command;

use offkit_tests::c_program::compile;
use offkit_tests::{Folder, Outcome, need, programs, root};

/// Wraps an image of OpenCL C: `NAME.o`.
fn wrap(folder: &Folder, name: &str, source: &str) {
    folder.syclbin(name, source, "");
    let line = format!("wrap -q {name}.syclbin -o {name}.o --runtime sycl-v3");
    folder.offkit(&line).ok();
}

/// The same in a shared library, `libNAME.so`, that is linked with others.
fn library(folder: &Folder, name: &str, source: &str, with: &str) {
    wrap(folder, name, source);
    let words = format!("-shared {name}.o -L. -Wl,--no-as-needed {with} -Wl,-rpath,$ORIGIN");
    compile(folder, "cc", &words, &format!("lib{name}.so"));
}

/// `scopes`, with the kernel `app`, which calls `f`, linked with libraries.
fn program(folder: &Folder, with: &str) {
    let app = "int f(int x); kernel void app(global int *a) { size_t i = get_global_id(0); a[i] = f(a[i]); }";
    wrap(folder, "app", app);
    let source = root().join("tests/c-api/scopes.c").display().to_string();
    let strict = "-std=c11 -Wall -Wextra -Werror -g";
    let words = format!("{strict} {source} app.o -L. -Wl,--no-as-needed {with} -Wl,-rpath,$ORIGIN");
    compile(folder, "cc", &words, "scopes");
}

fn command(folder: &Folder, words: &str) -> Command {
    let mut command = Command::new(folder.path("scopes"));
    command
        .args(words.split_whitespace())
        .env("OCL_ICD_VENDORS", "/nowhere/")
        .env("XDG_CACHE_HOME", programs().join("test-cache"));
    command
}

fn run(folder: &Folder, words: &str) -> Outcome {
    folder.run_command(&mut command(folder, words))
}

/// A library with `f`, which multiplies.
fn factor(folder: &Folder, name: &str, factor: i32) {
    library(
        folder,
        name,
        &format!("int f(int x) {{ return x * {factor}; }}"),
        "",
    );
}

#[test]
fn preloaded_libraries_come_first_as_whole_images() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = Folder::new();
    factor(&folder, "ten", 10);
    factor(&folder, "hundred", 100);
    program(&folder, "-lhundred -lten");
    let preloading = |libraries: &str| {
        let mut command = command(&folder, "app");
        folder.run_command(command.env("LD_PRELOAD", libraries)).ok()
    };
    // As they were linked, whoever registers first.
    assert_eq!(run(&folder, "app").ok(), "100 200 300 400\n");
    assert_eq!(preloading("./libten.so"), "10 20 30 40\n");
    factor(&folder, "thousand", 1000);
    let both = format!("{0}/libthousand.so:{0}/libten.so", folder.path(".").display());
    assert_eq!(preloading(&both), "1000 2000 3000 4000\n");
    assert_eq!(preloading("./libten.so ./libthousand.so"), "10 20 30 40\n");
    // Kernels of one name, too; the program's own come before all.
    let writes = |number| format!("kernel void k(global int *a) {{ a[get_global_id(0)] = {number}; }}");
    library(&folder, "seven", &writes(7), "");
    library(
        &folder,
        "eight",
        &(writes(8) + &writes(9).replace(" k(", " app(")),
        "",
    );
    program(&folder, "-lhundred -lten -lseven");
    let mut words = command(&folder, "k app");
    assert_eq!(folder.run_command(&mut words).ok(), "7 7 7 7\n100 200 300 400\n");
    let preloaded = folder.run_command(words.env("LD_PRELOAD", "./libeight.so"));
    assert_eq!(preloaded.ok(), "8 8 8 8\n100 200 300 400\n");
    // With the other rules: an error that names both, or the same.
    let unique = run(&folder, "rule:0 app").ok();
    assert!(
        unique.starts_with("error 4: kernel `app` needs `f`, which several images export: "),
        "{unique}"
    );
    assert!(
        unique.contains("/libhundred.so!sycl/0/0`, ") && unique.contains("/libten.so!sycl/0/0`"),
        "{unique}"
    );
    assert_eq!(run(&folder, "rule:2 app").ok(), "100 200 300 400\n");
    // What was loaded later is behind what the program started with.
    assert_eq!(
        run(&folder, "global:./libthousand.so app").ok(),
        "100 200 300 400\n"
    );
}

#[test]
fn libraries_for_themselves_serve_others_only_when_asked() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = Folder::new();
    factor(&folder, "ten", 10);
    factor(&folder, "hundred", 100);
    program(&folder, "");
    let own = run(&folder, "local:./libten.so app").ok();
    assert!(
        own.starts_with("error 5: kernel `app` needs `f`, which `/")
            && own.contains("which serves itself alone"),
        "{own}"
    );
    let ten = "10 20 30 40\n";
    assert_eq!(run(&folder, "global:./libten.so app").ok(), ten);
    assert_eq!(
        run(&folder, "local:./libten.so promote:./libten.so app").ok(),
        ten
    );
    // A handle for one kernel, and for all; a handle goes, and the library stays.
    assert_eq!(run(&folder, "local:./libten.so ask:./libten.so app").ok(), ten);
    assert_eq!(run(&folder, "local:./libten.so open:./libten.so app").ok(), ten);
    assert_eq!(
        run(
            &folder,
            "local:./libten.so local:./libhundred.so ask:./libten.so app"
        )
        .ok(),
        ten
    );
    let forgotten = run(&folder, "local:./libten.so ask:./libten.so app forget app").ok();
    assert!(forgotten.starts_with(&format!("{ten}error 5: ")), "{forgotten}");
    // Host symbols tell it, too, where the images themselves have none.
    folder.write("host.c", "int host_function(void) { return 1; }");
    let line = "as clang-offload-wrapper -host=x86_64-unknown-linux-gnu -kind=sycl -target=spir64 -o plain.o ten.spv";
    folder.offkit("extract -q ten.syclbin!0/ir/0 -o out").ok();
    std::fs::rename(folder.path("out/ten.syclbin.0.ir.0.spv"), folder.path("ten.spv")).expect("the module");
    folder.offkit(line).ok();
    compile(&folder, "cc", "-shared -fPIC host.c plain.o", "libplain.so");
    assert_eq!(run(&folder, "global:./libplain.so app").ok(), ten);
    assert!(
        run(&folder, "local:./libplain.so app")
            .ok()
            .starts_with("error 5: ")
    );
}

#[test]
fn what_is_loaded_together_is_linked_together() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = Folder::new();
    // Two plugins of the same structure, each with a helper of its own.
    for (name, factor) in [("a", 10), ("b", 100)] {
        let helper = format!("int deep(int x) {{ return x * {factor}; }}");
        library(&folder, &format!("helper{name}"), &helper, "");
        let plugin = format!(
            "int deep(int x); int f(int x) {{ return deep(x); }}
             kernel void {name}(global int *a) {{ size_t i = get_global_id(0); a[i] = f(a[i]) + 1; }}"
        );
        library(&folder, name, &plugin, &format!("-lhelper{name}"));
    }
    program(&folder, "");
    let both = "local:./liba.so local:./libb.so";
    assert_eq!(
        run(&folder, &format!("{both} a b")).ok(),
        "11 21 31 41\n101 201 301 401\n"
    );
    // A kernel of a handle is that of its library.
    assert_eq!(
        run(&folder, &format!("{both} ask:./libb.so sym:b app")).ok(),
        "101 201 301 401\n100 200 300 400\n"
    );
    let other = run(&folder, &format!("{both} ask:./libb.so sym:a")).ok();
    assert!(other.starts_with("error 3: no kernel `a` in "), "{other}");
}

#[test]
fn files_are_opened_and_closed_like_libraries() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = Folder::new();
    for (name, factor) in [("ten", 10), ("hundred", 100)] {
        let source = format!(
            "int f(int x) {{ return x * {factor}; }}
             kernel void k(global int *a) {{ size_t i = get_global_id(0); a[i] = f(a[i]) + 1; }}"
        );
        folder.syclbin(name, &source, "");
    }
    program(&folder, "");
    let both = "ask:ten.syclbin ask:hundred.syclbin";
    let told = run(&folder, &format!("{both} app sym:k forget app sym:k forget app")).ok();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(
        lines[..4],
        ["10 20 30 40", "101 201 301 401", "10 20 30 40", "11 21 31 41"],
        "{told}"
    );
    assert!(lines[4].starts_with("error 5: kernel `app` needs `f`"), "{told}");
    assert!(
        lines[4].contains("no image exports"),
        "closed files are gone: {told}"
    );
    assert_eq!(run(&folder, "open:hundred.syclbin app").ok(), "100 200 300 400\n");
    // Compressed ones, whose format and symbols nobody tells, supply plain images and the other way round.
    let caller = "int f(int x); kernel void caller(global int *a) { size_t i = get_global_id(0); a[i] = f(a[i]) + 2; }";
    folder.syclbin("caller", caller, "");
    for name in ["caller", "ten"] {
        let line = format!("convert -q {name}.syclbin -o {name}.ccob --to bundle,compressed --allow-loss");
        folder.offkit(&line).ok();
    }
    assert_eq!(run(&folder, "open:ten.ccob app").ok(), "10 20 30 40\n");
    assert_eq!(
        run(&folder, "open:hundred.syclbin open:caller.ccob caller").ok(),
        "102 202 302 402\n"
    );
    assert_eq!(
        run(&folder, "open:caller.ccob open:ten.ccob caller app").ok(),
        "12 22 32 42\n10 20 30 40\n"
    );
    folder.write("empty.c", "int main(void) { return 0; }");
    compile(&folder, "cc", "empty.c", "empty");
    let none = run(&folder, "ask:./empty ask:nowhere").ok();
    assert!(none.contains("error 8: `./empty` has no device code\n"), "{none}");
    assert!(none.contains("error 7: cannot read `nowhere`: "), "{none}");
}

#[test]
fn libraries_are_unloaded_while_their_kernels_run() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = Folder::new();
    factor(&folder, "ten", 10);
    // It runs until the host lets it go on, and calls another library afterwards.
    let spin = "int f(int x);
        kernel void spin(global volatile int *a) {
          a[5] = 1;
          while (!a[4]);
          for (int i = 0; i < 4; ++i) a[i] = f(a[i]);
        }";
    library(&folder, "spin", spin, "");
    program(&folder, "");
    let load = "global:./libten.so global:./libspin.so";
    let both = format!("{load} start:spin close close images finish");
    let printed = run(&folder, &both).ok();
    let lines: Vec<_> = printed.lines().collect();
    // Only the program's own image is left, and the kernel ends as if nothing had happened.
    assert_eq!(lines.len(), 3, "{printed}");
    assert!(
        lines[0] == "it runs" && lines[1].contains("/scopes!") && lines[2] == "10 20 30 40",
        "{printed}"
    );
    // Again in the same process, from libraries that are loaded anew.
    let again = format!("{both} {load} start:spin close close finish {load} app");
    let printed = run(&folder, &again).ok();
    assert!(
        printed.ends_with("it runs\n10 20 30 40\n10 20 30 40\n"),
        "{printed}"
    );
    // What others need stays as long as it is loaded.
    assert_eq!(run(&folder, &format!("{load} close app")).ok(), "10 20 30 40\n");
}
