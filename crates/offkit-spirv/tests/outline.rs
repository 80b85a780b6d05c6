//! The outline of a module and the reader of whole modules give the same answers.

mod common;

use std::collections::BTreeSet;

use common::{compile_for, read};
use offkit_spirv::{ByteOrder, Outline, ReadError, Symbol, SymbolKind, reflect, triple_of};
use proptest::prelude::*;
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionModel, FunctionControl, LinkageType,
    MemoryModel, Op, StorageClass,
};

/// The module in the other byte order.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    let words = bytes.chunks(4);
    words.flat_map(|word| word.iter().rev().copied()).collect()
}

/// Asserts that a well-formed module is read alike in both ways, whatever its byte order.
#[track_caller]
fn assert_agrees(bytes: &[u8]) {
    let module = read(bytes);
    let whole = reflect(&module);
    let other_order = swapped(bytes);
    for (bytes, order) in [(bytes, ByteOrder::Little), (&*other_order, ByteOrder::Big)] {
        let outline = Outline::read(bytes);
        assert_eq!(outline.byte_order, Some(order));
        assert_eq!(outline.problem, None);
        assert_eq!(outline.version, Some(whole.version));
        assert_eq!(outline.generator, Some(whole.generator));
        assert_eq!(outline.triple(), module.triple());
        assert_eq!(triple_of(bytes), module.triple());
        let capabilities = &whole.capabilities;
        assert_eq!(&outline.capabilities, capabilities);
        let kernels: Vec<_> = whole.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        let found: Vec<_> = outline.kernels().map(|kernel| kernel.name.to_string()).collect();
        assert_eq!(found, kernels);
        // The outline does not know the order of functions.
        let ids = |symbols: &[Symbol]| symbols.iter().map(|symbol| symbol.id).collect::<BTreeSet<_>>();
        let imports: BTreeSet<_> = outline.imports().map(|symbol| symbol.id).collect();
        assert_eq!(imports, ids(&whole.imports));
        let exports: BTreeSet<_> = outline.exports().map(|symbol| symbol.id).collect();
        assert_eq!(exports, ids(&whole.exports));
        let symbols = outline.symbols.iter().map(|symbol| {
            let name = symbol.name.to_string();
            (symbol.id, name, symbol.kind, symbol.linkage, symbol.is_built_in)
        });
        let mut symbols: Vec<_> = symbols.collect();
        let is_function = |kind| kind == SymbolKind::Function;
        assert!(symbols.is_sorted_by_key(|symbol| is_function(symbol.2)));
        let expected = whole.symbols.iter().map(|symbol| {
            let name = symbol.name.clone();
            (symbol.id, name, symbol.kind, symbol.linkage, symbol.is_built_in)
        });
        let mut expected: Vec<_> = expected.collect();
        let variables = expected
            .iter()
            .take_while(|symbol| !is_function(symbol.2))
            .count();
        assert_eq!(symbols.get(..variables), expected.get(..variables));
        symbols.sort_by_key(|symbol| symbol.0);
        expected.sort_by_key(|symbol| symbol.0);
        assert_eq!(symbols, expected);
    }
}

const OPENCL: &str = "
int twice(int x);
extern constant int table[4];
constant int own[4] = {1, 2, 3, 4};
__attribute__((noinline)) int thrice(int x) { return x * 3 + twice(x) + table[x & 3] + own[x & 3]; }

static __attribute__((noinline)) int hidden(int x) { return x * 5 ^ x; }
kernel void saxpy(float a, global const float *x, global float *y) { y[get_global_id(0)] += a * x[0]; }
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reduce(global int *x, local int *l, double2 d) {
  x[0] = hidden(thrice(x[1])) + l[0] + convert_half2(d).x;
}
";

#[test]
fn modules_of_clang_are_read_alike() {
    for (target, triple) in [
        ("spirv64", "spirv64-unknown-unknown"),
        ("spirv32", "spirv32-unknown-unknown"),
        ("spirv64v1.1", "spirv64-unknown-unknown"),
    ] {
        let Some(bytes) = compile_for(target, OPENCL) else {
            return;
        };
        assert_agrees(&bytes);
        let outline = Outline::read(&bytes);
        assert_eq!(outline.triple(), Some(triple));
        let names = |symbols: Vec<String>| symbols.into_iter().collect::<BTreeSet<_>>();
        let imports = names(outline.imports().map(|symbol| symbol.name.to_string()).collect());
        assert_eq!(imports, names(vec!["table".into(), "twice".into()]));
        let exports = names(outline.exports().map(|symbol| symbol.name.to_string()).collect());
        assert_eq!(exports, names(vec!["own".into(), "thrice".into()]));
    }
}

