//! Clang's command line, cut into its options and inputs.
//!
//! Of clang's options only so much is known here as is needed to tell inputs from values, and to know
//! which options are for the compiler, for the linker, or for offloading. Every other option is left
//! as it is for clang to understand.

use std::ffi::OsString;

use offkit_host::command_line::after;

/// One option with its value, or one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The words as they were typed; two when the value is a word of its own.
    pub words: Vec<OsString>,
    /// What it is for.
    pub role: Role,
}

/// What an argument is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A file, with the language that an `-x` before it gave.
    Input(Option<String>),
    /// `-x`: it is part of the inputs behind it.
    Language,
    /// `-o`.
    Output,
    /// `-c`, `-S` and the like: how far to go.
    Stop(Stop),
    /// `-MD` and its family: files that say what an object depends on.
    Dependencies,
    /// `-L`.
    LibraryFolder,
    /// `-l`.
    Library,
    /// Other options and files for the host's linker only.
    Linker,
    /// An option for offloading, without what it is set to: see `offload`.
    Offload(&'static str),
    /// `--`: what follows are inputs.
    Separator,
    /// An option that asks for information rather than for work, such as `--version`.
    Information,
    /// Anything else.
    Other,
}

/// Where clang stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `-c`: after making an object.
    Object,
    /// `-S`, `-E`, `-M`, `-fsyntax-only` and the like: before.
    Earlier,
}

/// Where the value of an option is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// There is none.
    None,
    /// The next word.
    Next,
    /// What follows the name in the same word.
    Joined,
    /// What follows the name; the next word where nothing does.
    Either,
    /// The next word, behind a name that a triple or an architecture finishes.
    NextAfterTarget,
}

/// The options that are known here: what they are for, and where their values are.
const OPTIONS: &[(Role, Value, &str)] = {
    use Value::{Either, Joined, Next, NextAfterTarget, None};
    &[
        (Role::Output, Either, "-o"),
        (Role::Output, Next, "--output"),
        (Role::Stop(Stop::Object), None, "-c --compile"),
        (
            Role::Stop(Stop::Earlier),
            None,
            "-S --assemble -E --preprocess -fsyntax-only --analyze -emit-ast --precompile -M -MM --dependencies
             --user-dependencies",
        ),
        (Role::Dependencies, None, "-MD -MMD -MP -MG -MV"),
        (Role::Dependencies, Either, "-MF -MT -MQ -MJ"),
        (Role::Library, Either, "-l"),
        (Role::LibraryFolder, Either, "-L"),
        (Role::LibraryFolder, Next, "--library-directory"),
        (Role::Language, Either, "-x"),
        (Role::Language, Next, "--language"),
        (Role::Language, Joined, "--language="),
        (Role::Linker, Either, "-T -u -z"),
        (Role::Linker, Joined, "-Wl,"),
        (
            Role::Linker,
            Next,
            "-e -Xlinker --for-linker -rpath -framework -Tbss -Tdata -Ttext -Xoffload-linker",
        ),
        (Role::Linker, NextAfterTarget, "-Xoffload-linker-"),
        (
            Role::Information,
            None,
            "--version --help -help --help-hidden -dumpmachine -dumpversion",
        ),
        (
            Role::Information,
            Joined,
            "-print- -ccc-print- --print- --autocomplete=",
        ),
        (
            Role::Other,
            Next,
            "-I -D -U -F -A -B -G -fdebug-compilation-dir -mthread-model -include -imacros -isystem -iquote
             -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot -isystem-after -iframework
             -iframeworkwithsysroot -iwithsysroot -ivfsoverlay -include-pch -cxx-isystem -c-isystem
             -stdlib++-isystem -weak_framework -arch -target -Xassembler -Xpreprocessor -Xclang -Xclangas
             -Xanalyzer -Xcuda-ptxas -Xcuda-fatbinary -Xopenmp-target -Xthinlto-linker -mllvm -mmlir -dumpdir
             -dumpbase -aux-info -install_name -current_version -compatibility_version -bundle_loader
             -exported_symbols_list -undefined -working-directory -resource-dir -serialize-diagnostics
             --serialize-diagnostics --param --sysroot --config --include --include-directory --define-macro
             --undefine-macro -Xsycl-target-backend -Xsycl-target-linker -Xs",
        ),
        (
            Role::Other,
            NextAfterTarget,
            "-Xarch_ -Xopenmp-target= -Xsycl-target-backend= -Xsycl-target-linker=",
        ),
    ]
};

