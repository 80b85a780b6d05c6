//! The program under the names of its peers: their options, their messages, their files.

mod arguments;
pub(crate) mod offload_binary;
pub(crate) mod syclbin_dump;

/// What `--version` prints: the version of LLVM whose tools these stand for, which scripts look for, and ours.
fn version() -> String {
    format!(
        "offkit {}, in the place of\n  LLVM version 22.1.8\n",
        env!("CARGO_PKG_VERSION")
    )
}
