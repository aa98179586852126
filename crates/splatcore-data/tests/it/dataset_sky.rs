//! Masks of the sky: where they are found, what they say beside depths and other masks, what is
//! refused.

use crate::dataset_support::{self, open, photos, save};
use image::{GrayImage, ImageBuffer, Luma};
use splatcore_core::camera::dot;
use splatcore_core::depth::SKY;
use splatcore_core::{Lens, View};
use splatcore_data::dataset::{DepthOptions, LoadOptions};
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use std::path::Path;

const MASKS: &str = "sky";

/// White in the upper rows.
fn mask(width: u32, height: u32, rows: u32) -> GrayImage {
    GrayImage::from_fn(width, height, |_, y| Luma([if y < rows { 255 } else { 0 }]))
}

fn load(root: &Path, depths: bool) -> Result<Vec<View>, String> {
    let options = LoadOptions {
        depths: depths.then(DepthOptions::default),
        sky_masks: Some(MASKS.into()),
        ..LoadOptions::default()
    };
    dataset_support::load(&open(root), &options)
}

fn sky_of(view: &View) -> Vec<bool> {
    let map = view.photo.depth.as_ref().expect("a map");
    let all = map.in_size([16, 12]);
    all.into_iter().map(|q| q == SKY).collect()
}

fn upper(rows: usize) -> Vec<bool> {
    (0..16 * 12).map(|i| i < 16 * rows).collect()
}

#[test]
fn white_is_sky_whatever_else_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png", "b.png", "c.png", "d.png"], "");
    save(mask(16, 12, 3), &root.join(MASKS).join("a.png"));
    // Half the size; its photo's mask ignores the same pixels.
    save(mask(8, 6, 2), &root.join(MASKS).join("b.png.png"));
    let counts = GrayImage::from_fn(16, 12, |_, y| Luma([if y < 4 { 0 } else { 255 }]));
    save(counts, &root.join("masks/b.png"));
    save(mask(16, 12, 0), &root.join(MASKS).join("c.png"));
    let views = load(root, false).unwrap();
    assert_eq!(sky_of(&views[0]), upper(3));
    assert_eq!(sky_of(&views[1]), upper(4));
    assert!(views[2].photo.depth.is_none() && views[3].photo.depth.is_none());

    // Depths that know better, and depths alone.
    let depths = ImageBuffer::from_fn(8, 6, |_, _| Luma([2000u16]));
    for name in ["a", "d"] {
        save(depths.clone(), &root.join(format!("depths/{name}.png")));
    }
    let views = load(root, true).unwrap();
    assert_eq!(sky_of(&views[0]), upper(3));
    let map = views[0].photo.depth.as_ref().unwrap();
    assert!((map.inverse[16 * 3] - 0.5).abs() < 1e-6);
    assert!(!views[3].photo.depth.as_ref().unwrap().has_sky());
}

#[test]
fn what_is_wrong_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png"], "");
    let refused = || {
        let error = load(root, false).unwrap_err();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    assert!(refused().contains("no photo has a mask there that shows sky"));
    save(mask(16, 12, 0), &root.join(MASKS).join("a.png"));
    assert!(refused().contains("that shows sky"));
    save(mask(12, 16, 4), &root.join(MASKS).join("a.png"));
    let error = refused();
    assert_contains!(error, "12x16", "another shape");
    std::fs::write(root.join(MASKS).join("a.png"), "no image").unwrap();
    assert!(refused().contains("a.png"));
}

/// The upper third of a photo of 360 degrees is sky, in each of its parts and on each face of a
/// cube, whatever the size of the mask and of the photo as it is used.
#[test]
fn panoramas_have_a_sky_in_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let options = ProceduralOptions {
        width: 64,
        height: 32,
        views: 2,
        points: 20,
        lens: Lens::Equirectangular,
        ..ProceduralOptions::default()
    };
    write_dataset(root, &options, &|_, _| {}).unwrap();
    save(mask(96, 48, 16), &root.join(MASKS).join("view_0001.png"));
    let dataset = open(root);
    for (keep_lens, max_size, parts) in [(true, None, 4), (true, Some(32), 4), (false, None, 6)] {
        let options = LoadOptions {
            sky_masks: Some(MASKS.into()),
            keep_lens,
            max_size,
            ..LoadOptions::default()
        };
        let views = dataset.load_views(&[0, 1], &options, &|_, _| {}).unwrap();
        assert_eq!(views.len(), 2 * parts);
        let knows = |view: &View| view.photo.depth.is_some();
        assert!(!views[..parts].iter().any(knows));
        let whole = &dataset.entries[1].camera;
        let (mut sky, mut other) = (0, 0);
        for view in &views[parts..] {
            let camera = &view.camera;
            let size = [camera.width, camera.height];
            let map = view.photo.depth.as_ref().map(|map| map.in_size(size));
            for i in 0..size[0] * size[1] {
                let pixel = [i % size[0], i / size[0]].map(|v| f64::from(v) + 0.5);
                let d = camera.direction(pixel).unwrap();
                let world: [f64; 3] =
                    std::array::from_fn(|k| (0..3).map(|j| camera.rotation[j][k] * d[j]).sum());
                let down = dot(whole.rotation[1], world);
                // 90 to 30 degrees above the horizon, but for the pixel on the rim.
                let latitude = -down.asin().to_degrees();
                if (latitude - 30.0).abs() < 6.0 {
                    continue;
                }
                let is_sky = map.as_ref().is_some_and(|map| map[i as usize] == SKY);
                assert_eq!(is_sky, latitude > 30.0, "{} at {pixel:?}", view.name);
                *(if is_sky { &mut sky } else { &mut other }) += 1;
            }
        }
        assert!(sky > 100 && other > sky, "{sky} {other}");
    }
}
