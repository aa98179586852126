//! `splatcore convert`: formats, actions in order, cleaning with photos.

use crate::common::{
    ends, fails, json, photos, some_photos, splatcore, succeeds, text, write_scene,
};
use splatcore::core::Gaussians;
use splatcore::core::random::Rng;
use splatcore::data::scene::{read, write_ply};
use std::path::{Path, PathBuf};

#[test]
fn convert_writes_what_it_read() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let path = |name: &str| folder.path().join(name);
    let (same, flat) = (path("a b/same.ply"), path("flat.PLY"));
    let said = succeeds(&["convert", text(&scene), "-o", text(&same)]);
    assert!(
        said.starts_with("50 Gaussians of SH degree 1 in "),
        "{said}"
    );
    assert!(std::fs::read(&scene).unwrap() == std::fs::read(&same).unwrap());
    // antimatter15's format: position, scale, colour with alpha, rotation.
    let mut row = [0u8; 32];
    for (i, value) in [1.0f32, 2.0, 3.0, 0.5, 0.5, 0.5].iter().enumerate() {
        row[4 * i..4 * i + 4].copy_from_slice(&value.to_le_bytes());
    }
    row[24..32].copy_from_slice(&[255, 128, 0, 200, 255, 128, 128, 128]);
    std::fs::write(path("one.splat"), row).unwrap();
    let said = succeeds(&format!(
        "convert {} -o {}",
        text(&path("one.splat")),
        text(&path("one.ply"))
    ));
    assert!(said.starts_with("1 Gaussian of SH degree 0 in "), "{said}");
    let info = json(&succeeds(&["info", text(&path("one.ply")), "--json"]));
    assert_eq!(info["bounds"]["min"], serde_json::json!([1.0, 2.0, 3.0]));

    succeeds(&format!(
        "convert {} -o {} --sh-degree 0",
        text(&scene),
        text(&flat)
    ));
    let info = json(&succeeds(&["info", text(&flat), "--json"]));
    assert_eq!(
        (&info["gaussians"], &info["sh_degree"]),
        (&50.into(), &0.into())
    );
    let line = fails(&["convert", text(&scene), "-o", text(&flat)]);
    assert_contains!(line, "--overwrite");
    succeeds(&["convert", text(&scene), "-o", text(&flat), "--overwrite"]);
    assert!(std::fs::read(&scene).unwrap() == std::fs::read(&flat).unwrap());
}

/// Converts a scene with flags about photos, which must end with this line; returns the new file.
fn cleaned(folder: &Path, scene: &Gaussians, flags: &str, last: &str) -> PathBuf {
    let (whole, clean) = (folder.join("whole.ply"), folder.join("clean.ply"));
    write_ply(&whole, scene, false).unwrap();
    let args = format!("convert {} -o {} --backend cpu", text(&whole), text(&clean));
    let said = ends(&format!("{args} {flags} --dataset {}", photos()), 0);
    assert_eq!(said.lines().last(), Some(last), "{said}");
    clean
}

#[test]
fn spz_keeps_as_many_bits_of_harmonics_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(8, 0);
    let mut scene = Gaussians::zeros(40, 1);
    scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    for (i, row) in scene.sh.iter_mut().enumerate() {
        *row = [0; 3].map(|_| {
            if i % 4 == 0 {
                0.0
            } else {
                1.8 * rng.uniform() - 0.9
            }
        });
    }
    let (from, to) = (folder.path().join("a.ply"), folder.path().join("a.spz"));
    write_ply(&from, &scene, false).unwrap();
    let error = |flags: &str| {
        let (from, to) = (text(&from), text(&to));
        succeeds(&format!("convert {from} -o {to} --overwrite {flags}"));
        let back = read(Path::new(to)).unwrap().gaussians;
        let row = |scene: &Gaussians, i: usize| scene.sh_of(i)[1..].as_flattened().to_vec();
        let pairs = (0..40).flat_map(|i| row(&scene, i).into_iter().zip(row(&back, i)));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    let (two, usual, eight) = (
        error("--spz-sh-bits 2"),
        error(""),
        error("--spz-sh-bits 8"),
    );
    assert!(
        eight < 0.01 && usual < 0.05 && two > 0.1,
        "{two} {usual} {eight}"
    );
    assert!(eight < usual, "{usual} {eight}");
}

/// A sky around all cameras, and three faint Gaussians amid them, which every camera sees before
/// it.
#[test]
fn convert_leaves_out_floaters() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(5, 0);
    let mut scene = Gaussians::zeros(300, 0);
    for i in 0..scene.len() {
        let direction = [0; 3].map(|_| rng.normal());
        let far = 30.0 / direction.iter().map(|d| d * d).sum::<f32>().sqrt();
        let floats = i % 100 == 7;
        scene.means[i] = direction.map(|d| if floats { 0.1 * d } else { far * d });
        scene.log_scales[i] = [if floats { -2.0 } else { 1.5 }; 3];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = if floats { -1.0 } else { 4.0 };
    }
    let clean = cleaned(
        folder.path(),
        &scene,
        "--prune-floaters 0.8",
        "left out 3 floaters of 300 Gaussians",
    );
    scene.retain(|i| i % 100 != 7);
    let whole = folder.path().join("whole.ply");
    write_ply(&whole, &scene, false).unwrap();
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&clean).unwrap());
}

