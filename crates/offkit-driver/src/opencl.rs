//! OpenCL C in memory to SPIR-V in memory: what the driver does with a `.cl` file, for whoever is a driver of OpenCL.
//!
//! clang is called with the words that a plan has for such a source, and what it makes is linked as a plan links it,
//! so that what LLVM's SPIR-V back end gets wrong is put right here too. What a program has no use for stays: the
//! module keeps all functions and variables that another one may be linked with.

mod spare;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, fs, io, thread};

use memchr::memmem;
use offkit_cache::{Key, Kind};
use offkit_devlib::with_compiler;
use offkit_host::{clang, signals};
use offkit_link::device_link::{DeviceLink, Input, LinkError, Linked};
use offkit_llvm::Worker;
use offkit_object::BundleState;

use crate::{
    Action, CommandLine, DriveError, Environment, NoFiles, Plan, Report, RunError, RunOptions, StepTime, Work,
};

/// What messages call the source.
const NAME: &str = "source.cl";

/// How long the worker may take to start, on a machine that has much else to do. It takes milliseconds.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A module without anything in it, which is what a source without anything in it becomes.
const EMPTY: [u32; 14] = [
    0x0723_0203,
    0x0001_0000,
    0,
    1,
    0,
    // OpCapability: Addresses, Linkage, Kernel.
    2 << 16 | 17,
    4,
    2 << 16 | 17,
    5,
    2 << 16 | 17,
    6,
    // OpMemoryModel Physical64 OpenCL.
    3 << 16 | 14,
    2,
    2,
];

/// A header: its name and its text.
pub type Header = (String, Vec<u8>);

/// A source, and how it is compiled.
#[derive(Clone, Debug, Default)]
pub struct Source<'a> {
    /// The text, in whatever encoding.
    pub text: &'a [u8],
    /// Headers that exist for this source alone, which are found before others: their names and their texts.
    pub headers: &'a [Header],
    /// Options of the compiler, as `offkit cc` takes them.
    pub options: Vec<OsString>,
    /// Whether functions that are declared `inline` are defined by that, as GNU's rules and C++'s have it. By C99's, which
    /// OpenCL C follows, they are not: one that is not put where it is called is missing.
    pub inline_defines: bool,
    /// A folder where the program with LLVM is looked for before it is looked for elsewhere.
    pub programs: Option<PathBuf>,
}

