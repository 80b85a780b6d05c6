//! Reading and writing: errors say where, nothing panics, and what is not changed comes back byte for byte.

mod common;

use common::{assemble, compile, try_link};
use offkit_spirv::dr::Operand;
use offkit_spirv::grammar;
use offkit_spirv::{ByteOrder, CallGraph, Limits, LinkOptions, Module, ReadError, reflect, specialize};
use proptest::prelude::*;
use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionModel, FunctionControl, LinkageType, MemoryModel, Op,
    StorageClass,
};

/// A small module with a bit of everything, made without any tool: an import, an export, a kernel, a struct, local
/// memory, a specialization constant, a constant computation, names, strings, a switch.
fn sample() -> Vec<u32> {
    let mut b = dr::Builder::new();
    b.set_version(1, 4);
    for capability in [Capability::Kernel, Capability::Addresses, Capability::Linkage] {
        b.capability(capability);
    }
    b.ext_inst_import("OpenCL.std");
    b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
    let file = b.string("sample.cl");
    b.source(
        rspirv::spirv::SourceLanguage::OpenCL_C,
        300_000,
        Some(file),
        None::<String>,
    );
    let void = b.type_void();
    let int = b.type_int(32, 0);
    let long = b.type_int(64, 0);
    let pair = b.type_struct([int, long]);
    b.name(pair, "struct.pair");
    let pointer = b.type_pointer(None, StorageClass::CrossWorkgroup, pair);
    let length = b.spec_constant_bit32(int, 16);
    b.decorate(length, Decoration::SpecId, [dr::Operand::LiteralBit32(7)]);
    let array = b.type_array(int, length);
    let local = b.type_pointer(None, StorageClass::Workgroup, array);
    let scratch = b.variable(local, None, StorageClass::Workgroup, None);
    let zero = b.constant_bit32(int, 0);
    let wide = b.constant_bit64(long, 1 << 40);
    b.constant_composite(pair, [zero, wide]);
    let function = b.type_function(int, [int]);
    let kernel_type = b.type_function(void, [pointer, int]);
    let import = b
        .begin_function(int, None, FunctionControl::NONE, function)
        .unwrap();
    b.function_parameter(int).unwrap();
    b.end_function().unwrap();
    let export = b
        .begin_function(int, None, FunctionControl::NONE, function)
        .unwrap();
    let parameter = b.function_parameter(int).unwrap();
    let start = b.begin_block(None).unwrap();
    let other = b.id();
    b.switch(parameter, other, [(dr::Operand::LiteralBit32(3), other)])
        .unwrap();
    b.begin_block(Some(other)).unwrap();
    b.phi(int, None, [(parameter, start)]).unwrap();
    let called = b.function_call(int, None, import, [parameter]).unwrap();
    b.ret_value(called).unwrap();
    b.end_function().unwrap();
    let kernel = b
        .begin_function(void, None, FunctionControl::NONE, kernel_type)
        .unwrap();
    b.function_parameter(pointer).unwrap();
    let count = b.function_parameter(int).unwrap();
    b.begin_block(None).unwrap();
    b.function_call(int, None, export, [count]).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Kernel, kernel, "kernel", [scratch]);
    for (id, name, linkage) in [
        (import, "import", LinkageType::Import),
        (export, "export", LinkageType::Export),
    ] {
        let operands = [
            dr::Operand::LiteralString(name.into()),
            dr::Operand::LinkageType(linkage),
        ];
        b.decorate(id, Decoration::LinkageAttributes, operands);
    }
    b.module().assemble()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Does with a module all that the crate can do.
/// A module as it is written from its instructions, which is read as the same again.
fn written(module: &Module) -> Vec<u32> {
    let rewritten = |module: &Module| {
        let mut module = module.clone();
        module.dr_mut();
        module.to_words()
    };
    let words = rewritten(module);
    let again = Module::from_bytes(&bytes(&words)).expect("what is written can be read");
    assert_eq!(rewritten(&again), words);
    words
}

fn exercise(module: &Module) {
    written(module);
    let reflection = reflect(module);
    let graph = CallGraph::new(module);
    for kernel in &reflection.kernels {
        graph.needs(&kernel.name);
        graph.functions(&kernel.name);
    }
    let options = LinkOptions::default()
        .with_allow_unresolved(true)
        .with_keep_exports(true);
    if let Ok(linked) = try_link(&[module], options) {
        // What is linked can be written; whether it is valid depends on the input.
        assert!(linked.to_words().len() > 5);
    }
    drop(try_link(&[module, module], LinkOptions::default()));
    let mut module = module.clone();
    specialize(&mut module, &[(7, 3)].into());
}

