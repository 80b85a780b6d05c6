//! Kernels that nobody would write: any control flow, and private variables accessed as all sorts of types.

use std::fmt::Write;
use std::sync::Arc;

use offkit_compile::prepare;
use offkit_kernel::ir::Module;
use offkit_plugin_cpu::{AllocationKind, Argument, LaunchOptions, Memory, NdRange, Program};
use offkit_spirv::{Parameter, ParameterKind, Storage, Type};

use crate::samples::Generator;

const KERNELS: u64 = 400;

/// Words of the buffer: how often control moved on, then what is in the variables at the end.
const WORDS: usize = 32;

const TYPES: &str = "offkit-kernel 1\n\
    type #0 void\ntype #1 scalar i32\ntype #2 scalar f32\ntype #3 vector f32 4\ntype #4 pointer CrossWorkgroup #1\n\
    type #5 pointer Function #1\ntype #6 struct [#2 #1 #3]\ntype #7 array #1 4\ntype #8 scalar i64\n\
    type #9 scalar bool\ntype #10 scalar i16\nconstant $0 #1 [77]\nkernel \"k\" @0\n";

/// Changes what it is given the address of, and has a variable and a branch of its own.
const CALLED: &str = "function @1 \"called\" #1\n  parameter %0 #5\n  parameter %1 #1\n  variable #5 %2 #1 initializer $0\n\
    block ^0\n  %3 #1 = load (%0)\n  %4 #1 = op BitwiseAnd (%3 i32:1)\n  %5 #9 = op IEqual (%4 i32:0)\n  \
    end branch %5 ^1 ^2\n\
    block ^1\n  store (%2 %1)\n  end jump ^2\n\
    block ^2\n  %6 #1 = load (%2)\n  %7 #1 = op IAdd (%3 %6)\n  store (%0 %7)\n  %8 #9 = op SLessThan (%7 i32:0)\n  \
    end branch %8 ^3 ^4\n\
    block ^3\n  end return %6\n\
    block ^4\n  end return %7\n";

/// The variables: number of the value, type, size in bytes.
const VARIABLES: [(u32, &str, u64); 4] = [(1, "#1", 4), (2, "#6", 32), (3, "#7", 16), (4, "#8", 8)];

struct Writer {
    text: String,
    next: u32,
    generator: Generator,
    /// Values of 32-bit integers that may be read.
    pool: Vec<u32>,
}

impl Writer {
    fn below(&mut self, bound: u64) -> u64 {
        self.generator.below(bound)
    }

    /// Adds an instruction with a result.
    fn value(&mut self, kind: &str, code: &str) -> u32 {
        let number = self.next;
        self.next += 1;
        _ = writeln!(self.text, "  %{number} {kind} = {code}");
        number
    }

    fn integer(&mut self) -> String {
        let index = self.below(self.pool.len() as u64 + 1) as usize;
        match self.pool.get(index) {
            Some(value) => format!("%{value}"),
            None => format!("i32:{}", self.below(1000)),
        }
    }

    fn float(&mut self) -> u32 {
        let integer = self.integer();
        self.value("#2", &format!("reinterpret ({integer})"))
    }

    /// A place in a variable where a value of a size fits.
    fn place(&mut self, size: u64) -> u32 {
        let fitting: Vec<_> = VARIABLES.iter().filter(|(.., room)| *room >= size).collect();
        let (variable, _, room) = *fitting[self.below(fitting.len() as u64) as usize];
        let align = size.min(4);
        let offset = align * self.below((room - size) / align + 1);
        self.value("#5", &format!("address {offset} [] (%{variable})"))
    }

