//! The command line itself: help, exit codes, one-line errors.

use crate::common::{
    ends, fails, json, photos, program, refuses_to_train, splatcore, succeeds, text, write_scene,
};
use predicates::prelude::*;
use std::path::Path;

#[test]
fn top_level_help() {
    let expected = r"Photos in, Gaussian splats out

  Usage: splatcore <COMMAND>

  Commands:
    make         Photos, a video or a dataset to a scene and a page, in one command
    train        Turn posed photos into a scene of Gaussians
    poses        Find the cameras of photos or of a video: a dataset for `train`
    eval         Measure a scene against photos: PSNR and SSIM
    render       Render a scene to PNG files or a video
    bench        Time the stages of rendering, for one or more pipelines
    view         Look at a scene or a dataset in a browser
    export       Write a scene as one HTML page that anyone can open
    report       Compare finished runs on one page
    info         Say what a scene file or a dataset holds
    convert      Write scenes in another format, edited
    prune        Make a scene smaller: keep the Gaussians that photos show most
    demo         Make a small dataset, train on it, show the result: the whole way in a few minutes
    lab          Search for faster kernels, and judge changes of them
    doctor       Say what this machine and this build can do, and check that they compute correctly
    completions  Print a completion script for a shell
    man          Write manual pages, one for the program and one for each command
    help         Print this message or the help of the given subcommand(s)

  Options:
    -h, --help     Print help (see more with '--help')
    -V, --version  Print version
";
    // The text is indented as its neighbours here.
    let lines = expected
        .lines()
        .map(|line| line.strip_prefix("  ").unwrap_or(line));
    let expected: Vec<&str> = lines.collect();
    assert_eq!(succeeds(&["-h"]), expected.join("\n") + "\n");
}

