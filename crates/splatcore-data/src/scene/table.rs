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

const ROWS: [Row; 8] = [
    Row {
        format: "PLY",
        endings: "`.ply`",
        read: "binary of either byte order, ASCII, float or double, any property order",
        written: "INRIA's layout",
        keeps: "every bit; harmonics of degree 0 to 4",
    },
    Row {
        format: "compressed PLY",
        endings: "`.compressed.ply`",
        read: "PlayCanvas's",
        written: "the same",
        keeps: "11, 10 and 11 bits of place and size within 256 neighbours, 8 bits of the rest; \
                degree 0 to 3",
    },
    Row {
        format: "SOG",
        endings: "`.sog`, folder with `meta.json`",
        read: "versions 1 and 2",
        written: "version 2",
        keeps: "16 bits of place, 8 of the rest by codebooks, higher harmonics by a palette; \
                degree 0 to 3",
    },
    Row {
        format: "streamed SOG",
        endings: "folder with `lod-meta.json`",
        read: "one level of detail, the finest or `--lod N`",
        written: "levels of detail in chunks",
        keeps: "as SOG",
    },
    Row {
        format: "SPZ",
        endings: "`.spz`",
        read: "versions 1 to 4",
        written: "versions 3 and 4",
        keeps: "24 bits of place, 8 of size, opacity and colour, 10 of rotation, 4 or 5 of higher \
                harmonics; degree 0 to 4",
    },
    Row {
        format: ".splat",
        endings: "`.splat`",
        read: "antimatter15's",
        written: "the same",
        keeps: "place and size exactly, 8 bits of the rest; degree 0",
    },
    Row {
        format: ".ksplat",
        endings: "`.ksplat`",
        read: "mkkellogg's, version 0.1",
        written: "no",
        keeps: "",
    },
    Row {
        format: "glTF",
        endings: "`.glb`",
        read: "KHR_gaussian_splatting, with node transforms",
        written: "the same, +Y up",
        keeps: "floats; degree 0 to 3",
    },
];

/// The table as Markdown.
pub fn format_table() -> String {
    let mut table = String::from(
        "| format | names | read | written | what a written file keeps |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for row in &ROWS {
        let cells = [row.format, row.endings, row.read, row.written, row.keeps];
        table.push_str(&format!("| {} |\n", cells.join(" | ").replace("  ", " ")));
    }
    table
}