    fn statement(&mut self) {
        match self.below(12) {
            0 | 1 => {
                let op = ["IAdd", "IMul", "BitwiseXor", "ISub"][self.below(4) as usize];
                let (a, b) = (self.integer(), self.integer());
                let result = self.value("#1", &format!("op {op} ({a} {b})"));
                self.pool.push(result);
            }
            2 | 3 => {
                let place = self.place(4);
                let result = self.value("#1", &format!("load (%{place})"));
                self.pool.push(result);
            }
            4 => {
                let place = self.place(16);
                let vector = self.value("#3", &format!("load (%{place})"));
                let component = self.below(4);
                let float = self.value("#2", &format!("extract {component} (%{vector})"));
                let result = self.value("#1", &format!("reinterpret (%{float})"));
                self.pool.push(result);
            }
            5 => {
                let place = self.place(8);
                let long = self.value("#8", &format!("load (%{place})"));
                let result = self.value("#1", &format!("convert unsigned (%{long})"));
                self.pool.push(result);
            }
            6 => {
                let (place, integer) = (self.place(4), self.integer());
                _ = writeln!(self.text, "  store (%{place} {integer})");
            }
            7 => {
                let (place, float) = (self.place(4), self.float());
                _ = writeln!(self.text, "  store (%{place} %{float})");
            }
            8 => {
                let floats = [self.float(), self.float(), self.float(), self.float()];
                let parts = floats.map(|float| format!("%{float}")).join(" ");
                let vector = self.value("#3", &format!("construct ({parts})"));
                let place = self.place(16);
                _ = writeln!(self.text, "  store (%{place} %{vector})");
            }
            9 => {
                let (integer, place) = (self.integer(), self.place(8));
                let long = self.value("#8", &format!("convert signed ({integer})"));
                _ = writeln!(self.text, "  store (%{place} %{long})");
            }
            10 => {
                // All of the struct, or a copy.
                if self.below(2) == 0 {
                    let whole = self.value("#6", "load (%2)");
                    let integer = self.integer();
                    let changed = self.value("#6", &format!("insert 1 (%{whole} {integer})"));
                    _ = writeln!(self.text, "  store (%2 %{changed})");
                } else {
                    let size = 4 * (1 + self.below(4));
                    let from = 4 * self.below((32 - size) / 4 + 1);
                    let from = self.value("#5", &format!("address {from} [] (%2)"));
                    _ = writeln!(self.text, "  copy (%3 %{from} i64:{size})");
                }
            }
            _ => {
                // Sometimes a place that makes all of a variable stay in memory.
                let place = if self.below(4) == 0 {
                    let index = self.integer();
                    let index = self.value("#1", &format!("op BitwiseAnd ({index} i32:3)"));
                    self.value("#5", &format!("address 0 [4] (%3 %{index})"))
                } else {
                    self.place(4)
                };
                let integer = self.integer();
                let result = self.value("#1", &format!("call @1 (%{place} {integer})"));
                self.pool.push(result);
            }
        }
    }
}

