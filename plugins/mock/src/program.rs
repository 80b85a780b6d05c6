//! Programs and kernels.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Argument, Build, Error, GlobalVariable, Info, Kernel, Program, Ref, Result};

use crate::Mock;
use crate::device::MockDevice;
use crate::memory::MockBuffer;
use crate::script;
use crate::stage::There;

/// A program, of whatever code.
pub(crate) struct MockProgram {
    build: Mutex<Build>,
    /// Each in the order of the script, as words, for the alignment. What commands do with them they do by the address.
    variables: Vec<Box<[u128]>>,
    there: There,
}

/// A kernel, and the buffers among its arguments.
pub(crate) struct MockKernel {
    script: script::Kernel,
    /// Whether the script says how many arguments there are.
    is_known: bool,
    buffers: Mutex<BTreeMap<u32, Ref<MockBuffer>>>,
    there: There,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MockProgram {
    pub(crate) fn new() -> MockProgram {
        let there = There::new::<MockProgram>();
        let variables = there.stage().script.variables.iter();
        let zeroed =
            |(_, size): &(String, usize)| vec![0; size.div_ceil(size_of::<u128>())].into_boxed_slice();
        MockProgram {
            build: Mutex::default(),
            variables: variables.map(zeroed).collect(),
            there,
        }
    }

    /// Makes an executable of it, if the script has nothing against that.
    pub(crate) fn link(&self, options: &str) -> Result<()> {
        let missing = self.there.stage().script.unresolved.iter();
        let log: Vec<String> = missing.map(|name| format!("undefined symbol `{name}`")).collect();
        let (status, binary_type) = match log.is_empty() {
            true => (PI_PROGRAM_BUILD_STATUS_SUCCESS, PI_PROGRAM_BINARY_TYPE_EXECUTABLE),
            false => (PI_PROGRAM_BUILD_STATUS_ERROR, PI_PROGRAM_BINARY_TYPE_NONE),
        };
        let log = log.join("\n");
        *lock(&self.build) = Build {
            status,
            binary_type,
            options: options.to_owned(),
            log: log.clone(),
        };
        match log.is_empty() {
            true => Ok(()),
            false => Err(Error::new(PI_BUILD_PROGRAM_FAILURE, log)),
        }
    }
}

impl Program<Mock> for MockProgram {
    fn compile(&self, _: &[Arc<MockDevice>], options: &str) -> Result<()> {
        *lock(&self.build) = Build {
            status: PI_PROGRAM_BUILD_STATUS_SUCCESS,
            binary_type: PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            options: options.to_owned(),
            log: String::new(),
        };
        Ok(())
    }

    fn build(&self, _: &[Arc<MockDevice>], options: &str) -> Result<()> {
        self.link(options)
    }

    fn build_info(&self, _: &Arc<MockDevice>) -> Build {
        lock(&self.build).clone()
    }

    fn set_specialization_constant(&self, _: u32, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn kernel_names(&self) -> Result<Vec<String>> {
        let kernels = self.there.stage().script.kernels.iter();
        Ok(kernels.map(|kernel| kernel.name.clone()).collect())
    }

    fn global_variable(&self, _: &Arc<MockDevice>, name: &str) -> Result<GlobalVariable> {
        let variables = &self.there.stage().script.variables;
        let known = variables.iter().zip(&self.variables);
        let found = known.into_iter().find(|((known, _), _)| known == name);
        let found = found.map(|((_, size), words)| GlobalVariable {
            address: words.as_ptr().expose_provenance(),
            size: *size,
        });
        found.ok_or_else(|| Error::new(PI_INVALID_VALUE, format_args!("no variable {name}")))
    }

    fn create_kernel(program: &Ref<Self>, name: &str) -> Result<MockKernel> {
        if lock(&program.build).binary_type != PI_PROGRAM_BINARY_TYPE_EXECUTABLE {
            return Err(Error::new(
                PI_INVALID_PROGRAM_EXECUTABLE,
                "the program is not built",
            ));
        }
        let kernels = &program.there.stage().script.kernels;
        let known = kernels.iter().find(|kernel| kernel.name == name);
        let any = || script::Kernel {
            name: name.to_owned(),
            arguments: 0,
            fills: None,
        };
        if known.is_none() && !kernels.is_empty() {
            return Err(Error::new(
                PI_INVALID_KERNEL_NAME,
                format_args!("no kernel {name}"),
            ));
        }
        Ok(MockKernel {
            script: known.cloned().unwrap_or_else(any),
            is_known: known.is_some(),
            buffers: Mutex::default(),
            there: There::new::<MockKernel>(),
        })
    }
}

impl Kernel<Mock> for MockKernel {
    fn name(&self) -> String {
        self.script.name.clone()
    }

    fn num_args(&self) -> u32 {
        self.script.arguments
    }

    fn set_argument(&self, index: u32, value: Argument<'_, Mock>) -> Result<()> {
        if self.is_known && index >= self.script.arguments {
            let message = format_args!("the kernel has {} arguments", self.script.arguments);
            return Err(Error::new(PI_INVALID_ARG_INDEX, message));
        }
        // A value that is no buffer takes the place of one that was there before.
        let mut buffers = lock(&self.buffers);
        match value {
            Argument::Memory(Some(buffer)) => buffers.insert(index, buffer),
            _ => buffers.remove(&index),
        };
        Ok(())
    }

    fn set_indirect_access(&self, indirect: bool) -> Result<()> {
        self.there.stage().note_indirect(indirect);
        Ok(())
    }

    fn group_info(&self, _: &Arc<MockDevice>, name: pi_kernel_group_info) -> Result<Info> {
        match name {
            PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE => Ok(256_usize.into()),
            name => Err(Error::unknown_query(name)),
        }
    }
}

impl MockKernel {
    /// What a launch of now writes: the buffer, and the byte that fills it.
    pub(crate) fn fills(&self) -> Option<(Ref<MockBuffer>, u8)> {
        let (argument, byte) = self.script.fills?;
        let buffer = lock(&self.buffers).get(&argument).cloned()?;
        Some((buffer, byte))
    }
}
