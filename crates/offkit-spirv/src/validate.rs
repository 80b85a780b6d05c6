//! Validation by the Khronos validator, where it is installed.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::module::Module;

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
}

/// Runs `spirv-val` on a module. None when there is no such program on this machine.
///
/// `environment` is one of the validator's target environments, such as `opencl2.2`; without one the rules of the
/// module's own SPIR-V version are applied, without those of a particular interface.
///
/// # Errors
///
/// When the program is there but cannot be run.
pub fn validate(module: &Module, environment: Option<&str>) -> io::Result<Option<Verdict>> {
    let own = format!("spv{}", module.version());
    let child = Command::new("spirv-val")
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
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(&module.to_bytes()));
    let output = child.wait_with_output()?;
    if output.status.success() {
        written?;
        return Ok(Some(Verdict::Valid));
    }
    let text = [output.stdout, output.stderr].concat();
    Ok(Some(Verdict::Invalid {
        message: String::from_utf8_lossy(&text).trim().to_owned(),
    }))
}
