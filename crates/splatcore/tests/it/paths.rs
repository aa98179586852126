//! `render --path`: frames, videos, and what is beside them.

use crate::common::{ends, fails, json, photos, splatcore, succeeds, text, write_scene};
use image::RgbImage;
use splatcore::core::random::Rng;
use splatcore::core::{Camera, Gaussians, panorama};
use splatcore::data::picture;
use splatcore::data::scene::write_ply;
use std::path::{Path, PathBuf};
use std::process::Command;

fn render(scene: &Path, out: &Path, more: &[&str]) -> String {
    let base = ["render", text(scene), "-o", text(out), "--backend", "cpu"];
    succeeds(&[&base[..], more].concat())
}

fn picture(path: &Path) -> RgbImage {
    picture::read(path)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        .to_rgb8()
}

/// The largest difference of two pictures' values.
fn off(a: &RgbImage, b: &RgbImage) -> u8 {
    assert_eq!(a.dimensions(), b.dimensions());
    a.as_raw()
        .iter()
        .zip(b.as_raw())
        .map(|(a, b)| a.abs_diff(*b))
        .max()
        .unwrap_or(0)
}

/// Frames of the path are the pictures of the orbit's cameras; a folder is gone on with, and its
/// frames are those of a folder that was never interrupted.
#[test]
fn frames_of_an_orbit_and_how_they_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let (frames, pictures) = (folder.path().join("frames"), folder.path().join("pictures"));
    let path: Vec<&str> = "--path orbit --seconds 1 --fps 4 --size 40x30"
        .split(' ')
        .collect();
    let said = render(&scene, &frames, &path);
    assert_contains!(said, "4 frames of 40x30");
    render(&scene, &pictures, &["--orbit", "4", "--size", "40x30"]);
    let frame = |i: u32| frames.join(format!("{i:06}.png"));
    let all: Vec<RgbImage> = (0..4).map(|i| picture(&frame(i))).collect();
    for (i, found) in all.iter().enumerate() {
        let wanted = picture(&pictures.join(format!("orbit_000{i}.png")));
        assert!(off(found, &wanted) <= 1, "frame {i}");
    }
    assert!(off(&all[0], &all[1]) > 20, "the frames are all alike");

    // A frame is lost and one is marked: only the lost one is rendered.
    std::fs::remove_file(frame(2)).unwrap();
    std::fs::copy(frame(0), frame(1)).unwrap();
    let base = [
        "render",
        text(&scene),
        "-o",
        text(&frames),
        "--backend",
        "cpu",
    ];
    let said = ends(&[&base[..], &path].concat(), 0);
    assert_contains!(said, "3 frames of the same job kept");
    assert_eq!(picture(&frame(2)), all[2]);
    assert_eq!(picture(&frame(1)), all[0]);

    // Another job renders all anew.
    render(
        &scene,
        &frames,
        &[&path[..], &["--background", "0,0,1"]].concat(),
    );
    assert_ne!(picture(&frame(1)), all[0]);
}

/// A path that is saved renders as the one that was made, in each format.
#[test]
fn a_saved_path_renders_alike() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let size = ["--size", "40x30"];
    let made = folder.path().join("made");
    for format in ["splatcore", "nerfstudio", "settings"] {
        let file = folder.path().join(format!("{format}.json"));
        let more = [
            "--path",
            "ellipse",
            "--dataset",
            photos(),
            "--seconds",
            "1",
            "--fps",
            "3",
        ];
        let save = ["--save-path", text(&file), "--save-as", format];
        render(&scene, &made, &[&more[..], &size, &save].concat());
        let again = folder.path().join(format);
        render(
            &scene,
            &again,
            &[&["--path", text(&file), "--fps", "3"], &size[..]].concat(),
        );
        for i in 0..3 {
            let name = format!("{i:06}.png");
            let [a, b] = [&made, &again].map(|folder| picture(&folder.join(&name)));
            // supersplat-viewer's cameras have no roll.
            assert!(
                off(&a, &b) <= 1 || format == "settings",
                "{format}, frame {i}"
            );
        }
    }
}

