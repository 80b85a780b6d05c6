//! What came of a corpus, in numbers.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::record::{Code, Record, Verdict};

/// Vector code that the CPU device should have, of all kernels.
const VECTORS: f64 = 0.97;

/// Kernels of the sample that should run to the end.
const FINISHED: f64 = 0.8;

/// What came of a corpus.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// Files with modules.
    pub(crate) files: usize,
    /// Different modules among them.
    pub(crate) modules: usize,
    seed: u64,
    /// Modules that were compiled.
    examined: usize,
    kernels: usize,
    vector: usize,
    /// Why there is scalar code, and for how many kernels.
    scalar: BTreeMap<String, usize>,
    /// Why there is no code, and for how many kernels.
    interpreted: BTreeMap<String, usize>,
    /// Milliseconds that the first code of a kernel takes: median, 90 of 100, most.
    milliseconds: [u64; 3],
    /// Kernels that were run, compiled and interpreted.
    sample: usize,
    /// Of these, how many came to an end in the interpreter.
    finished: usize,
    /// Of these, how many wrote something.
    wrote: usize,
    verdicts: BTreeMap<Verdict, usize>,
    /// Why the interpreter came to no end, and for how many kernels.
    unfinished: BTreeMap<String, usize>,
    /// The kernels whose numbers are further apart, as errors that are allowed put them: module, kernel, how far.
    magnified: Vec<[String; 3]>,
    /// The kernels that are at fault: module, kernel, what happened.
    faults: Vec<[String; 3]>,
}

impl Summary {
    /// Of some records.
    pub(crate) fn of(files: usize, modules: usize, seed: u64, records: &[Record]) -> Summary {
        let mut summary = Summary {
            files,
            modules,
            seed,
            kernels: records.len(),
            ..Summary::default()
        };
        let mut names: Vec<_> = records.iter().map(|record| &record.module).collect();
        names.sort_unstable();
        names.dedup();
        summary.examined = names.len();
        let mut times: Vec<_> = records.iter().map(|record| record.milliseconds).collect();
        times.sort_unstable();
        let part = |hundredth: usize| times.get(times.len() * hundredth / 100).copied().unwrap_or(0);
        summary.milliseconds = [part(50), part(90), times.last().copied().unwrap_or(0)];
        for record in records {
            let causes = match record.code {
                Code::Vector => {
                    summary.vector += 1;
                    None
                }
                Code::Scalar => Some(&mut summary.scalar),
                Code::None => Some(&mut summary.interpreted),
            };
            if let Some(causes) = causes {
                *causes.entry(general(&record.why)).or_default() += 1;
            }
            summary.see_run(record);
        }
        summary
    }

    fn see_run(&mut self, record: &Record) {
        let Some(run) = &record.run else { return };
        self.sample += 1;
        *self.verdicts.entry(run.verdict).or_default() += 1;
        self.wrote += usize::from(run.wrote);
        match run.verdict {
            Verdict::Unfinished => *self.unfinished.entry(general(&run.what)).or_default() += 1,
            Verdict::Interpreted => {}
            _ => self.finished += 1,
        }
        let told = match run.verdict {
            Verdict::Magnified => &mut self.magnified,
            Verdict::Wrong | Verdict::Crashed => &mut self.faults,
            _ => return,
        };
        let record = [&record.module, &record.kernel, &run.what];
        told.push(record.map(Clone::clone));
    }

    /// What of it should be better.
    pub(crate) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        let mut check = |part: usize, whole: usize, goal: f64, what: &str| {
            if (part as f64) < whole as f64 * goal {
                missed.push(format!(
                    "{what}: {}, at least {:.0} % expected",
                    share(part, whole),
                    goal * 100.0
                ));
            }
        };
        check(self.vector, self.kernels, VECTORS, "vector code");
        check(
            self.finished,
            self.sample,
            FINISHED,
            "kernels of the sample that run to the end",
        );
        if !self.faults.is_empty() {
            missed.push(format!("{} kernels are wrong, or crash", self.faults.len()));
        }
        missed
    }
}

/// A cause without what differs from kernel to kernel: ids, and names in quotes.
fn general(cause: &str) -> String {
    let first = cause.lines().next().unwrap_or_default();
    let mut general = String::new();
    let mut is_quoted = false;
    let mut is_id = false;
    for letter in first.chars() {
        is_id = ['%', '$'].contains(&letter) || is_id && letter.is_ascii_digit();
        if letter == '`' {
            is_quoted = !is_quoted;
            general.push_str(if is_quoted { "`…`" } else { "" });
        } else if !is_quoted && !is_id {
            general.push(letter);
        }
    }
    general
}

fn share(part: usize, whole: usize) -> String {
    format!(
        "{part} of {whole} ({:.1} %)",
        part as f64 * 100.0 / whole.max(1) as f64
    )
}

impl Display for Summary {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let by_number = |causes: &BTreeMap<String, usize>| {
            let mut causes: Vec<_> = causes
                .iter()
                .map(|(cause, count)| (*count, cause.clone()))
                .collect();
            causes.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            causes
        };
        writeln!(
            out,
            "{} modules in {} files, {} of them compiled; seed {}",
            self.modules, self.files, self.examined, self.seed
        )?;
        writeln!(out, "vector code      {}", share(self.vector, self.kernels))?;
        for (title, causes) in [("scalar code", &self.scalar), ("interpreted", &self.interpreted)] {
            writeln!(out, "{title:16} {}", share(causes.values().sum(), self.kernels))?;
            for (count, cause) in by_number(causes) {
                writeln!(out, "{count:22}  {cause}")?;
            }
        }
        let [median, most_of, most] = self.milliseconds;
        writeln!(
            out,
            "time to code     median {median} ms, 90 of 100 in {most_of} ms, most {most} ms"
        )?;
        if self.sample == 0 {
            return Ok(());
        }
        writeln!(out, "\ncompiled and interpreted, {} kernels", self.sample)?;
        writeln!(out, "run to the end   {}", share(self.finished, self.sample))?;
        writeln!(out, "and write        {}", share(self.wrote, self.sample))?;
        for (verdict, count) in &self.verdicts {
            let name = match verdict {
                Verdict::Equal => "the same bytes",
                Verdict::Contracted => "the same but for products and sums made one operation",
                Verdict::Rounded => "within the error of their functions",
                Verdict::Magnified => "further apart, as allowed errors of their functions put them",
                Verdict::Unordered => "work-items that meet in memory: not compared",
                Verdict::Unfinished => "no inputs found",
                Verdict::Interpreted => "not compiled",
                Verdict::Wrong => "WRONG",
                Verdict::Crashed => "CRASHED",
            };
            writeln!(out, "{count:22}  {name}")?;
            if *verdict == Verdict::Unfinished {
                for (count, cause) in by_number(&self.unfinished) {
                    writeln!(out, "{count:28}  {cause}")?;
                }
            }
        }
        for [module, kernel, what] in self.magnified.iter().chain(&self.faults) {
            writeln!(out, "{module} {kernel}\n    {what}")?;
        }
        Ok(())
    }
}
