//! Files that are cut short while they are read.

use splatcore_core::Gaussians;
use splatcore_data::scene::edit::stats;
use splatcore_data::scene::rows::{PIECE, whole};
use splatcore_data::scene::{self, ReadOptions, WriteOptions, write_ply};
use std::fs::OpenOptions;
use std::path::Path;

fn cut(path: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

/// A scene that is open and then loses its second half, or all: whatever asks for its rows gets an
/// error about it, and what is written from it is not there.
#[test]
fn a_ply_that_is_cut_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.ply");
    let mut gaussians = Gaussians::zeros(2 * PIECE, 0);
    gaussians.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    for left in [0, 68 * PIECE as u64] {
        write_ply(&path, &gaussians, false).unwrap();
        let open = scene::open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(whole(&*open.rows).unwrap(), gaussians);
        cut(&path, left);
        let read = whole(&*open.rows).err().unwrap();
        let counted = stats(&*open.rows).err().unwrap();
        for error in [read, counted] {
            assert_contains!(error, "cut.ply: was cut short while it was read");
        }
        for name in [
            "a.ply",
            "a.spz",
            "a.sog",
            "a.splat",
            "a.glb",
            "a.usdz",
            "a.compressed.ply",
        ] {
            let out = folder.path().join(name);
            let options = WriteOptions::default();
            let written = scene::write(&out, &*open.rows, &options, &|_, _, _| ());
            let line = written.unwrap_err().to_string();
            assert!(
                line.contains("cut.ply: was cut short while it was read"),
                "{name}: {line}"
            );
            assert!(!out.exists(), "{name}");
        }
    }
}
