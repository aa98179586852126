//! The folder of a run: what it records, and every command that takes it in place of a scene.

use crate::common::{ends, fails, json, photos, save, splatcore, succeeds, text};
use splatcore::data::{picture, scene};
use std::path::{Path, PathBuf};

const FLAGS: [&str; 6] = ["--backend", "cpu", "--threads", "2", "--iterations", "30"];

fn train(dataset: &Path, out: &Path, more: &[&str]) {
    let first = ["train", text(dataset), "-o", text(out)];
    succeeds(&[&first[..], &FLAGS, more].concat());
}

fn read(file: &Path) -> serde_json::Value {
    json(&std::fs::read_to_string(file).unwrap())
}

/// A copy of the tiny dataset whose world is turned by a quarter about x: z is up in it.
pub fn lying(folder: &Path) -> PathBuf {
    let (from, to) = (Path::new(photos()), folder.join("lying"));
    let half = std::f64::consts::FRAC_1_SQRT_2;
    std::fs::create_dir_all(to.join("images")).unwrap();
    std::fs::create_dir_all(to.join("sparse/0")).unwrap();
    for entry in std::fs::read_dir(from.join("images")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, to.join("images").join(file.file_name().unwrap())).unwrap();
    }
    let model = |name: &str| from.join("sparse/0").join(name);
    std::fs::copy(model("cameras.txt"), to.join("sparse/0/cameras.txt")).unwrap();
    let numbers =
        |words: &[&str]| -> Vec<f64> { words.iter().map(|word| word.parse().unwrap()).collect() };
    let rewrite = |name: &str, change: &dyn Fn(&[&str]) -> Option<Vec<String>>| {
        let lines = std::fs::read_to_string(model(name)).unwrap();
        let lines = lines.lines().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let changed = (!line.starts_with('#')).then(|| change(&words)).flatten();
            changed.map_or(line.to_owned(), |words| words.join(" "))
        });
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        std::fs::write(to.join("sparse/0").join(name), text).unwrap();
    };
    rewrite("images.txt", &|words| {
        let [w, x, y, z] = *numbers(words.get(1..5)?).first_chunk()?;
        // Times the inverse of the turn, (half, -half, 0, 0) or back.
        let (c, s) = (half, half);
        let turned = [w * c - x * s, w * s + x * c, y * c + z * s, z * c - y * s];
        let mut words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        (0..4).for_each(|k| words[1 + k] = turned[k].to_string());
        Some(words)
    });
    rewrite("points3D.txt", &|words| {
        let [x, y, z] = *numbers(words.get(1..4)?).first_chunk()?;
        let mut words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        [x, z, -y]
            .iter()
            .zip(1..)
            .for_each(|(v, k)| words[k] = v.to_string());
        Some(words)
    });
    to
}

