//! What `info`, `train` and `convert` say of nonsense, and statistics of several files.

use crate::common::{
    ends, fails, json, photos, save, some_photos, splatcore, succeeds, text, write_scene,
};
use std::path::Path;

/// A copy of some photos of the tiny dataset whose `images.txt` is changed.
fn spoilt(folder: &Path, change: impl Fn(usize, &str) -> String) -> Vec<String> {
    let names = some_photos(folder, 5);
    let file = folder.join("sparse/0/images.txt");
    let images = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<String> = images
        .lines()
        .enumerate()
        .map(|(i, line)| match i.is_multiple_of(2) {
            true => change(i / 2, line),
            false => line.to_owned(),
        })
        .collect();
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    names
}

/// ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA, NAME with another pose.
fn with_pose(line: &str, pose: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    format!("{} {pose} {} {}", words[0], words[8], words[9])
}

#[test]
fn a_photo_that_cannot_be_one_is_named_and_costs_the_others_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let names = spoilt(folder.path(), |i, line| match i {
        3 => with_pose(line, "1 0 0 0 1e30 0 0"),
        _ => line.to_owned(),
    });
    let info = json(&succeeds(&["info", text(folder.path()), "--json"]));
    assert_eq!(info["images"], 4);
    let [finding] = &info["findings"].as_array().unwrap()[..] else {
        panic!("{info}")
    };
    assert_eq!(finding["photo"], names[3]);
    assert_eq!(finding["field"], "its position");
    assert_eq!(finding["severity"], "refused");
    let people = succeeds(&["info", text(folder.path())]);
    let line = format!(
        "warning      {}: left out, its position is (-1e30, ",
        names[3]
    );
    assert!(people.contains(&line), "{people}");
}

#[test]
fn photos_of_one_pose_are_not_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    spoilt(folder.path(), |_, line| with_pose(line, "1 0 0 0 0 0 4"));
    let out = folder.path().join("out");
    let line = fails(&["train", text(folder.path()), "-o", text(&out)]);
    assert_contains!(line, "the pose is the same for all 5 photos", "parallax");
    assert!(!out.exists());
    let people = succeeds(&["info", text(folder.path())]);
    assert_contains!(people, "warning      the pose is the same for all 5 photos");
}

#[test]
fn a_scene_of_zeros_is_called_one_wherever_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (zeros, out) = (folder.path().join("z.splat"), folder.path().join("o.ply"));
    std::fs::write(&zeros, [0; 320]).unwrap();
    let words = "all 10 Gaussians are at one place, (0, 0, 0)";
    let people = succeeds(&["info", text(&zeros)]);
    assert_contains!(people, format!("note         {words}"));
    for args in [
        &["convert", text(&zeros), "-o", text(&out)][..],
        &[
            "render",
            text(&zeros),
            "--orbit",
            "1",
            "--size",
            "8x8",
            "-o",
            text(folder.path()),
        ],
    ] {
        let said = ends(args, 0);
        assert!(
            said.contains(words) && said.contains("opacity"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn info_tells_of_several_files_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let all = json(&succeeds(&["info", text(&scene), photos(), "--json"]));
    assert_eq!(
        (&all[0]["kind"], &all[1]["kind"]),
        (&"scene".into(), &"dataset".into())
    );
    assert_eq!(all[0]["path"], text(&scene));
    // A single one is the object that it always was.
    let one = json(&succeeds(&["info", text(&scene), "--json"]));
    assert_eq!(one["kind"], "scene");
    assert!(
        one.get("path").is_none() && one.get("stats").is_none(),
        "{one}"
    );
    let people = succeeds(&["info", text(&scene), photos()]);
    assert!(
        people.starts_with(&format!("path         {}\nscene  ", text(&scene))),
        "{people}"
    );
    assert_contains!(people, format!("\n\npath         {}\ndataset  ", photos()));

    // What can be read is told all the same.
    let output = splatcore(&["info", "absent.ply", text(&scene)])
        .output()
        .unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert_contains!(stdout, "Gaussians    50");
    assert!(
        stderr.starts_with("absent.ply: ") && stderr.contains("1 of 2 paths"),
        "{stderr}"
    );
}

#[test]
fn statistics_propose_a_crop_that_convert_takes() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let people = succeeds(&["info", text(&scene), "--stats"]);
    for words in ["property  ", " 50 % ", "elongation  ", "\ncrop  ", "keeps "] {
        assert!(people.contains(words), "{words}: {people}");
    }
    let info = json(&succeeds(&["info", text(&scene), "--stats", "--json"]));
    let crop = &info["stats"]["crop"];
    let x = &info["stats"]["properties"][0];
    assert_eq!(x["name"], "x");
    let percentile = |name: &str| x["percentiles"][name].as_f64().unwrap();
    assert!(percentile("p1") < percentile("p50") && percentile("p50") < percentile("p99"));

    let line = people
        .lines()
        .find(|line| line.starts_with("crop"))
        .unwrap();
    let typed = line.split("splatcore convert ").nth(1).unwrap();
    let typed: Vec<&str> = typed.split(' ').collect();
    assert_eq!(typed[4], crop["shape"].as_str().unwrap());
    let out = folder.path().join("cropped.ply");
    let said = succeeds(&["convert", typed[0], "-o", text(&out), typed[3], typed[4]]);
    assert!(
        said.starts_with(&format!("{} Gaussians", crop["kept"])),
        "{said}"
    );
}

#[test]
fn convert_prints_statistics_without_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let said = succeeds(&["convert", text(&scene), "--filter", "x>0", "--stats"]);
    assert_contains!(said, "elongation", "--crop box:");
    let stats = json(&succeeds(&["convert", text(&scene), "--stats=json"]));
    assert_eq!(stats["gaussians"], 50);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    splatcore(&["convert", text(&scene), "--filter", "x>0"])
        .assert()
        .code(2);
}

#[test]
fn the_page_of_an_evaluation_points_at_weak_views() {
    let folder = tempfile::tempdir().unwrap();
    let names = some_photos(folder.path(), 8);
    // One photo is another picture altogether.
    let spoilt = folder.path().join("images").join(&names[2]);
    let noise = |x: u32, y: u32| image::Rgb([((x * 97 + y * 61) % 2 * 255) as u8; 3]);
    save(image::RgbImage::from_fn(64, 48, noise), &spoilt);
    let out = folder.path().join("run");
    let args = format!(
        "train {} -o {} --iterations 300 --backend cpu",
        text(folder.path()),
        text(&out)
    );
    succeeds(&args);
    let page = folder.path().join("page.html");
    let scene = out.join("scene.ply");
    let said = ends(
        &format!(
            "eval {} --dataset {} --split test --test-every 1 --report {} --backend cpu",
            text(&scene),
            text(folder.path()),
            text(&page)
        ),
        0,
    );
    let line = said
        .lines()
        .find(|line| line.contains("far below the median"));
    assert!(line.is_some_and(|line| line.contains(&names[2])), "{said}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("<h2>Weak views</h2>") && html.contains("href=\"#view-2\""),
        "no link"
    );
}
