//! LLVM's bitstream container: nested blocks of records, packed into bits.

use std::collections::HashMap;
use std::rc::Rc;

use offkit_image::{Error, ErrorKind};

use crate::source::Source;

/// Where abbreviations for other blocks are defined.
const BLOCK_INFO: u64 = 0;

const END_BLOCK: u64 = 0;
const ENTER_BLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED_RECORD: u64 = 3;
/// Abbreviations are numbered from here.
const FIRST_ABBREVIATION: u64 = 4;

/// The width of abbreviation numbers outside of all blocks.
const OUTER_WIDTH: u32 = 2;

/// How one operand of an abbreviated record is stored.
#[derive(Debug, Clone, Copy)]
enum Encoding {
    /// Not at all: its value is part of the abbreviation.
    Literal(u64),
    Fixed(u32),
    /// In chunks of so many bits, of which the highest says whether another follows.
    Variable(u32),
    /// One of the 64 characters of C's names, in six bits.
    Character,
}

/// What follows the operands of an abbreviation that are there once.
#[derive(Debug, Clone, Copy)]
enum Tail {
    None,
    Array(Encoding),
    Blob,
}

#[derive(Debug)]
struct Abbreviation {
    operands: Vec<Encoding>,
    tail: Tail,
}

type Abbreviations = Vec<Rc<Abbreviation>>;

/// What comes next in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// A block of this number. Unless it is entered, reading goes on behind it.
    Block(u64),
    /// A record of this number; its operands are in [`Bitstream::operands`].
    Record(u64),
    /// The end of the block, or outside of blocks that of the stream.
    End,
}

/// A block that was entered.
struct Scope {
    width: u32,
    /// Which of the lists of `BLOCK_INFO` is that for it.
    list: usize,
    /// How many the list had when the block was entered; those behind count for later blocks.
    inherited: usize,
    own: Abbreviations,
    /// The bit behind the block.
    end: u64,
}

/// A reader of a bitstream.
pub(super) struct Bitstream<'data> {
    source: Source<'data>,
    /// The next bit.
    at: u64,
    end: u64,
    scopes: Vec<Scope>,
    /// Which list is that for a block.
    info: HashMap<u64, usize>,
    /// What `BLOCK_INFO` defined. No list becomes shorter.
    lists: Vec<Abbreviations>,
    /// The block that [`next`](Self::next) came to and that may be entered: its number, width and end.
    ahead: Option<(u64, u32, u64)>,
    /// The operands of the last record.
    pub(super) operands: Vec<u64>,
    /// The blob of the last record.
    pub(super) blob: Source<'data>,
    /// How many more operands are read. Abbreviations can make many of few bits.
    allowance: u64,
    /// How many more fields are read.
    fields_left: u64,
}

impl<'data> Bitstream<'data> {
    /// Reads from the first bit after the magic number.
    pub(super) fn new(source: Source<'data>, magic: u64) -> Self {
        // An array of literals takes no bits for its elements: by the bits alone there is no bound.
        const OPERANDS_A_BYTE: u64 = 16;
        Self {
            source,
            at: magic.saturating_mul(8),
            end: source.len().saturating_mul(8),
            scopes: Vec::new(),
            info: HashMap::new(),
            lists: Vec::new(),
            ahead: None,
            operands: Vec::new(),
            blob: source.from(u64::MAX),
            allowance: source.len().saturating_mul(OPERANDS_A_BYTE),
            fields_left: u64::MAX,
        }
    }

    /// The same, for no more work than the beginning of a module needs: very many images may share the same bytes.
    pub(super) fn for_beginning(self) -> Self {
        const FIELDS: u64 = 1 << 14;
        Self {
            fields_left: FIELDS,
            // Elements of an array of literals are no fields.
            allowance: self.allowance.min(FIELDS),
            ..self
        }
    }

    /// The offset of the byte that is being read.
    fn offset(&self) -> u64 {
        self.source.at(self.at >> 3)
    }

    fn cut_off(&self) -> Error {
        Error::new(ErrorKind::OutOfBounds, "bitcode is cut off")
            .at(self.offset())
            .expecting(format!(
                "to end at or before {:#x}",
                self.source.at(self.source.len())
            ))
    }

    fn malformed(&self, message: &'static str) -> Error {
        Error::malformed(message).at(self.offset())
    }

