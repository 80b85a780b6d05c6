//! The requests and replies.

use std::collections::BTreeMap;
use std::path::PathBuf;

use offkit_compile::Variant;
use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Place};
use crate::summary::{Metadata, ModuleSummary};

/// The version of this protocol. The two programs are built together, so they must agree exactly.
pub const PROTOCOL_VERSION: u32 = 14;

/// The number of a module that the worker keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModuleId(pub u32);

/// What can be asked of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// The first request: who is there? Answered by [`Reply::Hello`].
    Hello {
        /// The sender's [`PROTOCOL_VERSION`].
        protocol: u32,
    },
    /// Read modules, link several into one, and keep it. Answered by [`Reply::Opened`].
    Open {
        /// The modules, in link order: bitcode, or LLVM's text form.
        inputs: Vec<ModuleSource>,
        /// Modules of which only what is needed comes along.
        libraries: Vec<ModuleSource>,
        /// Whether to look into function bodies: the summary tells of uses and metadata then, and the module is
        /// checked.
        bodies: bool,
    },
    /// Mark the kernels and exported functions of a module with the source file they come from, and
    /// remove the annotations that said which functions are exported. Answered by [`Reply::Done`].
    Mark {
        /// The module.
        module: ModuleId,
        /// The source file's name.
        source: String,
        /// Whether a module without such annotations is to be left as it is.
        only_annotated: bool,
    },
    /// Take parts out of a module and emit each. Answered by [`Reply::Emitted`], or by [`Reply::Crashed`].
    Emit {
        /// The module. It stays as it is.
        module: ModuleId,
        /// What to take out.
        parts: Vec<Part>,
        /// What each part becomes.
        form: Form,
        /// The greatest number of parts worked on at a time; 0 stands for one on each core.
        jobs: usize,
    },
    /// Who needs these symbols in a module? Answered by [`Reply::Needs`].
    Needs {
        /// The module.
        module: ModuleId,
        /// The symbols.
        symbols: Vec<String>,
    },
    /// Make the module that registers device images when a program starts, as LLVM's own tools make it. What it
    /// embeds comes behind the request: OpenMP's offload binaries in a block each; in one block SYCL's, the fatbin or
    /// the bundle. Answered by [`Reply::Wrapper`].
    Wrap {
        /// The language that the images are for: `openmp`, `cuda`, `hip` or `sycl`.
        language: String,
        /// The triple of the host.
        host: String,
        /// Whether the module is for an object that is linked into another first.
        relocatable: bool,
    },
    /// Compile a kernel of the module in the block behind the request: SPIR-V, or the text of `offkit-kernel`. Answered by
    /// [`Reply::Compiled`].
    Compile(CompileRequest),
    /// What a kernel is on its way to machine code; what follows is as for [`Self::Compile`]. Answered by
    /// [`Reply::Forms`].
    Forms(CompileRequest),
    /// Compile kernels of the module in the block behind the request, as for [`Self::Compile`], for a GPU. Answered by
    /// [`Reply::Device`].
    Device(DeviceRequest),
    /// Forget a module. Answered by [`Reply::Done`].
    Close {
        /// The module.
        module: ModuleId,
    },
}

impl Request {
    /// The request's name, for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Open { .. } => "open",
            Self::Mark { .. } => "mark",
            Self::Emit { .. } => "emit",
            Self::Needs { .. } => "needs",
            Self::Wrap { .. } => "wrap",
            Self::Compile(_) => "compile",
            Self::Forms(_) => "forms",
            Self::Device(_) => "device",
            Self::Close { .. } => "close",
        }
    }
}

/// A module to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleSource {
    /// What messages call it.
    pub name: String,
    /// The file it is in, which stays as it is until the module is closed. Without one, the next block behind the
    /// request is the module: those of inputs come first, then those of libraries.
    pub path: Option<PathBuf>,
}