#[test]
fn wrong_usage_exits_2() {
    for args in [
        "nonsense",
        "train",
        "train photos -o out --iterations many",
        "train photos -o out --sh-degree 4",
        "train photos -o out --time-limit 0",
        "train photos -o out --resume --overwrite",
        "render scene.ply -o out",
        "render scene.ply -o out --orbit 3 --dataset x",
        "render scene.ply -o out --orbit 3 --size huge",
        "demo --photos-only --iterations 100",
        "render scene.ply -o turn.mp4 --orbit 3",
        "render scene.ply -o out --orbit 3 --lens as-taken",
        "bench scene.ply --orbit 1 --pipeline exact+fancy",
        "eval scene.ply",
        "convert scene.ply -o scene.obj",
        "convert --scale 2 scene.ply -o a.ply",
        "convert scene.ply --rotate 90 -o a.ply",
        "convert scene.ply -o a.ply --prune-floaters 0.8",
        "convert scene.ply -o a.ply --max-scale 0.25",
        "convert scene.ply -o a.ply --dataset photos",
        "convert scene.ply -o a.ply --max-size 9",
    ] {
        splatcore(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(predicate::str::contains("error: "));
    }
}

/// Flags of other trainers are answered with those of this one.
#[test]
fn flags_of_other_trainers_are_known() {
    for (typed, wanted) in [
        (
            "-s DIR -m OUT",
            "`splatcore train DIR -o OUT` (docs/guide/from-inria.md)",
        ),
        ("DIR -m OUT", "-o OUT names the folder"),
        (
            "DIR -o OUT --eval",
            "leave it out; every 8th photo is held out",
        ),
        ("DIR -o OUT -r 4", "--images images_4"),
        ("DIR -o OUT --resolution=4", "--images images_4"),
        ("DIR -o OUT --test_iterations 7000", "--eval-every"),
        ("DIR -o OUT --data_factor 4", "from-gsplat.md"),
        (
            "DIR -o OUT --max-num-iterations 9",
            "--iterations is the number of steps",
        ),
    ] {
        let said = ends(&format!("train {typed}"), 2);
        assert_contains!(said, "unexpected argument", wanted);
        assert!(
            !said.contains("similar argument") && !said.contains("as a value"),
            "{said}"
        );
    }
    let said = ends("train DIR -o OUT --sh_degree 2", 2);
    assert_contains!(said, "'--sh-degree'");
    for (typed, wanted) in [
        ("--iterations 30k", "'--iterations <N>': write 30000"),
        ("--iterations 30,000", "write 30000"),
        ("--max-gaussians 1.5M", "write 1500000"),
        ("--seed 1e3", "write 1000"),
        ("--max-size 1080p", "write a whole number"),
        ("--seed -1", "write a whole number"),
    ] {
        let said = ends(&format!("train DIR -o OUT {typed}"), 2);
        assert_contains!(said, "invalid value", wanted);
    }
}

#[test]
fn flags_of_convert_without_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = |name: &str| folder.path().join(name);
    let (ply, spz, sog) = (out("a.ply"), out("a.spz"), out("a.sog"));
    let convert = |from: &Path, flags: &str, to: &Path| {
        let (from, to) = (text(from), text(to));
        format!("convert {from} -o {to} --overwrite {flags}")
    };
    for (to, flags) in [
        (&ply, "--lod 1"),
        (&ply, "--spz-axes rdf"),
        (&ply, "--spz-version 4"),
        (&sog, "--spz-version 3"),
        (&sog, "--spz-sh-bits 8"),
        (&ply, "--sog-palette 9"),
        (&spz, "--sog-palette 9"),
        (&spz, "--keep-properties"),
        (&ply, "--backend cpu"),
        (&ply, "--threads 1"),
        (&ply, "--device 0"),
        (&ply, "--dataset photos"),
        (&ply, "--images small"),
        (&ply, "--up dataset --dataset photos --split train"),
        (&ply, "--up dataset --dataset photos --test-every 4"),
        (&ply, "--up dataset --dataset photos --max-size 9"),
    ] {
        let said = ends(&convert(&scene, flags, to), 2);
        assert_contains!(said, "has no effect here", "leave it out");
        assert!(!to.exists(), "{flags}");
    }
    let line = convert(&scene, "--keep-properties --decimate 9", &ply);
    assert_contains!(ends(&line, 2), "does not go with --decimate");
    succeeds(&convert(&scene, "--keep-properties --keep-order", &ply));
    succeeds(&convert(&scene, "--spz-version 3", &spz));
    assert_contains!(ends(&convert(&scene, "--spz-sh-bits 9", &spz), 2), "1..=8");
    succeeds(&convert(&spz, "--spz-axes rdf", &ply));
    succeeds(&convert(&scene, "--sog-palette 9", &sog));
    let said = ends(&convert(&scene, "--filter opacity>2", &out("e.splat")), 1);
    assert_contains!(
        said,
        "--filter kept none of 50 Gaussians",
        "would hold no Gaussians"
    );
    assert!(!out("e.splat").exists());
    ends(&convert(&scene, "--filter opacity>2", &out("e.ply")), 0);
    // A slip in a condition empties no file.
    let line = convert(&scene, "--filter opacity>2", &ply);
    assert_contains!(
        ends(&line, 1),
        "would be replaced by a scene without Gaussians"
    );
    assert!(std::fs::metadata(&ply).unwrap().len() > 5000);
}

/// Numbers and names that do not fit what is there are wrong usage, too, if they were typed.
#[test]
fn what_was_typed_and_does_not_fit_exits_2() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let scene = text(&scene);
    let eval = format!("eval {scene} --dataset {} --backend cpu", photos());
    let said = ends(&format!("{eval} --test-every 0 --split test"), 2);
    assert_contains!(said, "no photo in the test split");
    refuses_to_train("--backend cpu --batch 100", 2, "smaller --batch");
    let said = ends("train x -o y --densify-from 900 --densify-until 300", 2);
    assert_contains!(said, "--densify-from", "is after --densify-until");
    let said = ends("demo --photos-only --port 8080", 2);
    assert_contains!(said, "--photos-only");
    for address in ["7007", "localhost", "localhost:http"] {
        let said = ends(&format!("view {scene} --listen {address}"), 2);
        assert_contains!(said, "for example 0.0.0.0:7007");
    }
    // It is understood: what fails is the scene.
    fails(&format!(
        "view {}/none.ply --listen localhost:7812",
        folder.path().display()
    ));
}

