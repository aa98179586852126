//! What a run replaces, what it leaves alone, and which files beside a scene are of that scene.

use crate::common::{ends, fails, json, photos, some_photos, succeeds, text};
use crate::run_folder::lying;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

const FLAGS: [&str; 8] = [
    "--backend",
    "cpu",
    "--threads",
    "2",
    "--iterations",
    "30",
    "--max-size",
    "32",
];

fn args<'a>(dataset: &'a Path, out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["train", text(dataset), "-o", text(out)];
    [&first[..], &FLAGS, more].concat()
}

fn trained(folder: &Path, more: &[&str]) -> PathBuf {
    let out = folder.join("run");
    succeeds(&args(Path::new(photos()), &out, more));
    out
}

fn convert(from: &Path, flags: &str, to: &Path) {
    let (from, to) = (text(from), text(to));
    succeeds(&format!("convert {from} {flags} -o {to} --overwrite"));
}

fn psnr(args: &[&str]) -> f64 {
    let found = json(&succeeds(&[&["eval", "--json"], args].concat()));
    found["psnr"].as_f64().unwrap()
}

/// A run that was refused before its first step leaves no work, and does not stand in the way.
#[test]
fn a_run_that_never_began_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let refused = ["--pipeline", "exact+tc-gs"];
    let stderr = ends(&args(Path::new(photos()), &out, &refused), 1);
    assert_contains!(stderr, "has no blend method");
    assert!(out.join("run.json").is_file());
    succeeds(&args(Path::new(photos()), &out, &[]));
    let line = fails(&args(Path::new(photos()), &out, &[]));
    assert_contains!(line, "already holds a run");
    // Settings that somebody wrote are no run.
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("config.toml"), "").unwrap();
    let line = fails(&args(Path::new(photos()), &own, &[]));
    assert_contains!(line, "is not empty");
}

#[test]
fn what_no_run_wrote_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("thesis.txt"), "mine").unwrap();
    let line = fails(&args(Path::new(photos()), &own, &[]));
    assert!(
        line.contains("is not empty") && !line.contains("--overwrite"),
        "{line}"
    );
    for name in ["transforms.json", "scene.ply", "sky.json"] {
        let file = own.join(name);
        std::fs::write(&file, "mine").unwrap();
        let stderr = ends(&args(Path::new(photos()), &own, &["--overwrite"]), 1);
        assert_contains!(stderr, name, "is of no run", "another folder");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        std::fs::remove_file(&file).unwrap();
    }
    succeeds(&args(Path::new(photos()), &own, &["--overwrite"]));
    assert!(own.join("thesis.txt").is_file() && own.join("scene.ply").is_file());

    // A run that was begun, but has no checkpoint yet, may be replaced.
    std::fs::remove_file(own.join("checkpoint.safetensors")).unwrap();
    let line = fails(&args(Path::new(photos()), &own, &[]));
    assert_contains!(line, "--overwrite");
}

/// Refined cameras are in the frame of the scene, also of one that was turned upright; who trains
/// on them cannot replace them.
#[test]
fn the_cameras_that_a_run_wrote_can_be_its_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (lying(folder.path()), folder.path().join("run"));
    succeeds(&args(&dataset, &out, &["--upright", "--refine-poses"]));
    let cameras = out.join("transforms.json");
    let small = ["--max-size", "32"];
    let refined = [text(&out), "--dataset", text(&cameras)];
    let before = psnr(&[&refined[..], &small].concat());
    let metrics = std::fs::read_to_string(out.join("metrics.json")).unwrap();
    let wanted = json(&metrics)["psnr"].as_f64().unwrap();
    assert!((before - wanted).abs() < 0.01, "{before} {wanted}");

    let text_of = |file: &Path| std::fs::read_to_string(file).unwrap();
    let text_before = text_of(&cameras);
    for more in [["--overwrite"], ["--resume"]] {
        let stderr = ends(&args(&cameras, &out, &more), 1);
        assert_contains!(stderr, "transforms.json", "belongs to the photos");
    }
    let (model, images) = (out.join("colmap"), dataset.join("images"));
    let more = ["--overwrite", "--images", text(&images)];
    let stderr = ends(&args(&model, &out, &more), 1);
    assert_contains!(stderr, "colmap", "belongs to the photos");
    assert_eq!(text_of(&cameras), text_before);
    // A run on them, from this scene, is in this frame as well.
    let next = folder.path().join("next");
    let more = ["--init", text(&out), "--densify-until", "0"];
    succeeds(&args(&cameras, &next, &more));
    assert!(psnr(&[&[text(&next)][..], &small].concat()) > before - 1.0);
}

