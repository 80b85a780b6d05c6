//! The text of `--help`.

/// What `--help` prints.
pub(super) const HELP: &str = "\
OVERVIEW: A wrapper utility over the host linker. It scans the input files
for sections that require additional processing prior to linking.
The will then transparently pass all arguments and input to the
specified host linker to create the final binary.

USAGE: clang-linker-wrapper [options] -- <options to passed to the linker>

OPTIONS:
  --compress             Compress bundled files
  --compression-level=<value>
                         Specify the compression level (integer)
  --cuda-path=<dir>      Set the system CUDA path
  --device-compiler=<value> or <triple>=<value>
                         Arguments to pass to the device compiler invocation
  --device-linker=<value> or <triple>=<value>
                         Arguments to pass to the device linker invocation
  --dry-run              Print program arguments without running
  --embed-bitcode        Embed linked bitcode in the module
  --emit-fatbin-only     Emit fat binary directly without wrapping or host linking
  --host-triple=<value>  Triple to use for the host compilation
  --linker-path=<path>   The linker executable to invoke
  -L <dir>               Add <dir> to the library search path
  -l <libname>           Search for library <libname>
  -mllvm <value>         Arguments passed to LLVM, including Clang invocations
  -o <path>              Path to file to write output
  --override-image=<kind=file>
                         Uses the provided file as if it were the output of the device link step
  --print-wrapped-module Has no effect: objects are written without a module
  --relocatable          Link device code to create a relocatable offloading application
  --save-temps           Save intermediate results
  --should-extract=<kind=file>
                         Set of device architectures we should always extract if found.
  --sycl-images=<kind>   How SYCL's images are registered: sycl-llvm (as LLVM 22, the default), sycl-v3
                         (DPC++ 2026), sycl-v2 (before), offload (LLVM after 22); not in the original
  --sysroot=<value>      Set the system root
  --wrapper-jobs=<number>
                         Sets the number of parallel jobs for device linking; 'jobserver' is 1
  --wrapper-verbose      Verbose output from tools
";
