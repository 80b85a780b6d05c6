//! What is said of an image in lines below its row: kernels, imports, exports, properties.

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{DeviceImage, Inspect, Limits, Symbols};
use offkit_runtime::Signatures;

use super::json::{hex, is_readable};
use crate::cli::Ls;
use crate::commands::shown_name;
use crate::terminal::{Styles, columns, escape};

/// How many names of one kind are shown.
const NAMES_SHOWN: usize = 8;

/// What is known of an image besides what is in its row.
pub(super) struct Described {
    kernels: Kernels,
    imports: Vec<String>,
    exports: Vec<String>,
    properties: Vec<String>,
}

enum Kernels {
    Names(Vec<String>),
    /// A line for each.
    Lines(Vec<String>),
}

/// Describes images as the options say.
#[derive(Clone, Copy)]
pub(super) struct Describer {
    /// Whether every kernel gets a line of its own.
    each_kernel: bool,
    properties: bool,
    mangled: bool,
    styles: Styles,
    /// The columns of the terminal; very many where there is none.
    columns: usize,
}

impl Describer {
    pub(super) fn new(options: &Ls, styles: Styles) -> Self {
        Self {
            each_kernel: options.kernels,
            properties: options.properties,
            mangled: options.mangled,
            styles,
            columns: columns(),
        }
    }

    /// What the image and its container tell.
    pub(super) fn look_into(self, image: &DeviceImage<'_>) -> Described {
        let Symbols {
            kernels,
            imports,
            exports,
        } = image.symbols(&Limits::default());
        Described {
            kernels: if self.each_kernel {
                Kernels::Lines(self.kernel_lines(image, &kernels))
            } else {
                Kernels::Names(kernels)
            },
            imports,
            exports,
            properties: self.properties(image),
        }
    }

    /// Whether the container tells anything.
    pub(super) fn is_told(self, image: &DeviceImage<'_>) -> bool {
        !image.kernels.is_empty()
            || !image.imports.is_empty()
            || !image.exports.is_empty()
            || self.properties && !image.properties.is_empty()
    }

    /// What the container tells, which costs nothing.
    pub(super) fn told(self, image: &mut DeviceImage<'_>) -> Described {
        Described {
            properties: self.properties(image),
            kernels: Kernels::Names(std::mem::take(&mut image.kernels)),
            imports: std::mem::take(&mut image.imports),
            exports: std::mem::take(&mut image.exports),
        }
    }

    fn properties(self, image: &DeviceImage<'_>) -> Vec<String> {
        match self.properties {
            true => properties_lines(&image.properties, self.styles),
            false => Vec::new(),
        }
    }

    /// The lines of an image whose row is indented by so many levels.
    pub(super) fn lines(self, described: &Described, depth: usize) -> Vec<String> {
        let mut lines = Vec::new();
        match &described.kernels {
            Kernels::Lines(kernels) => lines.extend_from_slice(kernels),
            Kernels::Names(names) => self.names(&mut lines, depth, "kernels", names),
        }
        self.names(&mut lines, depth, "imports", &described.imports);
        self.names(&mut lines, depth, "exports", &described.exports);
        lines.extend_from_slice(&described.properties);
        lines
    }

    /// Every kernel on a line of its own, with its arguments where the image tells.
    fn kernel_lines(self, image: &DeviceImage<'_>, names: &[String]) -> Vec<String> {
        let Styles { faint, .. } = self.styles;
        let signatures = Signatures::of(image);
        let lines = names.iter().map(|name| {
            let shown = self.shown(name);
            let signature = signatures.kernel(name).map(offkit_spirv::Kernel::signature);
            let arguments = signature
                .as_deref()
                .and_then(|signature| signature.strip_prefix(name.as_str()))
                .map(escape)
                .unwrap_or_default();
            // A demangled name may have arguments of its own, as the source has them.
            let space = if shown.ends_with(')') && !arguments.is_empty() {
                " "
            } else {
                ""
            };
            format!("{faint}kernel{faint:#}   {shown}{space}{arguments}")
        });
        lines.collect()
    }

    /// Adds the names of one kind: on one line while they fit, else one a line.
    fn names(self, lines: &mut Vec<String>, depth: usize, title: &str, names: &[String]) {
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
            .map(|name| cut(self.shown(name), most))
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

    fn shown(self, name: &str) -> String {
        shown_name(name, self.mangled)
    }
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
