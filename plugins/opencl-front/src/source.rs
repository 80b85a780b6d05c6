//! OpenCL C: compiled to SPIR-V by the driver of `offkit cc`, and kept.

use crate::device::{EXTENSIONS, FEATURES};
use offkit_cache::Cache;
pub(crate) use offkit_driver::opencl::Header;
use offkit_driver::{DriveError, opencl};
use offkit_host::program;
use offkit_llvm::WORKER_PROGRAM;
use offkit_plugin_cpu::{CHECK_BOUNDS_OPTION, kernel_options};
use std::ffi::OsString;

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

/// Options that the compiler takes as they are: the specification's, and levels of optimization.
const FOR_COMPILERS: [&str; 18] = [
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Werror",
    "-cl-denorms-are-zero",
    "-cl-fast-relaxed-math",
    "-cl-finite-math-only",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-kernel-arg-info",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-single-precision-constant",
    "-cl-strict-aliasing",
    "-cl-uniform-work-group-size",
    "-cl-unsafe-math-optimizations",
    "-g",
    "-w",
];

/// Options of the specification for a link. The first makes a library, the second is for libraries alone.
const FOR_LINKERS: [&str; 8] = [
    CREATE_LIBRARY,
    "-enable-link-options",
    "-cl-denorms-are-zero",
    "-cl-fast-relaxed-math",
    "-cl-finite-math-only",
    "-cl-no-signed-zeros",
    "-cl-no-subgroup-ifp",
    "-cl-unsafe-math-optimizations",
];

pub(crate) const CREATE_LIBRARY: &str = "-create-library";

/// Versions of OpenCL C that the devices list.
const VERSIONS: [&str; 4] = ["CL1.0", "CL1.1", "CL1.2", "CL3.0"];

/// Whether an option is for drivers alone: this one's own, and those of Intel's, which programs pass to any.
fn is_for_drivers(word: &str) -> bool {
    word == CHECK_BOUNDS_OPTION || word.starts_with("-cl-intel-")
}

/// Whether a program may be linked with these options.
pub(crate) fn are_for_linkers(words: &[String]) -> bool {
    let has = |option: &str| words.iter().any(|word| word == option);
    let known = |word: &String| FOR_LINKERS.contains(&&**word) || is_for_drivers(word);
    words.iter().all(known) && (has(CREATE_LIBRARY) || !has("-enable-link-options"))
}

/// What works where there is no compiler.
const INSTEAD: &str = "Programs in SPIR-V need no compiler.";

/// What came of a compilation: SPIR-V, and what the compiler had to say.
pub(crate) struct Compiled {
    pub(crate) spirv: Vec<u8>,
    pub(crate) log: String,
}

/// Why there is no SPIR-V.
pub(crate) enum SourceError {
    /// There is no compiler that may be started; the text says what to do.
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

/// What of options is for the device itself.
pub(crate) fn for_device(options: &str) -> String {
    // A word with spaces is a macro's.
    let mut words = words(options);
    words.retain(|word| !word.contains(char::is_whitespace));
    kernel_options(&words.join(" "), &[])
}

/// Whether a source that is compiled with these options is launched only with ranges that work-groups divide evenly:
/// smaller groups at the ends of ranges came with OpenCL C 2.0.
pub(crate) fn is_uniform(options: &str) -> bool {
    let words = words(options);
    // The compiler goes by the last one.
    let version = words.iter().rev().find_map(|word| word.strip_prefix("-cl-std="));
    has_uniform_option(&words)
        || version.is_none_or(|version| version.to_ascii_uppercase().starts_with("CL1"))
}

/// Whether options ask for such ranges.
pub(crate) fn has_uniform_option(words: &[String]) -> bool {
    words.iter().any(|word| word == "-cl-uniform-work-group-size")
}

/// Whether this is a version of the language; an error if it is one that the devices do not have.
fn is_version(version: &str) -> Result<bool, SourceError> {
    match version {
        "CL2.0" | "CL3.1" => Err(SourceError::Source(format!(
            "the device has no OpenCL C {}; the newest that it has is -cl-std={}",
            &version[2..],
            VERSIONS[VERSIONS.len() - 1]
        ))),
        // C++ for OpenCL is the compiler's own.
        version => Ok(VERSIONS.contains(&version) || version.to_ascii_uppercase().starts_with("CLC++")),
    }
}

/// The options for the compiler.
fn options(options: &str) -> Result<Vec<OsString>, SourceError> {
    // The driver of clang takes the second for an option of other targets.
    // clang defines `__IMAGE_SUPPORT__` for SPIR-V whatever the device has, and leaves
    // `__OPENCL_VERSION__`, which is the platform's, to others.
    let mut arguments: Vec<OsString> = [
        "-Xclang",
        TAKEN_AWAY,
        "-U__IMAGE_SUPPORT__",
        "-D__OPENCL_VERSION__=300",
    ]
    .map(OsString::from)
    .into();
    let macros = EXTENSIONS.iter().map(|(name, _)| *name);
    let macros = macros.filter(|name| !KNOWN_TO_CLANG.contains(name));
    let features = FEATURES.iter().filter(|name| name.contains("dot_product"));
    arguments.extend(
        macros
            .chain(features.copied())
            .map(|name| format!("-D{name}=1").into()),
    );
    let words = words(options);
    // OpenCL's default is the highest 1.x that the device has.
    if !words.iter().any(|word| word.starts_with("-cl-std=")) {
        arguments.push("-cl-std=CL1.2".into());
    }
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-D" | "-I" => {
                let value = words.next().ok_or_else(|| SourceError::Options(word.clone()))?;
                arguments.extend([word.into(), value.into()]);
            }
            "-cl-opt-disable" => arguments.push("-O0".into()),
            "-cl-no-subgroup-ifp" => {}
            word if is_for_drivers(word) => {}
            known if FOR_COMPILERS.contains(&known) => arguments.push(known.into()),
            known if known.starts_with("-D") || known.starts_with("-I") => arguments.push(known.into()),
            _ => match word.strip_prefix("-cl-std=") {
                Some(version) if is_version(version)? => arguments.push(word.into()),
                _ => return Err(SourceError::Options(word)),
            },
        }
    }
    Ok(arguments)
}

