//! File tables, in which DPC++'s tools pass lists of files to each other: a line with the names of the columns in
//! brackets, then a line for each row, all with `|` between the cells.

/// Why a file is no table.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("a file table is UTF-8 text")]
    NotUtf8,
    #[error("the file table is empty")]
    Empty,
    #[error("line 1: expected [COLUMN|…], found `{0}`")]
    Title(String),
    #[error("line {line}: expected {expected} cells, found {found}")]
    Cells {
        line: usize,
        expected: usize,
        found: usize,
    },
}

/// A table of file names.
pub(super) struct FileTable<'text> {
    columns: Vec<&'text str>,
    rows: Vec<Vec<&'text str>>,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<'table, 'text> {
    table: &'table FileTable<'text>,
    cells: &'table [&'text str],
}

impl<'text> FileTable<'text> {
    /// Reads a table; a row with another number of cells than there are columns is an error.
    pub(super) fn parse(bytes: &'text [u8]) -> Result<Self, TableError> {
        let text = std::str::from_utf8(bytes).map_err(|_| TableError::NotUtf8)?;
        let mut lines = text.lines().enumerate();
        let (_, title) = lines.next().ok_or(TableError::Empty)?;
        let columns = title
            .strip_prefix('[')
            .and_then(|title| title.trim_end().strip_suffix(']'))
            .ok_or_else(|| TableError::Title(title.to_owned()))?;
        let columns: Vec<_> = columns.split('|').collect();
        let mut rows = Vec::new();
        // Numbered before blank ones are left out, so that an error tells the line as an editor
        // counts it.
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<_> = line.split('|').collect();
            if cells.len() != columns.len() {
                return Err(TableError::Cells {
                    line: number.saturating_add(1),
                    expected: columns.len(),
                    found: cells.len(),
                });
            }
            rows.push(cells);
        }
        Ok(Self { columns, rows })
    }

    pub(super) fn rows<'table>(&'table self) -> impl Iterator<Item = Row<'table, 'text>> {
        self.rows.iter().map(|cells| Row { table: self, cells })
    }
}

impl<'text> Row<'_, 'text> {
    /// The cell of a column; `None` where the table has no such column.
    pub(super) fn cell(self, column: &str) -> Option<&'text str> {
        let index = self.table.columns.iter().position(|name| *name == column)?;
        self.cells.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_columns_and_rows() {
        let table = FileTable::parse(b"[Code|Symbols]\na.spv|a.sym\n\nb.spv|\n").unwrap();
        let cells: Vec<_> = table
            .rows()
            .map(|row| (row.cell("Code"), row.cell("Symbols"), row.cell("Manifest")))
            .collect();
        assert_eq!(
            cells,
            [
                (Some("a.spv"), Some("a.sym"), None),
                (Some("b.spv"), Some(""), None)
            ]
        );
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        for (text, error) in [
            ("", "empty"),
            ("Code|Symbols\n", "line 1"),
            ("[Code]\na|b\n", "line 2: expected 1 cells, found 2"),
        ] {
            let found = FileTable::parse(text.as_bytes()).err().unwrap().to_string();
            assert!(found.contains(error), "{found}");
        }
    }
}