#[test]
fn a_module_comes_back_byte_for_byte() {
    let words = sample();
    let little = bytes(&words);
    let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let module = Module::from_bytes(&little).unwrap();
    assert_eq!(written(&module), words);
    assert_eq!(
        (module.byte_order(), module.to_bytes()),
        (ByteOrder::Little, little)
    );
    let swapped = Module::from_bytes(&big).unwrap();
    assert_eq!((swapped.byte_order(), swapped.to_bytes()), (ByteOrder::Big, big));
    assert_eq!(swapped.to_words(), words);
    assert_eq!(reflect(&swapped), reflect(&module));
}

#[test]
fn what_the_parser_would_lose_is_kept_until_the_module_is_changed() {
    let mut words = sample();
    words[2] = 0xabcd_1234;
    words[4] = 5;
    // The last bytes of the string "export" in OpDecorate, behind the end.
    let place = words
        .windows(2)
        .position(|pair| pair == [u32::from_le_bytes(*b"expo"), 0x0000_7472])
        .unwrap();
    words[place + 1] |= 0x5500_0000;
    // A name among the annotations.
    let decorate = words
        .iter()
        .position(|word| *word == 4 << 16 | Op::Decorate as u32)
        .unwrap();
    words.splice(
        decorate..decorate,
        [3 << 16 | Op::Name as u32, 1, u32::from_le_bytes(*b"x\0\0\0")],
    );
    let mut module = Module::from_bytes(&bytes(&words)).unwrap();
    assert_eq!(module.to_words(), words);
    assert_eq!(
        (module.generator().tool, module.generator().version),
        (0xabcd, 0x1234)
    );
    module.dr_mut().debug_names.clear();
    let changed = module.to_words();
    assert!(changed.len() < words.len());
    assert_eq!(changed[..5], words[..5]);
    assert_eq!(changed, Module::from_bytes(&bytes(&changed)).unwrap().to_words());
}

#[test]
fn instructions_outside_functions_are_accepted() {
    // Aliasing scopes, debug information and address computations on constants.
    let text = r#"
        OpCapability Addresses
        OpCapability Kernel
        OpCapability Linkage
        OpCapability MemoryAccessAliasingINTEL
        OpExtension "SPV_INTEL_memory_access_aliasing"
        %1 = OpExtInstImport "OpenCL.DebugInfo.100"
        OpMemoryModel Physical64 OpenCL
        %2 = OpString "x.cl"
        %3 = OpTypeVoid
        %4 = OpTypeInt 32 0
        %5 = OpConstant %4 4
        %6 = OpTypeArray %4 %5
        %7 = OpTypePointer CrossWorkgroup %6
        %8 = OpTypePointer CrossWorkgroup %4
        %9 = OpVariable %7 CrossWorkgroup
        %10 = OpSpecConstantOp %8 InBoundsPtrAccessChain %9 %5 %5
        %11 = OpExtInst %3 %1 DebugInfoNone
        %12 = OpAliasDomainDeclINTEL
        %13 = OpAliasScopeDeclINTEL %12
        %14 = OpAliasScopeListDeclINTEL %13
    "#;
    let Some(module) = assemble(text) else { return };
    let globals = &module.dr().types_global_values;
    let chain = globals
        .iter()
        .find(|i| i.opcode == grammar::Op::SpecConstantOp)
        .unwrap();
    assert_eq!(
        chain.operands[0],
        Operand::LiteralSpecConstantOpInteger(grammar::Op::InBoundsPtrAccessChain)
    );
    assert_eq!(chain.operands.len(), 4);
    assert!(
        globals
            .iter()
            .any(|i| i.opcode == grammar::Op::AliasScopeListDeclINTEL)
    );
    // Written again from the instructions it is the same.
    let again = Module::from_dr(module.dr().clone());
    assert_eq!(again.to_words()[5..], module.to_words()[5..]);
}

/// LLVM 22 writes operands behind a null event, where the grammar has none.
#[test]
fn operands_behind_a_null_event_are_accepted() {
    for is_event in [true, false] {
        let mut b = dr::Builder::new();
        b.set_version(1, 4);
        b.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
        let kind = if is_event {
            b.type_event()
        } else {
            b.type_int(32, 0)
        };
        let null = b.constant_null(kind);
        let mut words = b.module().assemble();
        let at = words.len() - 3;
        assert_eq!(words[at..], [3 << 16 | Op::ConstantNull as u32, kind, null]);
        words[at] = 4 << 16 | Op::ConstantNull as u32;
        words.push(kind);
        let module = Module::from_bytes(&bytes(&words));
        if !is_event {
            let error = module.unwrap_err().to_string();
            assert!(
                error.contains("OpConstantNull: there are more operands"),
                "{error}"
            );
            continue;
        }
        let mut module = module.unwrap();
        assert_eq!(module.to_words(), words);
        let constant = module.dr_mut().types_global_values.last().unwrap();
        assert_eq!((constant.result_id, constant.operands.len()), (Some(null), 0));
        assert_eq!(module.to_words().len(), words.len() - 1);
    }
}

