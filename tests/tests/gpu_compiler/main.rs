//! SPIR-V compiled for GPUs: CUDA's assembler and LLVM's tools take it, and what it computes is what the interpreter does, on
//! threads that stand in for those of a GPU.

mod amd;
mod emulated;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use offkit_tests::cuda::Cuda;
use offkit_tests::{Folder, need, tool};

/// The kernels that the CPU device is measured by.
const MEASURED: &str = include_str!("../../../bench/cpu/kernels.cl");

/// Compiles OpenCL C to SPIR-V.
#[track_caller]
fn spirv(folder: &Folder, name: &str, source: &str) {
    let clang = tool("clang-22").expect("asked for before");
    folder.write(&format!("{name}.cl"), source);
    let line =
        format!("--target=spirv64 -cl-std=CL3.0 -O1 -fno-discard-value-names -c {name}.cl -o {name}.spv");
    folder.run(clang, line.split(' ')).ok();
}

/// Compiles SPIR-V for a processor: the folder `NAME.PROCESSOR` has LLVM IR and code then.
#[track_caller]
fn compile(folder: &Folder, name: &str, processor: &str) {
    let triple = match wave_of(processor) {
        None => "nvptx64-nvidia-cuda",
        Some(_) => "amdgcn-amd-amdhsa",
    };
    let line = format!(
        "link --target {triple},arch={processor} --save-temps={name}.{processor} --split none {name}.spv \
         -o {name}.{processor}.out"
    );
    folder.offkit(&line).ok();
}

/// Work-items of a wave of AMD's processors.
fn wave_of(processor: &str) -> Option<u32> {
    let number = processor.strip_prefix("gfx")?;
    Some(if number.starts_with('9') { 64 } else { 32 })
}

/// The source for waves of such a size, which print nothing.
fn for_waves(size: Option<u32>, source: &str) -> String {
    match size {
        None => source.to_owned(),
        Some(size) => format!("#define WARP {size}\n#define NO_PRINTF\n{source}"),
    }
}

/// The same for NVIDIA's: gives the PTX.
#[track_caller]
fn compile_ptx(folder: &Folder, name: &str, processor: &str) -> String {
    compile(folder, name, processor);
    let ptx = folder.read(&format!("{name}.{processor}/0.ptx"));
    String::from_utf8(ptx).expect("PTX is text")
}

/// What `--json` tells of the images of a file.
#[test]
fn the_image_says_what_it_is_for() {
    need!("clang-22");
    let folder = Folder::new();
    spirv(
        &folder,
        "k",
        "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }",
    );
    folder
        .offkit("link --target nvptx64-nvidia-cuda,arch=sm_75 k.spv -o k.out")
        .ok();
    let listed = folder.offkit("ls --kernels k.out").ok();
    assert!(
        listed.contains("PTX  nvptx64-nvidia-cuda-sm_75") && listed.contains("twice"),
        "{listed}"
    );
}

