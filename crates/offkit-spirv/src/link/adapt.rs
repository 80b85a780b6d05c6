//! Whether an import has the type of the definition it gets, and what to do where compilers wrote it differently.

use std::collections::{HashMap, HashSet};

use crate::dr::{Instruction, Operand};
use crate::grammar::{Op, StorageClass};

use super::merge::Merger;
use super::resolve::{Global, Replacement, Resolution, label};
use super::{Input, LinkError};
use crate::symbols::{SymbolKind, function_type};
use crate::types::Types;

/// The calls to change: for each import that is called with other pointer types than those it is defined with.
pub(super) type Adapters = HashMap<Global, CallAdapter>;

/// The pointer types to cast to in a call.
pub(super) struct CallAdapter {
    /// For each argument the type that the definition takes, where it differs.
    pub(super) parameters: Vec<Option<u32>>,
    /// The type that the definition returns, where it differs.
    pub(super) result: Option<u32>,
}

/// Compares the types of all symbols that are joined, and gives imports the ids of their definitions.
pub(super) fn adapt(merger: &mut Merger<'_>, resolution: &Resolution) -> Result<Adapters, LinkError> {
    let mut adapters = Adapters::new();
    let mut address_taken: HashMap<usize, HashSet<u32>> = HashMap::new();
    for replacement in &resolution.replaced {
        let target = merger.id(replacement.to);
        // From here on every mention of the import is renumbered to the definition, in whichever
        // module.
        merger.set_id(replacement.from, target);
        let (Some(from_old), Some(to_old)) = (
            type_of(merger, replacement.kind, replacement.from),
            type_of(merger, replacement.kind, replacement.to),
        ) else {
            continue;
        };
        let from = merger.id(from_old);
        let to = merger.id(to_old);
        if from == to {
            continue;
        }
        let joined = match replacement.kind {
            SymbolKind::Function => {
                let Global { module, id } = replacement.from;
                let taken = address_taken.entry(module).or_insert_with(|| {
                    merger
                        .inputs
                        .get(module)
                        .map(with_address_taken)
                        .unwrap_or_default()
                });
                // Arguments are cast at each call. Where the address of the function is taken, there are calls that nobody
                // sees here, which would pass pointers of the wrong type.
                let adapter = call_adapter(merger, from, to).filter(|_| !taken.contains(&id));
                adapter
                    .map(|adapter| adapters.insert(replacement.from, adapter))
                    .is_some()
            }
            SymbolKind::Variable => {
                let same = is_same_variable(merger, from, to)
                    || pointer_storage(merger, from) == pointer_storage(merger, to)
                        && is_same_but_for_padding(merger, from_old, to_old);
                if same {
                    cast_variable(merger, replacement.from, target, from);
                }
                same
            }
        };
        if !joined {
            return Err(mismatch(merger, replacement, from_old, to_old));
        }
        tracing::debug!(symbol = replacement.name, "pointer types differ: casts added");
    }
    Ok(adapters)
}

/// The type of a symbol: of a variable the pointer to it.
fn type_of(merger: &Merger<'_>, kind: SymbolKind, symbol: Global) -> Option<Global> {
    let index = &merger.inputs.get(symbol.module)?.index;
    let id = match kind {
        SymbolKind::Function => function_type(index.function(symbol.id)?)?,
        SymbolKind::Variable => index.global(symbol.id)?.result_type?,
    };
    Some(Global {
        module: symbol.module,
        id,
    })
}

fn mismatch(merger: &Merger<'_>, replacement: &Replacement, from: Global, to: Global) -> LinkError {
    let describe = |id: Global| {
        let input = merger.inputs.get(id.module);
        input.map_or_else(String::new, |input| Types::new(&input.index).describe(id.id))
    };
    LinkError::TypeMismatch {
        symbol: replacement.name.clone(),
        importer: label(merger.inputs, replacement.from),
        import_type: describe(from),
        exporter: label(merger.inputs, replacement.to),
        export_type: describe(to),
    }
}

/// The functions that a module mentions other than to call them.
fn with_address_taken(input: &Input<'_>) -> HashSet<u32> {
    let bodies = input
        .module
        .functions
        .iter()
        .flat_map(|function| function.all_inst_iter());
    let instructions = input.module.types_global_values.iter().chain(bodies);
    let mentioned = instructions.flat_map(|instruction| {
        let is_call = instruction.opcode == Op::FunctionCall;
        instruction.operands.iter().skip(usize::from(is_call))
    });
    let functions = mentioned
        .filter_map(Operand::id_ref_any)
        .filter(|id| input.index.function(*id).is_some());
    functions.collect()
}

fn call_adapter(merger: &Merger<'_>, from: u32, to: u32) -> Option<CallAdapter> {
    let signature = |id| -> Option<Vec<u32>> {
        let function = merger.definition(id).filter(|i| i.opcode == Op::TypeFunction)?;
        Some(function.operands.iter().filter_map(Operand::id_ref_any).collect())
    };
    let (from, to) = (signature(from)?, signature(to)?);
    if from.len() != to.len() {
        return None;
    }
    let mut casts = Vec::new();
    for (from, to) in from.into_iter().zip(to) {
        casts.push(if from == to {
            None
        } else if pointer_storage(merger, from)? == pointer_storage(merger, to)? {
            Some(to)
        } else {
            return None;
        });
    }
    let result = casts.first().copied().flatten();
    // A function type has its result first. One without even that is malformed, and must not panic
    // here.
    Some(CallAdapter {
        parameters: casts.split_off(1.min(casts.len())),
        result,
    })
}