    /// Up to 64 bits, lowest first.
    fn bits(&mut self, count: u32) -> Result<u64, Error> {
        let after = self.at.saturating_add(count.into());
        let left = self.fields_left.checked_sub(1);
        self.fields_left = left.unwrap_or_default();
        // By the end of the block: what is behind it must not be read as a part of it.
        if after > self.limit() || left.is_none() {
            return Err(self.cut_off());
        }
        let bytes = self.source.from(self.at >> 3).bytes();
        let skipped = u32::try_from(self.at & 7).unwrap_or_default();
        // Nearly all fields: one load, far from the end.
        if let Some(word) = bytes.first_chunk()
            && skipped.saturating_add(count) < u64::BITS
        {
            let mask = 1_u64.checked_shl(count).unwrap_or_default().wrapping_sub(1);
            self.at = after;
            return Ok((u64::from_le_bytes(*word) >> skipped) & mask);
        }
        // Up to 7 bits that are passed over and 64 that are wanted: nine bytes, or as many as are left.
        let mut window = [0; 16];
        for (to, from) in window.iter_mut().zip(bytes) {
            *to = *from;
        }
        let mask = u128::MAX
            .checked_shr(128_u32.saturating_sub(count))
            .unwrap_or_default();
        let value = (u128::from_le_bytes(window) >> skipped) & mask;
        self.at = after;
        Ok(u64::try_from(value).unwrap_or_default())
    }

    /// The bit behind all that may be read: the end of the block, or of the stream.
    fn limit(&self) -> u64 {
        self.scopes.last().map_or(self.end, |scope| scope.end)
    }

    /// The next bits and how many they are, of one load for several fields; none near the end.
    fn window(&self) -> (u64, u32) {
        const LEAST: u32 = u64::BITS - 7;
        let word = u64::from(u64::BITS);
        // No field of a window is checked by itself: all its bits are within the block, and each field takes one at
        // least.
        if self.at.saturating_add(word) > self.limit() || self.fields_left < word {
            return (0, 0);
        }
        let skipped = u32::try_from(self.at & 7).unwrap_or_default();
        match self.source.from(self.at >> 3).bytes().first_chunk() {
            Some(bytes) => (u64::from_le_bytes(*bytes) >> skipped, LEAST),
            None => (0, 0),
        }
    }

    /// Goes on behind a field that was read from a window.
    fn pass(&mut self, width: u32) {
        self.at = self.at.saturating_add(width.into());
        self.fields_left = self.fields_left.saturating_sub(1);
    }

    /// A number in chunks of `width` bits.
    pub(super) fn variable(&mut self, width: u32) -> Result<u64, Error> {
        let payload = width.saturating_sub(1);
        let more = 1_u64.checked_shl(payload).unwrap_or_default();
        let part = more.wrapping_sub(1);
        let (mut window, mut left) = self.window();
        let mut value = 0_u64;
        let mut shift = 0_u32;
        loop {
            let chunk = match left.checked_sub(width) {
                Some(rest) => {
                    let chunk = window & (more | part);
                    window = window.checked_shr(width).unwrap_or_default();
                    left = rest;
                    self.pass(width);
                    chunk
                }
                None => self.bits(width)?,
            };
            // What does not fit into 64 bits is of no meaning here.
            value |= (chunk & part).checked_shl(shift).unwrap_or_default();
            if chunk & more == 0 {
                return Ok(value);
            }
            shift = shift.saturating_add(payload);
        }
    }

    /// Reads so many operands in chunks of six bits. Nearly all of a module are stored so, and most in one chunk: one
    /// load has several of those.
    fn plain_operands(&mut self, count: u64) -> Result<(), Error> {
        const WIDTH: u32 = 6;
        const MORE: u64 = 1 << (WIDTH - 1);
        let mut missing = count;
        while missing > 0 {
            let (mut window, mut left) = self.window();
            while missing > 0 && left >= WIDTH && window & MORE == 0 {
                self.operands.push(window & (MORE - 1));
                window >>= WIDTH;
                left = left.saturating_sub(WIDTH);
                self.pass(WIDTH);
                missing = missing.saturating_sub(1);
            }
            if missing > 0 {
                let operand = self.variable(WIDTH)?;
                self.operands.push(operand);
                missing = missing.saturating_sub(1);
            }
        }
        Ok(())
    }

    fn align(&mut self) {
        self.at = self.at.saturating_add(31) & !31;
    }

    fn width(&self) -> u32 {
        self.scopes.last().map_or(OUTER_WIDTH, |scope| scope.width)
    }

