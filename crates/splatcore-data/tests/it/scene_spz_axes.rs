//! The axes of SPZ files.

use crate::scene_support::Spz;
use splatcore_data::scene::spz::{self, SpzAxes};
use splatcore_data::scene::{ReadOptions, SceneFile, parse_with};
use std::path::Path;

/// A file that names the axes of a number.
fn naming(version: u32, number: u32) -> Spz {
    let mut file = Spz::random(version, 20, 4, 3);
    file.flags = 2;
    let words = [0xadbe_0003, 4, number].map(u32::to_le_bytes);
    file.extensions = words.concat();
    file
}

fn read(file: &Spz, axes: SpzAxes) -> SceneFile {
    spz::parse_with_axes(&file.file(), Path::new("test.spz"), axes).unwrap()
}

#[test]
fn named_axes_are_honoured_in_every_version() {
    for version in [2, 3, 4] {
        let unnamed = read(&Spz::random(version, 20, 4, 3), SpzAxes::Auto);
        let rub = read(&naming(version, 4), SpzAxes::Auto);
        assert_eq!(rub.gaussians, unnamed.gaussians);
        assert!(rub.notes.is_empty() && unnamed.notes.len() == 1);
        let rdf = read(&naming(version, 6), SpzAxes::Auto);
        assert!(rdf.notes.is_empty());
        for (a, b) in rdf.gaussians.means.iter().zip(&rub.gaussians.means) {
            assert_eq!(*a, [b[0], -b[1], -b[2]]);
        }
        for (a, b) in rdf.gaussians.rotations.iter().zip(&rub.gaussians.rotations) {
            assert_eq!(*a, [b[0], b[1], -b[2], -b[3]]);
        }
        // Of the functions to degree 4 those odd in (y, z).
        let odd = [1, 2, 4, 7, 9, 11, 12, 14, 16, 18, 21, 23];
        for (i, (a, b)) in rdf.gaussians.sh.iter().zip(&rub.gaussians.sh).enumerate() {
            let sign = if odd.contains(&(i % 25)) { -1.0 } else { 1.0 };
            assert_eq!(*a, b.map(|v| sign * v), "coefficient {}", i % 25);
        }
        // x right, y front, z up.
        let rfu = read(&naming(version, 12), SpzAxes::Auto);
        for (a, b) in rfu.gaussians.means.iter().zip(&rdf.gaussians.means) {
            assert_eq!(*a, [b[0], -b[2], b[1]]);
        }
    }
}

#[test]
fn asked_axes_win_and_are_noted() {
    let as_rdf = read(&Spz::random(3, 20, 4, 3), SpzAxes::Rdf);
    assert_eq!(
        as_rdf.gaussians,
        read(&naming(3, 6), SpzAxes::Auto).gaussians
    );
    assert!(as_rdf.notes.is_empty());
    let against = read(&naming(3, 6), SpzAxes::Rub);
    assert_eq!(
        against.gaussians,
        read(&naming(3, 4), SpzAxes::Auto).gaussians
    );
    assert_eq!(
        against.notes,
        [
            "the file names its axes (x right, y down, z front), but x right, y up, z back were \
             asked for"
        ]
    );
    assert!(read(&naming(3, 4), SpzAxes::Rub).notes.is_empty());
    // The same through the general reader.
    let options = ReadOptions {
        spz_axes: SpzAxes::Rdf,
        ..ReadOptions::default()
    };
    let file = Spz::random(4, 20, 3, 3).file();
    let scene = parse_with(&file, Path::new("test.spz"), &options).unwrap();
    let want = spz::parse_with_axes(&file, Path::new("test.spz"), SpzAxes::Rdf).unwrap();
    assert_eq!(scene.gaussians, want.gaussians);
}

#[test]
fn odd_records_name_no_axes() {
    for (number, says) in [
        (0, "does not name its axes"),
        (
            17,
            "unknown axes (number 17): x right, y up, z back assumed",
        ),
    ] {
        let scene = read(&naming(4, number), SpzAxes::Auto);
        assert_eq!(
            scene.gaussians,
            read(&naming(4, 4), SpzAxes::Auto).gaussians
        );
        assert!(scene.notes.len() == 1 && scene.notes[0].contains(says));
    }
    // A payload of another length is another record; one cut short is none.
    let mut file = naming(3, 6);
    file.extensions[4] = 3;
    assert!(read(&file, SpzAxes::Auto).notes[0].contains("0xadbe0003"));
    let mut file = naming(3, 6);
    file.extensions.pop();
    assert!(read(&file, SpzAxes::Auto).notes[0].contains("does not name"));
}
