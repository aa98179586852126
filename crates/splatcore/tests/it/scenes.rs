//! Commands on a finished scene: info, render, bench, eval, doctor.

use crate::common::{ends, json, photos, succeeds, text, write_scene};
use splatcore::core::pipeline::{Blend, Intersect, Pipeline};
use splatcore::data::picture;

#[test]
fn info_of_a_scene_and_of_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let info = json(&succeeds(&["info", text(&scene), "--json"]));
    assert_eq!(info["kind"], "scene");
    assert_eq!(info["gaussians"], 50);
    assert_eq!(info["sh_degree"], 1);
    assert!(info["format"].as_str().unwrap().contains("PLY"));
    let people = succeeds(&["info", text(&scene)]);
    assert_contains!(people, "Gaussians    50\n");

    let info = json(&succeeds(&["info", photos(), "--json"]));
    assert_eq!(
        (&info["kind"], &info["format"]),
        (&"dataset".into(), &"colmap-text".into())
    );
    assert_eq!((&info["images"], &info["missing"]), (&10.into(), &0.into()));
    assert_eq!(info["sizes"], serde_json::json!([[64, 48], [64, 48]]));
    let people = succeeds(&["info", photos()]);
    assert_contains!(people, "images       10, 64x48\n");
}

#[test]
fn render_from_an_orbit_a_dataset_and_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out");
    succeeds(&format!(
        "render {} -o {} --orbit 3 --size 40x30",
        text(&scene),
        text(&out)
    ));
    for i in 0..3 {
        let picture = picture::read(out.join(format!("orbit_000{i}.png")))
            .unwrap()
            .to_rgb8();
        assert_eq!(picture.dimensions(), (40, 30));
        // The scene is in the middle, the corners show the background.
        let bright = picture
            .pixels()
            .filter(|p| p.0.iter().any(|&v| v > 20))
            .count();
        assert!((100..1190).contains(&bright), "{bright}");
    }

    let dataset = format!("--dataset {} --split test --background 0,0,1", photos());
    succeeds(&format!(
        "render {} -o {} --max-size 32 {dataset}",
        text(&scene),
        text(&out)
    ));
    let picture = picture::read(out.join("view_0008.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (32, 24));
    assert_eq!(picture.get_pixel(0, 0).0, [0, 0, 255]);
    assert!(out.join("view_0000.png").is_file() && !out.join("view_0001.png").exists());

    let cameras = folder.path().join("cameras.json");
    let entry = r#"[{"id":0,"img_name":"sub/a.jpg","width":20,"height":10,"position":[0,0,-9],
        "fx":9,"fy":9,"rotation":[[1,0,0],[0,1,0],[0,0,1]]}]"#;
    std::fs::write(&cameras, entry).unwrap();
    let pipeline = "--pipeline vanilla --threads 1";
    let args = format!(
        "render {} -o {} --cameras {}",
        text(&scene),
        text(&out),
        text(&cameras)
    );
    succeeds(&format!("{args} {pipeline}"));
    assert_eq!(
        image::image_dimensions(out.join("sub/a.png")).unwrap(),
        (20, 10)
    );
}

#[test]
fn bench_fills_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let file = folder.path().join("bench.json");
    let (model, to) = (text(&scene), text(&file));
    let flags = "--backend cpu --orbit 2 --size 64x48 --backward --pipeline all --passes 3";
    let people = succeeds(&format!("bench {model} {flags} --json {to}"));
    assert_contains!(people, "exact+splatcore+splatcore");
    let bench = json(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(
        (&bench["gaussians"], &bench["views"]),
        (&50.into(), &2.into())
    );
    assert_eq!(
        (&bench["backend"], &bench["size"]),
        (&"cpu".into(), &serde_json::json!([64, 48]))
    );
    let rows = bench["rows"].as_array().unwrap();
    // Every combination has a row or a reason why not; all that each backend must have have rows.
    let names = |list: &str| -> Vec<String> {
        let list = bench[list].as_array().unwrap().iter();
        list.map(|row| row["pipeline"].as_str().unwrap().to_owned())
            .collect()
    };
    let (timed, skipped) = (names("rows"), names("skipped"));
    let every = Pipeline::combinations(Blend::ALL);
    assert_eq!(timed.len() + skipped.len(), every.len());
    assert!(
        every
            .iter()
            .all(|p| timed.contains(&p.to_string()) != skipped.contains(&p.to_string()))
    );
    assert!(
        Pipeline::all()
            .iter()
            .all(|p| timed.contains(&p.to_string())),
        "{timed:?}"
    );
    // What nobody named is not complained about among the results.
    assert!(!people.contains("skipped"), "{people}");
    for row in rows {
        let stage = |name: &str| {
            row["stages"][name]
                .as_f64()
                .unwrap_or_else(|| panic!("no {name}: {row}"))
        };
        // What the numbers are to each other, `timing` tests with known ones: a busy machine makes
        // anything of these.
        for name in ["project", "intersect", "sort", "blend", "blend_backward"] {
            assert!(stage(name) > 0.0, "{name}: {row}");
        }
        assert!(
            row["gpu_ms"].as_f64().unwrap() > 0.0 && row["backward_ms"].as_f64().unwrap() > 0.0
        );
        let step_stages = row["step_stages"].as_object().unwrap();
        assert!(step_stages["loss"].as_f64().unwrap() > 0.0, "{row}");
        assert!(
            row["frame_ms"].as_f64().unwrap() > 0.0 && row["step_ms"].as_f64().unwrap() > 0.0,
            "{row}"
        );
        let intersect: Intersect = row["intersect"].as_str().unwrap().parse().unwrap();
        if intersect.loses_nothing() || intersect == Intersect::Aabb {
            assert!(row["psnr_vs_reference"].as_f64().unwrap() >= 60.0, "{row}");
        }
        let count = |name: &str| row[name].as_u64().unwrap();
        assert!(count("pairs") > 0 && count("fragments_evaluated") >= count("fragments_blended"));
        assert!(count("fragments_blended") > 0);
    }
    let blended: Vec<_> = rows
        .iter()
        .map(|row| row["fragments_blended"].as_u64().unwrap())
        .collect();
    // What is blended does not depend on how it was found, but for rounding at the 3-sigma square.
    assert!(
        blended
            .iter()
            .all(|b| b.abs_diff(blended[0]) * 50 <= blended[0]),
        "{blended:?}"
    );
}

