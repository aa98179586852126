//! Files that are no scenes, are broken or cannot be written: what the user is told.

use crate::scene_support::{edited, error_of, names, plain_ply, random};
use splatcore_data::scene::{self, ply, write_ply};
use std::path::Path;

fn error(bytes: &[u8]) -> String {
    error_of("test.ply", bytes)
}

#[test]
fn broken_files_get_a_line_that_says_what_and_where() {
    let good = plain_ply(&random(10, 1, 1));
    let stride = 4 * names(1).len();
    let cut = error(&good[..good.len() - stride - 1]);
    assert_contains!(cut, format!("byte {}", good.len() - stride - 1));
    assert_contains!(cut, "declares 10", "ends after 8");
    for count in ["11", "4000000000", "18446744073709551615"] {
        let message = error(&edited(&good, "vertex 10", &format!("vertex {count}")));
        assert_contains!(message, format!("declares {count} rows"));
    }
    for (from, to, says) in [
        (
            "element vertex 10",
            "element vertex -1",
            "line 3: element \"vertex\": \"-1\" is no count",
        ),
        (
            "element vertex 10",
            "element vertex",
            "line 3: an element needs a name and a count",
        ),
        (
            "element vertex 10",
            "element points 10",
            "no element \"vertex\"",
        ),
        (
            "element vertex 10\n",
            "",
            "line 3: a property before any element",
        ),
        (
            "property float x",
            "property half x",
            "line 4: unknown property type \"half\"",
        ),
        (
            "property float x",
            "property list float int x",
            "line 4: the count of a list must have an integer type",
        ),
        (
            "property float x",
            "property float",
            "line 4: a property needs a type and a name",
        ),
        ("property float x\n", "", "lacks x;"),
        (
            "property float y",
            "property float x",
            "property \"x\" is declared twice",
        ),
        ("property float f_rest_8\n", "", "8 properties f_rest_*"),
        (
            "property float f_rest_8\n",
            "property float f_rest_9\n",
            "f_rest_8 is missing",
        ),
        (
            "property float x",
            "properly float x",
            "line 4: unknown header keyword \"properly\"",
        ),
        (
            "binary_little_endian",
            "binary_middle_endian",
            "line 2: unknown PLY format \"binary_middle_endian\"",
        ),
        ("format binary_little_endian 1.0\n", "", "no format line"),
        (
            "end_header",
            "end_of_header",
            "unknown header keyword \"end_of_header\"",
        ),
        ("f_dc_0", "red", "lacks f_dc_0;"),
    ] {
        let message = error(&edited(&good, from, to));
        assert!(message.contains(says), "{from} -> {to}: {message}");
    }
    let header = &good[..good.windows(10).position(|w| w == b"end_header").unwrap()];
    assert!(error(header).contains("no end_header line"));

    let cloud = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n\
        property float z\nproperty uchar red\nelement face 0\n\
        property list uchar int vertex_indices\nend_header\n0 0 0 0\n";
    let message = error(cloud.as_bytes());
    assert_contains!(message, "point cloud or mesh", "f_dc_0");
}

#[test]
fn broken_ascii_gets_its_line() {
    let mut file = "ply\nformat ascii 1.0\nelement vertex 2\n".to_string();
    for name in names(0) {
        file += &format!("property float {name}\n");
    }
    file += "end_header\n";
    let lines = file.lines().count();
    let row = "1 ".repeat(14);
    let good = format!("{file}{row}\n{row}\n");
    assert_eq!(
        ply::parse(good.as_bytes(), Path::new("test.ply"))
            .unwrap()
            .gaussians
            .len(),
        2
    );
    // One value missing in the second row: its line, and which property.
    let short = format!("{file}{row}\n\n{}\n ", "1.0 ".repeat(13));
    let message = error(short.as_bytes());
    assert_contains!(message, format!("line {}", lines + 3), "rot_3");
    let word = format!("{file}1 2 three {row}\n{row}\n");
    let message = error(word.as_bytes());
    assert_contains!(
        message,
        format!(
            "line {}: \"three\" is no number (property \"z\")",
            lines + 1
        )
    );
    let missing = format!("{file}{}\n", "1.000000 ".repeat(14));
    assert!(error(missing.as_bytes()).contains("ends after row 1 of 2"));
    let many = good.replace("vertex 2", "vertex 2000000000");
    assert!(error(many.as_bytes()).contains("declares 2000000000 rows"));
}

#[test]
fn other_files_are_told_by_content() {
    assert!(error(b"").contains("is empty"));
    assert!(error(b"PK\x03\x04....").contains("zip archive"));
    assert!(error(b"\x00\x01hello, world").contains("starts with \"\\x00\\x01hello,\""));
    assert!(error(b"{\"asset\": 1}").contains("JSON"));
    let folder = tempfile::tempdir().unwrap();
    assert_contains!(
        scene::read(folder.path()).unwrap_err(),
        "is a folder, not a scene file; give a Gaussian .ply, .spz, .sog, .splat, .ksplat"
    );
    std::fs::write(folder.path().join("scene.ply"), b"").unwrap();
    let message = scene::read(folder.path()).unwrap_err().to_string();
    assert!(
        message.contains("give") && message.ends_with("scene.ply"),
        "{message}"
    );
    assert!(
        scene::read(&folder.path().join("scene.ply"))
            .unwrap_err()
            .to_string()
            .contains("is empty")
    );
    assert!(
        scene::read(&folder.path().join("none.ply"))
            .unwrap_err()
            .to_string()
            .contains("cannot be read")
    );
    // The extension does not matter.
    let misnamed = folder.path().join("scene.spz");
    std::fs::write(&misnamed, plain_ply(&random(3, 1, 1))).unwrap();
    assert_eq!(scene::read(&misnamed).unwrap().gaussians.len(), 3);
}

#[test]
fn a_failed_write_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let g = random(1000, 3, 1);
    // A file where a folder should be; a folder where the file should be.
    std::fs::write(folder.path().join("file"), b"x").unwrap();
    std::fs::create_dir(folder.path().join("taken.ply")).unwrap();
    for name in ["file/scene.ply", "taken.ply"] {
        let message = write_ply(&folder.path().join(name), &g, false)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("cannot be written") && !message.contains('\n'),
            "{message}"
        );
    }
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    // No file can be made under /proc, whoever asks.
    if cfg!(target_os = "linux") {
        let message = write_ply(Path::new("/proc/none/scene.ply"), &g, false)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("/proc/none/scene.ply: cannot be written"),
            "{message}"
        );
    }
}
