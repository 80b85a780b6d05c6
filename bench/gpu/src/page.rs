//! What was measured, as it stands in `docs/gpu.md`.

use std::fmt::Write;

use crate::bundle::Compiler;
use crate::launch::Launch;
use crate::throughput::{Measured, mean};

/// What the geometric mean of all rows has to reach, each row, and each row that needs no explanation.
pub(crate) const MEAN: f64 = 0.95;
/// What each row has to reach.
pub(crate) const LEAST: f64 = 0.8;

/// Where and when it was measured.
pub(crate) struct Place {
    pub(crate) device: String,
    pub(crate) processors: u32,
    pub(crate) capability: u32,
    pub(crate) driver: String,
    pub(crate) cuda: String,
    pub(crate) date: String,
    /// What was measured: the commit, the compilers.
    pub(crate) made: String,
}

/// Everything of a run.
pub(crate) struct Report {
    pub(crate) place: Place,
    /// Why this is not what the goals are about: rows were left out, or inputs are small.
    pub(crate) lacks: Vec<String>,
    pub(crate) launches: Vec<Launch>,
    pub(crate) rows: Vec<Measured>,
    /// Rows that could not be measured, and why.
    pub(crate) failed: Vec<(String, String)>,
}

impl Report {
    /// What of the goals was not reached.
    pub(crate) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for launch in &self.launches {
            if launch.goal.is_some_and(|goal| launch.ratio > goal) {
                missed.push(format!(
                    "{} takes {:.2} times the driver's",
                    launch.title, launch.ratio
                ));
            }
        }
        for row in &self.rows {
            missed.extend(
                row.wrong
                    .iter()
                    .map(|wrong| format!("{}: {wrong}", row.row.title)),
            );
            if row.ratio(Compiler::Nvcc).is_some_and(|ratio| ratio < LEAST) {
                missed.push(format!("{} is under {LEAST}", row.row.title));
            }
        }
        if self.mean(Compiler::Nvcc).is_some_and(|mean| mean < MEAN) {
            missed.push(format!("the geometric mean is under {MEAN}"));
        }
        missed.extend(self.failed.iter().map(|(row, reason)| format!("{row}: {reason}")));
        missed
    }

    fn mean(&self, to: Compiler) -> Option<f64> {
        let ratios: Vec<f64> = self.rows.iter().filter_map(|row| row.ratio(to)).collect();
        (!ratios.is_empty()).then(|| mean(&ratios))
    }

    /// The text, in Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a text takes everything");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let place = &self.place;
        writeln!(
            text,
            "Measured on {}: {} (sm_{}, {} multiprocessors), driver {}, CUDA {}; {}.\n",
            place.date,
            place.device,
            place.capability,
            place.processors,
            place.driver,
            place.cuda,
            place.made
        )?;
        if !self.lacks.is_empty() {
            writeln!(text, "**Not the whole of it**: {}.\n", self.lacks.join("; "))?;
        }
        if !self.launches.is_empty() {
            writeln!(
                text,
                "| Launch | the driver alone, µs | through offkit, µs | ratio | |"
            )?;
            writeln!(text, "|---|---:|---:|---:|---|")?;
        }
        for launch in &self.launches {
            let verdict = match launch.goal {
                None => String::new(),
                Some(goal) => verdict(launch.ratio <= goal, &format!("at most {goal}")),
            };
            let (raw, own) = (launch.raw * 1e6, launch.offkit * 1e6);
            writeln!(
                text,
                "| {} | {raw:.2} | {own:.2} | {:.2} | {verdict} |",
                launch.title, launch.ratio
            )?;
        }
        if !self.rows.is_empty() {
            writeln!(
                text,
                "\n| Kernel | a second | offkit | nvcc | ratio | to `restrict` | |"
            )?;
            writeln!(text, "|---|---|---:|---:|---:|---:|---|")?;
        }
        for row in &self.rows {
            self.write_row(text, row)?;
        }
        let shown = |to| {
            self.mean(to)
                .map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"))
        };
        if let Some(mean) = self.mean(Compiler::Nvcc) {
            let verdict = verdict(mean >= MEAN, &format!("at least {MEAN}"));
            let (own, restrict) = (shown(Compiler::Nvcc), shown(Compiler::NvccRestrict));
            writeln!(text, "| geometric mean | | | | {own} | {restrict} | {verdict} |")?;
        }
        for (row, reason) in &self.failed {
            writeln!(text, "\nNot measured: {row}: {reason}")?;
        }
        for row in &self.rows {
            for wrong in &row.wrong {
                writeln!(text, "\nWrong results: {}: {wrong}", row.row.title)?;
            }
        }
        Ok(())
    }

    fn write_row(&self, text: &mut String, row: &Measured) -> std::fmt::Result {
        let rate = |compiler| {
            let seconds = row.seconds.iter().find(|(of, _)| *of == compiler);
            seconds.map_or_else(
                || "-".to_owned(),
                |(_, seconds)| significant(row.row.work / seconds),
            )
        };
        let ratio = |to| {
            row.ratio(to)
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
        };
        let mark = match row.ratio(Compiler::Nvcc) {
            _ if !row.wrong.is_empty() => "**wrong results**",
            Some(ratio) if ratio < LEAST => "**under 0.8**",
            Some(ratio) if ratio < MEAN => "under 0.95",
            _ => "",
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {mark} |",
            row.row.title,
            row.row.unit,
            rate(Compiler::Offkit),
            rate(Compiler::Nvcc),
            ratio(Compiler::Nvcc),
            ratio(Compiler::NvccRestrict),
        )
    }
}

