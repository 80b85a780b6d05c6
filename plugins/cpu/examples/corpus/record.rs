//! What is known of kernels, and the file that keeps it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What became of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The digest of its module.
    pub(crate) module: String,
    pub(crate) kernel: String,
    pub(crate) code: Code,
    /// Why it has no vector code.
    pub(crate) why: String,
    /// How long that took.
    pub(crate) milliseconds: u64,
    /// Of kernels of the sample.
    pub(crate) run: Option<Run>,
}

impl Record {
    /// The run, if it shows a fault.
    pub(crate) fn fault(&self) -> Option<&Run> {
        let is_fault = |run: &&Run| matches!(run.verdict, Verdict::Wrong | Verdict::Crashed);
        self.run.as_ref().filter(is_fault)
    }
}

/// How a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Code {
    /// As vector code.
    Vector,
    /// As scalar code.
    Scalar,
    /// It is interpreted.
    None,
}

/// What came of running a kernel compiled and interpreted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) verdict: Verdict,
    /// More about it.
    pub(crate) what: String,
    /// Whether the kernel wrote anything.
    pub(crate) wrote: bool,
    /// Which of the inputs it was that it ran with, from the most telling on.
    pub(crate) draw: u64,
}

/// What came of running a kernel compiled and interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The same bytes in all buffers.
    Equal,
    /// The same where products and sums are not made one operation, as OpenCL allows.
    Contracted,
    /// Floating-point numbers that differ by less than their functions may err.
    Rounded,
    /// Floating-point numbers that differ by more, as the interpreter's do if its functions err in the last places.
    Magnified,
    /// Work-items meet in memory without order, or read what nobody wrote: the interpreter has other results when it does otherwise what the standard leaves open.
    Unordered,
    /// The interpreter ran none of the inputs to the end.
    Unfinished,
    /// It isn't compiled.
    Interpreted,
    /// Other results.
    Wrong,
    /// The process that compiled it or ran it crashed or did not end.
    Crashed,
}

/// What results depend on beside the module: a file with those of another tool, compiler, seed or processor is of no
/// use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) tool: String,
    pub(crate) compiler: String,
    pub(crate) seed: u64,
    /// What is said of the code: the processor, and whether libmvec is called.
    pub(crate) variables: [String; 2],
}

/// Opens the file of results for more of them, with those that it has.
pub(crate) fn open(path: &Path, identity: &Identity) -> io::Result<(File, Vec<Record>)> {
    let mut records = Vec::new();
    if let Ok(file) = File::open(path) {
        let mut lines = BufReader::new(file).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        if serde_json::from_str::<Identity>(&first).is_ok_and(|found| found == *identity) {
            for line in lines {
                // The last may have been cut off.
                records.extend(serde_json::from_str::<Record>(&line?).ok());
            }
            // After what was cut off comes a new line.
            let mut file = OpenOptions::new().append(true).open(path)?;
            writeln!(file)?;
            return Ok((file, records));
        }
    }
    let mut file = File::create(path)?;
    writeln!(file, "{}", serde_json::to_string(identity)?)?;
    Ok((file, records))
}
