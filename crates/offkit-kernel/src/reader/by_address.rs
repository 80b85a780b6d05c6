//! Addresses of functions, and calls by them: SPV_INTEL_function_pointers.
//!
//! A module is whole when it is read, so that all functions that an address may be of are known. An address is a
//! number that tells them apart, and a call by an address is a call of a function made here, which asks for each:
//!
//! ```text
//!  switch (address) { case 16: return f(arguments…); case 48: return h(arguments…); default: the work-item fails }
//! ```
//!
//! So whoever executes the form needs to know nothing of it: a compiler inlines what can be meant, and vectors of
//! work-items that call different functions are branches like others.

use std::collections::HashMap;

use offkit_spirv::dr;
use offkit_spirv::grammar::{Decoration, Op, Word};

use super::function::{Code, FunctionReader};
use super::{Reader, Result, id};
use crate::builtins::Scalar;
use crate::ir::{
    self, Attributes, Block, BlockId, Constant, FunctionId, Instruction, Operand, Operation, Parameter,
    Terminator, Type, TypeId, Types, ValueId,
};

/// Addresses are multiples of this: C++ keeps a flag in the lowest bit of pointers to members.
const ALIGNMENT: u64 = 16;

/// What a call says about the function: its result, then its parameters.
type Signature = Vec<Kind>;

/// What a type is to a call. Pointers are cast between a call and the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Pointer,
    /// A scalar has no components.
    Plain(Scalar, u32),
    Other(TypeId),
}

/// The functions that can be called by their addresses, and what calls them.
#[derive(Default)]
pub(super) struct ByAddress {
    functions: HashMap<Signature, Vec<FunctionId>>,
    calls: HashMap<Signature, FunctionId>,
}

fn address(FunctionId(function): FunctionId) -> u64 {
    // No function has the address null.
    (u64::from(function) + 1) * ALIGNMENT
}

fn signature(types: &Types, kinds: impl Iterator<Item = TypeId>) -> Signature {
    let kind = |kind| match *types.get(kind) {
        Type::Pointer { .. } => Kind::Pointer,
        Type::Scalar(scalar) => Kind::Plain(scalar, 0),
        Type::Vector { component, count } => Kind::Plain(component, count),
        _ => Kind::Other(kind),
    };
    kinds.map(kind).collect()
}

impl Reader<'_> {
    /// The address of a function as a constant.
    pub(super) fn function_address(&self, instruction: &dr::Instruction, kind: TypeId) -> Result<Constant> {
        if !self.module.types.is_pointer(kind) {
            return Err(malformed!("the address of a function that is no pointer"));
        }
        let function = self.function(id(instruction, 0)?)?;
        Ok(Constant::plain(kind, vec![address(function)]))
    }

    /// Notes all functions whose addresses the module, or the host, may take.
    pub(super) fn functions_with_addresses(&mut self) -> Result<()> {
        let globals = self.source.types_global_values.iter();
        let constants = globals.filter(|instruction| instruction.opcode == Op::ConstantFunctionPointerINTEL);
        let mut taken: Vec<Word> = constants.map(|constant| id(constant, 0)).collect::<Result<_>>()?;
        let all = self
            .source
            .functions
            .iter()
            .filter_map(|function| function.def_id());
        taken.extend(all.filter(|word| self.decorations.has(*word, Decoration::ReferencedIndirectlyINTEL)));
        let mut taken: Vec<FunctionId> = (taken.into_iter())
            .map(|word| self.function(word))
            .collect::<Result<_>>()?;
        // A function may have its address taken in several places, and gets one case of the switch.
        taken.sort_unstable();
        taken.dedup();
        // A table may name one that is never called, such as what stands for a pure virtual function.
        let is_there = |function: &FunctionId| {
            let function = self.source.functions.get(function.0 as usize);
            function.is_some_and(|function| !function.blocks.is_empty())
        };
        taken.retain(is_there);
        for function in taken {
            let source = &self.module.functions[function.0 as usize];
            let parameters = source.parameters.iter().map(|parameter| parameter.kind);
            let signature = signature(&self.module.types, [source.result].into_iter().chain(parameters));
            self.by_address
                .functions
                .entry(signature)
                .or_default()
                .push(function);
        }
        Ok(())
    }

    /// The function that calls the one of an address, which comes first among its arguments.
    fn caller(&mut self, pointer: TypeId, kinds: &[TypeId]) -> Result<FunctionId> {
        let signature = signature(&self.module.types, kinds.iter().copied());
        // One for all calls of a signature, whose switches would be the same: code would otherwise
        // grow with the number of calls times that of functions.
        if let Some(caller) = self.by_address.calls.get(&signature) {
            return Ok(*caller);
        }
        let word = self.scalar_type_or_new(Scalar::I64)?;
        let functions = self
            .by_address
            .functions
            .get(&signature)
            .cloned()
            .unwrap_or_default();
        let code = caller(pointer, word, kinds, &functions, &self.module.types);
        let number = FunctionId(self.module.functions.len() as u32);
        self.module.functions.push(code);
        self.by_address.calls.insert(signature, number);
        Ok(number)
    }
}

