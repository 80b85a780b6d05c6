//! The requests and replies, one JSON object a line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::summary::{Metadata, ModuleSummary};

/// The version of this protocol. The two programs are built together, so they must agree exactly.
pub const PROTOCOL_VERSION: u32 = 3;

/// What can be asked of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// The first request: who is there? Answered by [`Reply::Hello`].
    Hello {
        /// The sender's [`PROTOCOL_VERSION`].
        protocol: u32,
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
    /// Link modules into one that the worker keeps for the requests that follow. Answered by
    /// [`Reply::Linked`].
    Link {
        /// The modules, in link order.
        inputs: Vec<ModuleFile>,
        /// Modules of which only what is needed comes along.
        libraries: Vec<ModuleFile>,
    },
    /// Write the kept module as bitcode. Answered by [`Reply::Done`].
    Save {
        /// The file to write.
        output: PathBuf,
    },
    /// The kept module in LLVM's text form. Answered by [`Reply::Text`].
    Print,
    /// Take parts out of the kept module and generate code for each, each in a process of its own, as many
    /// at a time as there are cores. Answered by [`Reply::Generated`], or by [`Reply::Crashed`].
    Generate {
        /// What to take out.
        parts: Vec<Part>,
        /// How to generate code.
        options: EmitOptions,
        /// The folder for the bitcode of a part whose process crashes.
        reproducers: PathBuf,
        /// The folder for the bitcode of every part before and after optimisation, if it is wanted.
        keep: Option<PathBuf>,
    },
    /// Who needs these symbols in the kept module? Answered by [`Reply::Needs`].
    Needs {
        /// The symbols.
        symbols: Vec<String>,
    },
    /// Read a module as a whole, bitcode or text, make it fit for splitting, write it as bitcode, and
    /// describe it with bodies. Answered by [`Reply::Summary`].
    ///
    /// What is made fit: `llvm.used`, which would bring every kernel into every part, goes, and so do
    /// device globals from `llvm.compiler.used` and the named metadata that lists kernels. The summary
    /// still tells of them, and [`Request::Split`] writes for each part what is left of the lists.
    Prepare {
        /// The module.
        input: PathBuf,
        /// The bitcode file to write.
        output: PathBuf,
    },
    /// Take parts out of a prepared module and write each. Answered by [`Reply::Parts`].
    Split {
        /// The bitcode file, as [`Request::Prepare`] wrote it.
        input: PathBuf,
        /// What to take out.
        parts: Vec<SplitPart>,
        /// How to write the parts.
        options: SplitOptions,
    },
}

/// A bitcode file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleFile {
    /// The file.
    pub path: PathBuf,
    /// What messages call it.
    pub name: String,
}

/// One part of a module that is split: which definitions it has, and which of them are seen outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPart {
    /// The named definitions of the part. What has no name comes along where it is used.
    pub contents: Vec<String>,
    /// Those among them that keep their linkage; the others become internal.
    pub visible: Vec<String>,
    /// The functions among them that get the attribute `sycl-entry-point`.
    pub entry_points: Vec<String>,
    /// Virtual functions that become external, so that they are kept without being used.
    pub externalized: Vec<String>,
    /// Definitions that the part uses and does not have: they become declarations.
    pub left_out: Vec<String>,
    /// What to record as `sycl-esimd-split-status`: 0 for an image without ESIMD functions, 1 for one with
    /// nothing else.
    pub esimd_split_status: Option<u8>,
    /// Named metadata to give the part, in addition to what all parts get from the module.
    pub named_metadata: BTreeMap<String, Vec<Metadata>>,
    /// The file to write.
    pub output: PathBuf,
    /// The file to write the part to a second time, with each specialization constant replaced by its
    /// default value. Not written for a part without specialization constants.
    pub default_constants_output: Option<PathBuf>,
}

/// How parts of a module are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitOptions {
    /// What the parts call themselves and their source, the name of the input.
    pub name: String,
    /// How calls for values of specialization constants are lowered; not at all without.
    pub specialization_constants: Option<SpecializationConstantMode>,
    /// Whether to write LLVM's text form instead of bitcode.
    pub text: bool,
    /// The greatest number of parts worked on at a time; 0 stands for one on each core.
    pub jobs: usize,
}

/// What becomes of specialization constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpecializationConstantMode {
    /// SPIR-V's own specialization constants.
    Native,
    /// Loads from a buffer that the runtime passes to the kernel.
    Emulation,
}

