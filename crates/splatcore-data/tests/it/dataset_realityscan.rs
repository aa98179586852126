//! RealityScan's CSV: cameras against the documented formulas, and files that are wrong.

use crate::dataset_support::{
    IN_VIEW, assert_projects, open, open_error, pattern, plus, ply, rotation, save, times,
};
use splatcore_data::dataset::{Format, realityscan};
use std::path::Path;

const HEADER: &str = "#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2";
const NEW_HEADER: &str = "#name,x,y,alt,yaw,pitch,roll,f_35mm,px_norm,py_norm,k1,k2,k3,k4,t1,t2";
const EYE: [f64; 3] = [12.5, -3.25, 1.75];
const ANGLES: [f64; 3] = [152.0, 81.0, -13.0];
const F: f64 = 24.6;
const C: [f64; 2] = [0.0113, -0.0071];
const K: [f64; 4] = [-0.05, 0.013, -0.002, 0.0004];
const T: [f64; 2] = [0.0012, -0.0021];

pub fn row(name: &str) -> String {
    let numbers: Vec<String> = [&EYE[..], &ANGLES, &[F], &C, &K, &T]
        .concat()
        .iter()
        .map(f64::to_string)
        .collect();
    format!("{name},{}\r\n", numbers.join(","))
}

/// A point of the camera (right, down, forward) in the world: the camera's axes are turned about
/// its own y by roll, then about x by pitch, then about z by minus heading.
fn world([right, down, forward]: [f64; 3]) -> [f64; 3] {
    let [heading, pitch, roll] = ANGLES.map(f64::to_radians);
    let rolled = times(rotation([0.0, 1.0, 0.0], roll), [right, -down, -forward]);
    let pitched = times(rotation([1.0, 0.0, 0.0], pitch), rolled);
    plus(times(rotation([0.0, 0.0, 1.0], -heading), pitched), EYE)
}

/// Coordinates are relative to the longer side; the film is 36 mm wide.
fn pixel(p: [f64; 3], size: [f64; 2]) -> [f64; 2] {
    let (x, y) = (p[0] / p[2], p[1] / p[2]);
    let r2 = x * x + y * y;
    let radial = 1.0 + K[0] * r2 + K[1] * r2.powi(2) + K[2] * r2.powi(3) + K[3] * r2.powi(4);
    let u = x * radial + T[0] * (r2 + 2.0 * x * x) + 2.0 * T[1] * x * y;
    let v = y * radial + T[1] * (r2 + 2.0 * y * y) + 2.0 * T[0] * x * y;
    let longer = size[0].max(size[1]);
    [
        size[0] / 2.0 + longer * (F / 36.0 * u + C[0]),
        size[1] / 2.0 + longer * (F / 36.0 * v + C[1]),
    ]
}

#[test]
fn a_realityscan_camera_sees_points_where_its_formulas_say() {
    for header in [HEADER, NEW_HEADER] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        save(pattern(64, 48), &root.join("images/wide.png"));
        save(pattern(48, 64), &root.join("images/tall.png"));
        // A photo that was converted since, one that is gone, and a line of older exports.
        let text = format!(
            "#cameras 3\r\n{header}\r\n{}{}{}",
            row("wide.tif"),
            row("tall.png"),
            row("gone.png")
        );
        std::fs::write(root.join("anything.csv"), text).unwrap();
        std::fs::write(root.join("unrelated.csv"), "a,b\n1,2\n").unwrap();
        std::fs::write(root.join("p.ply"), ply(&IN_VIEW.map(world))).unwrap();
        let dataset = open(root);
        assert_eq!(dataset.format, Format::RealityScan);
        assert_eq!(dataset.missing, ["gone.png"]);
        // Both photos have one pose, and nothing else is odd.
        let [warning] = &dataset.warnings[..] else {
            panic!("{:?}", dataset.warnings)
        };
        assert!(warning.starts_with("the pose is the same for all 2 photos"));
        assert_eq!(dataset.points.positions.len(), 5);
        for (entry, size) in dataset.entries.iter().zip([[48.0, 64.0], [64.0, 48.0]]) {
            let [width, height] = size;
            let own = [entry.camera.width, entry.camera.height];
            assert_eq!(own.map(f64::from), [width, height], "tall, wide");
            assert_projects(&entry.camera, IN_VIEW.map(|p| (world(p), pixel(p, size))));
        }
        let file = root.join("anything.csv");
        let same = open(&file);
        assert_eq!(same.entries, dataset.entries);
    }
}

