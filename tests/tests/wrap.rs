//! Host objects that register images: what linkers, LLVM's tools and the real SYCL runtime make of them.

use offkit_object::{Limits, bundle, fatbin, read};
use offkit_tests::documentation::commands;
use offkit_tests::sycl_runtime::{OlderSyclRuntime, SyclRuntime};
use offkit_tests::{Folder, need, tool};

/// What `app_kernel` makes of 1 to 8.
const NUMBERS: &str = "8 15 22 29 36 43 50 57 ";

const APP: &str = "int library_function(int x);
    kernel void app_kernel(global int *numbers) {
      size_t i = get_global_id(0);
      numbers[i] = library_function(numbers[i]) + 1;
    }";
const LIBRARY: &str = "int library_function(int x) { return x * 7; }";

/// A folder with `app.syclbin`, which imports a function, and `library.syclbin`, which exports it.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.syclbin("app", APP, "");
    folder.syclbin("library", LIBRARY, "");
    folder
}

#[test]
fn the_real_runtime_runs_what_is_linked_with_wrapped_images() {
    need!("clang-22", "llc", "ld.lld");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = folder();
    for name in ["app", "library"] {
        folder
            .offkit(&format!("wrap {name}.syclbin -o {name}.o --kind sycl-v3"))
            .ok();
    }
    let main = runtime.registered_object();
    let main = main.to_str().expect("a readable path");
    runtime.link(&folder, "cc", "program", &[main, "app.o", "library.o"]);
    let printed = runtime.run_linked(&folder, "program", &[]).ok();
    assert_eq!(printed, format!("{NUMBERS}registered\n"));

    // From libraries that come and go, linked by either linker.
    runtime.link(&folder, "cc", "loader", &[main]);
    for linker in ["bfd", "lld"] {
        let linker = format!("-fuse-ld={linker}");
        runtime.link(&folder, "clang-22", "app.so", &[&linker, "-shared", "app.o"]);
        runtime.link(
            &folder,
            "clang-22",
            "library.so",
            &[&linker, "-shared", "library.o"],
        );
        let printed = runtime
            .run_linked(&folder, "loader", &["./app.so", "./library.so"])
            .ok();
        assert_eq!(printed, format!("{NUMBERS}gone\n"), "{linker}");
    }
    let alone = runtime.run_linked(&folder, "loader", &["./library.so"]).fails(1);
    assert!(alone.contains("not registered"), "{alone}");

    // A linked program has its images where tools look for them.
    let listing = folder.offkit("ls --json program").json();
    let exports: Vec<_> = listing.iter().map(|image| &image["exports"]).collect();
    assert_eq!(listing[0]["kernels"], serde_json::json!(["app_kernel"]));
    assert_eq!(listing[0]["imports"], *exports[1]);
    assert_eq!(listing.len(), 2);
}

#[test]
fn the_runtime_before_runs_images_of_version_2() {
    need!("clang-22", "llc");
    let Some(runtime) = OlderSyclRuntime::get() else {
        return;
    };
    let folder = Folder::new();
    let source =
        "kernel void app_kernel(global int *n) { size_t i = get_global_id(0); n[i] = n[i] * 7 + 1; }";
    folder.syclbin("app", source, "");
    folder.offkit("wrap app.syclbin -o app.o --kind sycl-v2").ok();
    let printed = runtime.run_registered(&folder, &["app.o"]).ok();
    assert_eq!(printed, format!("{NUMBERS}registered\n"));
}

#[test]
fn the_tool_wraps_tables_of_files() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = folder();
    folder
        .offkit("extract app.syclbin library.syclbin -o images")
        .ok();
    folder.write(
        "images.table",
        "[Code|Symbols|Properties]\n\
         images/app.syclbin.0.ir.0.spv|app.sym|app.prop\n\
         images/library.syclbin.0.ir.0.spv||library.prop\n",
    );
    folder.write("app.sym", "app_kernel\n");
    folder.write("app.prop", "[SYCL/imported symbols]\nlibrary_function=1|1\n");
    folder.write("library.prop", "[SYCL/exported symbols]\nlibrary_function=1|1\n");
    folder
        .offkit("as clang-offload-wrapper -kind=sycl -target=spir64 -format=spirv -batch images.table -o images.o")
        .ok();
    let main = runtime.registered_object();
    runtime.link(
        &folder,
        "cc",
        "program",
        &[main.to_str().expect("a readable path"), "images.o"],
    );
    let printed = runtime.run_linked(&folder, "program", &[]).ok();
    assert_eq!(printed, format!("{NUMBERS}registered\n"));
}

