//! A learned sky from the command line: what is written beside the scene, who shows it, what is
//! refused.

use crate::common::{Arguments, ends, photos, refuses_to_train, save, splatcore, succeeds, text};
use splatcore::data::dataset::{Dataset, OpenOptions};
use splatcore::data::picture;
use std::path::Path;
use std::process::Output;

const FLAGS: &str = "--backend cpu --threads 2 --sh-degree 0 --iterations 40";

/// Masks of all photos but the first: sky in the upper third.
fn write_masks(folder: &Path) {
    let dataset = Dataset::open(photos().as_ref(), &OpenOptions::default()).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    for entry in dataset.entries.iter().skip(1) {
        let (width, height) = picture::size(&entry.image).unwrap();
        let row = |y: u32| if 3 * y < height { 255u8 } else { 0 };
        let mask = image::GrayImage::from_fn(width, height, |_, y| image::Luma([row(y)]));
        let name = Path::new(&entry.name).with_extension("png");
        save(mask, folder.join(name.file_name().unwrap()));
    }
}

fn output(args: &(impl Arguments + ?Sized)) -> (Output, String) {
    let output = splatcore(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, stderr)
}

/// Mean of the bytes of the first picture in a folder.
fn brightness(folder: &Path) -> f64 {
    let mut files: Vec<_> = walk(folder);
    files.sort();
    let picture = picture::read(&files[0]).unwrap().into_rgb8();
    let bytes = picture.as_raw();
    bytes.iter().map(|&v| f64::from(v)).sum::<f64>() / bytes.len() as f64
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path());
    let of_entry = |path: std::path::PathBuf| match path.is_dir() {
        true => walk(&path),
        false => vec![path],
    };
    let png = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "png");
    entries.flat_map(of_entry).filter(png).collect()
}

#[test]
fn a_sky_is_written_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (run, masks) = (at("run"), at("sky"));
    write_masks(&masks);
    let train = format!(
        "train {} -o {} --sky --sky-masks {} {FLAGS}",
        photos(),
        text(&run),
        text(&masks)
    );
    succeeds(&train);
    let file = run.join("sky.json");
    let sky = std::fs::read_to_string(&file).unwrap();
    assert_contains!(sky, "\"degree\": 3", "coefficients");
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    assert_contains!(config, "sky = true", "sky-masks = ");

    // Pictures of the run have it; a colour that is typed stands in its place.
    let pictures = |name: &str, more: &str| {
        let to = at(name);
        let render = format!("render {} -o {} --backend cpu", text(&run), text(&to));
        let view = "--orbit 1 --size 48x32 --distance 3";
        let (output, stderr) = output(&format!("{render} {view} {more}"));
        assert!(output.status.success(), "{stderr}");
        (brightness(&to), stderr)
    };
    let (under_sky, stderr) = pictures("a", "");
    assert_contains!(stderr, "sky.json: the sky");
    let (on_black, stderr) = pictures("b", "--background black");
    assert!(!stderr.contains("sky.json"), "{stderr}");
    assert!(under_sky > on_black + 20.0, "{under_sky} {on_black}");

    // It is measured with, and the page has it.
    let eval = |more: &str| {
        let found = succeeds(&format!("eval {} --backend cpu --json {more}", text(&run)));
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        found["psnr"].as_f64().unwrap()
    };
    assert!(eval("") != eval("--background black"));
    let page = at("page.html");
    succeeds(&["export", text(&run), "-o", text(&page)]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"sky\":[["));
    succeeds(&format!(
        "export {} -o {} --background white",
        text(&run),
        text(&page)
    ));
    assert!(
        !std::fs::read_to_string(&page)
            .unwrap()
            .contains("\"sky\":[[")
    );

    // No file of a scene holds it.
    let small = at("small.sog");
    let (converted, stderr) = output(&["convert", text(&run), "-o", text(&small)]);
    assert!(converted.status.success());
    let line = "no format of scenes holds a sky";
    assert_eq!(stderr.matches(line).count(), 1, "{stderr}");

    // A resumed run ends with the same.
    succeeds(&format!("{train} --resume"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), sky);

    std::fs::write(&file, "{\"degree\": 3}").unwrap();
    let stderr = ends(&["eval", text(&run), "--backend", "cpu"], 1);
    assert_contains!(stderr, "sky.json: is no sky");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused =
        |flags: &str, code, wanted| refuses_to_train(&format!("{FLAGS} {flags}"), code, wanted);
    refused("--sky-masks sky", 2, "sky-masks has no effect here");
    refused("--sky --sky-weight 1", 2, "sky-weight has no effect here");
    refused("--sky --lr-sky 0", 2, "must be above 0");
    refused("--sky --background white", 2, "on top of the sky");
    let masks = "--sky --sky-masks nowhere";
    refused(masks, 1, "no photo has a mask there that shows sky");
}
