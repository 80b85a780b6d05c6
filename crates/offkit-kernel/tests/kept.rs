//! What compilers need of a module is not dropped on the way.

mod compile;

use compile::{compile, is_available, read};
use offkit_kernel::ir::{FastMath, LoopControl, Merge, Module, Operation};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::*;

/// The lines of the text that have a word in them.
fn lines<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    text.lines().filter(|line| line.contains(word)).collect()
}

#[test]
fn what_clang_says_is_kept() {
    if !is_available() {
        return;
    }
    let source = r#"
      __attribute__((noinline)) int helper(int a, int b) { return a / b; }
      kernel __attribute__((reqd_work_group_size(8, 4, 2))) __attribute__((vec_type_hint(float4)))
      void first(global const float *restrict in, global float *restrict out, global volatile int *flag, int n) {
        size_t i = get_global_id(0);
        float sum = 0;
        #pragma unroll 4
        for (int j = 0; j < n; ++j) sum += in[i + j] * in[j] + *flag;
        __builtin_nontemporal_store(sum, out + i);
        atomic_fetch_add_explicit((global atomic_int *)flag, helper(n, 3), memory_order_relaxed, memory_scope_device);
      }
      typedef struct { int a; float b[7]; } S;
      kernel __attribute__((work_group_size_hint(64, 1, 1))) __attribute__((intel_reqd_sub_group_size(16)))
      void second(S s, global float4 *out, global uchar *bytes) {
        __builtin_assume(s.a > 0);
        out[s.a] = s.b[s.a & 3] * out[0];
        uint4 v = vload4(0, (global uint *)bytes);
        out[1].x = v.x;
      }"#;
    let module = read(&compile(source, "-O1 -ffast-math -mllvm --spirv-ext=all"));
    let text = module.to_string();

    let [first, second] = module.kernels.as_slice() else {
        panic!("{text}")
    };
    assert_eq!(first.required_local_size, Some([8, 4, 2]));
    assert!(first.vec_type_hint.is_some() && second.vec_type_hint.is_none());
    assert_eq!(
        (second.local_size_hint, second.sub_group_size),
        (Some([64, 1, 1]), Some(16))
    );

    let parameters = &module.functions[first.function.0 as usize].parameters;
    assert!(parameters[0].no_alias && parameters[0].no_write && !parameters[2].no_alias);
    assert_eq!(parameters[0].align, Some(4));
    assert!(module.functions[second.function.0 as usize].parameters[0].by_value);
    let helper = module.functions.iter().find(|function| function.name == "helper");
    assert!(helper.is_some_and(|helper| helper.control.dont_inline), "{text}");

    // The accesses through the restricted pointers, the volatile one, the one that isn't needed again, and one of a
    // vector that may be unaligned.
    assert!(!lines(&text, "align 4 scopes *").is_empty(), "{text}");
    assert!(!lines(&text, "align 4 volatile").is_empty(), "{text}");
    let nontemporal = lines(&text, "nontemporal");
    assert!(
        !nontemporal.is_empty() && nontemporal.iter().all(|line| line.contains("store")),
        "{text}"
    );
    assert!(!lines(&text, "align 16").is_empty(), "{text}");

    let products: Vec<FastMath> = instructions(&module)
        .filter(|instruction| {
            instruction.operation == Operation::Elementwise(offkit_spirv::grammar::Op::FMul)
        })
        .map(|instruction| instruction.attributes.math)
        .collect();
    assert!(
        !products.is_empty() && products.iter().all(|math| math.allow_contract && math.not_nan),
        "{text}"
    );
    assert!(!lines(&text, "no_signed_wrap").is_empty(), "{text}");
    assert!(!lines(&text, "in_bounds").is_empty(), "{text}");
    assert!(!lines(&text, "assume (").is_empty(), "{text}");
    let atomic = lines(&text, "atomic update IAdd i32");
    // Relaxed, for the device.
    assert!(
        !atomic.is_empty() && atomic.iter().all(|line| line.ends_with("order Device 0")),
        "{atomic:?}"
    );
}