/// Options that only begin like those.
const UNLIKE: &[&str] = &[
    "-object",
    "-load",
    "-undef",
    "-objcmt",
    "-ObjC",
    "-traditional",
    "-trigraphs",
];

/// The options for offloading. Those that end in `=` have a value; clang 22 knows those that are
/// marked.
const OFFLOAD: &[(&str, bool)] = &[
    ("-fsycl", true),
    ("-fno-sycl", true),
    ("-fsycl-device-only", true),
    ("-fsycl-host-only", true),
    ("-fsyclbin", false),
    ("-fsyclbin=", false),
    ("-fsycl-link", false),
    ("-fsycl-rdc", false),
    ("-fsycl-targets=", false),
    ("-fsycl-device-code-split", false),
    ("-fsycl-device-code-split=", false),
    ("-fsycl-allow-device-image-dependencies", false),
    ("-fno-sycl-allow-device-image-dependencies", false),
    ("-Xsycl-target-backend", false),
    ("-Xsycl-target-backend=", false),
    ("-Xsycl-target-linker", false),
    ("-Xsycl-target-linker=", false),
    ("-Xs", false),
    ("--no-default-device-libs", false),
    ("--spirv-version=", false),
    ("--spirv-ext=", false),
    ("--offload-rdc", false),
    ("-fgpu-rdc", true),
    ("--offload-new-driver", true),
    ("--offload-arch=", true),
    ("--offload-targets=", true),
    ("--offload-jobs=", true),
    ("-fopenmp-targets=", true),
    ("-fopenmp-targets", true),
];

impl Argument {
    /// The argument's first word as text, for comparison.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        self.words
            .first()
            .map(|word| word.to_string_lossy())
            .unwrap_or_default()
    }

    /// The value of an option called `name`: what follows the name in the same word, or the next word.
    pub fn value(&self, name: &str) -> OsString {
        match self.words.as_slice() {
            [_, value, ..] => value.clone(),
            [word] => after(word, name),
            [] => OsString::new(),
        }
    }

    /// The words as they are typed, for messages.
    pub fn spelling(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    /// Whether clang 22 has this option for offloading.
    pub fn is_known_to_clang(&self) -> bool {
        match self.role {
            Role::Offload(name) => OFFLOAD.iter().any(|&(option, known)| option == name && known),
            _ => true,
        }
    }
}

/// Cuts a command line, without the program's name, into its arguments.
pub fn parse(words: &[OsString]) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut language = None;
    let mut only_inputs = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if only_inputs || !text.starts_with('-') || text == "-" {
            arguments.push(Argument {
                words: vec![word.clone()],
                role: Role::Input(language.clone()),
            });
            continue;
        }
        if text == "--" {
            only_inputs = true;
            arguments.push(Argument {
                words: vec![word.clone()],
                role: Role::Separator,
            });
            continue;
        }
        let (role, takes_next) = known(&text);
        let mut argument = Argument {
            words: vec![word.clone()],
            role,
        };
        if takes_next {
            argument.words.extend(words.next().cloned());
        }
        if argument.role == Role::Language {
            let name = if text.starts_with("--language") {
                "--language"
            } else {
                "-x"
            };
            let value = argument
                .value(name)
                .to_string_lossy()
                .trim_start_matches('=')
                .to_owned();
            // `-x none` leaves the choice to the names of files again.
            language = (value != "none").then_some(value);
        }
        arguments.push(argument);
    }
    arguments
}

