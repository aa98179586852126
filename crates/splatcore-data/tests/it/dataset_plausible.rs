//! Nonsense that a file can hold is said by photo and field; what cannot be a camera is left out,
//! and the other photos are used.

use crate::dataset_support::{colmap_text, npy_file, open, open_error, pattern, ply, save, shared};
use splatcore_data::dataset::{Dataset, Severity};
use std::path::Path;

/// Number of the photos, and the one that is spoilt.
const PHOTOS: usize = 6;
const SPOILT: usize = 2;

/// What a frame of a `transforms.json` says.
#[derive(Clone)]
struct Frame {
    matrix: [[f64; 4]; 4],
    more: String,
}

/// Cameras on a circle that look at the origin.
fn frames() -> Vec<Frame> {
    let frame = |i: usize| {
        let (s, c) = (i as f64).sin_cos();
        Frame {
            matrix: [
                [c, 0.0, s, 4.0 * s],
                [0.0, 1.0, 0.0, 0.0],
                [-s, 0.0, c, 4.0 * c],
                [0.0, 0.0, 0.0, 1.0],
            ],
            more: String::new(),
        }
    };
    (0..PHOTOS).map(frame).collect()
}

fn name(i: usize) -> String {
    format!("{i}.png")
}

fn write(root: &Path, frames: &[Frame]) {
    let frames: Vec<String> = frames
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            save(pattern(64, 48), &root.join(name(i)));
            format!(
                r#"{{"file_path": "{}", "transform_matrix": {:?}{}}}"#,
                name(i),
                frame.matrix,
                frame.more
            )
        })
        .collect();
    let text = format!(
        r#"{{"fl_x": 50, "w": 64, "h": 48, "frames": [{}]}}"#,
        frames.join(",")
    );
    std::fs::write(root.join("transforms.json"), text).unwrap();
}

/// One finding, about this photo, with these words.
fn assert_said(dataset: &Dataset, photo: Option<&str>, severity: Severity, words: &[&str]) {
    let [finding] = &dataset.findings[..] else {
        panic!("{words:?}: {:?}", dataset.findings)
    };
    let line = finding.to_string();
    assert_eq!(
        (finding.photo.as_deref(), finding.severity),
        (photo, severity),
        "{line}"
    );
    assert!(words.iter().all(|word| line.contains(word)), "{line}");
    let said = dataset.warnings.iter().filter(|said| said.contains(&line));
    assert_eq!(said.count(), 1, "{:?}", dataset.warnings);
}

/// The spoilt photo of six is left out, with these words; the other five are used.
fn assert_left_out(spoil: impl Fn(&mut Frame), words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let mut all = frames();
    spoil(&mut all[SPOILT]);
    write(folder.path(), &all);
    let dataset = open(folder.path());
    let photo = name(SPOILT);
    assert_said(&dataset, Some(&photo), Severity::Refused, words);
    assert!(dataset.warnings[0].starts_with(&format!("{photo}: left out, ")));
    assert_eq!(dataset.entries.len(), PHOTOS - 1);
    assert!(dataset.entries.iter().all(|entry| entry.name != photo));
    // If no other is left, the error says the same.
    all.iter_mut()
        .for_each(|frame| *frame = frames()[0].clone());
    all.truncate(1);
    spoil(&mut all[0]);
    write(folder.path(), &all);
    let error = open_error(folder.path());
    assert!(
        words[..1].iter().all(|word| error.contains(word)),
        "{error}"
    );
}

#[test]
fn sound_cameras_are_not_doubted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &frames());
    let dataset = open(folder.path());
    assert_eq!(dataset.findings, []);
    assert!(dataset.untrainable().is_none());
}

