//! Bitcode that no installed LLVM writes any more, made bit by bit.

use super::*;

/// A writer of bits, for bitcode that no tool at hand writes.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn fixed(&mut self, value: u64, width: usize) {
        for bit in 0..width {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().unwrap();
            *last |= ((value >> bit & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }

    fn variable(&mut self, mut value: u64, width: usize) {
        let more = 1 << (width - 1);
        while value >= more {
            self.fixed((value % more) | more, width);
            value /= more;
        }
        self.fixed(value, width);
    }

    fn align(&mut self) {
        self.fixed(0, self.used.next_multiple_of(32) - self.used);
    }

    /// A block with abbreviation numbers of three bits, in a block where they have `outer`.
    fn block(&mut self, outer: usize, number: u64, content: impl FnOnce(&mut Self)) {
        self.fixed(1, outer);
        self.variable(number, 8);
        self.variable(3, 4);
        self.align();
        let start = self.bytes.len();
        self.fixed(0, 32);
        content(self);
        self.fixed(0, 3);
        self.align();
        let words = (self.bytes.len() - start - 4) / 4;
        self.bytes[start..start + 4].copy_from_slice(&(words as u32).to_le_bytes());
    }

    fn record(&mut self, number: u64, operands: &[u64]) {
        self.fixed(3, 3);
        self.variable(number, 6);
        self.variable(operands.len() as u64, 6);
        for operand in operands {
            self.variable(*operand, 6);
        }
    }

    /// A record with text behind its operands.
    fn text(&mut self, number: u64, operands: &[u64], text: &str) {
        let operands: Vec<_> = operands
            .iter()
            .copied()
            .chain(text.bytes().map(u64::from))
            .collect();
        self.record(number, &operands);
    }
}

/// A module as LLVM wrote it before version 5, with names in its symbol table, and its kernels named by
/// metadata as clang did up to version 19.
pub(crate) fn bytes() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        bits.record(1, &[1]);
        bits.text(2, &[], "nvptx64-nvidia-cuda");
        // A variable, a kernel, a function, a declaration, a function of no other module's concern.
        bits.record(7, &[1, 0, 1, 0]);
        bits.record(8, &[0, 0, 0, 0, 0]);
        bits.record(8, &[0, 0, 0, 0, 0]);
        bits.record(8, &[0, 0, 1, 0, 0]);
        bits.record(8, &[0, 0, 0, 3, 0]);
        bits.block(3, 15, |bits| {
            bits.record(2, &[0, 1]);
            bits.text(1, &[], "kernel");
            bits.record(2, &[0, 9]);
            bits.record(3, &[1, 2, 3]);
            bits.text(4, &[], "nvvm.annotations");
            bits.record(10, &[3]);
        });
        bits.block(3, 14, |bits| {
            for (value, name) in ["table", "saxpy", "thrice", "twice", "hidden"]
                .into_iter()
                .enumerate()
            {
                bits.text(1, &[value as u64], name);
            }
        });
    });
    bits.bytes
}

#[test]
fn old_bitcode_is_read() {
    let inspection = look(&bytes());
    assert_eq!(inspection.problems, []);
    assert_eq!(inspection.target.triple, "nvptx64-nvidia-cuda");
    assert_eq!(names(&inspection), ["saxpy"]);
    assert_eq!(inspection.exports, ["table", "thrice"]);
    assert_eq!(inspection.imports, ["twice"]);
}

/// An abbreviation of very many operands that take no bits, and very many uses of it.
#[test]
fn bitcode_cannot_make_many_operands_of_few_bits() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        bits.fixed(2, 3);
        bits.variable(5_000, 5);
        for _ in 0..5_000 {
            bits.fixed(1, 1);
            bits.variable(0, 8);
        }
        for _ in 0..100_000 {
            bits.fixed(4, 3);
        }
    });
    let inspection = look(&bits.bytes);
    assert_eq!(
        inspection.problems[0].kind(),
        offkit_object::ErrorKind::LimitExceeded
    );
}

#[test]
fn blocks_of_metadata_do_not_multiply_with_global_values() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        for _ in 0..50_000 {
            bits.record(8, &[0, 0, 1, 0, 0]);
        }
        for _ in 0..50_000 {
            bits.block(3, 15, |_| {});
        }
    });
    let start = std::time::Instant::now();
    assert_eq!(look(&bits.bytes).problems, []);
    assert!(start.elapsed().as_secs() < 10);
}

/// Each module defines one more abbreviation for modules, as it is open itself.
#[test]
fn modules_do_not_multiply_with_abbreviations() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    for _ in 0..60_000 {
        bits.block(2, 8, |bits| {
            bits.block(3, 0, |bits| {
                bits.record(1, &[8]);
                bits.fixed(2, 3);
                bits.variable(1, 5);
                bits.fixed(1, 1);
                bits.variable(9, 8);
            });
        });
    }
    let start = std::time::Instant::now();
    assert_eq!(look(&bits.bytes).problems, []);
    assert!(start.elapsed().as_secs() < 10);
}

/// An abbreviation counts for blocks that begin behind its definition.
#[test]
fn an_open_block_has_the_abbreviations_that_there_were_when_it_began() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    let define = |bits: &mut Bits| {
        bits.block(3, 0, |bits| {
            bits.record(1, &[8]);
            // The record of the triple, with an array of letters.
            bits.fixed(2, 3);
            bits.variable(3, 5);
            bits.fixed(1, 1);
            bits.variable(2, 8);
            bits.fixed(3 << 1, 4);
            bits.fixed(1 << 1, 4);
            bits.variable(7, 5);
        });
    };
    bits.block(2, 8, define);
    bits.block(2, 8, |bits| {
        define(bits);
        // The block's own comes behind the one of `BLOCK_INFO` that it began with.
        bits.fixed(2, 3);
        bits.variable(1, 5);
        bits.fixed(1, 1);
        bits.variable(9, 8);
        bits.fixed(5, 3);
        bits.fixed(4, 3);
        bits.variable(7, 6);
        for letter in "spirv64".bytes() {
            bits.fixed(letter.into(), 7);
        }
    });
    assert_eq!(look(&bits.bytes).problems, []);
}

#[test]
fn a_target_is_not_looked_for_behind_operands_without_number() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        // An array whose elements take no bits.
        bits.fixed(2, 3);
        bits.variable(3, 5);
        bits.fixed(1, 1);
        bits.variable(9, 8);
        bits.fixed(3 << 1, 4);
        bits.fixed(1, 1);
        bits.variable(0, 8);
        bits.fixed(4, 3);
        bits.variable(100_000, 6);
        bits.text(2, &[], "spirv64");
        bits.block(3, 99, |bits| bits.text(1, &[], &"x".repeat(10_000)));
    });
    assert_eq!(look(&bits.bytes).target.triple, "spirv64");
    assert_eq!(header_target(&bits.bytes, ImageFormat::Bitcode).triple, "");
}

#[test]
fn an_archive_has_the_weak_symbols_of_its_members() {
    let mut bits = Bits::default();
    bits.fixed(0xdec0_4342, 32);
    bits.block(2, 8, |bits| {
        bits.record(1, &[1]);
        bits.text(2, &[], "nvptx64-nvidia-cuda");
        bits.record(8, &[0, 0, 1, 7, 0]);
        bits.block(3, 14, |bits| bits.text(1, &[0], "perhaps"));
    });
    assert_eq!(look(&bits.bytes).weak_imports, ["perhaps"]);
    let archive = [b"!<arch>\n".to_vec(), member("a.bc/", &bits.bytes)].concat();
    assert_eq!(look(&archive).weak_imports, ["perhaps"]);
}
