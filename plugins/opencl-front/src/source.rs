//! OpenCL C: compiled to SPIR-V by clang 22.

use crate::device::{EXTENSIONS, FEATURES};
use offkit_host::{cache, clang};
use offkit_image::target::{Target, triples};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Extensions that clang itself knows; others become macros.
const KNOWN_TO_CLANG: [&str; 10] = [
    "cl_khr_byte_addressable_store",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_subgroups",
];

/// What clang has for the target and the devices have not.
const TAKEN_AWAY: &str = "-cl-ext=-cl_khr_subgroups,-cl_khr_3d_image_writes,-cl_khr_depth_images,\
     -cl_khr_mipmap_image,-cl_khr_mipmap_image_writes,-cl_khr_gl_msaa_sharing,-cl_intel_subgroups,\
     -cl_intel_subgroups_short,-__opencl_c_images,-__opencl_c_read_write_images,-__opencl_c_3d_image_writes,\
     -__opencl_c_pipes,-__opencl_c_device_enqueue";

/// Options that are not for the compiler.
const FOR_LINKERS: [&str; 3] = ["-create-library", "-enable-link-options", "-cl-no-subgroup-ifp"];

/// A header that the source includes: its name and its text.
pub(crate) type Header = (String, String);

/// What came of a compilation: SPIR-V, and what the compiler had to say.
pub(crate) struct Compiled {
    pub(crate) spirv: Vec<u8>,
    pub(crate) log: String,
}

/// Why there is no SPIR-V.
pub(crate) enum SourceError {
    /// There is no compiler; the text says what to do.
    NoCompiler(String),
    /// The options are not those of OpenCL.
    Options(String),
    /// The source is wrong, by the compiler's words.
    Source(String),
}

/// Words of an option string. Spaces within quotes are no separators.
pub(crate) fn words(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    let mut letters = options.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => (quoted, begun) = (!quoted, true),
            '\\' if quoted => word.extend(letters.next()),
            letter if letter.is_whitespace() && !quoted => {
                if begun {
                    words.push(core::mem::take(&mut word));
                }
                begun = false;
            }
            letter => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// The newest version of SPIR-V that the driver says it takes.
const SPIRV_VERSION: (u8, u8) = (1, 4);

/// The options for clang.
fn arguments(options: &str) -> Result<Vec<OsString>, SourceError> {
    let target = Target::new(triples::SPIRV64, "").code_generation_triple(SPIRV_VERSION);
    let target = format!("--target={target}");
    let mut arguments: Vec<OsString> = [
        "-x",
        "cl",
        &target,
        "-c",
        "-O1",
        "-Xclang",
        "-finclude-default-header",
        // The driver of clang takes this for an option of other targets.
        "-Xclang",
        TAKEN_AWAY,
    ]
    .map(OsString::from)
    .into();
    for (name, _) in EXTENSIONS
        .iter()
        .filter(|(name, _)| !KNOWN_TO_CLANG.contains(name))
    {
        arguments.push(format!("-D{name}=1").into());
    }
    for name in FEATURES.iter().filter(|name| name.contains("dot_product")) {
        arguments.push(format!("-D{name}=1").into());
    }
    let mut words = words(options).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-D" | "-I" => {
                let value = words.next().ok_or_else(|| SourceError::Options(word.clone()))?;
                arguments.extend([word.into(), value.into()]);
            }
            // The newest that this compiler knows.
            "-cl-std=CL3.1" => arguments.push("-cl-std=CL3.0".into()),
            "-w" | "-Werror" | "-g" => arguments.push(word.into()),
            word if FOR_LINKERS.contains(&word) => {}
            word if word.starts_with("-cl-intel-") => {}
            "-cl-opt-disable" => arguments.push("-O0".into()),
            word if ["-D", "-I", "-cl-"].iter().any(|known| word.starts_with(known)) => {
                arguments.push(word.into());
            }
            _ => return Err(SourceError::Options(word)),
        }
    }
    Ok(arguments)
}

