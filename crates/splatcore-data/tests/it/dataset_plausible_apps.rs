//! The nonsense of `dataset_plausible.rs` in the files of Metashape, Polycam, RealityScan and
//! Record3D: it is said by field, and what cannot be a camera is not used.

use crate::dataset_metashape::document;
use crate::dataset_support::{open, pattern, save};
use splatcore_data::dataset::{Dataset, Format, OpenOptions};
use std::path::Path;

const PHOTOS: usize = 4;

/// What is written of the second photo, in place of what is sound.
#[derive(Clone)]
struct Camera {
    focal: &'static str,
    eye: [f64; 3],
    size: [&'static str; 2],
    last_row: &'static str,
}

/// Sound cameras that stand apart.
fn cameras() -> Vec<Camera> {
    let camera = |i: usize| Camera {
        focal: "50",
        eye: [i as f64, 0.5, 4.0],
        size: ["64", "48"],
        last_row: "0 0 0 1",
    };
    (0..PHOTOS).map(camera).collect()
}

/// Writes the cameras as a program does.
type Writer = fn(&Path, &[Camera]);

fn metashape(root: &Path, all: &[Camera]) {
    let (mut sensors, mut cameras) = (String::new(), String::new());
    for (i, camera) in all.iter().enumerate() {
        save(pattern(64, 48), &root.join(format!("{i}.png")));
        let ([width, height], focal) = (camera.size, camera.focal);
        sensors += &format!(
            "<sensor id=\"{i}\" label=\"a\" type=\"frame\"><resolution width=\"{width}\" \
             height=\"{height}\"/><calibration type=\"frame\" class=\"adjusted\"><resolution \
             width=\"{width}\" height=\"{height}\"/><f>{focal}</f></calibration></sensor>"
        );
        let ([x, y, z], last) = (camera.eye, camera.last_row);
        cameras += &format!(
            "<camera id=\"{i}\" sensor_id=\"{i}\" label=\"{i}\"><transform>1 0 0 {x} 0 1 0 {y} 0 \
             0 1 {z} {last}</transform></camera>"
        );
    }
    let text = document(&sensors, "", &cameras, "");
    std::fs::write(root.join("cameras.xml"), text).unwrap();
}

fn polycam(root: &Path, all: &[Camera]) {
    for (i, camera) in all.iter().enumerate() {
        let frames = root.join("keyframes");
        save(pattern(64, 48), &frames.join(format!("images/{i}.jpg")));
        std::fs::create_dir_all(frames.join("cameras")).unwrap();
        let ([x, y, z], [width, height], f) = (camera.eye, camera.size, camera.focal);
        let text = format!(
            "{{\"t_00\": 1, \"t_01\": 0, \"t_02\": 0, \"t_03\": {x}, \"t_10\": 0, \"t_11\": 1, \
             \"t_12\": 0, \"t_13\": {y}, \"t_20\": 0, \"t_21\": 0, \"t_22\": 1, \"t_23\": {z}, \
             \"fx\": {f}, \"fy\": 50, \"cx\": 32, \"cy\": 24, \"width\": {width}, \"height\": \
             {height}}}"
        );
        std::fs::write(frames.join(format!("cameras/{i}.json")), text).unwrap();
    }
}

/// The file has no sizes: they are the photos'.
fn realityscan(root: &Path, all: &[Camera]) {
    let mut text = "#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\n".to_owned();
    for (i, camera) in all.iter().enumerate() {
        save(pattern(64, 48), &root.join(format!("{i}.png")));
        let ([x, y, z], focal) = (camera.eye, camera.focal);
        text += &format!("{i}.png,{x},{y},{z},0,90,0,{focal},0,0,0,0,0,0,0,0\n");
    }
    std::fs::write(root.join("cameras.csv"), text).unwrap();
}

/// The file has one size for all frames.
fn record3d(root: &Path, all: &[Camera]) {
    let (mut lenses, mut poses) = (Vec::new(), Vec::new());
    for (i, camera) in all.iter().enumerate() {
        save(pattern(64, 48), &root.join(format!("rgb/{i}.jpg")));
        let [x, y, z] = camera.eye;
        lenses.push(format!("[{}, 50, 32, 24]", camera.focal));
        poses.push(format!("[0, 0, 0, 1, {x}, {y}, {z}]"));
    }
    let [width, height] = all[1].size;
    let text = format!(
        "{{\"w\": {width}, \"h\": {height}, \"fps\": 60, \"K\": [50, 0, 0, 0, 50, 0, 32, 24, 1], \
         \"perFrameIntrinsicCoeffs\": [{}], \"poses\": [{}]}}",
        lenses.join(", "),
        poses.join(", ")
    );
    std::fs::write(root.join("metadata.json"), text).unwrap();
}

const WRITERS: [(Format, Writer); 4] = [
    (Format::Metashape, metashape),
    (Format::Polycam, polycam),
    (Format::RealityScan, realityscan),
    (Format::Record3d, record3d),
];

/// What is said of cameras that were spoilt, in warnings or as the error, and how many photos are
/// left.
fn said(writer: Writer, spoil: impl Fn(&mut [Camera])) -> (String, usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut all = cameras();
    spoil(&mut all);
    writer(folder.path(), &all);
    match Dataset::open(folder.path(), &OpenOptions::default()) {
        Ok(dataset) => (dataset.warnings.join("; "), dataset.entries.len()),
        Err(error) => (error.to_string(), 0),
    }
}

#[test]
fn sound_files_of_apps_are_read_without_a_doubt() {
    for (format, writer) in WRITERS {
        let folder = tempfile::tempdir().unwrap();
        writer(folder.path(), &cameras());
        let dataset = open(folder.path());
        assert_eq!((dataset.format, dataset.entries.len()), (format, PHOTOS));
        assert_eq!(dataset.findings, [], "{format:?}");
    }
}

#[test]
fn equal_poses_of_apps_are_said() {
    for (format, writer) in WRITERS {
        let (said, left) = said(writer, |all| {
            all.iter_mut()
                .for_each(|camera| camera.eye = [1.0, 2.0, 3.0]);
        });
        assert_eq!(left, PHOTOS);
        let wanted = "the pose is the same for all 4 photos";
        assert!(said.contains(wanted), "{format:?}: {said}");
    }
}

#[test]
fn places_and_focal_lengths_of_apps_that_cannot_be_are_left_out() {
    for (format, writer) in WRITERS {
        let far = said(writer, |all| all[1].eye = [1e30, 1e30, 1e30]);
        assert!(far.0.contains("its position is ("), "{format:?}: {}", far.0);
        assert_eq!(far.1, PHOTOS - 1, "{format:?}");
        for focal in ["1e-9", "1e12"] {
            let (said, left) = said(writer, |all| all[1].focal = focal);
            assert!(
                said.contains("focal length fx is "),
                "{format:?} {focal}: {said}"
            );
            assert_eq!(left, PHOTOS - 1, "{format:?} {focal}");
        }
    }
}

#[test]
fn sizes_of_apps_that_cannot_be_are_not_used() {
    // Those of RealityScan are the photos' own.
    for (format, writer) in [WRITERS[0], WRITERS[1], WRITERS[3]] {
        for size in [
            ["0", "48"],
            ["64", "0"],
            ["4294967295", "48"],
            ["64", "4294967295"],
        ] {
            let (said, left) = said(writer, |all| all[1].size = size);
            assert!(left < PHOTOS, "{format:?} {size:?}: {said}");
            let words = ["size is ", "width is ", "height is "];
            let named = words.iter().any(|word| said.contains(word));
            assert!(named, "{format:?} {size:?}: {said}");
        }
    }
}

#[test]
fn a_last_row_of_metashape_that_is_not_0_0_0_1_is_refused() {
    for row in ["0 0 0 2", "1 2 3 1", "0 0 0 0", "0 0 0 nan"] {
        let (said, left) = said(metashape, |all| all[1].last_row = row);
        assert!(left < PHOTOS, "{row}: {said}");
        assert!(
            said.contains("last row") || said.contains("transform"),
            "{row}: {said}"
        );
    }
}
