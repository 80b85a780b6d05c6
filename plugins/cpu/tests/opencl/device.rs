//! Programs and launches on the CPU device.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use offkit_compile::prepare;
use offkit_kernel::ir;
use offkit_plugin_cpu::{
    AllocationKind, Argument, LaunchError, LaunchOptions, Memory, NdRange, Program, TrialOptions,
    compile_with, launch_compiled,
};
use offkit_spirv::{LinkInput, LinkOptions, Module, kernel_parameters, link};

/// Whether kernels run as the compiler prepares them; the tests are the same.
const IS_PREPARED: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"prepared");

/// Whether kernels run compiled, as far as they can be.
pub(crate) const IS_COMPILED: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"vectors" | b"bounds");

/// Whether compiled kernels check their accesses.
const CHECKS_BOUNDS: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"bounds");

/// Whether the program that compiles is there, which is built with the tests of the whole workspace. Without it kernels are
/// interpreted, or tests fail when `OFFKIT_REQUIRE_TOOLS` is 1.
#[expect(clippy::print_stderr, reason = "what is not tested is said")]
pub(crate) fn has_worker() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let folder = std::env::current_exe().expect("the test's program");
        let worker = folder.with_file_name("../offkit-cpu-worker");
        let found = worker.exists();
        assert!(
            found || std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
            "{} is required and not found",
            worker.display()
        );
        if found {
            compile_with(worker);
        } else {
            eprintln!("SKIPPED: the worker is not built: cargo build -p offkit-llvm-worker");
        }
        found
    })
}

/// A module whose kernels are as the compiler prepares them.
fn prepared(module: &Module) -> Result<ir::Module, String> {
    let mut whole = offkit_kernel::read(module.dr()).map_err(|error| error.to_string())?;
    whole.verify().map_err(|error| error.to_string())?;
    for index in 0..whole.kernels.len() {
        let mut prepared = prepare(&whole, index).map_err(|refusal| refusal.to_string())?;
        whole.kernels[index].function = ir::FunctionId(whole.functions.len() as u32);
        whole.functions.append(&mut prepared.functions);
        // What is there keeps its numbers, so that all kernels can share what is added.
        (whole.types, whole.constants, whole.globals) =
            (prepared.types, prepared.constants, prepared.globals);
    }
    whole.verify().map_err(|error| error.to_string())?;
    Ok(whole)
}

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// A pointer to global or constant memory with these bytes.
    Buffer(Vec<u8>),
    /// A null pointer to global memory.
    Null,
    /// That many bytes of local memory.
    Local(usize),
    /// A value passed as it is.
    Value(Vec<u8>),
}

/// What a kernel left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The contents of the buffers, in the order of the arguments.
    pub(crate) buffers: Vec<Vec<u8>>,
    /// What it printed.
    pub(crate) printed: String,
}

/// A program on a device of its own.
#[derive(Debug)]
pub(crate) struct Device {
    memory: Arc<Memory>,
    program: Arc<Program>,
    spirv: Vec<u8>,
}

impl Device {
    /// Reads, links and builds a module, as the plugin does with it.
    pub(crate) fn new(spirv: &[u8]) -> Result<Device, String> {
        let memory = Memory::new();
        let module = Module::from_bytes(spirv).map_err(|error| error.to_string())?;
        let input = LinkInput {
            label: "module",
            module: &module,
        };
        let options = LinkOptions::default().with_allow_unresolved(true);
        link(&[input], options).map_err(|error| format!("linking: {error}"))?;
        let program = match IS_PREPARED {
            false => Program::from_module(&module, Arc::clone(&memory)),
            true => Program::from_read(
                prepared(&module)?,
                kernel_parameters(&module),
                Arc::clone(&memory),
            ),
        };
        let program = program.map_err(|error| error.to_string())?;
        Ok(Device {
            memory,
            program: Arc::new(program),
            spirv: spirv.to_vec(),
        })
    }

    /// Runs a kernel; a range has as many dimensions as `global` has sizes, and an empty `local` leaves
    /// the size of the groups to the device.
    pub(crate) fn run(
        &self,
        kernel: &str,
        global: &[usize],
        local: &[usize],
        operands: &[Operand],
    ) -> Result<Outcome, String> {
        let sizes = |sizes: &[usize]| [0, 1, 2].map(|dimension| sizes.get(dimension).copied().unwrap_or(1));
        let range = NdRange {
            dimensions: global.len() as u32,
            offset: [0; 3],
            global: sizes(global),
            local: (!local.is_empty()).then(|| sizes(local)),
        };
        self.run_range(kernel, &range, operands)
    }

    pub(crate) fn run_range(
        &self,
        kernel: &str,
        range: &NdRange,
        operands: &[Operand],
    ) -> Result<Outcome, String> {
        let printed = Mutex::new(String::new());
        let print = |text: &str| {
            printed
                .lock()
                .expect("no thread panics while it prints")
                .push_str(text);
            Ok(())
        };
        let mut outcome = self.run_printing(kernel, range, operands, &print)?;
        outcome.printed = printed.into_inner().expect("no thread panics while it prints");
        Ok(outcome)
    }