/// The text of a kernel.
fn kernel(seed: u64) -> String {
    let mut generator = Generator::new(seed);
    let middle = 1 + generator.below(7);
    let exit = middle + 1;
    // Where each block leads to, and where the kernel goes on from the entry.
    let targets: Vec<Vec<u64>> = (0..=middle)
        .map(|block| match block {
            0 => vec![1 + generator.below(middle)],
            _ => (0..=generator.below(3))
                .map(|_| 1 + generator.below(middle))
                .collect(),
        })
        .collect();
    // The values that stand at the end of each block, and the phis.
    let first = 5;
    let last_of = |block: u64| first + block as u32;
    let mut writer = Writer {
        text: format!("{TYPES}function @0 \"k\" #0\n  parameter %0 #4\n"),
        next: first + exit as u32,
        generator,
        pool: Vec::new(),
    };
    for (value, kind, _) in VARIABLES {
        _ = writeln!(writer.text, "  variable #5 %{value} {kind}");
    }
    _ = writeln!(writer.text, "block ^0");
    for (variable, _, size) in VARIABLES {
        for offset in (0..size).step_by(4) {
            let place = writer.value("#5", &format!("address {offset} [] (%{variable})"));
            let number = writer.below(1 << 31);
            _ = writeln!(writer.text, "  store (%{place} i32:{number})");
        }
    }
    _ = writeln!(
        writer.text,
        "  %{} #1 = load (%0)\n  end jump ^{}",
        last_of(0),
        targets[0][0]
    );
    for block in 1..=middle {
        _ = writeln!(writer.text, "block ^{block}");
        let predecessors: Vec<u64> = (0..=middle)
            .filter(|from| targets[*from as usize].contains(&block))
            .collect();
        writer.pool = vec![last_of(0)];
        if !predecessors.is_empty() {
            let incoming = predecessors
                .iter()
                .map(|from| format!("^{from} %{}", last_of(*from)));
            let incoming = incoming.collect::<Vec<_>>().join(" ");
            let phi = writer.value("#1", &format!("phi [{incoming}]"));
            writer.pool.push(phi);
        }
        let count = writer.value("#1", "load (%0)");
        let count = writer.value("#1", &format!("op IAdd (%{count} i32:1)"));
        _ = writeln!(writer.text, "  store (%0 %{count})");
        for _ in 0..writer.below(10) {
            writer.statement();
        }
        let last = writer.integer();
        _ = writeln!(
            writer.text,
            "  %{} #1 = op IAdd ({last} %{count})",
            last_of(block)
        );
        let low = writer.value("#1", &format!("op BitwiseAnd (%{} i32:3)", last_of(block)));
        let done = writer.value("#9", &format!("op SGreaterThan (%{count} i32:60)"));
        let selector = writer.value("#1", &format!("select (%{done} i32:99 %{low})"));
        let (default, cases) = targets[block as usize].split_first().expect("there is one");
        let cases = cases
            .iter()
            .enumerate()
            .map(|(case, target)| format!("{case} ^{target} "));
        let cases: String = cases.collect();
        _ = writeln!(
            writer.text,
            "  end switch %{selector} [{cases}99 ^{exit}] ^{default}"
        );
    }
    _ = writeln!(writer.text, "block ^{exit}");
    let mut word = 1;
    for (variable, _, size) in VARIABLES {
        for offset in (0..size).step_by(4) {
            let from = writer.value("#5", &format!("address {offset} [] (%{variable})"));
            let value = writer.value("#1", &format!("load (%{from})"));
            let to = writer.value("#4", &format!("address {} [] (%0)", 4 * word));
            _ = writeln!(writer.text, "  store (%{to} %{value})");
            word += 1;
        }
    }
    writer.text + "  end return none\n" + CALLED
}

/// What a kernel leaves in its buffer when it runs for a group of work-items.
pub(crate) fn run(module: Module, items: usize) -> Vec<u8> {
    let memory = Memory::new();
    let (storage, layout, name) = (Storage::Global, None, "i32".to_owned());
    let pointee = Type { name, layout };
    let pointer = ParameterKind::Pointer { storage, pointee };
    let declared = vec![vec![Parameter::new(pointer, 8)]];
    let program = Program::from_read(module, declared, Arc::clone(&memory)).expect("builds");
    let buffer = memory
        .allocate(4 * WORDS, 8, AllocationKind::Buffer)
        .expect("there is room");
    memory.write(buffer, &[0; 4 * WORDS]).expect("it is there");
    let options = LaunchOptions {
        max_instructions: Some(1 << 20),
        ..LaunchOptions::default()
    };
    let launched = program.launch(
        "k",
        &NdRange::new([items]),
        &[Argument::Pointer(buffer)],
        &options,
    );
    launched.expect("runs");
    let mut bytes = vec![0; 4 * WORDS];
    memory.read(buffer, &mut bytes).expect("it is there");
    bytes
}

#[test]
fn any_control_flow_does_what_it_did() {
    let mut in_memory = 0;
    for seed in 0..KERNELS {
        let text = kernel(seed);
        let module = Module::from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let prepared = prepare(&module, 0).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
        in_memory += prepared.functions[0].variables.len();
        let shown = prepared.to_string();
        assert_eq!(run(prepared, 1), run(module, 1), "kernel {seed}\n{text}\n{shown}");
    }
    // Of four variables in each kernel one may have to stay.
    assert!(
        in_memory < KERNELS as usize,
        "{in_memory} variables stayed in memory"
    );
}
