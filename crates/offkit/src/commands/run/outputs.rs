//! What is written and compared after a launch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use offkit_host::files;

use super::Run;
use super::arguments::ArrayFile;
use super::array_file::read_array;
use super::buffers::Arguments;
use crate::array::{Array, npy};
use crate::commands::locate;
use crate::commands::written::keep_apart;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{NAME, Terminal};

/// What came of one `--check`.
pub(super) struct Checked<'a> {
    pub(super) argument: usize,
    pub(super) path: &'a Path,
    /// How many elements are expected.
    pub(super) elements: usize,
    /// What is not as expected.
    pub(super) difference: Option<String>,
}

impl Checked<'_> {
    /// Tells of it, or fails.
    pub(super) fn tell(&self, terminal: Terminal) -> Result<(), Failure> {
        let (path, elements) = (self.path.display(), self.elements);
        match &self.difference {
            None => {
                terminal.note(format_args!(
                    "{NAME}{path}{NAME:#}: all {elements} elements agree"
                ));
                Ok(())
            }
            Some(difference) => {
                let message = format!("{path}: argument {}: {difference}", self.argument);
                Err(Failure::new(ExitStatus::No, message))
            }
        }
    }
}

/// The files of `--out` and `--check`, each with the argument that it belongs to.
pub(super) struct Outputs<'a> {
    written: Vec<(usize, &'a Path)>,
    checked: Vec<(usize, &'a Path)>,
}

impl<'a> Outputs<'a> {
    /// Finds the argument that each file belongs to, and what would spoil the results only after all the work: outputs
    /// that cannot be written, or that replace each other or the code that is launched.
    pub(super) fn new(
        options: &'a Run,
        arguments: &Arguments,
        kernel: Option<&offkit_spirv::Kernel>,
    ) -> Result<Self, Failure> {
        let written = select(&options.outputs, None, arguments, kernel)?;
        // With one output it is clear what is to be compared, whatever else the kernel may write.
        let usual = match written.as_slice() {
            [(only, _)] => Some(*only),
            _ => None,
        };
        let checked = select(&options.checks, usual, arguments, kernel)?;
        for (_, path) in &written {
            keep_apart(options.json, path)?;
        }
        check_outputs(options, &written)?;
        Ok(Self { written, checked })
    }

    /// The files to be written, each with its argument.
    pub(super) fn written(&self) -> impl Iterator<Item = (usize, &'a Path)> {
        self.written.iter().copied()
    }

    /// The arguments that are needed back, each once.
    pub(super) fn arguments(&self) -> BTreeSet<usize> {
        let files = self.written.iter().chain(&self.checked);
        files.map(|(index, _)| *index).collect()
    }

    /// The arrays that results are compared with.
    pub(super) fn expected(&self) -> Result<Vec<Array>, Failure> {
        let arrays = self.checked.iter().map(|(_, path)| read_array(path));
        arrays.collect::<Result<_, _>>().map_err(Failure::input)
    }

    pub(super) fn write(&self, results: &BTreeMap<usize, Array>, terminal: Terminal) -> Result<(), Failure> {
        for (index, path) in &self.written {
            let array = &results[index];
            // It may be in the place of an array that went in.
            files::replace(path, &[&npy::header(array), &array.data]).map_err(Failure::input)?;
            terminal.note(format_args!(
                "{NAME}{}{NAME:#}: {} elements of {}",
                path.display(),
                array.len(),
                array.element
            ));
        }
        Ok(())
    }

    pub(super) fn compare(
        &self,
        results: &BTreeMap<usize, Array>,
        expected: &[Array],
        tolerance: f64,
    ) -> Vec<Checked<'a>> {
        let each = self.checked.iter().zip(expected);
        each.map(|(&(argument, path), expected)| Checked {
            argument,
            path,
            elements: expected.len(),
            difference: results[&argument].compare(expected, tolerance).err(),
        })
        .collect()
    }
}

fn check_outputs(options: &Run, outputs: &[(usize, &Path)]) -> Result<(), Failure> {
    for (number, (_, path)) in outputs.iter().enumerate() {
        files::check_output(path).map_err(Failure::input)?;
        if outputs[..number]
            .iter()
            .any(|(_, other)| files::is_same(path, other))
        {
            return Err(Failure::input(format!(
                "`{}` would be written twice",
                path.display()
            )));
        }
        // An array that went in may be replaced by what came out. Nobody means that of the code.
        let mut code = [&options.file].into_iter().chain(&options.link);
        if !files::is_standard_stream(path) && code.any(|name| files::is_same(path, &locate(name).0)) {
            return Err(Failure::input(format!(
                "the output would replace the device code in `{}`",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Which argument each file belongs to. A file without a number belongs to `usual`, else to the only
/// buffer that the kernel may write.
fn select<'a>(
    files: &'a [ArrayFile],
    usual: Option<usize>,
    arguments: &Arguments,
    kernel: Option<&offkit_spirv::Kernel>,
) -> Result<Vec<(usize, &'a Path)>, Failure> {
    let writable = arguments.writable(kernel);
    files
        .iter()
        .map(|file| {
            let index = match (file.argument.or(usual), writable.as_slice()) {
                (Some(index), _) if arguments.array(index).is_some() => index,
                (Some(index), _) => {
                    return Err(Failure::input(format!(
                        "`{}`: argument {index} is not a buffer",
                        file.path.display()
                    )));
                }
                (None, [only]) => *only,
                (None, []) => {
                    return Err(Failure::input(format!(
                        "`{}`: the kernel writes no buffer",
                        file.path.display()
                    )));
                }
                (None, several) => {
                    let list: Vec<_> = several.iter().map(usize::to_string).collect();
                    return Err(Failure::input(format!(
                        "`{}`: the kernel may write several arguments: {}",
                        file.path.display(),
                        list.join(", ")
                    ))
                    .hint(format!(
                        "say which one, `{}={}`",
                        several[0],
                        file.path.display()
                    )));
                }
            };
            Ok((index, file.path.as_path()))
        })
        .collect()
}
