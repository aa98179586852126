//! `transforms.json` with cameras of NVIDIA's f-theta model, against the formulas of their files.

use crate::dataset_support::{open, pattern, save};
use splatcore_core::{Camera, Lens};
use splatcore_data::dataset::transforms::{self, PosedPhoto};
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions};
use std::path::Path;

const POSE: &str = "[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]";
/// From radians to pixels, and from pixels to radians, of photos of 64x48.
const FORWARD: [f64; 6] = [0.0, 40.0, -1.0, 2.5, -4.0, 1.2];
const BACKWARD: [f64; 6] = [0.0, 0.025, 1e-5, -1.5e-6, 2e-8, 1e-10];

/// A file of one photo of 64x48 with these keys.
fn dataset(root: &Path, keys: &str) -> Result<Dataset, String> {
    save(pattern(64, 48), &root.join("a.png"));
    let text =
        format!(r#"{{{keys}, "frames": [{{"file_path": "a.png", "transform_matrix": {POSE}}}]}}"#);
    std::fs::write(root.join("transforms.json"), text).unwrap();
    let dataset = Dataset::open(root, &OpenOptions::default());
    dataset.map_err(|error| error.to_string())
}

fn camera(keys: &str) -> Camera {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path(), keys).unwrap();
    dataset.entries[0].camera.clone()
}

