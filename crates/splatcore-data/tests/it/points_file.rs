//! Files of points that somebody names.

use splatcore_data::dataset::{is_points_file, read_points};
use std::path::{Path, PathBuf};

fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn ply(vertices: &str, count: usize, properties: &str) -> String {
    let mut header = format!("ply\nformat ascii 1.0\nelement vertex {count}\n");
    for property in properties.split(' ') {
        let kind = if property.len() > 1 && property != "scale_0" {
            "uchar"
        } else {
            "float"
        };
        header += &format!("property {kind} {property}\n");
    }
    header + "end_header\n" + vertices
}

#[test]
fn points_and_colours_are_those_of_the_file() {
    let text = ply("1 2 3 255 0 10\n4 5 6 1 2 3\n", 2, "x y z red green blue");
    let (_folder, path) = written("scan.ply", text.as_bytes());
    assert!(is_points_file(&path));
    let (points, notes) = read_points(&path, 10).unwrap();
    assert_eq!(points.positions, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(points.colours, [[255, 0, 10], [1, 2, 3]]);
    assert!(notes.is_empty() && !points.random);

    let obj = "# a mesh\nv 1 2 3 1.0 0 0.5\r\nvn 0 0 1\nv -1 0 2 0 0 1\nf 1 2 1\n";
    let (_folder, path) = written("mesh.OBJ", obj.as_bytes());
    assert!(is_points_file(&path));
    let (points, _) = read_points(&path, 10).unwrap();
    assert_eq!(points.positions, [[1.0, 2.0, 3.0], [-1.0, 0.0, 2.0]]);
    assert_eq!(points.colours, [[255, 0, 128], [0, 0, 255]]);
    // Colours that not all have are none; bytes are bytes.
    for (text, colour) in [
        ("v 0 0 0\nv 1 1 1 1 0 0\n", [128; 3]),
        ("v 0 0 0 200 0 0\nv 1 1 1 0 7 0\n", [200, 0, 0]),
    ] {
        let (_folder, path) = written("a.obj", text.as_bytes());
        assert_eq!(read_points(&path, 10).unwrap().0.colours[0], colour);
    }
}

#[test]
fn scenes_and_folders_are_no_points() {
    let scene = ply("0 0 0 1\n", 1, "x y z scale_0");
    let (folder, path) = written("scene.ply", scene.as_bytes());
    assert!(!is_points_file(&path) && !is_points_file(folder.path()));
    assert!(!is_points_file(Path::new("nowhere.obj")));
    let (_folder, path) = written("broken.ply", b"ply\nfor");
    assert!(!is_points_file(&path));
}

#[test]
fn many_points_are_thinned_evenly() {
    let rows: String = (0..1000).map(|i| format!("{i} 0 0\n")).collect();
    let (_folder, path) = written("many.ply", ply(&rows, 1000, "x y z").as_bytes());
    let (points, notes) = read_points(&path, 10).unwrap();
    let along: Vec<f32> = points.positions.iter().map(|p| p[0]).collect();
    assert_eq!(along, (0..10).map(|i| 100.0 * i as f32).collect::<Vec<_>>());
    assert_eq!(points.colours.len(), 10);
    assert!(
        notes[0].starts_with("990 of 1000 points are left out"),
        "{notes:?}"
    );
}

#[test]
fn what_cannot_be_started_from_is_told() {
    for (name, bytes, words) in [
        ("faces.ply", ply("", 0, "x y z"), "holds no points"),
        (
            "nan.ply",
            ply("nan 0 0\n1 inf 0\n", 2, "x y z"),
            "2 of 2 points dropped",
        ),
        ("empty.obj", String::new(), "holds no points"),
        ("short.obj", "v 1 2\n".into(), "line 1"),
        ("words.obj", "v a b c\n".into(), "not three numbers"),
        ("scan.las", "LASF".into(), "is of a kind that is not read"),
    ] {
        let (_folder, path) = written(name, bytes.as_bytes());
        assert!(is_points_file(&path), "{name}");
        let error = read_points(&path, 10).unwrap_err().to_string();
        assert!(
            error.contains(words) && error.contains("as PLY"),
            "{name}: {error}"
        );
    }
    let (_folder, path) = written("some.ply", ply("nan 0 0\n1 2 3\n", 2, "x y z").as_bytes());
    let (points, notes) = read_points(&path, 10).unwrap();
    assert_eq!(points.positions, [[1.0, 2.0, 3.0]]);
    assert!(notes[0].starts_with("1 of 2 points dropped"), "{notes:?}");
}