#[test]
fn bench_without_a_reference_says_no_decibels() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let file = folder.path().join("bench.json");
    let args = [
        &["bench", text(&scene), "--backend", "cpu", "--orbit", "1"][..],
        &["--size", "32x24", "--passes", "1", "--reference", "none"],
        &["--pipeline", "vanilla,auto", "--interpolate"],
        &["--json", text(&file)],
    ];
    let people = succeeds(&args.concat());
    assert!(!people.contains("against vanilla"), "{people}");
    let bench = json(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(bench["made"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(bench["made"]["command"][0], "bench");
    // Folders of this machine are nobody's business.
    assert_eq!(bench["made"]["command"][1], "scene.ply");
    let rows = bench["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["psnr_vs_reference"].is_null()));
    // Only the blend that can be interpolated has a second row.
    let interpolated: Vec<_> = rows.iter().map(|row| &row["interpolate"]).collect();
    assert_eq!(interpolated, [&json("null"), &json("null"), &json("true")]);
    assert_contains!(people, "exact+splatcore+splatcore, interpolated");
}

#[test]
fn bench_compares_backward_methods_and_says_which_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let file = folder.path().join("bench.json");
    let cameras = format!("--dataset {} --max-size 32 --passes 1", photos());
    let args = format!("bench {} --backend cpu {cameras}", text(&scene));
    let people = succeeds(&format!("{args} --backward --json {}", text(&file)));
    assert_contains!(people, "skipped: the cpu backend has no");
    let bench = json(&std::fs::read_to_string(&file).unwrap());
    let names = |list: &str| -> Vec<String> {
        let rows = bench[list].as_array().unwrap();
        rows.iter()
            .map(|row| row["pipeline"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names("rows"),
        [
            "exact+scalar+atomic",
            "exact+scalar+subtile",
            "exact+splatcore+splatcore"
        ]
    );
    assert_eq!(
        names("skipped"),
        [
            "exact+scalar+warp-reduce",
            "exact+scalar+warp-reduce-skip",
            "exact+scalar+gaussian-parallel"
        ]
    );
    let reason = bench["skipped"][0]["reason"].as_str().unwrap();
    assert_contains!(
        reason,
        "the cpu backend has no backward method 'warp-reduce'"
    );

    // Alone it is an error, but only for who needs gradients.
    let missing = "--pipeline exact+scalar+warp-reduce";
    let stderr = ends(&format!("{args} {missing} --backward"), 1);
    let last = stderr.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("error: ") && last.contains("only the cuda backend"),
        "{stderr}"
    );
    succeeds(&format!("{args} {missing}"));
}

#[test]
fn eval_reports_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let report = folder.path().join("r.html");
    let args = format!(
        "eval {} --dataset {} --split all --json --report {}",
        text(&scene),
        photos(),
        text(&report)
    );
    let found = json(&succeeds(&args));
    let views = found["views"].as_array().unwrap();
    assert_eq!((views.len(), &found["gaussians"]), (10, &50.into()));
    let mean = views
        .iter()
        .map(|v| v["psnr"].as_f64().unwrap())
        .sum::<f64>()
        / 10.0;
    assert!((found["psnr"].as_f64().unwrap() - mean).abs() < 1e-9 && mean > 0.0);
    let html = std::fs::read_to_string(report).unwrap();
    assert_eq!(html.matches("data:image/jpeg;base64,").count(), 30);
}

#[test]
fn doctor_finds_this_machine_sound() {
    let doctor = json(&succeeds(&["doctor", "--json"]));
    assert_eq!(doctor["self_test"]["passed"], true, "{doctor}");
    assert!(doctor["self_test"]["checks"].as_array().unwrap().len() >= 4);
    assert_eq!(doctor["version"], env!("CARGO_PKG_VERSION"));
    assert!(doctor["cpu"]["threads"].as_u64().unwrap() >= 1);
    let cuda = &doctor["cuda"];
    assert!(
        cuda["available"].is_boolean() && cuda["cards"].is_array(),
        "{cuda}"
    );
    assert_eq!(
        cuda["compiler"]["path"].is_null(),
        cuda["compiler"]["remedy"].is_string(),
        "{cuda}"
    );
    assert!(cuda["cache"]["bytes"].is_u64(), "{cuda}");
    assert!(succeeds(&["doctor"]).contains("\nCUDA "));
}
