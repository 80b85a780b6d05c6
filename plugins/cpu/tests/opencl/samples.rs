//! Operands to test with: the corners of each type first, then numbers drawn deterministically.

use crate::element::Element;

/// The number of operands of every elementwise test: a multiple of all vector widths.
pub(crate) const COUNT: usize = 96;

/// A generator of numbers that look random and are the same each time.
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }
}

fn corners(element: Element) -> Vec<u64> {
    if element.is_float() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            3.0,
            0.75,
            100.0,
            -7.25,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let mut words: Vec<u64> = numbers.map(|number| element.word_of(number)).to_vec();
        let largest = element.infinity() - 1;
        words.extend([1, largest, largest ^ 1 << (element.bits() - 1)]);
        return words;
    }
    let (least, greatest) = (element.least(), element.greatest());
    [
        0,
        1,
        2,
        3,
        least,
        least + 1,
        greatest,
        greatest - 1,
        greatest / 2,
        -1,
        7,
        8,
        31,
        0x55,
    ]
    .map(|value| element.word_of_integer(value))
    .to_vec()
}

/// Operands `operand` of a function whose operands have these types: every pair of corners comes up
/// among the first, as far as there is room.
pub(crate) fn operands(elements: &[Element], seed: u64) -> Vec<Vec<u64>> {
    let mut generator = Generator::new(seed);
    elements
        .iter()
        .enumerate()
        .map(|(operand, &element)| {
            let corners = corners(element);
            (0..COUNT)
                .map(|index| match index {
                    _ if operand == 0 && index < 2 * corners.len() => corners[index % corners.len()],
                    _ if operand > 0 && index % 3 != 2 => {
                        corners[generator.below(corners.len() as u64) as usize]
                    }
                    _ if element.is_float() => moderate(element, &mut generator),
                    _ => element
                        .word_of_integer((generator.next() >> generator.below(element.bits().into())).into()),
                })
                .collect()
        })
        .collect()
}

/// A float of ordinary magnitude.
fn moderate(element: Element, generator: &mut Generator) -> u64 {
    let fraction = generator.next() as i64 as f64 / 2f64.powi(63);
    element.word_of(fraction * 2f64.powi(generator.below(12) as i32 - 3))
}
