//! Photos whose cameras move while they are read: how `transforms.json` says it, and what the
//! tracer paints.

use crate::dataset_support::{load_all, open, pattern, save};
use splatcore_core::camera::dot;
use splatcore_core::shutter::Readout;
use splatcore_core::{Camera, Lens};
use splatcore_data::dataset::transforms::{self, PosedPhoto};
use splatcore_data::dataset::{Dataset, Format, LoadOptions, OpenOptions, ReadoutTime};
use splatcore_data::procedural::{Motion, ProceduralOptions, World, encode_srgb, write_dataset};
use std::path::Path;

const START: &str = "[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]";

/// A file with one photo of 64x48 pixels, `a.png`; `general` and `own` are more fields.
fn one_photo(root: &Path, general: &str, own: &str) -> Dataset {
    save(pattern(64, 48), &root.join("a.png"));
    let text = format!(
        r#"{{"fl_x": 50 {general}, "frames":
            [{{"file_path": "a.png", "transform_matrix": {START} {own}}}]}}"#
    );
    std::fs::write(root.join("transforms.json"), text).unwrap();
    open(root)
}

/// A dataset whose cameras are said to read a photo in so many seconds.
fn open_with(root: &Path, seconds: f64, order: Readout) -> Dataset {
    let options = OpenOptions {
        readout: Some(ReadoutTime { seconds, order }),
        ..OpenOptions::default()
    };
    Dataset::open(root, &options).unwrap()
}

fn near(a: [f64; 3], b: [f64; 3]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn a_second_pose_is_that_of_the_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let own = r#", "shutter_type": "ROLLING_BOTTOM_TO_TOP",
        "transform_matrix_end": [[1,0,0,0.2],[0,1,0,0],[0,0,1,4]]"#;
    let dataset = one_photo(folder.path(), "", own);
    let camera = &dataset.entries[0].camera;
    let [first, last] = camera.ends();
    assert!(near(first.position(), [0.0, 0.0, 4.0]));
    assert!(near(last.position(), [0.2, 0.0, 4.0]));
    assert!(near(camera.position(), [0.1, 0.0, 4.0]));
    assert_eq!(camera.shutter.unwrap().readout, Readout::BottomToTop);
    // Of what stands still, the lower rows are read from further left.
    let column = |y: f64| camera.project([0.1, y, 0.0]).unwrap()[0];
    assert!(column(-1.5) > column(0.0) && column(0.0) > column(1.5));
    // Photos are used as they are, at any size.
    let view = &load_all(&dataset)[0];
    assert_eq!(view.camera, *camera);
    let half = LoadOptions {
        max_size: Some(32),
        ..LoadOptions::default()
    };
    let small = &dataset.load_views(&[0], &half, &|_, _| {}).unwrap()[0].camera;
    let (a, b) = (
        camera.project([0.3, 0.4, 0.1]),
        small.project([0.3, 0.4, 0.1]),
    );
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!((0.5 * a[0] - b[0]).abs() < 1e-9 && (0.5 * a[1] - b[1]).abs() < 1e-9);
}

/// As Spectacular AI's tools write it: the pose in the middle, velocities in its axes.
#[test]
fn velocities_are_a_motion_about_the_pose() {
    let folder = tempfile::tempdir().unwrap();
    let own = r#", "camera_linear_velocity": [0, 0, -2], "camera_angular_velocity": [0, 3, 0]"#;
    let dataset = one_photo(folder.path(), r#", "rolling_shutter_time": 0.02"#, own);
    let camera = &dataset.entries[0].camera;
    assert!(near(camera.position(), [0.0, 0.0, 4.0]));
    assert_eq!(camera.shutter.unwrap().readout, Readout::TopToBottom);
    // It moves forward, along -z of OpenGL, and turns about its axis up: to the left.
    let (begin, end) = (camera.at(-0.5), camera.at(0.5));
    assert!(near(begin.position(), [0.0, 0.0, 4.02]));
    assert!(near(end.position(), [0.0, 0.0, 3.98]));
    let turn = dot(begin.forward(), end.forward()).acos();
    assert!((turn - 0.06).abs() < 1e-9 && end.forward()[0] < begin.forward()[0]);
}

/// instant-ngp's share of the way from one pose to the other: here the upper edge has the first
/// pose and the lower edge the second, or columns, backwards, and the middle of an exposure.
#[test]
fn instant_ngps_shares_are_a_motion() {
    let ends = r#", "transform_matrix_start": [[1,0,0,0],[0,1,0,0],[0,0,1,4]],
        "transform_matrix_end": [[1,0,0,0.2],[0,1,0,0],[0,0,1,4]]"#;
    for (shares, edges, by_rows) in [
        ("[0, 0, 1]", [0.0, 0.2], true),
        ("[1, 0, -1, 0]", [0.2, 0.0], true),
        ("[0.5, 0.25, 0, 0.5]", [0.15, 0.2], false),
        ("[0.5, 0, 0, 0]", [0.1, 0.1], true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let general = format!(r#", "rolling_shutter": {shares}"#);
        let dataset = one_photo(folder.path(), &general, ends);
        let camera = &dataset.entries[0].camera;
        let (first, last) = match by_rows {
            true => ([32.0, 0.0], [32.0, 48.0]),
            false => ([0.0, 24.0], [64.0, 24.0]),
        };
        for (pixel, x) in [first, last].into_iter().zip(edges) {
            let at = camera.at_pixel(pixel).position();
            assert!(near(at, [x, 0.0, 4.0]), "{shares}: {at:?} for {x}");
        }
        assert_eq!(camera.shutter.is_some(), edges[0] != edges[1]);
    }
    for shares in ["[0, 1, 1]", "[0, 1]"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        save(pattern(64, 48), &root.join("a.png"));
        let text = format!(
            r#"{{"fl_x": 50, "rolling_shutter": {shares}, "frames": [
                {{"file_path": "a.png" {ends}}}]}}"#
        );
        std::fs::write(root.join("transforms.json"), text).unwrap();
        let said = Dataset::open(root, &OpenOptions::default()).unwrap_err();
        assert!(said.to_string().contains("rolling_shutter is ["), "{said}");
    }
}

