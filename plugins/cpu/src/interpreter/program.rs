//! Programs: modules made executable, and their kernels launched.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offkit_pi::NdRange;
use offkit_spirv::{Module, Parameter, ParameterKind, kernel_parameters};

use super::argument::{Argument, CheckedArgument};
use super::decode::{self, Code};
use super::fault::LaunchError;
use super::launch::{Launch, LocalLayout, Owner};
use super::limits::Limits;
use super::print::Print;
use super::range::{Geometry, SUB_GROUP_SIZE};
use super::space::{LARGEST_SEGMENT, Space, segment_address};
use crate::error::BuildError;
use crate::memory::{AllocationKind, Memory};
use offkit_kernel::ReadError;
use offkit_kernel::ir::{self, Home};

/// Bytes of local memory that a work-group has.
pub const MAX_LOCAL_MEMORY: u64 = 1 << 20;

/// A kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// What it takes, as the module declares it.
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

/// How a launch may be limited and where it prints.
#[derive(Clone, Copy, Default)]
pub struct LaunchOptions<'o> {
    /// Fail after about so many instructions of all work-items together.
    pub max_instructions: Option<u64>,
    /// Fail soon after this becomes true.
    pub cancel: Option<&'o AtomicBool>,
    /// Takes the text of each printf, from any thread. Without it, that goes to standard output.
    pub print: Option<&'o Print<'o>>,
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
    /// Makes a SPIR-V module in its binary form executable. Specialization constants have their defaults;
    /// [`offkit_spirv::specialize`] gives them other values.
    ///
    /// # Errors
    /// [`BuildError::Module`] for what is no valid module and for what this device doesn't have, [`BuildError::UnresolvedImport`] when a kernel calls a function that the
    /// module only declares, and errors about memory.
    pub fn build(spirv: &[u8], memory: Arc<Memory>) -> Result<Program, BuildError> {
        let module = Module::from_bytes(spirv).map_err(|error| ReadError::malformed(format!("{error}")))?;
        Program::from_module(&module, memory)
    }

    /// Makes a SPIR-V module executable that has been loaded already, as [`Program::build`] does.
    ///
    /// # Errors
    /// Those of [`Program::build`].
    pub fn from_module(module: &Module, memory: Arc<Memory>) -> Result<Program, BuildError> {
        let mut declared = kernel_parameters(module).into_iter();
        let module = offkit_kernel::read(module.dr())?;
        module.verify().map_err(ReadError::from)?;
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
            // Both lists are of the entry points, in the order of the module.
            let parameters = declared.next().unwrap_or_default();
            let (info, needs) = program.kernel_info(index, parameters)?;
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
                return Err(ReadError::malformed(format!(
                    "variable `{}` is initialized with the address of a variable that each work-group has its own of",
                    global.name
                ))
                .into());
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
    fn kernel_info(&self, index: usize, declared: Vec<Parameter>) -> Result<(KernelInfo, Needs), BuildError> {
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
        let size = |id: &u32| types.layout(self.module.globals[*id as usize].kind).size;
        let info = KernelInfo {
            name: kernel.name.clone(),
            parameters: self.parameters(kernel, declared)?,
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

    /// What a kernel declares, once it is clear that each of it is a pointer or a value for the code as well.
    fn parameters(
        &self,
        kernel: &ir::Kernel,
        mut declared: Vec<Parameter>,
    ) -> Result<Vec<Parameter>, BuildError> {
        let types = &self.module.types;
        let function = &self.module.functions[kernel.function.0 as usize];
        if declared.len() != function.parameters.len() {
            let (found, expected) = (function.parameters.len(), declared.len());
            let error = ReadError::malformed(format!("it has {found} parameters, {expected} are declared"));
            return Err(error.in_function(&kernel.name).into());
        }
        for (parameter, code) in declared.iter_mut().zip(&function.parameters) {
            let size = match types.get(code.kind) {
                ir::Type::Pointer { pointee, .. } if code.by_value => Some(types.layout(*pointee).size),
                ir::Type::Pointer { .. } => None,
                _ => Some(types.layout(code.kind).size),
            };
            match (&parameter.kind, size) {
                (ParameterKind::Pointer { .. }, None) => {}
                (
                    ParameterKind::ByValue { .. }
                    | ParameterKind::Scalar(_)
                    | ParameterKind::Vector { .. }
                    | ParameterKind::Struct { .. }
                    | ParameterKind::Other(_),
                    Some(size @ ..=LARGEST_SEGMENT),
                ) => {
                    // Reflection sees the constants before they are specialized, and an array may be as long as one
                    // of them.
                    parameter.size = size;
                }
                _ => {
                    let error = ReadError::unsupported(format!("kernel parameters of type {parameter}"));
                    return Err(error.in_function(&kernel.name).into());
                }
            }
        }
        Ok(declared)
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
        let info = &self.kernels[index];
        if arguments.len() != info.parameters.len() {
            return Err(LaunchError::ArgumentCount {
                kernel: info.name.clone(),
                expected: info.parameters.len(),
                found: arguments.len(),
            });
        }
        let checked = arguments.iter().enumerate();
        let checked = checked.map(|(index, argument)| info.check(index, argument.clone(), argument));
        let checked = checked.collect::<Result<Vec<_>, _>>()?;
        info.check_local_memory(&checked)?;
        self.launch_checked(index, range, checked, options)
    }

    /// Runs the kernel with this number as [`Program::launch`] does. All its arguments have been checked, and
    /// the local memory that they need.
    pub(crate) fn launch_checked(
        &self,
        index: usize,
        range: &NdRange,
        arguments: Vec<CheckedArgument>,
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        let (info, needs) = (&self.kernels[index], &self.needs[index]);
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
            kernel: info.name.clone(),
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
            .filter_map(|(index, argument)| match argument.get() {
                Argument::Pointer(address) => Some((index, *address)),
                _ => None,
            })
            .collect();
        let mut local = self.local_layout(needs, &arguments);
        let words = self.words(index, arguments, &mut local);
        let launch = Launch {
            kernel: &info.name,
            module: &self.module,
            code: &self.code,
            function: self.module.kernels[index].function.0,
            geometry,
            global: &snapshot,
            arguments: words,
            pointers,
            local,
            has_collectives: needs.has_collectives,
            limits: Limits::new(options.max_instructions, options.cancel, waiting),
            print: options.print.unwrap_or(&write_to_stdout),
            addresses: &self.addresses,
        };
        launch.run()
    }

    /// The segments of local memory: first the variables of the module, by number, then the arguments.
    fn local_layout(&self, needs: &Needs, arguments: &[CheckedArgument]) -> LocalLayout {
        let mut layout = LocalLayout::default();
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
            if let Argument::Local(size) = argument.get() {
                layout.push(*size as u64, Owner::Argument(index));
            }
        }
        layout
    }

    /// The words of all arguments. A struct passed by value gets a segment of its own, since its parameter is
    /// the address of a copy.
    fn words(&self, index: usize, arguments: Vec<CheckedArgument>, local: &mut LocalLayout) -> Vec<u64> {
        let function = &self.module.functions[self.module.kernels[index].function.0 as usize];
        let mut words = Vec::new();
        let mut next_local = self.module.globals.len();
        for (index, argument) in arguments.into_iter().enumerate() {
            match argument.into_inner() {
                Argument::Bytes(bytes) if function.parameters[index].by_value => {
                    let segment = local.push(bytes.len() as u64, Owner::Argument(index));
                    words.push(segment_address(Space::Local, segment));
                    local.values.push((segment, bytes));
                }
                Argument::Bytes(bytes) => {
                    words.extend(self.value_words(function.parameters[index].kind, &bytes));
                }
                Argument::Pointer(address) => words.push(address),
                Argument::Local(_) => {
                    words.push(segment_address(Space::Local, next_local));
                    next_local += 1;
                }
            }
        }
        words
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

/// Where printf goes by default. A reader that has seen enough is no error; a full disk is.
fn write_to_stdout(text: &str) -> io::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
