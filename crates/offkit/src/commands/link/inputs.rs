//! The inputs of a link: files, libraries, and options whose place among them counts.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

const FILES: &str = "inputs";
const LIBRARIES: &str = "library";
const WHOLE: &str = "whole-archive";
const NOT_WHOLE: &str = "no-whole-archive";
const GROUP_OPTIONS: [&str; 2] = ["start-group", "end-group"];

/// What is named on the command line, in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs(Vec<Named>);

/// An input, and whether all members count if it is an archive.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(super) what: What,
    pub(super) whole_archive: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    File(PathBuf),
    Library(String),
}

impl Args for Inputs {
    fn augment_args(command: Command) -> Command {
        // `SetTrue` would take the flag once; appended values may be many, each with an index.
        let flag = |name: &'static str, help: &'static str| {
            Arg::new(name)
                .long(name)
                .num_args(0)
                .value_parser(value_parser!(bool))
                .default_missing_value("true")
                .action(ArgAction::Append)
                .help(help)
        };
        command
            .arg(
                Arg::new(FILES)
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf))
                    .action(ArgAction::Append)
                    .required_unless_present(LIBRARIES)
                    .num_args(1..)
                    .help("Bitcode, SPIR-V, objects and archives with device code, offload binaries, SYCLBIN; `-` is standard input")
                    .long_help(
                        "Files with device code: LLVM bitcode, SPIR-V modules, objects and archives with embedded offload binaries \
                         or offload bundles, offload binaries, SYCLBIN files; `-` is standard input. Of archives, only members that \
                         define a symbol that is needed are linked. `@FILE` stands for the words in a file",
                    ),
            )
            .arg(
                Arg::new(LIBRARIES)
                    .short('l')
                    .long(LIBRARIES)
                    .value_name("NAME")
                    .action(ArgAction::Append)
                    .help("A device library, libNAME, or :FILE, from the folders of -L, of LIBRARY_PATH and of the compiler")
                    .long_help(
                        "A device library, as `offkit devlib find` finds it for each target: bitcode, of which the functions \
                         that are needed are linked, or an archive with device code. There may be none: it is then for hosts \
                         only",
                    ),
            )
            .arg(flag(WHOLE, "Link all members of the archives that follow"))
            .arg(flag(
                NOT_WHOLE,
                "Link only members that are needed of the archives that follow",
            ))
            .arg(flag(GROUP_OPTIONS[0], "Taken and not needed: archives may need each other in any order").hide_short_help(true))
            .arg(flag(GROUP_OPTIONS[1], "Taken and not needed").hide_short_help(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Inputs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut inputs = Self::default();
        inputs.update_from_arg_matches(matches)?;
        Ok(inputs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        enum Place {
            Input(What),
            Whole(bool),
        }
        // clap keeps the values of each argument apart: only their indices tell how these and the
        // flags between them follow each other on the command line.
        let indices = |name: &str| matches.indices_of(name).into_iter().flatten();
        let files = matches.get_many::<PathBuf>(FILES).into_iter().flatten();
        let libraries = matches.get_many::<String>(LIBRARIES).into_iter().flatten();
        let mut places: Vec<(usize, Place)> = Vec::new();
        places.extend(indices(FILES).zip(files.map(|file| Place::Input(What::File(file.clone())))));
        places
            .extend(indices(LIBRARIES).zip(libraries.map(|name| Place::Input(What::Library(name.clone())))));
        places.extend(indices(WHOLE).map(|index| (index, Place::Whole(true))));
        places.extend(indices(NOT_WHOLE).map(|index| (index, Place::Whole(false))));
        places.sort_by_key(|(index, _)| *index);
        let mut whole_archive = false;
        for (_, place) in places {
            match place {
                Place::Whole(whole) => whole_archive = whole,
                Place::Input(what) => self.0.push(Named { what, whole_archive }),
            }
        }
        Ok(())
    }
}

impl Inputs {
    /// The inputs, in order.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Named> {
        self.0.iter()
    }
}
