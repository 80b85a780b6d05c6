//! What SPIR-V needs of device libraries: their bitcode becomes an image with as much as is needed, to be joined with it.

use std::collections::BTreeSet;
use std::ffi::OsString;

use offkit_llvm::{Form, Part as ModulePart, Source};
use offkit_object::{ImageFormat, Producer};

use super::error::LinkError;
use super::generate::{Generated, Planned, describe, source, told};
use super::join::Part;
use super::libraries::check_abi;
use super::target_link::TargetLink;
use super::{Llvm, PORTABLE_VERSION, close_after};
use offkit_devlib::code::Module;

impl TargetLink<'_, '_> {
    /// The image with what the SPIR-V among `chosen` needs of libraries; `None` if that is nothing.
    pub(super) fn supply(
        &mut self,
        chosen: &[&Module<'_>],
        libraries: &[&Module<'_>],
        llvm: &mut Llvm<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Part>, LinkError> {
        let [first, ..] = libraries else { return Ok(None) };
        let spirv = chosen
            .iter()
            .filter(|module| module.image.format == ImageFormat::Spirv);
        let needed: BTreeSet<&str> = spirv.flat_map(|module| module.imports()).collect();
        let defined: BTreeSet<&str> = chosen.iter().flat_map(|module| module.exports()).collect();
        let supplied: BTreeSet<&str> = libraries.iter().flat_map(|module| module.exports()).collect();
        let names = needed
            .intersection(&supplied)
            .filter(|name| !defined.contains(*name));
        // None that cannot stand between quotes.
        let names = names.filter(|name| !name.contains(['"', '\\', '\n']));
        let names: Vec<String> = names.map(|name| (*name).to_owned()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let version = self.options.spirv_version.unwrap_or(PORTABLE_VERSION);
        check_abi(&[], libraries, Some(version))?;

        // A list that refers to what is needed: for that libraries supply it.
        let mut needs = format!("target triple = {}\n", quoted(&first.image.target.triple));
        if let Some(layout) = &first.abi.data_layout {
            needs += &format!("target datalayout = {}\n", quoted(layout));
        }
        let symbols: Vec<String> = names.iter().map(|name| format!("@{}", quoted(name))).collect();
        // The types do not matter: pointers are opaque, and a definition takes the place of its
        // declaration whatever its own type is.
        for name in &symbols {
            needs += &format!("declare void {name}()\n");
        }
        needs += &format!(
            "@needs = global [{} x ptr] [ptr {}]\n",
            symbols.len(),
            symbols.join(", ptr ")
        );
        let needs = Source::bytes("what SPIR-V needs of device libraries", needs.as_bytes());
        let libraries: Vec<Source<'_>> = libraries.iter().map(|module| source(module)).collect();
        let worker = self.steps.time("start LLVM", || llvm.worker())?;
        let linked = (self.steps).time("link bitcode", || worker.open(&[needs], &libraries, false))?;
        // What comes of libraries is internal to the linked module. What the SPIR-V asks for becomes external again,
        // so that the two find each other when they are joined; the list itself is left behind.
        let part = ModulePart {
            roots: names.clone(),
            contents: Some(names.clone()),
            externalized: names.clone(),
            ..ModulePart::default()
        };
        // Not whole, as if objects were to come: what needs it is elsewhere.
        let form = Form::Code(Box::new(self.code_options(false)));
        let emitted = self
            .steps
            .time("generate code", || worker.emit(linked.id, &[part], &form, 0));
        let emitted = emitted.map_err(|error| self.crashed(error));
        let emitted = close_after(worker, linked.id, emitted)?;
        let Some(emitted) = emitted.into_iter().next() else {
            return Ok(None);
        };
        notes.extend(told(&emitted.diagnostics));
        let generated = Generated {
            planned: Planned::default(),
            file_name: OsString::new(),
            code: emitted.content.into(),
            imports: Vec::new(),
        };
        let label = format!("device libraries ({})", names.join(", "));
        describe(label, generated, &self.target, Producer::None).map(Some)
    }
}

/// A text as LLVM's assembly language has it: what would end it is written as the number of its byte.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '\0'..='\x1f' => quoted += &format!("\\{:02X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_before_its_quote() {
        assert_eq!(quoted("spirv64-unknown-unknown"), r#""spirv64-unknown-unknown""#);
        assert_eq!(quoted("e\"\n@a = global i8 0"), r#""e\22\0A@a = global i8 0""#);
        assert_eq!(quoted("\\22"), r#""\5C22""#);
    }
}
