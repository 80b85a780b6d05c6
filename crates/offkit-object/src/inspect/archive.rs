//! Archives that are one image: Intel's ahead-of-time compiler puts code for several GPUs into one.

use std::collections::HashSet;

use offkit_image::PartName as Name;
use offkit_image::{Error, ImageFormat};

use super::findings::Findings;
use super::{Inspection, inspect_part};
use crate::archive::parts;
use crate::reading::Reading;
use crate::source::Source;

/// Looks into every member; kernels and symbols are those of all members together.
pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let mut reading = Reading::tolerant(findings.limits());
    let mut members = Vec::new();
    let result = parts(source, &mut reading, &mut |_, part| {
        members.push((part.name, part.stored))
    });
    for problem in reading.take_problems() {
        findings.problem(problem);
    }
    let mut whole = Union::default();
    let looked = members.into_iter().try_for_each(|(name, data)| {
        let format = ImageFormat::detect(data.bytes());
        if format == ImageFormat::Unknown {
            // Padding that aligns the next member.
            return Ok(());
        }
        let name = match name {
            Name::Text(name) => findings.text(name.as_bytes())?,
            Name::Path(parts) => findings.text(parts.join("/").as_bytes())?,
            Name::Number(number) => number.to_string(),
            Name::Numbered(text, [one, two]) => format!("{text}/{one}/{two}"),
            Name::Same => String::new(),
        };
        // Each by itself, as members have the same kernels for several GPUs.
        findings.inspection = Inspection::default();
        inspect_part(data, format, findings, false);
        let member = std::mem::take(&mut findings.inspection);
        let target = member.target.arch_with_features();
        let target = if target.is_empty() {
            String::new()
        } else {
            format!(" for {target}")
        };
        whole.add(member, format!("{name}: {format}{target}, {} bytes", data.len()));
        Ok(())
    });
    // Errors come last: what is before the damage, or a limit, counts all the same.
    findings.inspection = whole.inspection;
    for member in whole.members {
        findings.detail("member", member);
    }
    result.and(looked)
}

/// What the members have, each name once.
#[derive(Default)]
struct Union {
    inspection: Inspection,
    members: Vec<String>,
    names: HashSet<(u8, String)>,
}

impl Union {
    fn add(&mut self, member: Inspection, description: String) {
        self.members.push(description);
        let mut is_new = |kind, name: &String| self.names.insert((kind, name.clone()));
        let whole = &mut self.inspection;
        let kernels = member.kernels.into_iter();
        whole
            .kernels
            .extend(kernels.filter(|kernel| is_new(0, &kernel.name)));
        let imports = member.imports.into_iter();
        whole.imports.extend(imports.filter(|name| is_new(1, name)));
        let weak = member.weak_imports.into_iter();
        whole.weak_imports.extend(weak.filter(|name| is_new(3, name)));
        for aspect in member.aspects {
            // There are a few dozen at most.
            if !whole.aspects.contains(&aspect) {
                whole.aspects.push(aspect);
            }
        }
        let exports = member.exports.into_iter();
        whole.exports.extend(exports.filter(|name| is_new(2, name)));
    }
}