    /// The same with something else that takes what is printed.
    pub(crate) fn run_printing(
        &self,
        kernel: &str,
        range: &NdRange,
        operands: &[Operand],
        print: &(dyn Fn(&str) -> io::Result<()> + Sync),
    ) -> Result<Outcome, String> {
        self.run_with(kernel, range, operands, print, None)
    }

    /// The same, given up when the kernel has made the second number of its first buffer other than zero.
    pub(crate) fn run_until_begun(
        &self,
        kernel: &str,
        range: &NdRange,
        operands: &[Operand],
    ) -> Result<Outcome, String> {
        self.run_with(
            kernel,
            range,
            operands,
            &|_| Ok(()),
            Some(&AtomicBool::new(false)),
        )
    }

    fn run_with(
        &self,
        kernel: &str,
        range: &NdRange,
        operands: &[Operand],
        print: &(dyn Fn(&str) -> io::Result<()> + Sync),
        cancel: Option<&AtomicBool>,
    ) -> Result<Outcome, String> {
        let mut buffers = Vec::new();
        let mut arguments = Vec::new();
        for operand in operands {
            arguments.push(match operand {
                Operand::Buffer(bytes) => {
                    let address = self.allocate(bytes)?;
                    buffers.push((address, bytes.len()));
                    Argument::Pointer(address)
                }
                Operand::Null => Argument::Pointer(0),
                Operand::Local(size) => Argument::Local(*size),
                Operand::Value(bytes) => Argument::Bytes(bytes.clone()),
            });
        }
        let options = LaunchOptions {
            // Who gives a launch up is not to be forestalled.
            max_instructions: cancel.is_none().then_some(500_000_000),
            print: Some(print),
            cancel,
            ..LaunchOptions::default()
        };
        let is_over = AtomicBool::new(false);
        let launched = std::thread::scope(|scope| {
            if let Some(cancel) = cancel {
                let (begun, is_over) = (buffers[0].0 + 4, &is_over);
                scope.spawn(move || {
                    let mut word = [0; 4];
                    while word == [0; 4] && !is_over.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                        self.memory.read(begun, &mut word).expect("a buffer");
                    }
                    cancel.store(true, Ordering::Relaxed);
                });
            }
            let launched = match IS_COMPILED && self.is_chosen(kernel) && has_worker() {
                false => self.program.launch(kernel, range, &arguments, &options),
                true => self.launch_compiled(kernel, range, &arguments, &options),
            };
            is_over.store(true, Ordering::Relaxed);
            launched
        });
        let mut outcome = Outcome {
            buffers: Vec::new(),
            printed: String::new(),
        };
        for (address, size) in buffers {
            let mut bytes = vec![0; size];
            self.memory
                .read(address, &mut bytes)
                .map_err(|error| error.to_string())?;
            self.memory.free(address).map_err(|error| error.to_string())?;
            outcome.buffers.push(bytes);
        }
        launched.map_err(|error| error.to_string())?;
        Ok(outcome)
    }

    /// Whether a kernel is among those that are compiled: all of small modules, and a third of those of large ones, or
    /// all with `OFFKIT_TEST_ALL=1`, which takes minutes.
    fn is_chosen(&self, kernel: &str) -> bool {
        let all = std::env::var_os("OFFKIT_TEST_ALL").is_some_and(|value| value == "1");
        let shift = self.spirv.len() / 4;
        all || self.program.kernels().len() <= 8 || (self.number(kernel) + shift).is_multiple_of(3)
    }

    fn number(&self, kernel: &str) -> usize {
        let mut kernels = self.program.kernels().iter();
        kernels.position(|info| info.name == kernel).unwrap_or(0)
    }

    fn launch_compiled(
        &self,
        kernel: &str,
        range: &NdRange,
        arguments: &[Argument],
        options: &LaunchOptions<'_>,
    ) -> Result<(), LaunchError> {
        // By turns with light passes and with all.
        let trial = TrialOptions {
            at_full_effort: self.number(kernel).is_multiple_of(2),
            contract: true,
            check_bounds: CHECKS_BOUNDS,
        };
        let reason = launch_compiled(
            &self.program,
            &self.spirv,
            kernel,
            range,
            arguments,
            options,
            trial,
        )?;
        // What is interpreted would be compared with itself.
        assert_eq!(reason, None);
        Ok(())
    }

    fn allocate(&self, bytes: &[u8]) -> Result<u64, String> {
        let address = self
            .memory
            .allocate(bytes.len(), 128, AllocationKind::Buffer)
            .map_err(|error| error.to_string())?;
        self.memory
            .write(address, bytes)
            .map_err(|error| error.to_string())?;
        Ok(address)
    }
}