impl Source<'_> {
    /// Compiles it to SPIR-V. What the compiler says goes to the log, also where it fails.
    ///
    /// # Errors
    ///
    /// See [`DriveError`]; [`is_of_machine`](DriveError::is_of_machine) tells whether the source is to blame.
    pub fn spirv(&self, log: &mut String) -> Result<Vec<u8>, DriveError> {
        thread::scope(|scope| {
            let (compiled, bitcode) = mpsc::channel();
            // The worker starts while clang runs.
            let linking = thread::Builder::new()
                .name("offkit-compiler".to_owned())
                .spawn_scoped(scope, || self.link(bitcode))
                .map_err(DriveError::Temporary)?;
            let mut compile = || -> Result<(), DriveError> {
                let folder = self.folder()?;
                let mut plan = self.plan(folder.path(), &["-fsycl-device-only".into()])?;
                // A mark says which of several sources something is of.
                let marked = plan.steps.pop().map(|step| step.action);
                let Some(Action::Mark(mark)) = marked else {
                    unreachable!("device code by itself is marked");
                };
                self.run(&plan, folder.path(), log)?;
                let bitcode = fs::read(&mark.input).map_err(DriveError::Temporary)?;
                // Where nobody takes it, there is no worker, which is said below.
                _ = compiled.send(bitcode);
                Ok(())
            };
            let done = compile();
            // Where the compiler has failed, the thread must not wait for more.
            drop(compiled);
            let linked = linking
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // What the compiler says comes before what became of the thread, which has done without a module then.
            done?;
            let Some(linked) = linked? else {
                return Ok(EMPTY.iter().flat_map(|word| word.to_le_bytes()).collect());
            };
            for note in &linked.notes {
                let _never_fails = writeln!(log, "{NAME}: warning: {note}");
            }
            match &linked.images[..] {
                [image] => match image.code.bytes() {
                    Ok(bytes) => Ok(bytes.to_vec()),
                    Err(error) => Err(DriveError::Temporary(io::Error::other(error))),
                },
                _ => unreachable!("a whole module is one image"),
            }
        })
    }

    /// Has a worker, and links what comes of the compiler. None where that has failed, or there is nothing in it.
    ///
    /// In a thread of its own: a worker that has gone makes a signal, which is not to reach the program that this is a
    /// library of.
    fn link(&self, compiled: Receiver<Vec<u8>>) -> Result<Option<Linked>, RunError> {
        signals::leave_to_others();
        let failed = |error| RunError::Link {
            error: Box::new(error),
            is_program: false,
        };
        let of_worker = |error| failed(LinkError::Worker(error));
        let program = Worker::find_near(self.programs.as_deref()).map_err(of_worker)?;
        let start = || Worker::start_apart(&program, START_LIMIT).map_err(of_worker);
        let kept = spare::take(&program);
        let is_new = kept.is_none();
        let mut worker = kept.map_or_else(start, Ok)?;
        let mut linked = Ok(None);
        if let Ok(bitcode) = compiled.recv() {
            let link = DeviceLink {
                inputs: vec![Input::bytes(NAME, bitcode)],
                whole: true,
                // By the rules of C99 what is `extern` as well is for others, too.
                inline_once: self.inline_defines,
                state: BundleState::Object,
                ..DeviceLink::default()
            };
            linked = link.run(&mut worker, &mut |_| {}).map(Some);
            // It was ended meanwhile, or had other reasons that a new one has not.
            if !is_new && matches!(linked, Err(LinkError::Worker(_))) {
                worker = start()?;
                linked = link.run(&mut worker, &mut |_| {}).map(Some);
            }
        }
        match linked {
            Ok(_) => spare::keep(worker),
            // It may still have what it was asked about.
            Err(_) => worker.end(),
        }
        match linked {
            Err(LinkError::NothingToLink { .. }) => Ok(None),
            linked => linked.map_err(failed),
        }
    }

    /// What the result depends on: the source, the options, and the programs that compile it. None where that is not
    /// all: where files are included, the time is asked for, or a program is missing.
    pub fn key(&self) -> Option<Key> {
        let worker = Worker::find_near(self.programs.as_deref()).ok()?;
        self.key_with(&clang::find().ok()?, &worker)
    }

    /// The key with these programs. A field that is not looked at here is an error of the compiler's.
    fn key_with(&self, clang: &Path, worker: &Path) -> Option<Key> {
        let Self {
            text,
            headers,
            options,
            inline_defines,
            // Where the worker was looked for.
            programs: _,
        } = self;
        // Whatever may read a file, also where a backslash splits the word.
        let reads = ["include", "import", "embed", "\\\n", "\\\r"];
        let names_files = |option: &OsString| {
            let prefixes = ["-include", "--include", "-imacros", "--imacros"];
            let option = option.as_encoded_bytes();
            prefixes
                .iter()
                .any(|prefix| option.starts_with(prefix.as_bytes()))
        };
        // What is another text each time.
        let has = |text: &[u8], word: &str| memmem::find(text, word.as_bytes()).is_some();
        let tells_time = |text: &[u8]| {
            let times = ["__DATE__", "__TIME__", "__TIMESTAMP__"];
            times.iter().any(|word| has(text, word))
        };
        if reads.iter().any(|word| has(text, word))
            || options.iter().any(names_files)
            || tells_time(text)
            || options.iter().any(|option| tells_time(option.as_encoded_bytes()))
            || !headers.is_empty()
            // It edits clang's options in its own way.
            || env::var_os("CCC_OVERRIDE_OPTIONS").is_some_and(|edits| !edits.is_empty())
        {
            return None;
        }
        let key = Key::new(Kind::OpenclC, NAME).text("offkit", env!("CARGO_PKG_VERSION"));
        let mut key = with_compiler(with_compiler(key, "clang", clang), "worker", worker);
        for (number, option) in (1_usize..).zip(options) {
            key = key.text(format!("option {number}"), option.display());
        }
        if *inline_defines {
            key = key.text("inline", "defines");
        }
        Some(key.bytes("source", text))
    }

    /// Compiles it to LLVM's text without changing the code, for what is said there and not in SPIR-V.
    ///
    /// # Errors
    ///
    /// As [`spirv`](Self::spirv).
    pub fn llvm(&self) -> Result<String, DriveError> {
        let folder = self.folder()?;
        let output = folder.path().join("out.ll");
        let words = [
            "-fsycl-device-only".into(),
            "-S".into(),
            "-Xclang".into(),
            "-disable-llvm-passes".into(),
            "-o".into(),
            output.clone().into(),
        ];
        self.run(
            &self.plan(folder.path(), &words)?,
            folder.path(),
            &mut String::new(),
        )?;
        fs::read_to_string(output).map_err(DriveError::Temporary)
    }

    /// Makes a folder with the source and its headers.
    fn folder(&self) -> Result<tempfile::TempDir, DriveError> {
        let write = || -> io::Result<_> {
            let folder = tempfile::Builder::new().prefix("offkit-opencl-").tempdir()?;
            fs::write(folder.path().join(NAME), self.text)?;
            let headers = self.headers_in(folder.path());
            fs::create_dir_all(&headers)?;
            for (name, text) in self.headers {
                let place = headers.join(name.trim_start_matches('/'));
                if let Some(parent) = place.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::write(place, text)?;
            }
            Ok(folder)
        };
        write().map_err(DriveError::Temporary)
    }

    /// Does the steps, and logs what the compiler says, without the names of folders that go with it.
    fn run(&self, plan: &Plan, folder: &Path, log: &mut String) -> Result<(), DriveError> {
        let options = RunOptions {
            jobs: 1,
            verbose: false,
            folder: folder.to_owned(),
        };
        let mut said = Log(Vec::new());
        let done = plan.run(&options, &mut said);
        let text = String::from_utf8_lossy(&said.0);
        // The longer name first, which begins with the other one.
        let names = [&*self.headers_in(folder), folder].map(|folder| format!("{}/", folder.display()));
        let text = names.iter().fold(text, |text, name| match text.contains(name) {
            true => Cow::Owned(text.replace(name, "")),
            false => text,
        });
        log.push_str(&text);
        done?;
        Ok(())
    }

    /// Where the source's own headers are: so far down that no `..` in a name leads out of the folder.
    fn headers_in(&self, folder: &Path) -> PathBuf {
        let up = |(name, _): &Header| name.split('/').filter(|part| *part == "..").count();
        let deepest = self.headers.iter().map(up).max().unwrap_or_default();
        (0..deepest).fold(folder.join("include"), |place, _| place.join("in"))
    }

    /// The plan for the source, and what more words ask for.
    fn plan(&self, folder: &Path, more: &[OsString]) -> Result<Plan, DriveError> {
        let mut words = more.to_vec();
        // Nobody sees colours in a log; what is included is also looked for where the program runs.
        words.extend(["-fno-color-diagnostics", "-iquote", "."].map(OsString::from));
        words.extend(["-I".into(), self.headers_in(folder).into()]);
        words.extend(self.options.iter().cloned());
        words.extend(self.inline_defines.then(|| "-fgnu89-inline".into()));
        words.push(folder.join(NAME).into());
        let command_line = CommandLine::read(words, &|_| None)?;
        let environment = Environment {
            clang: vec![clang::find()?.into()],
            offkit: "offkit".into(),
            include: None,
            runtime: None,
            tools: PathBuf::new(),
            temporary: folder.to_owned(),
            suffix: String::new(),
            files: &NoFiles,
        };
        match command_line.plan(&environment)? {
            Work::Plan(plan) => Ok(plan),
            Work::Clang(_) => unreachable!("a source of OpenCL C is compiled for devices"),
        }
    }
}

