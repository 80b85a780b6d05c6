//! What any plugin passes: `offkit-plugin-tests`.

use crate::support::with_both;
use offkit_plugin_tests::{Code, Outcome, run};

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_tests_of_any_plugin_pass() {
    let code = match Code::compile() {
        Ok(code) => code,
        Err(error) => {
            let required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!required, "{error}");
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    with_both(|machine| {
        for (name, outcome) in run(machine.device.plugin(), Some(&code)) {
            let is_expected = match &outcome {
                Outcome::Passed => true,
                // It interprets.
                Outcome::Unsupported(what) => what.contains("a program's machine code is not supported"),
                Outcome::Failed(_) => false,
            };
            assert!(is_expected, "{name}: {outcome:?}");
        }
    });
}
