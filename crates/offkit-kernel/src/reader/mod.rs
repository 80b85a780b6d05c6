//! SPIR-V in, SSA form out.

mod attributes;
mod by_address;
mod capability;
mod constants;
mod decorations;
mod extended;
mod fold;
mod function;
mod group;
mod ids;
mod imported;
mod instruction;
mod memory;
mod types;

use std::collections::{HashMap, HashSet};

use offkit_spirv::dr::{self, Operand};
use offkit_spirv::grammar::{ExecutionMode, ExecutionModel, LinkageType, Op, StorageClass, Word};

use crate::error::ReadError;
use crate::ir::{self, ConstantId, FileId, FunctionId, Global, GlobalId, Home, Type, TypeId};
use attributes::Alias;
use by_address::ByAddress;
use decorations::Decorations;
use ids::IdMap;

type Result<T> = std::result::Result<T, ReadError>;

/// Reads a module. Specialization constants have their defaults.
pub fn read(source: &dr::Module) -> Result<ir::Module> {
    // First, so that the error names the capability that is missing, and not whatever type or
    // instruction happens to be the first to make use of it.
    capability::check(source)?;
    let mut reader = Reader {
        source,
        decorations: Decorations::collect(source),
        module: ir::Module::default(),
        types: IdMap::default(),
        function_types: IdMap::default(),
        constants: IdMap::default(),
        words_of_constants: 0,
        globals: IdMap::default(),
        functions: IdMap::default(),
        undefined: undefined(source),
        files: IdMap::default(),
        by_address: ByAddress::default(),
        alias: Alias::default(),
        open_cl: None,
        debug_sets: HashSet::new(),
    };
    reader.imports()?;
    reader.strings();
    reader.alias_declarations()?;
    // Types point to later types, constants name later functions, and functions call each other: numbers are given in
    // passes ahead of whatever asks for them.
    reader.number_types()?;
    reader.number_functions()?;
    for instruction in &source.types_global_values {
        reader.global_instruction(instruction)?;
    }
    reader.declare_functions()?;
    // With their signatures known, and before the bodies in which such functions are called.
    reader.functions_with_addresses()?;
    // Both lists have the same numbers: what is made on the way, for calls by address, comes behind these.
    for (index, function) in source.functions.iter().enumerate() {
        let name = reader.module.functions[index].name.clone();
        function::read(&mut reader, function, FunctionId(index as u32))
            .map_err(|error| error.in_function(&name))?;
    }
    reader.entry_points()?;
    Ok(reader.module)
}

/// The undefined values outside of functions.
fn undefined(source: &dr::Module) -> HashSet<Word> {
    let values = source.types_global_values.iter();
    let undefined = values.filter(|instruction| instruction.opcode == Op::Undef);
    undefined
        .filter_map(|instruction| instruction.result_id)
        .collect()
}

/// What has been read so far.
struct Reader<'a> {
    source: &'a dr::Module,
    decorations: Decorations<'a>,
    module: ir::Module,
    types: IdMap<TypeId>,
    /// Result and parameters.
    function_types: IdMap<(TypeId, Vec<TypeId>)>,
    /// Constants, and the addresses of program-scope variables.
    constants: IdMap<ConstantId>,
    /// How many words they have in all.
    words_of_constants: usize,
    globals: IdMap<GlobalId>,
    functions: IdMap<FunctionId>,
    by_address: ByAddress,
    /// Undefined values outside of functions.
    undefined: HashSet<Word>,
    /// Indices of file names, by the id of their string.
    files: IdMap<FileId>,
    /// Alias domains, scopes and lists of scopes.
    alias: Alias,
    /// The OpenCL.std instruction set.
    open_cl: Option<Word>,
    /// Instruction sets that only describe the source.
    debug_sets: HashSet<Word>,
}

/// Beginnings of the names of instruction sets that only describe the source.
// By SPIR-V's rules every set of `NonSemantic.` may be left out. `SPIRV.debug` is the Khronos
// translator's own, from before there was one in a standard.
const DEBUG_SETS: [&str; 4] = ["NonSemantic.", "OpenCL.DebugInfo.", "SPIRV.debug", "DebugInfo"];

/// The id that an operand is.
fn id(instruction: &dr::Instruction, index: usize) -> Result<Word> {
    match instruction.operands.get(index) {
        Some(Operand::IdRef(id)) => Ok(*id),
        other => Err(unexpected(instruction, index, "an id", other)),
    }
}

