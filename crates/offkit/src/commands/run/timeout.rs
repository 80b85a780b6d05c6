//! `--timeout`: a launch that is stopped when it takes too long.

use std::time::Duration;

use offkit_pi::host::{Event, PiError};
use offkit_runtime::{Kernel, LaunchError};

use crate::failure::{ExitStatus, Failure};
use crate::terminal::duration;

/// How long a device has to stop a kernel and say where it was.
const GRACE: Duration = Duration::from_secs(2);

/// The launch took too long.
#[derive(Debug, thiserror::Error)]
#[error("kernel `{kernel}` was not done within {limit}")]
struct TimedOut {
    kernel: String,
    limit: String,
    /// What the device says about where it was.
    source: Option<PiError>,
}

/// Reads `2s`, `1.5s`, `500ms` or `3m`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is not a time: expected one such as `2s`, `500ms` or `3m`");
    let unit = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(expected)?;
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
}

/// Waits for a launch, and stops it after a time.
pub(super) fn wait(kernel: &Kernel, launch: &Event, timeout: Option<Duration>) -> Result<(), Failure> {
    let Some(limit) = timeout else {
        return kernel.wait(launch).map_err(Failure::input);
    };
    match launch.wait_for(limit) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(source) => {
            let kernel = kernel.name().to_owned();
            return Err(Failure::input(LaunchError::Device { kernel, source }));
        }
    }
    // A device that cannot be stopped is left to itself: the process is about to end.
    let stopped = launch.cancel().and_then(|()| launch.wait_for(GRACE));
    let error = TimedOut {
        kernel: kernel.name().to_owned(),
        limit: duration(limit),
        source: stopped.err(),
    };
    Err(Failure::new(ExitStatus::No, error).hint("`--timeout` with a longer time lets it go on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("3m"), Ok(Duration::from_secs(180)));
        for wrong in [
            "",
            "2",
            "s",
            "-1s",
            "1h2",
            "1e30s",
            "99999999999999999999999m",
            "1..2s",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
