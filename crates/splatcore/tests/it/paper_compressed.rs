//! `bench --paper gemm-gs --compressed`: rows of compressed models.

use crate::common::{json, photos, splatcore, succeeds, text, write_scene};
use crate::paper::{measured, quick};
use serde_json::Value;
use std::path::Path;

/// Rows of compressed models: the same frames, their own times, Gaussians and PSNR.
#[test]
fn compressed_models_fill_the_rows_that_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let [second, c3dgs] = ["second.ply", "c3dgs.ply"].map(|name| folder.path().join(name));
    std::fs::copy(&scene, &second).unwrap();
    let prune = format!("prune {} --dataset {} --keep 40%", text(&scene), photos());
    succeeds(&format!("{prune} --backend cpu -o {}", text(&c3dgs)));
    let file = folder.path().join("paper.json");
    let option = |name: &str, file: &Path| format!("{name}={}", text(file));
    let [c3dgs, light] = [option("c3dgs", &c3dgs), option("lightgaussian", &second)];
    let scenes = ["bench", text(&scene), text(&second)];
    let models = ["--compressed", &c3dgs, "--compressed", "lightgaussian=none"];
    let more = ["--compressed", &light, "--json", text(&file)];
    let people = succeeds(&[&scenes[..], &models, &more, &quick("gemm-gs")].concat());
    assert_contains!(people, "\nModels: the compressed models");
    assert_contains!(people, "c3dgs.ply, 20 Gaussians");

    let found = json(&std::fs::read_to_string(&file).unwrap());
    let [first, other] = [0, 1].map(|i| &found["scenes"][i]["compressed"][0]);
    assert_eq!(
        (&first["compression"], &first["gaussians"]),
        (&"c3dgs".into(), &20.into())
    );
    assert_eq!(other["compression"], "lightgaussian");
    assert_eq!(first["rows"][0]["pipeline"], "aabb+scalar+atomic");
    assert_eq!(first["missing"][0]["pipeline"], "aabb+gemm-gs");
    let tables = found["tables"].as_array().unwrap();
    let latency = &tables[0];
    let row = |table: &Value, label: &str| {
        let rows = table["rows"].as_array().unwrap();
        rows.iter()
            .find(|row| row["label"] == label)
            .unwrap()
            .clone()
    };
    let c3dgs = row(latency, "c3dgs, masks only");
    assert_eq!(c3dgs["note"], "no compressed model of second");
    let c3dgs = measured(latency, &c3dgs);
    assert_eq!(c3dgs[0], ("ms", first["rows"][0]["gpu_ms"].as_f64()));
    assert_eq!(c3dgs[4].1, None);
    // The second scene's is the scene itself.
    let models = tables.last().unwrap();
    let [light, full] = ["LightGaussian", "full model"].map(|label| row(models, label));
    let [light, full] = [&light, &full].map(|row| measured(models, row));
    assert_eq!(
        light[..3],
        [
            ("Gaussians", None),
            ("dB vs photos", None),
            ("dB over full", None)
        ]
    );
    assert_eq!(light[3..5], full[3..5]);
    assert_eq!(light[5].1, Some(0.0));
}

#[test]
fn compressed_models_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let missing = folder.path().join("missing.ply");
    let missing = format!("c3dgs={}", text(&missing));
    let bench = |paper: &'static str, models: &[&str]| {
        let mut args = vec!["bench".to_owned(), text(&scene).to_owned()];
        args.extend(quick(paper).into_iter().map(str::to_owned));
        for model in models {
            args.extend(["--compressed".to_owned(), (*model).to_owned()]);
        }
        let output = splatcore(&args).output().unwrap();
        assert!(output.stdout.is_empty());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    for (paper, models, code, said) in [
        (
            "gemm-gs",
            &["zip=a.ply"][..],
            2,
            "there are c3dgs, lightgaussian",
        ),
        (
            "gemm-gs",
            &["c3dgs=none", "c3dgs=none"],
            2,
            "2 models c3dgs for 1 scene",
        ),
        ("tc-gs", &["c3dgs=none"], 2, "goes with --paper gemm-gs"),
        ("gemm-gs", &[&missing], 1, "missing.ply"),
    ] {
        let (found, stderr) = bench(paper, models);
        assert_eq!(found, Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}
