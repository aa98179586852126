//! Bundler: cameras against the manual's own formula, and files that are wrong.

use crate::dataset_support::{
    IN_VIEW, assert_projects, open, open_error, pattern, plus, rotation, save, times,
};
use splatcore_core::Lens;
use splatcore_data::dataset::{Dataset, Format, OpenOptions, bundler};
use std::path::Path;

const FOCAL: f64 = 57.3;
const K: [f64; 2] = [-0.08, 0.013];
const T: [f64; 3] = [0.3, -0.4, 0.7];

fn world_to_camera() -> [[f64; 3]; 3] {
    rotation([0.2, 0.9, -0.4], 0.7)
}

fn camera_lines(focal: f64) -> String {
    let rows: String = world_to_camera()
        .iter()
        .map(|row| format!("{} {} {}\n", row[0], row[1], row[2]))
        .collect();
    format!(
        "{focal} {} {}\n{rows}{} {} {}\n",
        K[0], K[1], T[0], T[1], T[2]
    )
}

/// World points and where Bundler's manual says that a 64x48 photo shows them: P = R X + t, p =
/// -P / P.z, p' = f r(p) p, from the centre, x to the right and y up.
fn seen() -> Vec<([f64; 3], [f64; 2])> {
    let r = world_to_camera();
    let back = |v: [f64; 3]| {
        let v = plus(v, T.map(|t| -t));
        let columns: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        times(columns, v)
    };
    let pair = |[right, down, forward]: [f64; 3]| {
        let world = back([right, -down, -forward]);
        let camera = plus(times(r, world), T);
        let p = [-camera[0] / camera[2], -camera[1] / camera[2]];
        let r2 = p[0] * p[0] + p[1] * p[1];
        let radial = 1.0 + K[0] * r2 + K[1] * r2 * r2;
        let pixel = p.map(|v| FOCAL * radial * v);
        (world, [32.0 + pixel[0], 24.0 - pixel[1]])
    };
    IN_VIEW.map(pair).to_vec()
}

pub fn bundle() -> String {
    let points = "0.5 1 -2\n255 0 7\n2 0 17 1.5 -2.5 1 18 0 0\n1 2 3\n9 8 7\n0\n";
    format!(
        "# Bundle file v0.3\n3 2\n{}{}{points}",
        camera_lines(FOCAL),
        camera_lines(0.0).repeat(2)
    )
}

#[test]
fn a_bundles_camera_sees_points_where_its_formula_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("images/a b.png"));
    save(pattern(64, 48), &root.join("images/other.png"));
    std::fs::write(root.join("bundle.out"), bundle()).unwrap();
    std::fs::write(
        root.join("list.txt"),
        "images/a b.png 0 57\nx.png\nother.png\n",
    )
    .unwrap();
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Bundler);
    assert_eq!(dataset.entries.len(), 1);
    assert_eq!(dataset.entries[0].name, "a b.png");
    assert!(
        dataset.missing.is_empty(),
        "a photo without a pose is not missed"
    );
    assert_contains!(dataset.warnings[0], "2 of 3 photos have no pose");
    let camera = &dataset.entries[0].camera;
    assert!(matches!(camera.lens, Lens::OpenCv { .. }));
    assert_projects(camera, seen());
    assert_eq!(
        dataset.points.positions,
        [[0.5, 1.0, -2.0], [1.0, 2.0, 3.0]]
    );
    assert_eq!(dataset.points.colours, [[255, 0, 7], [9, 8, 7]]);
    // The file can be given too, and smaller copies keep the focal length of the posed photos.
    save(pattern(32, 24), &root.join("images_2/a b.png"));
    let options = OpenOptions {
        images: Some("images_2".into()),
        ..OpenOptions::default()
    };
    let dataset = Dataset::open(&root.join("bundle.out"), &options).unwrap();
    assert_eq!(dataset.entries[0].camera, *camera);
    let views = crate::dataset_support::load_all(&dataset);
    assert_eq!(views[0].camera.width, 32);
}

/// Bundler's own layout, COLMAP's names, and those of PMVS.
#[test]
fn lists_are_found_by_the_names_that_programs_give_them() {
    for (out, list) in [
        ("bundle/bundle.out", "list.txt"),
        ("model.bundle.out", "model.list.txt"),
        ("bundle.rd.out", "list.rd.txt"),
        ("scan.out", "scan.lst"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        save(pattern(64, 48), &root.join("a.png"));
        std::fs::create_dir(root.join("bundle")).unwrap();
        std::fs::write(root.join(out), bundle()).unwrap();
        let error = open_error(root);
        assert_contains!(error, "no list of photos");
        std::fs::write(root.join(list), "a.png\nb.png\nc.png\n").unwrap();
        assert_eq!(open(root).entries.len(), 1, "{out}");
        let file = Dataset::open(&root.join(out), &OpenOptions::default()).unwrap();
        assert_eq!(file.entries.len(), 1, "{out}");
        std::fs::write(root.join(list), "a.png\n").unwrap();
        let error = open_error(root);
        assert_contains!(error, "lists 1 photos", "3 cameras");
    }
}

#[test]
fn what_is_wrong_with_a_bundle_is_named() {
    let says = |text: &str, parts: &[&str]| {
        let error = bundler::parse(text.as_bytes(), Path::new("bundle.out"));
        let error = error.unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(!error.contains('\n'), "{error}");
    };
    says("", &["first line"]);
    says("# Bundle file v0.4\n1 0\n", &[r#"version "0.4""#, "line 1"]);
    says(
        "# Bundle file v0.3\n99999999 0\n",
        &["99999999 cameras", "line 2"],
    );
    says(
        &format!("# Bundle file v0.3\n{} {}\n", usize::MAX, usize::MAX),
        &["more than the file has room for"],
    );
    says("# Bundle file v0.3\n-1 0\n", &[r#""-1", not a count"#]);
    says(
        &bundle().replace("57.3", "5x"),
        &[r#""5x", not a number"#, "line 3"],
    );
    // A point that claims more views than there are.
    says(
        &bundle().replace("\n2 0 17", "\n99999999 0 17"),
        &["the file ends"],
    );
    let whole = bundle();
    // The last word is the last point's number of views.
    for cut in 0..whole.trim_end().len() {
        assert!(
            bundler::parse(&whole.as_bytes()[..cut], Path::new("b")).is_err(),
            "{cut}"
        );
    }
    let nan = whole.replace("57.3", "NaN");
    let camera = bundler::parse(nan.as_bytes(), Path::new("b"))
        .unwrap()
        .cameras
        .remove(0);
    assert!(
        camera.unwrap().focal.is_nan(),
        "left out when the dataset is opened"
    );
}