/// What clang says.
struct Log(Vec<u8>);

impl Report for Log {
    fn warning(&mut self, _: &dyn Display) {}

    fn command(&mut self, _: &str) {}

    fn messages(&mut self, text: &[u8]) {
        self.0.extend_from_slice(text);
    }

    fn time(&mut self, _: &StepTime) {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn whatever_a_source_is_compiled_from_makes_another_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, name).expect("a file");
            path
        };
        let (clang, worker, other) = (program("clang"), program("worker"), program("other"));
        let base = Source {
            text: b"kernel void f() {}",
            options: vec!["-O1".into(), "-g".into()],
            ..Source::default()
        };
        let with = |change: fn(&mut Source<'_>)| {
            let mut source = base.clone();
            change(&mut source);
            source.key_with(&clang, &worker)
        };
        let keys = [
            with(|_| ()),
            with(|source| source.text = b"kernel void g() {}"),
            with(|source| source.options.swap(0, 1)),
            with(|source| source.options[1] = "-g0".into()),
            with(|source| source.options.truncate(1)),
            with(|source| source.inline_defines = true),
            base.key_with(&other, &worker),
            base.key_with(&clang, &other),
        ];
        let digests: BTreeSet<_> = keys.iter().flatten().map(Key::digest).collect();
        assert_eq!(digests.len(), keys.len());

        assert_eq!(
            with(|source| source.programs = Some("/elsewhere".into())),
            with(|_| ())
        );
        let headers = [("a.h".to_owned(), Vec::new())];
        let with_header = Source {
            headers: &headers,
            ..base.clone()
        };
        assert_eq!(with_header.key_with(&clang, &worker), None);
        assert_eq!(with(|source| source.text = b"#include <a.h>"), None);
        assert_eq!(
            with(|source| source.text = b"constant char at[] = __TIME__;"),
            None
        );
        for option in ["-includea.h", "--include=a.h", "--imacros", "-DAT=__DATE__"] {
            let mut source = base.clone();
            source.options.push(option.into());
            assert_eq!(source.key_with(&clang, &worker), None, "{option}");
        }
    }

    #[test]
    fn headers_stay_in_the_folder_by_whatever_name() {
        let names = ["a.h", "/b.h", "../../../c.h", "sub/../../d.h"];
        let headers = names.map(|name| (name.to_owned(), name.as_bytes().to_vec()));
        let source = Source {
            headers: &headers,
            ..Source::default()
        };
        let folder = source.folder().unwrap();
        let inside = folder.path().canonicalize().unwrap();
        for name in names {
            let place = source
                .headers_in(folder.path())
                .join(name.trim_start_matches('/'))
                .canonicalize()
                .unwrap();
            assert!(place.starts_with(&inside), "{}", place.display());
            assert_eq!(fs::read_to_string(place).unwrap(), name);
        }
    }
}
