//! Programs: modules made executable, and their kernels launched.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offkit_spirv::Module;
use spirv::StorageClass;

use super::decode::{self, Code};
use super::fault::{ArgumentKind, LaunchError};
use super::launch::{Launch, LocalLayout, Owner};
use super::limits::Limits;
use super::range::{Geometry, NdRange, SUB_GROUP_SIZE};
use super::space::{LARGEST_SEGMENT, Space, segment_address};
use crate::error::BuildError;
use crate::ir::{self, Home, Type};
use crate::memory::{AllocationKind, Memory};
use crate::reader;

/// Bytes of local memory that a work-group has.
pub const MAX_LOCAL_MEMORY: u64 = 1 << 20;

/// Little-endian bytes of specialization constants by SpecId.
pub type Specialization = BTreeMap<u32, Vec<u8>>;

/// A kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// The only work-group size it may be launched with.
    pub required_local_size: Option<[u64; 3]>,
    /// The work-group size that its author recommends.
    pub local_size_hint: Option<[u64; 3]>,
    /// Work-items of a full sub-group.
    pub sub_group_size: u32,
    /// Bytes of local memory in its variables, arguments not counted.
    pub local_memory: u64,
    /// Bytes of private memory in the variables of the kernel and the functions it calls.
    pub private_memory: u64,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name, or its number in the module where that has no names.
    pub name: String,
    /// What it takes.
    pub kind: ArgumentKind,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A value: the bytes of a scalar, vector or struct as they lie in memory, little-endian.
    Bytes(Vec<u8>),
    /// An address in global memory.
    Pointer(u64),
    /// So many bytes of local memory.
    Local(usize),
}

impl Argument {
    fn describe(&self) -> String {
        match self {
            Argument::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
            Argument::Pointer(address) => format!("the address {address:#x}"),
            Argument::Local(size) => format!("{size} bytes of local memory"),
        }
    }
}

/// How a launch may be limited and where it prints.
#[derive(Clone, Copy, Default)]
pub struct LaunchOptions<'o> {
    /// Fail after about so many instructions of all work-items together.
    pub max_instructions: Option<u64>,
    /// Fail soon after this becomes true.
    pub cancel: Option<&'o AtomicBool>,
    /// Takes the text of each printf, from any thread. Without it, that goes to standard output.
    pub print: Option<&'o (dyn Fn(&str) + Sync)>,
}

impl std::fmt::Debug for LaunchOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LaunchOptions {
            max_instructions,
            cancel,
            print,
        } = self;
        formatter
            .debug_struct("LaunchOptions")
            .field("max_instructions", max_instructions)
            .field("cancel", cancel)
            .field("print", &print.is_some())
            .finish()
    }
}

/// A module ready to run. It owns its program-scope variables, which go with it.
pub struct Program {
    module: ir::Module,
    code: Code,
    kernels: Vec<KernelInfo>,
    /// What each kernel's code needs, in the same order.
    needs: Vec<Needs>,
    /// The addresses of the program-scope variables.
    addresses: Vec<u64>,
    memory: Arc<Memory>,
    /// Given back on drop.
    owned: Vec<u64>,
}

/// What a kernel and all that it calls needs.
#[derive(Debug, Default)]
struct Needs {
    has_collectives: bool,
    /// Program-scope variables in local memory.
    locals: BTreeSet<u32>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Program")
            .field("kernels", &self.kernels)
            .finish_non_exhaustive()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        for address in &self.owned {
            // Somebody else may have freed it; then there is nothing left to do.
            _ = self.memory.free(*address);
        }
    }
}

impl Program {
    /// Makes a SPIR-V module in its binary form executable. Specialization constants that
    /// it doesn't have are ignored.
    ///
    /// # Errors
    /// [`BuildError::Malformed`] for what is no valid module, [`BuildError::Unsupported`] for what this
    /// device doesn't have, [`BuildError::UnresolvedImport`] when a kernel calls a function that the
    /// module only declares, and errors about specialization constants and memory.
    pub fn build(
        spirv: &[u8],
        specialization: &Specialization,
        memory: Arc<Memory>,
    ) -> Result<Program, BuildError> {
        let module = Module::from_bytes(spirv).map_err(|error| BuildError::malformed(error.to_string()))?;
        Program::from_module(&module, specialization, memory)
    }

