//! `transforms.json`: nerfstudio's camera models, and points that went through its transformation.

use crate::dataset_support::{assert_projects, colmap_text, open, open_error, pattern, ply, save};
use splatcore_core::Lens;
use splatcore_data::dataset::Format;
use std::path::Path;

/// Camera to world of a camera at (0, 0, 4) that looks along -z, y up.
const MATRIX: &str = "[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]";

fn transforms(root: &Path, general: &str, frame: &str) {
    let text = format!(
        r#"{{"fl_x": 40, "fl_y": 41, "cx": 31, "cy": 25, "w": 64, "h": 48, {general}
            "frames": [{{"file_path": "a.png", "transform_matrix": {MATRIX}{frame}}}]}}"#
    );
    std::fs::write(root.join("transforms.json"), text).unwrap();
}

fn dataset_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(pattern(64, 48), &folder.path().join("a.png"));
    folder
}

/// World points in the view, and their rays x/z, y/z (y down).
fn rays() -> Vec<([f64; 3], [f64; 2])> {
    [[0.0, 0.0], [0.3, -0.25], [-0.6, 0.2], [0.5, 0.45]]
        .map(|ray| ([2.0 * ray[0], -2.0 * ray[1], 2.0], ray))
        .to_vec()
}

/// Project Aria's documentation, "Camera intrinsic models", FISHEYE624.
fn fisheye624(ray: [f64; 2], c: [f64; 12]) -> [f64; 2] {
    let [k0, k1, k2, k3, k4, k5, p0, p1, s0, s1, s2, s3] = c;
    let r = ray[0].hypot(ray[1]);
    let t = r.atan();
    let bent = t
        + k0 * t.powi(3)
        + k1 * t.powi(5)
        + k2 * t.powi(7)
        + k3 * t.powi(9)
        + k4 * t.powi(11)
        + k5 * t.powi(13);
    let by = if r > 0.0 { bent / r } else { 1.0 };
    let [x, y] = ray.map(|v| v * by);
    let r2 = x * x + y * y;
    let u = x + (2.0 * x * x + r2) * p0 + 2.0 * x * y * p1 + s0 * r2 + s1 * r2 * r2;
    let v = y + (2.0 * y * y + r2) * p1 + 2.0 * x * y * p0 + s2 * r2 + s3 * r2 * r2;
    [40.0 * u + 31.0, 41.0 * v + 25.0]
}