#[test]
fn the_tool_takes_options_as_the_original_does() {
    let folder = Folder::new();
    folder.write("a.spv", b"\x03\x02\x23\x07");
    folder.write("b.bin", "native code");
    folder.write("names", "first\nsecond\n");
    folder
        .offkit(
            "as clang-offload-wrapper -host x86_64-pc-linux-gnu -kind=sycl -target=spir64 -compile-opts=-g \
             -link-opts=-x -entries=names a.spv manifest.txt -target=other -compile-opts= -entries= b.bin \
             -desc-name=mine -emit-reg-funcs=0 -o out.o",
        )
        .ok();
    let object = folder.read("out.o");
    let contents = read("out.o", &object, &Limits::default());
    let [first, second] = contents.images.as_slice() else {
        panic!("{contents:#?}")
    };
    assert_eq!(
        first.entries.as_deref(),
        Some(&["first".to_owned(), "second".to_owned()][..])
    );
    assert_eq!(first.strings.get("compile-opts"), Some("-g"));
    assert_eq!(second.target.triple, "other");
    assert_eq!(second.entries.as_deref(), Some(&[][..]));
    assert_eq!(second.strings.get("compile-opts"), None);
    assert_eq!(second.strings.get("link-opts"), Some("-x"));
    if let Some(nm) = tool("llvm-nm") {
        let symbols = folder.run(nm, ["out.o"]).ok();
        assert!(symbols.contains(" D .sycl_offloading.mine"), "{symbols}");
        assert!(!symbols.contains("__sycl_register_lib"), "{symbols}");
    }
    for (line, error) in [
        ("a.spv -o x.o", "offload model not set"),
        (
            "-kind=sycl a.spv",
            "for the -o option: must be specified at least once!",
        ),
        ("-kind=sycl a.spv -kind=openmp b.bin -o x.o", "several kinds"),
        (
            "-kind=sycl -host=sparc-sun-solaris a.spv -o x.o",
            "sparc-sun-solaris",
        ),
        ("-kind=sycl -batch a.spv -o x.o", "a.spv"),
        ("-kind=sycl missing.spv -o x.o", "missing.spv"),
    ] {
        let said = folder
            .offkit(&format!("as clang-offload-wrapper {line}"))
            .fails(1);
        assert!(said.contains(error), "{line}: {said}");
    }
}

/// Prints every field of what is registered, as a runtime finds it.
const STUB: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct { void *addr; char *name; uint64_t size; int32_t flags, reserved; } Old;
typedef struct { uint64_t reserved; uint16_t version, kind; uint32_t flags; void *addr; char *name;
                 uint64_t size, data; void *aux; } New;
typedef struct { char *name; void *value; uint32_t type; uint64_t size; } Property;
typedef struct { char *name; Property *begin, *end; } Set;
typedef struct { uint16_t version, count; char *images, *begin, *end; } Descriptor;
typedef struct { int32_t count; struct Omp { char *begin, *end; New *first, *last; } *images; New *first, *last; } OmpDescriptor;

