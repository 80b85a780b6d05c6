//! `syclbin-dump`: what is in a SYCLBIN file, as text.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use offkit_host::files::{self, FileError};
use offkit_object::{Limits, PropertySets, PropertyValue, SyclBin};

use crate::failure::Failure;
use crate::options::CommandLine;

const COMMAND_LINE: CommandLine<Options> = CommandLine {
    tool: "syclbin-dump",
    overview: "Dumping utility for SYCLBIN files",
    usage: "[options] <target syclbin>",
    options: options![o: Options;
        "o" = "<file>" => o.output, "Specify output filename";
    ],
    positional: |options, file| options.input = file.into(),
    positionals: 1..=1,
    missing: |_| None,
};

struct Options {
    input: PathBuf,
    output: PathBuf,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("Failed to open or read file {}", .input.display())]
    Input { input: PathBuf, source: FileError },
    #[error("Failed to parse SYCLBIN file.\n{0}")]
    Object(#[from] offkit_object::Error),
    #[error("Failed to open output file {}: {}", .output.display(), offkit_host::causes(.source).join(": "))]
    Output { output: PathBuf, source: FileError },
}

/// Runs as the tool.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<String, Failure> {
    let options = Options {
        input: PathBuf::new(),
        output: "-".into(),
    };
    COMMAND_LINE.run(arguments, options, |options| {
        write_dump(options).map_err(Failure::words).and(Ok(String::new()))
    })
}

fn write_dump(Options { input, output }: Options) -> Result<(), Error> {
    let content = match files::open(&input) {
        Ok(content) => content,
        Err(source) => return Err(Error::Input { input, source }),
    };
    let text = dump(&content)?;
    files::write(&output, &[text.as_bytes()]).map_err(|source| Error::Output { output, source })
}

fn dump(bytes: &[u8]) -> Result<String, offkit_object::Error> {
    let limits = Limits::default();
    let program = SyclBin::parse(bytes, &limits)?;
    let version = SyclBin::version_of(bytes, &limits)?;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let mut line = |depth: usize, text: &str| {
        let _ = writeln!(out, "{:1$}{text}", "", depth * 2);
    };
    line(0, &format!("Version: {}", version.number()));
    line(0, "Global metadata:");
    // In the file the state, and types and targets below, are properties like others. The reader
    // keeps them apart, and here they go back to where the original shows them: before the rest.
    let mut global = PropertySets::new();
    global.insert("SYCLBIN/global metadata", "state", program.state.raw());
    global.extend(&program.properties);
    sets(&mut line, 1, &global);
    line(
        0,
        &format!("Number of Abstract Modules: {}", program.modules.len()),
    );
    for (index, module) in program.modules.iter().enumerate() {
        line(0, &format!("Abstract Module {index}:"));
        line(1, "Metadata:");
        sets(&mut line, 2, &module.properties);
        line(1, &format!("Number of IR Modules: {}", module.ir_modules.len()));
        for (number, ir) in module.ir_modules.iter().enumerate() {
            line(1, &format!("IR module {number}:"));
            line(2, "Metadata:");
            let mut own = PropertySets::new();
            own.insert("SYCLBIN/ir module metadata", "type", ir.ir_type.0);
            if !ir.target.is_empty() {
                own.insert("SYCLBIN/ir module metadata", "target", ir.target.as_str());
            }
            own.extend(&ir.properties);
            sets(&mut line, 3, &own);
            let size = ir.bytes.len();
            line(2, &format!("Raw IR bytes: <Binary blob of {size} bytes>"));
        }
        let count = module.native_images.len();
        line(1, &format!("Number of Native Device Code Images: {count}"));
        for (number, native) in module.native_images.iter().enumerate() {
            line(1, &format!("Native device code image {number}:"));
            line(2, "Metadata:");
            let mut own = PropertySets::new();
            for (key, text) in [("arch", &native.arch), ("target", &native.target)] {
                if !text.is_empty() {
                    own.insert("SYCLBIN/native device code image metadata", key, text.as_str());
                }
            }
            own.extend(&native.properties);
            sets(&mut line, 3, &own);
            let size = native.bytes.len();
            line(
                2,
                &format!("Raw native device code image bytes: <Binary blob of {size} bytes>"),
            );
        }
    }
    Ok(out)
}

fn sets(line: &mut dyn FnMut(usize, &str), depth: usize, sets: &PropertySets) {
    for (name, set) in sets.iter() {
        line(depth, &format!("{name}:"));
        for (key, value) in set.iter() {
            let text = match value {
                PropertyValue::U32(number) => number.to_string(),
                other => String::from_utf8_lossy(other.as_bytes().unwrap_or_default()).into_owned(),
            };
            if text.contains('\n') {
                line(depth + 1, &format!("{key}:"));
                for part in text.lines() {
                    line(depth + 2, part);
                }
            } else {
                line(depth + 1, &format!("{key}: {text}"));
            }
        }
    }
}