#[test]
fn arias_model_projects_as_its_documentation_says() {
    let folder = dataset_folder();
    let root = folder.path();
    let c = [
        0.4, -0.49, 0.2, 0.1, -0.06, 0.01, 0.002, -0.003, 0.001, -0.0006, -0.0017, 0.0005,
    ];
    transforms(
        root,
        r#""camera_model": "fisheye624","#,
        &format!(r#", "distortion_params": {c:?}"#),
    );
    let dataset = open(root);
    let pairs = rays()
        .into_iter()
        .map(|(point, ray)| (point, fisheye624(ray, c)));
    assert_projects(&dataset.entries[0].camera, pairs);
    transforms(
        root,
        r#""camera_model": "FISHEYE624", "distortion_params": [1, 2],"#,
        "",
    );
    let error = open_error(root);
    assert_contains!(error, "12 numbers", "2 are given");
}

#[test]
fn every_model_of_nerfstudio_is_read_or_refused_by_name() {
    let folder = dataset_folder();
    let root = folder.path();
    let k = r#""k1": 0.1, "k2": 0.02, "k3": 0.003, "k4": 0.004, "p1": 0.005, "p2": 0.006,"#;
    let opencv = Lens::OpenCv {
        k: [0.1, 0.02, 0.003, 0.004, 0.0, 0.0],
        p: [0.005, 0.006],
        s: [0.0; 4],
    };
    let fisheye = |p, s| Lens::Fisheye {
        k: [0.1, 0.02, 0.003, 0.004],
        p,
        s,
    };
    for (model, lens) in [
        ("OPENCV", opencv),
        ("FULL_OPENCV", opencv),
        ("PINHOLE", opencv),
        ("SIMPLE_PINHOLE", opencv),
        ("SIMPLE_RADIAL", opencv),
        ("radial", opencv),
        ("OPENCV_FISHEYE", fisheye([0.0; 2], [0.0; 2])),
        ("RADIAL_FISHEYE", fisheye([0.0; 2], [0.0; 2])),
        (
            "THIN_PRISM_FISHEYE",
            fisheye([0.005, 0.006], [0.007, 0.008]),
        ),
    ] {
        let more = format!(r#""camera_model": "{model}", {k} "sx1": 0.007, "sy1": 0.008,"#);
        transforms(root, &more, "");
        assert_eq!(open(root).entries[0].camera.lens, lens, "{model}");
    }
    // The same coefficients as a list, in nerfstudio's order.
    let list = r#""distortion_params": [0.1, 0.02, 0.003, 0.004, 0.005, 0.006],"#;
    transforms(root, list, "");
    assert_eq!(open(root).entries[0].camera.lens, opencv);
    for (model, lens) in [
        ("EQUIRECTANGULAR", Lens::Equirectangular),
        ("orthophoto", Lens::Orthographic),
    ] {
        transforms(root, &format!(r#""camera_model": "{model}","#), "");
        assert_eq!(open(root).entries[0].camera.lens, lens, "{model}");
    }
    for model in ["OMNIDIRECTIONALSTEREO_L", "VR180_L"] {
        transforms(root, &format!(r#""camera_model": "{model}","#), "");
        let error = open_error(root);
        assert!(
            error.contains(model) && error.contains("an eye for each column"),
            "{error}"
        );
    }
    transforms(root, r#""camera_model": "MAGIC","#, "");
    assert_contains!(open_error(root), r#"unknown camera model "MAGIC""#);
}

/// Photos of a model that is not known are left out, unless half of all are.
#[test]
fn photos_of_unknown_models_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write = |models: &[&str]| {
        let frame = |(i, model): (usize, &&str)| {
            save(pattern(64, 48), &root.join(format!("{i}.png")));
            format!(
                r#"{{"file_path": "{i}.png", "camera_model": "{model}", "transform_matrix":
                    [[1,0,0,{i}],[0,1,0,0],[0,0,1,4],[0,0,0,1]]}}"#
            )
        };
        let frames: Vec<String> = models.iter().enumerate().map(frame).collect();
        let text = format!(r#"{{"fl_x": 50, "frames": [{}]}}"#, frames.join(","));
        std::fs::write(root.join("transforms.json"), text).unwrap();
    };
    write(&["OPENCV", "MAGIC", "PINHOLE", "VR180_L", "OPENCV"]);
    let dataset = open(root);
    let names: Vec<&str> = dataset.entries.iter().map(|entry| &*entry.name).collect();
    assert_eq!(names, ["0.png", "2.png", "4.png"]);
    let [magic, stereo] = &dataset.warnings[..] else {
        panic!("{:?}", dataset.warnings)
    };
    let wanted = r#"1.png: left out, camera_model is "MAGIC", expected OPENCV, OPENCV_FISHEYE"#;
    assert_contains!(magic, wanted, "undistort");
    assert_contains!(stereo, "3.png: left out, camera_model is VR180_L");
    write(&["OPENCV", "MAGIC", "MAGIC", "PINHOLE"]);
    let error = open_error(root);
    assert_contains!(
        error,
        r#"frames[1].camera_model: unknown camera model "MAGIC""#
    );
}

#[test]
fn so_are_those_of_unknown_cameras_of_colmap() {
    let images = [
        (1, "a.png"),
        (2, "b.png"),
        (1, "c.png"),
        (2, "d.png"),
        (1, "e.png"),
    ];
    let text = "1 PINHOLE 64 48 50 50 32 24\n2 MAGIC 64 48 50 50 32 24 1 2 3\n";
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let wanted = "2 photos (b.png, d.png): left out, its camera model is ";
    let left = |root: &Path, words: &str| {
        let dataset = open(root);
        assert_eq!(dataset.entries.len(), 3);
        assert_eq!(dataset.warnings.len(), 1, "{:?}", dataset.warnings);
        assert_contains!(
            dataset.warnings[0],
            wanted,
            words,
            "SIMPLE_PINHOLE, PINHOLE"
        );
    };
    for (_, name) in images {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    colmap_text(root, text, &images, "");
    left(root, r#""MAGIC", expected one of"#);
    // The binary file does not say where the unknown camera ends.
    let model = root.join("sparse/0");
    let mut cameras = 3u64.to_le_bytes().to_vec();
    for (id, model, parameters) in [(1u32, 1u32, 4), (2, 99, 7), (3, 1, 4)] {
        cameras.extend([id, model].map(u32::to_le_bytes).as_flattened());
        cameras.extend([64u64, 48].map(u64::to_le_bytes).as_flattened());
        let numbers = [50.0, 50.0, 32.0, 24.0, 0.1, 0.2, 0.3];
        cameras.extend(
            numbers[..parameters]
                .iter()
                .flat_map(|v: &f64| v.to_le_bytes()),
        );
    }
    let mut listed = 5u64.to_le_bytes().to_vec();
    for (i, (camera, name)) in (1u32..).zip(images) {
        let pose = [1.0, 0.0, 0.0, 0.0, f64::from(i), 0.0, 4.0];
        listed.extend(i.to_le_bytes());
        listed.extend(pose.iter().flat_map(|v| v.to_le_bytes()));
        listed.extend(u32::to_le_bytes(camera));
        listed.extend(name.bytes().chain([0; 9]));
    }
    std::fs::write(model.join("cameras.bin"), &cameras).unwrap();
    std::fs::write(model.join("images.bin"), listed).unwrap();
    left(root, "99, expected one of");
    cameras.push(0);
    std::fs::write(model.join("cameras.bin"), &cameras).unwrap();
    assert_contains!(open_error(root), "unknown camera model 99");
    std::fs::remove_file(model.join("cameras.bin")).unwrap();
    let images = images.map(|(_, name)| (2, name));
    colmap_text(root, text, &images, "");
    let error = open_error(root);
    assert_contains!(
        error,
        r#"line 2: unknown camera model "MAGIC""#,
        "image_undistorter"
    );
}

/// A quarter turn about x and a shift into the view.
const APPLIED: &str = "[[1,0,0,0],[0,0,1,-10],[0,-1,0,0]]";

#[test]
fn points_fit_the_cameras_whatever_was_applied_to_them() {
    let folder = dataset_folder();
    let root = folder.path();
    let applied = format!(r#""applied_transform": {APPLIED}, "ply_file_path": "p.ply","#);
    transforms(root, &applied, "");
    // As nerfstudio writes since 1.0: moved already.
    let moved = [[0.1, 0.2, 1.0], [-0.2, 0.1, 0.5], [0.0, 0.0, 0.0]];
    std::fs::write(root.join("p.ply"), ply(&moved)).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.points.positions, moved.map(|p| p.map(|v| v as f32)));
    assert_eq!(dataset.warnings, Vec::<String>::new());
    // As COLMAP has them, behind the camera: by the inverse of APPLIED.
    let original = moved.map(|[x, y, z]| [x, -z, y + 10.0]);
    std::fs::write(root.join("p.ply"), ply(&original)).unwrap();
    let dataset = open(root);
    let close = |a: [f32; 3], b: [f64; 3]| (0..3).all(|i| (a[i] as f64 - b[i]).abs() < 1e-6);
    let pairs = || dataset.points.positions.iter().zip(moved);
    assert!(
        pairs().all(|(&a, b)| close(a, b)),
        "{:?}",
        dataset.points.positions
    );
    assert_contains!(dataset.warnings[0], "applied_transform");
    assert_contains!(dataset.warnings[0], "100 %");

    // Without a PLY the points of nerfstudio's COLMAP model, moved and scaled.
    let model = root.join("colmap/sparse/0");
    std::fs::create_dir_all(&model).unwrap();
    let lines: String = original
        .iter()
        .map(|[x, y, z]| format!("1 {x} {y} {z} 4 5 6 0.1\n"))
        .collect();
    std::fs::write(model.join("points3D.txt"), lines).unwrap();
    let applied = format!(r#""applied_transform": {APPLIED}, "applied_scale": 2.0,"#);
    transforms(root, &applied, "");
    let dataset = open(root);
    assert_eq!(
        (dataset.format, dataset.points.random),
        (Format::Transforms, false)
    );
    let twice = moved.map(|p| p.map(|v| 2.0 * v));
    let mut pairs = dataset.points.positions.iter().zip(twice);
    assert!(
        pairs.all(|(&a, b)| close(a, b)),
        "{:?}",
        dataset.points.positions
    );

    transforms(root, r#""applied_transform": [[1, 2]],"#, "");
    let dataset = open(root);
    assert_contains!(dataset.warnings[0], "not 4x4 or 3x4");
}