static void show(Descriptor *d) {
  printf("%d %d %p %p\n", d->version, d->count, d->begin, d->end);
  char *at = d->images;
  for (int i = 0; i < d->count; ++i) {
    uint16_t version = *(uint16_t *)at;
    char **pointers = (char **)(at + 8);
    printf("v%d kind %d format %d target %s compile '%s' link '%s'\n", version, at[2], at[3], pointers[0],
           pointers[1], pointers[2]);
    pointers += version == 2 ? 5 : 3;
    printf("code %.*s\n", (int)(pointers[1] - pointers[0]), pointers[0]);
    if (at[2] == 8)
      for (New *e = (New *)pointers[2]; e < (New *)pointers[3]; ++e)
        printf("entry %s version %d kind %d\n", e->name, e->version, e->kind);
    else
      for (Old *e = (Old *)pointers[2]; e < (Old *)pointers[3]; ++e)
        printf("entry %s %d\n", e->name, (int)e->size);
    for (Set *s = (Set *)pointers[4]; s < (Set *)pointers[5]; ++s)
      for (Property *p = s->begin; p < s->end; ++p)
        if (p->type == 1)
          printf("%s %s %d\n", s->name, p->name, (int)p->size);
        else
          printf("%s %s %d bits %.*s\n", s->name, p->name, (int)*(uint64_t *)p->value,
                 (int)p->size - 8, (char *)p->value + 8);
    at += version == 2 ? 96 : 80;
  }
}
void __sycl_register_lib(void *p, uint64_t size) {
  if (*(uint32_t *)p == 0xad10ff10)
    printf("offload binary version %d, %s\n", ((int *)p)[1], ((uint64_t *)p)[1] == size ? "whole" : "cut");
  else
    show(p);
}
void __sycl_unregister_lib(void *p) { printf("bye\n"); }
void __tgt_register_lib(OmpDescriptor *d) {
  for (int i = 0; i < d->count; ++i)
    printf("code %.*s, %d entries\n", (int)(d->images[i].end - d->images[i].begin), d->images[i].begin,
           (int)(d->images[i].last - d->images[i].first));
  printf("%d of the host: %s\n", (int)(d->last - d->first), d->first->name);
}
void __tgt_unregister_lib(void *p) { printf("bye\n"); }
#ifdef ENTRY
__attribute__((section("llvm_offload_entries"), used)) static const New entry = {0, 1, 1, 0, 0, "host entry"};
#endif
int main() { printf("main\n"); }
"#;

#[test]
fn runtimes_find_every_field_where_they_look_for_it() {
    need!("cc");
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = Folder::new();
    folder.write("stub.c", STUB);
    folder.write("code", "native code");
    folder.write("props", "[set]\nnumber=1|7\nbytes=2|gAAAAAAAAAQYzFmb\n");
    folder
        .run(tool("cc").expect("asked for"), ["-w", "-c", "stub.c"])
        .ok();
    let image =
        "--triple spir64_gen-unknown-unknown --properties props --entries one,two --compile-options=-g";
    let run = |kind: &str, options: &str, object: &str| {
        folder
            .offkit(&format!("wrap code -o images.o --kind {kind} {options}"))
            .ok();
        folder
            .run(
                tool("cc").expect("asked for"),
                [object, "images.o", "-o", "program"],
            )
            .ok();
        folder.run(folder.path("program"), [""; 0]).ok()
    };
    let properties = "set number 7\nset bytes 32 bits asan";
    for (kind, version) in [("sycl-v2", 2), ("sycl-v3", 3)] {
        let printed = run(kind, image, "stub.o");
        let expected = format!(
            "1 1 (nil) (nil)\nv{version} kind 4 format 0 target spir64_gen compile '-g' link ''\n\
             code native code\nentry one 0\nentry two 0\n{properties}"
        );
        assert!(printed.starts_with(&expected), "{printed}");
        assert!(printed.ends_with("main\nbye\n"), "{printed}");
    }
    let printed = run("sycl-llvm", image, "stub.o");
    let expected = "v3 kind 8 format 0 target spir64_gen-unknown-unknown compile '-g' link ''\n\
                    code native code\nentry one version 1 kind 8\nentry two version 1 kind 8\n";
    assert!(printed.contains(expected), "{printed}");
    let printed = run("offload", image, "stub.o");
    assert_eq!(printed, "offload binary version 2, whole\nmain\nbye\n");

    folder
        .run(tool("cc").expect("asked for"), ["-w", "-DENTRY", "-c", "stub.c"])
        .ok();
    let printed = run("openmp", "--triple x86_64-pc-linux-gnu", "stub.o");
    assert_eq!(
        printed,
        "code native code, 1 entries\n1 of the host: host entry\nmain\nbye\n"
    );
}

