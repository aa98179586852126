//! Polycam, Record3D and 3D Scanner App: ARKit's poses.

use crate::dataset_support::{
    IN_VIEW, assert_projects, open, open_error, pattern, plus, rotation, save, times,
};
use splatcore_data::dataset::{Format, arkit, polycam, record3d};
use std::path::Path;

const EYE: [f64; 3] = [0.4, 1.3, -2.2];
/// fx, fy, cx, cy.
const K: [f64; 4] = [58.0, 59.5, 31.25, 25.5];

/// Camera to world, camera axes x right, y up, z backward.
fn to_world() -> [[f64; 3]; 3] {
    rotation([0.2, 0.8, 0.3], 1.9)
}

fn world([right, down, forward]: [f64; 3]) -> [f64; 3] {
    plus(times(to_world(), [right, -down, -forward]), EYE)
}

fn pixel(p: [f64; 3], k: [f64; 4]) -> [f64; 2] {
    [k[0] * p[0] / p[2] + k[2], k[1] * p[1] / p[2] + k[3]]
}

pub fn polycam_camera(cx: f64) -> String {
    let r = to_world();
    let mut fields = String::new();
    for i in 0..3 {
        for (j, value) in [r[i][0], r[i][1], r[i][2], EYE[i]].into_iter().enumerate() {
            fields += &format!("\"t_{i}{j}\": {value}, ");
        }
    }
    format!(
        "{{{fields}\"fx\": {}, \"fy\": {}, \"cx\": {cx}, \"cy\": {}, \"width\": 64, \"height\": \
         48, \"blur_score\": 103.5, \"timestamp\": 3}}",
        K[0], K[1], K[3]
    )
}

#[test]
fn a_polycam_camera_sees_points_where_arkit_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write = |name: &str, text: &str| {
        let path = root.join("keyframes").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("cameras/17.json", &polycam_camera(K[2]));
    write("cameras/18.json", &polycam_camera(K[2]));
    save(pattern(64, 48), &root.join("keyframes/images/17.jpg"));
    save(pattern(64, 48), &root.join("keyframes/depth/17.png"));
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Polycam);
    assert_eq!(dataset.missing, ["18"]);
    assert_eq!(dataset.entries[0].name, "17.jpg");
    assert_projects(
        &dataset.entries[0].camera,
        IN_VIEW.map(|p| (world(p), pixel(p, K))),
    );
    let camera = polycam::parse(polycam_camera(1.0).as_bytes(), Path::new("a")).unwrap();
    assert_eq!(camera.blur_score, Some(103.5));
    // Corrected ones are better; the folder of key frames may be given itself.
    write("corrected_cameras/17.json", &polycam_camera(30.0));
    save(
        pattern(64, 48),
        &root.join("keyframes/corrected_images/17.jpg"),
    );
    for folder in [root, &root.join("keyframes")] {
        assert_eq!(open(folder).entries[0].camera.cx, 30.0);
    }
    // Cameras of another program are not Polycam's.
    write("corrected_cameras/17.json", "{\"fx\": 3}");
    let error = open_error(root);
    assert_contains!(error, "neither a COLMAP model");
    write("corrected_cameras/17.json", "{\"t_00\": 3}");
    let error = open_error(root);
    assert_contains!(error, "missing field", "line 1");
    write(
        "corrected_cameras/17.json",
        &polycam_camera(30.0).replace("48,", "1e30,"),
    );
    assert_contains!(open_error(root), "its size is 64x1");
}

/// x y z w of a rotation matrix whose trace is above -1.
fn quaternion(m: [[f64; 3]; 3]) -> [f64; 4] {
    let w = 0.5 * (1.0 + m[0][0] + m[1][1] + m[2][2]).sqrt();
    let by = 1.0 / (4.0 * w);
    [
        (m[2][1] - m[1][2]) * by,
        (m[0][2] - m[2][0]) * by,
        (m[1][0] - m[0][1]) * by,
        w,
    ]
}

pub fn metadata(more: &str) -> String {
    let [x, y, z, w] = quaternion(to_world());
    let pose = format!("[{x}, {y}, {z}, {w}, {}, {}, {}]", EYE[0], EYE[1], EYE[2]);
    format!(
        "{{\"w\": 64, \"h\": 48, \"fps\": 60, \"K\": [{}, 0, 0, 0, {}, 0, {}, {}, 1], {more}\
         \"poses\": [{pose}, {pose}, {pose}]}}",
        K[0], K[1], K[2], K[3]
    )
}