/// One part of a module: what it has, and what of that is seen outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is made for: kernels, exported functions and variables. Messages name it by them.
    pub roots: Vec<String>,
    /// The named definitions it has; what has no name comes along where it is used. Without a list it has all of
    /// the module, also what [lists kernels](Self::named_metadata).
    pub contents: Option<Vec<String>>,
    /// Those among them that keep their linkage; the others become internal. All keep it where there is no list.
    pub visible: Option<Vec<String>>,
    /// The functions among them that get the attribute `sycl-entry-point`.
    pub entry_points: Vec<String>,
    /// Virtual functions that become external, so that they are kept without being used.
    pub externalized: Vec<String>,
    /// The functions among them whose bodies are left where they are: they return at once.
    pub emptied: Vec<String>,
    /// Definitions that the part uses and does not have: they become declarations.
    pub left_out: Vec<String>,
    /// What to record as `sycl-esimd-split-status`: 0 for an image without ESIMD functions, 1 for one with
    /// nothing else.
    pub esimd_split_status: Option<u8>,
    /// Named metadata to give the part. A part with contents of its own gets none of the module's lists of kernels
    /// (`spirv.ExecutionMode`, `sycl_registered_kernels`), and nothing is kept for `llvm.used` in it: both name
    /// kernels of other parts.
    pub named_metadata: BTreeMap<String, Vec<Metadata>>,
    /// What becomes of calls for values of specialization constants; without, they stay.
    pub specialization_constants: Option<SpecializationConstantMode>,
}

/// What becomes of specialization constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpecializationConstantMode {
    /// SPIR-V's own specialization constants.
    Native,
    /// Loads from a buffer that the runtime passes to the kernel.
    Emulation,
    /// The default values.
    Defaults,
}

/// What a part becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Bitcode.
    Bitcode,
    /// LLVM's text form.
    Text,
    /// Code, generated in a process of its own for each part.
    Code(Box<CodeOptions>),
}

/// How code is generated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeOptions {
    /// The target triple; for SPIR-V it also chooses the version (`spirv64v1.2-unknown-unknown`).
    pub triple: String,
    /// LLVM's optimisation level, 0 to 3. Unrolling and vectorising stay off at every level: the
    /// device that will run the code is not known yet, and each device does better on plain loops.
    pub optimization: u8,
    /// SPIR-V extensions the generator may use, by name (`SPV_KHR_expect_assume`).
    pub spirv_extensions: Vec<String>,
    /// How much more of SPIR-V is used by a part that needs more than the version of the triple and these extensions.
    pub spirv_limits: Option<SpirvLimits>,
    /// The processor, by LLVM's name (`sm_90`, `gfx90a`); empty for the target's usual one.
    pub cpu: String,
    /// Features of the processor to be on or off, as LLVM's option takes them (`+ptx80,-xnack`).
    pub features: String,
    /// Whether symbols may be left for other images to supply when the code is loaded.
    pub allow_imports: bool,
    /// Whether nothing else is going to define anything: what is declared weak has the address null.
    pub is_closed: bool,
    /// Whether functions that are declared `inline` may be in several modules, of which one is taken, and are dropped where
    /// they have no use.
    pub inline_once: bool,
    /// Whether the part is neither optimised nor changed for its target.
    pub as_it_is: bool,
    /// More options of LLVM's back ends, as `llc` takes them (`--nvptx-short-ptr`).
    pub backend_options: Vec<String>,
    /// The folder for the bitcode of a part whose process crashes, if that is wanted.
    pub reproducers: Option<PathBuf>,
    /// The folder for the bitcode of every part N before and after optimisation (`N.bc`, `N.opt.bc`), if that is
    /// wanted.
    pub keep: Option<PathBuf>,
}

