//! Compiled code in the user's cache, so that what was compiled once runs at once and without LLVM.

use offkit_cache::{Cache, Digest, FileId, Key, Kind};
use offkit_llvm::frame::{Message, read_message, write_message};
use offkit_llvm::{CompileRequest, Compiled, PROTOCOL_VERSION};

/// A SPIR-V module that has its values of specialization constants.
pub(crate) struct Source {
    pub(super) spirv: Vec<u8>,
    digest: Digest,
}

impl Source {
    pub(crate) fn new(spirv: Vec<u8>) -> Source {
        let digest = Digest::of(&spirv);
        Source { spirv, digest }
    }
}

/// All that the code for a request depends on. None where nothing is kept, or there is no worker whose code could be.
pub(super) fn key(source: &Source, request: &CompileRequest) -> Option<Key> {
    if !Cache::user().is_on() {
        return None;
    }
    let worker = FileId::of(&super::installed_worker().ok()?)?;
    let CompileRequest {
        kernel,
        variant,
        triple,
        processor,
        features,
        level,
    } = request;
    let key = Key::new(Kind::Kernel, kernel)
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .text("protocol", PROTOCOL_VERSION)
        .text("worker", worker.identity)
        .text("module", source.digest)
        .text("kernel", kernel)
        .text("variant", format_args!("{variant:?}"))
        .text("level", format_args!("{level:?}"));
    // The worker's own processor is this one.
    Some(match (triple.as_str(), processor.as_str()) {
        ("", "") => key.bytes("this processor", offkit_host::processor().as_bytes()),
        _ => key
            .text("triple", triple)
            .text("processor", processor)
            .text("features", features),
    })
}

/// What is kept for a key.
pub(super) fn get(key: &Key) -> Option<Compiled> {
    let entry = Cache::user().get(key)?;
    let Message { mut body, blocks } = read_message::<Compiled>(&mut &entry[..]).ok()??;
    body.object = blocks.into_iter().next()?;
    Some(body)
}

/// Keeps what a worker has made, with the files that it has had in use.
pub(super) fn put(key: &Key, compiled: &Compiled, files: &[FileId]) {
    let mut content = Vec::new();
    if write_message(&mut content, compiled, &[&compiled.object]).is_ok() {
        Cache::user().put(key, files, &content);
    }
}
