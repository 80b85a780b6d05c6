//! What is told by lists in the metadata: `nvvm.annotations` names the kernels of NVPTX before LLVM 20, which have no
//! calling convention of their own; `llvm.module.flags` has the version of code objects of AMDGPU.

use std::collections::{HashMap, HashSet};

use offkit_image::Error;

use super::bitstream::{Bitstream, Item};

const KERNEL_LIST: &[u8] = b"nvvm.annotations";
const FLAG_LIST: &[u8] = b"llvm.module.flags";

/// The strings that are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Kernel,
    CodeObjectVersion,
}

impl Key {
    fn of(text: &[u8]) -> Option<Self> {
        match text {
            b"kernel" => Some(Self::Kernel),
            // As LLVM has called it from 18 on, and before.
            b"amdhsa_code_object_version" | b"amdgpu_code_object_version" => Some(Self::CodeObjectVersion),
            _ => None,
        }
    }
}

const OLD_STRING: u64 = 1;
const VALUE: u64 = 2;
const NODE: u64 = 3;
const NAME: u64 = 4;
const KIND: u64 = 6;
const NAMED_NODE: u64 = 10;
const ATTACHMENT: u64 = 11;
const STRINGS: u64 = 35;
const GLOBAL_ATTACHMENT: u64 = 36;
const INDEX_OFFSET: u64 = 38;
const INDEX: u64 = 39;

/// What is kept of a module's metadata.
#[derive(Default)]
pub(super) struct Annotations {
    /// The number of the next piece of metadata.
    next: u64,
    /// The strings that are keys.
    keys: HashMap<u64, Key>,
    /// The global value that a piece of metadata stands for.
    values: HashMap<u64, u64>,
    /// Small nodes; each element is one more than a number, 0 for none.
    nodes: HashMap<u64, Vec<u64>>,
    kernel_list: Vec<u64>,
    flag_list: Vec<u64>,
}

impl Annotations {
    /// Reads the block of metadata that was entered.
    pub(super) fn read(&mut self, stream: &mut Bitstream<'_>) -> Result<(), Error> {
        // A function, and pairs of key and value.
        const LARGEST_NODE: usize = 33;
        let mut name = Vec::new();
        loop {
            let record = match stream.next()? {
                Item::End => return Ok(()),
                Item::Block(_) => continue,
                Item::Record(record) => record,
            };
            let operands = stream.operands.as_slice();
            match record {
                NAME => name = super::bytes_of(operands),
                NAMED_NODE => match &*std::mem::take(&mut name) {
                    KERNEL_LIST => self.kernel_list.extend(operands),
                    FLAG_LIST => self.flag_list.extend(operands),
                    _ => {}
                },
                KIND | ATTACHMENT | GLOBAL_ATTACHMENT | INDEX_OFFSET | INDEX => {}
                STRINGS => self.strings(operands, stream)?,
                // Whatever else there is takes a number, known here or not.
                _ => {
                    match (record, operands) {
                        (OLD_STRING, text) => {
                            if let Some(key) = Key::of(&super::bytes_of(text)) {
                                self.keys.insert(self.next, key);
                            }
                        }
                        (VALUE, [_, value]) => {
                            self.values.insert(self.next, *value);
                        }
                        // Others can be in neither list, and would only take memory.
                        (NODE, node) if (3..=LARGEST_NODE).contains(&node.len()) => {
                            self.nodes.insert(self.next, node.to_vec());
                        }
                        _ => {}
                    }
                    self.next = self.next.saturating_add(1);
                }
            }
        }
    }

    /// Strings in one record: their number, where their letters begin in the blob, and at the start of the blob
    /// their lengths.
    fn strings(&mut self, operands: &[u64], stream: &Bitstream<'_>) -> Result<(), Error> {
        let [count, start, ..] = *operands else {
            return Ok(());
        };
        let mut letters = stream.blob.from(start);
        let mut lengths = Bitstream::new(stream.blob, 0);
        for number in 0..count {
            let length = lengths.variable(6)?;
            if let Some(key) = letters.get(0, length).and_then(|text| Key::of(text.bytes())) {
                self.keys.insert(self.next.saturating_add(number), key);
            }
            letters = letters.from(length);
        }
        self.next = self.next.saturating_add(count);
        Ok(())
    }

    /// The numbers of the global values that are kernels.
    pub(super) fn kernels(&self) -> HashSet<u64> {
        let nodes = self.kernel_list.iter().filter_map(|node| self.nodes.get(node));
        let kernels = nodes.filter_map(|node| {
            let (function, pairs) = node.split_first()?;
            // The value is not asked: the key is written for kernels only, and always with 1.
            let is_kernel = pairs.chunks(2).any(|pair| {
                pair.first()
                    .and_then(|key| key.checked_sub(1))
                    .is_some_and(|key| self.keys.get(&key) == Some(&Key::Kernel))
            });
            let value = self.values.get(&function.checked_sub(1)?)?;
            is_kernel.then_some(*value)
        });
        kernels.collect()
    }

    /// The number of the value that is the version of code objects.
    pub(super) fn code_object_version(&self) -> Option<u64> {
        let flags = self.flag_list.iter().filter_map(|node| self.nodes.get(node));
        let mut flags = flags.filter_map(|node| match node.as_slice() {
            // How to merge, the key, the value, each one more than a number.
            [_, key, value] => Some((key.checked_sub(1)?, value.checked_sub(1)?)),
            _ => None,
        });
        flags.find_map(|(key, value)| {
            (self.keys.get(&key) == Some(&Key::CodeObjectVersion))
                .then(|| self.values.get(&value).copied())?
        })
    }
}