/// All operands from an index on, which must be ids.
fn ids(instruction: &dr::Instruction, from: usize) -> Result<Vec<Word>> {
    (from..instruction.operands.len())
        .map(|index| id(instruction, index))
        .collect()
}

/// The 32-bit literal that an operand is.
fn literal(instruction: &dr::Instruction, index: usize) -> Result<u32> {
    match instruction.operands.get(index) {
        Some(Operand::LiteralBit32(value)) => Ok(*value),
        other => Err(unexpected(instruction, index, "a literal", other)),
    }
}

fn unexpected(
    instruction: &dr::Instruction,
    index: usize,
    wanted: &str,
    found: Option<&Operand>,
) -> ReadError {
    let opcode = instruction.opcode;
    match found {
        Some(found) => malformed!("operand {index} of Op{opcode} is {found:?}, expected {wanted}"),
        None => malformed!("Op{opcode} has no operand {index}, expected {wanted}"),
    }
}

fn result_id(instruction: &dr::Instruction) -> Result<Word> {
    let missing = || malformed!("Op{} without a result", instruction.opcode);
    instruction.result_id.ok_or_else(missing)
}

fn definition(function: &dr::Function) -> Result<&dr::Instruction> {
    let definition = function.def.as_ref();
    definition.ok_or_else(|| malformed!("a function without OpFunction"))
}

