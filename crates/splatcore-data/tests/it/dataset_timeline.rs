//! Phones' captures that say when photos were taken: with the time of a read-out, cameras move.

use crate::dataset_support::{open, pattern, save};
use splatcore_core::camera::dot;
use splatcore_core::shutter::Readout;
use splatcore_data::dataset::{Dataset, Format, OpenOptions, ReadoutTime};
use std::path::Path;

const SECONDS: f64 = 0.02;
/// World units a second along x.
const SPEED: f64 = 2.0;

fn open_with(root: &Path, seconds: f64) -> Dataset {
    let options = OpenOptions {
        readout: Some(ReadoutTime {
            seconds,
            order: Readout::TopToBottom,
        }),
        ..OpenOptions::default()
    };
    Dataset::open(root, &options).unwrap()
}

/// Camera to world by rows of a camera that turns to the left by a radian a second and moves along
/// x: camera axes x right, y up, z backward.
fn to_world(time: f64) -> [[f64; 4]; 3] {
    let (sin, cos) = time.sin_cos();
    [
        [cos, 0.0, sin, SPEED * time],
        [0.0, 1.0, 0.0, 0.0],
        [-sin, 0.0, cos, 4.0],
    ]
}

/// A frame of 3D Scanner App; `time` is what stands behind its key.
fn arkit(root: &Path, number: usize, at: f64, time: &str, photo: bool) {
    let rows: Vec<f64> = to_world(at).into_iter().flatten().collect();
    let pose: Vec<f64> = rows.into_iter().chain([0.0, 0.0, 0.0, 1.0]).collect();
    let text = format!(
        r#"{{"intrinsics": [58,0,32,0,58,24,0,0,1], "cameraPoseARFrame": {pose:?} {time}}}"#
    );
    let name = format!("frame_{number:05}");
    std::fs::write(root.join(&name).with_extension("json"), text).unwrap();
    if photo {
        save(pattern(64, 48), &root.join(name).with_extension("jpg"));
    }
}

fn timed(at: f64) -> String {
    // A phone's clock counts from when it was turned on.
    format!(r#", "time": {}"#, 104_137.25 + at)
}

/// By how much a photo's camera moves along x, and turns, from its first row to its last.
fn assert_moves(dataset: &Dataset, name: &str) {
    let entry = dataset.entries.iter().find(|e| e.name == name).unwrap();
    let camera = &entry.camera;
    assert_eq!(camera.shutter.unwrap().readout, Readout::TopToBottom);
    let (begin, end) = (camera.at(-0.5), camera.at(0.5));
    let (from, to) = (begin.position(), end.position());
    assert!((to[0] - from[0] - SPEED * SECONDS).abs() < 1e-6, "{name}");
    assert!(
        (to[1] - from[1]).abs() + (to[2] - from[2]).abs() < 1e-6,
        "{name}"
    );
    let turn = dot(begin.forward(), end.forward()).acos();
    assert!((turn - SECONDS).abs() < 1e-6, "{name}: {turn}");
    // To the left: away from what is on the right.
    assert!(dot(end.forward(), camera.rotation[0]) < dot(begin.forward(), camera.rotation[0]));
}

/// The motion is that of the frames before and after; those count too that have no photo.
#[test]
fn times_of_3d_scanner_app_tell_the_motion() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (number, at, photo) in [
        (0, 0.0, true),
        (1, 0.2, false),
        (2, 0.4, false),
        (3, 1.0, true),
        (4, 1.1, false),
        // Long after the others.
        (9, 9.0, true),
    ] {
        arkit(root, number, at, &timed(at), photo);
    }
    // A frame without a photo that is no frame is of no use, and no harm.
    std::fs::write(root.join("frame_00005.json"), "{").unwrap();
    let dataset = open_with(root, SECONDS);
    assert_eq!(dataset.format, Format::Arkit);
    assert_moves(&dataset, "frame_00000.jpg");
    assert_moves(&dataset, "frame_00003.jpg");
    assert_eq!(dataset.entries[2].camera.shutter, None);
    assert_eq!(
        dataset.warnings[..1],
        [
            "frame_00009.jpg: its motion while it was read is not known, expected another frame \
             at most 0.6 s before or after; the photo is used as one of a global shutter"
        ]
    );
    assert!(dataset.tells_motion);

    // Nobody says how long it takes: cameras as they were.
    let still = open(root);
    assert!(still.entries.iter().all(|e| e.camera.shutter.is_none()));
    assert!(still.findings.is_empty() && still.tells_motion);
    // All at once.
    let at_once = open_with(root, 0.0);
    assert_eq!(at_once.entries, still.entries);
    assert!(at_once.findings.is_empty(), "{:?}", at_once.findings);
    // Poses are those of the middle, whatever the time.
    for (a, b) in dataset.entries.iter().zip(&still.entries) {
        assert_eq!(a.camera.still(), b.camera);
    }
}