/// A kernel to compile for a processor, which work-groups then run on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompileRequest {
    /// The kernel, by its name. Specialization constants of its module have their values.
    pub kernel: String,
    /// Which launches it is for.
    pub variant: Variant,
    /// The target triple of the processor; empty for that of the worker's own machine.
    pub triple: String,
    /// The processor, by LLVM's name; empty for the worker's own with all its features, or for the usual one of another
    /// triple.
    pub processor: String,
    /// Features of the processor to be on or off, as LLVM takes them (`+avx2,-avx512f`).
    pub features: String,
    /// Functions of libmvec, by their symbols (`_ZGVdN4v_erf`), that the code calls for OpenCL's of that name. Each is an external
    /// of the code, by the same symbol.
    pub vector_functions: Vec<String>,
    /// What is spent on it.
    pub level: Effort,
    /// Whether debuggers are told the source lines of the code, where the module has them.
    pub lines: bool,
}

/// Kernels to compile for a GPU, one work-item a thread. How the code is launched: `docs/gpu-compiler.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceRequest {
    /// The kernels, by their names; without any, all of the module.
    pub kernels: Vec<String>,
    /// Values of specialization constants, by their numbers (`SpecId`), as `offkit_spirv::specialize` takes them: the bits of
    /// a value, and numbers that the module does not have are ignored. Constants without one have their defaults.
    // Sorted, unlike what `specialize` takes: whoever keeps code compares and hashes requests.
    pub specialization: BTreeMap<u32, u64>,
    /// The target triple.
    pub triple: String,
    /// The processor, by LLVM's name (`sm_90`).
    pub processor: String,
    /// Features of the processor to be on or off, as LLVM takes them (`+ptx80`).
    pub features: String,
    /// LLVM's optimisation level, 0 to 3.
    pub optimization: u8,
    /// Whether LLVM IR is wanted as well.
    pub with_text: bool,
}

/// What is behind a kernel's name in that of its entry for launches whose ids begin elsewhere than at zero.
pub const WITH_OFFSET: &str = "_with_offset";

/// Kernels as code of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCode {
    /// The kernels, in the order that they were asked for.
    pub kernels: Vec<DeviceKernel>,
    /// The code: PTX for NVIDIA's, and for AMD's an object that `ld.lld -shared` makes a code object of. On the way it is a block behind the reply.
    #[serde(skip)]
    pub code: Vec<u8>,
    /// LLVM IR behind LLVM's passes, of which the code is generated, if that was asked for. Likewise, the second block.
    #[serde(skip)]
    pub text: Vec<u8>,
}

/// A kernel of a GPU's code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceKernel {
    /// Its name.
    pub name: String,
    /// Bytes of local memory that its own variables have, beside what the launch has for arguments.
    pub local: u64,
    /// Whether arguments tell it where ids begin: then it has a second entry, [`WITH_OFFSET`], which takes that last. On AMD's
    /// the runtime tells.
    pub sees_offset: bool,
    /// Whether it asks for the number of dimensions, which that entry takes behind where ids begin. The first takes the least
    /// that a launch can have.
    pub sees_dimensions: bool,
}

/// What is spent on making code fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// What pays at once.
    Light,
    /// All that pays in the end.
    Full,
}

/// A kernel as machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// The function in the object that runs work-groups.
    pub symbol: String,
    /// Bytes of memory that it needs for each vector of work-items of a group, besides local memory.
    pub scratch: u64,
    /// Bytes of memory that it needs for each group, in front of those of its vectors: variables in local memory.
    pub shared: u64,
    /// What it finds outside of itself, in the order of the table of addresses that it is given.
    pub externals: Vec<String>,
    /// What is to be known of it, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// A relocatable object, ELF. On the way it is a block behind the reply.
    #[serde(skip)]
    pub object: Vec<u8>,
}

/// What a kernel is on its way to machine code, as text. On the way each text is a block behind the reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forms {
    /// What is to be known of it, for people; see [`Compiled::notes`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// LLVM IR as it is emitted.
    #[serde(skip)]
    pub emitted: Vec<u8>,
    /// LLVM IR behind LLVM's passes.
    #[serde(skip)]
    pub optimized: Vec<u8>,
    /// The processor's assembly.
    #[serde(skip)]
    pub assembly: Vec<u8>,
}

