//! Training about a region from the command line: what is said and written, what is refused.

use crate::common::{json, photos, refuses_to_train, splatcore, succeeds, text};
use std::path::Path;

const FLAGS: [&str; 10] = [
    "--backend",
    "cpu",
    "--threads",
    "2",
    "--sh-degree",
    "0",
    "--iterations",
    "60",
    "--densify-from",
    "10",
];
const BOX: &str = "-4,-4,-4,4,4,4";

fn trained(run: &Path, flags: &[&str]) -> (String, String) {
    let train = ["train", photos(), "-o", text(run)];
    let output = splatcore(&[&train[..], &FLAGS, flags].concat())
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stderr = said(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    (said(&output.stdout), stderr)
}

#[test]
fn a_run_about_a_region_measures_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let (stdout, stderr) = trained(&run, &["--region", BOX]);
    assert_contains!(stderr, format!("region: the set grows inside {BOX}"));
    assert_contains!(stdout, "\nregion   PSNR ");
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    assert_contains!(config, format!("region = \"{BOX}\""));
    let metrics = json(&std::fs::read_to_string(run.join("metrics.json")).unwrap());
    let [psnr, share] = ["psnr_region", "region_share"].map(|key| metrics[key].as_f64().unwrap());
    assert!(psnr > 5.0 && share > 0.0 && share <= 1.0, "{psnr} {share}");

    // `eval` finds the same.
    let eval = ["eval", text(&run), "--backend", "cpu", "--region", BOX];
    let found = json(&succeeds(&[&eval[..], &["--json"]].concat()));
    assert!((found["psnr_region"].as_f64().unwrap() - psnr).abs() < 0.01);
    let table = succeeds(&eval);
    assert_contains!(table, "region ", "% of the pixels");
}

#[test]
fn cameras_tell_a_region() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    // The demo's cameras stand around a bust.
    let (_, stderr) = trained(&run, &["--region", "auto"]);
    let line = stderr
        .lines()
        .find(|line| line.starts_with("region: "))
        .unwrap();
    let numbers = line
        .split_whitespace()
        .find(|word| word.contains(','))
        .unwrap();
    let region: splatcore::core::Region = numbers.parse().unwrap();
    assert!(region.contains([0.0; 3]), "{line}");
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    assert_contains!(config, "region = \"auto\"");
}

#[test]
fn what_is_no_region_is_refused() {
    for (region, wanted) in [
        ("1,2,3", "write two corners as X0,Y0,Z0,X1,Y1,Z1"),
        (
            "0,0,0,1,-1,1",
            "has a corner that is not larger than the first",
        ),
        ("everywhere", "is no box of six numbers"),
    ] {
        refuses_to_train(&format!("--region {region}"), 2, wanted);
    }
}
