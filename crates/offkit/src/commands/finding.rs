//! How it is with one thing that was looked for, as `offkit doctor` says it.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::terminal::{Output, escape};

/// How it is with one thing that was looked for.
pub(super) struct Finding {
    /// Under which heading it stands.
    about: &'static str,
    /// `ok`, `problem`, or `info` for what is neither.
    state: &'static str,
    what: String,
    why: Option<String>,
    advice: Option<String>,
}

impl Finding {
    pub(super) fn new(about: &'static str, state: &'static str, what: impl Into<String>) -> Finding {
        Finding {
            about,
            state,
            what: what.into(),
            why: None,
            advice: None,
        }
    }

    pub(super) fn because(mut self, why: impl Into<String>) -> Finding {
        self.why = Some(why.into());
        self
    }

    pub(super) fn advised(mut self, advice: Option<String>) -> Finding {
        self.advice = advice;
        self
    }
}

/// Prints findings below their headings.
pub(super) fn print(output: &mut Output, findings: &[Finding]) -> Result<(), Failure> {
    let style = output.styles().heading;
    let mut heading = "";
    for finding in findings {
        if heading != finding.about {
            if !heading.is_empty() {
                output.line("")?;
            }
            output.line(format_args!("{}{}{}", style.start, finding.about, style.end))?;
            heading = finding.about;
        }
        let mark = match finding.state {
            "ok" => "+",
            "problem" => "!",
            _ => " ",
        };
        output.line(format_args!("{mark} {}", escape(&finding.what)))?;
        if let Some(why) = &finding.why {
            output.line(format_args!("    {}", escape(why)))?;
        }
        if let Some(advice) = &finding.advice {
            output.line(format_args!("    {}", escape(advice)))?;
        }
    }
    Ok(())
}

/// A finding as an object.
pub(super) fn object(finding: &Finding) -> Value {
    json!({
        "about": finding.about,
        "state": finding.state,
        "what": finding.what,
        "why": finding.why,
        "advice": finding.advice,
    })
}
