//! Messages on a pipe: a line of JSON, and blocks of bytes behind it.
//!
//! ```text
//! {"blocks":[3,5],"body":{"open":{…}}}⏎
//! abcdefgh
//! ```
//!
//! Bitcode and code travel as blocks, as they are: neither is escaped, and neither goes by way of a file.

use std::io::{self, BufRead, Read, Write};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

/// The line of a message.
#[derive(Serialize, Deserialize)]
struct Line<T> {
    /// How long each block is that follows.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<u64>,
    body: T,
}

/// A message as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<T> {
    /// What the line says.
    pub body: T,
    /// What came behind it.
    pub blocks: Vec<Vec<u8>>,
}

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The pipe broke, or ended within a message.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The line is something else. The next message can be read all the same.
    #[error("{error} in `{line}`")]
    Line {
        /// The start of the line.
        line: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

/// Writes a message and flushes.
///
/// # Errors
///
/// The pipe broke, or the body has no form in JSON.
pub fn write_message<T: Serialize>(output: &mut impl Write, body: &T, blocks: &[&[u8]]) -> io::Result<()> {
    let line = Line {
        blocks: blocks.iter().map(|block| block.len() as u64).collect(),
        body,
    };
    // In one piece: the other end is woken once for it.
    // JSON without indentation has no line ends, and those in texts are escaped: the line is one.
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    output.write_all(&text)?;
    for block in blocks {
        output.write_all(block)?;
    }
    output.flush()
}

/// Reads the next message; `None` at the end of the pipe.
///
/// # Errors
///
/// See [`FrameError`].
pub fn read_message<T: DeserializeOwned>(input: &mut impl BufRead) -> Result<Option<Message<T>>, FrameError> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    match serde_json::from_slice::<Line<T>>(&line) {
        Ok(Line { blocks, body }) => Ok(Some(Message {
            body,
            blocks: read_blocks(input, &blocks)?,
        })),
        Err(error) => {
            // The blocks of a line that is not understood are no lines.
            if let Ok(line) = serde_json::from_slice::<Line<IgnoredAny>>(&line) {
                read_blocks(input, &line.blocks)?;
            }
            let text = String::from_utf8_lossy(&line);
            Err(FrameError::Line {
                line: text.trim_end().chars().take(80).collect(),
                error,
            })
        }
    }
}

fn read_blocks(input: &mut impl BufRead, lengths: &[u64]) -> io::Result<Vec<Vec<u8>>> {
    let block = |length: &u64| {
        // Grows with what is there, not with what the line says.
        let mut block = Vec::new();
        input.by_ref().take(*length).read_to_end(&mut block)?;
        match block.len() as u64 == *length {
            true => Ok(block),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    };
    lengths.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Result<Message<String>, FrameError>> {
        let mut input = bytes;
        std::iter::from_fn(|| read_message(&mut input).transpose())
            .take(9)
            .collect()
    }

    #[test]
    fn messages_come_back_as_they_were_written() {
        let mut pipe = Vec::new();
        // Line ends and whatever else in a block are just bytes.
        let blocks: [&[u8]; 3] = [b"a\n{\"body\":1}\n", b"", &[0, 255]];
        write_message(&mut pipe, &"first", &blocks).unwrap();
        write_message(&mut pipe, &"second\n", &[]).unwrap();
        let read = read(&pipe);
        let [Ok(first), Ok(second)] = read.as_slice() else {
            panic!("{read:?}")
        };
        assert_eq!(first.body, "first");
        assert_eq!(first.blocks, blocks);
        assert_eq!((second.body.as_str(), second.blocks.len()), ("second\n", 0));
    }

    #[test]
    fn a_line_that_is_not_understood_takes_its_blocks_with_it() {
        let read = read(b"{\"blocks\":[4],\"body\":{}}\n\n\n\n\nwhat?\n{\"body\":\"next\"}\n");
        let [Err(body), Err(line), Ok(next)] = read.as_slice() else {
            panic!("{read:?}")
        };
        assert!(body.to_string().contains("expected a string"), "{body}");
        assert!(line.to_string().contains("what?"), "{line}");
        assert_eq!(next.body, "next");
    }

    #[test]
    fn a_block_that_is_cut_short_is_an_error_however_long_it_claims_to_be() {
        let read = read(b"{\"blocks\":[9000000000000000000],\"body\":\"x\"}\nabc");
        let [Err(FrameError::Io(error)), ..] = read.as_slice() else {
            panic!("{read:?}")
        };
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