impl Reader<'_> {
    fn imports(&mut self) -> Result<()> {
        for instruction in &self.source.ext_inst_imports {
            match instruction.operands.as_slice() {
                [Operand::LiteralString(name)] if name == "OpenCL.std" => {
                    self.open_cl = instruction.result_id
                }
                [Operand::LiteralString(name)] if DEBUG_SETS.iter().any(|set| name.starts_with(set)) => {
                    self.debug_sets.extend(instruction.result_id);
                }
                [Operand::LiteralString(name)] => {
                    return Err(unsupported!("the extended instruction set `{name}`"));
                }
                _ => return Err(malformed!("OpExtInstImport without a name")),
            }
        }
        Ok(())
    }

    fn strings(&mut self) {
        for instruction in &self.source.debug_string_source {
            if let (Op::String, Some(result), [Operand::LiteralString(text)]) = (
                instruction.opcode,
                instruction.result_id,
                instruction.operands.as_slice(),
            ) {
                self.files.insert(result, FileId(self.module.files.len() as u32));
                self.module.files.push(text.clone());
            }
        }
    }

    /// Whether an instruction does nothing: it describes the source.
    fn is_without_effect(&self, instruction: &dr::Instruction) -> bool {
        match (instruction.opcode, instruction.operands.first()) {
            (Op::Line | Op::NoLine | Op::Nop, _) => true,
            (Op::ExtInst | Op::ExtInstWithForwardRefsKHR, Some(Operand::IdRef(set))) => {
                self.debug_sets.contains(set)
            }
            _ => false,
        }
    }

    /// One instruction of the section of types, constants and variables.
    fn global_instruction(&mut self, instruction: &dr::Instruction) -> Result<()> {
        match instruction.opcode {
            // These have been read before.
            Op::AliasDomainDeclINTEL | Op::AliasScopeDeclINTEL | Op::AliasScopeListDeclINTEL => Ok(()),
            Op::TypeForwardPointer => Ok(()),
            _ if self.is_without_effect(instruction) => Ok(()),
            Op::Variable => self.global_variable(instruction),
            opcode if opcode.is_type() => self.type_instruction(instruction),
            _ => self.constant_instruction(instruction),
        }
    }

    fn type_id(&self, word: Word) -> Result<TypeId> {
        self.types
            .get(&word)
            .copied()
            .ok_or_else(|| malformed!("%{word} is not a type"))
    }

    fn result_type(&self, instruction: &dr::Instruction) -> Result<TypeId> {
        let missing = || malformed!("Op{} without a result type", instruction.opcode);
        self.type_id(instruction.result_type.ok_or_else(missing)?)
    }

    /// A constant's id, for operands that must be constants.
    fn constant(&self, word: Word) -> Result<ConstantId> {
        let missing = || malformed!("%{word} is not a constant");
        self.constants.get(&word).copied().ok_or_else(missing)
    }

    /// The value of a constant integer.
    fn constant_integer(&self, word: Word) -> Result<u64> {
        let constant = &self.module.constants[self.constant(word)?.0 as usize];
        let is_integer = self
            .module
            .types
            .scalar(constant.kind)
            .is_some_and(|scalar| !scalar.is_float());
        // The address of a variable may be cast to an integer constant, whose word alone is no more
        // than an offset: nobody must take that for a size or a count.
        if !is_integer || self.module.types.lanes(constant.kind) != 1 || !constant.relocations.is_empty() {
            return Err(malformed!("%{word} is not a constant integer"));
        }
        Ok(constant.words.first().copied().unwrap_or(0))
    }

    fn global_variable(&mut self, instruction: &dr::Instruction) -> Result<()> {
        let word = result_id(instruction)?;
        let kind = self.result_type(instruction)?;
        let Type::Pointer { class, pointee } = *self.module.types.get(kind) else {
            return Err(malformed!("the type of variable %{word} is not a pointer"));
        };
        let name = self.decorations.name(word);
        let imported = matches!(self.decorations.linkage(word), Some((_, LinkageType::Import)));
        let home = match (class, self.decorations.built_in(word)) {
            // The storage class depends on who wrote the module.
            (_, Some(built_in)) => Home::Input(built_in),
            (_, None) if imported => {
                return Err(unsupported!("the imported program-scope variable `{name}`"));
            }
            (StorageClass::CrossWorkgroup, None) => Home::Global,
            (StorageClass::UniformConstant, None) => Home::Constant,
            (StorageClass::Workgroup, None) => Home::Local,
            (class, _) => {
                return Err(unsupported!("program-scope variables of storage class {class:?}"));
            }
        };
        if let Home::Input(built_in) = home {
            crate::ir::check_built_in(built_in, &self.module.types, pointee)?;
        }
        // Clang marks work-group variables as initialized with an undefined value.
        let initializer = match instruction.operands.get(1) {
            Some(Operand::IdRef(value)) if home == Home::Local && !self.is_undefined(*value) => {
                return Err(unsupported!("an initializer of the work-group variable `{name}`"));
            }
            Some(Operand::IdRef(value)) if home != Home::Local => Some(self.constant(*value)?),
            _ => None,
        };
        let align = self
            .decorations
            .alignment(word)
            .map_or(1, u64::from)
            .max(self.module.types.layout(pointee).align);
        let global = GlobalId(self.module.globals.len() as u32);
        self.module.globals.push(Global {
            name,
            kind: pointee,
            align,
            home,
            initializer,
            host_name: self.decorations.host_name(word),
        });
        self.globals.insert(word, global);
        // Where variables are is known when a program is loaded. Until then an address is an offset
        // from one of them, so that constant expressions on addresses can be folded here.
        let address = ir::Constant {
            kind,
            words: vec![0],
            relocations: vec![(0, global)],
        };
        self.push_constant(word, address)?;
        Ok(())
    }

    fn is_undefined(&self, word: Word) -> bool {
        self.undefined.contains(&word)
    }

    /// Gives every function its number, which constants may ask for before it is declared.
    fn number_functions(&mut self) -> Result<()> {
        for (number, source) in (0..).map(FunctionId).zip(&self.source.functions) {
            self.functions.insert(result_id(definition(source)?)?, number);
        }
        Ok(())
    }

    fn function(&self, word: Word) -> Result<FunctionId> {
        let function = self.functions.get(&word).copied();
        function.ok_or_else(|| malformed!("%{word} is not a function"))
    }

    /// Declares every function before any body is read.
    fn declare_functions(&mut self) -> Result<()> {
        for source in &self.source.functions {
            let definition = definition(source)?;
            let word = result_id(definition)?;
            let signature = self.function_types.get(&id(definition, 1)?);
            let (result, parameters) = signature
                .cloned()
                .ok_or_else(|| malformed!("OpFunction without a function type"))?;
            // SPIR-V says it twice, and `zip` below would silently drop what one side has more.
            if parameters.len() != source.parameters.len() {
                return Err(malformed!(
                    "function %{word} has {} parameters, its type {}",
                    source.parameters.len(),
                    parameters.len()
                ));
            }
            let parameter =
                |(source, kind): (&dr::Instruction, &TypeId)| Ok(self.parameter(result_id(source)?, *kind));
            let parameters = source
                .parameters
                .iter()
                .zip(&parameters)
                .map(parameter)
                .collect::<Result<Vec<_>>>()?;
            let values = parameters.iter().map(|parameter| parameter.kind).collect();
            self.module.functions.push(ir::Function {
                name: self.decorations.name(word),
                result,
                control: attributes::function_control(definition),
                parameters,
                values,
                variables: Vec::new(),
                blocks: Vec::new(),
            });
        }
        Ok(())
    }

    fn entry_points(&mut self) -> Result<()> {
        // By their function: a module may have very many of both.
        let mut modes = HashMap::<Word, Vec<&dr::Instruction>>::new();
        for mode in &self.source.execution_modes {
            if let Some(Operand::IdRef(function)) = mode.operands.first() {
                modes.entry(*function).or_default().push(mode);
            }
        }
        for instruction in &self.source.entry_points {
            let [
                Operand::ExecutionModel(ExecutionModel::Kernel),
                Operand::IdRef(function),
                Operand::LiteralString(name),
                ..,
            ] = instruction.operands.as_slice()
            else {
                return Err(unsupported!("entry points that are not kernels"));
            };
            let id = self.functions.get(function).copied();
            let id = id.ok_or_else(|| malformed!("entry point `{name}` is not a function"))?;
            let mut kernel = ir::Kernel {
                name: name.clone(),
                function: id,
                required_local_size: None,
                local_size_hint: None,
                sub_group_size: None,
                vec_type_hint: None,
                contraction_off: false,
                denorm_preserve: Vec::new(),
                signed_zero_inf_nan_preserve: Vec::new(),
                round_to_nearest_even: Vec::new(),
                fast_math: Vec::new(),
            };
            for mode in modes.get(function).into_iter().flatten() {
                self.execution_mode(&mut kernel, mode)?;
            }
            self.module.kernels.push(kernel);
        }
        Ok(())
    }

    fn execution_mode(&self, kernel: &mut ir::Kernel, instruction: &dr::Instruction) -> Result<()> {
        use ExecutionMode as Mode;
        let Some(Operand::ExecutionMode(mode)) = instruction.operands.get(1) else {
            return Err(malformed!("OpExecutionMode without a mode"));
        };
        let literals = || -> Result<[u64; 3]> {
            Ok([
                literal(instruction, 2)?.into(),
                literal(instruction, 3)?.into(),
                literal(instruction, 4)?.into(),
            ])
        };
        let constants = || -> Result<[u64; 3]> {
            let value = |index| self.constant_integer(id(instruction, index)?);
            Ok([value(2)?, value(3)?, value(4)?])
        };
        match *mode {
            Mode::LocalSize => kernel.required_local_size = Some(literals()?),
            Mode::LocalSizeId => kernel.required_local_size = Some(constants()?),
            Mode::LocalSizeHint => kernel.local_size_hint = Some(literals()?),
            Mode::LocalSizeHintId => kernel.local_size_hint = Some(constants()?),
            Mode::SubgroupSize => kernel.sub_group_size = Some(literal(instruction, 2)?),
            Mode::VecTypeHint => kernel.vec_type_hint = Some(literal(instruction, 2)?),
            Mode::ContractionOff => kernel.contraction_off = true,
            Mode::DenormPreserve => kernel.denorm_preserve.push(literal(instruction, 2)?),
            Mode::SignedZeroInfNanPreserve => {
                kernel.signed_zero_inf_nan_preserve.push(literal(instruction, 2)?);
            }
            Mode::RoundingModeRTE => kernel.round_to_nearest_even.push(literal(instruction, 2)?),
            Mode::FPFastMathDefault => {
                let kind = self.type_id(id(instruction, 2)?)?;
                let flags = self.constant_integer(id(instruction, 3)?)?;
                // SPIR-V's flags all are in the low 32 bits, however wide the constant is.
                kernel.fast_math.push((kind, attributes::fast_math(flags as u32)));
            }
            // How many registers a GPU should use.
            Mode::MaximumRegistersINTEL
            | Mode::MaximumRegistersIdINTEL
            | Mode::NamedMaximumRegistersINTEL => {}
            mode => return Err(unsupported!("execution mode {mode:?}")),
        }
        Ok(())
    }
}
