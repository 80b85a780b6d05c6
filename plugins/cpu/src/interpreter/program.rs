//! Programs: modules made executable, and their kernels launched.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::Arc;

use offkit_pi::NdRange;
use offkit_spirv::{Module, Parameter, ParameterKind, Storage, kernel_parameters};

use super::decode::{self, Code};
use super::launch::Launch;
use super::limits::Limits;
use super::space::{LARGEST_SEGMENT, Space, segment_address};
use crate::error::BuildError;
use crate::kernel::{KernelCode, Pace};
use crate::launch::{Argument, Arguments, Geometry, KernelInfo, LaunchError, LaunchOptions, sub_group_size};
use crate::memory::{AllocationKind, Memory};
use offkit_kernel::ReadError;
use offkit_kernel::ir::{self, Home, Leaf};

/// Bytes of a kernel's arguments together. Each kernel object holds them, and each launch copies them.
const MOST_PARAMETER_BYTES: u64 = 16 << 20;

/// Steps of all work-items together that take a few microseconds.
const MOST_SMALL_STEPS: u64 = 200;

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
pub(super) struct Needs {
    /// Work-items have to wait for each other.
    pub(super) has_collectives: bool,
    /// The sizes of the program-scope variables in local memory that it names, by their numbers.
    locals: BTreeMap<u32, u64>,
    /// What becomes of each argument.
    pub(super) passes: Vec<Pass>,
    /// The most steps that a work-item can take, where that is plain to see.
    most_steps: Option<u64>,
    pub(super) pace: Pace,
}

impl Needs {
    /// The sizes of the program-scope variables up to the last one in local memory that is named. What isn't named, or is
    /// elsewhere, has none there.
    // Made when they are asked for: a list for each kernel would be as long as the module times its kernels.
    pub(super) fn local_sizes(&self) -> impl ExactSizeIterator<Item = u32> {
        let end = self.locals.last_key_value().map_or(0, |(last, _)| last + 1);
        (0..end).map(|variable| {
            let size = self.locals.get(&variable).copied().unwrap_or(0);
            u32::try_from(size).unwrap_or(u32::MAX)
        })
    }
}

