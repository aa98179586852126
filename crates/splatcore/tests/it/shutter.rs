//! Photos of rolling shutters, on the command line: a run, and what follows from it.

use crate::common::{ends, json, painted, succeeds, text, tiny};
use splatcore::core::Lens;
use splatcore::core::shutter::Readout;
use splatcore::data::procedural::{Motion, ProceduralOptions};
use std::path::{Path, PathBuf};

fn photos(folder: &Path, lens: Lens) -> PathBuf {
    let options = ProceduralOptions {
        lens,
        motion: Some(Motion {
            readout: Readout::BottomToTop,
            turn: 6.0,
            shift: 0.2,
        }),
        ..tiny()
    };
    painted(folder, &options)
}

#[test]
fn a_run_keeps_the_motion_of_each_photo() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path(), Lens::Pinhole);
    let (dataset, run) = (text(&photos), folder.path().join("run"));
    let out = text(&run);
    let info = succeeds(&["info", dataset]);
    assert_contains!(info, "10 with a rolling shutter");

    let train = format!("train {dataset} -o {out} --backend cpu");
    let flags = "--iterations 40 --sh-degree 0 --refine-poses";
    succeeds(&format!("{train} {flags}"));
    let read = |name: &str| json(&std::fs::read_to_string(run.join(name)).unwrap());
    let shutter = &read("cameras.json")[0]["shutter"];
    assert_eq!(shutter["readout"], "bottom-to-top");
    let turn = shutter["turn"].as_array().unwrap();
    let square: f64 = turn.iter().map(|v| v.as_f64().unwrap().powi(2)).sum();
    assert!((square.sqrt().to_degrees() - 6.0).abs() < 1e-9);
    let frame = &read("transforms.json")["frames"][0];
    assert_eq!(frame["shutter_type"], "ROLLING_BOTTOM_TO_TOP");
    assert_ne!(frame["transform_matrix_end"], frame["transform_matrix"]);

    // What the run measured; its own file of cameras says the same, and one without motion not.
    let psnr = |scene: &str, more: &[&str]| {
        let args = [&["eval", scene, "--backend", "cpu", "--json"], more].concat();
        json(&succeeds(&args))["psnr"].as_f64().unwrap()
    };
    let measured = read("metrics.json")["psnr"].as_f64().unwrap();
    let (scene, refined) = (run.join("scene.ply"), run.join("transforms.json"));
    let again = psnr(text(&scene), &["--dataset", text(&refined)]);
    assert!((again - measured).abs() < 0.05, "{again} {measured}");
    let still = photos.join("colmap");
    std::fs::rename(photos.join("images"), still.join("images")).unwrap();
    let without = psnr(text(&scene), &["--dataset", text(&still)]);
    assert!(without < measured - 0.1, "{without} {measured}");
    std::fs::rename(still.join("images"), photos.join("images")).unwrap();

    // Held-out photos as they were taken, and as pinholes of global shutters show them.
    let picture = |name: &str, more: &[&str]| {
        let pictures = folder.path().join(name);
        let args = ["render", out, "-o", text(&pictures), "--backend", "cpu"];
        succeeds(&[&args[..], more].concat());
        std::fs::read(pictures.join("images/view_0000.png")).unwrap()
    };
    let recorded = picture("recorded", &[]);
    assert!(recorded != picture("pinhole", &["--projection", "pinhole"]));
}

/// Photos that were read line by line keep their lens, and a line says so.
#[test]
fn photos_of_a_rolling_shutter_stay_as_they_were_taken() {
    let folder = tempfile::tempdir().unwrap();
    let lens = Lens::Fisheye {
        k: [0.02, -0.01, 0.004, -0.001],
        p: [0.0; 2],
        s: [0.0; 2],
    };
    let photos = photos(folder.path(), lens);
    let scene = |name: &str, more: &str| {
        let out = folder.path().join(name);
        let train = format!("train {} -o {} --backend cpu", text(&photos), text(&out));
        let stderr = ends(&format!("{train} --iterations 2 {more}"), 0);
        (std::fs::read(out.join("scene.ply")).unwrap(), stderr)
    };
    let (by_itself, stderr) = scene("run", "");
    assert_contains!(
        stderr,
        "photos stay as they were taken, as through --lens as-taken"
    );
    let (asked_for, stderr) = scene("other", "--lens as-taken");
    assert!(!stderr.contains("stay as they were taken"));
    assert!(by_itself == asked_for);
}

/// Times and poses of neighbours give a motion once it is said how long a photo takes, and what
/// follows from the run has the same.
#[test]
fn a_readout_time_is_kept_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path(), Lens::Pinhole);
    let file = photos.join("transforms.json");
    let mut transforms = json(&std::fs::read_to_string(&file).unwrap());
    for (i, frame) in transforms["frames"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        let frame = frame.as_object_mut().unwrap();
        frame.remove("transform_matrix_end");
        frame.remove("shutter_type");
        frame.insert("timestamp".into(), (0.5 * i as f64).into());
    }
    std::fs::write(&file, transforms.to_string()).unwrap();
    let run = folder.path().join("run");
    let train = format!("train {} -o {} --backend cpu", text(&photos), text(&run));
    let train = format!("{train} --iterations 40 --sh-degree 0");
    let flags = "--readout-time 0.1 --readout-direction right-to-left";
    succeeds(&format!("{train} {flags}"));
    let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    assert_contains!(read("config.toml"), "readout-time = 0.1");
    let shutter = &json(&read("cameras.json"))[0]["shutter"];
    assert_eq!(shutter["readout"], "right-to-left");
    let eval = ["eval", text(&run), "--backend", "cpu", "--json"];
    let [again, measured] =
        [succeeds(&eval), read("metrics.json")].map(|text| json(&text)["psnr"].as_f64().unwrap());
    assert!((again - measured).abs() < 1e-6, "{again} {measured}");
    let colmap = photos.join("colmap");
    let still = [&eval[..], &["--dataset", text(&colmap)]].concat();
    std::fs::rename(photos.join("images"), colmap.join("images")).unwrap();
    let still = json(&succeeds(&still))["psnr"].as_f64().unwrap();
    assert!((still - measured).abs() > 0.01, "{still} {measured}");

    // No times, no motion; the order alone says nothing.
    let train = format!("train {} -o {}", text(&colmap), text(&run.join("b")));
    let stderr = ends(&format!("{train} --backend cpu --readout-time 0.02"), 1);
    assert_contains!(stderr, "when photos were taken", "--refine-motion");
    ends(&format!("{train} --readout-direction left-to-right"), 2);
}
