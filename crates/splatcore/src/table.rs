//! Small tables on a terminal: each column is as wide as its widest cell, and two spaces stand
//! between columns, so that none runs into the next.

/// Space between columns.
const GAP: &str = "  ";

/// Rows of cells.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table that begins with a line of headings.
    pub fn headed(headings: &[&str]) -> Self {
        let mut table = Self::default();
        table.row(headings.iter().map(|heading| heading.to_string()));
        table
    }

    /// Appends a row; rows may have different numbers of cells.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The rows as lines without a space at the end. The first column, names, is aligned to the
    /// left, and so is the last if it is longer than numbers are (`words`); the others to the
    /// right.
    pub fn lines(&self, words: bool) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, &width))| {
                match column == 0 || words && column + 1 == columns {
                    true => format!("{cell:<width$}"),
                    false => format!("{cell:>width$}"),
                }
            });
            let line = cells.collect::<Vec<_>>().join(GAP);
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_never_touch() {
        let mut table = Table::headed(&["name", "ms", "note"]);
        table.row(["a".into(), "1.5".into(), "short".into()]);
        table.row(["é very long name of a stage".into(), "123456789.123".into()]);
        let lines = table.lines(true);
        assert_eq!(
            lines,
            [
                "name                                    ms  note",
                "a                                      1.5  short",
                "é very long name of a stage  123456789.123",
            ]
        );
    }
}