#[test]
fn a_port_that_is_taken_costs_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = trained(folder.path(), &[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let view = ["--view", "--no-browser", "--port", &port];
    let more = [&["--overwrite"][..], &view].concat();
    let stderr = ends(&args(Path::new(photos()), &out, &more), 1);
    assert_contains!(stderr, "cannot listen on", port.as_str());
    for name in ["scene.ply", "metrics.json", "report.html"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    let new = folder.path().join("new");
    ends(&args(Path::new(photos()), &new, &view), 1);
    assert!(!new.exists());
}

#[test]
fn what_is_known_of_a_moved_scene_is_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = trained(folder.path(), &[]);
    let at = |name: &str| out.join(name);
    let before = psnr(&[text(&out)]);
    let fits = |scene: &Path| (psnr(&[text(scene)]) - before).abs() < 0.3;
    convert(&out, "--translate 5,0,0", &at("scene.sog"));
    assert!(at("scene.sog.view.json").is_file());
    assert!(fits(&out) && fits(&at("scene.sog")));

    // A scene made of a moved one is where that is.
    convert(&out, "--scale 2 --translate 1,0,0", &at("a.ply"));
    let (a, p) = (at("a.ply"), at("p.ply"));
    succeeds(&format!("prune {} --keep 99% -o {}", text(&a), text(&p)));
    assert!(fits(&p));

    // The name that earlier versions gave, while it can be of one scene only.
    std::fs::rename(at("a.ply.view.json"), at("a.view.json")).unwrap();
    assert!(fits(&a));
    convert(&a, "", &at("a.spz"));
    assert!(fits(&a) && fits(&at("a.spz")) && !at("a.view.json").exists());
    std::fs::rename(at("a.ply.view.json"), at("a.view.json")).unwrap();
    std::fs::remove_file(at("a.spz.view.json")).unwrap();
    let stderr = ends(&["info", text(&a)], 0);
    assert_contains!(stderr, "a.view.json", "rename it", "a.ply.view.json");

    // A SOG of several files in the folder is not the run's scene.
    convert(&out, "--scale 2", &at("meta.json"));
    assert!(fits(&out));
}

#[test]
fn a_scene_that_is_written_anew_is_where_its_photos_are() {
    let folder = tempfile::tempdir().unwrap();
    let out = trained(folder.path(), &[]);
    let before = psnr(&[text(&out)]);
    let dataset = Path::new(photos());
    let names = ["scene.ply.view.json", "scene.view.json"].map(|name| out.join(name));
    for more in [["--resume"], ["--overwrite"]] {
        for name in &names {
            convert(&out, "--translate 5,0,0", &out.join("scene.ply"));
            if name != &names[0] {
                std::fs::rename(&names[0], name).unwrap();
            }
            assert!((psnr(&[text(&out)]) - before).abs() < 0.01);
            succeeds(&args(dataset, &out, &more));
            assert!(!name.exists(), "{more:?}");
            assert!((psnr(&[text(&out)]) - before).abs() < 0.01);
        }
    }
}

#[test]
fn a_dataset_that_has_changed_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (folder.path().join("photos"), folder.path().join("run"));
    let names = some_photos(&dataset, 4);
    succeeds(&args(&dataset, &out, &[]));
    let resume = args(&dataset, &out, &["--resume"]);
    succeeds(&resume);

    let photo = dataset.join("images").join(&names[1]);
    let bytes = std::fs::read(&photo).unwrap();
    let mut changed = image::open(&photo).unwrap().into_rgb8();
    changed.pixels_mut().for_each(|pixel| pixel.0[0] ^= 64);
    changed.save(&photo).unwrap();
    assert_contains!(ends(&resume, 1), "pixels and masks", "put it back");
    std::fs::write(&photo, bytes).unwrap();
    succeeds(&resume);

    let masks = dataset.join("masks");
    std::fs::create_dir(&masks).unwrap();
    let mut mask = image::GrayImage::from_pixel(64, 48, image::Luma([255]));
    mask.put_pixel(3, 3, image::Luma([0]));
    for x in 0..32 {
        mask.put_pixel(x, 4, image::Luma([0]));
        mask.put_pixel(x, 5, image::Luma([0]));
    }
    let mask_of = Path::new(&names[1]).with_extension("png");
    mask.save(masks.join(mask_of)).unwrap();
    assert_contains!(ends(&resume, 1), "pixels and masks");
    std::fs::remove_dir_all(&masks).unwrap();

    let model = dataset.join("sparse/0/cameras.txt");
    let cameras = std::fs::read_to_string(&model).unwrap();
    let changed = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if !line.starts_with('#') {
            words[4] = (words[4].parse::<f64>().unwrap() * 1.01).to_string();
        }
        words.join(" ")
    };
    let lines: Vec<String> = cameras.lines().map(changed).collect();
    std::fs::write(&model, lines.join("\n") + "\n").unwrap();
    assert_contains!(ends(&resume, 1), "photos' cameras", "put it back");
}