/// How an argument gets into registers.
#[derive(Debug)]
pub(super) enum Pass {
    /// The words of these scalars in it.
    Words(Vec<Leaf>),
    /// The address of a copy of this many bytes.
    Copy(u32),
    /// The address.
    Pointer,
    /// The address of local memory.
    Local,
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
        let declared = kernel_parameters(module);
        let module = offkit_kernel::read(module.dr())?;
        module.verify().map_err(ReadError::from)?;
        tracing::trace!(%module, "read");
        Program::from_read(module, declared, memory)
    }

    /// Makes a module executable that has been read and verified; `declared` are the parameters of its kernels.
    #[doc(hidden)]
    pub fn from_read(
        module: ir::Module,
        declared: Vec<Vec<Parameter>>,
        memory: Arc<Memory>,
    ) -> Result<Program, BuildError> {
        let mut declared = declared.into_iter();
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

    /// The address and size of a program-scope variable in global memory, by its name or the one that the host has for it.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let globals = || {
            let globals = self.module.globals.iter().zip(&self.addresses);
            globals.filter(|(global, _)| global.home == Home::Global)
        };
        let by_host = globals().find(|(global, _)| global.host_name.as_deref() == Some(name));
        by_host
            .or_else(|| globals().find(|(global, _)| global.name == name))
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
                // Without bytes it has an address all the same, which is no other variable's.
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
        // Only now: a variable may hold the address of any other.
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
            // Only of what a kernel calls: a library's module may declare more than is ever linked.
            if function.imported {
                let (name, kernel) = (function.name.clone(), kernel.name.clone());
                return Err(BuildError::UnresolvedImport { name, kernel });
            }
            needs.has_collectives |= function.has_collectives;
            let size = |id: u32| types.layout(self.module.globals[id as usize].kind).size;
            needs
                .locals
                .extend(function.locals.iter().map(|id| (*id, size(*id))));
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
        let function = &self.code.functions[kernel.function.0 as usize];
        // Without calls, waiting and loops no step is executed twice: all of them are the most.
        if seen.len() == 1 && !needs.has_collectives && !function.has_loops() {
            needs.most_steps = Some(function.steps.len() as u64);
        }
        let parameters = self.parameters(kernel, declared)?;
        let code = &self.module.functions[kernel.function.0 as usize];
        let passes = parameters.iter().zip(&code.parameters);
        let passes = passes.map(|(parameter, code)| match &parameter.kind {
            ParameterKind::Pointer {
                storage: Storage::Local,
                ..
            } => Pass::Local,
            ParameterKind::Pointer { .. } => Pass::Pointer,
            _ if code.by_value => Pass::Copy(u32::try_from(parameter.size).unwrap_or(u32::MAX)),
            _ => Pass::Words(types.leaves(code.kind)),
        });
        needs.passes = passes.collect();
        let info = KernelInfo {
            name: kernel.name.clone(),
            parameters,
            required_local_size: kernel.required_local_size,
            local_size_hint: kernel.local_size_hint,
            sub_group_size: kernel
                .sub_group_size
                .filter(|size| *size > 0)
                .unwrap_or_else(sub_group_size),
            local_memory: needs.locals.values().copied().fold(0, u64::saturating_add),
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
        let mut all = 0u64;
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
                    all = all.saturating_add(size);
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
        if all > MOST_PARAMETER_BYTES {
            let most = MOST_PARAMETER_BYTES >> 20;
            let what = format!("kernel parameters of {all} bytes together, which are more than {most} MiB");
            return Err(ReadError::unsupported(what).in_function(&kernel.name).into());
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
        let arguments = Arguments::of(info, arguments)?;
        arguments.check_local_memory(info)?;
        if range.global.contains(&0) {
            return Ok(());
        }
        let geometry = info.geometry(range)?;
        self.run(index, &geometry, &arguments, options)
    }

    /// The memory that its kernels see.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What it is made of.
    pub(crate) fn module(&self) -> &ir::Module {
        &self.module
    }

    /// The addresses of the program-scope variables, by their numbers.
    pub(crate) fn addresses(&self) -> &[u64] {
        &self.addresses
    }

    /// The address of the program-scope variable with this number, if there is one for all work-groups.
    pub(crate) fn variable_address(&self, number: usize) -> Option<u64> {
        let global = self.module.globals.get(number)?;
        let is_shared = matches!(global.home, Home::Global | Home::Constant);
        is_shared.then(|| self.addresses[number])
    }

    /// The most steps that a work-item of the kernel with this number takes, where that is plain to see.
    pub(crate) fn most_steps(&self, index: usize) -> Option<u64> {
        self.needs[index].most_steps
    }

    /// The kernel with this number, as one of several ways to run a kernel.
    pub(crate) fn kernel(self: &Arc<Self>, index: usize) -> Interpreted {
        Interpreted {
            program: Arc::clone(self),
            index,
        }
    }

    /// Runs the kernel with this number over a range that is not empty, as [`Program::launch`] does.
    fn run(
        &self,
        index: usize,
        geometry: &Geometry,
        arguments: &Arguments,
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        let needs = &self.needs[index];
        // Work-items that wait for each other are there at once, and share what a group may have.
        let waiting = if needs.has_collectives {
            geometry.local.iter().product()
        } else {
            1
        };
        let launch = Launch {
            kernel: &self.kernels[index].name,
            module: &self.module,
            code: &self.code,
            function: self.module.kernels[index].function.0,
            geometry,
            global: &self.memory.snapshot(),
            arguments,
            needs,
            limits: Limits::new(options.max_instructions, options.cancel, waiting),
            // Threads that share the groups would finish them in any order.
            max_threads: if options.contrary {
                Some(NonZero::<usize>::MIN)
            } else {
                options.max_threads
            },
            print: options.printer(),
            addresses: &self.addresses,
            contrary: options.contrary,
            errors: options.errors,
        };
        launch.run()
    }
}

/// A kernel that is interpreted, with every access checked.
pub(crate) struct Interpreted {
    program: Arc<Program>,
    index: usize,
}

impl KernelCode for Interpreted {
    fn info(&self) -> &KernelInfo {
        &self.program.kernels[self.index]
    }

    fn run(
        &self,
        geometry: &Geometry,
        arguments: &Arguments,
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        self.program.run(self.index, geometry, arguments, options)
    }

    fn is_small(&self, geometry: &Geometry) -> bool {
        let work_items: u64 = geometry.global.iter().product();
        let most = self.program.most_steps(self.index);
        most.is_some_and(|most| most.saturating_mul(work_items) <= MOST_SMALL_STEPS)
    }
}
