//! What LLVM reports while it generates code: errors end a link, warnings are shown.

use super::*;
use offkit_tests::has_openmp;

/// Three ways to write what a device cannot do, each with what LLVM says of it, and the function that is in.
const IMPOSSIBLE: [(&str, &str, &[&str], &str); 3] = [
    (
        "assembly",
        "void inner(void) {
           __asm__ volatile(\"frobnicate v0\");
         }
         kernel void k(global int *a) { inner(); a[0] = 1; }",
        &["assembly.cl:2:12", "invalid instruction", "frobnicate v0"],
        "`inner`",
    ),
    (
        "memory",
        "kernel void k(global int *a) {
           local int tile[20000];
           for (int i = 0; i < 20000; i += 64) tile[i + get(0)] = i;
           barrier(CLK_LOCAL_MEM_FENCE);
           a[0] = tile[a[1]];
         }",
        &["local memory (80000) exceeds limit (65536)"],
        "'k'",
    ),
    (
        "constraint",
        "kernel void k(global int *a) {
           int x;
           __asm__ volatile(\"s_mov_b32 %0, 1\" : \"={s[200:201]}\"(x));
           a[0] = x;
         }",
        &[
            "constraint.cl:3:12",
            "couldn't allocate output register for constraint",
        ],
        "`k`",
    ),
];

#[test]
fn errors_of_the_code_generator_end_the_link() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    for (name, source, said, function) in IMPOSSIBLE {
        let source = source.replace("get(0)", "__builtin_amdgcn_workitem_id_x()");
        compile(
            &folder,
            name,
            &source,
            AMD.0,
            &format!("{} -gline-tables-only", AMD.1),
        );
        let text = folder
            .offkit(&format!("link {name}.bc --to offload -o {name}.out"))
            .fails(2);
        says(&text, said);
        assert!(!folder.path(&format!("{name}.out")).exists());
        // Without debug information, the function is known still.
        compile(&folder, name, &source, AMD.0, AMD.1);
        let text = folder
            .offkit(&format!("link {name}.bc --to offload -o {name}.out"))
            .fails(2);
        says(&text, &[said[said.len() - 1], function]);
    }
}

#[test]
fn places_of_assembly_are_those_of_its_own_module() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    // Both have assembly at the same place of their files, which is all that clang tells of it.
    let source = |name: &str, assembly: &str| {
        format!(
            "void {name}_inner(void) {{ __asm__ volatile(\"{assembly}\"); }}\nkernel void {name}(void) {{ {name}_inner(); }}"
        )
    };
    for (name, assembly) in [("right", "s_nop 0"), ("wrong", "s_nop a")] {
        compile(
            &folder,
            name,
            &source(name, assembly),
            AMD.0,
            &format!("{} -g", AMD.1),
        );
    }
    let text = folder
        .offkit("link right.bc wrong.bc --to offload -o x.out")
        .fails(2);
    says(&text, &["wrong.cl:1:", "s_nop a"]);
    assert!(!text.contains("right.cl"), "{text}");
}

#[test]
fn every_way_to_link_shows_them() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    let (_, source, said, _) = IMPOSSIBLE[0];
    folder.write("assembly.cl", source);
    let line = "cc -fsycl -fsycl-targets=amd_gpu_gfx900 -gline-tables-only assembly.cl -o program";
    says(&folder.offkit(line).fails(2), said);

    if !has_openmp() {
        return;
    }
    folder.write(
        "program.c",
        "void inner(void) {}
         #pragma omp begin declare variant match(device={kind(nohost)})
         void inner(void) { __asm__ volatile(\"frobnicate\"); }
         #pragma omp end declare variant
         int main(void) {
         #pragma omp target
           inner();
         }",
    );
    let line = "cc -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto -O1 -gline-tables-only program.c -o program";
    let text = folder.offkit(line).fails(1);
    says(&text, &["program.c:3:", "frobnicate"]);
}

#[test]
fn warnings_are_shown_once() {
    need!("clang-22", "llvm-as");
    let folder = Folder::new();
    folder.write(
        "k.ll",
        "target triple = \"x86_64-unknown-linux-gnu\"
         define spir_kernel void @k(ptr %p) \"warn-stack-size\"=\"16\" {
           %a = alloca [64 x i32]
           %i = load i32, ptr %p
           %q = getelementptr [64 x i32], ptr %a, i32 0, i32 %i
           store volatile i32 1, ptr %q
           ret void
         }",
    );
    folder.run(tool("llvm-as").unwrap(), ["k.ll"]).ok();
    let linked = folder.offkit("link k.bc --to offload -o x.out");
    let text = linked.stderr.clone();
    linked.ok();
    assert_eq!(text.matches("exceeds limit (16)").count(), 1, "{text}");
    says(&text, &["warning", "'k'"]);
}
