//! Compiled code in the user's cache, so that what was compiled once runs at once and without LLVM.

use offkit_cache::{Cache, Digest, Entry, FileId, Key, Kind};
use offkit_llvm::frame::{Message, read_message, write_message};
use offkit_llvm::{CompileRequest, Compiled, PROTOCOL_VERSION};

use super::mathematics;
use crate::Program;
use crate::sync::OnceLock;

/// A SPIR-V module that has its values of specialization constants.
pub(crate) struct Source {
    pub(super) spirv: Vec<u8>,
    digest: Digest,
    vector_functions: OnceLock<Vec<String>>,
}

impl Source {
    pub(crate) fn new(spirv: Vec<u8>) -> Source {
        let digest = Digest::of(&spirv);
        Source {
            spirv,
            digest,
            vector_functions: OnceLock::new(),
        }
    }

    /// The functions of libmvec that the program's kernels call, which is of this module.
    pub(super) fn vector_functions(&self, program: &Program) -> &[String] {
        self.vector_functions
            .get_or_init(|| mathematics::vector_functions(program.module()))
    }
}

/// What all that is kept of a module depends on. None where nothing is kept, or there is no worker.
fn key_of_module(source: &Source, subject: &str) -> Option<Key> {
    if !Cache::user().is_on() {
        return None;
    }
    // By its file: a process that runs could tell as well, but what is kept is there to need none.
    let worker = FileId::of(&super::installed_worker().ok()?)?;
    let key = Key::new(Kind::Kernel, subject)
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .text("protocol", PROTOCOL_VERSION)
        .text("worker", worker.identity)
        .text("module", source.digest);
    Some(key)
}

/// All that the code for a request depends on. None where nothing is kept, or there is no worker whose code could be.
pub(super) fn key(source: &Source, request: &CompileRequest) -> Option<Key> {
    Some(of_request(key_of_module(source, &request.kernel)?, request))
}

/// With all of a request. A field that is not looked at here is an error of the compiler's.
fn of_request(key: Key, request: &CompileRequest) -> Key {
    let CompileRequest {
        kernel,
        variant,
        triple,
        processor,
        features,
        vector_functions,
        level,
        lines,
    } = request;
    let key = key
        .text("kernel", kernel)
        .text("variant", format_args!("{variant:?}"))
        .text("level", format_args!("{level:?}"))
        .text("lines", lines)
        .text("triple", triple)
        .text("processor", processor)
        .text("features", features)
        .text("functions of vectors", vector_functions.join(" "));
    // The worker's own processor is this one.
    match (triple.as_str(), processor.as_str()) {
        ("", "") => key.bytes("this processor", offkit_host::processor().as_bytes()),
        _ => key,
    }
}

/// What is kept for a key.
pub(super) fn get(key: &Key) -> Option<Compiled> {
    let entry = Cache::user().get(key)?;
    // What can't be read counts as nothing: it is made again, and replaced.
    let Message { mut body, blocks } = read_message::<Compiled>(&mut &entry[..]).ok()??;
    body.object = blocks.into_iter().next()?;
    Some(body)
}

/// Keeps what a worker has made, with the files that it has had in use; what comes back is to be [shared](share).
pub(super) fn put(key: &Key, compiled: &Compiled, files: &[FileId]) -> Option<Entry> {
    let mut content = Vec::new();
    write_message(&mut content, compiled, &[&compiled.object]).ok()?;
    Cache::user().put_here(key, files, &content)
}

/// Gives an entry to other machines, which may take long.
pub(super) fn share(entry: Entry) {
    Cache::user().share(entry);
}

/// Whether a module has been built before: then what its launches need is kept, most likely. From now on it has.
pub(super) fn was_built(source: &Source) -> bool {
    let Some(key) = key_of_module(source, "modules built") else {
        return false;
    };
    let was_built = Cache::user().get(&key).is_some();
    if !was_built {
        _ = Cache::user().put_here(&key, &[], b"");
    }
    was_built
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use offkit_compile::{Arithmetic, Cut, Variant};
    use offkit_llvm::Effort;

    use super::*;

    #[test]
    fn whatever_a_request_says_makes_another_key() {
        let base = CompileRequest {
            kernel: "saxpy".to_owned(),
            variant: Variant {
                width: 8,
                rows: true,
                full: true,
                narrow_ids: true,
                contract: true,
                check_bounds: true,
                cut: Cut::AsSeen,
                arithmetic: Arithmetic::default(),
            },
            triple: String::new(),
            processor: String::new(),
            features: String::new(),
            vector_functions: Vec::new(),
            level: Effort::Light,
            lines: false,
        };
        type Change = fn(&mut CompileRequest);
        let changes: &[Change] = &[
            |_| (),
            |request| request.kernel.push('2'),
            |request| request.variant.width = 4,
            |request| request.variant.rows = false,
            |request| request.variant.full = false,
            |request| request.variant.narrow_ids = false,
            |request| request.variant.contract = false,
            |request| request.variant.check_bounds = false,
            |request| request.variant.cut = Cut::Single,
            |request| request.variant.cut = Cut::Merged,
            |request| request.variant.arithmetic.no_signed_zeros = true,
            |request| request.variant.arithmetic.relaxed = true,
            |request| request.variant.arithmetic.exact_quotients = true,
            |request| request.triple.push_str("aarch64-unknown-linux-gnu"),
            |request| request.processor.push_str("x86-64-v3"),
            |request| request.features.push_str("+avx2"),
            |request| request.vector_functions.push("_ZGVdN4v_erf".to_owned()),
            |request| request.level = Effort::Full,
            |request| request.lines = true,
        ];
        let mut seen = BTreeSet::new();
        for (number, change) in changes.iter().enumerate() {
            let mut request = base.clone();
            change(&mut request);
            let key = of_request(Key::new(Kind::Kernel, "saxpy"), &request);
            assert!(
                seen.insert(key.digest()),
                "change {number} makes no key of its own"
            );
        }
    }
}
