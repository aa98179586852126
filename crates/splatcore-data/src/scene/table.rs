//! The table of scene formats in README.md and docs/guide/files.md, made from this list.

/// What people want to know of a format before they choose it.
struct Row {
    format: &'static str,
    endings: &'static str,
    read: &'static str,
    written: &'static str,
    /// What a file keeps of each Gaussian, as it is written here.
    keeps: &'static str,
}

const ROWS: [Row; 9] = [
    Row {
        format: "PLY",
        endings: "`.ply`",
        read: "binary of either byte order, ASCII, float or double, any property order; degree 0 \
               to 4",
        written: "INRIA's layout",
        keeps: "every bit",
    },
    Row {
        format: "compressed PLY",
        endings: "`.compressed.ply`",
        read: "PlayCanvas's",
        written: "the same",
        keeps: "11, 10 and 11 bits of place and size within 256 neighbours, 8 to 10 bits of the \
                rest; degree 0 to 3",
    },
    Row {
        format: "SOG",
        endings: "`.sog`, `FOLDER/meta.json`",
        read: "versions 1 and 2",
        written: "version 2",
        keeps: "16 bits of place, 8 of the rest, a palette of harmonics; degree 0 to 3",
    },
    Row {
        format: "streamed SOG",
        endings: "`FOLDER/lod-meta.json`",
        read: "one level of detail",
        written: "levels of detail in chunks",
        keeps: "as SOG",
    },
    Row {
        format: "SPZ",
        endings: "`.spz`",
        read: "versions 1 to 4, any axes",
        written: "versions 2 to 4",
        keeps: "24 bits of place, 8 of size, opacity and colour, 10 of rotation, 4 or 5 of \
                harmonics; degree 0 to 4",
    },
    Row {
        format: ".splat",
        endings: "`.splat`",
        read: "antimatter15's",
        written: "the same",
        keeps: "place and size as floats, 8 bits of the rest; degree 0",
    },
    Row {
        format: ".ksplat",
        endings: "`.ksplat`",
        read: "mkkellogg's 0.1, degree 0 to 2",
        written: "no",
        keeps: "",
    },
    Row {
        format: "glTF",
        endings: "`.glb`",
        read: "KHR_gaussian_splatting and its drafts",
        written: "the same, y up",
        keeps: "floats; degree 0 to 3",
    },
    Row {
        format: "USD",
        endings: "`.usda`, `.usdz`",
        read: "no",
        written: "ParticleField3DGaussianSplat, y up",
        keeps: "floats",
    },
];

/// The formats that are read and those that are written, in a line.
pub fn formats_in_short() -> String {
    let names = |column: fn(&Row) -> &str| {
        let rows = ROWS.iter().filter(|row| column(row) != "no");
        rows.map(|row| row.format).collect::<Vec<_>>().join(", ")
    };
    format!("in: {}; out: {}", names(|r| r.read), names(|r| r.written))
}

/// The table as Markdown.
pub fn format_table() -> String {
    let mut table = String::from(
        "| format | names | read | written | what a written file keeps |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for row in &ROWS {
        let cells = [row.format, row.endings, row.read, row.written, row.keeps];
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_is_read_and_written() {
        let line = formats_in_short();
        let (read, written) = line.split_once("; out: ").unwrap();
        assert!(read.contains(".ksplat") && !written.contains(".ksplat"));
        assert!(!read.contains("USD") && written.ends_with("USD"));
    }

    /// README.md and the guide hold the table as it is made here.
    #[test]
    fn the_pages_hold_this_table() {
        let root = std::path::Path::new("../..");
        for page in ["README.md", "docs/guide/files.md"] {
            // A package of this crate alone has no such pages.
            let Ok(text) = std::fs::read_to_string(root.join(page)) else {
                eprintln!("skipped: {page} is not here");
                continue;
            };
            assert!(
                text.contains(&format_table()),
                "the table of scene formats in {page} is stale; `cargo run -p splatcore-data \
                 --example format_table` prints the right one"
            );
        }
    }
}