/// A source for the driver of `offkit cc`.
fn for_driver<'a>(text: &'a [u8], options: Vec<OsString>, headers: &'a [Header]) -> opencl::Source<'a> {
    let mut texts = headers.iter().map(|(_, text)| text.as_slice()).chain([text]);
    opencl::Source {
        text,
        headers,
        options,
        // Many programs are written as if it were C++, and other drivers take them.
        inline_defines: !texts.any(has_extern_inline),
        programs: program::own_folder(WORKER_PROGRAM),
    }
}

/// Whether a text has functions that are declared `extern inline`: it is written by the rules of C99, where these are the
/// ones that are defined, and by GNU's the ones that are not.
fn has_extern_inline(text: &[u8]) -> bool {
    let words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let mut before: &[u8] = b"";
    for word in words {
        if matches!((before, word), (b"extern", b"inline") | (b"inline", b"extern")) {
            return true;
        }
        before = word;
    }
    false
}

/// Compiles a source. What has been compiled before, with the same programs and options, comes from the cache, unless
/// files are included that may have changed since.
pub(crate) fn compile(text: &[u8], words: &str, headers: &[Header]) -> Result<Compiled, SourceError> {
    let options = options(words)?;
    if program::is_privileged() {
        let text = format!(
            "OpenCL C is compiled by clang 22 and `{WORKER_PROGRAM}`: a program that has more rights than its user \
             starts neither\n"
        );
        return Err(SourceError::NoCompiler(text + INSTEAD));
    }
    let source = for_driver(text, options, headers);
    let key = source.key();
    let missing = match key.as_ref().map(|key| Cache::user().get_or_claim(key)) {
        Some(Ok(spirv)) => {
            let log = String::new();
            return Ok(Compiled {
                spirv: spirv.to_vec(),
                log,
            });
        }
        Some(Err(missing)) => Some(missing),
        None => None,
    };
    let mut log = String::new();
    let spirv = match source.spirv(&mut log) {
        Ok(spirv) => spirv,
        Err(error) if error.is_of_machine() => return Err(SourceError::NoCompiler(what_to_do(&error))),
        Err(error) => {
            // The compiler has said itself why the source is wrong.
            if log.is_empty() {
                log = error.to_string();
            }
            return Err(SourceError::Source(log));
        }
    };
    // A warning is to be seen again, so only silence is kept.
    if let Some(missing) = missing.filter(|_| log.is_empty()) {
        missing.put(&[], &spirv);
    }
    Ok(Compiled { spirv, log })
}

/// Why sources cannot be compiled here, and what to do.
fn what_to_do(error: &DriveError) -> String {
    let mut text = format!("OpenCL C is compiled by clang 22 and `{WORKER_PROGRAM}`: {error}\n");
    for hint in error.hints() {
        text += &format!("{hint}\n");
    }
    text + INSTEAD
}

/// A source as LLVM's text, with what it says of its kernels' arguments.
pub(crate) fn as_text(text: &[u8], words: &str, headers: &[Header]) -> Option<String> {
    if program::is_privileged() {
        return None;
    }
    let mut options = options(words).ok()?;
    // Without warnings, which the build has told already.
    options.extend(["-cl-kernel-arg-info", "-w"].map(OsString::from));
    for_driver(text, options, headers).llvm().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_uniform, words};

    #[test]
    fn options_are_words_and_quotes_keep_spaces() {
        let found = words(" -D A=1  -I \"my folder\" -DB=\"x y\"");
        assert_eq!(found, ["-D", "A=1", "-I", "my folder", "-DB=x y"]);
    }

    #[test]
    fn ranges_are_even_before_opencl_c_2_and_where_options_say_so() {
        for (options, expected) in [
            ("", true),
            ("-cl-std=CL1.1", true),
            ("-cl-std=CL3.0", false),
            ("-cl-std=CL3.0 -cl-std=CL1.2", true),
            ("-cl-std=CLC++2021", false),
            ("-cl-std=CL3.0 -cl-uniform-work-group-size", true),
            ("-cl-std=CL3.0 -DA=\"-cl-uniform-work-group-size \"", false),
        ] {
            assert_eq!(is_uniform(options), expected, "{options}");
        }
    }
}
