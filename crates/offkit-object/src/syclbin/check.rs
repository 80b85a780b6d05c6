//! The rules of SYCLBIN that reading does not insist on.

use std::collections::HashMap;

use offkit_image::property_set::names;
use offkit_image::{BundleState, Error};

use super::{SyclBin, has_magic, v1};
use crate::offload_binary::{self, read_one};
use crate::ranges::{Range, check_ranges};
use crate::reading::Reading;
use crate::source::Source;

pub(super) fn check(source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    if source.bytes().starts_with(&offload_binary::MAGIC) {
        // What is wrong further on in the offload binary does not keep the SYCLBIN from being checked.
        let _ = offload_binary::check(source, reading);
    }
    let mut quiet = Reading::tolerant(reading.limits());
    if has_magic(source.bytes()) {
        check_tables(source, reading)?;
    } else if let Ok(found) = read_one(source, &mut quiet)
        && let Some(first) = found.binary.entries.first()
        && has_magic(&first.image)
    {
        check_tables(found.source.locate(&first.image), reading)?;
    }
    // The program itself is checked when all of it could be read.
    let _ = quiet.take_problems();
    match super::read(source, &mut quiet) {
        Ok((program, _)) if quiet.take_problems().is_empty() => check_program(&program, source, reading),
        _ => Ok(()),
    }
}

/// Version 1: what the tables hold belongs to something, once.
fn check_tables(source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    /// Modules that all name the same images are no longer gone through once one was named so often.
    const MOST_USES: u64 = 64;
    let mut quiet = Reading::tolerant(reading.limits());
    let Ok(header) = v1::read_header(source) else {
        return Ok(());
    };
    let Ok(file) = v1::find_parts(source, header, &mut quiet) else {
        return Ok(());
    };
    let irs = file.ir_modules.iter().map(|header| (header, "IR module"));
    let natives = file.native_images.iter().map(|header| (header, "native image"));
    let mut images = Vec::new();
    let global = &header.global_metadata;
    let mut texts = vec![Range::new(
        global.offset.get(),
        global.size.get(),
        "the global metadata",
    )];
    for (index, module) in file.abstract_modules.iter().enumerate() {
        let what = format!("the metadata of abstract module {index}");
        texts.push(Range::new(
            module.metadata.offset.get(),
            module.metadata.size.get(),
            what,
        ));
    }
    for (index, (header, kind)) in irs.chain(natives).enumerate() {
        let (bytes, text) = (&header.bytes, &header.metadata);
        let number = if kind == "IR module" {
            index
        } else {
            index.saturating_sub(file.ir_modules.len())
        };
        images.push(Range::new(
            bytes.offset.get(),
            bytes.size.get(),
            format!("{kind} {number}"),
        ));
        let what = format!("the metadata of {kind} {number}");
        texts.push(Range::new(text.offset.get(), text.size.get(), what));
    }
    // Apart, as offsets count from where each of the two tables begins.
    check_ranges(file.metadata, texts, reading)?;
    check_ranges(file.images, images, reading)?;
    let lists = [
        ("IR module", file.ir_modules.len(), 0),
        ("native image", file.native_images.len(), 1),
    ];
    for (kind, count, list) in lists {
        let mut uses: HashMap<u64, u64> = HashMap::new();
        let mut is_enough = false;
        for module in file.abstract_modules {
            let indices = if list == 0 {
                &module.ir_modules
            } else {
                &module.native_images
            };
            let first = u64::from(indices.first.get());
            let end = first
                .saturating_add(u64::from(indices.count.get()))
                .min(count as u64);
            for index in first..end {
                let seen = uses.entry(index).or_default();
                *seen = seen.saturating_add(1);
                is_enough |= *seen > MOST_USES;
                // Modules may all name the same images: once is enough to say so.
                if *seen == 2 {
                    reading.fault(
                        Error::malformed(format!("{kind} {index} belongs to several abstract modules"))
                            .at(source.at(0)),
                    )?;
                }
            }
            if reading.is_exhausted() || is_enough {
                break;
            }
        }
        for index in 0..count as u64 {
            if !uses.contains_key(&index) {
                reading.fault(
                    Error::malformed(format!("{kind} {index} belongs to no abstract module"))
                        .at(source.at(0)),
                )?;
            }
        }
    }
    Ok(())
}

/// What the state allows, and symbols.
fn check_program(program: &SyclBin<'_>, source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    let mut exporters: HashMap<&str, usize> = HashMap::new();
    for (index, module) in program.modules.iter().enumerate() {
        if module.image_count() == 0 {
            reading.fault(
                Error::malformed("abstract module has no image")
                    .at(source.at(0))
                    .field(format!("abstract module {index}")),
            )?;
        } else if program.state == BundleState::Input && module.ir_modules.is_empty() {
            reading.fault(
                Error::malformed("program in input state has a part that is not IR")
                    .at(source.at(0))
                    .field(format!("abstract module {index}"))
                    .expecting("an IR module, as only these can be compiled"),
            )?;
        }
        for symbol in module.properties.symbols(names::EXPORTED_SYMBOLS) {
            if let Some(other) = exporters.insert(symbol, index) {
                reading.fault(
                    Error::malformed("two abstract modules export one symbol")
                        .at(source.at(0))
                        .field(format!("abstract module {index}"))
                        .expecting(format!("not what abstract module {other} exports"))
                        .finding(symbol.escape_debug()),
                )?;
            }
        }
    }
    if program.state != BundleState::Executable {
        return Ok(());
    }
    for (index, module) in program.modules.iter().enumerate() {
        for symbol in module.properties.symbols(names::IMPORTED_SYMBOLS) {
            if !exporters.contains_key(symbol) {
                reading.fault(
                    Error::malformed("program in executable state imports a symbol that it does not export")
                        .at(source.at(0))
                        .field(format!("abstract module {index}"))
                        .finding(symbol.escape_debug()),
                )?;
            }
        }
    }
    Ok(())
}
