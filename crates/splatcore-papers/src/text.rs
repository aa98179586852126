//! Tables for a terminal.

use crate::table::Table;

/// Stands where there is no number.
const NOTHING: &str = "-";

/// Name, headings, rows, remarks.
pub fn text(table: &Table) -> String {
    let mut lines = vec![format!("{}: {}", table.name, table.caption)];
    let cell = |row: usize, column: usize| {
        let text = table.text(&table.rows[row], column);
        if text.is_empty() {
            NOTHING.to_owned()
        } else {
            text
        }
    };
    let mut widths: Vec<usize> = table
        .columns()
        .enumerate()
        .map(|(i, column)| {
            let cells = (0..table.rows.len()).map(|row| cell(row, i).chars().count());
            cells
                .chain([column.name.chars().count()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    // A heading over several columns may be wider than all of them: the first then makes room.
    let width_of = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
    for (group, columns) in table.spans() {
        let have = width_of(&widths[columns.clone()]);
        widths[columns.start] += group.title.chars().count().saturating_sub(have);
    }
    let labels = table.rows.iter().map(|row| row.label.chars().count());
    let label = labels.max().unwrap_or(0);

    let mut over = format!("{:label$}", "");
    let mut under = over.clone();
    for (group, columns) in table.spans() {
        let widths = &widths[columns];
        let width = width_of(widths);
        over.push_str(&format!(" | {:^width$}", group.title));
        under.push_str(" | ");
        let names = group.columns.iter().zip(widths);
        let names: Vec<String> = names
            .map(|(c, &width)| format!("{:>width$}", c.name))
            .collect();
        under.push_str(&names.join("  "));
    }
    if !table.groups.is_empty() {
        lines.push(over.trim_end().to_owned());
        lines.push(under);
    }
    for (number, row) in table.rows.iter().enumerate() {
        let mut line = format!("{:label$}", row.label);
        let mut said = false;
        for (_, columns) in table.spans() {
            let numbers = columns
                .clone()
                .map(|i| format!("{:>1$}", cell(number, i), widths[i]));
            let numbers = numbers.collect::<Vec<_>>().join("  ");
            let width = numbers.chars().count();
            let note = table.note_in(row, columns);
            line.push_str(" | ");
            match note.filter(|note| note.chars().count() <= width) {
                Some(note) => line.push_str(&format!("{note:width$}")),
                None => line.push_str(&numbers),
            }
            said |= note.is_some_and(|note| note.chars().count() <= width);
        }
        if let (Some(note), false) = (&row.note, said) {
            line.push_str("   ");
            line.push_str(note);
        }
        lines.push(line);
    }
    lines.extend(table.remarks.iter().map(|remark| format!("  {remark}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use crate::test_data::scene;

    #[test]
    fn columns_stand_under_their_headings() {
        for paper in Paper::ALL {
            for table in paper.tables(&[scene(paper, "")], &[]) {
                if table.groups.is_empty() {
                    continue;
                }
                let text = text(&table);
                let lines: Vec<&str> = text.lines().collect();
                let bars = |line: &str| -> Vec<usize> {
                    let chars = line.chars().enumerate();
                    chars.filter(|(_, c)| *c == '|').map(|(at, _)| at).collect()
                };
                let rows = &lines[1..3 + table.rows.len()];
                assert!(
                    rows.iter().all(|line| bars(line) == bars(rows[1])),
                    "{text}"
                );
                assert!(!bars(rows[0]).is_empty());
            }
        }
    }

    #[test]
    fn a_missing_method_is_a_row_with_its_reason() {
        let tables = Paper::Tc.tables(&[scene(Paper::Tc, "+tc-gs")], &[]);
        let text = text(&tables[0]);
        let row = text
            .lines()
            .find(|line| line.starts_with("3DGS(+TC-GS)"))
            .unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        // Ours, then the paper's.
        assert_eq!(
            cells[1..3],
            ["unknown blend method", "323.4     2.13×  23.68  0.8510"],
            "{text}"
        );
        let row = text.lines().find(|line| line.starts_with("3DGS ")).unwrap();
        assert!(row.contains("250.0"), "{text}");
        // Where the other variant has numbers, or where there is no room, it stands at the end.
        let text = super::text(&tables[1]);
        let row = text.lines().find(|line| line.starts_with("3DGS ")).unwrap();
        assert!(
            row.ends_with("unknown blend method") && row.contains(" - "),
            "{text}"
        );
    }

    #[test]
    fn a_table_without_columns_is_its_rows_with_what_they_say() {
        let tables = Paper::Atomic.tables(&[scene(Paper::Atomic, "")], &[]);
        let text = text(&tables[0]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("Table 1: "), "{text}");
        assert!(lines[1].starts_with("CPU ") && lines[1].contains("3.6GHz Rocket-lake-like"));
        assert_eq!(lines.len(), 1 + tables[0].rows.len() + 1, "{text}");
    }
}
