//! Kernels.

use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Error, Info, Kernel, Result};
use std::sync::{Arc, Mutex, PoisonError};

use super::Cpu;
use super::device::CpuDevice;
use super::memory::CpuBuffer;
use crate::{ArgumentKind, KernelInfo, LaunchOptions, MAX_LOCAL_MEMORY, MAX_WORK_GROUP_SIZE, Program};

/// A kernel and its arguments.
pub(crate) struct CpuKernel {
    program: Arc<Program>,
    description: KernelInfo,
    arguments: Mutex<Vec<Option<Value>>>,
}

/// The value of an argument.
#[derive(Clone)]
enum Value {
    Plain(crate::Argument),
    Buffer(Arc<CpuBuffer>),
}

/// A launch with everything it needs, ready to run.
pub(super) struct Launch {
    program: Arc<Program>,
    kernel: String,
    range: crate::NdRange,
    arguments: Vec<Value>,
}

impl CpuKernel {
    pub(super) fn new(program: Arc<Program>, description: KernelInfo) -> CpuKernel {
        let arguments = Mutex::new(vec![None; description.parameters.len()]);
        CpuKernel {
            program,
            description,
            arguments,
        }
    }

    /// Takes the arguments as they are, and checks that the kernel can be launched with them over the range.
    pub(super) fn prepare(&self, range: &NdRange) -> Result<Launch> {
        let name = &self.description.name;
        let arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        let unset = |index| {
            Error::new(
                PI_INVALID_KERNEL_ARGS,
                format_args!("kernel {name}: argument {index} is not set"),
            )
        };
        let arguments: Vec<Value> = arguments
            .iter()
            .enumerate()
            .map(|(index, value)| value.clone().ok_or_else(|| unset(index)))
            .collect::<Result<_>>()?;
        self.check_range(range)?;
        self.check_local_memory(&arguments)?;
        let wide = |sizes: [usize; 3]| sizes.map(|size| size as u64);
        let range = crate::NdRange {
            dimensions: range.dimensions,
            offset: wide(range.offset),
            global: wide(range.global),
            local: range.local.map(wide),
        };
        Ok(Launch {
            program: Arc::clone(&self.program),
            kernel: name.clone(),
            range,
            arguments,
        })
    }

    fn check_range(&self, range: &NdRange) -> Result<()> {
        let name = &self.description.name;
        let Some(local) = range.local else { return Ok(()) };
        let size = local
            .iter()
            .try_fold(1usize, |product, size| product.checked_mul(*size));
        let problem = match (size, self.description.required_local_size) {
            (_, Some(required)) if required != local.map(|size| size as u64) => {
                format!("it is made for work-groups of {required:?} work-items")
            }
            (Some(size), _) if (1..=MAX_WORK_GROUP_SIZE as usize).contains(&size) => return Ok(()),
            _ => format!("a work-group has 1 to {MAX_WORK_GROUP_SIZE} work-items"),
        };
        let message =
            format!("kernel {name} cannot be launched with a work-group size of {local:?}: {problem}");
        Err(Error::new(PI_INVALID_WORK_GROUP_SIZE, message))
    }

    fn check_local_memory(&self, arguments: &[Value]) -> Result<()> {
        let sizes = arguments.iter().map(|value| match value {
            Value::Plain(crate::Argument::Local(size)) => *size as u64,
            _ => 0,
        });
        let size = sizes.fold(self.description.local_memory, u64::saturating_add);
        if size <= MAX_LOCAL_MEMORY {
            return Ok(());
        }
        let name = &self.description.name;
        let message =
            format!("kernel {name} wants {size} bytes of local memory; there are {MAX_LOCAL_MEMORY}");
        Err(Error::new(PI_OUT_OF_RESOURCES, message))
    }
}

impl CpuKernel {
    fn keep(&self, index: u32, value: Value) -> Result<()> {
        let mut arguments = self.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = arguments.get_mut(index as usize) {
            *slot = Some(value);
        }
        Ok(())
    }
}

impl Launch {
    /// Runs the kernel over its range.
    pub(super) fn run(self) -> Result<(), String> {
        let arguments: Vec<crate::Argument> = self
            .arguments
            .iter()
            .map(|value| match value {
                Value::Plain(argument) => argument.clone(),
                Value::Buffer(buffer) => crate::Argument::Pointer(buffer.address()),
            })
            .collect();
        let options = LaunchOptions::default();
        let launched = self
            .program
            .launch(&self.kernel, &self.range, &arguments, &options);
        launched.map_err(|error| error.to_string())
    }
}