/// Prints what is registered, and checks that the stack is aligned as calls need it.
const FATBIN_STUB: &str = r#"
#include <stdint.h>
#include <stdio.h>
#define NAME3(a, b, c) a##b##c
#define NAME2(a, b, c) NAME3(a, b, c)
#define NAME(end) NAME2(__, LANGUAGE, end)
typedef struct { int magic, version; char *image; void *reserved; } Wrapper;
typedef struct { uint64_t reserved; uint16_t version, kind; uint32_t flags; void *addr; char *name;
                 uint64_t size, data; void *aux; } Entry;
static int handle;
static void aligned(void) { volatile __attribute__((aligned(16))) char c = 0; if ((uintptr_t)__builtin_frame_address(0) % 16) printf("not aligned\n"); }
void *NAME(RegisterFatBinary)(Wrapper *w) { aligned(); printf("%x %d %s\n", w->magic, w->version, w->image); return &handle; }
void NAME(RegisterFatBinaryEnd)(void *h) { printf("end %d\n", h == &handle); }
void NAME(UnregisterFatBinary)(void *h) { printf("bye %d\n", h == &handle); }
int NAME(RegisterFunction)(void *h, void *a, char *n, char *d, int limit, void *p, void *q, void *r, void *s, int *t) {
  aligned();
  printf("function %d %s %s %d %d\n", h == &handle, n, d, limit, !p && !q && !r && !s && !t);
  return 0;
}
void NAME(RegisterVar)(void *h, char *a, char *n, char *d, int ext, uint64_t size, int constant, int global) {
  aligned();
  printf("variable %d %s %s %s %d %d %d %d\n", h == &handle, a, n, d, ext, (int)size, constant, global);
}
void NAME(RegisterManagedVar)(void *h, char *aux, char *a, char *n, uint64_t size, int align) {
  aligned();
  printf("managed %d %s %s %s %d %d\n", h == &handle, aux, a, n, (int)size, align);
}
void NAME(RegisterSurface)(void *h, char *a, char *n, char *d, int type, int ext) {
  aligned();
  printf("surface %d %s %s %s %d %d\n", h == &handle, a, n, d, type, ext);
}
void NAME(RegisterTexture)(void *h, char *a, char *n, char *d, int type, int normalized, int ext) {
  aligned();
  printf("texture %d %s %s %s %d %d %d\n", h == &handle, a, n, d, type, normalized, ext);
}
__attribute__((section("llvm_offload_entries"), used)) static const Entry entries[] = {
    {0, 1, 1, 0, "a", "of OpenMP"},
    {0, 1, KIND, 0, "a", "kernel"},
    {0, 1, KIND, 0 | 8 | 16, "a", "v", 64},
    {0, 1, KIND, 0, "a", "plain", 4},
    {0, 1, KIND, 1, "a", "m", 32, 8, "x"},
    {0, 1, KIND, 2 | 8, "a", "s", 1, 3},
    {0, 1, KIND, 3 | 32, "a", "t", 1, 2},
    {0, 1, KIND, 4, "a", "unknown", 1, 2},
};
int main() { printf("main\n"); }
"#;

#[test]
fn kernels_and_variables_of_cuda_and_hip_are_registered() {
    need!("clang-22");
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = Folder::new();
    folder.write("stub.c", FATBIN_STUB);
    let clang = tool("clang-22").expect("asked for");
    for (language, kind, container, magic, end, textures) in [
        ("cuda", 2, &fatbin::MAGIC[..], "466243b1", "end 1\n", ""),
        (
            "hip",
            4,
            &bundle::MAGIC,
            "48495046",
            "",
            "surface 1 a s s 3 1\ntexture 1 a t t 2 1 0\n",
        ),
    ] {
        folder.write("container", [container, b" and more\0"].concat());
        let container = String::from_utf8_lossy(container);
        let defines = [format!("-DLANGUAGE={language}"), format!("-DKIND={kind}")];
        let compile = [
            "-w".to_owned(),
            "-O1".to_owned(),
            "-c".to_owned(),
            "stub.c".to_owned(),
        ];
        folder.run(&clang, defines.iter().chain(&compile)).ok();
        folder
            .offkit(&format!("wrap -q container -o images.o --kind {language}"))
            .ok();
        for linker in ["bfd", "lld"] {
            let linker = format!("-fuse-ld={linker}");
            folder
                .run(&clang, [&linker, "stub.o", "images.o", "-o", "program"])
                .ok();
            let printed = folder.run(folder.path("program"), [""; 0]).ok();
            assert_eq!(
                printed,
                format!(
                    "{magic} 1 {container} and more\nfunction 1 kernel kernel -1 1\nvariable 1 a v v 1 64 1 0\n\
                     variable 1 a plain plain 0 4 0 0\nmanaged 1 x a m 32 8\n{textures}{end}main\nbye 1\n"
                ),
                "{language}"
            );
        }
    }
}

