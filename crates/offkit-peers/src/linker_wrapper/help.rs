//! The text of `--help`.

/// What `--help` prints.
pub(super) const HELP: &str = "\
OVERVIEW: Links a program with device code: takes the device code out of the inputs, links it for each
target, makes an object that registers the result, and runs the host's linker with that object added.

USAGE: clang-linker-wrapper [options] -- <arguments of the host's linker>

OPTIONS:
  --compress             Write bundles compressed
  --compression-level=<value>
                         How hard to compress them, a number
  --cuda-path=<dir>      Where CUDA is installed
  --device-compiler=<value> or <triple>=<value>
                         What the device's compiler is given too, for one triple or for all
  --device-linker=<value> or <triple>=<value>
                         What the device's linker is given too, for one triple or for all
  --dry-run              Show the commands and run none
  --embed-bitcode        Embed the linked bitcode
  --emit-fatbin-only     Write the container of images; no registration, no host link
  --host-triple=<value>  What the program runs on
  --linker-path=<path>   The host's linker
  -L <dir>               Look for libraries in this folder too
  -l <libname>           Link this library
  -mllvm <value>         An option of LLVM, for every step
  -o <path>              The file to write
  --override-image=<kind=file>
                         Take this file for the image of a kind instead of linking one
  --print-wrapped-module Has no effect: objects are written without a module
  --relocatable          Link device code now, in an object that is to be linked again
  --save-temps           Keep intermediate files
  --should-extract=<kind=file>
                         Take code for this architecture out of archives whether it is needed or not
  --sycl-images=<kind>   How SYCL's images are registered: sycl-llvm (as LLVM 22, the default), sycl-v3
                         (DPC++ 2026), sycl-v2 (before), offload (LLVM after 22); not in the original
  --sysroot=<value>      The root of the target's files
  --wrapper-jobs=<number>
                         How many device links run at a time; 'jobserver': as many as make has tokens for
  --wrapper-time-trace=<file>
                         Write how long each step took, for Chrome's trace viewers
  --wrapper-time-trace-granularity=<number>
                         Leave out steps of fewer microseconds; 500 if not given
  --wrapper-verbose      Show the commands that are run
";
