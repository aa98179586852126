//! `splatcore report`: runs on one page.

use crate::common::{fails, photos, splatcore, succeeds, text, write_scene};
use std::path::Path;

/// A run's folder as far as a report needs it.
fn run(folder: &Path, psnr: f64, strategy: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let metrics = serde_json::json!({
        "psnr": psnr, "ssim": 0.5, "gaussians": 7000, "views": [], "split": "test",
        "seconds": 10.0, "steps": 20,
        "curve": [{"step": 10, "loss": 0.5, "gaussians": 6000, "seconds": 5.0}],
    });
    std::fs::write(folder.join("metrics.json"), metrics.to_string()).unwrap();
    let config = format!("# seed = 2\nstrategy = \"{strategy}\"\nseed = 1\n");
    std::fs::write(folder.join("config.toml"), config).unwrap();
}

#[test]
fn runs_are_compared_on_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, page] = ["a", "b", "page.html"].map(|name| folder.path().join(name));
    run(&a, 30.5, "adc");
    run(&b, 31.25, "mcmc");
    let stdout = succeeds(&["report", text(&a), text(&b), "-o", text(&page)]);
    assert!(stdout.starts_with("2 runs in "), "{stdout}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert_contains!(html, "<td>30.50</td><td>31.25</td>");
    assert!(
        html.contains("<th>strategy</th>") && !html.contains("<th>seed</th>"),
        "{html}"
    );
    // Without "measured" there is no curve of the PSNR.
    assert_eq!(html.matches("<svg").count(), 2);
    assert!(
        !html.contains("<script") && !html.contains("http"),
        "{html}"
    );
}

/// A page does not take the place of a file of a run, such as the report of its training.
#[test]
fn no_page_replaces_a_file_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let a = folder.path().join("a");
    run(&a, 30.5, "adc");
    let scene = write_scene(folder.path());
    let own = a.join("report.html");
    std::fs::write(&own, "of the training").unwrap();
    let (a, scene, page) = (text(&a), text(&scene), text(&own));
    let metrics = format!("{a}/metrics.json");
    for line in [
        format!("report {a} -o {page}"),
        format!("export {scene} -o {page}"),
        format!("eval {scene} --dataset {} --report {page}", photos()),
        format!("bench {scene} --orbit 1 --json {metrics}"),
    ] {
        assert_contains!(fails(&line), "is a file of the run in that folder");
    }
    assert_eq!(std::fs::read_to_string(page).unwrap(), "of the training");
    // Under another name it may lie there.
    succeeds(&format!("report {a} -o {a}/comparison.html"));
}

#[test]
fn what_is_no_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let line = fails(&["report", text(folder.path()), "-o", text(&page)]);
    assert_contains!(line, "metrics.json: cannot be read");
    std::fs::write(folder.path().join("metrics.json"), "{}").unwrap();
    let line = fails(&["report", text(folder.path()), "-o", text(&page)]);
    assert_contains!(line, "is no metrics.json of a run");
    let many = [text(folder.path()); 5];
    splatcore(&[&["report", "-o", text(&page)][..], &many].concat())
        .assert()
        .code(2);
    assert!(!page.exists());
}