#[test]
fn what_is_no_input_is_told_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out");
    let line = fails(&["make", text(&scene), "-o", text(&out)]);
    assert_contains!(line, "is a scene by its name");
    assert!(!out.exists());

    // Results of INRIA's trainer: the scene of the last step is named.
    let results = folder.path().join("inria");
    for step in ["7000", "30000"] {
        let place = results.join(format!("point_cloud/iteration_{step}"));
        std::fs::create_dir_all(&place).unwrap();
        std::fs::copy(&scene, place.join("point_cloud.ply")).unwrap();
    }
    for command in ["info", "view", "render --orbit 1 -o out", "train -o out"] {
        let line = fails(&format!("{command} {}", text(&results)));
        assert_contains!(line, "give", "iteration_30000/point_cloud.ply");
    }
}

/// Flags about cameras that nothing looks at, of a scene and of a run, whose cameras are known.
#[test]
fn flags_of_cameras_without_effect_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::copy(&scene, run.join("scene.ply")).unwrap();
    let dataset = format!(r#"{{"path": "{0}", "absolute": "{0}"}}"#, photos());
    let facts = format!(r#"{{"version": 1, "dataset": {dataset}}}"#);
    std::fs::write(run.join("run.json"), facts).unwrap();
    let camera = r#"[{"img_name": "a", "width": 9, "height": 9, "position": [0, 0, -4], "fx": 9,
        "fy": 9, "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}]"#;
    std::fs::write(run.join("cameras.json"), camera).unwrap();
    let file = folder.path().join("path.json");
    let (out, photos) = (folder.path().join("out"), photos());
    let render = |scene: &std::path::Path, flags: &str| {
        let (scene, out) = (text(scene), text(&out));
        format!("render {scene} -o {out} --backend cpu {flags}")
    };
    let short = "--size 8x8 --seconds 0.1 --fps 20";
    let save = format!("--path orbit --distance 0.5 --up y {short} --save-path");
    succeeds(&render(&scene, &format!("{save} {}", text(&file))));
    let file = text(&file);
    for flags in [
        "--test-every 4".to_owned(),
        "--images images_2".to_owned(),
        "--start auto --max-size 64".to_owned(),
        "--start auto --split train".to_owned(),
        format!("--lens as-taken --path spline --dataset {photos}"),
        format!("--dataset {photos} --path orbit"),
        format!("--dataset {photos} --path {file}"),
        format!("--cameras {file} --path {file}"),
        format!("--split all --path {file}"),
        "--split all --path orbit".to_owned(),
        format!("--distance 0.5 --path {file}"),
        format!("--up y --path {file}"),
        format!("--start auto --path {file}"),
        "--distance 0.5 --path spline".to_owned(),
        "--up y --path ellipse".to_owned(),
        "--start auto --path spline".to_owned(),
        "--distance 0.5 --path dolly".to_owned(),
    ] {
        let said = ends(&render(&run, &flags), 2);
        let flag = flags.split(' ').next().unwrap();
        let why = [format!("{flag} has no effect"), format!("'{flag} <VIEW>'")];
        assert!(why.iter().any(|why| said.contains(why)), "{flags}: {said}");
    }
    // Without cameras a dolly starts on the circle.
    let dolly = format!("--path dolly --distance 0.5 --up y {short}");
    succeeds(&render(&scene, &dolly));
    succeeds(&render(&run, &format!("--path dolly --split all {short}")));
}

#[test]
fn bad_input_is_answered_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    let scene = write_scene(folder.path());
    let scene = text(&scene);

    let line = fails(&["info", &path("absent.ply")]);
    assert_contains!(line, "absent.ply");

    let bytes = std::fs::read(scene).unwrap();
    std::fs::write(path("cut.ply"), &bytes[..bytes.len() - 100]).unwrap();
    let cut = path("cut.ply");
    for args in [
        format!("info {cut}"),
        format!("render {cut} -o {} --orbit 1", path("out")),
        format!("bench {cut} --orbit 1"),
        format!("eval {cut} --dataset {}", photos()),
    ] {
        let line = fails(&args);
        assert_contains!(line, "cut.ply");
    }
    assert!(!folder.path().join("out").exists());

    std::fs::write(path("noise.ply"), b"\x01\x02\x03 no scene at all").unwrap();
    let line = fails(&["info", &path("noise.ply")]);
    assert_contains!(line, "noise.ply", ".spz");

    std::fs::create_dir(path("empty")).unwrap();
    let line = fails(&["train", &path("empty"), "-o", &path("out")]);
    assert_contains!(line, "COLMAP", "transforms.json");
    let line = fails(&["info", &path("empty")]);
    assert_contains!(line, "empty");

    // The folder of the photos in place of the dataset's.
    let images = format!("{}/images", photos());
    let line = fails(&["train", &images, "-o", &path("out")]);
    let above = format!("give {}, which holds cameras", photos());
    assert_contains!(line, above.as_str(), "splatcore poses");

    // Below a file no folder can be made, whoever asks.
    let below = format!("{scene}/out");
    for args in [
        format!("train {} -o {below}", photos()),
        format!("render {scene} -o {below} --orbit 1"),
        format!("bench {scene} --orbit 1 --json {below}/b.json"),
        format!(
            "eval {scene} --dataset {} --report {below}/r.html",
            photos()
        ),
        format!("demo -o {below}"),
    ] {
        let line = fails(&args);
        assert_contains!(line, "no file can be written");
    }
}

