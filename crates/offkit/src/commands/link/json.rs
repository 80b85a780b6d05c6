//! What a link came to, as JSON.

use offkit_link::device_link::{DeviceLink, LinkError, Linked, UndefinedSymbol};
use serde_json::{Value, json};

use super::inputs::What;
use super::{Link, failure};
use crate::commands::written::Written;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

/// Tells of a link that was done, or of its plan alone.
pub(super) fn show(
    arguments: &Link,
    linked: &Linked,
    plan: Option<Value>,
    written: Written,
    terminal: Terminal,
) -> Result<(), Failure> {
    let said = said(arguments, linked, plan, &[]);
    terminal.json(SCHEMA, &written.json(said))
}

/// Tells of the symbols that nothing supplies, if that is why a link failed.
pub(super) fn show_failure(arguments: &Link, error: &LinkError, terminal: Terminal) -> Result<(), Failure> {
    // Of other errors the message says all that there is.
    let LinkError::Undefined { symbols, .. } = error else {
        return Ok(());
    };
    let said = said(arguments, &Linked::default(), None, symbols);
    terminal.json(SCHEMA, &Written::default().json(said))
}

/// What a link would do.
pub(super) fn plan(link: &DeviceLink<'_>) -> Result<Value, Failure> {
    let plans = link.plan().map_err(failure)?;
    let plans = plans.iter().map(|plan| {
        json!({
            "target": plan.target.to_string(),
            "inputs": plan.inputs,
            "libraries": plan.libraries,
            "commands": plan.commands,
        })
    });
    Ok(plans.collect())
}

fn said(arguments: &Link, linked: &Linked, plan: Option<Value>, undefined: &[UndefinedSymbol]) -> Value {
    let inputs = arguments.inputs.iter().map(|named| match &named.what {
        What::File(path) => path.display().to_string(),
        What::Library(name) => format!("-l{name}"),
    });
    let device_libraries = arguments.device_libraries.iter();
    let inputs = inputs.chain(device_libraries.map(|path| path.display().to_string()));
    let taken = (linked.taken.iter())
        .map(|taken| json!({ "library": taken.label, "target": taken.target.to_string() }));
    let undefined = undefined.iter().map(|symbol| {
        json!({
            "symbol": symbol.name,
            "target": symbol.target,
            "images": symbol.images,
            "ways": symbol.chains,
            "meant": symbol.providers,
        })
    });
    let steps =
        (linked.steps.iter()).map(|step| json!({ "step": step.name, "seconds": step.time.as_secs_f64() }));
    json!({
        "inputs": inputs.collect::<Vec<_>>(),
        "output": arguments.output.display().to_string(),
        "to": arguments.to.to_string(),
        "plan": plan,
        "libraries": taken.collect::<Vec<_>>(),
        "undefined": undefined.collect::<Vec<_>>(),
        "notes": linked.notes,
        "steps": steps.collect::<Vec<_>>(),
    })
}
