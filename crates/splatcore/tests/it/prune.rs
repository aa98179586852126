//! `prune`, and training that starts from a scene, from the command line.

use crate::common::{ends, fails, json, photos, succeeds, text, write_scene};
use splatcore::data::scene;

fn prune(scene: &str, output: &str, more: &str) -> String {
    let prune = format!("prune {scene} --dataset {} -o {output}", photos());
    format!("{prune} --backend cpu --threads 2 {more}")
}

#[test]
fn the_best_stay_and_learn_on() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let (ply, sog) = (folder.path().join("a.ply"), folder.path().join("a.sog"));
    let args = prune(text(&scene), text(&ply), "--keep 40% --json");
    let report = json(&succeeds(&args));
    assert_eq!(report["before"]["gaussians"], 50);
    assert_eq!(report["after"]["gaussians"], 20);
    assert_eq!(
        (&report["split"], &report["after"]["sh_degree"]),
        (&"test".into(), &1.into())
    );
    assert!(report["pruned"].is_null());
    let size = std::fs::metadata(&ply).unwrap().len();
    assert_eq!(report["after"]["bytes"], size);
    // Those that stay are as they were, in their order.
    let (whole, kept) = (scene::read(&scene).unwrap(), scene::read(&ply).unwrap());
    let mut rest = whole.gaussians.means.iter();
    assert!(
        kept.gaussians
            .means
            .iter()
            .all(|mean| rest.any(|other| other == mean))
    );

    let more = "--keep 30 --sh-degree 0 --finetune 40 --json";
    let report = json(&succeeds(&prune(text(&scene), text(&sog), more)));
    let psnr = |stage: &str| report[stage]["psnr"].as_f64().unwrap();
    assert!(psnr("after") > psnr("pruned"), "{report}");
    assert_eq!(report["after"]["sh_degree"], 0);
    let found = scene::read(&sog).unwrap().gaussians;
    assert_eq!((found.len(), found.sh_degree), (30, 0));
}

#[test]
fn what_cannot_be_done_is_said_first() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let output = folder.path().join("out.ply");
    let usage = |more: &str, output: &str| {
        let args = prune(text(&scene), output, more);
        ends(&args, 2)
    };
    assert!(usage("", text(&output)).contains("nothing to do"));
    assert!(usage("--keep 0%", text(&output)).contains("write 40%"));
    assert!(usage("--keep 40%", "a.xyz").contains("a.xyz"));
    assert!(!output.exists());
    let error = fails(&prune(text(&scene), text(&scene), "--keep 40%"));
    assert_contains!(error, "--overwrite");
}

#[test]
fn training_starts_from_a_scene() {
    let folder = tempfile::tempdir().unwrap();
    let (scene, run) = (write_scene(folder.path()), folder.path().join("run"));
    let args = [
        "train",
        photos(),
        "-o",
        text(&run),
        "--init",
        text(&scene),
        "--backend",
        "cpu",
        "--iterations",
        "5",
        "--densify-until",
        "0",
        "--sh-degree",
        "2",
    ];
    succeeds(&args);
    let found = scene::read(&run.join("scene.ply")).unwrap().gaussians;
    assert_eq!((found.len(), found.sh_degree), (50, 2));
    assert!(!run.join("scene.sog").exists());
    let missing = folder.path().join("none.ply");
    let error = fails(&[&args[..4], &["--overwrite", "--init", text(&missing)]].concat());
    assert_contains!(error, "none.ply");
}

#[test]
fn training_starts_from_points() {
    let folder = tempfile::tempdir().unwrap();
    let (scan, run) = (folder.path().join("scan.obj"), folder.path().join("run"));
    let vertex = |i: usize| {
        let [x, y, z] = [i % 3, i / 3 % 3, i / 9].map(|v| 0.3 * (v as f64 - 1.0));
        format!("v {x} {y} {z} 1 0.5 0\n")
    };
    std::fs::write(&scan, (0..27).map(vertex).collect::<String>()).unwrap();
    let train = |more: &str| {
        format!(
            "train {} -o {} --init {} --overwrite --backend cpu --iterations 5 --densify-until \
             0{more}",
            photos(),
            text(&run),
            text(&scan),
        )
    };
    succeeds(&train(""));
    let found = scene::read(&run.join("scene.ply")).unwrap().gaussians;
    assert_eq!(found.len(), 27);
    succeeds(&train(" --depths points --max-gaussians 9"));
    let found = scene::read(&run.join("scene.ply")).unwrap().gaussians;
    assert_eq!(found.len(), 9);
    std::fs::write(&scan, "f 1 2 3\n").unwrap();
    assert_contains!(fails(&train("")), "holds no points");
}

#[test]
fn the_small_preset_also_writes_sog() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    succeeds(&format!(
        "train {} -o {} --preset small --backend cpu --iterations 20",
        photos(),
        text(&run)
    ));
    let [ply, sog] =
        ["scene.ply", "scene.sog"].map(|name| scene::read(&run.join(name)).unwrap().gaussians);
    assert_eq!((ply.len(), ply.sh_degree), (sog.len(), sog.sh_degree));
    assert_eq!(ply.sh_degree, 2);
}
