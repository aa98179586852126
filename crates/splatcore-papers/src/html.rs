//! The tables as one page, with bars. Readable offline, without scripts.

use crate::about::About;
use crate::page::{Bar, BarChart, document, escape, summary};
use crate::table::Table;
use std::fmt::Write;

/// The whole page. `facts` are names and values for the table at the top.
pub fn page(about: &About, facts: &[(String, String)], tables: &[Table]) -> String {
    let mut body = format!(
        "<p>{}: {}. {}. Measured there on {}.</p>\n",
        escape(&about.name),
        escape(&about.title),
        escape(&about.reference),
        escape(&about.card)
    );
    body.push_str(&summary(facts));
    for table in tables {
        write_table(table, &mut body);
    }
    document(&format!("The tables of {}", about.name), &body)
}

// Writing to a String cannot fail, so the results are let go.
fn write_table(table: &Table, out: &mut String) {
    let _ = writeln!(
        out,
        "<h2>{}: {}</h2>\n{}<div class=\"wide\"><table class=\"numbers\">\n<tr><th></th>",
        escape(&table.name),
        escape(&table.caption),
        bars(table).to_svg()
    );
    for group in &table.groups {
        let (columns, title) = (group.columns.len(), escape(&group.title));
        let _ = write!(
            out,
            "<th class=\"first\" colspan=\"{columns}\">{title}</th>"
        );
    }
    out.push_str("</tr>\n<tr><th></th>");
    for group in &table.groups {
        for (i, column) in group.columns.iter().enumerate() {
            let _ = write!(
                out,
                "<th{}>{}</th>",
                class(i == 0, column.from_paper),
                escape(&column.name)
            );
        }
    }
    out.push_str("<th></th></tr>\n");
    for row in &table.rows {
        let _ = write!(out, "<tr><th>{}</th>", escape(&row.label));
        let mut said = false;
        for (group, columns) in table.spans() {
            if let Some(note) = table.note_in(row, columns.clone()) {
                let (columns, note) = (columns.len(), escape(note));
                let _ = write!(
                    out,
                    "<td class=\"first note\" colspan=\"{columns}\">{note}</td>"
                );
                said = true;
                continue;
            }
            for (i, column) in group.columns.iter().enumerate() {
                let text = escape(&table.text(row, columns.start + i));
                let _ = write!(out, "<td{}>{text}</td>", class(i == 0, column.from_paper));
            }
        }
        let note = row.note.as_deref().filter(|_| !said).unwrap_or_default();
        let _ = writeln!(out, "<td class=\"note\">{}</td></tr>", escape(note));
    }
    out.push_str("</table></div>\n");
    for remark in &table.remarks {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(remark));
    }
}

/// A line on the left of each group, the paper's numbers in grey.
fn class(first: bool, paper: bool) -> &'static str {
    match (first, paper) {
        (true, true) => " class=\"first paper\"",
        (true, false) => " class=\"first\"",
        (false, true) => " class=\"paper\"",
        (false, false) => "",
    }
}

/// The plotted columns, a bar for each beside the row's name. Rows of another kind of number are
/// left out.
fn bars(table: &Table) -> BarChart {
    let heading = |at: usize| {
        let group = table.spans().find(|(_, columns)| columns.contains(&at));
        group.map_or(String::new(), |(group, columns)| {
            format!(
                "{}, {}",
                group.title,
                group.columns[at - columns.start].name
            )
        })
    };
    let rows = table.rows.iter().filter(|row| row.format.is_none());
    BarChart {
        series: table.plotted.iter().map(|&at| heading(at)).collect(),
        groups: rows
            .map(|row| {
                let bar = |&at: &usize| {
                    row.cells[at].map(|value| Bar {
                        value,
                        text: table.text(row, at),
                    })
                };
                (row.label.clone(), table.plotted.iter().map(bar).collect())
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use crate::test_data::scene;

    #[test]
    fn the_page_names_every_table_and_needs_nothing_from_elsewhere() {
        for paper in Paper::ALL {
            let mut scene = scene(paper, "+tc-gs");
            scene.name = "<script>".into();
            let tables = paper.tables(&[scene], &[]);
            let html = page(paper.about(), &[("Device".into(), "a & b".into())], &tables);
            for table in &tables {
                assert!(
                    html.contains(&format!("<h2>{}: ", table.name)),
                    "{}",
                    table.name
                );
            }
            assert!(!html.contains("<script") && html.contains("a &amp; b"));
            for outside in ["http:", "https:", "url(", "src=", "@import"] {
                assert!(!html.contains(outside), "{outside}");
            }
            for tag in [
                "table", "tr", "th", "td", "svg", "figure", "div", "body", "html",
            ] {
                let open = html.matches(&format!("<{tag}>")).count()
                    + html.matches(&format!("<{tag} ")).count();
                let close = html.matches(&format!("</{tag}>")).count();
                assert!(
                    open == close && open > 0,
                    "{tag}: {open} opened, {close} closed"
                );
            }
        }
    }

    #[test]
    fn every_number_of_the_text_is_on_the_page() {
        let tables = Paper::Tc.tables(&[scene(Paper::Tc, "")], &[]);
        let html = page(Paper::Tc.about(), &[], &tables);
        for table in &tables {
            for row in &table.rows {
                for cell in 0..row.cells.len() {
                    assert!(
                        html.contains(&format!(">{}<", table.text(row, cell))),
                        "{}",
                        row.label
                    );
                }
            }
        }
    }
}
