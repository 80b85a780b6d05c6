//! The names by which entry points are grouped when a module is split by source.
//!
//! They are those of `sycl-post-link` of intel/llvm, part for part: images are numbered by them, so that a
//! name that differed would give an image another number.

use std::collections::BTreeSet;

use offkit_llvm::{FunctionSummary, Metadata};

use crate::symbols::{INDIRECTLY_CALLABLE, MODULE_ID, REGISTER_ATTRIBUTES};

/// The parts behind the source file: attributes first.
const ATTRIBUTES: [&str; 3] = [
    INDIRECTLY_CALLABLE,
    REGISTER_ATTRIBUTES[0],
    REGISTER_ATTRIBUTES[1],
];

/// Metadata that is a list of numbers.
const NUMBERS: [&str; 3] = [
    "reqd_work_group_size",
    "work_group_num_dim",
    "intel_reqd_sub_group_size",
];

/// The attribute that names the level of optimisation of a source file.
const OPTIMIZATION: &str = "sycl-optlevel";

/// Metadata that is a list of texts.
const TEXTS: [&str; 2] = ["sycl_joint_matrix", "sycl_joint_matrix_mad"];

/// The name of a function's group: its source file, from its own mark or else `source`, and all that a device
/// must support to run it. `found` are aspects that the front end does not say, but the instructions do.
pub(super) fn of_function(function: &FunctionSummary, source: Option<&str>, found: &BTreeSet<u32>) -> String {
    let attribute = |name: &str| function.attributes.get(name);
    let operands = |name: &str| function.metadata.get(name).map_or(&[][..], Vec::as_slice);
    let mark = attribute(MODULE_ID).map(String::as_str);
    let mut name = mark.or(source).unwrap_or_default().to_owned();
    name.push('-');
    for part in ATTRIBUTES {
        name.push_str(attribute(part).map_or("", String::as_str));
        name.push('-');
    }
    let mut aspects: Vec<u64> = operands("sycl_used_aspects")
        .iter()
        .filter_map(aspect)
        .map(unsigned)
        .chain(found.iter().copied().map(u64::from))
        .collect();
    // The front end lists them in the order in which it met them, and the same ones have to make the same group.
    aspects.sort_unstable();
    list(&mut name, aspects.iter());
    for part in NUMBERS {
        list(
            &mut name,
            operands(part).iter().filter_map(Metadata::integer).map(unsigned),
        );
    }
    name.push_str(attribute(OPTIMIZATION).map_or("", String::as_str));
    name.push('-');
    for part in TEXTS {
        list(&mut name, operands(part).iter().filter_map(Metadata::text));
    }
    name
}

/// The name of the group of an exported variable: that of a function of the same file without requirements.
pub(super) fn of_variable(source: Option<&str>) -> String {
    of_function(&FunctionSummary::default(), source, &BTreeSet::new())
}

/// The number of a device aspect, which may come with its name.
pub(super) fn aspect(operand: &Metadata) -> Option<i64> {
    match operand {
        Metadata::Node(pair) => pair.get(1)?.integer(),
        other => other.integer(),
    }
}

/// A number as its 32 bits have it: negative ones are those of aspects that only the compiler knows.
fn unsigned(number: i64) -> u64 {
    match u64::try_from(number) {
        Ok(number) => number,
        Err(_) => u64::from(number as u32),
    }
}

// An empty list leaves its hyphen behind, so that no value ever stands where one of another part would.
fn list(name: &mut String, values: impl Iterator<Item = impl ToString>) {
    for value in values {
        name.push('-');
        name.push_str(&value.to_string());
    }
    name.push('-');
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn all_parts_have_their_places() {
        let attributes = [
            (MODULE_ID, "a.cpp"),
            (INDIRECTLY_CALLABLE, "set"),
            ("sycl-grf-size", "256"),
            (OPTIMIZATION, "2"),
        ];
        let named_aspect = Metadata::Node(vec![Metadata::Text("fp64".into()), Metadata::Integer(6)]);
        let numbers = |numbers: &[i64]| numbers.iter().copied().map(Metadata::Integer).collect::<Vec<_>>();
        let metadata = [
            ("sycl_used_aspects", vec![Metadata::Integer(28), named_aspect]),
            ("reqd_work_group_size", numbers(&[64, 2])),
            ("work_group_num_dim", numbers(&[2])),
            ("intel_reqd_sub_group_size", numbers(&[16])),
            ("sycl_joint_matrix", vec![Metadata::Text("m".into())]),
        ];
        let function = FunctionSummary {
            attributes: (attributes.iter())
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            metadata: (metadata.into_iter())
                .map(|(name, operands)| (name.to_owned(), operands))
                .collect::<BTreeMap<_, _>>(),
            ..FunctionSummary::default()
        };
        assert_eq!(
            of_function(&function, None, &BTreeSet::new()),
            "a.cpp-set--256--6-28--64-2--2--16-2--m--"
        );
        assert_eq!(of_variable(Some("b.cl")), "b.cl-----------");
    }
}
