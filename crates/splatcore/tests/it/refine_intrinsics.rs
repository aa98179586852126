//! Refined intrinsics from the command line: what is written, measured and shown.

use crate::common::{ends, json, photos, succeeds, text};
use std::path::Path;

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_writes_refined_lenses() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let train = ["train", photos(), "-o", text(&run), "--backend", "cpu"];
    let flags = ["--threads", "2", "--sh-degree", "0", "--iterations", "60"];
    let refine = ["--refine-intrinsics", "--max-size", "24"];
    succeeds(&[&train[..], &flags, &refine].concat());

    let metrics = json(&read(&run, "metrics.json"));
    let intrinsics = &metrics["intrinsics"];
    assert!(intrinsics["psnr_plain"].as_f64().unwrap() > 5.0);
    assert!(metrics.get("poses").is_none());
    let lenses = intrinsics["lenses"].as_array().unwrap();
    assert!(
        lenses.len() == 1 && lenses[0]["photos"] == 8,
        "{intrinsics}"
    );
    let numbers = lenses[0]["numbers"].as_array().unwrap();
    let names: Vec<&str> = numbers.iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(names, ["fx", "fy", "cx", "cy"]);
    let change = numbers[0][2].as_f64().unwrap() / numbers[0][1].as_f64().unwrap();
    assert!(change != 1.0 && (change - 1.0).abs() < 0.06);

    // Held-out photos share the lens.
    let cameras = json(&read(&run, "cameras.json"));
    let cameras = cameras.as_array().unwrap();
    let fx = |camera: &serde_json::Value| camera["fx"].as_f64().unwrap();
    assert_eq!(cameras.len(), 10);
    let found = numbers[0][2].as_f64().unwrap();
    assert!(
        cameras
            .iter()
            .all(|camera| (fx(camera) - found).abs() < 1e-9)
    );
    let report = read(&run, "report.html");
    assert!(report.contains("<h2>Intrinsics</h2>") && !report.contains("<h2>Poses</h2>"));

    // What was written is a dataset: measured with it, the cameras are the refined ones; the
    // COLMAP model has the same.
    let (scene, refined) = (run.join("scene.ply"), run.join("transforms.json"));
    let eval = ["eval", text(&scene), "--max-size", "24", "--json"];
    let of = |dataset: &[&str]| {
        json(&succeeds(
            &[&eval[..], &["--backend", "cpu", "--dataset"], dataset].concat(),
        ))
    };
    let psnr = |found: &serde_json::Value| found["psnr"].as_f64().unwrap();
    let (with, without) = (of(&[text(&refined)]), of(&[photos()]));
    assert!(
        (psnr(&with) - psnr(&metrics)).abs() < 0.05,
        "{with} {metrics}"
    );
    assert!((psnr(&without) - intrinsics["psnr_plain"].as_f64().unwrap()).abs() < 0.05);
    let model = read(&run, "colmap/cameras.txt");
    let line: Vec<&str> = model.lines().last().unwrap().split(' ').collect();
    let frames = json(&read(&run, "transforms.json"));
    let frame = &frames["frames"][0];
    assert_eq!(line[1], "PINHOLE");
    assert_eq!(
        line[4].parse::<f64>().unwrap(),
        frame["fl_x"].as_f64().unwrap()
    );
    assert_eq!(
        read(&run, "colmap/images.txt").matches(".png\n").count(),
        10
    );

    let again = [&train[..], &flags, &["--overwrite", "--max-size", "24"]].concat();
    succeeds(&again);
    let metrics = json(&read(&run, "metrics.json"));
    assert!(metrics.get("intrinsics").is_none());
    assert!(!refined.exists() && !run.join("colmap").exists());
    let idle = [&again[..], &["--intrinsics-limit", "0.1"]].concat();
    let said = ends(&idle, 2);
    assert_contains!(said, "--refine-intrinsics");
}
