//! Functions of a group as a whole: what work-groups and sub-groups have in common, and the former.

use crate::case::HEADER;
use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::{self, *};
use crate::samples::Generator;

const ITEMS: usize = 96;
/// Not a power of two, so that a last sub-group may be smaller than the others.
const GROUP: usize = 24;

/// What every kernel tells of its items' places in their sub-groups.
struct Places {
    /// The items of each group that is looked at, in the order of their places.
    groups: Vec<Vec<usize>>,
}

impl Places {
    fn of_work_groups() -> Places {
        Places {
            groups: (0..ITEMS / GROUP)
                .map(|group| (group * GROUP..(group + 1) * GROUP).collect())
                .collect(),
        }
    }

    /// From the sub-group's number and the place in it, for each item.
    fn of_sub_groups(rows: &[(u64, u64)]) -> Places {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for work_group in 0..ITEMS / GROUP {
            let items = work_group * GROUP..(work_group + 1) * GROUP;
            let count = rows[items.clone()].iter().map(|row| row.0).max().unwrap_or(0) + 1;
            for sub_group in 0..count {
                let mut members: Vec<usize> =
                    items.clone().filter(|&item| rows[item].0 == sub_group).collect();
                members.sort_by_key(|&item| rows[item].1);
                let places: Vec<u64> = members.iter().map(|&item| rows[item].1).collect();
                assert_eq!(
                    places,
                    (0..members.len() as u64).collect::<Vec<_>>(),
                    "places in a sub-group"
                );
                groups.push(members);
            }
        }
        Places { groups }
    }
}

/// From the values of a group's items (in order) to the results of each.
type Expected = Box<dyn Fn(&[f64]) -> Vec<f64>>;

pub(crate) struct Test {
    /// An expression of `a`, the item's value, of the type `T`.
    expression: String,
    result: Element,
    operand: Element,
    /// Which items take part.
    condition: &'static str,
    takes_part: fn(usize) -> bool,
    expected: Expected,
}

impl Test {
    pub(crate) fn new(
        expression: &str,
        operand: Element,
        result: Element,
        expected: impl Fn(&[f64]) -> Vec<f64> + 'static,
    ) -> Test {
        Test {
            expression: expression.to_owned(),
            result,
            operand,
            condition: "true",
            takes_part: |_| true,
            expected: Box::new(expected),
        }
    }

    /// The same with a third of the items elsewhere.
    pub(crate) fn divergent(self) -> Test {
        Test {
            condition: "i % 3 != 1",
            takes_part: |item| item % 3 != 1,
            ..self
        }
    }
}

/// Small whole numbers, so that even sums and products in `half` are exact.
fn value(element: Element, item: usize) -> f64 {
    let mut generator = Generator::new(item as u64 + 77);
    let value = generator.below(9) as f64;
    if element.is_signed() { value - 4.0 } else { value }
}

