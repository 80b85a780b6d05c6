//! What becomes of the kernels of a module: how they are compiled, and whether compiled they do what the interpreter does.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use offkit_kernel::builtins::may_err;
use offkit_kernel::ir::{self, CollectiveKind, Operation};
use offkit_plugin_cpu::{LaunchError, LaunchOptions, Memory, Program, Trial, TrialOptions};
use offkit_spirv::{Module, kernel_parameters};

use crate::compare::{Difference, compare, spread};
use crate::inputs::{DRAWS, Draw, Inputs, Signature};
use crate::record::{Code, Record, Run, Verdict};

/// Steps of the interpreter, after which inputs are given up.
const MOST_STEPS: u64 = 1 << 24;

/// How often buffers of a draw grow.
const MOST_GROWTHS: usize = 48;

/// How often a kernel is interpreted with errors, each time with others, where numbers are further apart than the bounds for
/// all kernels.
const ERRING: u64 = 16;

/// How far from the interpreter's numbers compiled ones may be then, in times what the furthest of those with errors is.
///
/// Those with errors are a sample. Where many errors add up, the furthest of 16 sums is two standard deviations off, give or take
/// one, so that this is between four and twelve of them.
const FURTHEST: f64 = 4.0;

/// A module that was built.
struct Built<'s> {
    spirv: &'s [u8],
    module: ir::Module,
    program: Arc<Program>,
    memory: Arc<Memory>,
}

impl<'s> Built<'s> {
    fn new(spirv: &'s [u8]) -> Result<Built<'s>, String> {
        let spirv_module = Module::from_bytes(spirv).map_err(|error| error.to_string())?;
        let module = offkit_kernel::read(spirv_module.dr()).map_err(|error| error.to_string())?;
        module.verify().map_err(|error| error.to_string())?;
        let memory = Memory::new();
        let parameters = kernel_parameters(&spirv_module);
        let program = Program::from_read(module.clone(), parameters, Arc::clone(&memory));
        Ok(Built {
            spirv,
            module,
            program: Arc::new(program.map_err(|error| error.to_string())?),
            memory,
        })
    }
}

/// Examines the kernels of a module; `seed` is that of the inputs, if they are to be run. `tell` is told what is being done,
/// for whoever finds the process gone.
pub(crate) fn examine(
    digest: &str,
    spirv: &[u8],
    seed: Option<u64>,
    tell: &dyn Fn(&str, &str),
) -> Vec<Record> {
    tell("", "building");
    let record = |kernel: &str| Record {
        module: digest.to_owned(),
        kernel: kernel.to_owned(),
        code: Code::None,
        why: String::new(),
        milliseconds: 0,
        run: None,
    };
    let built = match Built::new(spirv) {
        Ok(built) => built,
        Err(why) => {
            return vec![Record {
                why: format!("not built: {why}"),
                ..record("")
            }];
        }
    };
    let kernels = built.program.kernels().iter().enumerate();
    let records = kernels.map(|(index, info)| {
        tell(&info.name, "compiling");
        let options = TrialOptions {
            at_full_effort: false,
            contract: true,
            check_bounds: false,
        };
        let trial = Trial::new(&built.program, spirv, index, options);
        let started = Instant::now();
        let compiled = trial.compile(None);
        let milliseconds = started.elapsed().as_millis() as u64;
        let (code, why) = match compiled {
            Ok(notes) => match notes.iter().find_map(|note| note.strip_prefix("scalar code: ")) {
                Some(why) => (Code::Scalar, why.to_owned()),
                None => (Code::Vector, String::new()),
            },
            Err(why) => (Code::None, why.replace(&format!("kernel `{}` ", info.name), "")),
        };
        let run = seed.map(|seed| match code {
            Code::None => verdict(Verdict::Interpreted, why.clone()),
            _ => Comparison::new(&built, index, tell).run(seed),
        });
        Record {
            code,
            why,
            milliseconds,
            run,
            ..record(&info.name)
        }
    });
    records.collect()
}

fn verdict(verdict: Verdict, what: String) -> Run {
    Run {
        verdict,
        what,
        wrote: false,
        draw: 0,
    }
}

/// A kernel that is run compiled and interpreted.
struct Comparison<'c> {
    built: &'c Built<'c>,
    name: &'c str,
    signature: Signature,
    /// With few passes, and with all.
    tiers: [Trial; 2],
    /// The same without products and sums in one.
    exact: [Trial; 2],
    /// Whether it has results that need not be exact: of functions, and of sums in any order.
    is_inexact: bool,
    tell: &'c dyn Fn(&str, &str),
}