#[test]
fn films_and_what_is_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let path = [
        "--path",
        "dolly-zoom",
        "--seconds",
        "0.5",
        "--fps",
        "10",
        "--size",
        "48x32",
    ];
    let beside = [
        &path[..],
        &["--depth", "--alpha", "--samples", "2", "--motion-blur", "2"],
    ]
    .concat();
    for name in ["out.gif", "out.png", "film.mp4"] {
        if name == "film.mp4" && !cfg!(feature = "av1") {
            println!("skipped: this build has no AV1 encoder; test with --features full");
            return;
        }
        let out = folder.path().join(name);
        let (stem, extension) = name.split_once('.').unwrap();
        let built_in = ["--codec", "built-in"];
        let codec = if extension == "mp4" {
            &built_in[..]
        } else {
            &[]
        };
        render(&scene, &out, &[&beside[..], codec].concat());
        for part in ["", "_alpha", "_depth"] {
            let file = folder.path().join(format!("{stem}{part}.{extension}"));
            assert!(file.is_file(), "{}", file.display());
        }
        let scale = folder.path().join(format!("{stem}_depth.json"));
        let scale = json(&std::fs::read_to_string(scale).unwrap());
        assert!(
            scale["white"].as_f64().is_some_and(|white| white > 0.0),
            "{scale}"
        );
        if name == "out.png" {
            assert!(picture(&out).dimensions() == (48, 32));
        }
    }
    let Ok(probe) = Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-show_entries"])
        .args(["stream=width,height,nb_read_frames", "-of", "csv=p=0"])
        .arg(folder.path().join("film.mp4"))
        .output()
    else {
        println!("skipped: ffprobe not found");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&probe.stdout).trim(), "48,32,5");
}

/// A ball of small Gaussians. The image of a large one depends on the direction of the camera: its
/// projection is linearised about its centre.
fn write_small_splats(folder: &Path) -> PathBuf {
    let mut rng = Rng::new(5, 0);
    let mut scene = Gaussians::zeros(600, 0);
    for i in 0..scene.len() {
        scene.means[i] = [0; 3].map(|_| 0.8 * rng.normal());
        scene.log_scales[i] = [-3.0; 3];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = 3.0;
        scene.sh[i] = [0; 3].map(|_| rng.normal());
    }
    let path = folder.join("small.ply");
    write_ply(&path, &scene, false).unwrap();
    path
}

/// A panorama's pixels are those of a direct render that looks there.
#[test]
fn a_panorama_shows_what_direct_renders_show() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_small_splats(folder.path());
    let (side, high) = (160, 512);
    let eye = [0.3, -0.2, -4.0];
    // One camera that looks past the scene to its left: a seam of the faces, 45 degrees to the
    // right, lies within it.
    let forward = [-0.7, -0.7, 0.15];
    let ahead = std::array::from_fn(|k| eye[k] + [forward[0], 0.0, -forward[1]][k]);
    let path_camera = Camera::look_at(eye, ahead, [0.0, -1.0, 0.0], 1.0, side, side);
    let direct = Camera::look_at(eye, [0.0; 3], [0.0, -1.0, 0.0], 1.0, side, side);
    let entry = |camera: &Camera| {
        let r = camera.rotation;
        let transposed: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        serde_json::json!([{"id": 0, "img_name": "a", "width": side, "height": side,
            "position": camera.position(), "rotation": transposed, "fx": camera.fx,
            "fy": camera.fy}])
    };
    let [path_file, direct_file] =
        ["path.json", "direct.json"].map(|name| folder.path().join(name));
    std::fs::write(&path_file, entry(&path_camera).to_string()).unwrap();
    std::fs::write(&direct_file, entry(&direct).to_string()).unwrap();
    let (round, flat) = (folder.path().join("round"), folder.path().join("flat"));
    render(
        &scene,
        &round,
        &[
            "--path",
            "spline",
            "--cameras",
            text(&path_file),
            "--seconds",
            "1",
            "--fps",
            "1",
            "--projection",
            "equirect",
            "--size",
            "1024x512",
        ],
    );
    render(&scene, &flat, &["--cameras", text(&direct_file)]);
    let (round, flat) = (
        picture(&round.join("000000.png")),
        picture(&flat.join("a.png")),
    );
    let (mut sum, mut bright, mut light) = (0.0, 0, 0.0);
    for (x, y, pixel) in flat.enumerate_pixels() {
        let view = [
            (f64::from(x) + 0.5 - direct.cx) / direct.fx,
            (f64::from(y) + 0.5 - direct.cy) / direct.fy,
            1.0,
        ];
        let world: [f64; 3] =
            std::array::from_fn(|k| (0..3).map(|i| direct.rotation[i][k] * view[i]).sum());
        let [right, down, ahead] = path_camera
            .rotation
            .map(|row| (0..3).map(|k| row[k] * world[k]).sum::<f64>());
        let longitude = right.atan2(ahead);
        let latitude = (-down).atan2(right.hypot(ahead));
        let column = (longitude / std::f64::consts::TAU + 0.5) * 1024.0;
        let row = (0.5 - latitude / std::f64::consts::PI) * f64::from(high);
        let seen = round.get_pixel(column as u32 % 1024, (row as u32).min(high - 1));
        for (a, b) in seen.0.iter().zip(pixel.0) {
            sum += f64::from(a.abs_diff(b));
            light += f64::from(b);
        }
        bright += u32::from(pixel.0.iter().any(|&v| v > 20));
    }
    assert!(bright > 500, "the scene is not seen: {bright}");
    // Nearest pixels, and footprints and an order that each face makes for itself. An image that is
    // turned or mirrored differs by more than all of the light.
    assert!(sum < 0.25 * light, "{sum} of {light}");
}

