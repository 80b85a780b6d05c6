//! What this process does itself: marking, packing, linking. All that is asked of LLVM is asked here.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use offkit_devlib::Search;
use offkit_host::files::{self, Content};
use offkit_link::device_link::{DeviceLink, Input, LinkError, Linked, Llvm};
use offkit_link::wrap::{Wrap, WrapKind};
use offkit_llvm::Source;
use offkit_object::offload_binary::packaged;
use offkit_object::{BundleState, OffloadBinaryVersion, OutputFormat, Producer};

use super::RunError;
use crate::plan::{Link, LinkInputKind, LinkResult, Mark, Pack};

impl Mark {
    pub(super) fn run(&self, llvm: &Mutex<Llvm<'_>>) -> Result<(), RunError> {
        files::check_output(&self.output)?;
        files::check_inputs_stay(&self.output, [&self.input])?;
        let module_id = self.module_id.to_string_lossy();
        let mut llvm = llvm.lock().unwrap_or_else(PoisonError::into_inner);
        let marked = llvm
            .worker()
            .and_then(|worker| worker.marked(Source::file(&self.input), &module_id, self.only_annotated))
            .map_err(|error| RunError::Link {
                error: Box::new(LinkError::Worker(error)),
                is_program: false,
            })?;
        Ok(files::write(&self.output, &[&marked])?)
    }
}

impl Pack {
    pub(super) fn run(&self) -> Result<(), RunError> {
        let contents: Vec<Content> = self
            .images
            .iter()
            .map(|(path, _)| files::open(path))
            .collect::<Result<_, _>>()?;
        let images = self.images.iter().zip(&contents);
        let images = images.map(|((path, target), content)| {
            let strings = [
                ("arch".to_owned(), target.arch_or_generic()),
                ("triple".to_owned(), target.triple.to_string()),
            ];
            packaged(path, Producer::Sycl, &strings, content)
        });
        let format = OutputFormat::OffloadBinary(OffloadBinaryVersion::V1);
        let packed = offkit_object::pack(images, format, BundleState::Object)?;
        Ok(files::write(&self.output, &[&packed.content.into_bytes()])?)
    }
}

impl Link {
    pub(super) fn run(&self, llvm: &Mutex<Llvm<'_>>, warnings: &mut Vec<String>) -> Result<(), RunError> {
        files::check_output(&self.output)?;
        let paths = || self.inputs.iter().filter_map(|input| path(&input.what));
        files::check_inputs_stay(&self.output, paths())?;
        let contents: Vec<Content> = paths().map(|path| files::open(path)).collect::<Result<_, _>>()?;
        let link = self.device_link(&contents);
        // Only as long as LLVM is asked: other steps wait for the lock.
        let linked = {
            let mut llvm = llvm.lock().unwrap_or_else(PoisonError::into_inner);
            link.run_with(&mut llvm, &mut |_| {})
        };
        let is_program = matches!(self.result, LinkResult::Registration(_));
        let linked = match linked {
            // A program need not have device code, though it is linked like those that do: its object registers
            // nothing.
            Err(LinkError::NoDeviceCode { .. } | LinkError::NothingToLink { .. }) if is_program => {
                Linked::default()
            }
            result => result.map_err(|error| RunError::Link {
                error: Box::new(error),
                is_program,
            })?,
        };
        let bytes = match &self.result {
            LinkResult::SyclBin => linked.write(OutputFormat::default(), self.state)?,
            LinkResult::Registration(registration) => {
                let mut wrap = Wrap::new(WrapKind::SyclV3);
                if let Some(triple) = &registration.host_triple {
                    wrap.host_triple.clone_from(triple);
                }
                wrap.allow_empty = true;
                wrap.is_marked = true;
                wrap.compile_options.clone_from(&registration.compile_options);
                wrap.link_options.clone_from(&registration.link_options);
                wrap.run(linked.images)?
            }
        };
        files::write(&self.output, &[&bytes])?;
        warnings.extend(linked.notes);
        Ok(())
    }

    /// What `offkit link` makes of the same options; `contents` are those of the files, in order.
    fn device_link<'a>(&self, contents: &'a [Content]) -> DeviceLink<'a> {
        let mut contents = contents.iter();
        let inputs = self.inputs.iter().filter_map(|input| {
            let linked = match &input.what {
                LinkInputKind::File(path) => Input::read_file(path, &**contents.next()?),
                LinkInputKind::Made { path, source } => {
                    Input::read_file(path, &**contents.next()?).with_name(source.display().to_string())
                }
                LinkInputKind::Library(name) => Input::library(name),
            };
            Some(linked.with_whole_archive(input.whole_archive))
        });
        let inputs: Vec<_> = inputs.collect();
        // Without libraries there is no compiler to be found.
        let has_libraries = inputs.iter().any(|input| input.library_name().is_some());
        let default_libraries = self.default_libraries && self.state == BundleState::Executable;
        let mut search = match has_libraries || default_libraries {
            true => Search::on_this_machine(&self.library_folders),
            false => Search::default(),
        };
        search.shared_libraries = self.prefer_shared_libraries;
        let knows_program =
            matches!(&self.result, LinkResult::Registration(registration) if registration.knows_program);
        let is_open = self.allows_dependencies() || self.state != BundleState::Executable;
        DeviceLink {
            host_program: knows_program.then(|| inputs.clone()),
            inputs,
            search,
            targets: self.targets.clone(),
            default_libraries,
            archive_kernels: matches!(self.result, LinkResult::Registration(_)),
            split: self.split.unwrap_or_default(),
            dependencies: is_open,
            state: self.state,
            spirv_version: self.spirv_version,
            spirv_extensions: self.spirv_extensions.clone(),
            backend_options: self.backend_options.clone(),
            allow_imports: is_open,
            ..DeviceLink::default()
        }
    }
}

/// The file of an input, if it is one.
fn path(input: &LinkInputKind) -> Option<&PathBuf> {
    match input {
        LinkInputKind::File(path) | LinkInputKind::Made { path, .. } => Some(path),
        LinkInputKind::Library(_) => None,
    }
}
