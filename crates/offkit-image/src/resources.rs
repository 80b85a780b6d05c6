//! What a kernel takes of a device.

/// What a kernel takes of a device, as its image says it; `None` where the image does not say.
///
/// The vendors count different things, so numbers of one vendor compare with each other and with no other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Resources {
    /// Bytes of its machine code: for NVIDIA the section of the kernel with its padding and the copies of functions in
    /// it, for AMD the function's symbol, for Intel the kernel's section.
    pub code_size: Option<u64>,
    /// Registers: of a thread (NVIDIA), vector registers of a work-item with accumulation registers (AMD), registers
    /// of a hardware thread (Intel).
    pub registers: Option<u64>,
    /// AMD's scalar registers of a wavefront.
    pub scalar_registers: Option<u64>,
    /// Bytes of memory that a work-group shares, as far as the kernel declares it: NVIDIA's with the 1,024 bytes that
    /// are the system's on 9.0 and later.
    pub shared_memory: Option<u64>,
    /// Bytes of private memory of a work-item that are reserved in advance: its stack, with what was spilled.
    pub stack: Option<Stack>,
    /// What did not fit into registers.
    pub spills: Option<Spills>,
}

/// How much stack a kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stack {
    /// So many bytes.
    Bytes(u64),
    /// What cannot be told in advance: the kernel has recursion or calls through pointers.
    Unknown,
}

/// What did not fit into registers, in the unit of the vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spills {
    /// NVIDIA: the bytes of the instructions that store what is spilled and load it again, as `ptxas -v` counts them.
    /// Functions that the kernel calls are not counted.
    Bytes {
        /// Bytes that are stored.
        stores: u64,
        /// Bytes that are loaded.
        loads: u64,
    },
    /// AMD: the number of registers.
    Registers {
        /// Vector registers.
        vector: u64,
        /// Scalar registers.
        scalar: u64,
    },
    /// Intel: bytes of a hardware thread.
    BytesOfThread(u64),
}

impl Spills {
    /// One number to sort by, among kernels of one vendor.
    #[must_use]
    pub fn amount(self) -> u64 {
        match self {
            Self::Bytes { stores, loads } => stores.saturating_add(loads),
            Self::Registers { vector, scalar } => vector.saturating_add(scalar),
            Self::BytesOfThread(bytes) => bytes,
        }
    }

    /// What [`amount`](Self::amount) counts.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Bytes { .. } => "bytes",
            Self::Registers { .. } => "registers",
            Self::BytesOfThread(_) => "bytes of a thread",
        }
    }
}
