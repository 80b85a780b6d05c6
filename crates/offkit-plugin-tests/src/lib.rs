//! Tests that any plugin of the interface between runtimes and devices should pass, as a host in safe Rust sees it.
//!
//! [`run`] takes a plugin and says of each test how it went: what the plugin does not have is unsupported, and what it has
//! and does otherwise than the interface says has failed. Tests that launch kernels need [`Code`], which clang makes of
//! OpenCL C. The program of the same name does this for a library:
//!
//! ```console
//! $ cargo run -p offkit-plugin-tests -- ./libmine.so
//! ```

mod code;
mod commands;
mod events;
mod kernels;
mod machine;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use offkit_pi::host::{PiError, Plugin};

pub use code::Code;
use machine::{Machine, is_unsupported};

/// A test.
struct Test {
    name: &'static str,
    needs_code: bool,
    run: fn(&Machine<'_>) -> Result<(), PiError>,
}

/// How a test went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As the interface says.
    Passed,
    /// The plugin does not have something that the test needs: what it said, or that there is no device code.
    Unsupported(String),
    /// Otherwise.
    Failed(String),
}

/// Makes tests of functions, by their names.
macro_rules! tests {
    ($needs_code:literal: $($module:ident::$name:ident)*) => {
        [$(Test {
            name: stringify!($name),
            needs_code: $needs_code,
            run: $module::$name,
        }),*]
    };
}

const WITHOUT_CODE: [Test; 15] = tests!(false:
    commands::buffers_are_written_filled_copied_and_read
    commands::a_part_of_a_buffer_shares_its_memory
    commands::unified_shared_memory_is_copied
    commands::sizes_and_alignments_that_make_no_sense_are_refused
    commands::finish_waits_for_everything
    commands::commands_go_on_when_their_queue_is_released
    commands::memory_that_is_dropped_stays_until_its_commands_are_done
    commands::objects_of_another_context_are_refused
    events::events_order_commands_of_different_queues
    events::an_event_that_is_abandoned_fails_what_waits_for_it
    events::callbacks_are_called_when_a_command_is_over
    events::profiled_commands_know_their_times
    events::markers_come_after_what_is_there_and_barriers_before_what_comes
    events::many_threads_share_a_queue_without_order
    events::drops_do_not_wait
);

const WITH_CODE: [Test; 14] = tests!(true:
    kernels::a_kernel_runs_with_buffers
    kernels::a_kernel_runs_with_unified_shared_memory
    kernels::a_kernel_follows_addresses_in_memory
    kernels::an_in_order_queue_keeps_the_order
    kernels::a_launch_uses_the_arguments_of_its_moment
    kernels::ranges_have_offsets_and_three_dimensions
    kernels::work_groups_have_local_memory_and_barriers
    kernels::several_threads_use_one_context
    kernels::several_threads_launch_one_kernel
    kernels::specialization_constants_have_their_values
    kernels::machine_code_is_a_program_of_its_own
    kernels::two_modules_compiled_and_linked_run
    kernels::a_missing_function_fails_the_link
    kernels::what_is_not_there_is_refused
);

/// The names of all tests.
pub fn names() -> impl Iterator<Item = &'static str> {
    let tests = WITHOUT_CODE.iter().chain(&WITH_CODE);
    tests.map(|test| test.name)
}

/// Runs all tests on the first device of a plugin, one after the other. Without code, those that need some are left out as
/// unsupported.
pub fn run<'a>(
    plugin: &'a Plugin,
    code: Option<&'a Code>,
) -> impl Iterator<Item = (&'static str, Outcome)> + use<'a> {
    let tests = WITHOUT_CODE.into_iter().chain(WITH_CODE);
    tests.map(move |test| {
        let outcome = match (test.needs_code, code) {
            (true, None) => Outcome::Unsupported("there is no device code to run".to_owned()),
            // With a context and a queue of its own: what one test leaves behind is not in the way
            // of the next.
            _ => outcome(|| (test.run)(&Machine::new(plugin, code)?)),
        };
        (test.name, outcome)
    })
}

fn outcome(test: impl FnOnce() -> Result<(), PiError>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(test)) {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(error)) if is_unsupported(&error) => Outcome::Unsupported(error.to_string()),
        Ok(Err(error)) => Outcome::Failed(error.to_string()),
        Err(payload) => Outcome::Failed(words(&*payload).to_owned()),
    }
}

/// What a panic said.
fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words")
}