/// What of SPIR-V a target takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpirvLimits {
    /// The newest version.
    pub version: (u8, u8),
    /// The extensions; all that there are without a list.
    pub extensions: Option<Vec<String>>,
}

/// What of SPIR-V a part needs beyond what its target takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpirvNeed {
    /// The kernels and exported functions that need it, as far as that is known.
    pub roots: Vec<String>,
    /// A newer version.
    pub version: Option<(u8, u8)>,
    /// Extensions.
    pub extensions: Vec<String>,
    /// The function that is called for it, for people, or nothing.
    pub called: String,
    /// Where, as far as that is known.
    pub place: Place,
}

/// A specialization constant, and where the parts of its value go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecializationConstant {
    /// The symbolic name that the front end gave it.
    pub name: String,
    /// For each scalar in it, in order: the number of the constant, the offset in bytes, the size in
    /// bytes. The number `u32::MAX` stands for padding.
    pub leaves: Vec<[u32; 3]>,
}

/// A module that the worker keeps, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedModule {
    /// Its number.
    pub id: ModuleId,
    /// What was in each input, without bodies.
    pub inputs: Vec<ModuleSummary>,
    /// What is in the module.
    pub summary: ModuleSummary,
    /// What LLVM had to say on the way; an error would have ended it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}

/// A part that was emitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmittedPart {
    /// The functions it defined when it was taken out, in module order.
    pub definitions: Vec<String>,
    /// The functions it declared then, in module order, intrinsics left out.
    pub declarations: Vec<String>,
    /// The variables it defined then, in module order.
    pub variables: Vec<String>,
    /// The variables it declared then, in module order.
    pub variable_declarations: Vec<String>,
    /// The specialization constants in it, in the order in which they were met; none where they were
    /// not lowered, or replaced by their default values.
    pub specialization_constants: Vec<SpecializationConstant>,
    /// The default values of these one after the other, with the padding that the emulation needs.
    pub specialization_defaults: Vec<u8>,
    /// Symbols that what was emitted uses and does not define.
    pub imports: Vec<String>,
    /// Definitions in what was emitted that are seen outside, kernels among them.
    pub exports: Vec<String>,
    /// What LLVM had to say on the way; an error would have ended it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// What was emitted: bitcode, text or code. On the way it is a block behind the reply.
    #[serde(skip)]
    pub content: Vec<u8>,
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
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Answers [`Request::Hello`].
    Hello {
        /// The worker's [`PROTOCOL_VERSION`].
        protocol: u32,
        /// The version of LLVM it runs, `22.1.8`.
        llvm: String,
    },
    /// Answers [`Request::Open`].
    Opened(OpenedModule),
    /// Answers [`Request::Emit`], in the order of the parts. A block with each one's content follows.
    Emitted(Vec<EmittedPart>),
    /// Answers [`Request::Needs`], in the order asked.
    Needs(Vec<SymbolNeed>),
    /// Answers [`Request::Wrap`]: the module in LLVM's text form.
    Wrapper(String),
    /// Answers [`Request::Compile`]. A block with the object follows.
    Compiled(Compiled),
    /// Answers [`Request::Forms`]. Three blocks with the texts follow.
    Forms(Forms),
    /// Answers [`Request::Device`]. Two blocks follow: the code, and LLVM IR.
    Device(DeviceCode),
    /// The request was carried out and there is nothing to tell.
    Done,
    /// The process that generated the code of a part ended: a fatal error or a crash inside LLVM.
    Crashed {
        /// The place of the part in the request.
        part: usize,
        /// How the process ended, for people.
        // The process is the worker's child, so that this end never had its `ExitStatus`.
        status: String,
        /// The end of what it printed.
        stderr: String,
        /// The part as bitcode, if it could be written.
        reproducer: Option<PathBuf>,
    },
    /// A part needs more of SPIR-V than [`SpirvLimits`] allow.
    Unmet(SpirvNeed),
    /// The request could not be carried out; the worker goes on.
    Failed {
        /// Why, for people.
        message: String,
    },
}
