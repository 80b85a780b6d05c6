//! A limit of time on programs: one that hangs fails its test, which then shows what it printed.

use std::io::{ErrorKind, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take. Those that take longest do so for a minute, under valgrind on a machine with much to do for
/// several.
pub(crate) const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Which of a program's outputs something is from: the place in a pair of both.
type Part = (usize, Vec<u8>);

/// Runs a program, and ends it when it takes too long.
///
/// # Panics
///
/// If it cannot be started, or takes longer than the limit; with what it has printed by then.
#[track_caller]
pub(crate) fn output(command: &mut Command, limit: Duration) -> Output {
    let end = Instant::now() + limit;
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let parts = parts(&mut child);
    let mut printed = [Vec::new(), Vec::new()];
    let status = loop {
        match parts.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((place, bytes)) => printed[place].extend(bytes),
            // Both outputs are closed, which its end is not far from.
            Err(RecvTimeoutError::Disconnected) => break wait(&mut child, end),
            Err(RecvTimeoutError::Timeout) => break None,
        }
    };
    let [stdout, stderr] = printed;
    let Some(status) = status else {
        let ended = child.kill().and_then(|()| child.wait());
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        panic!(
            "{command:?} takes longer than {limit:?}: {ended:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
    };
    Output {
        status,
        stdout,
        stderr,
    }
}

/// What a program prints, as it comes, until both outputs are closed.
fn parts(child: &mut Child) -> Receiver<Part> {
    let (sender, parts) = channel();
    let forward = |mut from: Box<dyn Read + Send>, place: usize, to: Sender<Part>| {
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            loop {
                let part = match from.read(&mut bytes) {
                    Ok(count @ 1..) => bytes[..count].to_vec(),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    _ => return,
                };
                if to.send((place, part)).is_err() {
                    return;
                }
            }
        });
    };
    let stdout = child.stdout.take().expect("it is a pipe");
    let stderr = child.stderr.take().expect("it is a pipe");
    forward(Box::new(stdout), 0, sender.clone());
    forward(Box::new(stderr), 1, sender);
    parts
}

/// How a program ended, which it does before a moment.
fn wait(child: &mut Child, end: Instant) -> Option<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().expect("it is this process's") {
            return Some(status);
        }
        if Instant::now() >= end {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn shell(script: &str, limit: Duration) -> Output {
        output(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn what_a_program_prints_comes_with_how_it_ended() {
        let ended = shell("echo one; echo two >&2; exit 3", LIMIT);
        assert_eq!(
            (ended.status.code(), ended.stdout, ended.stderr),
            (Some(3), b"one\n".to_vec(), b"two\n".to_vec())
        );
        // More than a pipe holds, of both.
        let all = shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2", LIMIT);
        assert_eq!((all.stdout.len(), all.stderr.len()), (1_000_000, 1_000_000));
    }

    #[test]
    fn a_program_that_hangs_is_ended_and_shows_what_it_printed() {
        for script in [
            "echo begun; echo badly >&2; exec sleep 1000",
            "echo begun; echo badly >&2; exec sleep 1000 >&- 2>&-",
        ] {
            let hung = catch_unwind(|| shell(script, Duration::from_secs(2)));
            let words = hung.expect_err("it hangs").downcast::<String>().unwrap();
            assert!(
                words.contains("takes longer than 2s")
                    && words.contains("begun\n")
                    && words.contains("badly\n"),
                "{words}"
            );
        }
    }
}