#[test]
fn a_damaged_module_is_read_up_to_the_damage() {
    let Some(bytes) = compile_for("spirv64", OPENCL) else {
        return;
    };
    let whole = Outline::read(&bytes);
    for length in (0..bytes.len()).step_by(3) {
        let part = Outline::read(&bytes[..length]);
        assert!(length.is_multiple_of(4) || part.problem.is_some(), "{length}");
        assert!(part.entry_points.len() <= whole.entry_points.len());
        assert!(part.symbols.len() <= whole.symbols.len());
    }
    let mut endless = bytes.clone();
    // The first capability takes more words than there are.
    endless[22..24].copy_from_slice(&[0xff, 0xff]);
    let outline = Outline::read(&endless);
    assert_eq!(outline.version, whole.version);
    let Some(ReadError::InstructionLength {
        word: 5, instruction, ..
    }) = outline.problem
    else {
        panic!("{outline:?}");
    };
    assert_eq!(instruction, "OpCapability");
    assert_eq!(
        Outline::read(b"other").problem,
        Some(ReadError::Magic {
            found: u32::from_le_bytes(*b"othe")
        })
    );
}

/// A function or variable to be.
#[derive(Clone, Debug)]
struct Shared {
    name: &'static str,
    linkage: Option<LinkageType>,
    is_variable: bool,
    is_built_in: bool,
    is_grouped: bool,
    has_second_name: bool,
}

fn shared() -> impl Strategy<Value = Shared> {
    let name = prop::sample::select(vec![
        "a",
        "twice",
        "four",
        "",
        "gr\u{f6}\u{df}e",
        "__spirv_BuiltInGlobalInvocationId",
        "_Z22__spirv_ControlBarrierjjj",
        "llvm.used",
        "__clang_ocl_kern_imp_k",
        "_Z14convert_doublei",
    ]);
    let linkage = prop::option::weighted(
        0.8,
        prop::sample::select(vec![
            LinkageType::Import,
            LinkageType::Export,
            LinkageType::LinkOnceODR,
        ]),
    );
    (name, linkage, any::<[bool; 4]>()).prop_map(|(name, linkage, [variable, built_in, grouped, second])| {
        Shared {
            name,
            linkage,
            is_variable: variable,
            is_built_in: built_in && variable,
            is_grouped: grouped,
            has_second_name: second,
        }
    })
}

fn module(
    addressing: Option<AddressingModel>,
    entry_points: &[(bool, String)],
    shared: &[Shared],
) -> Vec<u8> {
    let mut b = Builder::new();
    b.set_version(1, 4);
    b.capability(Capability::Kernel);
    b.capability(Capability::Linkage);
    b.extension("SPV_KHR_something");
    b.ext_inst_import("OpenCL.std");
    if let Some(addressing) = addressing {
        b.memory_model(addressing, MemoryModel::OpenCL);
    }
    let void = b.type_void();
    let int = b.type_int(32, 0);
    let pointer = b.type_pointer(None, StorageClass::CrossWorkgroup, int);
    let function_type = b.type_function(void, []);
    let function = |b: &mut Builder| {
        let id = b
            .begin_function(void, None, FunctionControl::NONE, function_type)
            .unwrap();
        b.end_function().unwrap();
        id
    };
    for (is_kernel, name) in entry_points {
        let id = function(&mut b);
        let model = if *is_kernel {
            ExecutionModel::Kernel
        } else {
            ExecutionModel::GLCompute
        };
        b.entry_point(model, id, name.as_str(), []);
    }
    for shared in shared {
        let id = match shared.is_variable {
            true => b.variable(pointer, None, StorageClass::CrossWorkgroup, None),
            false => function(&mut b),
        };
        let group = shared.is_grouped.then(|| b.id());
        let target = group.unwrap_or(id);
        if let Some(linkage) = shared.linkage {
            let name = |name: &str| [Operand::LiteralString(name.into()), Operand::LinkageType(linkage)];
            b.decorate(target, Decoration::LinkageAttributes, name(shared.name));
            if shared.has_second_name {
                b.decorate(id, Decoration::LinkageAttributes, name("second"));
            }
        }
        if shared.is_built_in {
            let built_in = Operand::BuiltIn(BuiltIn::GlobalInvocationId);
            b.decorate(target, Decoration::BuiltIn, [built_in]);
        }
        if let Some(group) = group {
            let annotations = &mut b.module_mut().annotations;
            annotations.push(Instruction::new(Op::DecorationGroup, None, Some(group), vec![]));
            let operands = vec![Operand::IdRef(group), Operand::IdRef(id)];
            annotations.push(Instruction::new(Op::GroupDecorate, None, None, operands));
        }
    }
    let words = b.module().assemble();
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_readers_agree(
        addressing in prop::option::weighted(0.9, prop::sample::select(vec![
            AddressingModel::Logical,
            AddressingModel::Physical32,
            AddressingModel::Physical64,
            AddressingModel::PhysicalStorageBuffer64,
        ])),
        entry_points in prop::collection::vec((any::<bool>(), "[a-z]{0,9}"), 0..5),
        shared in prop::collection::vec(shared(), 0..12),
    ) {
        assert_agrees(&module(addressing, &entry_points, &shared));
    }
}