fn verdict(is_met: bool, goal: &str) -> String {
    match is_met {
        true => format!("{goal}, met"),
        false => format!("{goal}, **missed**"),
    }
}

/// A number with three digits that count.
fn significant(number: f64) -> String {
    let digits = 2 - number.abs().max(1e-9).log10().floor() as i32;
    format!("{number:.*}", usize::try_from(digits).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offkit_gpu::rows::{Scale, rows};

    fn report(ratios: [f64; 3], launch: f64) -> Report {
        let measured = |(row, ratio): (offkit_gpu::rows::Row, f64)| Measured {
            row,
            seconds: vec![(Compiler::Offkit, 1e-3), (Compiler::Nvcc, 1e-3 * ratio)],
            ratios: vec![(Compiler::Nvcc, ratio)],
            wrong: Vec::new(),
        };
        Report {
            place: Place {
                device: "NVIDIA H200".to_owned(),
                processors: 132,
                capability: 90,
                driver: "580.95.05".to_owned(),
                cuda: "13.0".to_owned(),
                date: "1 December 2026".to_owned(),
                made: "offkit 0.1.0".to_owned(),
            },
            lacks: Vec::new(),
            launches: vec![Launch {
                title: "empty",
                raw: 5e-6,
                offkit: 5e-6 * launch,
                ratio: launch,
                goal: Some(1.1),
            }],
            rows: rows(Scale::Full).into_iter().zip(ratios).map(measured).collect(),
            failed: Vec::new(),
        }
    }

    #[test]
    fn goals_are_of_each_row_of_the_mean_and_of_launches() {
        assert_eq!(report([1.0, 0.96, 0.95], 1.1).missed(), [""; 0]);
        // One row may be slow where the others make up for it, but not very slow.
        assert_eq!(report([1.2, 1.2, 0.81], 1.0).missed(), [""; 0]);
        assert_eq!(
            report([1.2, 1.2, 0.79], 1.0).missed(),
            ["saxpy with a guard is under 0.8"]
        );
        assert_eq!(
            report([0.94, 0.94, 0.94], 1.0).missed(),
            ["the geometric mean is under 0.95"]
        );
        assert_eq!(
            report([1.0; 3], 1.2).missed(),
            ["empty takes 1.20 times the driver's"]
        );
    }

    #[test]
    fn the_table_marks_rows_by_their_ratio() {
        let text = report([1.0, 0.9, 0.7], 1.0).text();
        for line in [
            "| vector add, 64 M | GB | 805 | 895 | 0.90 | - | under 0.95 |",
            "| saxpy with a guard | GB | 537 | 767 | 0.70 | - | **under 0.8** |",
            "| geometric mean | | | | 0.857 | - | at least 0.95, **missed** |",
            "Measured on 1 December 2026: NVIDIA H200 (sm_90, 132 multiprocessors), driver 580.95.05, CUDA 13.0; offkit 0.1.0.",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("Not the whole"), "{text}");
    }

    #[test]
    fn a_table_of_a_part_says_so() {
        let mut part = report([1.0; 3], 1.0);
        part.lacks = vec!["few rows".to_owned(), "small inputs".to_owned()];
        let text = part.text();
        assert!(
            text.contains("\n\n**Not the whole of it**: few rows; small inputs.\n\n"),
            "{text}"
        );
    }
}
