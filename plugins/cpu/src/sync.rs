//! What threads share memory with: the standard library's, or `loom`'s where a model of them is checked.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p offkit-plugin-cpu --lib` tries every order in which threads can get to
//! the operations of what is built on these.

#[cfg(not(loom))]
pub(crate) use std::{
    sync::{Arc, atomic},
    thread,
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::{Arc, atomic},
    thread,
};