/// Pictures are seen all around and along parallel rays as films are; a panorama's camera in a file
/// needs no flag, and its parts in a file are one picture.
#[test]
fn pictures_have_other_projections_too() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_small_splats(folder.path());
    let look = Camera::look_at([0.3, -0.2, -4.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 128, 96);
    let whole = panorama::whole(&look, 128, 64);
    let entry = |name: &str, camera: &Camera| {
        let r = camera.rotation;
        let transposed: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        serde_json::json!({"img_name": name, "width": camera.width, "height": camera.height,
            "position": camera.position(), "rotation": transposed, "fx": camera.fx,
            "fy": camera.fy, "cx": camera.cx, "cy": camera.cy, "lens": camera.lens})
    };
    let parts = panorama::parts(&whole).unwrap();
    let named = panorama::PARTS.map(|part| format!("a-{part}"));
    let parts = named
        .iter()
        .zip(&parts)
        .map(|(name, part)| entry(name, part));
    let shown = |file: &str, entries: Vec<serde_json::Value>, more: &[&str]| {
        let (json, out) = (
            folder.path().join(format!("{file}.json")),
            folder.path().join(file),
        );
        std::fs::write(&json, serde_json::Value::from(entries).to_string()).unwrap();
        render(&scene, &out, &[&["--cameras", text(&json)], more].concat());
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
        picture(&out.join("a.png"))
    };
    let around = ["--projection", "equirect"];
    let plain = shown("plain", vec![entry("a", &look)], &[]);
    let by_flag = shown("flag", vec![entry("a", &look)], &around);
    let by_lens = shown("lens", vec![entry("a", &whole)], &[]);
    let of_parts = shown(
        "parts",
        parts.collect(),
        &[&around[..], &["--size", "128x64"]].concat(),
    );
    assert_eq!(by_flag.dimensions(), (128, 64));
    assert!(
        by_flag == by_lens,
        "a panorama's camera is what the flag makes"
    );
    assert!(
        off(&by_flag, &of_parts) <= 2,
        "parts are put together at another turn"
    );
    let flat = shown("ortho", vec![entry("a", &look)], &["--projection", "ortho"]);
    let bright = |picture: &RgbImage| picture.pixels().filter(|p| p.0[0] > 30).count();
    assert!(bright(&flat) > 100 && bright(&flat) < 2 * bright(&plain) && flat != plain);
    // Three times the angle in the same picture.
    let fisheye = ["--projection", "fisheye"];
    let wide = shown("fisheye", vec![entry("a", &look)], &fisheye);
    assert!(bright(&wide) > 10 && 3 * bright(&wide) < bright(&plain));
}

#[test]
fn mistakes_are_said_before_anything_is_rendered() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out");
    let with =
        |out: &str, more: &[&str]| fails(&[&["render", text(&scene), "-o", out], more].concat());
    let out = text(&out).to_owned();
    let line = with(&out, &["--path", "nowhere.json"]);
    assert_contains!(line, "nowhere.json", "ellipse");
    for (ending, flags, wanted) in [
        (".avi", "", "-o"),
        ("", "--up -y --frames 900-901", "--frames"),
        (".gif", "--codec h264", "--codec is for videos"),
        (".gif", "--quality 5", "--quality is for videos"),
        (".png", "--quality 5", "--quality is for videos"),
        ("", "--quality 5", "--quality is for videos"),
        (".gif", "--fps 60 --size 8x8", "50 frames a second"),
    ] {
        let to = format!("{out}{ending}");
        let said = ends(
            &format!("render {} -o {to} --path orbit {flags}", text(&scene)),
            2,
        );
        assert_contains!(said, wanted);
        assert!(!Path::new(&to).is_file());
    }
    for usage in [
        "--path ellipse",
        "--path orbit --projection equirect --size 30x30",
        "--path orbit --orbit 3",
        "--fps 30 --orbit 3",
        "--projection equirect --orbit 3 --size 30x30",
        "--quality 50 --orbit 3",
        "--path orbit --max-size 64",
        "--path orbit --samples 9",
    ] {
        splatcore(&format!("render {} -o {out} {usage}", text(&scene)))
            .assert()
            .code(2)
            .stdout("");
    }
}
