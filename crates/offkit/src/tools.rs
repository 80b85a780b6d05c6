//! Peers' tools under their own names: the same options, the same output.

pub(crate) mod offload_bundler;