fn pointer_storage(merger: &Merger<'_>, id: u32) -> Option<StorageClass> {
    let pointer = merger.definition(id)?;
    match (pointer.opcode, pointer.operands.first()) {
        (Op::TypePointer | Op::TypeUntypedPointerKHR, Some(Operand::StorageClass(storage))) => Some(*storage),
        _ => None,
    }
}

/// The type a pointer points to.
fn pointee(merger: &Merger<'_>, id: u32) -> Option<u32> {
    let pointer = merger.definition(id).filter(|i| i.opcode == Op::TypePointer)?;
    pointer.operands.get(1)?.id_ref_any()
}

/// Whether pointers of types `from` and `to` can be those of the same variable.
fn is_same_variable(merger: &Merger<'_>, from: u32, to: u32) -> bool {
    let (Some(from_value), Some(to_value)) = (pointee(merger, from), pointee(merger, to)) else {
        return false;
    };
    pointer_storage(merger, from) == pointer_storage(merger, to)
        && (is_array_of_unknown_length(merger, from_value, to_value)
            || is_same_value(merger, from_value, to_value))
}

/// LLVM's back end declares an array of unknown length as a variable that holds a generic pointer to bytes.
fn is_array_of_unknown_length(merger: &Merger<'_>, import: u32, export: u32) -> bool {
    let is_array = merger
        .definition(export)
        .is_some_and(|i| i.opcode == Op::TypeArray);
    let byte = pointee(merger, import).and_then(|id| merger.definition(id));
    let is_byte = byte.is_some_and(|i| i.operands.first() == Some(&Operand::LiteralBit32(8)));
    is_array && is_byte && pointer_storage(merger, import) == Some(StorageClass::Generic)
}

/// Whether values of two types look the same in memory, apart from what pointers in them point to.
fn is_same_value(merger: &Merger<'_>, from: u32, to: u32) -> bool {
    let ids = |i: &Instruction| -> Vec<u32> { i.operands.iter().filter_map(Operand::id_ref_any).collect() };
    // With a stack of its own: how deep types are nested is up to the file, and the thread's stack is not.
    let mut pending = vec![(from, to)];
    let mut seen = HashSet::new();
    while let Some((from, to)) = pending.pop() {
        // A pair that is met again, as lists have it, differs nowhere else than its first meeting tells.
        if from == to || !seen.insert((from, to)) {
            continue;
        }
        let (Some(left), Some(right)) = (merger.definition(from), merger.definition(to)) else {
            return false;
        };
        match (left.opcode, right.opcode) {
            (Op::TypePointer, Op::TypePointer)
                if pointer_storage(merger, from) == pointer_storage(merger, to) => {}
            (Op::TypeStruct, Op::TypeStruct) | (Op::TypeArray, Op::TypeArray) => {
                let (left, right) = (ids(left), ids(right));
                // The length of an array is an id like the members of a struct are, and equal lengths have the same id.
                if left.len() != right.len() {
                    return false;
                }
                pending.extend(left.into_iter().zip(right));
            }
            _ => return false,
        }
    }
    true
}

/// Whether two pointers point to structures with the same members in the same places. Where a structure is initialised,
/// clang writes its padding as arrays of bytes, which a declaration of it has not.
fn is_same_but_for_padding(merger: &mut Merger<'_>, from: Global, to: Global) -> bool {
    // The size, and the members by their ids in the linked module.
    let mut structure = |pointer: Global| {
        let types = Types::new(&merger.inputs.get(pointer.module)?.index);
        let (_, value) = types.pointer(pointer.id)?;
        let size = types.layout(value)?.size;
        let module = pointer.module;
        let members = types.members(value)?;
        let members = members
            .into_iter()
            .map(|(offset, id)| (offset, merger.id(Global { module, id })));
        Some((size, members.collect::<Vec<_>>()))
    };
    let (Some((from_size, from)), Some((to_size, to))) = (structure(from), structure(to)) else {
        return false;
    };
    let (mut left, mut right) = (&from[..], &to[..]);
    loop {
        (left, right) = match (left, right) {
            ([], []) => return from_size == to_size,
            ([(here, l), left @ ..], [(there, r), right @ ..])
                if here == there && is_same_value(merger, *l, *r) =>
            {
                (left, right)
            }
            ([(_, member), left @ ..], right) if is_bytes(merger, *member) => (left, right),
            (left, [(_, member), right @ ..]) if is_bytes(merger, *member) => (left, right),
            _ => return false,
        };
    }
}

/// Whether a type is an array of bytes.
fn is_bytes(merger: &Merger<'_>, id: u32) -> bool {
    let array = merger.definition(id).filter(|i| i.opcode == Op::TypeArray);
    let element = array.and_then(|i| merger.definition(i.operands.first()?.id_ref_any()?));
    element.is_some_and(|i| i.opcode == Op::TypeInt && i.operands.first() == Some(&Operand::LiteralBit32(8)))
}

/// Makes mentions of an imported variable mentions of the definition, cast to the type it was imported with.
fn cast_variable(merger: &mut Merger<'_>, import: Global, target: u32, type_id: u32) {
    let cast = merger.fresh_id();
    merger.push_global(vec![Instruction::new(
        Op::SpecConstantOp,
        Some(type_id),
        Some(cast),
        vec![
            Operand::LiteralSpecConstantOpInteger(Op::Bitcast),
            Operand::IdRef(target),
        ],
    )]);
    merger.set_id(import, cast);
}
