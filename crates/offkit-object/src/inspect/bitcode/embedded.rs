//! Offload binaries in bitcode for a host: what a section of the object will hold is a constant in the module.

use offkit_image::Error;

use super::bitstream::{Bitstream, Item};
use super::{BLOCK_MODULE, MAGIC_SIZE, bytes_of, unwrapped};
use crate::offload_binary::MAGIC;
use crate::source::Source;

const BLOCK_CONSTANTS: u64 = 11;
const CONSTANT_STRING: u64 = 8;
/// The same without the zero byte at its end.
const CONSTANT_TEXT: u64 = 9;

/// The constants of a module that begin like offload binaries, in order.
///
/// `clang -flto -fembed-offload-object` leaves code for devices there.
///
/// # Errors
///
/// Bitcode that is damaged.
pub fn embedded_in_bitcode(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let (source, _) = unwrapped(Source::new(bytes))?;
    let mut stream = Bitstream::new(source, MAGIC_SIZE);
    let mut found = Vec::new();
    loop {
        match stream.next()? {
            Item::End => return Ok(found),
            Item::Block(BLOCK_MODULE) => module(&mut stream, &mut found)?,
            _ => {}
        }
    }
}

fn module(stream: &mut Bitstream<'_>, found: &mut Vec<Vec<u8>>) -> Result<(), Error> {
    stream.enter();
    loop {
        match stream.next()? {
            Item::End => return Ok(()),
            Item::Block(BLOCK_CONSTANTS) => constants(stream, found)?,
            _ => {}
        }
    }
}

fn constants(stream: &mut Bitstream<'_>, found: &mut Vec<Vec<u8>>) -> Result<(), Error> {
    stream.enter();
    loop {
        match stream.next()? {
            Item::End => return Ok(()),
            Item::Record(record @ (CONSTANT_STRING | CONSTANT_TEXT)) => {
                // Compared before it is copied: nearly all of these are texts of the program.
                let start = stream.operands.iter().copied();
                if start.take(MAGIC.len()).eq(MAGIC.map(u64::from)) {
                    let mut bytes = bytes_of(&stream.operands);
                    if record == CONSTANT_TEXT {
                        bytes.push(0);
                    }
                    found.push(bytes);
                }
            }
            _ => {}
        }
    }
}