#[test]
fn llvm_lists_what_is_wrapped() {
    need!("llvm-objdump", "llvm-readobj");
    let folder = Folder::new();
    folder.write("code", "native code");
    for host in [
        "x86_64-linux-gnu",
        "aarch64-linux-gnu",
        "x86_64-pc-windows-msvc",
        "x86_64-w64-mingw32",
    ] {
        for (kind, producer) in [("sycl-v2", "sycl"), ("sycl-v3", "sycl"), ("openmp", "openmp")] {
            folder
                .offkit(&format!(
                    "wrap code -o out.o --kind {kind} --host-triple {host} --triple some-triple --arch fast"
                ))
                .ok();
            let llvm = |program, arguments: &[&str]| {
                folder
                    .run(
                        tool(program).expect("asked for"),
                        arguments.iter().chain(&["out.o"]),
                    )
                    .ok()
            };
            let listed = llvm("llvm-objdump", &["--offloading"]);
            for line in ["arch            fast", "triple          some-triple", producer] {
                assert!(listed.contains(line), "{host} {kind}: {listed}");
            }
            let sections = llvm("llvm-readobj", &["--sections", "--relocations", "--symbols"]);
            let section = match host {
                "x86_64-pc-windows-msvc" => ".CRT$XCA00",
                "x86_64-w64-mingw32" => ".ctors.65",
                _ => ".init_array.1",
            };
            assert!(sections.contains(section), "{host}: {sections}");
            let code = llvm("llvm-objdump", &["-d", "-r", "--no-show-raw-insn"]);
            let wanted: &[&str] = match host {
                "aarch64-linux-gnu" => &["adrp\tx0", "R_AARCH64_ADD_ABS_LO12_NC", "R_AARCH64_JUMP26"],
                "x86_64-linux-gnu" => &["leaq", "%rdi", "R_X86_64_PC32", "R_X86_64_PLT32"],
                _ => &["leaq", "%rcx", "IMAGE_REL_AMD64_REL32", "atexit"],
            };
            for part in wanted {
                assert!(code.contains(part), "{host}: {code}");
            }
            assert!(!code.contains("<unknown>"), "{host}: {code}");
        }
    }
}

#[test]
fn other_hosts_linkers_take_the_objects() {
    need!("clang-22", "lld-link", "ld.lld", "llvm-objdump");
    let folder = Folder::new();
    folder.write("code", "native code");
    let wrap = |kind: &str, host: &str, output: &str| {
        folder
            .offkit(&format!(
                "wrap code -o {output} --kind {kind} --host-triple {host} --triple some-triple"
            ))
            .ok();
    };
    // Entries of the host, between where their table begins and ends, also when there are two wrapped objects.
    folder.write(
        "host.c",
        r#"void __tgt_register_lib(void *p) {} void __tgt_unregister_lib(void *p) {}
           int atexit(void (*f)(void)) { return 0; } int main() { return 0; }
           __attribute__((section("llvm_offload_entries$OE"))) const long long entries[14] = {1};"#,
    );
    let windows = "x86_64-pc-windows-msvc";
    folder
        .run(
            tool("clang-22").expect("asked for"),
            [&format!("--target={windows}"), "-c", "host.c", "-o", "host.obj"],
        )
        .ok();
    wrap("openmp", windows, "one.obj");
    wrap("openmp", windows, "two.obj");
    let options = [
        "/nodefaultlib",
        "/entry:main",
        "/subsystem:console",
        "/out:p.exe",
        "/map:p.map",
    ];
    folder
        .run(
            tool("lld-link").expect("asked for"),
            options.iter().chain(&["host.obj", "one.obj", "two.obj"]),
        )
        .ok();
    let map = String::from_utf8(folder.read("p.map")).expect("text");
    let offset = |symbol: &str| {
        let line = map.lines().find(|line| line.contains(&format!(" {symbol} ")));
        let line = line.unwrap_or_else(|| panic!("{symbol}: {map}"));
        let (_, offset) = line
            .split_whitespace()
            .next()
            .expect("a place")
            .split_once(':')
            .expect("an offset");
        i64::from_str_radix(offset, 16).expect("a number")
    };
    let size = offset("__stop_llvm_offload_entries") - offset("__start_llvm_offload_entries");
    assert_eq!(size, 14 * 8, "{map}");

    // A linked library for another processor: every pointer is one that the loader must make.
    wrap("sycl-v3", "aarch64-linux-gnu", "arm.o");
    folder
        .run(
            tool("ld.lld").expect("asked for"),
            ["-shared", "arm.o", "-o", "arm.so"],
        )
        .ok();
    let listing = folder.offkit("ls --json arm.so").json();
    assert_eq!(listing.len(), 1);
    assert_eq!(listing[0]["location"], "arm.so!sycl/0/0");
}

