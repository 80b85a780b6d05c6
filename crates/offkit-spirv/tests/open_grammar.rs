//! Modules that use what is newer than the grammar, or than most tools: read, written, and linked where ids are known.

mod common;

use common::{assemble, compile_ir, try_link};
use offkit_spirv::dr::Operand;
use offkit_spirv::grammar::{Capability, Decoration, Op};
use offkit_spirv::{LinkOptions, Module, Outline, reflect, specialize};

/// A module alone, linked: everything gets a new number.
fn link(module: &Module) -> Module {
    try_link(&[module], LinkOptions::default().with_allow_unresolved(true)).unwrap()
}

/// The operands of the first instruction of an opcode.
fn operands(module: &Module, opcode: Op) -> Vec<Operand> {
    let mut instructions = module.dr().all_inst_iter();
    let found = instructions.find(|instruction| instruction.opcode == opcode);
    found.unwrap_or_else(|| panic!("no Op{opcode}")).operands.clone()
}

/// DPC++ decorates each device global with 6147, a number that was never published.
#[test]
fn device_globals_keep_their_decorations() {
    let module = compile_ir(
        r#"@g = addrspace(1) global i32 3, !spirv.Decorations !0
           !0 = !{!1, !2}
           !1 = !{i32 6188, i32 2, !"g_name"}
           !2 = !{i32 6147, i32 2, !"g_name"}
           define spir_kernel void @k(ptr addrspace(1) %p) {
             %v = load i32, ptr addrspace(1) @g
             store i32 %v, ptr addrspace(1) %p
             ret void
           }"#,
    );
    let Some(module) = module else { return };
    let linked = link(&module);
    let decorations = linked.dr().annotations.iter();
    let decorations: Vec<_> = decorations.map(|decoration| &decoration.operands[1..]).collect();
    let host_access = Operand::Decoration(Decoration::HostAccessINTEL);
    let known = [
        host_access,
        Operand::LiteralBit32(2),
        Operand::LiteralString("g_name".into()),
    ];
    assert!(decorations.contains(&&known[..]), "{decorations:?}");
    let words = [2, u32::from_le_bytes(*b"g_na"), u32::from_le_bytes(*b"me\0\0")];
    let unknown = [Operand::Decoration(Decoration(6147))];
    let unknown = [&unknown[..], &words.map(Operand::LiteralBit32)].concat();
    assert!(decorations.contains(&&unknown[..]), "{decorations:?}");
}

#[test]
fn joint_matrices_are_linked() {
    let module = compile_ir(
        r#"define spir_kernel void @k(ptr addrspace(1) %p) {
             %a = call spir_func target("spirv.CooperativeMatrixKHR", i32, 3, 12, 48, 0) @load(ptr addrspace(1) %p)
             call spir_func void @_Z33__spirv_CooperativeMatrixStoreKHRPU3AS4iPU3AS144__spirv_CooperativeMatrixKHR__uint_3_12_48_0ili(ptr addrspace(1) %p, target("spirv.CooperativeMatrixKHR", i32, 3, 12, 48, 0) %a, i32 0, i64 4, i32 1)
             ret void
           }
           declare spir_func target("spirv.CooperativeMatrixKHR", i32, 3, 12, 48, 0) @load(ptr addrspace(1))
           declare spir_func void @_Z33__spirv_CooperativeMatrixStoreKHRPU3AS4iPU3AS144__spirv_CooperativeMatrixKHR__uint_3_12_48_0ili(ptr addrspace(1), target("spirv.CooperativeMatrixKHR", i32, 3, 12, 48, 0), i32, i64, i32)"#,
    );
    let Some(module) = module else { return };
    let linked = link(&module);
    let constants = operands(&linked, Op::TypeCooperativeMatrixKHR);
    let defined = |operand: &Operand| {
        let mut globals = linked.dr().types_global_values.iter();
        globals.any(|global| global.result_id == operand.id_ref_any())
    };
    assert_eq!(constants.len(), 5);
    assert!(constants.iter().all(defined));
    // Pointer, matrix, layout and stride are ids; the access is not.
    let store = operands(&linked, Op::CooperativeMatrixStoreKHR);
    assert_eq!(store[4], Operand::LiteralBit32(1));
    assert!(store[..4].iter().all(|operand| operand.id_ref_any().is_some()));
}

