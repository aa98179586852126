//! Refined poses from the command line: what is written, measured and shown.

use crate::common::{ends, json, photos, succeeds, text};
use std::path::Path;

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_writes_refined_cameras_and_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let train = ["train", photos(), "-o", text(&run), "--backend", "cpu"];
    let flags = ["--threads", "2", "--sh-degree", "0", "--iterations", "60"];
    succeeds(&[&train[..], &flags, &["--refine-poses", "--max-size", "24"]].concat());

    let metrics = json(&read(&run, "metrics.json"));
    let poses = &metrics["poses"];
    assert_eq!(poses["headline"], "fitted");
    assert!(poses["psnr_plain"].as_f64().unwrap() > 5.0, "{poses}");
    // The photos' points hold them.
    let pixels = |key: &str| poses["reprojection"][key].as_f64().unwrap();
    let (before, after) = (pixels("before"), pixels("after"));
    assert!(
        before > 0.1 && before < 3.0 && after < before + 1.0,
        "{before} {after}"
    );
    assert!(read(&run, "report.html").contains("Mean error of reprojection"));
    let rows = poses["photos"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    let moved = |row: &serde_json::Value| row["degrees"].as_f64().unwrap() > 0.0;
    assert!(rows.iter().all(moved), "{poses}");
    assert_eq!(rows.iter().filter(|row| row["held_out"] == true).count(), 2);

    // The scene's page begins at refined cameras, and so does whatever reads the run.
    let cameras = json(&read(&run, "cameras.json"));
    let transforms = json(&read(&run, "transforms.json"));
    let (cameras, frames) = (
        cameras.as_array().unwrap(),
        transforms["frames"].as_array().unwrap(),
    );
    assert_eq!((cameras.len(), frames.len()), (10, 10));
    for frame in frames {
        let path = frame["file_path"].as_str().unwrap();
        assert!(run.join(path).is_file(), "{path}");
        let place = |k: usize| frame["transform_matrix"][k][3].as_f64().unwrap();
        let same = |camera: &&serde_json::Value| {
            (0..3).all(|k| (camera["position"][k].as_f64().unwrap() - place(k)).abs() < 1e-9)
        };
        let found: Vec<_> = cameras.iter().filter(same).collect();
        assert_eq!(found.len(), 1, "{path}");
        assert!(
            path.ends_with(found[0]["img_name"].as_str().unwrap()),
            "{path}"
        );
    }
    let report = read(&run, "report.html");
    assert!(report.contains("<h2>Poses</h2>") && report.contains("PSNR before"));

    // What was written is a dataset: measured with it, the poses are the refined ones.
    let (scene, refined) = (run.join("scene.ply"), run.join("transforms.json"));
    let eval = format!("eval {} --max-size 24 --json --backend cpu", text(&scene));
    let of = |dataset: &str| json(&succeeds(&format!("{eval} --dataset {dataset}")));
    let psnr = |found: &serde_json::Value| found["psnr"].as_f64().unwrap();
    let (with, without) = (of(text(&refined)), of(photos()));
    assert!(
        (psnr(&with) - psnr(&metrics)).abs() < 0.05,
        "{with} {metrics}"
    );
    assert!((psnr(&without) - poses["psnr_plain"].as_f64().unwrap()).abs() < 0.05);

    // So are the poses that `eval` itself fits.
    let given = format!("--dataset {} --fit-poses", photos());
    let fitted = json(&succeeds(&format!("{eval} {given}")));
    assert!(
        (psnr(&fitted) - psnr(&metrics)).abs() < 0.05,
        "{fitted} {metrics}"
    );
    assert_eq!(fitted["psnr_given"], without["psnr"]);

    let again = [&train[..], &flags, &["--overwrite", "--max-size", "24"]].concat();
    succeeds(&again);
    let metrics = json(&read(&run, "metrics.json"));
    assert!(metrics.get("poses").is_none() && !refined.exists());
    let idle = [&again[..], &["--pose-degrees", "3"]].concat();
    let said = ends(&idle, 2);
    assert_contains!(said, "--refine-poses");
}