#[test]
fn atomic_functions_guarantee_what_their_version_of_opencl_says() {
    if !is_available() {
        return;
    }
    let source = "
      kernel void k(global int *old, global atomic_int *flag, global atomic_int *other, int n, memory_order order) {
        atomic_max(old, n);
        atomic_fetch_max(flag, n);
        atomic_fetch_min_explicit(flag, n, memory_order_acquire);
        atomic_fetch_max_explicit(flag, n, memory_order_relaxed, memory_scope_work_group);
        atomic_fetch_min_explicit(flag, n, memory_order_seq_cst, memory_scope_all_svm_devices);
        atomic_fetch_min_explicit(flag, n, order);
      }";
    let module = read(&compile(source, "-O1"));
    // clang writes the body of a kernel a second time, as a function.
    let kernel = &module.functions[module.kernels[0].function.0 as usize];
    let orders = (kernel.blocks.iter())
        .flat_map(|block| &block.instructions)
        .filter(|instruction| matches!(instruction.operation, Operation::Atomic { .. }))
        .map(|instruction| instruction.attributes.order);
    let orders = orders.map(|order| order.map(|order| (order.scope.0, order.semantics)));
    let expected = [
        Some((Scope::Device as u32, MemorySemantics::RELAXED.bits())),
        Some((
            Scope::Device as u32,
            MemorySemantics::SEQUENTIALLY_CONSISTENT.bits(),
        )),
        Some((Scope::Device as u32, MemorySemantics::ACQUIRE.bits())),
        Some((Scope::Workgroup as u32, MemorySemantics::RELAXED.bits())),
        Some((
            Scope::CrossDevice as u32,
            MemorySemantics::SEQUENTIALLY_CONSISTENT.bits(),
        )),
        // What is only known when it runs is taken for the strictest.
        None,
    ];
    assert_eq!(orders.collect::<Vec<_>>(), expected, "{module}");
}

fn instructions(module: &Module) -> impl Iterator<Item = &offkit_kernel::ir::Instruction> {
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    blocks.flat_map(|block| &block.instructions)
}

/// What clang 22 doesn't write and others do.
#[test]
fn hints_of_loops_and_branches_are_kept() {
    let mut b = Builder::new();
    b.set_version(1, 4);
    for capability in [
        Capability::Kernel,
        Capability::Addresses,
        Capability::Linkage,
        Capability::ExpectAssumeKHR,
        Capability::UniformDecoration,
    ] {
        b.capability(capability);
    }
    b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
    let (void, int, float, truth) = (
        b.type_void(),
        b.type_int(32, 0),
        b.type_float(32, None),
        b.type_bool(),
    );
    let signature = b.type_function(void, [truth, float]);
    let one = b.constant_bit32(int, 1);
    let kernel = b
        .begin_function(
            void,
            None,
            FunctionControl::INLINE | FunctionControl::PURE,
            signature,
        )
        .unwrap();
    let parameter = b.function_parameter(truth).unwrap();
    let number = b.function_parameter(float).unwrap();
    let [header, again, after] = [(); 3].map(|()| b.id());
    b.begin_block(None).unwrap();
    b.branch(header).unwrap();
    b.begin_block(Some(header)).unwrap();
    let likely = b.expect_khr(truth, None, parameter, parameter).unwrap();
    let control = rspirv::spirv::LoopControl::UNROLL
        | rspirv::spirv::LoopControl::MIN_ITERATIONS
        | rspirv::spirv::LoopControl::PARTIAL_COUNT;
    let numbers = [Operand::LiteralBit32(8), Operand::LiteralBit32(4)];
    b.loop_merge(after, again, control, numbers).unwrap();
    b.branch_conditional(likely, again, after, [90, 10]).unwrap();
    b.begin_block(Some(again)).unwrap();
    let sum = b.i_add(int, None, one, one).unwrap();
    let square = b.f_mul(float, None, number, number).unwrap();
    b.branch(header).unwrap();
    b.begin_block(Some(after)).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.decorate(sum, Decoration::NoUnsignedWrap, []);
    b.decorate(square, Decoration::NoContraction, []);
    b.decorate(number, Decoration::Uniform, []);
    b.entry_point(ExecutionModel::Kernel, kernel, "k", []);
    b.execution_mode(kernel, ExecutionMode::ContractionOff, []);
    b.execution_mode(kernel, ExecutionMode::RoundingModeRTE, [32]);
    b.execution_mode(kernel, ExecutionMode::DenormPreserve, [64]);
    let module = read(
        &b.module()
            .assemble()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>(),
    );
    let text = module.to_string();

    let header = &module.functions[0].blocks[1];
    let Some(Merge::Loop { control, .. }) = header.merge else {
        panic!("{text}")
    };
    let expected = LoopControl {
        unroll: true,
        min_iterations: Some(8),
        partial_count: Some(4),
        ..LoopControl::default()
    };
    assert_eq!(control, expected);
    assert!(text.contains("end branch %2 ^2 ^3 weights 90 10"), "{text}");
    assert_eq!(header.instructions[0].operation, Operation::Expect);
    let body = &module.functions[0].blocks[2].instructions;
    assert!(body[0].attributes.no_unsigned_wrap && !body[0].attributes.no_signed_wrap);
    assert!(body[1].attributes.no_contraction);
    let kernel = &module.kernels[0];
    assert!(kernel.contraction_off);
    assert_eq!(
        (&kernel.round_to_nearest_even[..], &kernel.denorm_preserve[..]),
        (&[32][..], &[64][..])
    );
    assert!(module.functions[0].control.inline && module.functions[0].control.is_pure);
    assert_eq!(Module::from_text(&text), Ok(module));
}
