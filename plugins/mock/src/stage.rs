//! The script that is played, and what has happened.

use std::any::type_name;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, Result};
use offkit_pi::table::Function;

use crate::device::{self, MockPlatform};
use crate::queue::State;
use crate::script::{Effect, Fault, Place, Script, ScriptError};

/// The environment variable that names the script of the plugin as a library.
pub const SCRIPT_VARIABLE: &str = "OFFKIT_MOCK";

/// A call of a function of the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Called {
    /// The function.
    pub function: Function,
    /// What it returned; none while it has not.
    pub result: Option<pi_result>,
}

/// A script, and what has happened since it began.
pub(crate) struct Stage {
    pub(crate) script: Script,
    pub(crate) platforms: Vec<Arc<MockPlatform>>,
    happened: Mutex<Happened>,
    /// Launches that take time.
    launched: Mutex<Vec<(Arc<State>, JoinHandle<()>)>>,
    curtain: Condvar,
}

#[derive(Default)]
struct Happened {
    calls: Vec<Called>,
    launches: usize,
    indirect: Vec<bool>,
    set_ups: usize,
    objects: BTreeMap<&'static str, usize>,
    is_over: bool,
}

static NOW: Mutex<Option<Arc<Stage>>> = Mutex::new(None);

/// One play at a time.
static HOUSE: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stage of now: the one that a test plays on, or that of the file which the variable names.
pub(crate) fn now() -> Arc<Stage> {
    Arc::clone(lock(&NOW).get_or_insert_with(|| {
        let Some(file) = env::var_os(SCRIPT_VARIABLE) else {
            return Arc::new(Stage::new(Script::default()));
        };
        let text = fs::read_to_string(&file).map_err(|error| error.to_string());
        let script = text.and_then(|text| text.parse().map_err(|error: ScriptError| error.to_string()));
        let script = script.unwrap_or_else(|reason| Script {
            // A plugin has no other way to say it.
            faults: vec![Fault {
                place: Place::SetUp,
                number: None,
                effect: Effect::Fail(PI_INVALID_VALUE, format!("{}: {reason}", file.display())),
            }],
            ..Script::default()
        });
        Arc::new(Stage::new(script))
    }))
}

/// Plays a script from here on, until the [`Play`] is dropped. Plays follow one another: a second waits for the first.
///
/// The plugin is to be loaded, and everything made with it dropped, within the play.
///
/// # Errors
///
/// [`ScriptError`] with the line that says nothing known.
pub fn play(script: &str) -> Result<Play, ScriptError> {
    let stage = Arc::new(Stage::new(script.parse()?));
    let house = lock(&HOUSE);
    *lock(&NOW) = Some(Arc::clone(&stage));
    Ok(Play { stage, _house: house })
}

/// A script that is played.
pub struct Play {
    stage: Arc<Stage>,
    // Let go of after `drop` has run, so that the next play does not begin before the stage of this
    // one has been taken away.
    _house: MutexGuard<'static, ()>,
}

impl Play {
    /// The calls so far, in order.
    pub fn calls(&self) -> Vec<Called> {
        lock(&self.stage.happened).calls.clone()
    }

    /// What kernels were told so far, in order: whether they reach memory through addresses that are stored in memory.
    pub fn indirect_accesses(&self) -> Vec<bool> {
        lock(&self.stage.happened).indirect.clone()
    }

    /// The objects that are there, by their types, and how many: all that the host has not released, and what commands
    /// still use.
    pub fn objects(&self) -> BTreeMap<&'static str, usize> {
        // Launches that are over let go of what they used, in threads of their own.
        let over: Vec<_> = lock(&self.stage.launched)
            .extract_if(.., |(launch, _)| launch.is_over())
            .collect();
        for (_, thread) in over {
            let _panicked = thread.join();
        }
        let happened = lock(&self.stage.happened);
        let objects = happened.objects.iter();
        objects
            .filter(|(_, count)| **count > 0)
            .map(|(name, count)| (*name, *count))
            .collect()
    }

    /// The calls that were given a handle of nothing: of an object that was released, or of another kind.
    pub fn misused(&self) -> Vec<Called> {
        const MISUSE: [pi_result; 9] = [
            PI_INVALID_PLATFORM,
            PI_INVALID_DEVICE,
            PI_INVALID_CONTEXT,
            PI_INVALID_QUEUE,
            PI_INVALID_MEM_OBJECT,
            PI_INVALID_PROGRAM,
            PI_INVALID_KERNEL,
            PI_INVALID_EVENT,
            PI_INVALID_EVENT_WAIT_LIST,
        ];
        let mut calls = self.calls();
        calls.retain(|call| call.result.is_some_and(|result| MISUSE.contains(&result)));
        calls
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        // What hangs goes on.
        lock(&self.stage.happened).is_over = true;
        self.stage.curtain.notify_all();
        *lock(&NOW) = None;
    }
}

