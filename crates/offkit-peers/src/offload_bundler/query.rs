//! The short answer to what is in a file: `x86_64, gfx803-hsaco, gfx900-bc, sm_60-cubin`.

use std::ops::ControlFlow;

use offkit_object::{Item, Limits};

use super::error::{Error, Result};
use offkit_devlib::device_type;

/// Every device that a file of any kind has code for, with what kind of code it is, in the order of the file
/// and each once; a host has its architecture alone.
pub(super) fn query(file: &str, bytes: &[u8]) -> Result<String> {
    let mut answers: Vec<String> = Vec::new();
    let mut problem = None;
    let _ = offkit_object::walk(file, bytes, None, &Limits::default(), &mut |item| {
        let answer = match item {
            Item::Image(image) => Some(device_type(&image)),
            Item::Container(container) => container.host.map(str::to_owned),
            Item::Problem(found) => {
                problem = problem.take().or(Some(found));
                None
            }
            _ => None,
        };
        if let Some(answer) = answer.filter(|answer| !answers.contains(answer)) {
            answers.push(answer);
        }
        ControlFlow::Continue(())
    });
    // Part of an answer is better than none, and scripts read standard output alone.
    match problem {
        Some(problem) if answers.is_empty() => return Err(Error::Problem(Box::new(problem))),
        Some(problem) => say!("{}: warning: {problem}", super::NAME),
        None => {}
    }
    if answers.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("{}\n", answers.join(", ")))
}
