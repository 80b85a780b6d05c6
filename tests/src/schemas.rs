//! `docs/schemas`: what a command's JSON is like, checked against all that tests have commands write.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::Value;

/// The commands whose verbs have schemas of their own.
const GROUPS: [&str; 3] = ["cache", "devlib", "icd"];

/// The name of the schema for what a command line writes, as `ls` or `cache-list`; `None` if that is no JSON.
#[must_use]
pub fn name_of(words: &[&str]) -> Option<String> {
    if !words.contains(&"--json") {
        return None;
    }
    let mut verbs = words.iter().skip_while(|word| word.starts_with('-'));
    let verb = verbs.next()?;
    match GROUPS.contains(verb) {
        true => Some(format!("{verb}-{}", verbs.next()?)),
        false => Some((*verb).to_owned()),
    }
}

/// Checks the lines that a command wrote against its schema.
///
/// # Panics
///
/// If there is no schema, or a line does not keep to it.
#[track_caller]
pub fn check(name: &str, lines: &str) {
    static SCHEMAS: LazyLock<Mutex<HashMap<String, Validator>>> = LazyLock::new(Mutex::default);
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = schemas.entry(name.to_owned()).or_insert_with(|| read(name));
    for line in lines.lines() {
        let object: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
        let errors: Vec<String> = schema
            .iter_errors(&object)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            errors.is_empty(),
            "docs/schemas/{name}.json: {errors:#?} in {line}"
        );
    }
}

fn read(name: &str) -> Validator {
    let path = crate::root().join(format!("docs/schemas/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}.json: {error}"));
    jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}.json: {error}"));
    jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{name}.json: {error}"))
}
