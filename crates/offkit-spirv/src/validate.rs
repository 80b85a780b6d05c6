//! Validation by the Khronos validator, where it is installed.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Khronos's validator.
pub const VALIDATOR: &str = "spirv-val";

/// What the validator says of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The module follows the rules.
    Valid,
    /// The module breaks a rule.
    Invalid {
        /// The validator's message.
        message: String,
    },
    /// The validator refuses what it does not know.
    Unknown {
        /// The validator's message.
        message: String,
        /// Why it does not count.
        reason: &'static str,
    },
}

/// Messages that do not count: what is in them, and why. Releases of the validator are years behind the extensions of
/// vendors, and some that are in use refuse what the rules allow.
const NOT_COUNTED: [(&str, &str); 5] = [
    (
        "Invalid capability operand",
        "the validator is older than the capability",
    ),
    (
        "Invalid decoration operand",
        "the validator does not know the decoration: SYCL's compilers number HostAccessINTEL otherwise",
    ),
    ("Invalid opcode", "the validator is older than the instruction"),
    (
        "OpenCL.std printf: expected Format data type to be 8-bit int",
        "LLVM 22 calls printf with a pointer to an array of characters, which devices take",
    ),
    (
        "OpConstantFunctionPointerINTEL",
        "with SPV_INTEL_function_pointers, constants name functions that come later",
    ),
];

/// Runs `spirv-val` on the bytes of a module. None when there is no such program on this machine.
///
/// `environment` is one of the validator's target environments, such as `opencl2.2`; without one the rules of the
/// module's own SPIR-V version are applied, without those of a particular interface.
///
/// # Errors
///
/// When the program is there but cannot be run.
pub fn validate(code: &[u8], environment: Option<&str>) -> io::Result<Option<Verdict>> {
    // In the second word, which is as the first one, the magic number, the other way round or not.
    let own = match code.first_chunk() {
        Some([3, _, _, 7, _, minor, major, _] | [7, _, _, 3, _, major, minor, _]) => {
            format!("spv{major}.{minor}")
        }
        _ => "spv1.0".to_owned(),
    };
    let child = Command::new(VALIDATOR)
        .args(["--target-env", environment.unwrap_or(&own), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // The validator reads everything before it writes anything, so this cannot block on a full pipe.
    // A validator that refuses the module may stop reading, and then this fails: its verdict is
    // what counts.
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(code));
    let output = child.wait_with_output()?;
    if output.status.success() {
        written?;
        return Ok(Some(Verdict::Valid));
    }
    let text = [output.stderr, output.stdout].concat();
    let message = String::from_utf8_lossy(&text).trim().to_owned();
    let known = NOT_COUNTED.iter().find(|(part, _)| message.contains(part));
    Ok(Some(match known {
        Some((_, reason)) => Verdict::Unknown { message, reason },
        None => Verdict::Invalid { message },
    }))
}
