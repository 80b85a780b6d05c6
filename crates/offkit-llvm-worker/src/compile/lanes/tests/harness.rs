//! Compiles a function for each case, scalar and of vectors, and calls it on many operands.

use std::ffi::{CString, c_void};
use std::process::Command;

use offkit_kernel::builtins::float::Format;
use offkit_kernel::builtins::{self, Scalar, Shape, convert};
use offkit_kernel::ir::{Attributes, CollectiveKind, Operation, arithmetic, reinterpret, scalar_size};
use offkit_spirv::grammar::{FPRoundingMode as Rounding, Op};

use crate::codegen::TargetMachine;
use crate::compile::builder::{Builder, Value};
use crate::compile::lanes::{Lanes, Options};
use crate::context::Context;
use crate::module::Module;
use crate::targets::{HOST, offer};

use super::together::together;

/// Lanes of the vectors.
const WIDTH: u32 = 8;
/// Operands that each function is called on.
const SAMPLES: usize = 512;

/// An operation on operands of some shapes, with a result of some shape.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) operation: Operation,
    pub(super) operands: Vec<Shape>,
    pub(super) result: Shape,
    /// Units in the last place that a number may be off.
    pub(super) tolerance: u64,
    /// How much numbers may be off whose operands are between zero and one, where that is how a function is bounded.
    pub(super) distance: Option<f64>,
}

impl Case {
    pub(super) fn new(operation: Operation, operands: &[Shape], result: Shape) -> Self {
        Self {
            operation,
            operands: operands.to_vec(),
            result,
            tolerance: 0,
            distance: None,
        }
    }

    /// The kind of what a sub-group does, whose first operand is then the mask.
    pub(super) fn collective(&self) -> Option<CollectiveKind> {
        match self.operation {
            Operation::Collective(collective) => Some(collective.kind),
            _ => None,
        }
    }

    /// Whether lanes know each other.
    fn is_together(&self) -> bool {
        matches!(self.operation, Operation::Collective(_) | Operation::Ballot(_))
    }

    /// The shape of the second result, if there is one.
    fn second(&self) -> Option<Scalar> {
        use offkit_spirv::grammar::OpenclStd100Op as Cl;
        match self.operation {
            Operation::Extended(Cl::fract | Cl::modf | Cl::sincos) => Some(self.result.scalar),
            Operation::Extended(Cl::frexp | Cl::remquo | Cl::lgamma_r) => Some(Scalar::I32),
            _ => None,
        }
    }

    fn is_long_division(&self) -> bool {
        let divides = matches!(
            self.operation,
            Operation::Elementwise(Op::UDiv | Op::UMod | Op::SDiv | Op::SRem | Op::SMod)
        );
        divides && self.operands[0].scalar == Scalar::I64
    }

    /// Whether the order of what is combined would show in anything but whole numbers.
    fn is_sum(&self) -> bool {
        use CollectiveKind as Kind;
        match self.collective() {
            Some(
                Kind::Reduce(reduction)
                | Kind::ClusteredReduce(reduction, _)
                | Kind::InclusiveScan(reduction)
                | Kind::ExclusiveScan(reduction),
            ) => matches!(reduction.op, Op::FAdd | Op::FMul),
            _ => false,
        }
    }

    /// What the components of the function's results are.
    fn results(&self) -> Vec<Scalar> {
        let lanes = self.result.lanes as usize;
        let mut results = vec![self.result.scalar; lanes];
        if let Some(second) = self.second() {
            results.extend(vec![second; lanes]);
        }
        results
    }