/// What a word that is an option is for, and whether the next word is its value.
fn known(text: &str) -> (Role, bool) {
    let find = |fits: &dyn Fn(Value, &str) -> bool| {
        let mut rows = OPTIONS.iter();
        rows.find(|(_, value, names)| names.split_whitespace().any(|name| fits(*value, name)))
    };
    let same = |value, name: &str| matches!(value, Value::None | Value::Next | Value::Either) && name == text;
    let begins = |value, name: &str| match value {
        Value::Joined | Value::Either => text.starts_with(name),
        Value::NextAfterTarget => text.len() > name.len() && text.starts_with(name),
        Value::None | Value::Next => false,
    };
    // Exact names before those that only begin a word: `-undefined` has its value in the next one, though `-u` begins
    // it.
    let (role, takes_next) = match find(&same) {
        Some((role, value, _)) => (role.clone(), *value != Value::None),
        None if UNLIKE.iter().any(|option| text.starts_with(option)) => (Role::Other, false),
        None => find(&begins).map_or((Role::Other, false), |(role, value, _)| {
            (role.clone(), *value == Value::NextAfterTarget)
        }),
    };
    // What they are for is said here; whether the next word is their value is said above, as of all others.
    let offload = OFFLOAD.iter().find(|(name, _)| match name.ends_with('=') {
        true => text.starts_with(name),
        false => text == *name,
    });
    (offload.map_or(role, |(name, _)| Role::Offload(name)), takes_next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn roles(line: &str) -> Vec<(String, Role)> {
        let arguments = parse(&words(line)).into_iter();
        arguments
            .map(|argument| (argument.spelling(), argument.role))
            .collect()
    }

    #[test]
    fn values_are_not_inputs() {
        let inputs = |line: &str| -> Vec<String> {
            let all = roles(line).into_iter();
            all.filter(|(_, role)| matches!(role, Role::Input(_)))
                .map(|(text, _)| text)
                .collect()
        };
        assert_eq!(
            inputs(
                "-I include -Iinc -D A=1 -isystem sys -include h.h -MF a.d a.cpp -o out -Xclang -v -L lib"
            ),
            ["a.cpp"]
        );
        assert_eq!(
            inputs("-Xsycl-target-backend opts -Xsycl-target-backend=spir64 -g a.o -Xarch_host -O0 -"),
            ["a.o", "-"]
        );
        assert_eq!(inputs("-c -- -odd.cpp"), ["-odd.cpp"]);
    }

    #[test]
    fn joined_and_separate_values_are_the_same() {
        for (line, name, value) in [
            ("-ofile", "-o", "file"),
            ("-o file", "-o", "file"),
            ("-Ldir", "-L", "dir"),
            ("-L dir", "-L", "dir"),
            ("-fsyclbin=input", "-fsyclbin=", "input"),
            ("--offload-arch=sm_70", "--offload-arch=", "sm_70"),
            ("-Xsycl-target-backend=T opts", "-Xsycl-target-backend=", "opts"),
        ] {
            let parsed = parse(&words(line));
            assert_eq!(parsed.len(), 1, "{line}");
            assert_eq!(parsed[0].value(name), OsString::from(value), "{line}");
        }
    }

    #[test]
    fn a_language_holds_until_the_next() {
        let languages: Vec<_> = roles("a.x -x cl b.x -xc++ c.x -x none d.x")
            .into_iter()
            .filter_map(|(_, role)| match role {
                Role::Input(language) => Some(language),
                _ => None,
            })
            .collect();
        assert_eq!(
            languages,
            [None, Some("cl".to_owned()), Some("c++".to_owned()), None]
        );
    }

    #[test]
    fn options_have_their_roles() {
        for (option, role) in [
            ("-fsycl", Role::Offload("-fsycl")),
            ("-fsyclbin", Role::Offload("-fsyclbin")),
            (
                "-fsycl-device-code-split",
                Role::Offload("-fsycl-device-code-split"),
            ),
            (
                "-fsycl-device-code-split=auto",
                Role::Offload("-fsycl-device-code-split="),
            ),
            ("-c", Role::Stop(Stop::Object)),
            ("-E", Role::Stop(Stop::Earlier)),
            ("-lm", Role::Library),
            ("-Wl,-rpath,x", Role::Linker),
            ("-MMD", Role::Dependencies),
            ("-print-search-dirs", Role::Information),
            ("-O2", Role::Other),
            ("-shared", Role::Other),
            ("-undef", Role::Other),
            ("-xnone", Role::Language),
        ] {
            assert_eq!(roles(option), [(option.to_owned(), role)], "{option}");
        }
    }
}
