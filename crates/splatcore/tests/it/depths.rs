//! Depth maps from the command line: what is said and written, what is refused.

use crate::common::{json, photos, refuses_to_train, succeeds, text};
use splatcore::data::dataset::{Dataset, OpenOptions};
use splatcore::data::picture;
use std::path::Path;

const FLAGS: &str = "--backend cpu --threads 2 --sh-degree 0 --iterations 30";

/// Maps that say 6 m everywhere, of all photos but the first.
fn write_maps(folder: &Path) {
    let dataset = Dataset::open(photos().as_ref(), &OpenOptions::default()).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    for entry in dataset.entries.iter().skip(1) {
        let (width, height) = picture::size(&entry.image).unwrap();
        let header =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({height}, {width}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend((0..width * height).flat_map(|_| 6f32.to_le_bytes()));
        let name = Path::new(&entry.name).with_extension("npy");
        std::fs::write(folder.join(name.file_name().unwrap()), bytes).unwrap();
    }
}

#[test]
fn a_run_with_depths_measures_them() {
    let folder = tempfile::tempdir().unwrap();
    let (run, maps) = (folder.path().join("run"), folder.path().join("maps"));
    write_maps(&maps);
    let train = format!("train {} -o {} {FLAGS}", photos(), text(&run));
    let stdout = succeeds(&format!("{train} --depths {} --init depths", text(&maps)));
    assert_contains!(stdout, "\ndepth    ", "held-out");
    let metrics = json(&std::fs::read_to_string(run.join("metrics.json")).unwrap());
    let off = metrics["depth_absolute_relative"].as_f64().unwrap();
    assert!(off > 0.0 && off < 2.0 && metrics["depth_rmse"].as_f64().unwrap() > 0.0);
    // The first photo is held out and has none.
    let views = metrics["views"].as_array().unwrap();
    assert!(views[0].get("depth_rmse").is_none() && views[1].get("depth_rmse").is_some());
    // The config says where they are, for --resume too.
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    assert_contains!(config, format!("depths = \"{}\"", text(&maps)));
    assert_contains!(config, "depth-kind = \"metric\"");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused =
        |flags: &str, code, wanted| refuses_to_train(&format!("{FLAGS} {flags}"), code, wanted);
    refused("--depths auto", 1, "no photo has depths");
    refused("--init depths", 2, "add --depths auto");
    refused("--depth-weight 3", 2, "depth-weight has no effect here");
    refused("--depths auto --depth-loss chamfer", 2, "no loss on depth");
    refused("--depths auto --depth-unit 0", 2, "must be above 0");
}