    /// What the interpreter computes.
    fn expected(&self, operands: &[Vec<u64>]) -> Vec<u64> {
        let lanes = self.result.lanes as usize;
        let component = |operand: &Vec<u64>, index: usize| match operand.len() {
            1 => operand[0],
            _ => operand[index],
        };
        let each = |function: &dyn Fn(&[u64]) -> u64| {
            let words = |index| operands.iter().map(move |operand| component(operand, index));
            let results = (0..lanes).map(|index| function(&words(index).collect::<Vec<_>>()));
            results.collect::<Vec<_>>()
        };
        let from = self.operands[0].scalar;
        match &self.operation {
            Operation::Elementwise(op) => {
                let function = arithmetic::resolve(*op, from).expect("an operation of this type");
                each(&|words| function.apply(words))
            }
            Operation::Fold(op) => {
                let function = arithmetic::resolve_binary(*op, from).expect("an operation of this type");
                vec![operands[0].iter().copied().reduce(function).expect("components")]
            }
            Operation::Select => each(&|words| if words[0] != 0 { words[1] } else { words[2] }),
            Operation::Convert {
                kind,
                saturate,
                rounding,
            } => each(&|words| {
                convert::convert_lane(*kind, from, self.result.scalar, *rounding, *saturate, words[0])
            }),
            Operation::Reinterpret => reinterpret(&operands[0], from, self.result.scalar),
            Operation::Extract(first) => operands[0][*first as usize..][..lanes].to_vec(),
            Operation::Insert(first) => {
                let mut whole = operands[0].clone();
                whole[*first as usize..][..operands[1].len()].copy_from_slice(&operands[1]);
                whole
            }
            Operation::ExtractDynamic => {
                let last = operands[0].len() - 1;
                vec![operands[0][(operands[1][0] as usize).min(last)]]
            }
            Operation::InsertDynamic => {
                let mut whole = operands[0].clone();
                if let Some(word) = whole.get_mut(operands[2][0] as usize) {
                    *word = operands[1][0];
                }
                whole
            }
            Operation::Construct => operands.concat(),
            Operation::Shuffle(picked) => {
                let all = operands.concat();
                let pick = |lane: &Option<u32>| lane.map_or(0, |lane| all[lane as usize]);
                picked.iter().map(pick).collect()
            }
            Operation::Extended(op) => {
                let function =
                    builtins::resolve(*op, self.result, &self.operands).expect("an operation of this type");
                let arguments = operands.iter().zip(&self.operands);
                let arguments: Vec<_> = arguments.map(|(words, shape)| (&words[..], *shape)).collect();
                let mut out = vec![0; self.results().len()];
                let (first, second) = out.split_at_mut(lanes);
                function(self.result, &arguments, first, second);
                out
            }
            other => panic!("no reference for {other:?}"),
        }
    }

    fn agrees(&self, scalar: Scalar, expected: u64, found: u64) -> bool {
        if expected == found {
            return true;
        }
        let Some(format) = Format::of(scalar) else {
            return false;
        };
        if let Some(distance) = self.distance {
            let number = |word| convert::to_f64(scalar, word);
            return (number(expected) - number(found)).abs() <= distance;
        }
        let magnitude = |word: u64| word & (format.sign() - 1);
        if magnitude(expected) > format.infinity() {
            return magnitude(found) > format.infinity();
        }
        let place = |word: u64| match word & format.sign() {
            0 => word as i64,
            _ => -(magnitude(word) as i64),
        };
        magnitude(found) <= format.infinity()
            && place(expected).abs_diff(place(found)) <= self.tolerance
            && self.tolerance > 0
    }
}

/// What code is made for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Processor {
    /// The least that the device runs on.
    Plain,
    Avx2,
    Avx512,
    Avx512Half,
}

impl Processor {
    pub(super) fn name(self) -> &'static str {
        match self {
            _ if !cfg!(target_arch = "x86_64") => "",
            Self::Plain => "x86-64-v2",
            Self::Avx2 => "x86-64-v3",
            Self::Avx512 | Self::Avx512Half => "x86-64-v4",
        }
    }

    /// What it has beside that.
    fn features(self) -> &'static str {
        match self {
            Self::Avx512Half => "+avx512fp16",
            _ => "",
        }
    }

    /// Whether this machine is one.
    fn is_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Self::Plain => true,
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            Self::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            Self::Avx512Half => std::arch::is_x86_feature_detected!("avx512fp16"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        matches!(self, Self::Plain)
    }
}

/// A module for this machine's kind.
fn empty_module(context: &Context) -> Module {
    let text = format!("target triple = \"{}\"", triple());
    Module::parse_text(context, &text).expect("a module")
}

fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

