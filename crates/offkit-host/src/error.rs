//! Errors and what led to them, as text.

use std::error::Error;

/// The causes behind an error, nearest first, without those whose text is already part of what came
/// before.
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut said = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !said.contains(&text) {
            said.clone_from(&text);
            causes.push(text);
        }
        next = cause.source();
    }
    causes
}

/// An error and what led to it, in one line.
pub fn chain(error: &dyn Error) -> String {
    let all = [error.to_string()].into_iter().chain(causes(error));
    all.collect::<Vec<_>>().join(": ")
}