fn sum(polynomial: &[f64], x: f64) -> f64 {
    polynomial.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Rays of the camera's axes and the distance of their pixels from the principal point.
fn rays(from_angle: bool) -> impl Iterator<Item = ([f64; 3], [f64; 2])> {
    (0..40).map(move |i| {
        let (sin, cos) = (0.7 * f64::from(i)).sin_cos();
        let value = f64::from(i) / 40.0;
        let (angle, r) = match from_angle {
            true => (value, sum(&FORWARD, value)),
            false => (sum(&BACKWARD, 40.0 * value), 40.0 * value),
        };
        let ray = [angle.sin() * cos, angle.sin() * sin, angle.cos()];
        (ray, [r * cos, r * sin])
    })
}

/// The pixel of a ray by the camera that was read.
fn pixel(camera: &Camera, [x, y, z]: [f64; 3]) -> [f64; 2] {
    // The camera is 4 from the origin and looks along -z of the world, whose y is up.
    camera.project([2.0 * x, -2.0 * y, 4.0 - 2.0 * z]).unwrap()
}

fn near(a: [f64; 2], b: [f64; 2]) -> bool {
    (a[0] - b[0]).hypot(a[1] - b[1]) < 1.1e-3
}

#[test]
fn ncores_keys_are_read() {
    let more = r#""linear_cde": [0.99, 0.002, -0.003], "principal_point": [30.5, 24.5]"#;
    let polynomials = format!(
        r#""angle_to_pixeldist_poly": {FORWARD:?}, "pixeldist_to_angle_poly": {BACKWARD:?}"#
    );
    for (reference, from_angle) in [("ANGLE_TO_PIXELDIST", true), ("PIXELDIST_TO_ANGLE", false)] {
        let keys = format!(
            r#""camera_model": "ftheta", {polynomials}, {more}, "reference_poly": "{reference}""#
        );
        let camera = camera(&keys);
        assert_eq!((camera.cx, camera.cy), (31.0, 25.0));
        for (ray, [x, y]) in rays(from_angle) {
            let want = [31.0 + 0.99 * x + 0.002 * y, 25.0 - 0.003 * x + y];
            assert!(near(pixel(&camera, ray), want), "{reference}: {ray:?}");
        }
    }
}

/// Without a model's name; its principal point counts from the corner.
#[test]
fn instant_ngps_keys_are_read() {
    let numbers: Vec<String> = BACKWARD
        .iter()
        .enumerate()
        .map(|(i, c)| format!(r#""ftheta_p{i}": {c:?}"#))
        .collect();
    let camera = camera(&format!(r#"{}, "cx": 31, "cy": 25"#, numbers.join(", ")));
    assert_eq!((camera.cx, camera.lens.name()), (31.0, "f-theta"));
    for (ray, [x, y]) in rays(false) {
        assert!(near(pixel(&camera, ray), [31.0 + x, 25.0 + y]));
    }
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    save(pattern(64, 48), &folder.path().join("a.png"));
    let keys = format!(
        r#""camera_model": "FTHETA", "pixeldist_to_angle_poly": {BACKWARD:?},
           "linear_cde": [0.99, 0.002, -0.003], "max_angle": 1.1"#
    );
    let camera = camera(&keys);
    assert!(matches!(
        camera.lens,
        Lens::FTheta {
            max_angle: Some(1.1),
            ..
        }
    ));
    let photo = PosedPhoto {
        file_path: "a.png".into(),
        camera: camera.clone(),
        held_out: false,
    };
    transforms::write(&folder.path().join("transforms.json"), &[photo]).unwrap();
    let dataset = open(folder.path());
    let again = &dataset.entries[0].camera;
    assert!((again.fx - camera.fx).abs() < 1e-9 && again.cx == camera.cx);
    for (ray, _) in rays(false) {
        let (one, other) = (pixel(&camera, ray), pixel(again, ray));
        assert!((one[0] - other[0]).hypot(one[1] - other[1]) < 1e-9);
    }
}

/// As it was taken, the photo counts up to the largest angle; undistorted it is a pinhole's.
#[test]
fn photos_are_used_as_taken_and_undistorted() {
    let folder = tempfile::tempdir().unwrap();
    let keys = format!(
        r#""camera_model": "FTHETA", "angle_to_pixeldist_poly": {FORWARD:?}, "max_angle": 0.6"#
    );
    let dataset = dataset(folder.path(), &keys).unwrap();
    let load = |keep_lens: bool| {
        let options = LoadOptions {
            keep_lens,
            ..LoadOptions::default()
        };
        dataset
            .load_views(&[0], &options, &|_, _| {})
            .unwrap()
            .remove(0)
    };
    let as_taken = load(true);
    assert_eq!(as_taken.camera.lens.name(), "f-theta");
    let mask = as_taken
        .photo
        .mask
        .as_ref()
        .expect("a circle is not the whole photo");
    let share = mask.iter().filter(|&&m| m != 0).count() as f64 / mask.len() as f64;
    let radius = sum(&FORWARD, 0.6);
    let wanted = std::f64::consts::PI * radius * radius / (64.0 * 48.0);
    assert!((share - wanted).abs() < 0.03, "{share} {wanted}");
    let undistorted = load(false);
    assert_eq!(undistorted.camera.lens, Lens::Pinhole);
    // Towards the rim, where the lens shows the ray of the same angle.
    let ray = [0.3, 0.2];
    let [x, y] = undistorted.camera.pixel(ray).unwrap();
    let [u, v] = as_taken.camera.pixel(ray).unwrap();
    let byte = |rgb: &[u8], [x, y]: [f64; 2]| f64::from(rgb[3 * (y as usize * 64 + x as usize)]);
    let (new, old) = (
        byte(&undistorted.photo.rgb, [x, y]),
        byte(&as_taken.photo.rgb, [u, v]),
    );
    assert!((new - old).abs() < 40.0, "{new} {old}");
}

#[test]
fn what_is_wrong_is_named() {
    let says = |keys: &str, parts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let keys = format!(r#""camera_model": "FTHETA"{keys}"#);
        let error = dataset(folder.path(), &keys).expect_err("it is no camera");
        assert!(!error.contains('\n'));
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    let with = |more: &str| format!(r#", "angle_to_pixeldist_poly": {FORWARD:?}, {more}"#);
    says("", &["the polynomial", "not given"]);
    says(
        r#", "pixeldist_to_angle_poly": [0, -1]"#,
        &["pixeldist_to_angle_poly", "no linear term"],
    );
    says(
        r#", "angle_to_pixeldist_poly": [3, 40]"#,
        &["angle_to_pixeldist_poly", "constant term of 3"],
    );
    says(
        &with(r#""reference_poly": "BOTH""#),
        &["reference_poly", "BOTH"],
    );
    says(&with(r#""linear_cde": [1, 0]"#), &["linear_cde", "c, d, e"]);
    says(&with(r#""linear_cde": [-1, 0, 0]"#), &["linear_cde"]);
    says(&with(r#""max_angle": 0"#), &["max_angle", "above 0"]);
    says(
        &with(r#""principal_point": 3"#),
        &["principal_point", "two numbers"],
    );
}
