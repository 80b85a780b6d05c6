//! OpenCL C compiled by the real clang and run on the device.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use offkit_plugin_cpu::{
    AllocationKind, Argument, BuildError, LaunchError, LaunchOptions, Memory, NdRange, Program,
};

/// The ways a source is compiled: optimisation and target.
pub(crate) const VARIANTS: [(&str, &str); 5] = [
    ("-O0", "spirv64"),
    ("-O1", "spirv64"),
    ("-O2", "spirv64"),
    ("-O2", "spirv64v1.0"),
    ("-O0", "spirv64v1.2"),
];

/// Compiles OpenCL C. `None` where there is no clang 22, which is an error when tools are required.
pub(crate) fn compile(source: &str, optimisation: &str, target: &str, more: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("clang-22");
    command.args([
        optimisation,
        &format!("--target={target}"),
        "-cl-std=CL3.0",
        "-x",
        "cl",
        "-c",
        "-",
        "-o",
        "-",
    ]);
    command.args(more);
    filter(&mut command, source)
}

/// What a tool makes of a text on its standard input; `None`, loudly, if it is not installed.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn filter(command: &mut Command, input: &str) -> Option<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            assert!(
                std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
                "{name} is required: {error}"
            );
            eprintln!("SKIPPED: {name} does not start: {error}");
            return None;
        }
    };
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, input.as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{input}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(output.stdout)
}

/// A program and its memory.
pub(crate) struct Device {
    pub(crate) memory: Arc<Memory>,
    pub(crate) program: Program,
    pub(crate) printed: Mutex<String>,
}

impl Device {
    pub(crate) fn build(spirv: &[u8]) -> Result<Device, BuildError> {
        let memory = Memory::new();
        let program = Program::build(spirv, Arc::clone(&memory))?;
        Ok(Device {
            memory,
            program,
            printed: Mutex::default(),
        })
    }

    /// Compiles in each variant and runs `check` on the program.
    pub(crate) fn each(source: &str, check: impl Fn(&Device)) {
        Device::each_of(VARIANTS, source, &[], check);
    }

    /// As `each`, in some variants and with more options.
    pub(crate) fn each_of(
        variants: impl IntoIterator<Item = (&'static str, &'static str)>,
        source: &str,
        more: &[&str],
        check: impl Fn(&Device),
    ) {
        for (optimisation, target) in variants {
            let Some(spirv) = compile(source, optimisation, target, more) else {
                return;
            };
            match Device::build(&spirv) {
                Ok(device) => check(&device),
                Err(error) => panic!("{optimisation} {target}: {error}"),
            }
        }
    }

    /// A buffer with contents.
    pub(crate) fn buffer<T: Element>(&self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let address = self
            .memory
            .allocate(bytes.len(), 8, AllocationKind::Buffer)
            .unwrap();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    pub(crate) fn read<T: Element>(&self, address: u64, count: usize) -> Vec<T> {
        let size = size_of::<T>();
        let mut bytes = vec![0; count * size];
        self.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(size).map(T::from_bytes).collect()
    }

    pub(crate) fn launch(
        &self,
        kernel: &str,
        range: NdRange,
        arguments: &[Argument],
    ) -> Result<(), LaunchError> {
        let print = |text: &str| {
            self.printed.lock().unwrap().push_str(text);
            Ok(())
        };
        let options = LaunchOptions {
            print: Some(&print),
            max_instructions: Some(1 << 32),
            ..Default::default()
        };
        self.program.launch(kernel, &range, arguments, &options)
    }

    pub(crate) fn run(&self, kernel: &str, range: NdRange, arguments: &[Argument]) {
        self.launch(kernel, range, arguments)
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// The message of a launch that must fail.
    pub(crate) fn failure(&self, kernel: &str, range: NdRange, arguments: &[Argument]) -> String {
        match self.launch(kernel, range, arguments) {
            Ok(()) => panic!("{kernel} did not fail"),
            Err(error) => error.to_string(),
        }
    }
}

/// A value argument.
pub(crate) fn value<T: Element>(value: T) -> Argument {
    Argument::Bytes(value.bytes())
}

/// What buffers are made of.
pub(crate) trait Element: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($number:ty),*) => {$(
        impl Element for $number {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                <$number>::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}

elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