    /// The next block or record. A block that is not entered is left out.
    pub(super) fn next(&mut self) -> Result<Item, Error> {
        if let Some((_, _, end)) = self.ahead.take() {
            self.at = end;
        }
        loop {
            // Files are padded to whole words, with zeros, which mean nothing outside of blocks.
            if self.scopes.is_empty() && self.end.saturating_sub(self.at) < 32 {
                return Ok(Item::End);
            }
            match self.bits(self.width())? {
                END_BLOCK => {
                    let Some(scope) = self.scopes.pop() else {
                        return Err(self.malformed("bitcode has an end without a block"));
                    };
                    // Where the length says, as when the block is passed over.
                    self.at = scope.end;
                    return Ok(Item::End);
                }
                ENTER_BLOCK => {
                    let block = self.enter_block()?;
                    if block != BLOCK_INFO {
                        return Ok(Item::Block(block));
                    }
                    self.enter();
                    self.read_block_info()?;
                }
                DEFINE_ABBREVIATION => {
                    let abbreviation = Rc::new(self.abbreviation()?);
                    match self.scopes.last_mut() {
                        Some(scope) => scope.own.push(abbreviation),
                        None => return Err(self.malformed("bitcode defines an abbreviation for no block")),
                    }
                }
                UNABBREVIATED_RECORD => return self.unabbreviated().map(Item::Record),
                number => return self.abbreviated(number).map(Item::Record),
            }
        }
    }

    /// Enters the block that [`next`](Self::next) came to.
    pub(super) fn enter(&mut self) {
        if let Some((block, width, end)) = self.ahead.take() {
            let list = self.info.get(&block).copied().unwrap_or(self.lists.len());
            self.scopes.push(Scope {
                width,
                list,
                inherited: self.lists.get(list).map_or(0, Vec::len),
                own: Vec::new(),
                end,
            });
        }
    }

    /// Leaves blocks until only `depth` are open, and goes on behind them.
    pub(super) fn leave(&mut self, depth: usize) {
        if let Some((_, _, end)) = self.ahead.take() {
            self.at = end;
        }
        while self.scopes.len() > depth {
            if let Some(scope) = self.scopes.pop() {
                self.at = scope.end;
            }
        }
    }

