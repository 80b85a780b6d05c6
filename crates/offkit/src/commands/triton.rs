//! Entries of Triton's cache: a folder for each has the kernel in all forms that it went through, and what Triton noted
//! about it. Of `NAME.json` there, `name`, `target` and `num_warps` count, as Triton 2.2 to 3.5 write them.

use std::path::{Path, PathBuf};

use offkit_object::target::Device;
use serde_json::Value;

/// The forms in the order of compilation, by the endings of their files.
static FORMS: [(&str, Option<Text>); 8] = [
    ("ttir", Some(TRITON_IR)),
    ("ttgir", Some(TRITON_GPU_IR)),
    ("llir", Some(LLVM_IR)),
    ("ptx", None),
    ("cubin", None),
    ("amdgcn", Some(AMD_ASSEMBLY)),
    ("hsaco", None),
    ("spv", None),
];

/// Text that only compilers take, and so no code for a device.
#[derive(Clone, Copy)]
struct Text {
    /// What it is called.
    name: &'static str,
    /// Words of which one is in its beginning.
    words: &'static [&'static str],
}

const TRITON_IR: Text = Text {
    name: "Triton IR",
    words: &["tt.func"],
};
const TRITON_GPU_IR: Text = Text {
    name: "Triton GPU IR",
    words: &["tt.func"],
};
const LLVM_IR: Text = Text {
    name: "LLVM IR of Triton",
    words: &["target triple", "LLVMDialectModule"],
};
const AMD_ASSEMBLY: Text = Text {
    name: "AMD assembly of Triton",
    words: &[".amdgcn_target", ".amdhsa_code_object_version"],
};

/// A kernel in the cache.
pub(super) struct Kernel {
    /// What Triton noted about it.
    pub(super) metadata: PathBuf,
    pub(super) name: String,
    target: Option<String>,
}

impl Kernel {
    /// The one that a file is a form of, by its name and by the metadata beside it; `None` for any other file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        form_of(path)?;
        let metadata = path.with_extension("json");
        /// Metadata are one kilobyte or two.
        const MOST: u64 = 1 << 20;
        let file = std::fs::metadata(&metadata).ok()?;
        // To read something else, such as a pipe, may never end.
        if !file.is_file() || file.len() > MOST {
            return None;
        }
        let noted: Value = serde_json::from_slice(&std::fs::read(&metadata).ok()?).ok()?;
        // Others put JSON beside PTX, too: this key is in Triton's alone.
        noted.get("num_warps")?.as_u64()?;
        Some(Self {
            name: noted.get("name")?.as_str()?.to_owned(),
            target: noted.get("target").and_then(target),
            metadata,
        })
    }

    /// The kernel and what it was compiled for, in words.
    pub(super) fn described(&self) -> String {
        match &self.target {
            Some(target) => format!("kernel {} for {target}", self.name),
            None => format!("kernel {}", self.name),
        }
    }

    /// The names of the forms that are there, in the order of compilation.
    pub(super) fn forms(&self) -> Vec<&'static str> {
        let is_there = |form: &&str| self.metadata.with_extension(form).is_file();
        FORMS.iter().map(|(form, _)| *form).filter(is_there).collect()
    }

    /// The files with code for devices.
    fn code(&self) -> Vec<String> {
        let code = FORMS.iter().filter(|(_, text)| text.is_none());
        let files = code.map(|(form, _)| self.metadata.with_extension(form));
        let names = files.filter(|file| file.is_file());
        names
            .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
            .collect()
    }
}

/// Whether a folder is Triton's cache, or an entry of it.
pub(super) fn is_cache(folder: &Path) -> bool {
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let is_entry = |folder: &Path| entries(folder).any(|file| Kernel::of(&file).is_some());
    is_entry(folder) || entries(folder).any(|inside| inside.is_dir() && is_entry(&inside))
}

/// The files that have the code of the kernel that a file is a form of, if there are any.
pub(super) fn code_beside(path: &Path) -> Option<String> {
    let files = Kernel::of(path)?.code();
    (!files.is_empty()).then(|| files.join(", "))
}

/// What a target is called: of 90 of `cuda` the processor, as other tools have it.
fn target(noted: &Value) -> Option<String> {
    // Older releases of Triton write a pair, newer ones an object.
    let (backend, arch) = match noted {
        Value::Array(pair) => (pair.first()?, pair.get(1)?),
        noted => (noted.get("backend")?, noted.get("arch")?),
    };
    match (backend.as_str()?, arch.as_u64()) {
        ("cuda", Some(capability)) => {
            let capability = u32::try_from(capability).ok()?;
            let device = Device::of_capability(capability / 10, capability % 10);
            Some(device.to_string())
        }
        (backend, Some(number)) => Some(format!("{backend} {number}")),
        ("hip", None) => arch.as_str().map(str::to_owned),
        (backend, None) => Some(match arch.as_str() {
            Some(arch) => format!("{backend} {arch}"),
            None => backend.to_owned(),
        }),
    }
}

fn form_of(path: &Path) -> Option<&'static (&'static str, Option<Text>)> {
    let extension = path.extension()?.to_str()?;
    FORMS.iter().find(|(form, _)| *form == extension)
}

/// What a file is called that only compilers take, by its ending and its first bytes; `None` for any other.
pub(super) fn text_form(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    const HEAD: usize = 1 << 16;
    let text = form_of(path)?.1?;
    // The cut may go through a character, so that it need not be text.
    let head = String::from_utf8_lossy(bytes.get(..HEAD).unwrap_or(bytes));
    let is_it = text.words.iter().any(|word| head.contains(word));
    is_it.then_some(text.name)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn metadata_that_is_a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let ptx = folder.path().join("k.ptx");
        let metadata = ptx.with_extension("json");
        assert!(Command::new("mkfifo").arg(&metadata).status().unwrap().success());
        assert!(Kernel::of(&ptx).is_none());
        std::fs::remove_file(&metadata).unwrap();
        std::fs::write(&metadata, r#"{"name": "k", "num_warps": 4}"#).unwrap();
        assert_eq!(Kernel::of(&ptx).unwrap().described(), "kernel k");
    }
}