#[test]
fn errors_say_where_and_what() {
    let words = sample();
    let with = |place: usize, word: u32| {
        let mut words = words.clone();
        words[place] = word;
        Module::from_bytes(&bytes(&words)).unwrap_err()
    };
    assert_eq!(
        Module::from_bytes(&[]).unwrap_err(),
        ReadError::Header { words: 0 }
    );
    assert_eq!(
        Module::from_bytes(&[1, 2, 3]).unwrap_err(),
        ReadError::Length { length: 3 }
    );
    assert_eq!(with(0, 0xfeed_f00d), ReadError::Magic { found: 0xfeed_f00d });
    assert_eq!(with(1, 0x0002_0000), ReadError::Version { found: 0x0002_0000 });
    assert_eq!(with(1, 0x0001_0700), ReadError::Version { found: 0x0001_0700 });
    assert!(matches!(with(3, u32::MAX), ReadError::Limit { what: "ids", .. }));
    // The first instruction, OpCapability.
    assert_eq!(
        with(5, 0x11).to_string(),
        format!(
            "word 5: OpCapability has a length of 0 words, with {} words left in the module",
            words.len() - 5
        )
    );
    assert!(matches!(
        with(5, 0xffff_0011),
        ReadError::InstructionLength {
            word: 5,
            length: 0xffff,
            ..
        }
    ));
    let place = words
        .iter()
        .position(|word| *word == 4 << 16 | Op::TypeInt as u32)
        .unwrap();
    assert_eq!(
        with(place + 1, 0).to_string(),
        format!("word {place}: OpTypeInt uses id 0, outside 1..{}", words[3])
    );
    assert_eq!(
        with(place + 1, words[place + 1] - 1).to_string(),
        format!(
            "word {place}: OpTypeInt defines id {}, which is already defined",
            words[place + 1] - 1
        )
    );
    let end = words.len() - 1;
    assert_eq!(words[end], 1 << 16 | Op::FunctionEnd as u32);
    let unfinished = Module::from_bytes(&bytes(&words[..end])).unwrap_err();
    assert_eq!(unfinished, ReadError::UnfinishedFunction);
    assert_eq!(
        with(end, 1 << 16 | Op::Return as u32).to_string(),
        format!("word {end}: OpReturn: the instruction is not inside a block")
    );
}