pub(crate) fn check(tests: &[Test], sub_groups: bool, ways: &[Options]) {
    if !clang::is_available() {
        return;
    }
    let mut source = HEADER.to_owned();
    for (index, test) in tests.iter().enumerate() {
        source += &format!(
            "kernel void k{index}(global {0} *out, global const {1} *in, global uint *places) {{
               int i = get_global_id(0);
               {1} a = in[i];
               if ({2}) out[i] = {3};
               {4}
             }}\n",
            test.result.name(),
            test.operand.name(),
            test.condition,
            test.expression,
            if sub_groups {
                "places[2 * i] = get_sub_group_id(); places[2 * i + 1] = get_sub_group_local_id();"
            } else {
                ""
            },
        );
    }
    let mut failures = Vec::new();
    for &options in ways {
        let spirv = clang::compile(&source, options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
        let device = Device::new(&spirv);
        for (index, test) in tests.iter().enumerate() {
            let Err(error) = device
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|device| test.run(device, index, sub_groups))
            else {
                continue;
            };
            failures.push(format!(
                "{} on {} {options:?}: {error}",
                test.expression,
                test.operand.name()
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

impl Test {
    fn run(&self, device: &Device, index: usize, sub_groups: bool) -> Result<(), String> {
        let words: Vec<u64> = (0..ITEMS)
            .map(|item| self.operand.word_of(value(self.operand, item)))
            .collect();
        let operands = [
            Operand::Buffer(vec![0; ITEMS * self.result.size()]),
            Operand::Buffer(self.operand.encode(&words, 1, 1)),
            Operand::Buffer(vec![0; ITEMS * 8]),
        ];
        let outcome = device.run(&format!("k{index}"), &[ITEMS], &[GROUP], &operands)?;
        let results = self.result.decode(&outcome.buffers[0], 1, 1);
        let places = if sub_groups {
            let rows: Vec<(u64, u64)> = Uint
                .decode(&outcome.buffers[2], 1, 1)
                .chunks(2)
                .map(|row| (row[0], row[1]))
                .collect();
            Places::of_sub_groups(&rows)
        } else {
            Places::of_work_groups()
        };
        let mut expected = vec![0; ITEMS];
        for members in places.groups {
            // Items that don't take part leave a hole: their value is marked, and what is expected of
            // them ignored.
            let values: Vec<f64> = members
                .iter()
                .map(|&item| {
                    if (self.takes_part)(item) {
                        self.operand.number(words[item])
                    } else {
                        f64::NAN
                    }
                })
                .collect();
            for (&item, value) in members.iter().zip((self.expected)(&values)) {
                expected[item] = if (self.takes_part)(item) {
                    self.result.word_of(value)
                } else {
                    0
                };
            }
        }
        let wrong = (0..ITEMS)
            .filter(|&item| self.result.distance(results[item], expected[item]) > 0)
            .collect::<Vec<_>>();
        if wrong.is_empty() {
            return Ok(());
        }
        let show = |words: &[u64]| {
            words[..GROUP]
                .iter()
                .map(|&word| self.result.number(word))
                .collect::<Vec<_>>()
        };
        Err(format!(
            "items {wrong:?}; of the first group {:?}, expected {:?}",
            show(&results),
            show(&expected)
        ))
    }
}

/// An operation with its neutral element, which is what an exclusive scan starts with.
pub(crate) struct Reduction {
    pub(crate) name: &'static str,
    combine: fn(f64, f64) -> f64,
    neutral: fn(Element) -> f64,
    integers_only: bool,
}

impl Reduction {
    pub(crate) fn suits(&self, element: Element) -> bool {
        !self.integers_only || !element.is_float()
    }

    /// What to combine: for products mostly ones, since all of a group must fit a char.
    pub(crate) fn argument(&self) -> (&'static str, fn(f64) -> f64) {
        match self.name {
            "mul" => ("a == 1 ? a + a : a - a + 1", |x| if x == 1.0 { 2.0 } else { 1.0 }),
            _ => ("a", |x| x),
        }
    }
}

fn least(element: Element) -> f64 {
    if element.is_float() {
        f64::NEG_INFINITY
    } else {
        element.least() as f64
    }
}

fn greatest(element: Element) -> f64 {
    // The greatest long rounds up as a double; the conversion back takes it for the greatest again.
    if element.is_float() {
        f64::INFINITY
    } else {
        element.greatest() as f64
    }
}

fn bitwise(x: f64, y: f64, combine: fn(i64, i64) -> i64) -> f64 {
    combine(x as i64, y as i64) as f64
}

pub(crate) static REDUCTIONS: [Reduction; 7] = [
    Reduction {
        name: "add",
        combine: |x, y| x + y,
        neutral: |_| 0.0,
        integers_only: false,
    },
    Reduction {
        name: "min",
        combine: f64::min,
        neutral: greatest,
        integers_only: false,
    },
    Reduction {
        name: "max",
        combine: f64::max,
        neutral: least,
        integers_only: false,
    },
    Reduction {
        name: "mul",
        combine: |x, y| x * y,
        neutral: |_| 1.0,
        integers_only: false,
    },
    Reduction {
        name: "and",
        combine: |x, y| bitwise(x, y, |x, y| x & y),
        neutral: all_ones,
        integers_only: true,
    },
    Reduction {
        name: "or",
        combine: |x, y| bitwise(x, y, |x, y| x | y),
        neutral: |_| 0.0,
        integers_only: true,
    },
    Reduction {
        name: "xor",
        combine: |x, y| bitwise(x, y, |x, y| x ^ y),
        neutral: |_| 0.0,
        integers_only: true,
    },
];

fn all_ones(element: Element) -> f64 {
    if element.is_signed() {
        -1.0
    } else {
        element.greatest() as f64
    }
}

/// Combines the values of the items that take part.
pub(crate) fn reduce(reduction: &Reduction, element: Element, values: &[f64]) -> f64 {
    let (_, argument) = reduction.argument();
    let taking_part = values.iter().filter(|value| !value.is_nan());
    taking_part.fold((reduction.neutral)(element), |sum, &value| {
        (reduction.combine)(sum, argument(value))
    })
}

/// Tests of a family of functions: `prefix` with reduction and both scans of each operation.
pub(crate) fn reductions(prefix: &str, count: usize, elements: &[Element]) -> Vec<Test> {
    let mut tests = Vec::new();
    for &element in elements {
        for reduction in REDUCTIONS[..count]
            .iter()
            .filter(|reduction| reduction.suits(element))
        {
            let call = |kind: &str| format!("{prefix}{kind}_{}({})", reduction.name, reduction.argument().0);
            let all = move |values: &[f64]| reduce(reduction, element, values);
            tests.push(Test::new(&call("reduce"), element, element, move |x| {
                vec![all(x); x.len()]
            }));
            tests.push(Test::new(&call("scan_inclusive"), element, element, move |x| {
                (0..x.len()).map(|at| all(&x[..=at])).collect()
            }));
            tests.push(Test::new(&call("scan_exclusive"), element, element, move |x| {
                (0..x.len()).map(|at| all(&x[..at])).collect()
            }));
        }
    }
    tests
}

pub(crate) const WIDE_TYPES: [Element; 7] = [Int, Uint, Long, Ulong, Half, Float, Double];

#[test]
fn work_group_functions() {
    let mut tests = reductions("work_group_", 3, &WIDE_TYPES);
    tests.push(Test::new("work_group_all(a > -4)", Int, Int, |x| {
        vec![f64::from(x.iter().all(|&x| x > -4.0)); x.len()]
    }));
    tests.push(Test::new("work_group_any(a == 4)", Int, Int, |x| {
        vec![f64::from(x.contains(&4.0)); x.len()]
    }));
    tests.push(Test::new("work_group_all(a < 100)", Int, Int, |x| {
        vec![1.0; x.len()]
    }));
    for element in WIDE_TYPES {
        tests.push(Test::new("work_group_broadcast(a, 5)", element, element, |x| {
            vec![x[5]; x.len()]
        }));
    }
    check(&tests, false, &Options::all());
}

#[test]
fn work_group_broadcast_in_more_dimensions() {
    if !clang::is_available() {
        return;
    }
    let source = "kernel void two(global int *out) {
        out[get_global_linear_id()] = work_group_broadcast((int)get_global_linear_id(), 1, 2);
    }
    kernel void three(global int *out) {
        out[get_global_linear_id()] = work_group_broadcast((int)get_global_linear_id(), 1, 0, 1);
    }";
    for options in Options::all() {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        let buffer = [Operand::Buffer(vec![0; 4 * 48])];
        let two = device.run("two", &[8, 6], &[4, 3], &buffer).expect("runs");
        for (item, word) in Int.decode(&two.buffers[0], 1, 1).into_iter().enumerate() {
            let (x, y) = (item % 8 / 4 * 4 + 1, item / 8 / 3 * 3 + 2);
            assert_eq!(word, (x + 8 * y) as u64, "{options:?}");
        }
        let three = device
            .run("three", &[4, 3, 4], &[2, 3, 2], &buffer)
            .expect("runs");
        for (item, word) in Int.decode(&three.buffers[0], 1, 1).into_iter().enumerate() {
            let (x, z) = (item % 4 / 2 * 2 + 1, item / 12 / 2 * 2 + 1);
            assert_eq!(word, (x + 12 * z) as u64, "{options:?}");
        }
    }
}
