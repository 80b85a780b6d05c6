//! What is said of an image in lines below its row: kernels, imports, exports, properties.

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{DeviceImage, Inspect, Limits, Symbols, Target, target_of};
use offkit_runtime::Signatures;

use super::Ls;
use super::json::{hex, is_readable};
use crate::commands::shown_name;
use crate::terminal::{Styles, columns, escape};

/// How many names of one kind are shown, but for kernels.
const NAMES_SHOWN: usize = 8;

/// Describes images as the options say.
#[derive(Clone, Copy)]
pub(super) struct Describer {
    /// Whether the names of kernels, imports and exports are shown.
    names: bool,
    properties: bool,
    mangled: bool,
    styles: Styles,
    /// The columns of the terminal; very many where there is none.
    columns: usize,
}

/// What an image says when it is asked.
pub(super) struct Asked {
    /// The lines about its kernels.
    kernels: Vec<String>,
    imports: Vec<String>,
    exports: Vec<String>,
    pub(super) target: Target,
}

impl Describer {
    pub(super) fn new(options: &Ls, styles: Styles) -> Self {
        Self {
            names: options.kernels,
            properties: options.properties,
            mangled: options.mangled,
            styles,
            columns: columns(),
        }
    }

    /// Whether images are asked for their names.
    pub(super) fn asks(&self) -> bool {
        self.names
    }

    /// Whether nothing is said below an image.
    pub(super) fn is_silent(&self) -> bool {
        !self.names && !self.properties
    }

    /// Asks an image for its names, and what it is for.
    pub(super) fn ask(&self, image: &DeviceImage<'_>) -> Asked {
        let Symbols {
            kernels,
            imports,
            exports,
        } = image.symbols(&Limits::default());
        let signatures = Signatures::of(image);
        let line = |name: &String| kernel_line(&signatures, name, self.mangled, self.styles);
        Asked {
            kernels: kernels.iter().map(line).collect(),
            imports,
            exports,
            target: target_of(image).into_owned(),
        }
    }

    /// The lines below an image, whose row is indented by so many levels; `asked` is what it said, if it was.
    pub(super) fn lines(
        &self,
        image: &DeviceImage<'_>,
        depth: usize,
        asked: Option<&mut Asked>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(asked) = asked {
            lines.append(&mut asked.kernels);
            self.names(&mut lines, depth, "imports", &asked.imports);
            self.names(&mut lines, depth, "exports", &asked.exports);
        }
        if self.properties {
            lines.extend(properties_lines(&image.properties, self.styles));
        }
        lines
    }

    /// Adds the names of one kind: on one line while they fit, else one a line.
    fn names(&self, lines: &mut Vec<String>, depth: usize, title: &str, names: &[String]) {
        const LINE: usize = 100;
        /// Even on a narrow terminal there is a beginning to tell names by.
        const LEAST: usize = 24;
        if names.is_empty() {
            return;
        }
        let faint = self.styles.faint;
        let indent = 4 * (depth + 1) + title.len() + 2;
        let most = self.columns.saturating_sub(indent).max(LEAST);
        let mut shown: Vec<_> = names
            .iter()
            .take(NAMES_SHOWN)
            .map(|name| cut(shown_name(name, self.mangled), most))
            .collect();
        let more = names.len().saturating_sub(NAMES_SHOWN);
        let length: usize = shown.iter().map(|name| name.chars().count() + 2).sum();
        if length <= LINE.min(most) {
            let shown = shown.join(", ");
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(format!("{faint}{title}{faint:#}  {shown}{faint}{more}{faint:#}"));
            return;
        }
        if more > 0 {
            shown.push(format!("{faint}and {more} more{faint:#}"));
        }
        let titles = std::iter::once(title).chain(std::iter::repeat(""));
        let width = title.len();
        let line = |(title, name)| format!("{faint}{title:width$}{faint:#}  {name}");
        lines.extend(titles.zip(shown).map(line));
    }
}

/// A kernel on a line of its own, with its arguments where the image tells.
pub(crate) fn kernel_line(signatures: &Signatures, name: &str, mangled: bool, styles: Styles) -> String {
    let faint = styles.faint;
    let shown = shown_name(name, mangled);
    // A signature begins with the symbol, whose place the readable name has here.
    let signature = signatures.kernel(name).map(offkit_spirv::Kernel::signature);
    let arguments = signature
        .as_deref()
        .and_then(|signature| signature.strip_prefix(name))
        .map(escape)
        .unwrap_or_default();
    // A demangled name may have arguments of its own, as the source has them.
    let space = if shown.ends_with(')') && !arguments.is_empty() {
        " "
    } else {
        ""
    };
    format!("{faint}kernel{faint:#}   {shown}{space}{arguments}")
}

/// The beginning of a text that is too long for a line.
fn cut(text: String, most: usize) -> String {
    if text.chars().count() <= most {
        return text;
    }
    let beginning = text.chars().take(most.saturating_sub(1));
    beginning.chain(['…']).collect()
}

pub(crate) fn properties_lines(sets: &PropertySets, styles: Styles) -> Vec<String> {
    let faint = styles.faint;
    let mut lines = Vec::new();
    for (name, set) in sets.iter() {
        lines.push(format!("{faint}[{}]{faint:#}", escape(name)));
        for (key, value) in set.iter() {
            let value = property(value);
            lines.push(format!("  {} = {}", escape(key), escape(&value)));
        }
    }
    lines
}

fn property(value: &PropertyValue) -> String {
    match (value.as_u32(), value.as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) if is_readable(text) => format!("\"{text}\""),
        _ => match value.as_bytes().unwrap_or_default() {
            [] => "no bytes".to_owned(),
            bytes => format!("0x{}", hex(bytes)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_to_the_line() {
        assert_eq!(cut("saxpy".into(), 5), "saxpy");
        assert_eq!(cut("saxpyµµ".into(), 6), "saxpy…");
        assert_eq!(cut("µ".into(), 0), "…");
    }
}