impl Stage {
    fn new(script: Script) -> Stage {
        Stage {
            platforms: device::platforms(&script),
            script,
            happened: Mutex::default(),
            launched: Mutex::default(),
            curtain: Condvar::new(),
        }
    }

    pub(crate) fn set_up(&self) -> Result<()> {
        let mut happened = lock(&self.happened);
        happened.set_ups += 1;
        let number = happened.set_ups;
        drop(happened);
        self.effects(|fault| fault.place == Place::SetUp && fault.is_at(number))
    }

    pub(crate) fn call(&self, function: Function, body: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut happened = lock(&self.happened);
        happened.calls.push(Called {
            function,
            result: None,
        });
        let any = happened.calls.len();
        let own = happened
            .calls
            .iter()
            .filter(|call| call.function == function)
            .count();
        drop(happened);
        let is_meant = |fault: &Fault| match fault.place {
            Place::Any => fault.is_at(any),
            Place::Call(named) => named == function && fault.is_at(own),
            Place::SetUp | Place::Launch => false,
        };
        // No host releases a second time because the first has failed: what stayed would look like
        // a leak of the host's.
        let releases = function.name().ends_with("Release");
        let result = match self.effects(is_meant) {
            Err(failure) if releases => body().and(Err(failure)),
            Err(failure) => Err(failure),
            Ok(()) => body(),
        };
        let code = result.as_ref().map_or_else(|error| error.code, |()| PI_SUCCESS);
        // Calls are only ever added, so that this one is still in its place.
        lock(&self.happened).calls[any - 1].result = Some(code);
        result
    }

    /// Remembers what a kernel is told about its accesses.
    pub(crate) fn note_indirect(&self, indirect: bool) {
        lock(&self.happened).indirect.push(indirect);
    }

    /// What goes wrong with the next launch, and does not before it is over.
    pub(crate) fn launch(&self) -> Vec<Effect> {
        let mut happened = lock(&self.happened);
        happened.launches += 1;
        let number = happened.launches;
        let faults = self.script.faults.iter();
        let meant = faults.filter(|fault| fault.place == Place::Launch && fault.is_at(number));
        meant.map(|fault| fault.effect.clone()).collect()
    }

    /// Remembers a launch that is not over, and the thread that it is in.
    pub(crate) fn keep(&self, launch: Arc<State>, thread: JoinHandle<()>) {
        lock(&self.launched).push((launch, thread));
    }

    /// Lets go wrong what does with a call.
    fn effects(&self, is_meant: impl Fn(&Fault) -> bool) -> Result<()> {
        for fault in self.script.faults.iter().filter(|fault| is_meant(fault)) {
            self.suffer(&fault.effect)?;
        }
        Ok(())
    }

    pub(crate) fn suffer(&self, effect: &Effect) -> Result<()> {
        match effect {
            Effect::Fail(code, words) => return Err(Error::new(*code, words)),
            Effect::Delay(time) => thread::sleep(*time),
            Effect::Hang => {
                let happened = lock(&self.happened);
                let over = self.curtain.wait_while(happened, |happened| !happened.is_over);
                drop(over.unwrap_or_else(PoisonError::into_inner));
            }
            Effect::Crash => process::abort(),
            Effect::Exit(code) => process::exit(*code),
            Effect::Eat => {
                let mut eaten: Vec<Vec<u8>> = Vec::new();
                loop {
                    // No zeros: pages of them take no memory before they are written to.
                    eaten.push(vec![1; 1 << 24]);
                }
            }
        }
        Ok(())
    }
}

impl Fault {
    fn is_at(&self, number: usize) -> bool {
        self.number.is_none_or(|wanted| wanted == number)
    }
}

/// Counts an object as there, for as long as it is.
pub(crate) struct There {
    // The one that it was made on: an object that outlives its play must not count in the next.
    stage: Arc<Stage>,
    name: &'static str,
}

impl There {
    pub(crate) fn new<T>() -> There {
        let name = type_name::<T>().rsplit("::Mock").next().unwrap_or_default();
        let stage = now();
        *lock(&stage.happened).objects.entry(name).or_default() += 1;
        There { stage, name }
    }

    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }
}

impl Drop for There {
    fn drop(&mut self) {
        let mut happened = lock(&self.stage.happened);
        if let Some(count) = happened.objects.get_mut(self.name) {
            *count -= 1;
        }
    }
}
