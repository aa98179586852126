//! LLFF: poses against its own axes, `.npy` files of every kind, and files that are wrong.

use crate::dataset_support::{
    IN_VIEW, assert_projects, npy_file, open, open_error, pattern, plus, rotation, save, times,
};
use splatcore_data::dataset::{Format, llff, npy};
use std::path::Path;

const FOCAL: f64 = 61.7;
const EYE: [f64; 3] = [0.4, -1.1, 2.3];

/// Right, down and forward axes of a camera in the world.
fn axes() -> [[f64; 3]; 3] {
    rotation([0.3, -0.2, 0.8], 1.1)
}

/// The 17 numbers of a camera: columns down, right, backward, position, (height, width, focal).
fn row(bounds: [f64; 2]) -> Vec<f64> {
    let [right, down, forward] = axes();
    let size = [48.0, 64.0, FOCAL];
    let mut row: Vec<f64> = (0..3)
        .flat_map(|i| [down[i], right[i], -forward[i], EYE[i], size[i]])
        .collect();
    row.extend(bounds);
    row
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn a_pose_of_llff_sees_points_where_its_axes_say() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let rows = [row([1.5, 20.0]), row([2.0, 30.0])].concat();
    let file = npy_file(1, "<f8", false, "(2, 17)", &bytes(&rows));
    std::fs::write(root.join("poses_bounds.npy"), &file).unwrap();
    let error = open_error(root);
    assert_contains!(error, "2 poses", "holds 0 photos");
    // Sorted bytewise, as LLFF sorts; and of half the size.
    save(pattern(32, 24), &root.join("images_2/b.png"));
    save(pattern(32, 24), &root.join("images_2/Z.png"));
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Llff);
    assert_eq!(dataset.entries[0].name, "Z.png");
    let [right, down, forward] = axes();
    let world = |p: [f64; 3]| {
        let along = |axis: [f64; 3], by: f64| axis.map(|v| v * by);
        let sum = plus(along(right, p[0]), along(down, p[1]));
        plus(plus(sum, along(forward, p[2])), EYE)
    };
    let pixel = |p: [f64; 3]| [32.0 + FOCAL * p[0] / p[2], 24.0 + FOCAL * p[1] / p[2]];
    assert_projects(
        &dataset.entries[0].camera,
        IN_VIEW.map(|p| (world(p), pixel(p))),
    );
    // The views are parallel, so random points lie along rays, between the bounds.
    assert!(dataset.points.random);
    let depths = dataset.points.positions.iter().map(|p| {
        let p = p.map(f64::from);
        times(axes(), plus(p, EYE.map(|v| -v)))[2]
    });
    let (low, high) = depths.fold((f64::MAX, 0.0f64), |(l, h), d| (l.min(d), h.max(d)));
    assert!(
        (1.499..2.0).contains(&low) && (28.0..30.01).contains(&high),
        "{low} {high}"
    );
    let views = crate::dataset_support::load_all(&dataset);
    assert_eq!(
        (views[0].camera.width, views[0].camera.fx),
        (32, FOCAL / 2.0)
    );
}

#[test]
fn every_kind_of_npy_file_gives_the_same_matrix() {
    let values: Vec<f64> = (0..6).map(|v| v as f64 * 0.5 - 1.0).collect();
    let by_columns: Vec<f64> = [0, 3, 1, 4, 2, 5].map(|i| values[i]).to_vec();
    let f4 = |values: &[f64]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|&v| (v as f32).to_be_bytes())
            .collect()
    };
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    for file in [
        npy_file(1, "<f8", false, "(2, 3)", &bytes(&values)),
        npy_file(2, "<f8", true, "(2, 3)", &bytes(&by_columns)),
        npy_file(3, ">f8", false, "(2, 3)", &big),
        npy_file(1, ">f4", false, "(2,3,)", &f4(&values)),
    ] {
        let read = npy::parse(&file, Path::new("a.npy")).unwrap();
        assert_eq!((read.rows, read.columns), (2, 3));
        assert_eq!(read.values, values);
    }
}

#[test]
fn what_is_wrong_with_a_npy_file_is_named() {
    let says = |file: &[u8], part: &str| {
        let error = llff::parse(file, Path::new("poses_bounds.npy"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    let body = bytes(&row([1.0, 2.0]));
    let good = npy_file(1, "<f8", false, "(1, 17)", &body);
    assert_eq!(llff::parse(&good, Path::new("a")).unwrap().len(), 1);
    for cut in 0..good.len() {
        assert!(llff::parse(&good[..cut], Path::new("a")).is_err(), "{cut}");
    }
    says(b"PK", "not a .npy file");
    says(&npy_file(9, "<f8", false, "(1, 17)", &body), "version 9");
    says(
        &npy_file(1, "|O", false, "(1, 17)", &body),
        r#"type is "|O""#,
    );
    says(
        &npy_file(1, "<i8", false, "(1, 17)", &body),
        r#"type is "<i8""#,
    );
    says(&npy_file(1, "<f8", false, "(17,)", &body), "two dimensions");
    says(
        &npy_file(1, "<f8", false, "(2, 1, 17)", &body),
        "two dimensions",
    );
    says(
        &npy_file(1, "<f8", false, "(-1, 17)", &body),
        "two dimensions",
    );
    says(
        &npy_file(1, "<f8", false, "(9999999999999, 17)", &body),
        "136 bytes follow",
    );
    says(
        &npy_file(1, "<f8", true, "(18446744073709551615, 0)", &[]),
        "0 bytes follow",
    );
    says(
        &npy_file(1, "<f8", false, "(1, 17)", &[&body[..], b"x"].concat()),
        "137 bytes follow",
    );
    says(
        &npy_file(1, "<f8", false, "(1, 5)", &bytes(&[0.0; 5])),
        "5 numbers, and not 17",
    );
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    says(&long, "header of 4294967295 bytes");
    let twice = "{'descr': '<f8', 'descr': '<f8', }";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((twice.len() as u16).to_le_bytes());
    file.extend(twice.as_bytes());
    says(&file, "'descr' twice");
}

#[test]
fn poses_that_are_none_are_left_out() {
    let mut rows = [
        row([1.0, 2.0]),
        row([1.0, f64::NAN]),
        row([1.0, 2.0]),
        row([1.0, 2.0]),
    ];
    rows[0][3] = f64::NAN;
    rows[2][4] = 1e12;
    rows[3][9] = f64::INFINITY;
    let file = npy_file(1, "<f8", false, "(4, 17)", &bytes(&rows.concat()));
    let photos = llff::parse(&file, Path::new("a")).unwrap();
    let usable: Vec<bool> = photos.iter().map(|photo| photo.camera.is_ok()).collect();
    assert_eq!(usable, [false, true, false, false]);
}