/// The code of a function that calls one of several by the address that it is given.
fn caller(
    pointer: TypeId,
    word: TypeId,
    kinds: &[TypeId],
    functions: &[FunctionId],
    types: &Types,
) -> ir::Function {
    let (result, kinds) = (kinds[0], &kinds[1..]);
    // Parameters are the first values of every function; the address as an integer, which a switch
    // needs, comes behind them.
    let mut values: Vec<TypeId> = [&[pointer], kinds, &[word]].concat();
    let number = ValueId(kinds.len() as u32 + 1);
    let instruction = |result, operation, operands| Instruction {
        result,
        operation,
        operands,
        attributes: Attributes::default(),
        line: None,
    };
    let block = |instructions, terminator| Block {
        phis: Vec::new(),
        instructions,
        merge: None,
        terminator,
        line: None,
    };
    let arguments: Vec<Operand> = (1..number.0)
        .map(|index| Operand::Value(ValueId(index)))
        .collect();
    let none = BlockId(functions.len() as u32 + 1);
    let mut blocks = vec![block(
        vec![instruction(
            Some(number),
            Operation::Extract(0),
            vec![Operand::Value(ValueId(0))],
        )],
        Terminator::Switch {
            selector: Operand::Value(number),
            cases: functions
                .iter()
                .map(|function| address(*function))
                .zip((1..none.0).map(BlockId))
                .collect(),
            default: none,
        },
    )];
    for function in functions {
        let given = (*types.get(result) != Type::Void).then(|| {
            values.push(result);
            ValueId(values.len() as u32 - 1)
        });
        blocks.push(block(
            vec![instruction(given, Operation::Call(*function), arguments.clone())],
            Terminator::Return(given.map(Operand::Value)),
        ));
    }
    blocks.push(block(
        vec![instruction(None, Operation::NoFunction, Vec::new())],
        Terminator::Unreachable,
    ));
    // What functions promise and copy is their own business.
    let parameter = |kind: &TypeId| Parameter {
        kind: *kind,
        by_value: false,
        zero_extended: false,
        sign_extended: false,
        is_result: false,
        no_alias: false,
        no_capture: false,
        no_write: false,
        no_read_write: false,
        align: None,
        max_byte_offset: None,
    };
    ir::Function {
        name: "call by address".to_owned(),
        result,
        control: Default::default(),
        parameters: values[..number.0 as usize].iter().map(parameter).collect(),
        values,
        variables: Vec::new(),
        blocks,
    }
}

impl FunctionReader<'_, '_> {
    /// A call of the function that a pointer leads to.
    pub(super) fn call_by_address(&mut self, instruction: &dr::Instruction) -> Result<Code> {
        let operands = self.operands_from(instruction, 0)?;
        let Some((pointer, arguments)) = operands.split_first() else {
            return Err(malformed!("Op{} without a pointer", instruction.opcode));
        };
        let pointer = self.type_of(*pointer);
        if !self.types().is_pointer(pointer) {
            return Err(malformed!("Op{} of what is no pointer", instruction.opcode));
        }
        let mut kinds = vec![self.reader.result_type(instruction)?];
        kinds.extend(arguments.iter().map(|argument| self.type_of(*argument)));
        let caller = self.reader.caller(pointer, &kinds)?;
        Ok((Operation::Call(caller), operands))
    }
}