#[test]
fn what_cannot_be_a_camera_is_left_out_by_photo_and_field() {
    let more = |text: &'static str| move |frame: &mut Frame| frame.more = format!(", {text}");
    let cases: [(&str, &[&str]); 12] = [
        (
            r#""fl_x": 1e-9"#,
            &["focal length fx is 1e-9 px", "180 degrees", "179"],
        ),
        (r#""fl_x": 1e12"#, &["focal length fx is 1e12 px", "0.001"]),
        (
            r#""fl_x": 50, "fl_y": 1e12"#,
            &["focal length fy is 1e12 px"],
        ),
        (r#""fl_x": 0"#, &["focal length fx is 0 px", "more than 0"]),
        (
            r#""fl_x": -50"#,
            &["focal length fx is -50 px", "more than 0"],
        ),
        (
            r#""k1": 1e6"#,
            &["lens coefficient k1 is 1000000", "times its distance"],
        ),
        (
            r#""k1": -1e6"#,
            &["lens coefficient k1 is -1000000", "4 % of the photo"],
        ),
        (r#""k2": 1e30"#, &["lens coefficient k2 is 1e30"]),
        (r#""w": 0"#, &["its size is 0x48 pixels"]),
        (
            r#""h": 4294967295"#,
            &["its size is 64x4294967295 pixels", "131072"],
        ),
        (
            r#""cx": 1e30"#,
            &["principal point cx is 1e30 px", "0 to 64"],
        ),
        (
            r#""cy": -1e9"#,
            &["principal point cy is -1e9 px", "0 to 48"],
        ),
    ];
    for (text, words) in cases {
        assert_left_out(more(text), words);
    }
}

#[test]
fn what_cannot_be_a_pose_is_left_out_by_photo_and_field() {
    let row = |row: [f64; 4]| move |frame: &mut Frame| frame.matrix[3] = row;
    let last = "the last row of transform_matrix";
    assert_left_out(row([0.0, 0.0, 0.0, 2.0]), &[last, "is 0 0 0 2"]);
    assert_left_out(
        row([1.0, 2.0, 3.0, 1.0]),
        &[last, "is 1 2 3 1", "transposed"],
    );
    assert_left_out(row([0.0; 4]), &[last, "is 0 0 0 0"]);
    assert_left_out(
        |frame| (0..3).for_each(|i| frame.matrix[i][3] = 1e30),
        &["its position is (1e30, 1e30, 1e30)", "1e12"],
    );
    assert_left_out(
        |frame| (0..3).for_each(|i| frame.matrix[i][0] *= -1.0),
        &["its rotation is a mirror image"],
    );
    assert_left_out(
        |frame| (0..3).for_each(|i| frame.matrix[i][0] *= 2.0),
        &["its rotation is not orthonormal"],
    );
    assert_left_out(
        |frame| (0..3).for_each(|i| frame.matrix[i][0] = 0.0),
        &["transform_matrix is degenerate"],
    );
}

#[test]
fn a_photo_far_from_all_others_is_left_out_or_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let photo = name(SPOILT);
    for (away, severity) in [(1e9, Severity::Refused), (1e3, Severity::Doubtful)] {
        let mut all = frames();
        all[SPOILT].matrix[0][3] = away;
        write(folder.path(), &all);
        let dataset = open(folder.path());
        assert_said(
            &dataset,
            Some(&photo),
            severity,
            &["its position", "times as far"],
        );
    }
}

#[test]
fn poses_that_are_all_equal_are_named_and_not_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &vec![frames().remove(0); PHOTOS]);
    let dataset = open(folder.path());
    let words = [
        "the pose is the same for all 6 photos",
        "parallax",
        "training cannot work",
    ];
    assert_said(&dataset, None, Severity::Refused, &words);
    assert_eq!(dataset.entries.len(), PHOTOS);
    assert_eq!(dataset.untrainable(), dataset.findings.first());

    // Turned on one spot.
    let mut all = frames();
    for frame in &mut all {
        (0..3).for_each(|i| frame.matrix[i][3] = 1.0);
    }
    write(folder.path(), &all);
    let dataset = open(folder.path());
    let words = ["the position is the same for all 6 photos", "parallax"];
    assert_said(&dataset, None, Severity::Doubtful, &words);
    assert!(dataset.untrainable().is_none());
}

#[test]
fn poses_that_many_photos_share_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = frames();
    for i in [0, 3, 5] {
        all[i] = frames().remove(0);
    }
    write(folder.path(), &all);
    let words = ["one and the same for 3 of 6 photos (0.png, 3.png, ...)"];
    assert_said(&open(folder.path()), None, Severity::Doubtful, &words);
}