impl<'c> Comparison<'c> {
    fn new(built: &'c Built<'c>, index: usize, tell: &'c dyn Fn(&str, &str)) -> Comparison<'c> {
        let info = &built.program.kernels()[index];
        let trial = |at_full_effort, contract| {
            let options = TrialOptions {
                at_full_effort,
                contract,
                check_bounds: false,
            };
            Trial::new(&built.program, built.spirv, index, options)
        };
        let functions = built
            .module
            .functions
            .iter()
            .flat_map(|function| &function.blocks);
        let mut instructions = functions.flat_map(|block| &block.instructions);
        Comparison {
            built,
            name: &info.name,
            signature: Signature::of(&built.module, index, info),
            tiers: [trial(false, true), trial(true, true)],
            exact: [trial(false, false), trial(true, false)],
            is_inexact: instructions.any(|instruction| match &instruction.operation {
                Operation::Extended(op) => may_err(*op),
                Operation::Collective(collective) => matches!(
                    collective.kind,
                    CollectiveKind::Reduce(_)
                        | CollectiveKind::InclusiveScan(_)
                        | CollectiveKind::ExclusiveScan(_)
                ),
                _ => false,
            }),
            tell,
        }
    }

    /// Runs the kernel with one draw of inputs after the other, until one tells enough.
    fn run(&self, seed: u64) -> Run {
        let mut best: Option<Run> = None;
        let rank = |run: &Run| match run.verdict {
            Verdict::Unordered => 2 - i32::from(run.wrote),
            Verdict::Unfinished => 4,
            _ => -i32::from(run.wrote),
        };
        for number in 0..DRAWS {
            let run = self
                .run_draw(seed, number)
                .unwrap_or_else(|error| verdict(Verdict::Unfinished, error));
            let is_telling = run.wrote && !matches!(run.verdict, Verdict::Unordered | Verdict::Unfinished);
            if is_telling || run.verdict == Verdict::Wrong {
                return run;
            }
            if best.as_ref().is_none_or(|best| rank(&run) < rank(best)) {
                best = Some(run);
            }
        }
        best.unwrap_or_else(|| verdict(Verdict::Unfinished, "there are no draws".to_owned()))
    }

    /// Runs the kernel with a draw of inputs. The error is why the interpreter came to no end.
    fn run_draw(&self, seed: u64, number: u64) -> Result<Run, String> {
        let (inputs, forward) = self.finish(Draw::new(&self.signature, seed, number))?;
        let wrote = inputs
            .buffers
            .iter()
            .zip(&forward)
            .any(|(buffer, left)| buffer.content != *left);
        let contrary = LaunchOptions {
            contrary: true,
            ..LaunchOptions::default()
        };
        let backward = self.interpret(&inputs, contrary);
        let differs = |left: &[Vec<u8>]| difference(&inputs, &forward, left);
        let is_ordered = backward
            .as_ref()
            .is_ok_and(|left| differs(left).0 == Difference::None);
        let run = |verdict, what: String| Run {
            verdict,
            what,
            wrote,
            draw: number,
        };
        if !is_ordered {
            // Then addresses may be anything, where work-items see what others have written.
            return Ok(run(Verdict::Unordered, String::new()));
        }
        let mut found = (Verdict::Equal, String::new());
        let tiers = self.tiers.iter().zip(&self.exact).zip(["light", "full"]);
        for ((tier, exact), name) in tiers {
            let left = match self.compiled(tier, &inputs, name) {
                Ok(left) => left,
                Err(why) => return Ok(run(Verdict::Interpreted, why)),
            };
            let (apart, place) = differs(&left);
            if apart == Difference::None {
                continue;
            }
            let exact = self
                .compiled(exact, &inputs, "exact")
                .map(|left| differs(&left).0);
            let (verdict, what) = match (exact, apart) {
                (Ok(Difference::None), _) => (Verdict::Contracted, String::new()),
                (Ok(Difference::Rounding(most)), _) | (_, Difference::Rounding(most)) if self.is_inexact => {
                    (Verdict::Rounded, format!("by {most:.1e}"))
                }
                _ => match self.spread(&inputs, &forward, &left) {
                    Some(part) if part <= FURTHEST => (
                        Verdict::Magnified,
                        format!("{name}: {part:.2} times as far as with errors"),
                    ),
                    part => {
                        let part = part.map(|part| format!(", {part:.2} times as far as with errors"));
                        let what = format!("{name}: {place}{}", part.unwrap_or_default());
                        return Ok(run(Verdict::Wrong, what));
                    }
                },
            };
            if verdict > found.0 {
                found = (verdict, what);
            }
        }
        Ok(run(found.0, found.1))
    }

    /// How far numbers are from the interpreter's usual ones, in times what its own are if functions err in the last places and
    /// sums have another order. None where that explains nothing of what differs.
    fn spread(&self, inputs: &Inputs, usual: &[Vec<u8>], found: &[Vec<u8>]) -> Option<f64> {
        if !self.is_inexact {
            return None;
        }
        let erring = (0..ERRING).map(|number| {
            self.interpret(
                inputs,
                LaunchOptions {
                    errors: Some(number),
                    ..LaunchOptions::default()
                },
            )
        });
        let erring: Vec<_> = erring.filter_map(Result::ok).collect();
        let parts = inputs.buffers.iter().enumerate().map(|(index, buffer)| {
            let erring: Vec<_> = erring.iter().map(|left| left[index].as_slice()).collect();
            spread(buffer, &usual[index], &erring, &found[index])
        });
        parts.reduce(|one, other| Some(one?.max(other?))).flatten()
    }

    /// Interprets the kernel, with more room in buffers until it comes to an end.
    fn finish(&self, mut draw: Draw) -> Result<(Inputs, Vec<Vec<u8>>), String> {
        let mut grown = 0;
        loop {
            let inputs = draw
                .make(&self.signature, &self.built.memory)
                .map_err(|error| error.to_string())?;
            let error = match self.interpret(&inputs, LaunchOptions::default()) {
                Ok(left) => return Ok((inputs, left)),
                Err(error) => error,
            };
            let LaunchError::Kernel(fault) = &error else {
                return Err(cause(&error));
            };
            let local = fault
                .what
                .split_once("past local argument ")
                .map(|(_, rest)| rest);
            let local = local.and_then(|rest| rest.split(' ').next()?.parse().ok());
            let is_global =
                fault.what.contains("is out of bounds") && !fault.what.contains("private variable");
            let grows = match (local, fault.address) {
                (Some(index), _) => draw.grow_local(index),
                (None, Some(address)) => is_global && draw.grow_to(&inputs, address),
                (None, None) => false,
            };
            grown += 1;
            if !grows || grown > MOST_GROWTHS {
                return Err(cause(&error));
            }
        }
    }

    fn interpret(&self, inputs: &Inputs, options: LaunchOptions<'_>) -> Result<Vec<Vec<u8>>, LaunchError> {
        (self.tell)(self.name, "interpreting");
        let options = LaunchOptions {
            max_instructions: Some(MOST_STEPS),
            print: Some(&|_| Ok(())),
            ..options
        };
        _ = inputs.restore();
        self.built
            .program
            .launch(self.name, &inputs.range, &inputs.arguments, &options)?;
        Ok(inputs.read().unwrap_or_default())
    }

    fn compiled(&self, trial: &Trial, inputs: &Inputs, tier: &str) -> Result<Vec<Vec<u8>>, String> {
        (self.tell)(self.name, &format!("running {tier} code"));
        let options = LaunchOptions {
            print: Some(&|_| Ok(())),
            ..LaunchOptions::default()
        };
        trial.compile(Some(&inputs.range))?;
        inputs.restore().map_err(|error| error.to_string())?;
        let launched = trial.launch(&inputs.range, &inputs.arguments, &options);
        match launched.map_err(|error| error.to_string())? {
            Some(why) => Err(why),
            None => inputs.read().map_err(|error| error.to_string()),
        }
    }
}

/// The worst difference of any buffer, and where it is.
fn difference(inputs: &Inputs, one: &[Vec<u8>], other: &[Vec<u8>]) -> (Difference, String) {
    let mut worst = (Difference::None, String::new());
    for (buffer, (one, other)) in inputs.buffers.iter().zip(one.iter().zip(other)) {
        match (compare(buffer, one, other), &worst.0) {
            (Difference::Real(at), _) => {
                let bytes = |content: &[u8]| {
                    let bytes = content[at..].iter().take(8);
                    bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
                };
                let place = format!(
                    "{} is {}, interpreted {}",
                    buffer.label(at),
                    bytes(other),
                    bytes(one)
                );
                return (Difference::Real(at), place);
            }
            (Difference::Rounding(most), Difference::Rounding(before)) if most <= *before => {}
            (Difference::Rounding(most), _) => worst = (Difference::Rounding(most), buffer.label(0)),
            (Difference::None, _) => {}
        }
    }
    worst
}

/// What kind of error it was that ended a launch.
fn cause(error: &LaunchError) -> String {
    match error {
        LaunchError::Kernel(fault) => {
            let what = &fault.what;
            let known = [
                ("null pointer", "a null pointer"),
                ("private variable", "an access outside a private variable"),
                ("local variable", "an access outside a variable in local memory"),
                ("local argument", "an access outside local memory"),
                ("read-only", "a write to constant memory"),
                ("is not a multiple", "a misaligned atomic access"),
                ("is out of bounds", "an access far outside of all buffers"),
            ];
            let known = known.iter().find(|(part, _)| what.contains(part));
            known.map_or_else(|| what.clone(), |(_, name)| (*name).to_owned())
        }
        LaunchError::Divergence { .. } => "a barrier that not all work-items reach".to_owned(),
        LaunchError::InstructionLimit { limit, .. } => format!("more than {limit} steps"),
        other => other.to_string(),
    }
}
