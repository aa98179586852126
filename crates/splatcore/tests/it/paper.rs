//! `bench --paper`: the tables of the papers on tensor cores.
// Clippy knows tests by #[test] only.

use crate::common::{json, photos, splatcore, succeeds, text, write_scene};
use serde_json::Value;

/// Tables of each paper, in the order printed.
const TABLES: [(&str, &[&str]); 3] = [
    (
        "tc-gs",
        &["Table 3", "Table 4", "Table 5", "Table 6", "Figure 3"],
    ),
    (
        "gemm-gs",
        &["Table 2", "Figure 5", "Figure 3", "Figure 6", "Figure 7"],
    ),
    (
        "tensor-gs",
        &[
            "Figure 4", "Figure 5", "Table 6", "Table 4", "Table 3", "Figure 1",
        ],
    ),
];

/// Arguments for a few small views on the processor.
fn quick(paper: &str) -> Vec<&str> {
    vec![
        "--paper",
        paper,
        "--backend",
        "cpu",
        "--dataset",
        photos(),
        "--max-size",
        "32",
        "--passes",
        "2",
    ]
}

/// The cells of a row under their headings, without those of the paper.
fn measured<'a>(table: &'a Value, row: &'a Value) -> Vec<(&'a str, Option<f64>)> {
    let groups = table["groups"].as_array().unwrap();
    let columns = groups
        .iter()
        .flat_map(|group| group["columns"].as_array().unwrap());
    let cells = columns.zip(row["cells"].as_array().unwrap());
    let here = cells.filter(|(column, _)| column["from_paper"] == false);
    here.map(|(column, cell)| (column["name"].as_str().unwrap(), cell.as_f64()))
        .collect()
}

#[test]
fn every_table_is_printed_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    for (paper, tables) in TABLES {
        let (file, html) = (
            folder.path().join("paper.json"),
            folder.path().join("paper.html"),
        );
        let files = ["--json", text(&file), "--html", text(&html)];
        let people = succeeds(&[&["bench", text(&scene)][..], &quick(paper), &files].concat());
        let found = json(&std::fs::read_to_string(&file).unwrap());
        let html = std::fs::read_to_string(&html).unwrap();

        let names: Vec<_> = found["tables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| &t["name"])
            .collect();
        assert_eq!(names, tables);
        for name in tables {
            assert!(people.contains(&format!("\n{name}: ")), "{name}: {people}");
            assert!(html.contains(&format!("<h2>{name}: ")), "{name}");
        }
        assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="));
        assert!(!html.contains("http:") && !html.contains("https:") && !html.contains("url("));
        assert_eq!(
            (&found["backend"], &found["passes"]),
            (&"cpu".into(), &2.into())
        );
        let about = &found["scenes"][0];
        assert_eq!(
            (&about["gaussians"], &about["views"]),
            (&50.into(), &2.into())
        );
        assert_eq!(about["size"], serde_json::json!([32, 24]));

        for table in found["tables"].as_array().unwrap() {
            let last = table["rows"].as_array().unwrap().last().unwrap();
            assert!(
                last["label"]
                    .as_str()
                    .unwrap()
                    .starts_with("splatcore (exact+splatcore)"),
                "{last}"
            );
            // Times are positive, images equal to vanilla's in quality.
            for (name, value) in measured(table, last) {
                let value = value.unwrap_or_else(|| panic!("no {name}: {last}"));
                assert!(value >= 0.0 && value.is_finite(), "{name}: {last}");
                assert!(name != "dB vs 3DGS" || value >= 60.0, "{name}: {last}");
            }
        }
    }
}

