//! `syclbin-dump`: what is in a SYCLBIN file, as text.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use offkit_object::{Limits, PropertySets, PropertyValue, SyclBin};

use crate::answers;
use crate::arguments::{Argument, Arguments};
use offkit_host::files;

const HELP: &str = "\
OVERVIEW: Dumping utility for SYCLBIN files

USAGE: syclbin-dump [options] <target syclbin>

OPTIONS:

Generic Options:

  --help      - Display available options (--help-hidden for more)
  --help-list - Display list of available options (--help-list-hidden for more)
  --version   - Display the version of this program

syclbin-dump options:

  -o <file>   - Specify output filename
";

/// Runs as the tool, called by the name `called`.
pub(super) fn run(called: &str, args: Vec<OsString>) -> Result<(), String> {
    let mut input = None;
    let mut output = PathBuf::from("-");
    let mut arguments = Arguments::new(called, args);
    while let Some(argument) = arguments.next() {
        match argument {
            Argument::Positional(path) if input.is_none() => input = Some(PathBuf::from(path)),
            Argument::Positional(_) => {
                return Err(format!(
                    "{called}: Too many positional arguments specified!\nCan specify at most 1 positional arguments: See: {called} --help"
                ));
            }
            Argument::Option { name, value } => match name.as_str() {
                "o" => output = arguments.os_value(&name, value)?.into(),
                _ if answers(&name, HELP) => return Ok(()),
                _ => return Err(arguments.unknown(&name)),
            },
        }
    }
    let input = input.ok_or_else(|| {
        format!("{called}: Not enough positional command line arguments specified!\nMust specify at least 1 positional argument: See: {called} --help")
    })?;
    let content =
        files::open(&input).map_err(|_| format!("Failed to open or read file {}", input.display()))?;
    let text = dump(&content).map_err(|error| format!("Failed to parse SYCLBIN file.\n{error}"))?;
    write(&output, &text)
}

fn write(output: &Path, text: &str) -> Result<(), String> {
    crate::write(output, &[text.as_bytes()]).map_err(|error| {
        let causes = offkit_host::causes(&error).join(": ");
        format!("Failed to open output file {}: {causes}", output.display())
    })
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
            own.insert("SYCLBIN/ir module metadata", "type", ir.ir_type.raw());
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