/// A part as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenPart {
    /// The functions it defines, in module order.
    pub definitions: Vec<String>,
    /// The functions it declares, in module order, intrinsics left out.
    pub declarations: Vec<String>,
    /// The variables it defines, in module order.
    pub variables: Vec<String>,
    /// The variables it declares, in module order.
    pub variable_declarations: Vec<String>,
    /// The specialization constants in it, in the order in which they were met; none where they were
    /// not lowered.
    pub specialization_constants: Vec<SpecializationConstant>,
    /// The default values of these one after the other, with the padding that the emulation needs.
    pub specialization_defaults: Vec<u8>,
    /// Whether the second file was written.
    pub has_default_constants: bool,
}

/// Where the parts of a specialization constant's value go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecializationConstant {
    /// The symbolic name that the front end gave it.
    pub name: String,
    /// For each scalar in it, in order: the number of the constant, the offset in bytes, the size in
    /// bytes. The number `u32::MAX` stands for padding.
    pub leaves: Vec<[u32; 3]>,
}

/// One piece to be taken out of a module: some symbols and all that they need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The file of bitcode that is the part, such as one that [`Request::Split`] wrote; without one it is taken
    /// out of the kept module.
    pub input: Option<PathBuf>,
    /// The definitions that stay visible outside: kernels and exported functions.
    pub roots: Vec<String>,
    /// Definitions that must not come along although they are used: they stay declarations, to be
    /// found in another image.
    pub left_out: Vec<String>,
    /// The file to write.
    pub output: PathBuf,
}

/// How code is generated from the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmitOptions {
    /// The target triple; for SPIR-V it also chooses the version (`spirv64v1.2-unknown-unknown`).
    pub triple: String,
    /// LLVM's optimisation level, 0 to 3. Unrolling and vectorising stay off at every level: the
    /// device that will run the code is not known yet, and each device does better on plain loops.
    pub optimization: u8,
    /// SPIR-V extensions the generator may use, by name (`SPV_KHR_expect_assume`).
    pub spirv_extensions: Vec<String>,
    /// The processor, by LLVM's name (`sm_90`, `gfx90a`); empty for the target's usual one.
    #[serde(default)]
    pub cpu: String,
    /// Features of the processor to be on or off, as LLVM's option takes them (`+ptx80,-xnack`).
    #[serde(default)]
    pub features: String,
    /// Whether symbols may be left for other images to supply when the code is loaded.
    #[serde(default)]
    pub allow_imports: bool,
    /// Whether the module is left as it is: whole, not optimised, nothing made internal. Each part is then all
    /// of it.
    #[serde(default)]
    pub as_it_is: bool,
    /// More options of LLVM's back ends, as `llc` takes them (`--nvptx-short-ptr`).
    #[serde(default)]
    pub backend_options: Vec<String>,
}

/// What code generation left of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedPart {
    /// Symbols that are used and defined elsewhere.
    pub imports: Vec<String>,
    /// Definitions that are seen outside, kernels among them.
    pub exports: Vec<String>,
}

/// How a kernel or exported function comes to need a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolNeed {
    /// The symbol.
    pub symbol: String,
    /// Ways to it, the shortest for each kernel or exported function that needs it, which comes first; the
    /// symbol comes last.
    pub chains: Vec<Vec<String>>,
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
    /// Answers [`Request::Prepare`].
    Summary {
        /// What is in the module.
        module: ModuleSummary,
    },
    /// Answers [`Request::Split`].
    Parts {
        /// The parts in the order asked for.
        parts: Vec<WrittenPart>,
    },
    /// The request was carried out and there is nothing to tell.
    Done,
    /// Answers [`Request::Link`].
    Linked {
        /// What was in each input.
        inputs: Vec<ModuleSummary>,
        /// What is in the linked module.
        module: ModuleSummary,
    },
    /// Answers [`Request::Print`].
    Text {
        /// The module.
        text: String,
    },
    /// Answers [`Request::Generate`], in the order of the parts.
    Generated {
        /// What became of each part.
        parts: Vec<GeneratedPart>,
    },
    /// Answers [`Request::Needs`], in the order asked.
    Needs {
        /// Who needs each symbol.
        needs: Vec<SymbolNeed>,
    },
    /// The process that generated the code of a part ended: a fatal error or a crash inside LLVM.
    Crashed {
        /// The number of the part.
        part: usize,
        /// How the process ended, for people.
        status: String,
        /// The end of what it printed.
        stderr: String,
        /// The part as bitcode, if it could be written.
        reproducer: Option<PathBuf>,
    },
    /// The request could not be carried out; the worker goes on.
    Failed {
        /// Why, for people.
        message: String,
    },
}
