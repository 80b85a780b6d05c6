//! Code objects: LLVM's tools take them, and they tell a runtime what it launches.

use offkit_tests::{Folder, need, tool};

use super::{LANGUAGE, MEASURED, compile, for_waves, spirv, wave_of};

/// What LLVM's reader tells of a code object's kernels.
#[track_caller]
fn notes(folder: &Folder, code: &str) -> String {
    let reader = tool("llvm-readelf").expect("LLVM's programs are together");
    let told = folder.run(reader, ["--notes", code]).ok();
    assert!(!told.contains("Invalid"), "{code}: {told}");
    told
}

/// The line behind a kernel's name in what is told of it.
fn of_kernel<'a>(notes: &'a str, kernel: &str) -> &'a str {
    let name = format!("    .name:           {kernel}\n");
    let is_its = |part: &&str| part.contains(&name);
    notes.split("\n  - .agpr_count").find(is_its).unwrap_or_default()
}

#[test]
fn llvms_tools_take_code_objects_of_every_generation() {
    need!("clang-22", "ld.lld", "llvm-readelf", "llvm-objdump");
    let objdump = tool("llvm-objdump").expect("asked for before");
    let folder = Folder::new();
    for processor in [
        "gfx906",
        "gfx90a",
        "gfx942",
        "gfx1030",
        "gfx1100",
        "gfx1201",
        "gfx9-4-generic",
    ] {
        let wave = wave_of(processor);
        for (name, source) in [("measured", MEASURED), ("language", LANGUAGE)] {
            spirv(&folder, name, &for_waves(wave, source));
            compile(&folder, name, processor);
            let code = format!("{name}.{processor}/0.out");
            let listed = folder.run(&objdump, ["-d", &code]).ok();
            assert!(listed.contains("s_endpgm"), "{code}");
            assert!(!listed.contains("<unknown>"), "{code}");
            let kernels = source.matches("kernel void ").count() - usize::from(name == "language");
            let told = notes(&folder, &code);
            assert_eq!(
                told.matches(".wavefront_size:").count(),
                kernels,
                "{code}: {told}"
            );
            let size = format!(".wavefront_size: {}", wave.expect("one of AMD's"));
            assert_eq!(told.matches(&size).count(), kernels, "{code}: {told}");
        }
    }
}

#[test]
fn a_code_object_tells_how_it_is_launched() {
    need!("clang-22", "ld.lld", "llvm-readelf");
    let folder = Folder::new();
    let source = "typedef struct { int first; double second; } Pair;
        __attribute__((reqd_work_group_size(32, 4, 1)))
        kernel void launched(global int *x, constant float *y, local int *room, int4 four, char small, Pair pair) {
          size_t i = get_global_id(0) + get_work_dim();
          local int own[32];
          own[get_local_id(0)] = room[i & 31] = x[i];
          barrier(CLK_LOCAL_MEM_FENCE);
          x[i] = own[i & 7] + room[i & 3] + four.y + small + pair.first + (int)(pair.second * y[i]);
        }";
    spirv(&folder, "k", source);
    compile(&folder, "k", "gfx90a");
    let told = notes(&folder, "k.gfx90a/0.out");
    let kernel = of_kernel(&told, "launched");
    let kinds = kernel
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".value_kind:"));
    let kinds: Vec<&str> = kinds.map(str::trim).collect();
    let own = [
        "global_buffer",
        "global_buffer",
        "dynamic_shared_pointer",
        "by_value",
        "by_value",
        "by_value",
    ];
    assert_eq!(&kinds[..6], own, "{kernel}");
    // Who launches it places arguments in local memory by this.
    let alignment = kernel
        .lines()
        .find_map(|line| line.trim().strip_prefix(".pointee_align:"));
    assert_eq!(alignment.map(str::trim), Some("128"), "{kernel}");
    for kind in [
        "hidden_block_count_x",
        "hidden_group_size_z",
        "hidden_global_offset_x",
        "hidden_grid_dims",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kernel}");
    }
    for name in ["x", "y", "room", "four", "small", "pair", "launched"] {
        assert!(
            kernel.contains(&format!(".name:           {name}\n")),
            "{name}: {kernel}"
        );
    }
    for line in [
        ".group_segment_fixed_size: 128",
        ".reqd_workgroup_size:\n      - 32\n      - 4\n      - 1\n",
        ".max_flat_workgroup_size: 128",
        ".uniform_work_group_size: 1",
        ".symbol:         launched.kd",
    ] {
        assert!(kernel.contains(line), "{line}: {kernel}");
    }
    assert!(told.contains("amdhsa.version:\n  - 1\n  - 2\n"), "{told}");
    let shown = folder.offkit("show k.gfx90a.out").ok();
    for words in [
        "dynamic_shared_pointer",
        "local memory               128",
        "wavefront size             64",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let listed = folder.offkit("ls --kernels k.gfx90a.out").ok();
    assert!(
        listed.contains("AMDGPU code object  amdgcn-amd-amdhsa-gfx90a") && listed.contains("launched"),
        "{listed}"
    );
    folder.offkit("check --targets gfx90a k.gfx90a.out").ok();
    let plan = folder
        .offkit("link --dry-run --target amdgcn-amd-amdhsa,arch=gfx90a k.spv -o k.out")
        .ok();
    assert!(plan.contains("-shared --no-undefined"), "{plan}");
}

