//! Photos that are decoded when they are needed, as memory for all of them is short.

use crate::dataset_support::{as_taken, colmap_text, open, painted, pattern, save};
use image::{Rgba, RgbaImage};
use splatcore_core::image::elsewhere::expect;
use splatcore_core::{Lens, View};
use splatcore_data::dataset::{Dataset, LoadOptions};
use splatcore_data::procedural::ProceduralOptions;
use std::path::Path;

/// Twelve photos of 64x48, every third with alpha, every fourth with a mask.
fn photos(root: &Path) -> Dataset {
    let names: Vec<String> = (0..12).map(|i| format!("{i:02}.png")).collect();
    let images: Vec<(u32, &str)> = names.iter().map(|name| (1, name.as_str())).collect();
    let camera = "1 PINHOLE 64 48 60 61 32 24\n";
    colmap_text(root, camera, &images, "1 0 0 1 9 8 7 0.1 1 1\n");
    for (i, name) in names.iter().enumerate() {
        let path = root.join("images").join(name);
        match i % 3 {
            0 => {
                let pixel = |x, y| Rgba([200, 4 * x as u8, 5 * y as u8, (3 * x + y) as u8]);
                save(RgbaImage::from_fn(64, 48, pixel), &path);
            }
            _ => {
                let mut photo = pattern(64, 48);
                photo.pixels_mut().for_each(|pixel| pixel.0[0] ^= i as u8);
                save(photo, &path);
            }
        }
        if i % 4 == 1 {
            let mask =
                image::GrayImage::from_fn(64, 48, |x, _| image::Luma([255 * (x > i as u32) as u8]));
            save(mask, &root.join("masks").join(name));
        }
    }
    open(root)
}

fn load(dataset: &Dataset, options: &LoadOptions) -> Vec<View> {
    let all: Vec<usize> = (0..dataset.entries.len()).collect();
    dataset.load_views(&all, options, &|_, _| {}).unwrap()
}

fn bytes(views: &[View]) -> u64 {
    views.iter().map(|view| view.photo.bytes() as u64).sum()
}

fn held(views: &[View]) -> Vec<View> {
    let held = views.iter().filter(|view| view.photo.elsewhere.is_none());
    held.cloned().collect()
}

/// With each limit: what is held keeps to it, and every photo has the pixels, and what is known of
/// them, of one that is held, whether it was expected or not.
fn same_at_every_limit(dataset: &Dataset, options: &LoadOptions) {
    let all = load(dataset, options);
    let total = bytes(&all);
    assert_eq!(held(&all).len(), all.len());
    for limit in [0, 1, total / 3, total - 1, total] {
        let some = load(
            dataset,
            &LoadOptions {
                memory: Some(limit),
                ..options.clone()
            },
        );
        assert!(bytes(&held(&some)) <= limit);
        assert_eq!(held(&some).len() == all.len(), limit == total);
        if limit == total / 3 {
            assert!(!held(&some).is_empty());
        }
        for expected in [false, true] {
            for (i, (some, one)) in some.iter().zip(&all).enumerate() {
                if expected {
                    let next: Vec<usize> = (i + 1..all.len()).collect();
                    expect(std::slice::from_ref(some), &[0], &next);
                }
                assert_eq!(*some.held().unwrap(), *one);
                assert_eq!(some.photo.bytes(), one.photo.bytes());
                assert_eq!(some.photo.counted_pixels(), one.photo.counted_pixels());
                assert_eq!(some.photo.fingerprint(), one.photo.fingerprint());
                assert_eq!(some.photo.has_mask(), one.photo.has_mask());
                assert_eq!(some.photo.has_alpha(), one.photo.has_alpha());
                let on = [20, 200, 90];
                let [some, one] = [some, one].map(|view| view.photo.on(on));
                assert_eq!(some.bytes(), one.bytes());
                assert_eq!(*some.held().unwrap(), one);
            }
            let order: Vec<usize> = (0..some.len()).rev().collect();
            for (i, &view) in order.iter().enumerate() {
                expect(&some, &[view], &order[i + 1..]);
                assert_eq!(some[view].photo.held().unwrap().rgb, all[view].photo.rgb);
            }
        }
    }
}

#[test]
fn photos_that_are_not_held_are_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = photos(folder.path());
    for (max_size, keep_alpha) in [(None, true), (Some(40), false)] {
        let options = LoadOptions {
            max_size,
            keep_alpha,
            background: [0.3, 0.6, 0.1],
            ..LoadOptions::default()
        };
        same_at_every_limit(&dataset, &options);
    }
}

#[test]
fn parts_of_panoramas_are_decoded_together() {
    let (_folder, dataset) = painted(&ProceduralOptions {
        width: 96,
        height: 48,
        views: 8,
        points: 200,
        lens: Lens::Equirectangular,
        ..ProceduralOptions::default()
    });
    same_at_every_limit(&dataset, &as_taken());
}

#[test]
fn a_photo_that_is_gone_or_has_changed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = photos(folder.path());
    let options = LoadOptions {
        memory: Some(0),
        ..LoadOptions::default()
    };
    let views = load(&dataset, &options);
    let image = |name: &str| folder.path().join("images").join(name);
    let error = |view: usize| {
        let error = views[view].photo.held().unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    save(pattern(64, 48), &image("07.png"));
    assert_contains!(error(7), "07.png", "has changed");
    std::fs::write(image("04.png"), b"no photo").unwrap();
    assert_contains!(error(4), "04.png", "can no longer be read");
    std::fs::remove_file(image("05.png")).unwrap();
    expect(&views, &[5, 6], &[8]);
    assert_contains!(error(5), "05.png", "can no longer be read");
    assert!(views[6].photo.held().is_ok() && views[8].photo.held().is_ok());
}
