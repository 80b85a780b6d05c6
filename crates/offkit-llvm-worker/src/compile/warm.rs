//! A code generator for this machine that is kept from one kernel to the next, and there before the first.
//!
//! To make one, with what LLVM knows of the processor, takes one and a half milliseconds.

use std::ops::Deref;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::Error;
use crate::beyond_c::make_tables;
use crate::codegen::TargetMachine;
use crate::context::Context;
use crate::module::Module;

/// A code generator, which goes back to its place when it isn't needed any more.
#[derive(Debug)]
pub(super) struct Machine {
    /// None when it is gone.
    machine: Option<TargetMachine>,
    is_host: bool,
}

/// The place of this machine's.
struct Place {
    machine: Option<TargetMachine>,
    /// Whether a thread is about to put one there.
    is_awaited: bool,
}

static PLACE: Mutex<Place> = Mutex::new(Place {
    machine: None,
    is_awaited: false,
});
static CHANGED: Condvar = Condvar::new();

fn place() -> MutexGuard<'static, Place> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<TargetMachine> for Machine {
    fn from(machine: TargetMachine) -> Machine {
        Machine {
            machine: Some(machine),
            is_host: false,
        }
    }
}

impl Deref for Machine {
    type Target = TargetMachine;

    fn deref(&self) -> &TargetMachine {
        match &self.machine {
            Some(machine) => machine,
            None => unreachable!("it goes when this is dropped"),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.is_host {
            place().machine = self.machine.take();
        }
    }
}

/// Waits until nobody else generates code.
pub(super) fn wait() {
    let mut place = place();
    while place.is_awaited {
        place = CHANGED.wait(place).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The one for this machine's processor and all that it can.
pub(super) fn host() -> Result<Machine, Error> {
    let kept = place().machine.take();
    let machine = match kept {
        Some(machine) => machine,
        None => TargetMachine::host("")?,
    };
    Ok(Machine {
        machine: Some(machine),
        is_host: true,
    })
}

/// Has a thread make one, while others read and plan a kernel.
pub fn warm_up() {
    // Before the thread is there: whoever asks first would find the place empty, make another one,
    // and perhaps change LLVM's options while the thread reads them.
    let mut promise = Promise::new();
    // Where there is no thread, the promise goes with what it was to do: the first kernel makes its own.
    _ = thread::Builder::new().spawn(move || {
        let machine = TargetMachine::host("").inspect(|machine| {
            // What goes wrong is told of the next code.
            _ = look_at_processor(machine);
        });
        promise.machine = machine.ok();
        drop(promise);
        // Nobody waits for these.
        make_tables();
    });
}

/// Has LLVM make what it knows of the processor that functions are for, which takes it most of the time.
fn look_at_processor(machine: &TargetMachine) -> Result<(), Error> {
    let mut code = Module::parse_text(&Context::new(), "define void @function() { ret void }")?;
    machine.adopt(&mut code)?;
    machine.run(&mut code, "function(require<target-ir>)")
}

/// One for this machine is in the making. Dropped, it is in its place, or there will be none: others go on also where a
/// thread panics.
struct Promise {
    machine: Option<TargetMachine>,
}

impl Promise {
    fn new() -> Promise {
        place().is_awaited = true;
        Promise { machine: None }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        *place() = Place {
            machine: self.machine.take(),
            is_awaited: false,
        };
        CHANGED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let promise = Promise::new();
        let thread = thread::spawn(move || {
            let _promise = promise;
            panic!("as where LLVM's answer is not what is expected");
        });
        assert!(thread.join().is_err());
        wait();
    }
}