#[test]
fn a_run_records_its_photos_and_every_command_takes_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let out = at("out");
    train(Path::new(photos()), &out, &[]);
    let run = read(&out.join("run.json"));
    assert_eq!(run["version"], 1);
    assert_eq!(run["dataset"]["path"], photos());
    assert_eq!(run["up"]["from"], "cameras");
    assert!(run["up"]["direction"][1].as_f64().unwrap() < -0.99, "{run}");
    let cameras = read(&out.join("cameras.json"));
    let cameras = cameras.as_array().unwrap();
    assert_eq!(cameras.len(), 10);
    let held_out = cameras.iter().filter(|camera| camera["held_out"] == true);
    assert_eq!(held_out.count(), 2);
    assert_eq!(
        (&cameras[0]["width"], &cameras[0]["height"]),
        (&64.into(), &48.into())
    );

    let found = json(&succeeds(&["eval", text(&out), "--json"]));
    let metrics = read(&out.join("metrics.json"));
    let psnr = |value: &serde_json::Value| value["psnr"].as_f64().unwrap();
    assert!((psnr(&found) - psnr(&metrics)).abs() < 1e-4);

    let info = json(&succeeds(&["info", text(&out), "--json"]));
    assert_eq!(
        (&info["kind"], &info["run"]["version"]),
        (&"scene".into(), &1.into())
    );
    assert!(succeeds(&["info", text(&out)]).contains("\nup           "));

    // Its held-out cameras, and those of the file it wrote, give the same pictures.
    let (own, read_back) = (at("own"), at("read"));
    succeeds(&["render", text(&out), "-o", text(&own)]);
    let file = out.join("cameras.json");
    let (run, own_dir) = (text(&out), text(&own));
    let by_file = format!("render {run} -o {} --cameras", text(&read_back));
    succeeds(&format!("{by_file} {}", text(&file)));
    let pictures: Vec<_> = std::fs::read_dir(&own).unwrap().collect();
    assert_eq!(pictures.len(), 2);
    for picture in pictures {
        let picture = picture.unwrap().path();
        let other = read_back.join(picture.file_name().unwrap());
        assert!(std::fs::read(picture).unwrap() == std::fs::read(other).unwrap());
    }
    succeeds(&format!("render {run} -o {own_dir} --orbit 1 --size 64x48"));
    succeeds(&["bench", text(&out), "--passes", "1"]);

    let page = at("page.html");
    succeeds(&["export", text(&out), "-o", text(&page)]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("\"aspect\":1.33").count(), 10);
    succeeds(&["export", text(&out), "-o", text(&page), "--views", "none"]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("\"aspect\":1.33").count(), 0);

    let small = at("small").join("scene.ply");
    std::fs::create_dir(small.parent().unwrap()).unwrap();
    let prune = format!("prune {run} --keep 50% -o {}", text(&small));
    succeeds(&format!("{prune} --backend cpu"));
    succeeds(&["eval", text(small.parent().unwrap())]);
    let turned = at("turned.ply");
    succeeds(&format!(
        "convert {run} --up dataset:z -o {}",
        text(&turned)
    ));
    let report = at("report.html");
    succeeds(&["report", text(&out), "--pictures", "-o", text(&report)]);
    let html = std::fs::read_to_string(&report).unwrap();
    assert!(html.contains("data:image/"));
}

#[test]
fn a_dataset_that_has_moved_is_one_line_and_the_rest_works() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let dataset = lying(folder.path());
    let out = at("out");
    train(&dataset, &out, &[]);
    // Both moved together are found.
    std::fs::create_dir(at("elsewhere")).unwrap();
    for name in ["lying", "out"] {
        std::fs::rename(at(name), at("elsewhere").join(name)).unwrap();
    }
    let out = at("elsewhere/out");
    succeeds(&["eval", text(&out)]);

    std::fs::rename(at("elsewhere/lying"), at("gone")).unwrap();
    let line = fails(&["eval", text(&out)]);
    assert_contains!(line, "lying", "--dataset");
    succeeds(&["eval", text(&out), "--dataset", text(&at("gone"))]);
    let page = at("page.html");
    succeeds(&["export", text(&out), "-o", text(&page)]);
    succeeds(&["render", text(&out), "-o", text(&at("pictures"))]);

    // A run of an older version recorded nothing.
    for name in ["run.json", "cameras.json"] {
        std::fs::remove_file(out.join(name)).unwrap();
    }
    succeeds(&["eval", text(&out), "--dataset", text(&at("gone"))]);
    splatcore(&["eval", text(&out)]).assert().code(2);
    succeeds(&["export", text(&out), "-o", text(&page)]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"views\":[]"));

    // What is no record is not used, in one line.
    std::fs::write(out.join("run.json"), "{").unwrap();
    let stderr = ends(&["info", text(&out)], 0);
    assert!(
        stderr.starts_with("warning: not used: ") && stderr.lines().count() == 1,
        "{stderr}"
    );
}

