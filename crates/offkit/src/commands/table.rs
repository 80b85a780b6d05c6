//! Tables, as text in columns or as Markdown.

use crate::terminal::{Styles, escape};

/// A table with a title.
pub(super) struct Table {
    pub(super) title: String,
    /// The names of the columns. Those of numbers begin with `>` and stand to the right.
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// What is said below it.
    pub(super) note: String,
}

impl Table {
    pub(super) fn new(title: impl Into<String>, columns: &[&'static str]) -> Self {
        Self {
            title: title.into(),
            columns: columns.to_vec(),
            rows: Vec::new(),
            note: String::new(),
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn name(column: &str) -> &str {
        column.strip_prefix('>').unwrap_or(column)
    }

    /// In columns; names are cut to what a terminal of that width has room for.
    pub(super) fn text(&self, styles: Styles, most: usize) -> String {
        let Styles { faint, heading, .. } = styles;
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|column| Self::name(column).chars().count())
            .collect();
        /// No reason in the last column is as long; names of templates are.
        const LONGEST: usize = 400;
        let last = self.columns.len().saturating_sub(1);
        let cell = |(column, text): (usize, &String)| -> String {
            // Only names are long, and what is said in the last column is there to be read.
            let text = escape(text).into_owned();
            let most = match column == last {
                true => LONGEST.max(most),
                false => most,
            };
            match text.chars().count() > most {
                true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
                false => text,
            }
        };
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().enumerate().map(cell).collect())
            .collect();
        for row in &rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = (*width).max(text.chars().count());
            }
        }
        let line = |cells: &[String]| {
            let mut line = String::from(" ");
            for ((text, width), column) in cells.iter().zip(&widths).zip(&self.columns) {
                line.push(' ');
                line += &match column.starts_with('>') {
                    true => format!("{text:>width$}"),
                    false => format!("{text:<width$}"),
                };
                line.push(' ');
            }
            line.trim_end().to_owned()
        };
        let names: Vec<_> = self
            .columns
            .iter()
            .map(|column| Self::name(column).to_owned())
            .collect();
        let mut text = format!(
            "{heading}{}{heading:#}\n{faint}{}{faint:#}\n",
            self.title,
            line(&names)
        );
        for row in &rows {
            text += &line(row);
            text.push('\n');
        }
        if !self.note.is_empty() {
            text += &format!("  {faint}{}{faint:#}\n", self.note);
        }
        text
    }

    /// As Markdown.
    pub(super) fn markdown(&self) -> String {
        let join = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {}\n\n", self.title);
        let names = self.columns.iter().map(|column| Self::name(column).to_owned());
        text += &join(names.collect());
        let rules = self.columns.iter().map(|column| match column.starts_with('>') {
            true => "---:".to_owned(),
            false => "---".to_owned(),
        });
        text += &join(rules.collect());
        for row in &self.rows {
            text += &join(row.iter().map(|text| in_markdown(text)).collect());
        }
        if !self.note.is_empty() {
            text += &format!("\n{}\n", self.note);
        }
        text
    }
}

/// Text, which may be from files, that stands as it is where Markdown is read.
pub(super) fn in_markdown(text: &str) -> String {
    // Escaped first: the backslash of `\u{1b}` is one that Markdown would take.
    let text = escape(text);
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut was_word = false;
    while let Some(c) = chars.next() {
        // Within a word, as in `sm_80`, it means nothing.
        let is_within = was_word && chars.peek().is_some_and(|next| next.is_alphanumeric());
        was_word = c.is_alphanumeric();
        match c {
            '_' if is_within => plain.push(c),
            '<' => plain.push_str("&lt;"),
            // A name of somebody's would call them.
            '@' => plain.push_str("&#64;"),
            '|' | '\\' | '[' | ']' | '`' | '*' | '_' => plain.extend(['\\', c]),
            c => plain.push(c),
        }
    }
    plain
}

/// What is said below a table that shows the first `top` of `all` rows.
pub(super) fn more(top: usize, all: usize) -> String {
    match all.saturating_sub(top) {
        0 => String::new(),
        more => format!("and {more} more: --top {all} shows all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_is_whole_and_names_are_cut() {
        let mut table = Table::new("Holes", &["kernel", "why"]);
        table.row(vec!["a".repeat(40), "b".repeat(40)]);
        let text = table.text(Styles::default(), 24);
        assert!(text.contains(&format!("{}…", "a".repeat(23))), "{text}");
        assert!(text.contains(&"b".repeat(40)), "{text}");
        table.row(vec!["a".into(), "b".repeat(4000)]);
        assert!(table.text(Styles::default(), 24).len() < 3000);
    }

    #[test]
    fn names_are_no_markdown() {
        let mut table = Table::new("Kernels", &["kernel"]);
        table.row(vec!["f<int>[a](*p)`_@x|\\ sm_80 __f_ \u{1b}".into()]);
        let text = table.markdown();
        assert!(
            text.contains("f&lt;int>\\[a\\](\\*p)\\`\\_&#64;x\\|\\\\ sm_80 \\_\\_f\\_ \\\\u{1b} |"),
            "{text}"
        );
    }
}