    /// How many blocks are open.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    fn enter_block(&mut self) -> Result<u64, Error> {
        let block = self.variable(8)?;
        let width = self.variable(4)?;
        self.align();
        let words = self.bits(32)?;
        let end = self.at.saturating_add(words.saturating_mul(32));
        let most = self.limit();
        if end > most {
            return Err(self
                .malformed("bitcode block is cut off")
                .field("length")
                .expecting(format!("to end at or before {:#x}", self.source.at(most >> 3)))
                .finding(format_args!("an end at {:#x}", self.source.at(end >> 3))));
        }
        let width = u32::try_from(width).unwrap_or(u32::MAX);
        // The four numbers that are no abbreviations take two bits.
        if !(2..=32).contains(&width) {
            return Err(self
                .malformed("bitcode block has an impossible width of abbreviations")
                .expecting("2 to 32")
                .finding(width));
        }
        self.ahead = Some((block, width, end));
        Ok(block)
    }

    /// Reads the definitions for other blocks, having entered theirs.
    fn read_block_info(&mut self) -> Result<(), Error> {
        const SET_BLOCK: u64 = 1;
        let depth = self.scopes.len();
        let mut block = None;
        while self.scopes.len() >= depth {
            match self.bits(self.width())? {
                END_BLOCK => self.leave(depth.saturating_sub(1)),
                ENTER_BLOCK => {
                    self.enter_block()?;
                    let skipped = self.ahead.take();
                    self.at = skipped.map_or(self.at, |(_, _, end)| end);
                }
                DEFINE_ABBREVIATION => {
                    let abbreviation = Rc::new(self.abbreviation()?);
                    let block = block
                        .ok_or_else(|| self.malformed("bitcode defines an abbreviation for no block"))?;
                    let list = *self.info.entry(block).or_insert(self.lists.len());
                    match self.lists.get_mut(list) {
                        Some(list) => list.push(abbreviation),
                        None => self.lists.push(vec![abbreviation]),
                    }
                }
                number => {
                    let record = match number {
                        UNABBREVIATED_RECORD => self.unabbreviated()?,
                        number => self.abbreviated(number)?,
                    };
                    if record == SET_BLOCK {
                        block = self.operands.first().copied();
                    }
                }
            }
        }
        Ok(())
    }

    fn abbreviation(&mut self) -> Result<Abbreviation, Error> {
        let count = self.variable(5)?;
        let mut operands = Vec::new();
        let mut left = count;
        while left > 0 {
            left = left.saturating_sub(1);
            let tail = match self.encoding()? {
                Ok(encoding) => {
                    operands.push(encoding);
                    continue;
                }
                // The encoding of the elements counts as an operand of its own, and must be the last one.
                Err(Tail::Array(_)) if left == 1 => {
                    let element = self.encoding()?;
                    Tail::Array(element.map_err(|_| self.malformed("bitcode has an array of arrays"))?)
                }
                Err(Tail::Blob) if left == 0 => Tail::Blob,
                Err(_) => return Err(self.malformed("bitcode abbreviation goes on behind its end")),
            };
            return Ok(Abbreviation { operands, tail });
        }
        if operands.is_empty() {
            return Err(self.malformed("bitcode abbreviation is empty"));
        }
        Ok(Abbreviation {
            operands,
            tail: Tail::None,
        })
    }

    /// The encoding of an operand, or what kind of tail is to follow.
    fn encoding(&mut self) -> Result<Result<Encoding, Tail>, Error> {
        if self.bits(1)? == 1 {
            return self.variable(8).map(|value| Ok(Encoding::Literal(value)));
        }
        Ok(match self.bits(3)? {
            kind @ (1 | 2) => {
                let width = self.variable(5)?;
                let width = u32::try_from(width).unwrap_or(u32::MAX);
                match (kind, width) {
                    // Nothing is stored, and the value is zero.
                    (_, 0) => Ok(Encoding::Literal(0)),
                    (1, 1..=64) => Ok(Encoding::Fixed(width)),
                    (2, 2..=32) => Ok(Encoding::Variable(width)),
                    _ => {
                        return Err(self
                            .malformed("bitcode operand has an impossible width")
                            .finding(width));
                    }
                }
            }
            3 => Err(Tail::Array(Encoding::Literal(0))),
            4 => Ok(Encoding::Character),
            5 => Err(Tail::Blob),
            other => {
                return Err(self
                    .malformed("bitcode operand has an unknown encoding")
                    .finding(other));
            }
        })
    }

    /// Allows for the operands of a record, of which each takes eight bytes.
    fn allow(&mut self, operands: u64) -> Result<(), Error> {
        const MOST_OF_A_RECORD: u64 = 1 << 24;
        // One record is in memory at a time, so that its own bound is that of the memory; the
        // allowance bounds the work for all of them.
        match self.allowance.checked_sub(operands) {
            Some(left) if operands <= MOST_OF_A_RECORD => {
                self.allowance = left;
                Ok(())
            }
            _ => Err(Error::new(ErrorKind::LimitExceeded, "bitcode has too many operands").at(self.offset())),
        }
    }

    fn unabbreviated(&mut self) -> Result<u64, Error> {
        let record = self.variable(6)?;
        let count = self.variable(6)?;
        self.operands.clear();
        self.blob = self.source.from(u64::MAX);
        self.allow(count)?;
        self.plain_operands(count)?;
        Ok(record)
    }

    fn abbreviated(&mut self, number: u64) -> Result<u64, Error> {
        let index = usize::try_from(number.saturating_sub(FIRST_ABBREVIATION)).unwrap_or(usize::MAX);
        // Those of `BLOCK_INFO` are numbered before the block's own.
        let abbreviation = self
            .scopes
            .last()
            .and_then(|scope| match index.checked_sub(scope.inherited) {
                Some(own) => scope.own.get(own),
                None => self.lists.get(scope.list)?.get(index),
            });
        let Some(abbreviation) = abbreviation.map(Rc::clone) else {
            return Err(self
                .malformed("bitcode uses an unknown abbreviation")
                .finding(number));
        };
        self.operands.clear();
        self.blob = self.source.from(u64::MAX);
        self.allow(abbreviation.operands.len() as u64)?;
        for encoding in &abbreviation.operands {
            let operand = self.operand(*encoding)?;
            self.operands.push(operand);
        }
        match abbreviation.tail {
            Tail::None => {}
            Tail::Array(element) => {
                let count = self.variable(6)?;
                self.allow(count)?;
                for _ in 0..count {
                    let operand = self.operand(element)?;
                    self.operands.push(operand);
                }
            }
            Tail::Blob => {
                let size = self.variable(6)?;
                self.align();
                let end = self.at.saturating_add(size.saturating_mul(8));
                let blob = self.source.get(self.at >> 3, size);
                self.blob = blob
                    .filter(|_| end <= self.limit())
                    .ok_or_else(|| self.cut_off())?;
                self.at = end;
                self.align();
            }
        }
        if self.operands.is_empty() {
            return Err(self.malformed("bitcode record has no number"));
        }
        // The number of an abbreviated record is stored as its first operand.
        Ok(self.operands.remove(0))
    }

    fn operand(&mut self, encoding: Encoding) -> Result<u64, Error> {
        const CHARACTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
        match encoding {
            Encoding::Literal(value) => Ok(value),
            Encoding::Fixed(width) => self.bits(width),
            Encoding::Variable(width) => self.variable(width),
            Encoding::Character => {
                let index = usize::try_from(self.bits(6)?).unwrap_or_default();
                Ok(CHARACTERS.get(index).copied().unwrap_or_default().into())
            }
        }
    }
}