#[test]
fn a_record3d_frame_sees_points_where_arkit_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("rgb/0.jpg"));
    save(pattern(64, 48), &root.join("rgb/2.jpg"));
    let file = root.join("metadata.json");
    std::fs::write(&file, metadata("")).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Record3d);
    assert_eq!(dataset.missing, ["1"]);
    assert_projects(
        &dataset.entries[0].camera,
        IN_VIEW.map(|p| (world(p), pixel(p, K))),
    );
    let same = open(&file);
    assert_eq!(same.entries, dataset.entries);
    // Each frame's own focus.
    let own = [61.0, 62.0, 30.0, 23.0];
    let coefficients = format!("\"perFrameIntrinsicCoeffs\": [{own:?}, {K:?}, {K:?}], ");
    std::fs::write(&file, metadata(&coefficients)).unwrap();
    let dataset = open(root);
    assert_projects(
        &dataset.entries[0].camera,
        IN_VIEW.map(|p| (world(p), pixel(p, own))),
    );
    assert_projects(
        &dataset.entries[1].camera,
        IN_VIEW.map(|p| (world(p), pixel(p, K))),
    );

    let says = |text: &str, part: &str| {
        let error = record3d::parse(text.as_bytes(), Path::new("metadata.json"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    says("", "no metadata");
    says("{\"w\": 3}", "missing field");
    says(
        &metadata("\"perFrameIntrinsicCoeffs\": [[1, 2, 3, 4]], "),
        "1 intrinsics for 3 poses",
    );
    says(&metadata("").replace("\"w\": 64", "\"w\": 1e300"), "pixels");
    std::fs::write(&file, metadata("").replace("\"w\"", "\"h\"")).unwrap();
    assert_contains!(open_error(root), "duplicate field");
}

fn arkit_frame(cx: f64) -> String {
    let r = to_world();
    let rows: Vec<f64> = (0..3)
        .flat_map(|i| [r[i][0], r[i][1], r[i][2], EYE[i]])
        .chain([0.0, 0.0, 0.0, 1.0])
        .collect();
    let k = [K[0], 0.0, cx, 0.0, K[1], K[3], 0.0, 0.0, 1.0];
    format!("{{\"motionQuality\": 1, \"intrinsics\": {k:?}, \"cameraPoseARFrame\": {rows:?}}}")
}

#[test]
fn a_frame_of_3d_scanner_app_sees_points_where_arkit_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["frame_00000", "frame_00007", "frame_00008"] {
        std::fs::write(root.join(name).with_extension("json"), arkit_frame(K[2])).unwrap();
    }
    // Most frames of a scan have no photo; other files of the export are none.
    save(pattern(64, 48), &root.join("frame_00000.jpg"));
    save(pattern(64, 48), &root.join("frame_00008.jpg"));
    save(pattern(64, 48), &root.join("thumb_00.jpg"));
    std::fs::write(root.join("info.json"), "{}").unwrap();
    std::fs::write(root.join("depth_00008.png"), "a map").unwrap();
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Arkit);
    let names: Vec<&str> = dataset.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["frame_00000.jpg", "frame_00008.jpg"]);
    assert!(dataset.missing.is_empty());
    for entry in &dataset.entries {
        assert_projects(&entry.camera, IN_VIEW.map(|p| (world(p), pixel(p, K))));
    }
    assert_eq!(dataset.entries[0].depth, None);
    assert_eq!(dataset.entries[1].depth, Some(root.join("depth_00008.png")));

    let says = |text: &str, part: &str| {
        let error = arkit::parse(text.as_bytes(), Path::new("frame_00000.json"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    says("", "no camera of an ARKit scan");
    says("{\"intrinsics\": [1, 2]}", "no camera of an ARKit scan");
    // A frame that cannot be is left out with its reason.
    let wrong = arkit_frame(K[2]).replace("58.0", "-3.0");
    std::fs::write(root.join("frame_00000.json"), wrong).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.entries.len(), 1);
    assert!(
        dataset.warnings[0].contains("frame_00000.jpg"),
        "{:?}",
        dataset.warnings
    );
    // The photos are elsewhere.
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["frame_00000.jpg", "frame_00008.jpg"] {
        std::fs::rename(root.join(name), elsewhere.path().join(name)).unwrap();
    }
    assert_contains!(
        open_error(root),
        "none of the 3 listed images exists here (the first is 'frame_00000')"
    );
}