#[test]
fn unlikely_cameras_are_used_and_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str]); 4] = [
        (r#""fl_x": 5"#, &["focal length fx is 5 px", "162"]),
        (
            r#""fl_x": 50, "fl_y": 500"#,
            &["ratio of the focal lengths", "0.1"],
        ),
        (r#""cx": 200"#, &["principal point cx is 200 px"]),
        (r#""k1": 60"#, &["lens coefficient k1 is 60"]),
    ];
    for (text, words) in cases {
        let mut all = frames();
        all[SPOILT].more = format!(", {text}");
        write(folder.path(), &all);
        let dataset = open(folder.path());
        assert_said(&dataset, Some(&name(SPOILT)), Severity::Doubtful, words);
        assert_eq!(dataset.entries.len(), PHOTOS);
    }
}

#[test]
fn one_line_says_what_is_wrong_with_many_photos() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = frames();
    for frame in &mut all[..4] {
        frame.more = r#", "fl_x": 1e12"#.into();
    }
    write(folder.path(), &all);
    let dataset = open(folder.path());
    assert_eq!((dataset.findings.len(), dataset.warnings.len()), (4, 1));
    assert!(
        dataset.warnings[0].starts_with("4 photos (0.png, 1.png, 2.png, ...): left out, focal"),
        "{:?}",
        dataset.warnings
    );
}

#[test]
fn colmaps_nonsense_is_left_out_by_photo() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = ["a.png", "b.png", "c.png", "d.png"];
    names
        .iter()
        .for_each(|name| save(pattern(64, 48), &root.join("images").join(name)));
    let all: Vec<(u32, &str)> = names.iter().map(|&name| (1, name)).collect();
    let cases: [(&str, &[&str]); 5] = [
        ("2 PINHOLE 0 48 60 60 32 24", &["its size is 0x48 pixels"]),
        (
            "2 PINHOLE 64 4294967295 60 60 32 24",
            &["its size is 64x4294967295 pixels"],
        ),
        (
            "2 PINHOLE 64 48 1e30 60 32 24",
            &["focal length fx is 1e30 px"],
        ),
        (
            "2 SIMPLE_RADIAL 64 48 60 32 24 1e6",
            &["lens coefficient k1 is 1000000"],
        ),
        (
            "2 FOV 64 48 60 60 32 24 9",
            &["lens coefficient omega is 9"],
        ),
    ];
    for (camera, words) in cases {
        let mut images = all.clone();
        images[1].0 = 2;
        let cameras = format!("1 PINHOLE 64 48 60 60 32 24\n{camera}\n");
        colmap_text(root, &cameras, &images, "");
        assert_said(&open(root), Some("b.png"), Severity::Refused, words);
    }
    colmap_text(root, "1 PINHOLE 64 48 60 60 32 24\n", &all, "");
    let file = root.join("sparse/0/images.txt");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("2 1 0 0 0 1", "2 0 0 0 0 1")).unwrap();
    let words = ["its quaternion is [0, 0, 0, 0]", "not all 0"];
    assert_said(&open(root), Some("b.png"), Severity::Refused, &words);
}

#[test]
fn bundlers_focal_length_and_llffs_bounds_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = ["a.png", "b.png"];
    names
        .iter()
        .for_each(|name| save(pattern(64, 48), &root.join("images").join(name)));
    let camera = |focal: &str, x: f64| format!("{focal} 0 0\n1 0 0\n0 1 0\n0 0 1\n{x} 0 -4\n");
    let bundle = format!(
        "# Bundle file v0.3\n2 0\n{}{}",
        camera("50", 0.0),
        camera("1e30", 1.0)
    );
    std::fs::write(root.join("bundle.out"), bundle).unwrap();
    std::fs::write(root.join("list.txt"), "a.png\nb.png\n").unwrap();
    let words = ["focal length fx is 1e30 px", "0.001 to 179 degrees"];
    assert_said(&open(root), Some("b.png"), Severity::Refused, &words);
    std::fs::remove_file(root.join("bundle.out")).unwrap();

    let row = |x: f64, bounds: [f64; 2]| {
        let pose = [
            0., 1., 0., x, 48., -1., 0., 0., 0., 64., 0., 0., 1., 4., 50.,
        ];
        [&pose[..], &bounds].concat()
    };
    let rows = [row(0.0, [1.0, 9.0]), row(1.0, [f64::NAN, f64::NAN])].concat();
    let rows: Vec<u8> = rows.iter().flat_map(|v| v.to_le_bytes()).collect();
    let bytes = npy_file(1, "<f8", false, "(2, 17)", &rows);
    std::fs::write(root.join("poses_bounds.npy"), bytes).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.entries.len(), 2);
    let words = [
        "the pair of depth bounds is NaN and NaN",
        "0 < nearest < farthest",
    ];
    assert_said(&dataset, Some("b.png"), Severity::Doubtful, &words);
}

#[test]
fn points_that_no_camera_sees_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, &frames());
    let behind = [[0.0, 90.0, 0.0], [0.0, 91.0, 0.0]];
    std::fs::write(root.join("points.ply"), ply(&behind)).unwrap();
    let file = root.join("transforms.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen('{', r#"{"ply_file_path": "points.ply", "#, 1);
    std::fs::write(&file, text).unwrap();
    let words = [
        "the share of points in the view of a camera is 0 of 2",
        "the same coordinates",
    ];
    assert_said(&open(root), None, Severity::Doubtful, &words);
}

/// Every dataset that is at hand is one.
#[test]
fn real_datasets_are_not_doubted() {
    let names = ["bonsai", "fox", "sceaux", "fox_colmap", "chair"];
    let found: Vec<_> = names
        .iter()
        .filter_map(|name| shared(&format!("posed/{name}")))
        .collect();
    for root in found {
        assert_eq!(open(&root).findings, [], "{}", root.display());
    }
}
