//! `bench --paper`: the papers' tables.
// Clippy knows tests by #[test] only.

use crate::common::{ends, json, photos, some_photos, succeeds, text, write_scene};
use serde_json::Value;
use std::path::Path;

/// Tables of each paper on tensor cores, in the order printed.
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
            "Figure 4",
            "Figure 5",
            "Table 6",
            "Table 4",
            "Table 2",
            "Table 3",
            "Figure 1(a)",
            "Figure 1(b)",
            "Figure 3",
        ],
    ),
];

/// Arguments for a few small views on the processor.
pub fn quick(paper: &str) -> Vec<&str> {
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
pub fn measured<'a>(table: &'a Value, row: &'a Value) -> Vec<(&'a str, Option<f64>)> {
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
            if measured(table, last).is_empty() {
                // It only quotes the paper.
                assert!(last["note"].is_string(), "{last}");
                continue;
            }
            assert!(
                last["label"]
                    .as_str()
                    .unwrap()
                    .starts_with("splatcore (exact+splatcore)"),
                "{last}"
            );
            // Times are positive, images equal to vanilla's in quality.
            for (name, value) in measured(table, last) {
                if name == "LPIPS vs photos" {
                    assert_eq!(value, None, "there are no weights");
                    continue;
                }
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
    assert_contains!(reason, "cpu", "tc-gs");
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

/// Makes a training of the tiny dataset in `folder/tiny/NAME`.
fn train(folder: &Path, name: &str, pipeline: &str, more: &[&str]) {
    let output = folder.join("tiny").join(name);
    let args = ["train", photos(), "-o", text(&output), "--backend", "cpu"];
    let short = ["--max-size", "32", "--pipeline", pipeline];
    succeeds(&[&args[..], &short, more].concat());
}

/// One command prints all tables: steps that the processor takes, what it lacks, trainings.
#[test]
fn the_paper_on_training_has_steps_and_trainings() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let runs = folder.path().join("runs");
    train(&runs, "a", "vanilla", &["--iterations", "20"]);
    let limit = ["--iterations", "2000000", "--time-limit", "0.2"];
    train(&runs, "b", "exact+splatcore+splatcore", &limit);
    let file = folder.path().join("paper.json");
    let html = folder.path().join("paper.html");
    let files = ["--json", text(&file), "--html", text(&html)];
    let args = ["bench", text(&scene), "--trainings", text(&runs)];
    let people = succeeds(&[&args[..], &quick("atomic-aggregation"), &files].concat());
    let found = json(&std::fs::read_to_string(&file).unwrap());
    let tables = found["tables"].as_array().unwrap();
    let names: Vec<&str> = tables.iter().map(|t| t["name"].as_str().unwrap()).collect();
    let wanted = [
        "Table 1",
        "Table 2",
        "Figure 2",
        "Figure 4",
        "Figure 5",
        "Figure 6",
        "Figure 9, gradient computation",
        "Figure 9, end to end",
        "Figure 10",
        "Figure 11",
        "Table 3",
    ];
    assert_eq!(names, wanted);
    let html = std::fs::read_to_string(&html).unwrap();
    for name in names {
        assert!(people.contains(&format!("\n{name}: ")), "{name}: {people}");
        assert!(html.contains(&format!("<h2>{name}: ")), "{name}");
    }

    // Times and speed-ups of steps are those of the rows.
    let rows = found["scenes"][0]["rows"].as_array().unwrap();
    let ms = |pipeline: &str, key: &str| {
        let row = rows.iter().find(|row| row["pipeline"] == pipeline).unwrap();
        row[key].as_f64().unwrap()
    };
    let step = |pipeline| ms(pipeline, "step_ms");
    let table = |name: &str| &tables[wanted.iter().position(|n| *n == name).unwrap()];
    let last = |name: &str| table(name)["rows"].as_array().unwrap().last().unwrap();
    let cells = measured(table(wanted[7]), last(wanted[7]));
    let (boxes, tight) = (step("aabb+scalar+atomic"), step("exact+scalar+atomic"));
    let ours = step("exact+splatcore+splatcore");
    for (i, value) in [ours, boxes / ours, ours, tight / ours, boxes / ours]
        .into_iter()
        .enumerate()
    {
        let cell = cells[i].1.unwrap();
        assert!((cell / value - 1.0).abs() < 1e-12, "{i}: {cells:?}");
    }
    for (_, share) in measured(table("Figure 2"), last("Figure 2")) {
        assert!((0.0..=100.0).contains(&share.unwrap()));
    }
    // Nine additions for each fragment; what a processor lacks says so.
    let baseline = &table("Figure 4")["rows"][0];
    let additions = measured(table("Figure 4"), baseline)[0].1.unwrap();
    let blended = ms("aabb+scalar+atomic", "fragments_blended");
    assert!((additions * 1e6 / (9.0 * blended) - 1.0).abs() < 1e-9);
    let lacking = &table("Figure 4")["rows"][1];
    assert_eq!(lacking["note"], "not available on this backend");

    let trained = last("Table 3");
    assert_eq!(trained["label"], "tiny");
    let psnr = measured(table("Table 3"), trained);
    let of = |run: &str| {
        let file = runs.join("tiny").join(run).join("metrics.json");
        json(&std::fs::read_to_string(file).unwrap())["psnr"].as_f64()
    };
    assert_eq!((psnr[0].1, psnr[6].1, psnr[2].1), (of("a"), of("b"), None));
    let note = trained["note"].as_str().unwrap();
    assert_contains!(note, "all steps taken: boxes: atomic (");
    assert_contains!(note, "not run: boxes: skip");
    assert_eq!(found["trainings"].as_array().unwrap().len(), 2);
}

#[test]
fn each_scene_has_its_own_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let first = write_scene(folder.path());
    let second = folder.path().join("again.ply");
    std::fs::copy(&first, &second).unwrap();
    let other = folder.path().join("photos");
    some_photos(&other, 9);
    let file = folder.path().join("paper.json");
    let args = [
        &["bench", text(&first), text(&second), "--json", text(&file)][..],
        &quick("tensor-gs"),
        &["--dataset", text(&other)],
    ]
    .concat();
    let people = succeeds(&args);
    let found = json(&std::fs::read_to_string(&file).unwrap());
    // Of 10 and of 9 photos every 8th is held out.
    let views = |i: usize| found["scenes"][i]["views"].as_u64().unwrap();
    assert_eq!((views(0), views(1)), (2, 2));
    let rows = |i: usize| found["scenes"][i]["rows"][0]["psnr_vs_photos"].as_f64();
    assert!(rows(0).is_some() && rows(1).is_some(), "{found}");
    assert_contains!(people, "here: mean of 2 scenes");
    let table = &found["tables"][0];
    let cells = measured(table, &table["rows"][0]);
    let mean = (cells[0].1.unwrap() + cells[3].1.unwrap()) / 2.0;
    assert!((cells[6].1.unwrap() / mean - 1.0).abs() < 1e-12);

    let three = [&args[..], &["--dataset", text(&other)]].concat();
    let one = [
        "render",
        text(&first),
        "-o",
        text(folder.path()),
        "--dataset",
        photos(),
        "--dataset",
        text(&other),
    ];
    for (wrong, said) in [
        (&three[..], "3 datasets for 2 scenes"),
        (&one, "2 datasets for 1 scene"),
    ] {
        let stderr = ends(wrong, 2);
        assert!(stderr.contains(said), "{stderr}");
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
        .find(|line| line.contains("here: again"))
        .unwrap();
    // A scene.ply is called after its folder.
    let name = folder.path().file_name().unwrap();
    assert!(
        headings.contains(&format!("here: {}", text(Path::new(name))))
            && headings.contains("here: mean of 2 scenes")
            && headings.contains("paper"),
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

    let bench = format!("bench {} --orbit 1", text(&first));
    for wrong in [
        [&scenes[..], &["--orbit", "1"]].concat().join(" "),
        format!("{bench} --html x.html"),
        format!("{bench} --paper tc-gs --pipeline all"),
        format!("{bench} --paper tc-gs --backward"),
        format!("{bench} --paper bitcoin"),
        format!("{bench} --trainings x"),
        format!("{bench} --paper tc-gs --trainings x"),
    ] {
        ends(&wrong, 2);
    }
}
