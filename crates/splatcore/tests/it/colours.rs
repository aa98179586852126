//! Colour models from the command line: what is written, what `eval` says of it, and looks.

use crate::common::{ends, fails, json, photos, save, some_photos, succeeds, text};
use splatcore::data::picture;
use splatcore::data::procedural::{ProceduralOptions, write_dataset};
use std::path::Path;

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_with_exposures_writes_them_and_measures_aligned_colours() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--backend cpu --threads 2 --sh-degree 0 --iterations";
    let train = format!("train {} -o {}", photos(), text(&run));
    let stdout = succeeds(&format!("{train} {flags} 60 --exposure"));
    assert_contains!(stdout, "with colours aligned");

    let exposures = json(&String::from_utf8(read(&run, "exposures.json")).unwrap());
    let exposures = exposures.as_object().unwrap();
    // 10 photos, two of them held out.
    assert_eq!(exposures.len(), 8);
    for (name, rows) in exposures {
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 3, "{name}");
        for (c, row) in rows.iter().enumerate() {
            let row = row.as_array().unwrap();
            assert_eq!(row.len(), 4, "{name}");
            // Not far from the identity after 60 steps, but not there.
            assert!(
                (row[c].as_f64().unwrap() - 1.0).abs() < 0.2,
                "{name}: {rows:?}"
            );
        }
        let first = rows[0][0].as_f64().unwrap();
        assert!(first != 1.0, "{name} has learned nothing");
    }

    let metrics = json(&String::from_utf8(read(&run, "metrics.json")).unwrap());
    let scene = run.join("scene.ply");
    let eval = format!("eval {} --dataset {} --json", text(&scene), photos());
    let aligned = json(&succeeds(&format!("{eval} --align-colour")));
    let plain = json(&succeeds(&eval));
    assert!(plain.get("psnr_aligned").is_none() && plain["views"][0].get("psnr_aligned").is_none());
    for found in [&metrics, &aligned] {
        let mean = found["psnr_aligned"].as_f64().unwrap();
        let views = found["views"].as_array().unwrap();
        let sum: f64 = views
            .iter()
            .map(|view| {
                let (psnr, aligned) = (view["psnr"].as_f64(), view["psnr_aligned"].as_f64());
                // A fit can only help, but for what is cut off at 0 and 1.
                assert!(aligned.unwrap() > psnr.unwrap() - 0.05, "{view}");
                aligned.unwrap()
            })
            .sum();
        assert!((sum / views.len() as f64 - mean).abs() < 1e-9);
    }
    for (key, other) in [
        ("psnr", &plain),
        ("psnr", &aligned),
        ("psnr_aligned", &aligned),
    ] {
        let (a, b) = (metrics[key].as_f64().unwrap(), other[key].as_f64().unwrap());
        assert!((a - b).abs() < 1e-4, "{key}: {a} {b}");
    }
    let table = succeeds(&format!(
        "eval {} --dataset {} --align-colour",
        text(&scene),
        photos()
    ));
    assert_eq!(table.matches("colours aligned").count(), 3, "{table}");

    // Another run in its place has none.
    let overwrite = format!("{train} {flags} 20 --overwrite");
    let stdout = succeeds(&overwrite);
    assert!(
        !stdout.contains("aligned") && !run.join("exposures.json").exists(),
        "{stdout}"
    );
    let metrics = json(&String::from_utf8(read(&run, "metrics.json")).unwrap());
    assert!(metrics.get("psnr_aligned").is_none());
}

#[test]
fn wrong_rates_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let command = format!(
        "train {} -o {} --exposure --lr-exposure 0",
        photos(),
        text(&run)
    );
    let stderr = ends(&command, 2);
    assert_contains!(stderr, "--lr-exposure 0: must be above 0");
}

