//! Tables with numbers.

use crate::metric::Format;
use serde::Serialize;
use std::ops::Range;

/// A column.
#[derive(Serialize)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// How its numbers are written.
    pub format: Format,
    /// Printed in the paper, not measured here.
    pub from_paper: bool,
}

/// Columns under one heading.
#[derive(Serialize)]
pub struct Group {
    /// Heading: a scene, or what the paper measured on.
    pub title: String,
    /// At least one.
    pub columns: Vec<Column>,
}

/// A row.
#[derive(Serialize)]
pub struct TableRow {
    /// As the paper calls it.
    pub label: String,
    /// What ran.
    pub pipelines: Vec<String>,
    /// All its numbers are written like this, if not as the columns say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Why numbers are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// One for each column.
    pub cells: Vec<Option<f64>>,
}

/// A table with numbers.
#[derive(Serialize)]
pub struct Table {
    /// `Table 3`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// What to know when reading it.
    pub remarks: Vec<String>,
    /// Columns.
    pub groups: Vec<Group>,
    /// Rows.
    pub rows: Vec<TableRow>,
    /// Columns that the page plots.
    #[serde(skip)]
    pub plotted: Vec<usize>,
}

impl Table {
    /// All columns from left to right.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.groups.iter().flat_map(|group| &group.columns)
    }

    /// Groups of columns, each with the numbers of its columns.
    pub fn spans(&self) -> impl Iterator<Item = (&Group, Range<usize>)> {
        let starts = self.groups.iter().scan(0, |at, group| {
            *at += group.columns.len();
            Some(*at - group.columns.len())
        });
        let spans = self.groups.iter().zip(starts);
        spans.map(|(group, start)| (group, start..start + group.columns.len()))
    }

    /// What to say in place of these cells of a row: its note, if they are ours and none has a
    /// number.
    pub fn note_in<'a>(&self, row: &'a TableRow, cells: Range<usize>) -> Option<&'a str> {
        let ours = self
            .columns()
            .nth(cells.start)
            .is_some_and(|column| !column.from_paper);
        let empty = row.cells[cells].iter().all(Option::is_none);
        row.note.as_deref().filter(|_| ours && empty)
    }

    /// A cell as text; empty if there is no number.
    pub fn text(&self, row: &TableRow, cell: usize) -> String {
        let format = row
            .format
            .or_else(|| self.columns().nth(cell).map(|c| c.format));
        match (row.cells[cell], format) {
            (Some(value), Some(format)) => format.text(value),
            _ => String::new(),
        }
    }
}
