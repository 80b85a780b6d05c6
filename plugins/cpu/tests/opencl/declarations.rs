//! Every built-in function that clang declares, whether there is a test of its results or not: the
//! device must build what clang makes of a call. The declarations come from clang's own header.

use std::collections::BTreeMap;
use std::process::Command;

use crate::case::HEADER;
use crate::clang::{self, Options};
use crate::device::Device;

/// A function as the header has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declaration {
    result: String,
    name: String,
    parameters: Vec<String>,
}

/// Parts of declarations that say that a function isn't tested: it works on images, pipes or queues,
/// isn't OpenCL's own, needs an event to start from, reads a clock, or has atomics that the device
/// lacks.
const LEFT_OUT: [&str; 12] = [
    "image",
    "pipe",
    "queue",
    "sampler",
    "ndrange",
    "clk_event",
    "reserve_id",
    "intel_",
    "amd_",
    "event_t",
    "clock_read",
    "atomic_half",
];

/// Words of a parameter that are no type by themselves.
const QUALIFIERS: [&str; 12] = [
    "volatile",
    "const",
    "unsigned",
    "__private",
    "__global",
    "__local",
    "__constant",
    "__generic",
    "private",
    "global",
    "local",
    "constant",
];

fn declarations() -> Vec<Declaration> {
    let mut preprocess = Command::new("clang-22");
    preprocess.args(["--target=spirv64", "-cl-std=CL3.0", "-E", "-P", "-x", "cl", "-"]);
    let text = clang::run(&mut preprocess, b"#include <opencl-c.h>\n").expect("the header is preprocessed");
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.join(" ").split(';').filter_map(parse).collect()
}

fn parse(text: &str) -> Option<Declaration> {
    text.contains("overloadable").then_some(())?;
    let mut rest = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(start) = rest.find("__attribute__((") {
        let mut depth = 0;
        let end = rest[start..].char_indices().find_map(|(at, letter)| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            (letter == ')' && depth == 0).then_some(start + at)
        });
        rest.replace_range(start..=end?, "");
    }
    let (head, parameters) = rest.trim().strip_suffix(')')?.split_once('(')?;
    let (result, name) = head.trim().rsplit_once(' ')?;
    if LEFT_OUT.iter().any(|part| rest.contains(part)) {
        return None;
    }
    let parameters = parameters
        .split(',')
        .map(without_name)
        .filter(|kind| !kind.is_empty() && kind != "void");
    Some(Declaration {
        result: result.trim().to_owned(),
        name: name.to_owned(),
        parameters: parameters.collect(),
    })
}

/// A parameter's type, without the name that some have.
fn without_name(parameter: &str) -> String {
    let spaced = parameter.replace('*', " * ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    let types = words
        .iter()
        .filter(|word| **word != "*" && !QUALIFIERS.contains(word))
        .count();
    if types > 1 {
        words.pop();
    }
    words.join(" ")
}

impl Declaration {
    /// A function that calls it, and the call of that one; constants stand for what must be constant.
    fn caller(&self, index: usize) -> (String, String) {
        let (mut parameters, mut arguments, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let last = self.parameters.len().wrapping_sub(1);
        let mut orders = 0;
        for (at, kind) in self.parameters.iter().enumerate() {
            let constant = match kind.as_str() {
                "memory_order" => {
                    orders += 1;
                    match () {
                        () if self.name.contains("load") || orders == 2 => Some("memory_order_relaxed"),
                        () if self.name.contains("store") || self.name.contains("clear") => {
                            Some("memory_order_release")
                        }
                        () => Some("memory_order_acq_rel"),
                    }
                }
                "memory_scope" => Some("memory_scope_device"),
                "cl_mem_fence_flags" => Some("CLK_LOCAL_MEM_FENCE"),
                _ if self.name.contains("clustered") && at == last => Some("4"),
                _ => None,
            };
            if let Some(constant) = constant {
                arguments.push(constant.to_owned());
                continue;
            }
            parameters.push(format!("{kind} a{at}"));
            arguments.push(format!("a{at}"));
            values.push(if kind.contains('*') {
                format!("({kind})(ulong)p")
            } else {
                format!("*(global {kind} *)p")
            });
        }
        let returns = if self.result == "void" { "" } else { "return " };
        let parameters = if parameters.is_empty() {
            "void".to_owned()
        } else {
            parameters.join(", ")
        };
        let (result, name, arguments) = (&self.result, &self.name, arguments.join(", "));
        let function = format!("{result} f{index}({parameters}) {{ {returns}{name}({arguments}); }}\n");
        (function, format!("  f{index}({});\n", values.join(", ")))
    }
}

/// Builds a module with calls of all of them; if that fails, finds the ones to blame.
fn check(declarations: &[Declaration], options: Options, failures: &mut Vec<String>) {
    let (functions, calls): (String, String) = declarations
        .iter()
        .enumerate()
        .map(|(index, declaration)| declaration.caller(index))
        .unzip();
    let source = format!("{HEADER}{functions}kernel void k(global uchar *p) {{\n{calls}}}\n");
    let Err(error) = clang::compile(&source, options).and_then(|spirv| Device::new(&spirv)) else {
        return;
    };
    if let [declaration] = declarations {
        let reason = error.lines().next().unwrap_or_default();
        failures.push(format!(
            "{} {}{:?}: {reason}",
            declaration.result, declaration.name, declaration.parameters
        ));
    } else {
        let (first, second) = declarations.split_at(declarations.len() / 2);
        check(first, options, failures);
        check(second, options, failures);
    }
}

#[test]
fn every_declared_function_is_built() {
    if !clang::is_available() {
        return;
    }
    let mut by_name: BTreeMap<String, Vec<Declaration>> = BTreeMap::new();
    for declaration in declarations() {
        by_name
            .entry(declaration.name.clone())
            .or_default()
            .push(declaration);
    }
    assert!(by_name.len() > 800, "only {} functions", by_name.len());
    // Of each name the first, the last and two between: scalars and vectors, of several types.
    let sampled: Vec<Declaration> = by_name
        .into_values()
        .flat_map(|overloads| {
            let mut places = [0, 1, 2, 3]
                .map(|third| third * (overloads.len() - 1) / 3)
                .to_vec();
            places.dedup();
            places.into_iter().map(move |place| overloads[place].clone())
        })
        .collect();
    let options = Options {
        flags: "-O0 -Wno-everything",
        extensions: "+SPV_KHR_bit_instructions,+SPV_KHR_subgroup_rotate,+SPV_EXT_shader_atomic_float_add,\
                     +SPV_KHR_integer_dot_product",
        ..Options::DEFAULT
    };
    let mut failures = Vec::new();
    for some in sampled.chunks(100) {
        check(some, options, &mut failures);
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}
