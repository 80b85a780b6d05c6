//! The files of this machine, as the planner looks at them.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use offkit_devlib::{Abi, Search};
use offkit_host::{command_line, files};
use offkit_object::{ContainerKind, ImageFormat, Item, Limits, Target, inspect, walk};

use crate::{Content, Files, UsageError};

/// The files of this machine.
pub(crate) struct OnDisk;

impl Files for OnDisk {
    fn look(&self, path: &Path) -> Content {
        // Nothing of a file that is no regular one, and nothing of a file that is not there yet.
        let Ok(content) = files::open_regular(path) else {
            return Content::Unknown;
        };
        match ImageFormat::detect(&content) {
            format @ ImageFormat::Bitcode => Content::Module(
                inspect(&content, format, &Limits::default())
                    .target
                    .triple
                    .to_string(),
            ),
            ImageFormat::Spirv => Content::DeviceImages,
            _ if path.extension().is_some_and(|extension| extension == "ll") => {
                Content::Module(text_triple(&content))
            }
            _ if is_container(path, &content) => Content::DeviceImages,
            _ => Content::Unknown,
        }
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn find_device_library(
        &self,
        name: &str,
        folders: &[PathBuf],
        target: &Target,
        code_object_version: Option<u32>,
    ) -> Result<Vec<(PathBuf, Abi)>, UsageError> {
        let mut search = Search::on_this_machine(folders);
        search.code_object_version = code_object_version;
        let answer = search.find(name, target);
        if let Some(problem) = answer.problem {
            return Err(UsageError::new(problem.to_string()));
        }
        let Some(found) = answer.found else {
            return Ok(Vec::new());
        };
        let files = found.files.into_iter().filter(|file| file.is_bitcode);
        Ok(files
            .map(|file| (file.path.clone(), file.abi(target).or(&found.abi)))
            .collect())
    }

    fn commands(&self, words: &[OsString], temporary: &Path) -> Vec<Vec<OsString>> {
        let Some((program, arguments)) = words.split_first() else {
            return Vec::new();
        };
        let mut clang = Command::new(program);
        clang.args(arguments).arg("-###");
        // The commands name temporary files, which nobody removes when clang does not run them
        // itself.
        if !temporary.as_os_str().is_empty() {
            clang.env("TMPDIR", temporary).env("TEMP", temporary);
        }
        match clang.output() {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stderr);
                // The other lines are about clang itself: its version, and where it is.
                let lines = text.lines().filter(|line| line.starts_with(" \""));
                lines.map(command_line::split).collect()
            }
            // No error: the command goes to clang as it is then, which says what is wrong with it.
            _ => Vec::new(),
        }
    }
}

/// Whether it is a container of device images, and not one of files that may have some.
fn is_container(path: &Path, content: &[u8]) -> bool {
    let name = path.display().to_string();
    let mut kind = None;
    let _ = walk(&name, content, None, &Limits::default(), &mut |item| {
        if let Item::Container(container) = item {
            kind = Some(container.kind);
        }
        // What is inside does not matter.
        ControlFlow::Break(())
    });
    kind.is_some_and(|kind| !kind.is_host() && !matches!(kind, ContainerKind::Image | ContainerKind::Unknown))
}

/// The triple in the text form of a module.
fn text_triple(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("target triple = \""));
    line.and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned()
}