impl Kernel<Cpu> for CpuKernel {
    fn name(&self) -> String {
        self.description.name.clone()
    }

    fn num_args(&self) -> u32 {
        self.description.parameters.len() as u32
    }

    fn set_argument(&self, index: u32, value: Argument<'_, Cpu>) -> Result<()> {
        let name = &self.description.name;
        let count = self.description.parameters.len();
        let Some(parameter) = self.description.parameters.get(index as usize) else {
            let message = format!("kernel {name} has {count} arguments, there is no argument {index}");
            return Err(Error::new(PI_INVALID_ARG_INDEX, message));
        };
        let (code, found) = match (parameter.kind, value) {
            (ArgumentKind::Value(size), Argument::Bytes(bytes)) if bytes.len() as u64 == size => {
                return self.keep(index, Value::Plain(crate::Argument::Bytes(bytes.to_vec())));
            }
            (ArgumentKind::Local, Argument::Local(size)) if size != 0 => {
                return self.keep(index, Value::Plain(crate::Argument::Local(size)));
            }
            (ArgumentKind::GlobalPointer | ArgumentKind::ConstantPointer, Argument::Memory(Some(buffer))) => {
                return self.keep(index, Value::Buffer(buffer));
            }
            (ArgumentKind::GlobalPointer | ArgumentKind::ConstantPointer, Argument::Memory(None)) => {
                return self.keep(index, Value::Plain(crate::Argument::Pointer(0)));
            }
            // A null value of a pointer's size is what the interface has for local memory, and for a null
            // pointer: the parameter tells which.
            (ArgumentKind::GlobalPointer | ArgumentKind::ConstantPointer, Argument::Local(size))
                if size == size_of::<usize>() =>
            {
                return self.keep(index, Value::Plain(crate::Argument::Pointer(0)));
            }
            (ArgumentKind::GlobalPointer | ArgumentKind::ConstantPointer, Argument::Pointer(address)) => {
                return self.keep(index, Value::Plain(crate::Argument::Pointer(address as u64)));
            }
            (ArgumentKind::Value(_), Argument::Bytes(bytes)) => {
                (PI_INVALID_ARG_SIZE, format!("a value of {} bytes", bytes.len()))
            }
            (ArgumentKind::Local, Argument::Local(_)) => (PI_INVALID_ARG_SIZE, "a size of 0".to_owned()),
            (_, Argument::Bytes(bytes)) => {
                (PI_INVALID_ARG_VALUE, format!("a value of {} bytes", bytes.len()))
            }
            (_, Argument::Local(size)) => (PI_INVALID_ARG_VALUE, format!("{size} bytes of local memory")),
            (_, Argument::Memory(_)) => (PI_INVALID_ARG_VALUE, "a buffer".to_owned()),
            (_, Argument::Pointer(address)) => (PI_INVALID_ARG_VALUE, format!("the address {address:#x}")),
        };
        let crate::Parameter {
            name: parameter,
            kind,
            ..
        } = parameter;
        Err(Error::new(
            code,
            format_args!("argument {index} (`{parameter}`) of kernel {name} must be {kind}, found {found}"),
        ))
    }

    fn group_info(&self, _: &Arc<CpuDevice>, name: pi_kernel_group_info) -> Result<Info> {
        let required = self
            .description
            .required_local_size
            .map(|size| size.map(|size| size as usize));
        Ok(match name {
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => required
                .map_or(MAX_WORK_GROUP_SIZE as usize, |size| size.iter().product())
                .into(),
            PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE => required.unwrap_or([0; 3]).into(),
            PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE => self.description.local_memory.into(),
            PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => {
                (self.description.sub_group_size as usize).into()
            }
            PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE => self.description.private_memory.into(),
            name => return Err(Error::unknown_query(name)),
        })
    }

    fn sub_group_info(&self, _: &Arc<CpuDevice>, name: pi_kernel_sub_group_info) -> Result<u32> {
        let size = self.description.sub_group_size;
        Ok(match name {
            PI_KERNEL_MAX_SUB_GROUP_SIZE => size,
            PI_KERNEL_MAX_NUM_SUB_GROUPS => (MAX_WORK_GROUP_SIZE as u32).div_ceil(size.max(1)),
            // Neither is asked for by the kernel, as far as is known here.
            PI_KERNEL_COMPILE_NUM_SUB_GROUPS | PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => 0,
            name => return Err(Error::unknown_query(name)),
        })
    }
}
