//! The states of a kernel bundle.

crate::named! {
    /// The state of a kernel bundle.
    pub enum BundleState, "The name as the SYCL specification has it." {
        /// 0: to be compiled and linked.
        Input => "input",
        /// 1: compiled, to be linked.
        Object => "object",
        /// 2: ready to run.
        Executable => "executable",
    }
}

impl BundleState {
    /// The state with a number.
    #[must_use]
    pub fn from_raw(raw: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.raw() == raw)
    }

    /// The number in the file.
    #[must_use]
    pub fn raw(self) -> u32 {
        // The variants stand in the order of the numbers, from 0 on.
        self as u32
    }
}