/// Frames of a video that turns to the left by 1 radian a second and moves along x by 2 units a
/// second: the neighbours tell, also at the ends, and not across a gap.
#[test]
fn neighbours_in_time_tell_the_motion() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let frame = |i: usize, time: f64| {
        save(pattern(64, 48), &root.join(format!("{i}.png")));
        let (sin, cos) = time.sin_cos();
        let x = 2.0 * time;
        format!(
            r#"{{"file_path": "{i}.png", "timestamp": {time}, "transform_matrix":
                [[{cos},0,{sin},{x}],[0,1,0,0],[{},0,{cos},4],[0,0,0,1]]}}"#,
            -sin
        )
    };
    // Not in the order of time, and the last one long after.
    let frames = [0.1, 0.0, 0.2, 5.0].iter().enumerate();
    let frames: Vec<String> = frames.map(|(i, &time)| frame(i, time)).collect();
    let text = format!(
        r#"{{"fl_x": 50, "rolling_shutter_time": 0.02, "frames": [{}]}}"#,
        frames.join(",")
    );
    std::fs::write(root.join("transforms.json"), &text).unwrap();
    let dataset = open(root);
    for entry in &dataset.entries[..3] {
        let camera = &entry.camera;
        let (begin, end) = (camera.at(-0.5), camera.at(0.5));
        let moved: [f64; 3] = std::array::from_fn(|k| end.position()[k] - begin.position()[k]);
        assert!(near(moved, [0.04, 0.0, 0.0]), "{moved:?}");
        let turn = dot(begin.forward(), end.forward()).acos();
        assert!((turn - 0.02).abs() < 1e-9, "{turn}");
        // To the left: from -z towards -x.
        let left = camera.rotation[0].map(|v| -v);
        assert!(dot(end.forward(), left) > dot(begin.forward(), left));
    }
    assert_eq!(dataset.entries[3].camera.shutter, None);
    assert_contains!(dataset.findings[0], "not known", "at most 0.6 s");

    // The time of the read-out, and its order, may come from whoever opens the file.
    let without = text.replace(r#""rolling_shutter_time": 0.02, "#, "");
    std::fs::write(root.join("transforms.json"), &without).unwrap();
    assert_contains!(open(root).findings[0], "rolling_shutter_time is not given");
    let given = open_with(root, 0.02, Readout::LeftToRight);
    for (a, b) in given.entries[..3].iter().zip(&dataset.entries) {
        let (a, b) = (a.camera.shutter.unwrap(), b.camera.shutter.unwrap());
        assert!(near(a.turn, b.turn) && near(a.shift, b.shift));
        assert_eq!(a.readout, Readout::LeftToRight);
    }
    assert_eq!(given.findings.len(), 1);
    // What the file says goes before.
    std::fs::write(root.join("transforms.json"), &text).unwrap();
    assert_eq!(
        open_with(root, 0.01, Readout::TopToBottom).entries,
        dataset.entries
    );
    let global = without.replace(r#""fl_x""#, r#""shutter_type": "GLOBAL", "fl_x""#);
    std::fs::write(root.join("transforms.json"), global).unwrap();
    let global = open_with(root, 0.02, Readout::TopToBottom);
    assert!(global.entries.iter().all(|e| e.camera.shutter.is_none()));
    assert!(global.findings.is_empty() && global.tells_motion);
}

#[test]
fn motions_without_the_time_of_the_read_out_are_said() {
    let velocity = r#", "camera_linear_velocity": [0, 0, -2]"#;
    for general in ["", r#", "shutter_type": "TOP_TO_BOTTOM""#] {
        let folder = tempfile::tempdir().unwrap();
        let dataset = one_photo(folder.path(), general, velocity);
        assert_eq!(dataset.entries[0].camera.shutter, None);
        assert_eq!(dataset.warnings.len(), 1, "{:?}", dataset.warnings);
        assert_contains!(dataset.warnings[0], "rolling_shutter_time is not given");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let frame = |i: usize| {
        save(pattern(64, 48), &root.join(format!("{i}.png")));
        let pose = format!("[[1,0,0,{i}],[0,1,0,0],[0,0,1,4],[0,0,0,1]]");
        let time = 0.1 * i as f64;
        format!(r#"{{"file_path": "{i}.png", "timestamp": {time}, "transform_matrix": {pose}}}"#)
    };
    let frames: Vec<String> = (0..4).map(frame).collect();
    let text = format!(r#"{{"fl_x": 50, "frames": [{}]}}"#, frames.join(","));
    std::fs::write(root.join("transforms.json"), text).unwrap();
    let line = &open(root).warnings[0];
    assert_contains!(
        line,
        "4 photos (0.png, 1.png, 2.png, ...): rolling_shutter_time"
    );
}

#[test]
fn what_says_nothing_is_a_global_shutter() {
    for (general, own) in [
        ("", ""),
        (r#", "shutter_type": "GLOBAL""#, ""),
        (
            r#", "rolling_shutter_time": 0"#,
            r#", "camera_linear_velocity": [0, 0, -2]"#,
        ),
        (
            r#", "shutter_type": "global", "rolling_shutter_time": 0.02"#,
            r#", "camera_linear_velocity": [0, 0, -2]"#,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let dataset = one_photo(folder.path(), general, own);
        assert_eq!(dataset.entries[0].camera.shutter, None);
        assert!(dataset.findings.is_empty(), "{:?}", dataset.findings);
    }
    // A shutter that rolls, and nobody knows how the camera moved.
    let folder = tempfile::tempdir().unwrap();
    let dataset = one_photo(folder.path(), r#", "shutter_type": "TOP_TO_BOTTOM""#, "");
    assert_eq!(dataset.entries[0].camera.shutter, None);
    assert_contains!(dataset.findings[0], "motion while it was read is not given");
}

#[test]
fn wrong_motions_are_refused_in_a_line() {
    let end = |matrix: &str| format!(r#", "transform_matrix_end": {matrix}"#);
    for (own, words) in [
        (end("[[1,0,0],[0,1,0],[0,0,1]]"), "transform_matrix_end"),
        (
            end("[[0,0,0,0],[0,0,0,0],[0,0,0,0]]"),
            "transform_matrix_end",
        ),
        // Half a turn while a photo is read.
        (
            end("[[-1,0,0,0],[0,1,0,0],[0,0,-1,4]]"),
            "a turn by 183.83 degrees",
        ),
        (
            r#", "shutter_type": "ROLLING_DOWN""#.into(),
            r#"shutter_type is "ROLLING_DOWN", expected GLOBAL"#,
        ),
        (r#", "rolling_shutter_time": -0.1"#.into(), "-0.1 s"),
        (
            r#", "rolling_shutter_time": 0.1, "camera_linear_velocity": [1, 2]"#.into(),
            "camera_linear_velocity is 2 numbers",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        save(pattern(64, 48), &root.join("b.png"));
        let text = format!(
            r#"{{"fl_x": 50, "w": 64, "h": 48, "frames": [
                {{"file_path": "a.png", "transform_matrix": {START} {own}}},
                {{"file_path": "b.png", "transform_matrix": {START}}}]}}"#
        );
        save(pattern(64, 48), &root.join("a.png"));
        std::fs::write(root.join("transforms.json"), text).unwrap();
        let dataset = open(root);
        assert_eq!(dataset.entries.len(), 1, "{words}");
        let said = &dataset.findings[0];
        assert_eq!(said.photo.as_deref(), Some("a.png"));
        assert!(said.to_string().contains(words), "{said}");
    }
    // A panorama has no first row.
    let folder = tempfile::tempdir().unwrap();
    moving_photo(folder.path(), "EQUIRECTANGULAR");
    let said = Dataset::open(folder.path(), &OpenOptions::default()).unwrap_err();
    let said = said.to_string();
    assert!(
        said.contains("all around") && !said.contains('\n'),
        "{said}"
    );
}

/// A photo of a camera of this model, which moves along x while it is read.
fn moving_photo(root: &Path, model: &str) {
    let own = format!(
        r#", "camera_model": "{model}", "k1": 0.1,
            "transform_matrix_end": [[1,0,0,0.2],[0,1,0,0],[0,0,1,4]]"#
    );
    save(pattern(64, 48), &root.join("a.png"));
    let text = format!(
        r#"{{"fl_x": 50, "frames":
            [{{"file_path": "a.png", "transform_matrix": {START} {own}}}]}}"#
    );
    std::fs::write(root.join("transforms.json"), text).unwrap();
}

/// A lens cannot be taken away from rows: the photo stays, whether that is asked for or not.
#[test]
fn a_photo_that_was_read_by_rows_keeps_its_lens() {
    let folder = tempfile::tempdir().unwrap();
    moving_photo(folder.path(), "OPENCV");
    let dataset = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
    let camera = |keep_lens| {
        let options = LoadOptions {
            keep_lens,
            ..LoadOptions::default()
        };
        let views = dataset.load_views(&[0], &options, &|_, _| {});
        views.unwrap()[0].camera.clone()
    };
    assert!(camera(false) == camera(true) && camera(false).lens != Lens::Pinhole);
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let at = |x: f64| {
        let eye = [x, -1.0, -4.0];
        let camera = Camera::look_at(eye, [0.1 * x, 0.0, 0.0], [0.1, -1.0, 0.0], 0.8, 64, 48);
        Camera {
            lens: Lens::Fisheye {
                k: [0.02, 0.0, 0.0, 0.0],
                p: [0.0; 2],
                s: [0.0; 2],
            },
            ..camera
        }
    };
    let cameras = [
        Camera::rolling(&at(0.0), &at(0.2), Readout::LeftToRight),
        Camera::rolling(&at(1.0), &at(0.8), Readout::BottomToTop),
        at(2.0),
    ];
    let photo = |(i, camera): (usize, &Camera)| {
        let file_path = format!("{i}.png");
        save(pattern(64, 48), &root.join(&file_path));
        PosedPhoto {
            file_path,
            camera: camera.clone(),
            held_out: false,
        }
    };
    let photos: Vec<PosedPhoto> = cameras.iter().enumerate().map(photo).collect();
    transforms::write(&root.join("transforms.json"), &photos).unwrap();
    let dataset = open(root);
    for (entry, wanted) in dataset.entries.iter().zip(&cameras) {
        let found = &entry.camera;
        let readout = |camera: &Camera| camera.shutter.map(|shutter| shutter.readout);
        assert_eq!(readout(found), readout(wanted));
        for (a, b) in found.ends().iter().zip(wanted.ends()) {
            assert!(near(a.position(), b.position()));
            assert!((0..3).all(|i| near(a.rotation[i], b.rotation[i])));
        }
    }
}

/// Each pixel of a photo shows what the camera of its row sees.
#[test]
fn the_tracer_paints_each_row_from_its_own_pose() {
    let folder = tempfile::tempdir().unwrap();
    let options = ProceduralOptions {
        width: 64,
        height: 48,
        views: 4,
        samples: 16,
        points: 200,
        motion: Some(Motion {
            readout: Readout::TopToBottom,
            turn: 6.0,
            shift: 0.2,
        }),
        ..ProceduralOptions::default()
    };
    write_dataset(folder.path(), &options, &|_, _| {}).unwrap();
    let dataset = open(folder.path());
    assert_eq!(dataset.format, Format::Transforms);
    assert!(dataset.points.positions.len() > 100 && !dataset.points.random);
    let world = World::new();
    for view in &load_all(&dataset) {
        let camera = &view.camera;
        assert!(camera.shutter.is_some());
        let off = |camera_of: &dyn Fn([f64; 2]) -> Camera| -> f64 {
            let mut sum = 0.0;
            for (i, rgb) in view.photo.rgb.chunks_exact(3).enumerate() {
                let pixel = [(i % 64) as f64 + 0.5, (i / 64) as f64 + 0.5];
                let camera = camera_of(pixel);
                let local = camera.direction(pixel).unwrap();
                let ray =
                    std::array::from_fn(|k| (0..3).map(|j| camera.rotation[j][k] * local[j]).sum());
                let seen = world.look(camera.position(), ray).colour;
                for (byte, light) in rgb.iter().zip(seen) {
                    sum += (f64::from(*byte) / 255.0 - encode_srgb(light.clamp(0.0, 1.0))).powi(2);
                }
            }
            sum / (64.0 * 48.0 * 3.0)
        };
        let by_row = off(&|pixel| camera.at_pixel(pixel));
        let by_middle = off(&|_| camera.still());
        assert!(by_middle > 2.5 * by_row, "{by_row} {by_middle}");
    }
}