#[test]
fn points_of_another_coordinate_system_and_a_lens_that_may_be_division_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("a.png"));
    let line = "a.png,0,0,0,0,90,0,30,0,0,-0.1,0,0,0,0,0";
    std::fs::write(root.join("c.csv"), format!("{HEADER}\n{line}\n")).unwrap();
    std::fs::write(root.join("c.ply"), ply(&[[0.0, -5.0, 0.0]; 20])).unwrap();
    let said = open(root).warnings.join("; ");
    assert_contains!(said, "k1 alone", "Brown3", "none of the points");
    // A few fit.
    let mut points = [[0.0, -5.0, 0.0]; 20];
    points[3][1] = 5.0;
    std::fs::write(root.join("c.ply"), ply(&points)).unwrap();
    let dataset = open(root);
    assert_contains!(dataset.warnings[1], "only 5 % of the points");
    assert_eq!(dataset.points.positions.len(), 20);
    // Heading 0 and pitch 90 look to the north, which is +y.
    std::fs::write(root.join("c.ply"), ply(&[[0.0, 5.0, 0.0]; 20])).unwrap();
    let said = open(root).warnings.join("; ");
    assert!(!said.contains("of the points"), "{said}");
    // Several to choose from, or one that is no point cloud, are warnings too.
    std::fs::remove_file(root.join("c.ply")).unwrap();
    std::fs::write(root.join("d.ply"), "x").unwrap();
    let dataset = open(root);
    assert!(dataset.points.random);
    assert_contains!(dataset.warnings[1], "d.ply");
    std::fs::write(root.join("e.ply"), "x").unwrap();
    let said = open(root).warnings.join("; ");
    assert_contains!(said, "2 PLY files");
}

#[test]
fn what_is_wrong_with_a_csv_is_named() {
    let says = |text: &str, parts: &[&str]| {
        let error = realityscan::parse(text.as_bytes(), Path::new("c.csv"));
        let error = error.unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(!error.contains('\n'), "{error}");
    };
    says("", &["does not name the columns"]);
    says("#name,x,y,alt\na,1,2,3\n", &["does not name the columns"]);
    says(
        &format!("{HEADER}\na.png,1,2\n"),
        &["alt is missing", "line 2"],
    );
    says(
        &format!("{HEADER}\n{}", row("")),
        &["name is missing", "line 2"],
    );
    says(
        &format!("{HEADER}\n{}", row("a").replace("24.6", "wide")),
        &[r#"f is "wide""#, "line 2"],
    );
    // Optional columns may be left out; numbers as the program writes them.
    let text = "#name,x,y,alt,heading,pitch,roll,f\n\"a,b.png\",1e-003,2,3,4,5,6,7.5\n";
    let rows = realityscan::parse(text.as_bytes(), Path::new("c.csv")).unwrap();
    assert_eq!(
        (rows[0].name.as_str(), rows[0].position[0]),
        ("a,b.png", 0.001)
    );
    assert_eq!((rows[0].focal, rows[0].k), (7.5, [0.0; 4]));

    let folder = tempfile::tempdir().unwrap();
    save(pattern(64, 48), &folder.path().join("a.png"));
    let nan = row("a.png").replace("24.6", "nan");
    std::fs::write(folder.path().join("c.csv"), format!("{HEADER}\n{nan}")).unwrap();
    let error = open_error(folder.path());
    assert_contains!(error, "focal length fx is NaN");
}