#[test]
fn times_that_are_none_are_said_and_harm_nothing() {
    for time in [
        r#", "time": "noon""#,
        r#", "time": null"#,
        r#", "time": [1]"#,
        "",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for number in 0..3 {
            arkit(root, number, 0.1 * number as f64, time, true);
        }
        let dataset = open_with(root, SECONDS);
        assert_eq!(dataset.entries.len(), 3, "{time}");
        assert!(!dataset.tells_motion && dataset.findings.is_empty());
        // One photo without a time among others.
        arkit(root, 1, 0.1, &timed(0.1), true);
        arkit(root, 2, 0.2, &timed(0.2), true);
        let dataset = open_with(root, SECONDS);
        assert_moves(&dataset, "frame_00001.jpg");
        assert_contains!(
            dataset.findings[0],
            "the time when it was taken is not given"
        );
        assert_eq!(
            dataset.findings[0].photo.as_deref(),
            Some("frame_00000.jpg")
        );
    }
    // All at the same time; a jump by a third of a turn in a hundredth of a second.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (number, at, time) in [(0, 0.0, 0.0), (1, 0.1, 0.0), (2, 2.2, 5.0), (3, 4.3, 5.01)] {
        arkit(root, number, at, &timed(time), true);
    }
    let dataset = open_with(root, SECONDS);
    assert!(dataset.entries.iter().all(|e| e.camera.shutter.is_none()));
    assert_contains!(dataset.findings[0], "not known");
    assert_contains!(dataset.findings[2], "a turn by 240", "at most 28.6");
}

#[test]
fn times_of_polycam_are_microseconds() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write = |number: u64, at: f64, photo: bool| {
        let path = root.join(format!("keyframes/cameras/{number}.json"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut fields = String::new();
        for (i, row) in to_world(at).iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                fields += &format!("\"t_{i}{j}\": {value}, ");
            }
        }
        let text = format!(
            r#"{{{fields}"fx": 58, "fy": 58, "cx": 32, "cy": 24, "width": 64, "height": 48,
                "timestamp": {number}}}"#
        );
        std::fs::write(path, text).unwrap();
        if photo {
            save(
                pattern(64, 48),
                &root.join(format!("keyframes/images/{number}.jpg")),
            );
        }
    };
    write(133_246_000_000, 0.0, true);
    write(133_246_200_000, 0.2, false);
    let dataset = open_with(root, SECONDS);
    assert_eq!(dataset.format, Format::Polycam);
    assert_moves(&dataset, "133246000000.jpg");
}

#[test]
fn times_of_record3d_are_its_own_or_by_its_rate() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("rgb/0.jpg"));
    save(pattern(64, 48), &root.join("rgb/2.jpg"));
    let write = |more: &str| {
        let pose = |at: f64| {
            // A turn about y.
            let (sin, cos) = (0.5 * at).sin_cos();
            format!("[0, {sin}, 0, {cos}, {}, 0, 4]", SPEED * at)
        };
        let poses = [0.0, 0.1, 0.2].map(pose).join(", ");
        let text = format!(
            r#"{{"w": 64, "h": 48, "K": [58,0,0,0,58,0,32,24,1], {more} "poses": [{poses}]}}"#
        );
        std::fs::write(root.join("metadata.json"), text).unwrap();
    };
    for more in [
        r#""frameTimestamps": [7.5, 7.6, 7.7], "fps": 60,"#,
        r#""fps": 10,"#,
        // A list that does not fit.
        r#""frameTimestamps": [7.5, 7.6], "fps": 10,"#,
        r#""frameTimestamps": "none", "fps": 10,"#,
    ] {
        write(more);
        let dataset = open_with(root, SECONDS);
        assert_eq!(dataset.format, Format::Record3d);
        assert_moves(&dataset, "0.jpg");
        assert_moves(&dataset, "2.jpg");
    }
    for more in ["", r#""fps": 0,"#, r#""fps": -10,"#, r#""fps": "many","#] {
        write(more);
        let dataset = open_with(root, SECONDS);
        assert!(!dataset.tells_motion, "{more}");
        assert!(dataset.entries.iter().all(|e| e.camera.shutter.is_none()));
    }
}