#[test]
fn the_assembler_takes_it_for_every_processor() {
    need!("clang-22");
    let Some(newer) = Cuda::get().map(|cuda| cuda.ptxas) else {
        return;
    };
    let Some(older) = Cuda::ptxas_12() else { return };
    let folder = Folder::new();
    spirv(&folder, "measured", MEASURED);
    spirv(&folder, "language", LANGUAGE);
    let ends = [(older, ["sm_60", "sm_121a"]), (newer, ["sm_75", "sm_121f"])];
    let assemblers = ends.map(|(ptxas, ends)| {
        let known = processors(&folder.run(&ptxas, ["--help"]).ok());
        assert!(ends.iter().all(|end| known.contains(*end)), "{known:?}");
        (ptxas, known)
    });
    let all: BTreeSet<&String> = assemblers.iter().flat_map(|(_, known)| known).collect();
    let all: Vec<&String> = all.into_iter().collect();
    let assemble = |processor: &str, name: &str| {
        compile(&folder, name, processor);
        let ptx = format!("{name}.{processor}/0.ptx");
        let takers = assemblers.iter().filter(|(_, known)| known.contains(processor));
        for (ptxas, _) in takers {
            let options = [
                &format!("-arch={processor}"),
                &ptx,
                "-o",
                &format!("{name}.{processor}.cubin"),
            ];
            let outcome = folder.run(ptxas, options);
            assert_eq!(outcome.code, 0, "{processor}: {outcome:#?}");
        }
    };
    // Each takes two seconds: with two cores it is forty in all.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(processor) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            assemble(processor, "measured");
            assemble(processor, "language");
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

/// The processors that an assembler names and that there is code for.
fn processors(help: &str) -> BTreeSet<String> {
    let words = help.split('\'').filter(|word| is_processor(word));
    words.map(str::to_owned).collect()
}

/// Whether ptxas names a processor that there is code for; 107 is newer than LLVM 22.
fn is_processor(word: &str) -> bool {
    let number = word
        .strip_prefix("sm_")
        .map(|number| number.trim_end_matches(['a', 'f']));
    number
        .and_then(|number| number.parse().ok())
        .is_some_and(|number: u32| number >= 60 && number != 107)
}

/// What the measured kernels don't use.
const LANGUAGE: &str = include_str!("language.cl");

#[test]
fn older_drivers_take_the_code_of_older_processors() {
    need!("clang-22");
    let folder = Folder::new();
    spirv(
        &folder,
        "k",
        "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }",
    );
    for (processor, version) in [
        ("sm_60", "6.3"),
        ("sm_75", "6.3"),
        ("sm_80", "7.0"),
        ("sm_90", "7.8"),
    ] {
        let ptx = compile_ptx(&folder, "k", processor);
        assert!(
            ptx.contains(&format!(".version {version}\n.target {processor}\n")),
            "{processor}: {ptx}"
        );
    }
}

#[test]
fn a_kernel_that_sees_where_ids_begin_has_two_entries() {
    need!("clang-22");
    let folder = Folder::new();
    let source = "kernel void sees(global int *x) { x[get_global_id(0)] = 1; }
        kernel void blind(global int *x, local int *room) { room[get_local_id(0)] = 1; x[get_group_id(0)] = room[0]; }
        kernel void asks(global int *x) { x[get_group_id(0)] = get_work_dim(); }";
    spirv(&folder, "k", source);
    let ptx = compile_ptx(&folder, "k", "sm_70");
    let entries = ptx.lines().filter(|line| line.contains(".entry "));
    let names: Vec<&str> = entries.filter_map(|line| line.split([' ', '(']).nth(2)).collect();
    assert_eq!(
        names,
        ["sees", "sees_with_offset", "blind", "asks", "asks_with_offset"]
    );
    // Where ids begin, and the number of dimensions for who asks for it.
    assert!(ptx.contains("sees_with_offset_param_1[12]"), "{ptx}");
    assert!(ptx.contains("asks_with_offset_param_1[16]"), "{ptx}");
    // Local memory that is an argument is a place in what the launch has.
    assert!(ptx.contains(".param .u32 blind_param_1"), "{ptx}");
    assert!(
        ptx.contains(".extern .shared .align 128 .b8 offkit_local_memory[]"),
        "{ptx}"
    );
}

#[test]
fn a_variable_of_zeros_is_as_large_as_it_says_and_takes_no_room_here() {
    need!("clang-22");
    let folder = Folder::new();
    let source = "global int zeros[1u << 28]; constant int x[4] = {1, 2, 3, 4};
        kernel void reads(global int *a) { *a = zeros[*a] + x[*a]; }";
    spirv(&folder, "k", source);
    let ptx = compile_ptx(&folder, "k", "sm_70");
    assert!(
        ptx.contains(".visible .global .align 4 .b8 zeros[1073741824];"),
        "{ptx}"
    );
    // Nobody outside knows of constants.
    assert!(ptx.contains(".global .align 4 .b8 x_$_own[16] = {1, "), "{ptx}");
}

#[test]
fn updates_of_memory_have_their_order() {
    need!("clang-22");
    let folder = Folder::new();
    // Each gives the next one's reader what was written before.
    let source = "kernel void counted(global atomic_int *count, global int *x) {
        x[get_global_id(0)] = 1;
        int before = atomic_fetch_add_explicit(count, 1, memory_order_acq_rel, memory_scope_device);
        x[get_global_id(0)] += before + x[0];
      }
      kernel void own(global atomic_int *count) {
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_work_item);
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed, memory_scope_device);
      }";
    spirv(&folder, "k", source);
    for (processor, fence) in [("sm_60", "membar.gl"), ("sm_90", "fence.acq_rel.gpu")] {
        let ptx = compile_ptx(&folder, "k", processor);
        let (counted, own) = ptx.split_once(".entry own").expect("two kernels");
        let update = counted.find("atom.").expect("an update");
        assert!(counted[..update].contains(fence), "{processor}: {ptx}");
        assert!(counted[update..].contains(fence), "{processor}: {ptx}");
        assert!(!own.contains(fence), "{processor}: {ptx}");
    }
}