#[test]
fn limits_are_kept() {
    let bytes = bytes(&sample());
    let mut limits = Limits::default();
    limits.max_words = bytes.len() / 4 - 1;
    let error = Module::from_bytes_with(&bytes, &limits).unwrap_err();
    assert!(matches!(error, ReadError::Limit { what: "words", .. }), "{error}");
    limits.max_words += 1;
    assert!(Module::from_bytes_with(&bytes, &limits).is_ok());
    limits.max_id_bound = 3;
    let error = Module::from_bytes_with(&bytes, &limits).unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::Limit {
                what: "ids",
                limit: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn no_prefix_makes_trouble() {
    let words = sample();
    let bytes = bytes(&words);
    for length in 0..bytes.len() {
        let module = Module::from_bytes(&bytes[..length]);
        if length % 4 != 0 {
            assert!(matches!(module, Err(ReadError::Length { .. })), "{length}");
        } else if let Ok(module) = module {
            assert_eq!(module.to_bytes(), bytes[..length]);
            exercise(&module);
        }
    }
}

#[test]
fn no_flipped_bit_makes_trouble() {
    let words = sample();
    let mut accepted = 0;
    for (place, bit) in (1..words.len()).flat_map(|place| (0..32).map(move |bit| (place, bit))) {
        let mut words = words.clone();
        words[place] ^= 1 << bit;
        if let Ok(module) = Module::from_bytes(&bytes(&words)) {
            assert_eq!(module.to_words(), words);
            exercise(&module);
            accepted += 1;
        }
    }
    // The sweep is of use only as long as a good part of the modules gets past the reader.
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn no_word_of_a_compiled_module_makes_trouble() {
    let Some(module) = compile(
        "typedef struct { int n; float3 v; } S; int f(S); constant int t[] = {1, 2}; constant int *constant p = &t[1];
         kernel void k(global S *s, local int *l) { l[0] = f(*s) + *p; barrier(CLK_LOCAL_MEM_FENCE); s->n = l[1]; }",
    ) else {
        return;
    };
    let words = module.to_words();
    for place in 5..words.len() {
        for value in [
            0,
            1,
            words[place].wrapping_add(1),
            words[place] ^ 0x8000_0000,
            u32::MAX,
        ] {
            let mut words = words.clone();
            words[place] = value;
            if let Ok(module) = Module::from_bytes(&bytes(&words)) {
                exercise(&module);
            }
        }
    }
}

#[test]
fn types_that_contain_themselves_end() {
    // struct %3 {%3, %3}; a tower of structs of two of the one before; an array of 2^32 of them.
    let header = [0x0723_0203, 0x0001_0400, 0, 1000, 0];
    let mut words = header.to_vec();
    words.extend([
        3 << 16 | Op::MemoryModel as u32,
        AddressingModel::Physical64 as u32,
        MemoryModel::OpenCL as u32,
    ]);
    words.extend([
        4 << 16 | Op::EntryPoint as u32,
        ExecutionModel::Kernel as u32,
        900,
        u32::from_le_bytes(*b"k\0\0\0"),
    ]);
    words.extend([2 << 16 | Op::TypeVoid as u32, 1]);
    words.extend([4 << 16 | Op::TypeInt as u32, 2, 32, 0]);
    words.extend([4 << 16 | Op::TypeStruct as u32, 3, 3, 3]);
    for id in 10..100 {
        let member = if id == 10 { 2 } else { id - 1 };
        words.extend([4 << 16 | Op::TypeStruct as u32, id, member, member]);
    }
    words.extend([
        4 << 16 | Op::TypePointer as u32,
        200,
        StorageClass::Function as u32,
        3,
    ]);
    words.extend([6 << 16 | Op::TypeFunction as u32, 201, 1, 3, 99, 200]);
    words.extend([5 << 16 | Op::Function as u32, 1, 900, 0, 201]);
    for (id, kind) in [(901, 3), (902, 99), (903, 200)] {
        words.extend([3 << 16 | Op::FunctionParameter as u32, kind, id]);
    }
    words.extend([
        2 << 16 | Op::Label as u32,
        904,
        1 << 16 | Op::Return as u32,
        1 << 16 | Op::FunctionEnd as u32,
    ]);
    let module = Module::from_bytes(&bytes(&words)).unwrap();
    let reflection = reflect(&module);
    let parameters = &reflection.kernels[0].parameters;
    assert_eq!(
        parameters
            .iter()
            .map(|parameter| parameter.size)
            .collect::<Vec<_>>(),
        [0, 0, 0]
    );
    drop(try_link(&[&module], LinkOptions::default()));
    drop(try_link(&[&module, &module], LinkOptions::default()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_written(tail in proptest::collection::vec(any::<u32>(), 0..40)) {
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, 64, 0];
        words.extend(tail);
        if let Ok(module) = Module::from_bytes(&bytes(&words)) {
            prop_assert_eq!(module.to_words(), words);
            written(&module);
        }
    }

    #[test]
    fn instructions_with_random_operands_make_no_trouble(
        instructions in proptest::collection::vec((0u32..500, proptest::collection::vec(0u32..20, 0..6)), 0..30),
    ) {
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, 64, 0];
        words.extend([3 << 16 | Op::MemoryModel as u32, 2, 2]);
        for (opcode, operands) in instructions {
            words.push((operands.len() as u32 + 1) << 16 | opcode);
            words.extend(operands);
        }
        if let Ok(module) = Module::from_bytes(&bytes(&words)) {
            prop_assert_eq!(module.to_words(), words);
            exercise(&module);
        }
    }

    #[test]
    fn shuffled_instructions_make_no_trouble(swaps in proptest::collection::vec((0usize..200, 0usize..200), 1..8)) {
        let words = sample();
        let mut instructions = Vec::new();
        let mut rest = &words[5..];
        while let Some(first) = rest.first() {
            let (instruction, tail) = rest.split_at((first >> 16) as usize);
            instructions.push(instruction);
            rest = tail;
        }
        for (a, b) in swaps {
            let count = instructions.len();
            instructions.swap(a % count, b % count);
        }
        let shuffled = [&words[..5], &instructions.concat()].concat();
        if let Ok(module) = Module::from_bytes(&bytes(&shuffled)) {
            prop_assert_eq!(module.to_words(), shuffled);
            exercise(&module);
        }
    }
}
