//! What is told of a dataset before it is used.

use crate::dataset_support::{colmap_text, open, pattern, save};
use image::GrayImage;

const PINHOLE: &str = "1 PINHOLE 64 48 60 61 32 24\n";
const POINTS: &str = "1 0 0 1 9 8 7 0.1 1 1\n";

/// A mask of a photo that has no camera is in order; one of no photo is not.
#[test]
fn masks_of_no_photo_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.jpg")], POINTS);
    for name in ["a.jpg", "no-camera.jpg"] {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    let mask = |name: &str| save(GrayImage::new(64, 48), &root.join("masks").join(name));
    mask("a.png");
    mask("no-camera.png");
    mask("no-camera.jpg.png");
    let told = || {
        let info = open(root).info();
        let masks = info
            .warnings
            .into_iter()
            .filter(|line| line.contains("mask"));
        masks.collect::<Vec<_>>()
    };
    assert_eq!(told(), Vec::<String>::new());
    mask("mask_a.png");
    mask("a.jpg");
    let told = told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_contains!(
        told[0],
        "2 of the files there are the mask of no photo, such as 'a.jpg'"
    );
}

#[test]
fn the_size_of_the_files_is_told_beside_that_of_the_cameras() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.png"), (1, "b.png")], POINTS);
    save(pattern(64, 48), &root.join("images/a.png"));
    save(pattern(64, 48), &root.join("images/b.png"));
    assert_eq!(open(root).info().stored_sizes, None);
    save(pattern(32, 24), &root.join("images/b.png"));
    let info = open(root).info();
    assert_eq!(info.sizes, [[64, 48]; 2]);
    assert_eq!(info.stored_sizes, Some([[32, 24], [64, 48]]));
}
