//! Built-in functions that work on each lane of a vector alike: tables of cases, and the kernels made of
//! them.

use std::fmt::Write;

use crate::clang::{self, Options};
use crate::device::{Device, IS_COMPILED, Operand};
use crate::element::Element;
use crate::samples;

/// The extensions that sources may use.
pub(crate) const HEADER: &str = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";

/// One statement with its operands and results.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Assigns to `r`, from the operands `a`, `b` and `c`. A `#` stands for the number of lanes, as in
    /// `int#`.
    pub(crate) statement: String,
    pub(crate) result: Element,
    pub(crate) operands: Vec<Element>,
    /// The values of each operand.
    pub(crate) inputs: Vec<Vec<u64>>,
    pub(crate) expected: Vec<u64>,
    /// By how many units in the last place a float may miss.
    pub(crate) tolerance: u64,
}

impl Case {
    /// A case whose expected results a function computes from the operands' words.
    pub(crate) fn of_words(
        statement: &str,
        result: Element,
        operands: &[Element],
        expected: impl Fn(&[u64]) -> u64,
    ) -> Case {
        let inputs = samples::operands(operands, statement.len() as u64);
        Case::with_inputs(statement, result, operands, inputs, expected)
    }

    /// The same on chosen operands.
    pub(crate) fn with_inputs(
        statement: &str,
        result: Element,
        operands: &[Element],
        inputs: Vec<Vec<u64>>,
        expected: impl Fn(&[u64]) -> u64,
    ) -> Case {
        let expected = (0..inputs[0].len())
            .map(|index| expected(&inputs.iter().map(|input| input[index]).collect::<Vec<_>>()))
            .collect();
        Case {
            statement: statement.to_owned(),
            result,
            operands: operands.to_vec(),
            inputs,
            expected,
            tolerance: 0,
        }
    }

    /// A case on integers; the result is reduced to its type.
    pub(crate) fn of_integers(
        statement: &str,
        result: Element,
        operands: &[Element],
        expected: impl Fn(&[i128]) -> i128,
    ) -> Case {
        Case::of_words(statement, result, operands, |words| {
            let values: Vec<i128> = words
                .iter()
                .zip(operands)
                .map(|(&word, element)| element.integer(word))
                .collect();
            result.word_of_integer(expected(&values))
        })
    }

    /// A case on numbers; the result is rounded to its type.
    pub(crate) fn of_numbers(
        statement: &str,
        result: Element,
        operands: &[Element],
        expected: impl Fn(&[f64]) -> f64,
    ) -> Case {
        Case::of_words(statement, result, operands, |words| {
            let values: Vec<f64> = words
                .iter()
                .zip(operands)
                .map(|(&word, element)| element.number(word))
                .collect();
            result.word_of(expected(&values))
        })
    }

    pub(crate) fn within(self, tolerance: u64) -> Case {
        // Compiled code rounds at each step, as the specification allows; bounds of functions are tested elsewhere.
        let tolerance = if IS_COMPILED { tolerance.max(16) } else { tolerance };
        Case { tolerance, ..self }
    }

    /// Leaves out the operands that the specification says nothing about.
    pub(crate) fn only(mut self, defined: impl Fn(&[u64]) -> bool) -> Case {
        let inputs = self.inputs.clone();
        let words = |index: usize| inputs.iter().map(|input| input[index]).collect::<Vec<_>>();
        let kept: Vec<usize> = (0..self.expected.len())
            .filter(|&index| defined(&words(index)))
            .collect();
        assert!(!kept.is_empty(), "{}: no operands left", self.statement);
        // Repeated from the start, so that there are as many as before.
        let pick = |values: &[u64]| {
            kept.iter()
                .cycle()
                .take(values.len())
                .map(|&index| values[index])
                .collect()
        };
        self.inputs = inputs.iter().map(|input| pick(input)).collect();
        self.expected = pick(&self.expected);
        self
    }

    fn kernel(&self, name: &str, lanes: usize) -> String {
        let suffix = suffix(lanes);
        let mut source = format!("kernel void {name}(global {}{suffix} *out", self.result.name());
        for (operand, letter) in self.operands.iter().zip(["a", "b", "c"]) {
            let _ = write!(source, ", global const {}{suffix} *{letter}s", operand.name());
        }
        let _ = write!(
            source,
            ") {{\n  size_t i = get_global_id(0);\n  {}{suffix} r;\n",
            self.result.name()
        );
        for (operand, letter) in self.operands.iter().zip(["a", "b", "c"]) {
            let _ = writeln!(source, "  {}{suffix} {letter} = {letter}s[i];", operand.name());
        }
        let _ = writeln!(
            source,
            "  {}\n  out[i] = r;\n}}",
            self.statement.replace('#', &suffix)
        );
        source
    }

