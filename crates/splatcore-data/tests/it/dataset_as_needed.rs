//! Photos that are decoded when they are needed, as memory for all of them is short.

use crate::dataset_support::{as_taken, colmap_text, open, painted, pattern, save};
use image::{GrayImage, ImageBuffer, Luma, Rgb, RgbImage, Rgba, RgbaImage};
use splatcore_core::depth::{Known, MapFacts};
use splatcore_core::image::elsewhere::expect;
use splatcore_core::{Lens, Photo, View};
use splatcore_data::dataset::{Dataset, DepthOptions, DepthValues, LoadOptions, NormalOptions};
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
    let depths = |view: &View| view.photo.known_depths().map_or(0, Known::bytes);
    let bytes = |view: &View| (view.photo.bytes() + depths(view)) as u64;
    views.iter().map(bytes).sum()
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
        let with_depths = all.iter().any(|view| view.photo.depth.is_some());
        for expected in [None, Some(false), Some(true)] {
            for (some, one) in some.iter().zip(&all) {
                if let Some(depths) = expected {
                    expect(std::slice::from_ref(some), &[0], &[], depths);
                }
                let here = View {
                    photo: Photo {
                        depth: some.photo.depth.clone(),
                        ..one.photo.clone()
                    },
                    ..one.clone()
                };
                assert!(*some.held().unwrap() == here);
                assert_eq!(some.photo.depths().unwrap(), one.photo.depth);
                let [facts, want] = [&some.photo, &one.photo].map(Photo::known_depths);
                assert_eq!(facts.map(Known::facts), want.map(Known::facts));
                assert_eq!(some.photo.bytes(), one.photo.bytes());
                assert_eq!(some.photo.counted_pixels(), one.photo.counted_pixels());
                assert_eq!(some.photo.fingerprint(), one.photo.fingerprint());
                assert_eq!(some.photo.has_mask(), one.photo.has_mask());
                assert_eq!(some.photo.has_alpha(), one.photo.has_alpha());
                let on = [20, 200, 90];
                let [some, one] = [some, &here].map(|view| view.photo.on(on));
                assert_eq!(some.bytes(), one.bytes());
                assert!(*some.held().unwrap() == one);
            }
            let order: Vec<usize> = (0..some.len()).rev().collect();
            for (i, &view) in order.iter().enumerate() {
                // Those that are there without their depths are read again with them.
                expect(&some, &[view], &order[i + 1..], with_depths && i > 3);
                assert_eq!(some[view].photo.held().unwrap().rgb, all[view].photo.rgb);
                assert_eq!(some[view].photo.depths().unwrap(), all[view].photo.depth);
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

/// Depths without a scale, which the points give, of most photos, with normals and sky: of the
/// photos as they are and of smaller ones.
#[test]
fn depths_that_are_not_held_are_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut dataset = photos(root);
    // On the surface that the maps show, twice as far away as they say.
    let points = (0..64 * 48).map(|k| [k % 64, k / 64].map(|v| v as f32 + 0.5));
    let points = points.map(|[u, v]| {
        let z = 2.0 * (0.9 + 0.01 * u);
        [(u - 32.0) / 60.0 * z, (v - 24.0) / 61.0 * z, z]
    });
    dataset.points.positions = points.collect();
    for i in 0..10 {
        let value = |x: u32, _| Luma([900 + 20 * x as u16 + i]);
        let map = ImageBuffer::<Luma<u16>, Vec<u16>>::from_fn(32, 24, value);
        save(map, &root.join(format!("depths/{i:02}.png")));
        if i % 2 == 0 {
            let normal = |x: u32, _| Rgb([100 + x as u8, 128, 20]);
            save(
                RgbImage::from_fn(64, 48, normal),
                &root.join(format!("normals/{i:02}.png")),
            );
        }
        if i % 3 == 0 {
            let sky = |_, y: u32| Luma([255 * u8::from(y < u32::from(i))]);
            save(
                GrayImage::from_fn(64, 48, sky),
                &root.join(format!("sky/{i:02}.png")),
            );
        }
    }
    for (max_size, values) in [(None, DepthValues::Scaled), (Some(20), DepthValues::Metric)] {
        let options = LoadOptions {
            max_size,
            depths: Some(DepthOptions {
                values,
                ..DepthOptions::default()
            }),
            normals: Some(NormalOptions::default()),
            sky_masks: Some("sky".into()),
            ..LoadOptions::default()
        };
        let views = load(&dataset, &options);
        let facts = |view: &View| view.photo.known_depths().map(Known::facts);
        let facts: Vec<_> = views.iter().filter_map(facts).collect();
        let count = |has: fn(&MapFacts) -> bool| facts.iter().filter(|map| has(map)).count();
        assert!(count(|map| map.known > 0) >= 4, "{facts:?}");
        assert!(count(|map| map.has_normals) >= 5 && count(|map| map.has_sky) >= 3);
        same_at_every_limit(&dataset, &options);
    }
}

/// A run that needs the photo without its depths goes on when these have changed.
#[test]
fn depths_that_have_changed_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = photos(folder.path());
    let path = folder.path().join("depths/02.png");
    let map = |value: u16| ImageBuffer::<Luma<u16>, Vec<u16>>::from_pixel(64, 48, Luma([value]));
    save(map(2000), &path);
    let options = LoadOptions {
        memory: Some(0),
        depths: Some(DepthOptions::default()),
        ..LoadOptions::default()
    };
    let views = load(&dataset, &options);
    assert!(views[2].photo.depths().unwrap().is_some());
    assert!(views[3].photo.depths().unwrap().is_none());
    let error = || views[2].photo.depths().unwrap_err().to_string();
    save(map(2001), &path);
    assert_contains!(error(), "the depths of photo '02.png' changed");
    std::fs::write(&path, b"no map").unwrap();
    assert_contains!(error(), "02.png", "can no longer be read");
    std::fs::remove_file(&path).unwrap();
    assert_contains!(error(), "the depths of photo '02.png' changed");
    assert!(views[2].photo.held().is_ok());
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
    assert_contains!(error(7), "photo '07.png' changed");
    std::fs::write(image("04.png"), b"no photo").unwrap();
    assert_contains!(error(4), "04.png", "can no longer be read");
    std::fs::remove_file(image("05.png")).unwrap();
    expect(&views, &[5, 6], &[8], false);
    assert_contains!(error(5), "05.png", "can no longer be read");
    assert!(views[6].photo.held().is_ok() && views[8].photo.held().is_ok());
}
