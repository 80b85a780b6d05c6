//! The requests and replies, one JSON object a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::summary::ModuleSummary;

/// The version of this protocol. The two programs are built together, so they must agree exactly.
pub const PROTOCOL_VERSION: u32 = 2;

/// What can be asked of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// The first request: who is there? Answered by [`Reply::Hello`].
    Hello {
        /// The sender's [`PROTOCOL_VERSION`].
        protocol: u32,
    },
    /// Read the names, linkage and attributes of a bitcode file. Answered by [`Reply::Summary`].
    Summarize {
        /// The bitcode file.
        input: PathBuf,
    },
    /// Link bitcode files into one module. Answered by [`Reply::Done`].
    Merge {
        /// The bitcode files, in link order.
        inputs: Vec<PathBuf>,
        /// The bitcode file to write.
        output: PathBuf,
    },
    /// Mark the kernels and exported functions of a module with the source file they come from, and
    /// remove the annotations that said which functions are exported. Answered by [`Reply::Done`].
    Mark {
        /// The file with the module, bitcode or text.
        input: PathBuf,
        /// The bitcode file to write.
        output: PathBuf,
        /// The source file's name.
        module_id: String,
        /// Whether a module without such annotations is to be left as it is.
        only_annotated: bool,
    },
    /// Take parts out of a module and generate code for each. Answered by [`Reply::Done`] when
    /// all are written.
    Emit {
        /// The bitcode file.
        input: PathBuf,
        /// What to take out.
        parts: Vec<Part>,
        /// How to generate code.
        options: EmitOptions,
    },
}

/// One piece to be taken out of a module: some symbols and all that they need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The definitions that stay visible outside: kernels and exported functions.
    pub roots: Vec<String>,
    /// Definitions that must not come along although they are used: they stay declarations, to be
    /// found in another image.
    pub left_out: Vec<String>,
    /// The file to write.
    pub output: PathBuf,
}

/// How code is generated from the parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmitOptions {
    /// The target triple; for SPIR-V it also chooses the version (`spirv64v1.2-unknown-unknown`).
    pub triple: String,
    /// LLVM's optimisation level, 0 to 3. Unrolling and vectorising stay off at every level: the
    /// device that will run the code is not known yet, and each device does better on plain loops.
    pub optimization: u8,
    /// SPIR-V extensions the generator may use, by name (`SPV_KHR_expect_assume`).
    pub spirv_extensions: Vec<String>,
}

/// What the worker answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// Answers [`Request::Hello`].
    Hello {
        /// The worker's [`PROTOCOL_VERSION`].
        protocol: u32,
        /// The version of LLVM it runs, `22.1.8`.
        llvm: String,
    },
    /// Answers [`Request::Summarize`].
    Summary {
        /// What is in the module.
        module: ModuleSummary,
    },
    /// The request was carried out and there is nothing to tell.
    Done,
    /// The request could not be carried out; the worker goes on.
    Failed {
        /// Why, for people.
        message: String,
    },
}
