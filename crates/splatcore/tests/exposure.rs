//! Exposures from the command line: what is written, and what `eval` says of it.

mod common;

use common::{json, photos, splatcore, succeeds, text};
use std::path::Path;

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_with_exposures_writes_them_and_measures_aligned_colours() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = [
        "--backend",
        "cpu",
        "--threads",
        "2",
        "--sh-degree",
        "0",
        "--iterations",
    ];
    let train = ["train", photos(), "-o", text(&run)];
    let stdout = succeeds(&[&train[..], &flags, &["60", "--exposure"]].concat());
    assert!(stdout.contains("with colours aligned"), "{stdout}");

    let exposures = json(&String::from_utf8(read(&run, "exposures.json")).unwrap());
    let exposures = exposures.as_object().unwrap();
    // 10 photos, two of them held out.
    assert_eq!(exposures.len(), 8);
    for (name, rows) in exposures {
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 3, "{name}");
        for (c, row) in rows.iter().enumerate() {
            let row = row.as_array().unwrap();
            assert_eq!(row.len(), 4, "{name}");
            // Not far from the identity after 60 steps, but not there.
            assert!((row[c].as_f64().unwrap() - 1.0).abs() < 0.2, "{name}: {rows:?}");
        }
        let first = rows[0][0].as_f64().unwrap();
        assert!(first != 1.0, "{name} has learned nothing");
    }

    let metrics = json(&String::from_utf8(read(&run, "metrics.json")).unwrap());
    let scene = run.join("scene.ply");
    let eval = ["eval", text(&scene), "--dataset", photos(), "--json"];
    let aligned = json(&succeeds(&[&eval[..], &["--align-colour"]].concat()));
    let plain = json(&succeeds(&eval));
    assert!(plain.get("psnr_aligned").is_none() && plain["views"][0].get("psnr_aligned").is_none());
    for found in [&metrics, &aligned] {
        let mean = found["psnr_aligned"].as_f64().unwrap();
        let views = found["views"].as_array().unwrap();
        let sum: f64 = views
            .iter()
            .map(|view| {
                let (psnr, aligned) = (view["psnr"].as_f64(), view["psnr_aligned"].as_f64());
                // A fit can only help, but for what is cut off at 0 and 1.
                assert!(aligned.unwrap() > psnr.unwrap() - 0.05, "{view}");
                aligned.unwrap()
            })
            .sum();
        assert!((sum / views.len() as f64 - mean).abs() < 1e-9);
    }
    for (key, other) in [("psnr", &plain), ("psnr", &aligned), ("psnr_aligned", &aligned)] {
        let (a, b) = (metrics[key].as_f64().unwrap(), other[key].as_f64().unwrap());
        assert!((a - b).abs() < 1e-4, "{key}: {a} {b}");
    }
    let table = succeeds(&["eval", text(&scene), "--dataset", photos(), "--align-colour"]);
    assert_eq!(table.matches("colours aligned").count(), 3, "{table}");

    // Another run in its place has none.
    let overwrite = [&train[..], &flags, &["20", "--overwrite"]].concat();
    let stdout = succeeds(&overwrite);
    assert!(
        !stdout.contains("aligned") && !run.join("exposures.json").exists(),
        "{stdout}"
    );
    let metrics = json(&String::from_utf8(read(&run, "metrics.json")).unwrap());
    assert!(metrics.get("psnr_aligned").is_none());
}

#[test]
fn wrong_rates_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let command = [
        "train",
        photos(),
        "-o",
        text(&run),
        "--exposure",
        "--lr-exposure",
        "0",
    ];
    let output = splatcore(&command).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("--lr-exposure 0: must be above 0"), "{stderr}");
}