    /// Makes a SPIR-V module executable that has been loaded already, as [`Program::build`] does.
    ///
    /// # Errors
    /// Those of [`Program::build`].
    pub fn from_module(
        module: &Module,
        specialization: &Specialization,
        memory: Arc<Memory>,
    ) -> Result<Program, BuildError> {
        let module = reader::read(module.dr(), specialization)?;
        ir::verify(&module)
            .map_err(|problem| BuildError::malformed(problem.what).in_function(&problem.function))?;
        tracing::trace!(%module, "read");
        let mut program = Program {
            module,
            code: Code {
                functions: Vec::new(),
                sites: 0,
            },
            kernels: Vec::new(),
            needs: Vec::new(),
            addresses: Vec::new(),
            memory,
            owned: Vec::new(),
        };
        program.allocate_variables()?;
        program.code = decode::decode(&program.module, &program.addresses)?;
        for index in 0..program.module.kernels.len() {
            let (info, needs) = program.kernel_info(index)?;
            program.kernels.push(info);
            program.needs.push(needs);
        }
        Ok(program)
    }

    /// The kernels, in the order of the module.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// The address and size of a program-scope variable in global memory, by name.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let globals = self.module.globals.iter().zip(&self.addresses);
        let mut found = globals.filter(|(global, _)| global.name == name && global.home == Home::Global);
        found
            .next()
            .map(|(global, address)| (*address, self.module.types.layout(global.kind).size))
    }

    fn allocate_variables(&mut self) -> Result<(), BuildError> {
        for (index, global) in self.module.globals.iter().enumerate() {
            let kind = match global.home {
                Home::Global => AllocationKind::ProgramVariable,
                Home::Constant => AllocationKind::ProgramConstant,
                Home::Local => {
                    self.addresses.push(segment_address(Space::Local, index));
                    continue;
                }
                Home::Input(_) => {
                    self.addresses.push(segment_address(Space::Input, index));
                    continue;
                }
            };
            let size = usize::try_from(self.module.types.layout(global.kind).size)
                .unwrap_or(usize::MAX)
                .max(1);
            let align = usize::try_from(global.align).unwrap_or(usize::MAX);
            let address = self.memory.allocate(size, align, kind);
            let address = address.map_err(|error| BuildError::Variable {
                variable: global.name.clone(),
                error,
            })?;
            self.owned.push(address);
            self.addresses.push(address);
        }
        for (global, address) in self.module.globals.iter().zip(&self.addresses) {
            let Some(initializer) = global.initializer else {
                continue;
            };
            let mut constants = self.module.constants[initializer.0 as usize].relocations.iter();
            let is_global = |id: ir::GlobalId| {
                matches!(
                    self.module.globals[id.0 as usize].home,
                    Home::Global | Home::Constant
                )
            };
            if !constants.all(|(_, id)| is_global(*id)) {
                return Err(BuildError::malformed(format!(
                    "variable `{}` is initialized with the address of a variable that each work-group has its own of",
                    global.name
                )));
            }
            let bytes = decode::constant_bytes(&self.module, initializer, &self.addresses)?;
            let written = self.memory.write(*address, &bytes);
            written.map_err(|error| BuildError::Variable {
                variable: global.name.clone(),
                error,
            })?;
        }
        Ok(())
    }

    /// What a kernel looks like from outside, and what its code needs.
    fn kernel_info(&self, index: usize) -> Result<(KernelInfo, Needs), BuildError> {
        let kernel = &self.module.kernels[index];
        let types = &self.module.types;
        let mut needs = Needs::default();
        let mut private_memory = 0;
        let mut seen = BTreeSet::new();
        let mut left = vec![kernel.function.0];
        while let Some(index) = left.pop() {
            if !seen.insert(index) {
                continue;
            }
            let function = &self.code.functions[index as usize];
            if function.imported {
                let (name, kernel) = (function.name.clone(), kernel.name.clone());
                return Err(BuildError::UnresolvedImport { name, kernel });
            }
            needs.has_collectives |= function.has_collectives;
            needs.locals.extend(&function.locals);
            private_memory += function
                .variables
                .iter()
                .map(|variable| u64::from(variable.size))
                .sum::<u64>();
            private_memory += function
                .copies
                .iter()
                .map(|(_, size)| u64::from(*size))
                .sum::<u64>();
            left.extend(&function.calls);
        }
        let parameter = |parameter: &ir::Parameter| {
            let kind = match types.get(parameter.kind) {
                Type::Pointer { pointee, .. } if parameter.by_value => {
                    ArgumentKind::Value(types.layout(*pointee).size)
                }
                Type::Pointer {
                    class: StorageClass::Workgroup,
                    ..
                } => ArgumentKind::Local,
                Type::Pointer {
                    class: StorageClass::UniformConstant,
                    ..
                } => ArgumentKind::ConstantPointer,
                Type::Pointer {
                    class: StorageClass::CrossWorkgroup | StorageClass::Generic,
                    ..
                } => ArgumentKind::GlobalPointer,
                Type::Pointer { class, .. } => {
                    return Err(BuildError::unsupported(format!(
                        "kernel parameters that point to storage class {class:?}"
                    ))
                    .in_function(&kernel.name));
                }
                _ => ArgumentKind::Value(types.layout(parameter.kind).size),
            };
            Ok(Parameter {
                name: parameter.name.clone(),
                kind,
            })
        };
        let parameters = &self.module.functions[kernel.function.0 as usize].parameters;
        let size = |id: &u32| types.layout(self.module.globals[*id as usize].kind).size;
        let info = KernelInfo {
            name: kernel.name.clone(),
            parameters: parameters.iter().map(parameter).collect::<Result<_, _>>()?,
            required_local_size: kernel.required_local_size,
            local_size_hint: kernel.local_size_hint,
            sub_group_size: kernel
                .sub_group_size
                .filter(|size| *size > 0)
                .unwrap_or(SUB_GROUP_SIZE),
            local_memory: needs.locals.iter().map(size).fold(0, u64::saturating_add),
            private_memory,
        };
        Ok((info, needs))
    }

    /// Runs a kernel over a range of work-items and returns when all are done.
    ///
    /// # Errors
    /// [`LaunchError`], with the work-item where it was one that failed. What others have written by then
    /// stays written.
    pub fn launch(
        &self,
        kernel: &str,
        range: &NdRange,
        arguments: &[Argument],
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        let index = self.kernels.iter().position(|info| info.name == kernel);
        let index = index.ok_or_else(|| LaunchError::UnknownKernel {
            name: kernel.to_owned(),
            available: self.kernels.iter().map(|info| info.name.clone()).collect(),
        })?;
        let (info, needs) = (&self.kernels[index], &self.needs[index]);
        let mut local = self.local_layout(info, needs, arguments)?;
        let words = self.arguments(index, arguments, &mut local)?;
        if range.global.contains(&0) {
            return Ok(());
        }
        let geometry = Geometry::new(
            range,
            info.required_local_size,
            info.local_size_hint,
            info.sub_group_size,
        );
        let geometry = geometry.map_err(|reason| LaunchError::Range {
            kernel: kernel.to_owned(),
            reason,
        })?;
        let waiting = if needs.has_collectives {
            geometry.local.iter().product()
        } else {
            1
        };
        let snapshot = self.memory.snapshot();
        let pointers = arguments
            .iter()
            .enumerate()
            .filter_map(|(index, argument)| match argument {
                Argument::Pointer(address) => Some((index, *address)),
                _ => None,
            });
        let launch = Launch {
            kernel,
            module: &self.module,
            code: &self.code,
            function: self.module.kernels[index].function.0,
            geometry,
            global: &snapshot,
            arguments: words,
            pointers: pointers.collect(),
            local,
            has_collectives: needs.has_collectives,
            limits: Limits::new(options.max_instructions, options.cancel, waiting),
            print: options.print.unwrap_or(&write_to_stdout),
            addresses: &self.addresses,
        };
        launch.run()
    }

    /// The segments of local memory: first the variables of the module, by number, then the arguments.
    fn local_layout(
        &self,
        info: &KernelInfo,
        needs: &Needs,
        arguments: &[Argument],
    ) -> Result<LocalLayout, LaunchError> {
        let mut layout = LocalLayout::default();
        let mut needed = info.local_memory;
        for (index, global) in self.module.globals.iter().enumerate() {
            let used = needs.locals.contains(&(index as u32));
            let size = if used {
                self.module.types.layout(global.kind).size
            } else {
                0
            };
            layout.push(size, Owner::Variable(index));
        }
        for (index, argument) in arguments.iter().enumerate() {
            if let Argument::Local(size) = argument {
                needed = needed.saturating_add(*size as u64);
                layout.push(*size as u64, Owner::Argument(index));
            }
        }
        if needed > MAX_LOCAL_MEMORY {
            let (kernel, available) = (info.name.clone(), MAX_LOCAL_MEMORY);
            return Err(LaunchError::LocalMemory {
                kernel,
                needed,
                available,
            });
        }
        Ok(layout)
    }

    /// The words of all arguments, checked against the parameters.
    fn arguments(
        &self,
        index: usize,
        arguments: &[Argument],
        local: &mut LocalLayout,
    ) -> Result<Vec<u64>, LaunchError> {
        let info = &self.kernels[index];
        let function = &self.module.functions[self.module.kernels[index].function.0 as usize];
        if arguments.len() != info.parameters.len() {
            return Err(LaunchError::ArgumentCount {
                kernel: info.name.clone(),
                expected: info.parameters.len(),
                found: arguments.len(),
            });
        }
        let mut words = Vec::new();
        let mut next_local = self.module.globals.len();
        for (index, (argument, parameter)) in arguments.iter().zip(&info.parameters).enumerate() {
            match (parameter.kind, argument) {
                (ArgumentKind::Value(size), Argument::Bytes(bytes))
                    if bytes.len() as u64 == size && size <= LARGEST_SEGMENT =>
                {
                    if function.parameters[index].by_value {
                        let segment = local.push(size, Owner::Argument(index));
                        local.values.push((segment, bytes.clone()));
                        words.push(segment_address(Space::Local, segment));
                    } else {
                        words.extend(self.value_words(function.parameters[index].kind, bytes));
                    }
                }
                (ArgumentKind::GlobalPointer | ArgumentKind::ConstantPointer, Argument::Pointer(address)) => {
                    words.push(*address);
                }
                (ArgumentKind::Local, Argument::Local(_)) => {
                    words.push(segment_address(Space::Local, next_local));
                    next_local += 1;
                }
                (expected, found) => {
                    return Err(LaunchError::Argument {
                        kernel: info.name.clone(),
                        index,
                        name: parameter.name.clone(),
                        expected,
                        found: found.describe(),
                    });
                }
            }
        }
        Ok(words)
    }

    fn value_words(&self, kind: ir::TypeId, bytes: &[u8]) -> Vec<u64> {
        let word = |leaf: ir::Leaf| {
            let mut word = [0; 8];
            let size = ir::scalar_size(leaf.scalar) as usize;
            if let Some(source) = bytes
                .get(leaf.offset as usize..)
                .and_then(|rest| rest.get(..size))
            {
                word[..size].copy_from_slice(source);
            }
            u64::from_le_bytes(word)
        };
        self.module.types.leaves(kind).into_iter().map(word).collect()
    }
}

/// Where printf goes by default. Nobody is told when standard output is closed.
fn write_to_stdout(text: &str) {
    _ = std::io::stdout().lock().write_all(text.as_bytes());
}