#[test]
fn convert_limits_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Gaussians::zeros(50, 0);
    for i in 0..scene.len() {
        // The cameras are some units from the origin.
        scene.means[i] = [1000.0, 0.1 * i as f32, 0.0];
        scene.log_scales[i] = [if i % 10 == 7 { 7.0 } else { 2.0 }, 0.0, -1.0];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = 3.0;
    }
    let clean = cleaned(
        folder.path(),
        &scene,
        "--max-scale 0.25",
        "made 5 of 50 Gaussians smaller",
    );
    let clean = splatcore::data::scene::read(&clean).unwrap().gaussians;
    for (i, scales) in clean.log_scales.iter().enumerate() {
        let limited = (scales[0] - 250f32.ln()).abs() < 0.02;
        assert!(
            if i % 10 == 7 {
                limited
            } else {
                scales[0] == 2.0
            },
            "{i}: {scales:?}"
        );
        assert_eq!(scales[1..], [0.0, -1.0]);
    }
}

/// Actions behind a scene change that scene, those behind -o all; order matters.
#[test]
fn convert_applies_actions_in_the_order_typed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut scene = Gaussians::zeros(2, 0);
    scene.means = vec![[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    scene.rotations = vec![[1.0, 0.0, 0.0, 0.0]; 2];
    write_ply(&path("a.ply"), &scene, false).unwrap();
    let convert = |words: &str| {
        let out = path("out.ply");
        let words = words.replace("A", text(&path("a.ply")));
        let words = words.replace("OUT", text(&out));
        let mut args: Vec<&str> = vec!["convert", "--overwrite"];
        args.extend(words.split(' '));
        let said = ends(&args, 0);
        (read(&out).unwrap().gaussians.means, said)
    };
    let (means, said) = convert("A --translate 1,0,0 --scale 2 -o OUT");
    assert_eq!(means, [[4.0, 0.0, 0.0], [2.0, 4.0, 0.0]]);
    assert_contains!(said, "moved by [[2.0, 0.0, 0.0, 2.0], ");
    let (means, _) = convert("A --scale 2 --translate -1,0,0 -o OUT");
    assert_eq!(means, [[1.0, 0.0, 0.0], [-1.0, 4.0, 0.0]]);
    // Two scenes, each moved alone, then a crop of both.
    let (means, said) =
        convert("A --rotate z:90 A --translate 0,9,0 -o OUT --crop plane:0,1,0,1.5 --scale 0.5");
    assert_eq!(means, [[0.5, 4.5, 0.0], [0.0, 5.5, 0.0]]);
    assert_contains!(said, "--crop kept 2 of 4 Gaussians");
    // The file named first by -o: the action still belongs to the scene.
    let (means, _) = convert("-o OUT A --scale 2 A");
    assert_eq!(means[0], [2.0, 0.0, 0.0]);
    assert_eq!(means[2], [1.0, 0.0, 0.0]);
    let (means, _) = convert("A --filter y<1 -o OUT --up z:-y --metric 0,0,0,0,1,0=3");
    assert_eq!(means, [[3.0, 0.0, 0.0]]);
}

/// What asks the photos follows a scene that was moved, or says that it cannot.
#[test]
fn convert_asks_the_photos_where_the_scene_is() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out.ply");
    let base = format!(
        "convert {} --dataset {} -o {}",
        text(&scene),
        photos(),
        text(&out)
    );
    // The cameras' mean up is -y or near it, so a scene on its side is put upright by a turn back.
    succeeds(&format!("{base} --rotate x:90 --up dataset --dry-run"));
    let names = some_photos(&folder.path().join("some"), 2);
    let metric = format!("{},{}=7", names[0], names[1]);
    succeeds(&format!("{base} --metric {metric} --dry-run"));
    assert!(!out.exists());
    let args = format!("{base} --scale 2 --max-scale 0.2");
    let said = splatcore(&args).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_contains!(said, "write it before the moves");
    let line = fails(&format!("{base} --metric none.jpg,no.jpg=1"));
    assert_contains!(line, "has no photo none.jpg");
}

#[test]
fn convert_prints_values_and_keeps_properties() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out.ply");
    let args = [
        "convert",
        text(&scene),
        "--stats=json",
        "-o",
        text(&out),
        "--dry-run",
    ];
    let said = succeeds(&args);
    let stats = json(said.rsplit_once("would write").unwrap().0);
    assert_eq!(stats["gaussians"], 50);
    assert_eq!(stats["properties"][3]["name"], "opacity");
    let opacity = stats["properties"][3]["mean"].as_f64().unwrap();
    assert!((opacity - 0.7310586).abs() < 1e-6, "{opacity}");
    let args = format!(
        "convert {} --stats -o {} --dry-run",
        text(&scene),
        text(&out)
    );
    assert!(succeeds(&args).contains("elongation"));
    assert!(!out.exists());
}