#[test]
fn a_run_is_turned_upright_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let dataset = lying(folder.path());
    let (upright, whole, lies) = (at("upright"), at("whole"), at("lies"));
    train(&dataset, &lies, &[]);
    let up = |out: &Path| read(&out.join("run.json"))["up"]["direction"].clone();
    assert!(up(&lies)[2].as_f64().unwrap().abs() > 0.99, "{}", up(&lies));

    train(&dataset, &upright, &["--upright", "--time-limit", "0.001"]);
    assert!(
        up(&upright)[1].as_f64().unwrap() < -0.999_999,
        "{}",
        up(&upright)
    );
    // As the dataset stands before it was laid down: the mean height of the scene is that of its
    // points.
    let mean = |out: &Path| -> [f64; 3] {
        let means = scene::read(&out.join("scene.ply")).unwrap().gaussians.means;
        let count = means.len() as f64;
        std::array::from_fn(|k| means.iter().map(|m| f64::from(m[k])).sum::<f64>() / count)
    };
    let stood = at("stood");
    train(Path::new(photos()), &stood, &[]);
    let (found, wanted) = (mean(&upright), mean(&stood));
    assert!((found[1] - wanted[1]).abs() < 0.05, "{found:?} {wanted:?}");

    // Photos are turned when they are asked for, typed or not.
    let metrics = read(&upright.join("metrics.json"));
    let psnr = |value: &serde_json::Value| value["psnr"].as_f64().unwrap();
    for more in [&[][..], &["--dataset", text(&dataset)]] {
        let args = [&["eval", text(&upright), "--json"][..], more].concat();
        let found = json(&succeeds(&args));
        assert!((psnr(&found) - psnr(&metrics)).abs() < 1e-4);
    }

    // A run that is gone on with is the run that was not interrupted.
    train(&dataset, &whole, &["--upright"]);
    succeeds(&["train", text(&dataset), "-o", text(&upright), "--resume"]);
    let scene = |out: &Path| std::fs::read(out.join("scene.ply")).unwrap();
    assert!(scene(&upright) == scene(&whole));
    assert!(up(&upright)[1].as_f64().unwrap() < -0.999_999);
    let again = format!("train {} -o {} --resume", text(&dataset), text(&lies));
    let line = fails(&format!("{again} --upright"));
    assert_contains!(line, "--upright");

    // --overwrite begins anew.
    train(&dataset, &upright, &["--overwrite"]);
    assert!(up(&upright)[2].as_f64().unwrap().abs() > 0.99);
}

/// Which photos a run is of is asked once: who resumes need not know that they were others.
#[test]
fn a_run_goes_on_with_its_folder_of_photos() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let dataset = lying(folder.path());
    std::fs::create_dir(dataset.join("images_2")).unwrap();
    for entry in std::fs::read_dir(dataset.join("images")).unwrap() {
        let file = entry.unwrap().path();
        let half = picture::read(&file).unwrap().thumbnail(32, 24);
        let to = dataset.join("images_2").join(file.file_name().unwrap());
        save(half.into_rgb8(), to);
    }
    let (whole, stopped) = (at("whole"), at("stopped"));
    let small = ["--images", "images_2"];
    train(&dataset, &whole, &small);
    let limited = [&small[..], &["--time-limit", "0.001"]].concat();
    train(&dataset, &stopped, &limited);
    succeeds(&["train", text(&dataset), "-o", text(&stopped), "--resume"]);
    let scene = |out: &Path| std::fs::read(out.join("scene.ply")).unwrap();
    assert!(scene(&whole) == scene(&stopped));
    // And it records them again.
    let run = read(&stopped.join("run.json"));
    assert_eq!(run["dataset"]["images"], "images_2");
}

/// Numbers of photos that the run learned from are not passed off as those of held-out ones.
#[test]
fn photos_that_were_trained_on_do_not_measure_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    train(Path::new(photos()), &out, &[]);
    let run = text(&out);
    let warned = |line: &str| {
        let said = ends(line, 0);
        assert_contains!(said, "3 of the 4 photos that measure it were trained on");
    };
    // The run held out the first and the ninth of ten.
    warned(&format!("eval {run} --test-every 3"));
    let small = folder.path().join("small.ply");
    let prune = format!("prune {run} --keep 50% --overwrite -o {}", text(&small));
    warned(&format!("{prune} --test-every 3"));
    for line in [
        format!("eval {run}"),
        format!("eval {run} --test-every 4 --split train"),
        prune,
    ] {
        let said = ends(&line, 0);
        assert!(!said.contains("trained on"), "{line}: {said}");
    }
}