#[test]
fn atomics_have_their_order_and_scope() {
    need!("clang-22", "ld.lld", "llvm-objdump");
    let folder = Folder::new();
    // Of loads clang 22 takes C's number of the order for the scope, and the other way round: this one's is the work-group.
    // Its stores are always in one order for all of the device.
    let source = "kernel void orders(global atomic_int *at, global int *x) {
        x[0] = atomic_load_explicit(at, memory_order_acquire, memory_scope_device);
        x[1] = __opencl_atomic_fetch_add(at + 1, 1, memory_order_acq_rel, memory_scope_device);
        x[2] = __opencl_atomic_fetch_xor(at + 2, 1, memory_order_relaxed, memory_scope_all_svm_devices);
        x[3] = __opencl_atomic_exchange(at + 3, 1, memory_order_seq_cst, memory_scope_sub_group);
        int seen = 5;
        __opencl_atomic_compare_exchange_strong(at + 4, &seen, 7, memory_order_release, memory_order_relaxed,
                                                memory_scope_device);
        x[4] = seen;
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device);
        atomic_store_explicit(at + 5, 1, memory_order_seq_cst, memory_scope_device);
      }";
    spirv(&folder, "k", source);
    for (processor, makes_visible) in [("gfx90a", "buffer_wbinvl1_vol"), ("gfx1100", "buffer_gl1_inv")] {
        compile(&folder, "k", processor);
        let text = folder.read(&format!("k.{processor}/0.ll"));
        let text = String::from_utf8(text).expect("LLVM IR is text");
        for (operation, order) in [
            ("load atomic i32", "syncscope(\"workgroup\") acquire"),
            ("atomicrmw add", "syncscope(\"agent\") acq_rel"),
            ("atomicrmw xor", "i32 1 monotonic"),
            ("atomicrmw xchg", "syncscope(\"wavefront\") seq_cst"),
            ("cmpxchg", "syncscope(\"agent\") release monotonic"),
            ("fence", "syncscope(\"agent\") release"),
            ("store atomic i32", "syncscope(\"agent\") seq_cst"),
        ] {
            let mut lines = text.lines().filter(|line| line.contains(operation));
            let line = lines.next().unwrap_or_default();
            assert!(line.contains(order), "{processor}, {operation}: {line}\n{text}");
            assert_eq!(lines.next(), None, "{processor}, {operation}: {text}");
        }
        // Among all devices: no scope.
        let is_narrow = |line: &&str| line.contains("atomicrmw xor") && line.contains("syncscope");
        assert_eq!(text.lines().find(is_narrow), None, "{processor}: {text}");
        // What others of the device wrote is seen behind the update that asks for it, and not before.
        let objdump = tool("llvm-objdump").expect("asked for before");
        let code = folder.run(objdump, ["-d", &format!("k.{processor}/0.out")]).ok();
        let (before, behind) = code.split_once("global_atomic_add").expect("an update");
        assert!(behind.contains(makes_visible), "{processor}: {code}");
        assert!(!before.contains(makes_visible), "{processor}: {code}");
    }
}

#[test]
fn what_there_is_no_code_for_is_refused_by_name() {
    need!("clang-22");
    let folder = Folder::new();
    let prints = "kernel void prints(global int *x) { printf(\"%d\", *x); }";
    let of_32 = "__attribute__((intel_reqd_sub_group_size(32))) kernel void small(global int *x) { *x = 1; }";
    let plain = "kernel void plain(global int *x) { *x = 1; }";
    for (source, target, words) in [
        (
            prints,
            "amdgcn-amd-amdhsa,arch=gfx1030",
            &["`prints`", "printf"][..],
        ),
        (of_32, "amdgcn-amd-amdhsa,arch=gfx942", &["`small`", "have 64"]),
        (
            plain,
            "amdgcn-amd-amdhsa,arch=gfx803",
            &["`plain`", "older than gfx900"],
        ),
        (
            plain,
            "amdgcn-amd-amdhsa,arch=gfx1999",
            &["not compiled for processor `gfx1999`"],
        ),
        (plain, "amdgcn-amd-amdhsa", &["which processor"]),
    ] {
        spirv(&folder, "k", source);
        let outcome = folder.offkit(&format!("link --target {target} k.spv -o k.out"));
        assert_ne!(outcome.code, 0, "{source}");
        for word in words {
            assert!(outcome.stderr.contains(word), "{word}: {outcome:#?}");
        }
    }
}