#[test]
fn wrong_settings_are_answered_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let config = folder.path().join("c.toml");
    let train = |more: &[&str]| fails(&[&["train", photos(), "-o", text(&out)], more].concat());

    std::fs::write(&config, "iterations = 10\niteratons = 20\n").unwrap();
    let line = train(&["--config", text(&config)]);
    assert_contains!(line, "iteratons", "line 2", "`iterations`");
    // A machine with a card has nothing to say here.
    if splatcore(&["doctor", "--json"])
        .output()
        .is_ok_and(|doctor| {
            let found = json(&String::from_utf8_lossy(&doctor.stdout));
            found["cuda"]["available"] == false
        })
    {
        for wish in [["--backend", "cuda"], ["--device", "0"]] {
            let line = train(&wish);
            assert_contains!(line, "CUDA", "--backend cpu");
        }
        let line = fails(&["doctor", "--device", "7"]);
        assert!(line.contains("CUDA") && !line.contains("trusted"), "{line}");
    }
    assert!(train(&["--resume"]).contains("no checkpoint"));

    assert!(!out.exists());
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("thesis.txt"), "mine").unwrap();
    assert!(train(&[]).contains("is not empty"));
}

#[test]
fn cameras_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let file = folder.path().join("cameras.json");
    let out = folder.path().join("out");
    let render = |text_of_file: &str| {
        std::fs::write(&file, text_of_file).unwrap();
        let args = format!(
            "render {} -o {} --cameras {}",
            text(&scene),
            text(&out),
            text(&file)
        );
        let stderr = ends(&args, 1);
        let last = stderr.lines().last().unwrap_or_default().to_owned();
        assert!(
            last.starts_with("error: ") && last.contains("cameras.json"),
            "{stderr}"
        );
        last
    };
    assert!(render("[]").contains("no camera"));
    assert!(render("{").contains("line 1"));
    let camera = |width: u32, fx: f32| {
        format!(
            r#"[{{"img_name":"a","width":{width},"height":9,"position":[0,0,-4],"fx":{fx},"fy":9,
                "rotation":[[1,0,0],[0,1,0],[0,0,1]]}}]"#
        )
    };
    assert!(render(&camera(9, -1.0)).contains("focal"));
    assert!(render(&camera(4_000_000_000, 9.0)).contains("16384"));
}

/// `splatcore info scene.ply | head -0`: the reader goes away, which is no failure.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(program())
        .args(["info", text(&scene)])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// What a build without the features `lab` and `av1` says of them.
#[cfg(not(any(feature = "lab", feature = "av1")))]
#[test]
fn what_was_left_out_is_said() {
    let line = fails(&["lab", "status", "exp", "--json"]);
    let remedy = "--features lab -- lab status exp --json`";
    assert!(
        line.contains("no kernel lab") && line.contains(remedy),
        "{line}"
    );
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let film = folder.path().join("film.mp4");
    let to = format!("-o {} --codec built-in --size 32x32", text(&film));
    let orbit = format!("render {} --path orbit", text(&scene));
    let line = fails(&format!("{orbit} {to}"));
    assert_contains!(line, "--features av1");
}
