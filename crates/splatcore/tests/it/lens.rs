//! Photos through a lens, on the command line: a run as they were taken, and what follows from it.

use crate::common::{ends, json, painted, succeeds, text, tiny};
use splatcore::core::Lens;
use splatcore::data::procedural::ProceduralOptions;
use std::path::{Path, PathBuf};

fn photos(folder: &Path) -> PathBuf {
    let options = ProceduralOptions {
        lens: Lens::Fisheye {
            k: [0.02, -0.01, 0.004, -0.001],
            p: [0.0; 2],
            s: [0.0; 2],
        },
        field_of_view: 90.0,
        ..tiny()
    };
    painted(folder, &options)
}

#[test]
fn a_run_as_the_photos_were_taken_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let (photos, run) = (photos(folder.path()), folder.path().join("run"));
    let (dataset, out) = (text(&photos), text(&run));
    let train = format!("train {dataset} -o {out} --backend cpu --iterations 20 --lens as-taken");
    succeeds(&train);
    let cameras = json(&std::fs::read_to_string(run.join("cameras.json")).unwrap());
    assert_eq!(cameras[0]["lens"]["model"], "fisheye");
    assert_eq!(cameras[0]["width"], 64);

    // What the run measured, unless another lens is asked for.
    let measured = json(&std::fs::read_to_string(run.join("metrics.json")).unwrap());
    let psnr = |more: &[&str]| {
        let args = [&["eval", out, "--backend", "cpu", "--json"], more].concat();
        json(&succeeds(&args))["psnr"].as_f64().unwrap()
    };
    assert!((psnr(&[]) - measured["psnr"].as_f64().unwrap()).abs() < 1e-6);
    assert!((psnr(&["--lens", "undistort"]) - psnr(&[])).abs() > 1e-3);

    // Held-out photos' cameras: those that the run recorded, and those of the dataset.
    let picture = |name: &str, more: &[&str]| {
        let pictures = folder.path().join(name);
        let args = ["render", out, "-o", text(&pictures), "--backend", "cpu"];
        succeeds(&[&args[..], more].concat());
        let mut files: Vec<_> = std::fs::read_dir(&pictures)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "png"))
            .collect();
        files.sort();
        std::fs::read(&files[0]).unwrap()
    };
    let recorded = picture("recorded", &[]);
    let of_dataset = picture("dataset", &["--dataset", dataset]);
    let pinholes = picture("pinholes", &["--dataset", dataset, "--lens", "undistort"]);
    assert!(recorded == of_dataset && recorded != pinholes);
}

#[test]
fn a_lens_that_cannot_be_rendered_through_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let cameras = photos.join("sparse/0/cameras.txt");
    std::fs::write(cameras, "1 FOV 64 48 40 40 32 24 0.9\n").unwrap();
    let out = folder.path().join("run");
    let train = format!("train {} -o {} --backend cpu", text(&photos), text(&out));
    let args = format!("{train} --lens as-taken");
    let stderr = ends(&args, 1);
    let error = stderr.lines().find(|line| line.starts_with("error: "));
    let error = error.unwrap_or_default();
    assert_contains!(error, "view_0001.png", "'fov'");
}