/// Frames of a video with poses of COLMAP, and their file of times.
fn frames_of_a_video(root: &Path, json: &str) {
    std::fs::create_dir_all(root.join("sparse/0")).unwrap();
    let mut images = String::new();
    for i in 0..3 {
        let name = format!("frame_{i:06}.jpg");
        save(pattern(64, 48), &root.join("images").join(&name));
        // Along x, a tenth of a unit for each frame.
        images += &format!("{} 1 0 0 0 {} 0 0 1 {name}\n\n", i + 1, -0.1 * f64::from(i));
    }
    let model = root.join("sparse/0");
    std::fs::write(model.join("cameras.txt"), "1 PINHOLE 64 48 58 58 32 24\n").unwrap();
    std::fs::write(model.join("images.txt"), images).unwrap();
    std::fs::write(model.join("points3D.txt"), "").unwrap();
    std::fs::write(root.join("frames.json"), json).unwrap();
}

#[test]
fn frames_of_a_video_have_the_motion_of_its_gyroscope() {
    let folder = tempfile::tempdir().unwrap();
    let json = r#"{"readout_seconds": 0.01, "readout_direction": "left-to-right", "frames": [
        {"name": "frame_000000.jpg", "seconds": 0.0, "angular_velocity": [0.1, 0.2, 0.3]},
        {"name": "frame_000001.jpg", "seconds": 0.5},
        {"name": "frame_000002.jpg", "seconds": 9.0, "angular_velocity": [1.0, 0.0, 0.0]},
        {"name": "gone.jpg", "seconds": 9.5}]}"#;
    frames_of_a_video(folder.path(), json);
    // What the file tells goes before what is asked for.
    let dataset = open_with(folder.path(), SECONDS);
    let shutters: Vec<_> = dataset
        .entries
        .iter()
        .map(|e| e.camera.shutter.unwrap())
        .collect();
    assert!(shutters.iter().all(|s| s.readout == Readout::LeftToRight));
    let near = |a: [f64; 3], b: [f64; 3]| (0..3).all(|k| (a[k] - b[k]).abs() < 1e-9);
    assert!(
        near(shutters[0].turn, [0.001, 0.002, 0.003]),
        "{shutters:?}"
    );
    assert!(near(shutters[0].shift, [0.002, 0.0, 0.0]), "{shutters:?}");
    assert!(near(shutters[1].turn, [0.0; 3]), "{shutters:?}");
    // Long after the others its turn alone is known.
    assert!(near(shutters[2].turn, [0.01, 0.0, 0.0]), "{shutters:?}");
    assert!(near(shutters[2].shift, [0.0; 3]), "{shutters:?}");
}

#[test]
fn a_file_of_frames_that_is_wrong_is_a_warning() {
    for (json, what) in [
        ("{", "EOF while parsing"),
        (
            r#"{"frames": [], "readout_seconds": 1e9}"#,
            "a read-out of 1000000000 s",
        ),
        (
            r#"{"frames": [], "readout_direction": "up"}"#,
            "unknown variant",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        frames_of_a_video(folder.path(), json);
        let dataset = open_with(folder.path(), SECONDS);
        assert_eq!(dataset.entries.len(), 3);
        assert!(dataset.entries.iter().all(|e| e.camera.shutter.is_none()));
        assert_contains!(dataset.warnings.join("\n"), "frames.json: ", what);
    }
}