/// Every second photo is taken at half the exposure, and all of them are transparent at the top.
/// What is behind the scene is then exposed like the scene, and does not hold the transforms at the
/// identity.
#[test]
fn what_transparent_photos_stand_on_is_exposed_too() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, run) = (folder.path().join("photos"), folder.path().join("run"));
    let names = some_photos(&dataset, 10);
    let dark = |i: usize| i % 2 == 1;
    for (i, name) in names.iter().enumerate() {
        let path = dataset.join("images").join(name);
        let mut picture = picture::read(&path).unwrap().to_rgba8();
        let height = picture.height();
        for (_, y, pixel) in picture.enumerate_pixels_mut() {
            let [r, g, b, _] = pixel.0;
            let rgb = [r, g, b].map(|v| if dark(i) { v / 2 } else { v });
            pixel.0 = [rgb[0], rgb[1], rgb[2], if y < height / 2 { 0 } else { 255 }];
        }
        save(picture, path);
    }
    let flags = [
        "train",
        text(&dataset),
        "-o",
        text(&run),
        "--backend",
        "cpu",
        "--sh-degree",
        "0",
        "--iterations",
        "200",
        "--exposure",
        "--lr-exposure",
        "0.05",
        "--background",
        "white",
        // Resets opacities early, so that no white haze stands for the background.
        "--strategy",
        "adc",
    ];
    succeeds(&flags);

    let exposures = json(&String::from_utf8(read(&run, "exposures.json")).unwrap());
    let (mut of_dark, mut of_bright) = (Vec::new(), Vec::new());
    for (i, name) in names.iter().enumerate() {
        // Held out.
        let Some(rows) = exposures.get(name) else {
            continue;
        };
        let green_of_white: f64 = (0..4).map(|k| rows[1][k].as_f64().unwrap()).sum();
        if dark(i) {
            &mut of_dark
        } else {
            &mut of_bright
        }
        .push(green_of_white);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (dark, bright) = (mean(&of_dark), mean(&of_bright));
    eprintln!("white becomes {dark:.3} in dark photos, {bright:.3} in bright ones");
    // Found: 0.80 of it so early in a run; 0.95 where the photos were put on white while they were
    // loaded.
    assert!(dark < 0.88 * bright, "{dark} {bright}");

    // Held-out photos stand on white itself.
    let metrics = json(&String::from_utf8(read(&run, "metrics.json")).unwrap());
    let scene = run.join("scene.ply");
    let eval = [
        "eval",
        text(&scene),
        "--dataset",
        text(&dataset),
        "--background",
        "white",
        "--json",
    ];
    let eval = json(&succeeds(&eval));
    let [a, b] = [&metrics, &eval].map(|found| found["psnr"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-4, "{a} {b}");
}

/// What a run of PPISP writes, and pictures as one of its photos shows the scene.
#[test]
fn a_scene_is_shown_as_one_of_its_photos() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--backend cpu --sh-degree 0 --iterations 40";
    let model = "--appearance ppisp-linear";
    let train = format!("train {} -o {}", photos(), text(&run));
    succeeds(&format!("{train} {flags} {model}"));
    assert!(!run.join("exposures.json").exists());
    let read_json = |name: &str| json(&String::from_utf8(read(&run, name)).unwrap());
    let appearance = read_json("appearance.json");
    assert_eq!(appearance["model"], "ppisp-linear");
    let photos = appearance["photos"].as_object().unwrap();
    assert_eq!(photos.len(), 8);
    let of = |photo: &serde_json::Value, k: usize| photo["numbers"][k].as_f64().unwrap();
    for k in 0..9 {
        let mean = photos.values().map(|photo| of(photo, k)).sum::<f64>() / 8.0;
        assert!(mean.abs() < 1e-6, "number {k}: mean {mean}");
    }
    let metrics = read_json("metrics.json");
    assert!(metrics["psnr_aligned"].is_number());
    let rows = metrics["colours"]["photos"].as_array().unwrap();
    assert!(rows.len() == 8 && rows.iter().all(|row| row["stops"].is_number()));
    let report = String::from_utf8(read(&run, "report.html")).unwrap();
    assert!(report.contains("<h2>Colours</h2>"));

    let (name, photo) = photos.iter().next().unwrap();
    let picture = |look: &str| {
        let out = folder
            .path()
            .join("looks")
            .join(look.trim_end_matches(".png"));
        let render = [
            "render",
            text(&run),
            "-o",
            text(&out),
            "--orbit",
            "1",
            "--size",
            "32x24",
        ];
        succeeds(&[&render[..], &["--backend", "cpu", "--look", look]].concat());
        let file = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap();
        picture::read(file.path()).unwrap().to_rgb8()
    };
    let sum = |picture: &image::RgbImage| picture.iter().map(|&v| f64::from(v)).sum::<f64>();
    let (mean, seen) = (picture("mean"), picture(name));
    assert_ne!(mean, seen);
    let brighter = sum(&seen) / sum(&mean);
    let wanted = of(photo, 0).exp2();
    assert!(
        (brighter / wanted - 1.0).abs() < 0.05,
        "{brighter} {wanted}"
    );

    let page = folder.path().join("page.html");
    let exported = |look: &str| {
        succeeds(&["export", text(&run), "-o", text(&page), "--look", look]);
        std::fs::read_to_string(&page).unwrap()
    };
    assert!(exported(name).contains("\"look\":\"") && !exported("mean").contains("\"look\":"));

    let out = folder.path().join("none");
    let render = format!(
        "render {} -o {} --orbit 1 --look x.png",
        text(&run),
        text(&out)
    );
    let error = fails(&render);
    assert!(
        error.contains("'x.png'") && error.contains(name.as_str()),
        "{error}"
    );
    std::fs::remove_file(run.join("appearance.json")).unwrap();
    assert!(fails(&render).contains("--look x.png: beside the scene"));
}