    /// Runs the kernel; the error says what is wrong with its results.
    fn check(&self, device: &Device, name: &str, lanes: usize) -> Result<(), String> {
        let stride = lanes.next_power_of_two();
        let items = self.expected.len().div_ceil(lanes);
        let mut operands = vec![Operand::Buffer(vec![0xcc; items * stride * self.result.size()])];
        for (element, input) in self.operands.iter().zip(&self.inputs) {
            operands.push(Operand::Buffer(element.encode(input, lanes, stride)));
        }
        let outcome = device.run(name, &[items], &[], &operands)?;
        let results = self.result.decode(&outcome.buffers[0], lanes, stride);
        let wrong: Vec<usize> = (0..self.expected.len())
            .filter(|&index| self.result.distance(results[index], self.expected[index]) > self.tolerance)
            .collect();
        let Some(&first) = wrong.first() else {
            return Ok(());
        };
        let show = |element: Element, word: u64| match element.is_float() {
            true => format!("{:e} ({word:#x})", element.number(word)),
            false => element.integer(word).to_string(),
        };
        let operands: Vec<String> = self
            .operands
            .iter()
            .zip(&self.inputs)
            .map(|(element, input)| show(*element, input[first]))
            .collect();
        Err(format!(
            "{} of {} results are wrong, e.g. of {}: {}, expected {}",
            wrong.len(),
            self.expected.len(),
            operands.join(", "),
            show(self.result, results[first]),
            show(self.result, self.expected[first]),
        ))
    }
}

/// The number of lanes as it follows a type's name.
pub(crate) fn suffix(lanes: usize) -> String {
    if lanes == 1 {
        String::new()
    } else {
        lanes.to_string()
    }
}

/// Runs all cases with vectors of these widths, compiled in all ways.
#[track_caller]
pub(crate) fn check(cases: &[Case], widths: &[usize]) {
    check_using(cases, widths, &Options::all());
}

/// Runs all cases with vectors of these widths, compiled in these ways.
#[track_caller]
pub(crate) fn check_using(cases: &[Case], widths: &[usize], ways: &[Options]) {
    let mut failures = Vec::new();
    // Compiling takes longer than the interpreter does: scalars and one width, in one way.
    let is_asked = |lanes: usize| !IS_COMPILED || lanes == 1 || Some(&lanes) == widths.last().min(Some(&4));
    let ways = if IS_COMPILED {
        &ways[ways.len() - 1..]
    } else {
        ways
    };
    for &lanes in widths.iter().filter(|lanes| is_asked(**lanes)) {
        for &options in ways {
            check_with(cases, lanes, options, &mut failures);
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Runs all cases in one program, or one by one where that can't be built, to tell which of them is to
/// blame.
fn check_with(cases: &[Case], lanes: usize, options: Options, failures: &mut Vec<String>) {
    if !clang::is_available() {
        return;
    }
    let name = |index: usize| format!("case{index}");
    let build = |cases: &[Case]| {
        let kernels = cases
            .iter()
            .enumerate()
            .map(|(index, case)| case.kernel(&name(index), lanes));
        let source = HEADER.to_owned() + &kernels.collect::<String>();
        Device::new(&clang::compile(&source, options)?)
    };
    let describe = |case: &Case, error: String| {
        let how = format!("{} {} {}", options.target, options.flags, options.extensions);
        let statement = case.statement.replace('#', &suffix(lanes));
        format!(
            "{statement} [{}{}, {how}]: {error}",
            case.result.name(),
            suffix(lanes)
        )
    };
    match build(cases) {
        Ok(device) => {
            for (index, case) in cases.iter().enumerate() {
                if let Err(error) = case.check(&device, &name(index), lanes) {
                    failures.push(describe(case, error));
                }
            }
        }
        Err(error) if cases.len() == 1 => failures.push(describe(&cases[0], error)),
        Err(_) => {
            for case in cases {
                check_with(std::slice::from_ref(case), lanes, options, failures);
            }
        }
    }
}
