//! What a run says of the photos that it was trained on.

use crate::common::{ends, json, painted, save, text, tiny};
use splatcore::data::procedural::ProceduralOptions;
use std::path::Path;

fn names_of(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder.join("images")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Trains; returns what was said, what metrics.json says of the photos, and the report.
fn trained(photos: &Path, run: &Path, flags: &str) -> (String, serde_json::Value, String) {
    let train = format!("train {} -o {} --backend cpu", text(photos), text(run));
    let said = ends(&format!("{train} --iterations 1200 {flags}"), 0);
    let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    let metrics = json(&read("metrics.json"));
    (said, metrics["residuals"].clone(), read("report.html"))
}

fn out_of_line(residuals: &serde_json::Value) -> Vec<&str> {
    let photos = residuals["photos"].as_array().unwrap().iter();
    let wild = photos.filter(|photo| photo["out_of_line"] == true);
    let mut names: Vec<&str> = wild.map(|photo| photo["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn photos_of_something_else_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let options = ProceduralOptions {
        views: 16,
        ..tiny()
    };
    let photos = painted(folder.path(), &options);
    let flags = "--sh-degree 1";
    let (said, residuals, report) = trained(&photos, &folder.path().join("good"), flags);
    assert_eq!(residuals["photos"].as_array().unwrap().len(), 14);
    assert_eq!(out_of_line(&residuals), [""; 0], "{residuals}");
    assert!(!said.contains("far worse"), "{said}");
    assert_contains!(report, "Photos trained on", "None is out of line");

    // The first and the ninth are held out.
    let names = names_of(&photos);
    let noise = |x: u32, y: u32| {
        let mixed = (x * 7919 + y * 104_729).wrapping_mul(2_654_435_761);
        image::Rgb([8, 16, 24].map(|k: u32| (mixed >> k) as u8))
    };
    let spoilt = |name: &String| photos.join("images").join(name);
    save(image::RgbImage::from_fn(64, 48, noise), spoilt(&names[3]));
    // No Gaussian fills the view of a photo of stripes, as one may that of a plain photo.
    let stripe = |x: u32, _: u32| image::Rgb([[255, 0, 255], [0, 255, 0]][x as usize % 2]);
    save(image::RgbImage::from_fn(64, 48, stripe), spoilt(&names[12]));
    let (said, residuals, report) = trained(&photos, &folder.path().join("bad"), flags);
    assert_eq!(
        out_of_line(&residuals),
        [&names[3], &names[12]],
        "{residuals}"
    );
    let mut lines = said.lines().filter(|line| line.contains(&names[12]));
    let line = lines.next().unwrap_or_default();
    assert_contains!(line, "warning: the scene shows ", names[3], "mask");
    assert_eq!(lines.next(), None, "{said}");
    let psnr = |i: usize| residuals["photos"][i]["psnr"].as_f64().unwrap();
    assert!(psnr(0) <= psnr(1) && psnr(1) < psnr(2), "{residuals}");
    assert_contains!(report, "2 out of line", names[3]);
}
