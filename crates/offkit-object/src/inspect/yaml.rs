//! The YAML that device compilers write into images: block style, one key a line. Not a reader of YAML at large.

/// A line with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'data> {
    /// The column of the key.
    indent: usize,
    /// Whether the line starts an item of a list, and how deep among the lists of the section: 1 for its own.
    item: Option<usize>,
    pub(super) key: &'data str,
    /// The rest of the line, without quotes; empty if the value is on the lines that follow.
    pub(super) value: &'data str,
}

impl Line<'_> {
    /// Whether an item begins here, or what is under the key does.
    pub(super) fn begins(&self) -> bool {
        self.item.is_some() || self.value.is_empty()
    }

    /// Whether the line is the first of an item of a list at this depth.
    pub(super) fn starts_item(&self, depth: usize) -> bool {
        self.item == Some(depth)
    }
}

/// The lines under a key of the outermost level, up to the next such key.
pub(super) fn section<'data>(text: &'data [u8], name: &str) -> impl Iterator<Item = Line<'data>> {
    let mut inside = false;
    // The columns of the keys of the lists that are open. Text that goes down and down without end has only so
    // many of them.
    const DEEPEST: usize = 16;
    let mut lists: Vec<usize> = Vec::new();
    text.split(|byte| *byte == b'\n').filter_map(move |bytes| {
        let mut line = parse(std::str::from_utf8(bytes).ok()?)?;
        if line.indent == 0 {
            inside = line.key == name;
            lists.clear();
            return None;
        }
        // Not at the same column: there the other keys of the same item stand.
        while lists.last().is_some_and(|column| *column > line.indent) {
            lists.pop();
        }
        if line.item.is_some() {
            if lists.last() != Some(&line.indent) && lists.len() < DEEPEST {
                lists.push(line.indent);
            }
            line.item = Some(lists.len());
        }
        inside.then_some(line)
    })
}

fn parse(text: &str) -> Option<Line<'_>> {
    let text = text.trim_end();
    let content = text.trim_start_matches(' ');
    if content.starts_with('#') || content.starts_with("---") {
        return None;
    }
    let (item, content) = match content.strip_prefix("- ") {
        Some(rest) => (Some(0), rest.trim_start_matches(' ')),
        None => (None, content),
    };
    // A colon without a space is part of the text, as YAML has it: names of C++ have `::`.
    let (key, value) = match content.split_once(": ") {
        Some((key, value)) => (key, value.trim_start()),
        None => (content.strip_suffix(':')?, ""),
    };
    Some(Line {
        indent: text.len().saturating_sub(content.len()),
        item,
        key: unquoted(key),
        value: unquoted(value),
    })
}

fn unquoted(text: &str) -> &str {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_section_know_the_items_they_start() {
        let text = b"---\nversion: '1.2'\nkernels:\n  - name:  'a b'\n    env:\n      size: 32\n    args:\n      - kind: x\n\
            # comment\n  - name: second\n...\nmore:\n  - name: other\n";
        let lines: Vec<_> = section(text, "kernels")
            .map(|line| (line.item, line.key, line.value))
            .collect();
        assert_eq!(
            lines,
            [
                (Some(1), "name", "a b"),
                (None, "env", ""),
                (None, "size", "32"),
                (None, "args", ""),
                (Some(2), "kind", "x"),
                (Some(1), "name", "second"),
            ]
        );
    }
}