#[test]
fn the_help_puts_options_under_their_heading() {
    let help = Folder::new().offkit("wrap --help").ok();
    let (all, of_one) = help.split_once("For a bare image:").expect("the heading");
    for option in ["--allow-empty", "--relocatable", "--no-functions", "--descriptor"] {
        assert!(
            all.contains(option) && !of_one.contains(option),
            "{option}: {help}"
        );
    }
    for option in ["--triple", "--property-file", "--entries"] {
        assert!(of_one.contains(option), "{option}: {help}");
    }
}

#[test]
fn what_cannot_be_wrapped_is_said() {
    let folder = Folder::new();
    folder.write("code", "native code");
    folder.write("empty.o", "");
    for (line, error) in [
        ("code --kind sycl-v3", "--triple"),
        ("code --kind nothing --triple a", "sycl-v2"),
        ("code --kind cuda", "fatbin"),
        ("code --kind hip", "bundle"),
        (
            "code --kind sycl-v3 --triple a --host-triple riscv64-linux-gnu",
            "riscv64-linux-gnu",
        ),
        ("code code --kind sycl-v3 --triple a", "one file"),
        ("missing --kind sycl-v3 --triple a", "missing"),
        ("code --kind sycl-v3 --triple a --no-functions", "--descriptor"),
    ] {
        let said = folder.offkit(&format!("wrap {line} -o out.o")).fails(2);
        assert!(said.contains(error), "{line}: {said}");
        assert!(!folder.path("out.o").exists(), "{line}");
    }
}

/// Types what `docs/wrapping.md` shows of offkit itself. What else it shows needs the SYCL or the OpenMP runtime, which
/// other tests link.
#[test]
fn the_commands_of_the_documentation_work() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    let kernel = "kernel void saxpy(float a, global float *x, global float *y) {
      size_t i = get_global_id(0);
      y[i] = a * x[i] + y[i];
    }";
    folder.bitcode("saxpy", kernel);
    folder.offkit("link saxpy.bc --split none -o saxpy.syclbin").ok();
    folder.offkit("extract saxpy.syclbin -o extracted").ok();
    let mut extracted = std::fs::read_dir(folder.path("extracted")).expect("it is there");
    let image = extracted.next().expect("an image").expect("an entry").path();
    for name in ["kernels.spv", "app.spv", "library.spv", "device.so"] {
        std::fs::copy(&image, folder.path(name)).expect("a copy");
    }
    for name in ["app", "library", "kernels"] {
        folder.write(&format!("{name}.prop"), "[SYCL/misc properties]\noptLevel=1|2\n");
    }
    folder.write("app.sym", "saxpy\n");
    let mut checked = 0;
    for example in commands("docs/wrapping.md") {
        let line = example.line.trim_end();
        let words = ["offkit link", "offkit wrap", "offkit as clang-offload-wrapper"];
        if let Some(table) = line.strip_prefix("cat ") {
            folder.write(table, &example.output);
        } else if words.iter().any(|word| line.starts_with(word)) {
            example.check(&folder);
            checked += 1;
        }
    }
    assert_eq!(checked, 5);
}
