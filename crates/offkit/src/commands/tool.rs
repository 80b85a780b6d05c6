//! `offkit as`: the program as one of the tools that it replaces.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Tools: clang-linker-wrapper, clang-offload-bundler, clang-offload-packager, clang-offload-wrapper, \
clang-sycl-linker, llvm-offload-binary, llvm-offload-wrapper, sycl-ls, sycl-post-link, syclbin-dump. A link to offkit \
with one of these names is that tool too.

Examples:
  offkit as clang-offload-bundler --list \\
      --type=o --input=app.o
  ln -s offkit syclbin-dump && ./syclbin-dump app.syclbin";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct As {
    /// The name of a tool, such as clang-offload-bundler
    name: OsString,
    /// The tool's own arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(options: &As) -> Result<ExitCode, Failure> {
    offkit_peers::run(&options.name, options.arguments.iter().cloned()).ok_or_else(|| {
        let names: Vec<_> = offkit_peers::names().collect();
        Failure::input(format!("no tool is named `{}`", options.name.display()))
            .hint(format!("the tools are {}", names.join(", ")))
    })
}