#[test]
fn what_there_is_no_code_for_is_refused_by_name() {
    need!("clang-22");
    let folder = Folder::new();
    let of_eight =
        "__attribute__((intel_reqd_sub_group_size(8))) kernel void small(global int *x) { *x = 1; }";
    let large =
        "__attribute__((reqd_work_group_size(64, 64, 1))) kernel void large(global int *x) { *x = 1; }";
    let deep = "__attribute__((reqd_work_group_size(1, 1, 128))) kernel void deep(global int *x) { *x = 1; }";
    let elsewhere = "int other(int); kernel void open(global int *x) { *x = other(*x); }";
    let roomy = "kernel void roomy(global int *x) { local int y[20000];
        y[get_local_id(0)] = *x; barrier(CLK_LOCAL_MEM_FENCE); *x = y[*x]; }";
    // Names that the code has for others, or that it needs itself.
    let twice = "kernel void x(global int *a) { a[get_global_id(0)] = 1; }
        kernel void x_with_offset(global int *a) { *a = 1; }";
    let printing = "kernel void vprintf(global int *a) { *a = 1; }";
    let dynamic =
        "global int offkit_local_memory; kernel void k(global int *a) { *a = offkit_local_memory++; }";
    for (source, words) in [
        (roomy, &["`roomy`", "80000 bytes"][..]),
        (twice, &["`x_with_offset`", "something else already"]),
        (printing, &["kernel `vprintf`", "something else already"]),
        (dynamic, &["kernel `k`", "the name `offkit_local_memory`"]),
        (of_eight, &["`small`", "sub-groups of 8 work-items"]),
        (large, &["`large`", "groups of 4096 work-items"]),
        (deep, &["`deep`", "groups of 1 x 1 x 128 work-items"]),
        (elsewhere, &["`open`", "other"]),
    ] {
        spirv(&folder, "k", source);
        let outcome =
            folder.offkit("link --target nvptx64-nvidia-cuda,arch=sm_70 --allow-undefined k.spv -o k.out");
        assert_ne!(outcome.code, 0, "{source}");
        for word in words {
            assert!(outcome.stderr.contains(word), "{source}: {outcome:#?}");
        }
    }
    // Which processor PTX is for has to be known, as for bitcode.
    spirv(&folder, "k", "kernel void twice(global int *x) { *x *= 2; }");
    let outcome = folder.offkit("link --target nvptx64-nvidia-cuda k.spv -o k.out");
    assert!(outcome.stderr.contains("which processor"), "{outcome:#?}");
    let outcome = folder.offkit("link --target nvptx64-nvidia-cuda,arch=sm_50 k.spv -o k.out");
    assert!(outcome.stderr.contains("older than 6.0"), "{outcome:#?}");
    let outcome = folder.offkit("link --target nvptx64-nvidia-cuda,arch=sm_107 k.spv -o k.out");
    assert!(
        outcome.stderr.contains("not compiled for processor `sm_107`"),
        "{outcome:#?}"
    );
}