/// Files that name the held-out photos come before --test-every, and that is said.
#[test]
fn a_split_of_the_files_makes_test_every_idle() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (folder.path().join("split"), folder.path().join("out"));
    std::fs::create_dir(&dataset).unwrap();
    for (split, views) in [("train", 2..8), ("test", 0..2)] {
        let frames = views.map(|i| {
            let name = format!("view_{i:04}.png");
            let from = Path::new(photos()).join("images").join(&name);
            std::fs::copy(from, dataset.join(&name)).unwrap();
            let x = 0.1 * f64::from(i);
            let rows = [
                [1., 0., 0., x],
                [0., 1., 0., 0.],
                [0., 0., 1., 4.],
                [0., 0., 0., 1.],
            ];
            serde_json::json!({"file_path": name, "transform_matrix": rows})
        });
        let frames: Vec<_> = frames.collect();
        let file = serde_json::json!({"camera_angle_x": 0.8, "frames": frames});
        let name = format!("transforms_{split}.json");
        std::fs::write(dataset.join(name), file.to_string()).unwrap();
    }
    let line = format!("train {} -o {}", text(&dataset), text(&out));
    let short = "--backend cpu --iterations 3 --max-gaussians 100";
    let said = ends(&format!("{line} {short} --test-every 0"), 0);
    assert_contains!(
        said,
        "--test-every 0 changes nothing",
        "6 photos to train on, 2 held out"
    );
    let said = ends(&format!("{line} {short} --overwrite"), 0);
    assert!(!said.contains("changes nothing"), "{said}");
    let said = ends(&format!("eval {} --test-every 3", text(&out)), 0);
    assert_contains!(said, "--test-every 3 changes nothing");
}

/// A scene that is turned, scaled and moved within the folder of its run: photos, cameras and up go
/// with it.
#[test]
fn what_a_run_knows_goes_with_a_scene_that_is_moved() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let out = at("out");
    train(Path::new(photos()), &out, &[]);
    let up = |scene: &Path| -> [f64; 3] {
        let info = json(&succeeds(&["info", text(scene), "--json"]));
        std::array::from_fn(|k| info["run"]["up"]["direction"][k].as_f64().unwrap())
    };
    let first = up(&out);
    let moved = out.join("moved.ply");
    let moves = ["--rotate", "x:90", "--scale", "2", "--translate", "1,2,3"];
    let convert = |from: &Path, moves: &[&str], to: &Path| {
        let ends = ["-o", text(to), "--overwrite"];
        succeeds(&[&["convert", text(from)][..], moves, &ends].concat());
    };
    convert(&out.join("scene.ply"), &moves, &moved);
    let wanted = [first[0], -first[2], first[1]];
    let found = up(&moved);
    assert!(
        (0..3).all(|k| (found[k] - wanted[k]).abs() < 1e-9),
        "{first:?} {found:?}"
    );
    assert_eq!(up(&out), first);

    let psnr = |scene: &Path, more: &[&str]| {
        let args = [&["eval", text(scene), "--json"][..], more].concat();
        json(&succeeds(&args))["psnr"].as_f64().unwrap()
    };
    let before = psnr(&out, &[]);
    for more in [&[][..], &["--dataset", photos()]] {
        let now = psnr(&moved, more);
        assert!((now - before).abs() < 0.01, "{before} {now}");
    }
    let [here, there] = ["here", "there"].map(at);
    succeeds(&["render", text(&out), "-o", text(&here)]);
    succeeds(&["render", text(&moved), "-o", text(&there)]);
    for picture in std::fs::read_dir(&here).unwrap() {
        let picture = picture.unwrap().path();
        let name = picture.file_name().unwrap();
        let [a, b] = [&here, &there].map(|f| picture::read(f.join(name)).unwrap().into_rgb8());
        let differ = |(a, b): (&u8, &u8)| a.abs_diff(*b) > 2;
        let far = a.iter().zip(b.iter()).filter(|pair| differ(*pair)).count();
        assert!(far < a.len() / 500, "{far} of {}", a.len());
    }

    // Moved again, it is known from where; moved back, it is where it was; a chosen up is up.
    let again = out.join("again.ply");
    convert(&moved, &["--up", "0.1,0.9,-0.2:z"], &again);
    assert_eq!(up(&again), [0.0, 0.0, 1.0]);
    assert!((psnr(&again, &[]) - before).abs() < 0.01);
    let back: Vec<&str> = "--translate -1,-2,-3 --scale 0.5 --rotate x:-90"
        .split(' ')
        .collect();
    convert(&moved, &back, &moved);
    let found = up(&moved);
    assert!((0..3).all(|k| (found[k] - first[k]).abs() < 1e-9));
    let line = fails(&format!(
        "train {} -o {} --init {}",
        photos(),
        text(&at("other")),
        text(&again)
    ));
    assert_contains!(line, "was moved since its run wrote it");
}