const MODEL: &str = "OpCapability Kernel
                     OpCapability Addresses
                     OpCapability Linkage";

/// The assembler takes `!N` for the word N, whether it knows what the word means or not.
#[test]
fn numbers_that_nobody_knows_pass() {
    let module = assemble(&format!(
        "{MODEL}
         OpCapability !60001
         OpCapability !6022
         OpMemoryModel Physical64 OpenCL
         OpEntryPoint Kernel %5 \"k\"
         OpExecutionMode %5 !60002 7
         OpDecorate %3 SpecId 4
         %1 = OpTypeVoid
         %2 = OpTypeInt 32 0
         %3 = OpSpecConstant %2 5
         %6 = OpTypePointer !60003 %2
         %4 = OpTypeFunction %1 %6
         %5 = OpFunction %1 None %4
         %7 = OpFunctionParameter %6
         %8 = OpLabel
         OpReturn
         OpFunctionEnd"
    ));
    let Some(module) = module else { return };
    assert_eq!(
        Module::from_bytes(&module.to_bytes()).unwrap().to_words(),
        module.to_words()
    );
    let capabilities = [6, 4, 5, 60001, 6022].map(Capability);
    let linked = link(&module);
    assert_eq!(reflect(&linked).capabilities[..2], capabilities[..2]);
    for number in [60001, 6022] {
        assert!(reflect(&linked).capabilities.contains(&Capability(number)));
    }
    let bytes = module.to_bytes();
    assert_eq!(Outline::read(&bytes).capabilities, capabilities);
    // Names where there are some, numbers where there are none.
    let shown = capabilities.iter().map(ToString::to_string);
    assert_eq!(
        shown.collect::<Vec<_>>(),
        ["Kernel", "Addresses", "Linkage", "60001", "CooperativeMatrixKHR"]
    );
    let [_, mode, literal] = &linked.dr().execution_modes[0].operands[..] else {
        panic!("{linked:?}")
    };
    assert_eq!(
        mode,
        &Operand::ExecutionMode(offkit_spirv::grammar::ExecutionMode(60002))
    );
    assert_eq!(literal, &Operand::LiteralBit32(7));
}

#[test]
fn instructions_that_nobody_knows_stay_where_they_are_and_are_not_linked() {
    let module = assemble(&format!(
        "{MODEL}
         OpMemoryModel Physical64 OpenCL
         OpEntryPoint Kernel %5 \"k\"
         OpDecorate %3 SpecId 4
         !0x0003ea61 !3 !1
         OpDecorate %3 Alignment 8
         %1 = OpTypeVoid
         %2 = OpTypeInt 32 0
         %3 = OpSpecConstant %2 5
         %4 = OpTypeFunction %1
         %5 = OpFunction %1 None %4
         %8 = OpLabel
         !0x0002ea62 !8
         OpReturn
         OpFunctionEnd"
    ));
    let Some(mut module) = module else { return };
    let error = try_link(&[&module], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m0 uses instruction 60001, whose operands are not known"
    );
    // What keeps the ids keeps these instructions, each where it was.
    specialize(&mut module, &[(4, 9)].into());
    let written = Module::from_bytes(&module.to_bytes()).unwrap();
    let opcodes: Vec<_> = written
        .dr()
        .all_inst_iter()
        .map(|instruction| instruction.opcode)
        .collect();
    let after = |number: u32| opcodes[opcodes.iter().position(|op| op.0 == number).unwrap() + 1];
    assert_eq!((after(60001), after(60002)), (Op::Decorate, Op::Return));
    assert_eq!(operands(&written, Op::Constant), [Operand::LiteralBit32(9)]);
    assert_eq!(reflect(&written).kernels[0].name, "k");
}
