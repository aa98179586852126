//! `render --depth --alpha`, and `--half-scene` where there is no card.

use crate::common::{ends, fails, json, succeeds, text, write_scene};
use splatcore::core::Gaussians;
use splatcore::data::picture;
use splatcore::data::scene::write_ply;
use std::path::Path;

/// The numbers of an .npy file of `[height][width]` f32.
fn npy(path: &Path, [width, height]: [usize; 2]) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
    let start = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let header = std::str::from_utf8(&bytes[10..start]).unwrap();
    assert_contains!(header, format!("({height}, {width})"));
    let numbers: Vec<f32> = bytes[start..]
        .as_chunks()
        .0
        .iter()
        .map(|&four| f32::from_le_bytes(four))
        .collect();
    assert_eq!(numbers.len(), width * height);
    numbers
}

/// Two discs that hide all behind their middle, nine and twelve units before the camera, side by
/// side; the rest is empty.
#[test]
fn depth_is_that_of_the_means_and_nothing_is_zero() {
    let folder = tempfile::tempdir().unwrap();
    let mut scene = Gaussians::zeros(2, 0);
    scene.means = vec![[-2.0, 0.0, 0.0], [2.0, 0.0, 3.0]];
    scene.log_scales = vec![[-1.0; 3]; 2];
    scene.rotations = vec![[1.0, 0.0, 0.0, 0.0]; 2];
    scene.opacity_logits = vec![20.0; 2];
    let file = folder.path().join("scene.ply");
    write_ply(&file, &scene, false).unwrap();
    let cameras = folder.path().join("cameras.json");
    let entry = |name: &str, z: i32| {
        format!(
            r#"{{"id":0,"img_name":"{name}","width":90,"height":30,"position":[0,0,{z}],
                "fx":120,"fy":120,"rotation":[[1,0,0],[0,1,0],[0,0,1]]}}"#
        )
    };
    let both = format!("[{},{}]", entry("a.jpg", -9), entry("sub/b.jpg", -18));
    std::fs::write(&cameras, both).unwrap();
    let out = folder.path().join("out");
    let args = format!(
        "render {} -o {} --cameras {}",
        text(&file),
        text(&out),
        text(&cameras)
    );
    succeeds(&format!("{args} --backend cpu --depth --alpha"));

    let scale = json(&std::fs::read_to_string(out.join("depth.json")).unwrap());
    let white = scale["white"].as_f64().unwrap();
    // The nearest thing of all views.
    assert!((white - 1.0 / 9.0).abs() < 1e-5, "{white}");
    for (name, away) in [("a", 9.0f32), ("sub/b", 18.0)] {
        let of = |suffix: &str| out.join(format!("{name}{suffix}"));
        let depth = npy(&of("_depth.npy"), [90, 30]);
        let picture = picture::read(of("_depth.png")).unwrap();
        assert!(
            matches!(picture, image::DynamicImage::ImageLuma16(_)),
            "16 bits"
        );
        let (picture, alpha) = (
            picture.to_luma16(),
            picture::read(of("_alpha.png")).unwrap().to_luma8(),
        );
        for (k, z) in [(0, away), (1, away + 3.0)] {
            let x = (45.0 + 120.0 * [-2.0, 2.0][k] / z) as u32;
            let got = depth[15 * 90 + x as usize];
            assert!((got - z).abs() < 1e-3 * z, "{name}: {got} for {z}");
            let grey = picture.get_pixel(x, 15).0[0] as f64;
            assert!(
                (grey / 65535.0 * white - 1.0 / z as f64).abs() < 3e-5,
                "{name}: {grey}"
            );
            assert!(alpha.get_pixel(x, 15).0[0] > 230);
        }
        let corner = (
            depth[0],
            picture.get_pixel(0, 0).0[0],
            alpha.get_pixel(0, 0).0[0],
        );
        assert_eq!(corner, (0.0, 0, 0), "{name}");
    }
}

#[test]
fn only_what_was_asked_for_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let orbit = ["--orbit", "1", "--size", "20x15", "--backend", "cpu"];
    let files = |extra: &[&str]| {
        let out = folder.path().join(format!("out{}", extra.concat()));
        let args = ["render", text(&scene), "-o", text(&out)];
        succeeds(&[&args[..], &orbit, extra].concat());
        let mut names: Vec<String> = std::fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        (names, std::fs::read(out.join("orbit_0000.png")).unwrap())
    };
    let (names, plain) = files(&[]);
    assert_eq!(names, ["orbit_0000.png"]);
    let (names, same) = files(&["--alpha"]);
    assert_eq!(names, ["orbit_0000.png", "orbit_0000_alpha.png"]);
    assert_eq!(plain, same);
    let (names, same) = files(&["--depth"]);
    let depth = [
        "depth.json",
        "orbit_0000.png",
        "orbit_0000_depth.npy",
        "orbit_0000_depth.png",
    ];
    assert_eq!(names, depth);
    assert_eq!(plain, same);
}

#[test]
fn half_scenes_are_for_cards_and_without_gradients() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let out = folder.path().join("out");
    let line = fails(&format!(
        "render {} -o {} --orbit 1 --backend cpu --half-scene",
        text(&scene),
        text(&out)
    ));
    assert_contains!(line, "--half-scene is of the cuda backend alone");
    let both = format!("bench {} --orbit 1 --half-scene --backward", text(&scene));
    ends(&both, 2);
}