/// Compiles a source. What has been compiled before, with the same compiler and options, comes from the cache, unless
/// files are included that may have changed since.
pub(crate) fn compile(source: &str, options: &str, headers: &[Header]) -> Result<Compiled, SourceError> {
    let arguments = arguments(options)?;
    let clang = clang::find().map_err(|error| {
        SourceError::NoCompiler(format!(
            "OpenCL C is compiled by clang 22: {error}\n{}\nPrograms in SPIR-V need no compiler.",
            error.hint()
        ))
    })?;
    let place = (!source.contains("include")).then(|| cached(&clang, &arguments, source));
    let place = place.flatten();
    if let Some(spirv) = place.as_ref().and_then(|place| std::fs::read(place).ok()) {
        let log = String::new();
        return Ok(Compiled { spirv, log });
    }
    let compiled = run(&clang, &arguments, source, headers)
        .map_err(|error| SourceError::NoCompiler(format!("{}: {error}", clang.display())))??;
    // A warning is to be seen again, so only silence is kept.
    if let Some(place) = place.filter(|_| compiled.log.is_empty()) {
        // Without a cache the next build takes longer, and that is all.
        let made = place
            .parent()
            .is_some_and(|folder| std::fs::create_dir_all(folder).is_ok());
        if made {
            let _ = offkit_host::files::replace(&place, &[&compiled.spirv]);
        }
    }
    Ok(compiled)
}

/// A source as LLVM's text, with what it says of its kernels' arguments.
pub(crate) fn as_text(source: &str, options: &str) -> Option<String> {
    let mut arguments = arguments(options).ok()?;
    let more = [
        "-S",
        "-emit-llvm",
        "-Xclang",
        "-disable-llvm-passes",
        "-cl-kernel-arg-info",
        "-w",
    ];
    arguments.extend(more.map(OsString::from));
    let text = run(&clang::find().ok()?, &arguments, source, &[]).ok()?.ok()?;
    String::from_utf8(text.spirv).ok()
}

/// Where the SPIR-V of a source is kept.
fn cached(clang: &Path, arguments: &[OsString], source: &str) -> Option<PathBuf> {
    let changed = std::fs::metadata(clang)
        .and_then(|metadata| metadata.modified())
        .ok()?;
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(format!("{}\0{changed:?}\0{arguments:?}\0", clang.display()));
    hash.update(source);
    let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(cache::folder("opencl").ok()?.join(name).with_extension("spv"))
}

/// Runs clang: the source goes to its standard input, headers into a folder of their own.
fn run(
    clang: &Path,
    arguments: &[OsString],
    source: &str,
    headers: &[Header],
) -> io::Result<Result<Compiled, SourceError>> {
    let folder = tempfile::tempdir()?;
    for (name, text) in headers {
        let place = folder.path().join("include").join(name.trim_start_matches('/'));
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(place, text)?;
    }
    let output = folder.path().join("out.spv");
    let mut process = Command::new(clang)
        .args(arguments)
        .arg("-I")
        .arg(folder.path().join("include"))
        .arg("-o")
        .arg(&output)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = process.stdin.take() {
        // A compiler that has stopped reading says why in its log.
        let _ = input.write_all(source.as_bytes());
    }
    let result = process.wait_with_output()?;
    let log = String::from_utf8_lossy(&result.stderr).into_owned();
    if !result.status.success() {
        return Ok(Err(SourceError::Source(log)));
    }
    let spirv = std::fs::read(output)?;
    Ok(Ok(Compiled { spirv, log }))
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn options_are_words_and_quotes_keep_spaces() {
        let found = words(" -D A=1  -I \"my folder\" -DB=\"x y\"");
        assert_eq!(found, ["-D", "A=1", "-I", "my folder", "-DB=x y"]);
    }
}