/// The processor has no matrix units.
#[test]
fn what_the_backend_lacks_is_a_row_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let file = folder.path().join("paper.json");
    let args = [
        &["bench", text(&scene), "--json", text(&file)][..],
        &quick("tc-gs"),
    ]
    .concat();
    let people = succeeds(&args);
    let line = people
        .lines()
        .find(|line| line.starts_with("3DGS(+TC-GS)"))
        .unwrap();
    assert!(
        line.contains("not available on this backend")
            && line.contains("323.4")
            && line.contains("2.13×"),
        "{people}"
    );
    let found = json(&std::fs::read_to_string(&file).unwrap());
    let missing = found["scenes"][0]["missing"].as_array().unwrap();
    let of = |name: &str| missing.iter().find(|m| m["pipeline"] == name).unwrap();
    let reason = of("aabb+tc-gs")["reason"].as_str().unwrap();
    assert!(
        reason.contains("cpu") && reason.contains("tc-gs"),
        "{reason}"
    );
    let table = &found["tables"][0];
    let row = &table["rows"][1];
    assert_eq!(row["note"], "not available on this backend");
    assert!(
        measured(table, row)
            .iter()
            .all(|(_, value)| value.is_none()),
        "{row}"
    );
}

/// Ratios are of the same run, and each resolution is compared with vanilla at that resolution.
#[test]
fn speed_ups_follow_from_the_times() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let file = folder.path().join("paper.json");
    succeeds(
        &[
            &["bench", text(&scene), "--json", text(&file)][..],
            &quick("gemm-gs"),
        ]
        .concat(),
    );
    let found = json(&std::fs::read_to_string(&file).unwrap());
    let rows = found["scenes"][0]["rows"].as_array().unwrap();
    let ms = |scale: u64, intersect: &str, blend: &str| {
        let row = rows
            .iter()
            .find(|r| r["scale"] == scale && r["intersect"] == intersect && r["blend"] == blend);
        row.unwrap()["gpu_ms"].as_f64().unwrap()
    };
    let tables = found["tables"].as_array().unwrap();
    let table = tables.iter().find(|t| t["name"] == "Figure 6").unwrap();
    let lines = table["rows"].as_array().unwrap();
    for (i, scale) in [1, 2, 3].into_iter().enumerate() {
        let row = &lines[lines.len() - 3 + i];
        assert!(
            row["label"]
                .as_str()
                .unwrap()
                .ends_with(&format!("{scale}x")),
            "{row}"
        );
        let cells = measured(table, row);
        let ours = ms(scale, "exact", "splatcore");
        assert_eq!(cells[0], ("ms", Some(ours)));
        let (name, times) = cells[1];
        let expected = ms(scale, "aabb", "scalar") / ours;
        assert_eq!(name, "speed-up");
        // Numbers that went through JSON differ in the last bit.
        assert!((times.unwrap() / expected - 1.0).abs() < 1e-12, "{row}");
    }
    // Photos fit the images at their own size only.
    for row in rows {
        assert_eq!(row["psnr_vs_photos"].is_f64(), row["scale"] == 1, "{row}");
    }
}

#[test]
fn several_scenes_stand_beside_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let first = write_scene(folder.path());
    let second = folder.path().join("again.ply");
    std::fs::copy(&first, &second).unwrap();
    let scenes = ["bench", text(&first), text(&second)];
    let people = succeeds(&[&scenes[..], &quick("tensor-gs")].concat());
    let headings = people
        .lines()
        .find(|line| line.contains("here: scene"))
        .unwrap();
    assert!(
        headings.contains("here: again") && headings.contains("paper"),
        "{people}"
    );
    let row = people
        .lines()
        .find(|line| line.starts_with("splatcore ("))
        .unwrap();
    let cells: Vec<Vec<&str>> = row
        .split('|')
        .map(|cells| cells.split_whitespace().collect())
        .collect();
    // The first table: time, speed-up and PSNR of each scene.
    assert!(
        cells[1..3]
            .iter()
            .all(|cells| cells.len() == 3 && !cells.contains(&"-")),
        "{row}"
    );

    for wrong in [
        [&scenes[..], &["--orbit", "1"]].concat(),
        vec!["bench", text(&first), "--orbit", "1", "--html", "x.html"],
        vec![
            "bench",
            text(&first),
            "--orbit",
            "1",
            "--paper",
            "tc-gs",
            "--pipeline",
            "all",
        ],
        vec![
            "bench",
            text(&first),
            "--orbit",
            "1",
            "--paper",
            "tc-gs",
            "--backward",
        ],
        vec!["bench", text(&first), "--orbit", "1", "--paper", "bitcoin"],
    ] {
        let output = splatcore(&wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty());
    }
}