fn machine(processor: Processor) -> TargetMachine {
    // As programs do.
    offer(&HOST);
    TargetMachine::new(&triple(), processor.name(), processor.features(), 1).expect("a machine")
}

/// Calls what is written as a function of two addresses.
pub(super) fn run(input: &[u8], output: &mut [u8], write: impl FnOnce(&Builder<'_>, Value<'_>)) {
    let context = Context::new();
    let module = empty_module(&context);
    {
        let b = Builder::new(&module);
        let ty = b.function_type(b.void(), &[b.pointer(), b.pointer()]);
        let function = b.function("f", ty);
        b.at_end(b.block(function, "entry"));
        write(&b, function);
        b.return_void();
    }
    module.verify().expect("valid IR");
    let machine = machine(Processor::Plain);
    let library = Library::link(machine.emit(&module).expect("code").bytes());
    // SAFETY: the function reads and writes as much as the test's author knows.
    unsafe { library.function("f")(input.as_ptr(), output.as_mut_ptr()) };
}

/// Compiles all cases, calls each, and compares.
pub(super) fn check(processor: Processor, cases: &[Case]) {
    if !processor.is_here() {
        return;
    }
    let context = Context::new();
    let mut module = empty_module(&context);
    let mut missing = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        for width in [None, Some(WIDTH)] {
            if !write(
                &module,
                Options::of("", processor.name(), processor.features(), false),
                &name(index, width),
                case,
                width,
            ) {
                missing.push(format!("{case:?}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "no lowering");
    module.verify().expect("valid IR");
    let pipeline = "function(early-cse,instcombine<no-verify-fixpoint>,dce)";
    crate::passes::run(&mut module, pipeline).expect("passes");
    let machine = machine(processor);
    let object = machine.emit(&module).expect("code");
    let library = Library::link(object.bytes());
    let mut failures = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let operands = samples(case);
        let mut expected: Vec<_> = match case.is_together() {
            false => operands.iter().map(|words| case.expected(words)).collect(),
            true => Vec::new(),
        };
        for width in [None, Some(WIDTH)] {
            if case.is_together() {
                let lanes = operands.chunks(width.unwrap_or(1) as usize);
                expected = lanes.flat_map(|lanes| together(&case.operation, lanes)).collect();
            }
            let function = library.function(&name(index, width));
            failures.extend(call(function, case, width, &operands, &expected));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases differ:\n{}",
        failures.len(),
        2 * cases.len(),
        failures.join("\n")
    );
}

fn name(index: usize, width: Option<u32>) -> String {
    format!("case_{index}_{}", width.unwrap_or(1))
}

/// Writes a function of the addresses of operands and result, component after component; `false` if there is no lowering.
fn write(module: &Module, options: Options, name: &str, case: &Case, width: Option<u32>) -> bool {
    let b = Builder::new(module);
    let ty = b.function_type(b.void(), &[b.pointer(), b.pointer()]);
    let function = b.function(name, ty);
    b.at_end(b.block(function, "entry"));
    let size = |scalar| scalar_size(scalar) * u64::from(width.unwrap_or(1));
    let at = |pointer, place| b.offset(pointer, b.integer(b.int(64), place));
    let mut place = 0;
    let input = b.parameter(function, 0);
    let mut operands = Vec::new();
    for shape in &case.operands {
        let mut components = Vec::new();
        for _ in 0..shape.lanes {
            let address = at(input, place);
            place += size(shape.scalar);
            components.push(match shape.scalar {
                Scalar::Bool => {
                    let bytes = b.load(b.int(8).vector(width), address, 1);
                    b.zext_or_trunc(bytes, b.int(1).vector(width))
                }
                scalar => b.load(b.scalar(scalar).vector(width), address, 1),
            });
        }
        operands.push(components);
    }
    let operands: Vec<&[Value<'_>]> = operands.iter().map(Vec::as_slice).collect();
    let lanes = Lanes::new(&b, options);
    let results = match (&case.operation, &operands[..]) {
        (Operation::Collective(collective), [[mask], operands @ ..]) => {
            lanes.collective(collective.kind, Some(*mask), operands, case.result)
        }
        (Operation::Ballot(query), [ballot, [index]]) => {
            let answer = lanes.ballot(*query, ballot, Some(*index));
            answer.map(|answer| vec![answer])
        }
        _ => lanes.operation(&case.operation, &Attributes::default(), &operands, case.result),
    };
    let Some(results) = results else {
        b.return_void();
        return false;
    };
    let output = b.parameter(function, 1);
    assert_eq!(results.len(), case.results().len(), "{case:?}");
    let mut place = 0;
    for (value, scalar) in results.iter().zip(case.results()) {
        let value = &match value.ty().width() {
            None => b.broadcast(*value, width),
            Some(_) => *value,
        };
        assert_eq!(value.ty(), b.scalar(scalar).vector(width), "{case:?}");
        let address = at(output, place);
        place += size(scalar);
        let value = match scalar {
            Scalar::Bool => b.zext_or_trunc(*value, b.int(8).vector(width)),
            _ => *value,
        };
        b.store(value, address, 1);
    }
    b.return_void();
    true
}

/// Words of each operand.
type Operands = Vec<Vec<u64>>;

type Compiled = unsafe extern "C" fn(*const u8, *mut u8);

/// Operands that are numbers where something changes, of a size that is often met, or of any.
fn samples(case: &Case) -> Vec<Operands> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let edges: Vec<_> = (case.operands.iter()).map(|shape| edges(shape.scalar)).collect();
    let sample = |_| {
        let operands = case.operands.iter().zip(&edges).map(|(shape, edges)| {
            let word = |_| match random.next() % 4 {
                _ if case.distance.is_some() => {
                    let part = (random.next() >> 11) as f64 * 2f64.powi(-53);
                    convert::from_f64(shape.scalar, part, Rounding::RTE)
                }
                _ if case.is_sum() => whole(shape.scalar, &mut random),
                0 => builtins::truncate(shape.scalar, random.next()),
                1 => moderate(shape.scalar, &mut random),
                _ => edges[random.next() as usize % edges.len()],
            };
            (0..shape.lanes).map(word).collect()
        });
        operands.collect::<Vec<_>>()
    };
    let mut samples: Vec<Operands> = (0..SAMPLES).map(sample).collect();
    if case.is_long_division() {
        // All integers of some vectors are such that doubles hold them, and of some just not.
        let is_unsigned = matches!(case.operation, Operation::Elementwise(Op::UDiv | Op::UMod));
        for (index, operands) in samples.iter_mut().enumerate() {
            let unused = 2 * (index / WIDTH as usize % 16);
            for word in operands.iter_mut().flatten() {
                *word = match is_unsigned {
                    true => *word >> unused,
                    false => (*word as i64 >> unused) as u64,
                };
            }
        }
    }
    use CollectiveKind as Kind;
    if let Some(Kind::Rotate(_) | Kind::ShuffleDownPair | Kind::ShuffleUpPair) = case.collective() {
        // What more than one round gives, the standard leaves open.
        let deltas = samples.iter_mut().filter_map(|operands| operands.last_mut());
        deltas.flatten().for_each(|delta| *delta &= 7);
    }
    samples
}

/// Calls a function on many operands; gives a difference, if there is one. Where no words are expected, any will do.
fn call(
    function: Compiled,
    case: &Case,
    width: Option<u32>,
    operands: &[Operands],
    expected: &[Vec<u64>],
) -> Option<String> {
    let lanes = width.unwrap_or(1) as usize;
    let results = case.results();
    let sizes = results.iter().map(|scalar| scalar_size(*scalar) as usize * lanes);
    let mut output = vec![0u8; sizes.sum()];
    let mut input = Vec::new();
    for (samples, expected) in operands.chunks(lanes).zip(expected.chunks(lanes)) {
        input.clear();
        for (operand, shape) in case.operands.iter().enumerate() {
            for component in 0..shape.lanes as usize {
                for operands in samples {
                    let bytes = operands[operand][component].to_le_bytes();
                    input.extend_from_slice(&bytes[..scalar_size(shape.scalar) as usize]);
                }
            }
        }
        // SAFETY: the function reads and writes as many bytes as it was written for, which are as many.
        unsafe { function(input.as_ptr(), output.as_mut_ptr()) };
        let mut rest = &output[..];
        for (component, scalar) in results.iter().enumerate() {
            for (operands, expected) in samples.iter().zip(expected) {
                let (bytes, others) = rest.split_at(scalar_size(*scalar) as usize);
                rest = others;
                let found = bytes
                    .iter()
                    .rev()
                    .fold(0, |word, byte| word << 8 | u64::from(*byte));
                let Some(&expected) = expected.get(component) else {
                    continue;
                };
                if !case.agrees(*scalar, expected, found) {
                    return Some(format!(
                        "{case:?} of {lanes} lanes, component {component}: {operands:x?} gives {found:#x}, not {expected:#x}"
                    ));
                }
            }
        }
    }
    None
}

/// Numbers where something changes.
fn edges(scalar: Scalar) -> Vec<u64> {
    if let Some(format) = Format::of(scalar) {
        let normal = format.significand_mask() + 1;
        let number = |value| convert::from_f64(scalar, value, Rounding::RTE);
        let mut edges = vec![
            0,
            1,
            normal - 1,
            normal,
            format.infinity() - 1,
            format.infinity(),
            format.quiet_nan(),
            format.below_one(),
        ];
        edges.extend([1.0, 0.5, 1.5, 2.5, 2.0, 127.5, 255.5, 65504.0, 65520.0, 6e-8].map(number));
        edges.extend(
            [
                2f64.powi(31),
                2f64.powi(32),
                2f64.powi(63),
                2f64.powi(64),
                1e-30,
                1e30,
            ]
            .map(number),
        );
        let negative: Vec<_> = edges.iter().map(|edge| edge | format.sign()).collect();
        edges.extend(negative);
        return edges;
    }
    let bits = scalar.bits();
    if bits == 1 {
        return vec![0, 1];
    }
    let sign = 1u64 << (bits - 1);
    [
        0,
        1,
        2,
        3,
        7,
        8,
        31,
        32,
        63,
        64,
        sign - 1,
        sign,
        sign + 1,
        u64::MAX,
        u64::MAX - 1,
    ]
    .map(|edge| builtins::truncate(scalar, edge))
    .to_vec()
}

/// A number of a size that is often met.
fn moderate(scalar: Scalar, random: &mut Random) -> u64 {
    if scalar.is_float() {
        let value = (random.next() as i64 >> 11) as f64 * 2f64.powi(-45);
        return convert::from_f64(scalar, value, Rounding::RTE);
    }
    let value = (random.next() as i64) >> (random.next() % 64);
    builtins::truncate(scalar, value as u64)
}

/// A small number without a fraction; a truth that mostly holds.
fn whole(scalar: Scalar, random: &mut Random) -> u64 {
    match scalar {
        Scalar::Bool => u64::from(!random.next().is_multiple_of(4)),
        _ => {
            let value = random.next() % 5;
            convert::from_f64(scalar, value as f64, Rounding::RTE)
        }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Code that is loaded.
struct Library {
    handle: *mut c_void,
}

impl Library {
    /// Links an object that needs nobody else.
    fn link(object: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, target) = (folder.path().join("code.o"), folder.path().join("code.so"));
        std::fs::write(&source, object).expect("written");
        let status = Command::new("cc")
            .args(["-shared", "-nostdlib", "-Wl,-z,defs", "-o"])
            .args([&target, &source])
            .status()
            .expect("a linker");
        assert!(status.success(), "code that calls nobody links");
        let path = CString::new(target.as_os_str().as_encoded_bytes()).expect("a path");
        // SAFETY: the library has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "it loads");
        Self { handle }
    }

    fn function(&self, name: &str) -> Compiled {
        let name = CString::new(name).expect("a name");
        // SAFETY: the handle is open, and every function of the library has this type.
        unsafe {
            let address = libc::dlsym(self.handle, name.as_ptr());
            assert!(!address.is_null(), "{name:?} is there");
            std::mem::transmute::<*mut c_void, Compiled>(address)
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: nothing of it is used any more.
        unsafe { libc::dlclose(self.handle) };
    }
}