/// What `eval` says of a run in a look.
fn seen_in(run: &Path, look: &str) -> serde_json::Value {
    let run = text(run);
    let flags = ["--backend", "cpu", "--json", "--look", look];
    json(&succeeds(&[&["eval", run], flags.as_slice()].concat()))
}

/// Photos of a camera that takes bright views darker. Held-out photos are shown so too, of which
/// nothing is known but what their views show.
#[test]
fn a_controller_chooses_as_the_camera_did() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, run) = (folder.path().join("photos"), folder.path().join("run"));
    let options = ProceduralOptions {
        width: 64,
        height: 48,
        views: 24,
        samples: 1,
        seed: 1,
        points: 400,
        ..ProceduralOptions::default()
    };
    write_dataset(&dataset, &options, &|_, _| {}).unwrap();
    let files = std::fs::read_dir(dataset.join("images")).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    let mean = |picture: &image::RgbImage| {
        let sum: f64 = picture.iter().map(|&value| f64::from(value)).sum();
        sum / picture.len() as f64
    };
    let pictures: Vec<_> = files
        .iter()
        .map(|file| picture::read(file).unwrap().to_rgb8())
        .collect();
    let middle = pictures.iter().map(mean).sum::<f64>() / pictures.len() as f64;
    for (file, picture) in files.iter().zip(pictures) {
        let gain = (0.5 * (middle / mean(&picture)).powi(3)).clamp(0.2, 0.9);
        let mut darker = picture;
        darker
            .iter_mut()
            .for_each(|value| *value = (f64::from(*value) * gain) as u8);
        save(darker, file);
    }
    let train = format!(
        "train {} -o {} --backend cpu --sh-degree 0 --iterations 300 --appearance affine \
         --lr-exposure 0.02",
        text(&dataset),
        text(&run)
    );
    succeeds(&train);
    let written = json(&String::from_utf8(read(&run, "controller.json")).unwrap());
    assert_eq!(written["photos"].as_object().unwrap().len(), 21);
    let metrics = json(&String::from_utf8(read(&run, "metrics.json")).unwrap());
    assert_eq!(metrics["colours"]["left_out"], written["left_out"]);

    let eval = |look| seen_in(&run, look);
    let (mean, controller) = (eval("mean"), eval("controller"));
    assert!(mean.get("look").is_none() && controller["look"] == "controller");
    let [mean, controller] = [mean, controller].map(|found| found["psnr"].as_f64().unwrap());
    eprintln!("{mean:.2} dB in the mean look, {controller:.2} dB with the controller");
    assert!(controller > mean + 1.0, "{mean} {controller}");

    let page = folder.path().join("page.html");
    let export = format!("export {} -o {} --look controller", text(&run), text(&page));
    assert!(fails(&export).contains("a page has one look for all views"));
    std::fs::remove_file(run.join("controller.json")).unwrap();
    let error = fails(&format!("eval {} --look controller", text(&run)));
    assert_contains!(error, "there is no controller.json");
}

/// A run with grids, whose numbers are a file of their own.
#[test]
fn a_run_with_grids_shows_its_photos() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let flags = "--backend cpu --sh-degree 0 --iterations 40 --appearance bilateral";
    succeeds(&format!("train {} -o {} {flags}", photos(), text(&run)));
    let appearance = json(&String::from_utf8(read(&run, "appearance.json")).unwrap());
    let names: Vec<&String> = appearance["photos"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 8);
    let eval = |look| seen_in(&run, look)["psnr"].as_f64().unwrap();
    assert_ne!(eval(names[0]), eval(names[1]));
    std::fs::remove_file(run.join("appearance.npy")).unwrap();
    let error = fails(&format!("eval {} --look {}", text(&run), names[0]));
    assert_contains!(error, "appearance.npy");
}

#[test]
fn an_unknown_model_is_refused() {
    let stderr = ends(&["train", photos(), "-o", "x", "--appearance", "curves"], 2);
    assert_contains!(stderr, "none, affine, ppisp, ppisp-linear, bilateral");
}
