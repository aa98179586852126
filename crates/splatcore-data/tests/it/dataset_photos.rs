//! Photos of every kind: formats, sizes, alpha, masks, folders, lenses.

use crate::dataset_support::{colmap_text, load, load_all, open, pattern, save};

use image::{GrayImage, ImageBuffer, Luma, Rgb, Rgba, RgbaImage};
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, check_end};
use std::path::Path;

const PINHOLE: &str = "1 PINHOLE 64 48 60 61 32 24\n";
const POINTS: &str = "1 0 0 1 9 8 7 0.1 1 1\n";

fn error(root: &Path) -> String {
    let error = load(&open(root), &LoadOptions::default()).unwrap_err();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_pinhole_photo_keeps_its_pixels_whatever_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = ["a.png", "deep/b 16.png", "c.webp", "grey.png"];
    colmap_text(root, PINHOLE, &names.map(|n| (1, n)), POINTS);
    let photo = pattern(64, 48);
    save(photo.clone(), &root.join("images/a.png"));
    let deep = ImageBuffer::from_fn(64, 48, |x, y| {
        Rgb(photo.get_pixel(x, y).0.map(|v| v as u16 * 257))
    });
    save(
        image::DynamicImage::ImageRgb16(deep),
        &root.join("images/deep/b 16.png"),
    );
    save(photo.clone(), &root.join("images/c.webp"));
    let grey = GrayImage::from_fn(64, 48, |x, _| Luma([x as u8]));
    save(grey, &root.join("images/grey.png"));

    let dataset = open(root);
    let views = load_all(&dataset);
    assert_eq!(views.len(), 4);
    for view in &views[..3] {
        assert_eq!(&view.photo.rgb, photo.as_raw(), "{}", view.name);
        assert_eq!(
            view.camera,
            dataset.entries[0]
                .camera
                .clone()
                .translated(view.camera.translation)
        );
    }
    assert_eq!(&views[3].photo.rgb[30..33], &[10, 10, 10]);
}

trait Translated {
    fn translated(self, t: [f64; 3]) -> Self;
}

impl Translated for splatcore_core::Camera {
    fn translated(mut self, t: [f64; 3]) -> Self {
        self.translation = t;
        self
    }
}

#[test]
fn alpha_is_straight_and_composited_on_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.png"), (1, "b.png")], POINTS);
    let eight = RgbaImage::from_fn(64, 48, |x, _| {
        Rgba([200, 100, 0, if x < 32 { 0 } else { 51 }])
    });
    save(eight, &root.join("images/a.png"));
    let sixteen = ImageBuffer::from_fn(64, 48, |_, _| Rgba([65535u16, 0, 0, 32768]));
    save(
        image::DynamicImage::ImageRgba16(sixteen),
        &root.join("images/b.png"),
    );
    let options = LoadOptions {
        max_size: None,
        background: [1.0, 0.5, 0.0],
        ..LoadOptions::default()
    };
    let views = open(root)
        .load_views(&[0, 1], &options, &|_, _| {})
        .unwrap();
    assert_eq!(&views[0].photo.rgb[..3], &[255, 128, 0]);
    // 0.2 of the colour, 0.8 of the background.
    assert_eq!(&views[0].photo.rgb[63 * 3..64 * 3], &[244, 122, 0]);
    assert_eq!(&views[1].photo.rgb[..3], &[255, 64, 0]);
    assert!(views.iter().all(|view| view.photo.alpha.is_none()));
}

#[test]
fn alpha_that_is_kept_gives_the_same_photo_on_any_background() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(
        root,
        PINHOLE,
        &[(1, "a.png"), (1, "b.png"), (1, "c.png")],
        POINTS,
    );
    let smooth = RgbaImage::from_fn(64, 48, |x, y| {
        Rgba([200, 4 * x as u8, 5 * y as u8, (3 * x + y) as u8])
    });
    save(smooth, &root.join("images/a.png"));
    save(
        RgbaImage::from_pixel(64, 48, Rgba([9, 8, 7, 255])),
        &root.join("images/b.png"),
    );
    save(pattern(64, 48), &root.join("images/c.png"));
    for max_size in [None, Some(40)] {
        let load = |background, keep_alpha| {
            let options = LoadOptions {
                max_size,
                background,
                keep_alpha,
                ..LoadOptions::default()
            };
            open(root)
                .load_views(&[0, 1, 2], &options, &|_, _| {})
                .unwrap()
        };
        let kept = load([0.3, 0.3, 0.3], true);
        let alphas: Vec<bool> = kept.iter().map(|view| view.photo.alpha.is_some()).collect();
        assert_eq!(alphas, [true, false, false], "opaque photos need none");
        for background in [[0, 0, 0], [255, 255, 255], [20, 200, 90]] {
            let composed = load(background.map(|v| v as f32 / 255.0), false);
            for (kept, composed) in kept.iter().zip(&composed) {
                let on = kept.photo.on(background);
                let worst = on
                    .rgb
                    .iter()
                    .zip(&composed.photo.rgb)
                    .map(|(a, b)| a.abs_diff(*b))
                    .max();
                // Rounded once more, and scaled before in place of after it was put on the
                // background.
                assert!(worst.unwrap() <= 2, "{background:?}: {worst:?}");
                assert!(on.alpha.is_none() && on.rgb.len() == composed.photo.rgb.len());
            }
        }
    }
}

#[test]
fn smaller_copies_of_the_photos_scale_the_camera() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(
        root,
        "1 PINHOLE 4946 3286 4000 4100 2473 1643\n",
        &[(1, "a.png")],
        POINTS,
    );
    save(pattern(1237, 822), &root.join("images_4/a.png"));
    let options = OpenOptions {
        images: Some("images_4".into()),
        ..OpenOptions::default()
    };
    let view = &load_all(&Dataset::open(root, &options).unwrap())[0];
    assert_eq!((view.camera.width, view.camera.height), (1237, 822));
    assert!((view.camera.fx - 4000.0 * 1237.0 / 4946.0).abs() < 1e-9);
    assert!((view.camera.cy - 411.0).abs() < 1e-9);
    let none = OpenOptions {
        images: Some("images_3".into()),
        ..OpenOptions::default()
    };
    let error = Dataset::open(root, &none).unwrap_err().to_string();
    assert_contains!(error, "images_3", "images_4");
}

#[test]
fn cameras_are_those_of_the_views() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(
        root,
        "1 OPENCV 64 48 50 52 31 25 0.1 -0.02 0.001 0\n2 PINHOLE 64 48 50 52 31 25\n",
        &[(1, "a.png"), (2, "b.png"), (2, "c.png")],
        POINTS,
    );
    for (name, width, height) in [("a.png", 64, 48), ("b.png", 64, 48), ("c.png", 32, 24)] {
        save(pattern(width, height), &root.join("images").join(name));
    }
    let dataset = open(root);
    for max_size in [None, Some(40)] {
        let options = LoadOptions {
            max_size,
            ..LoadOptions::default()
        };
        let views = dataset
            .load_views(&[2, 0, 1], &options, &|_, _| {})
            .unwrap();
        let seen: Vec<_> = views.into_iter().map(|view| view.camera).collect();
        assert_eq!(dataset.cameras(&[2, 0, 1], &options).unwrap(), seen);
    }
    std::fs::write(root.join("images/b.png"), "no photo").unwrap();
    let error = dataset.cameras(&[0, 1], &LoadOptions::default());
    assert!(error.unwrap_err().to_string().contains("b.png"));
}

#[test]
fn a_photo_of_another_shape_is_refused_with_both_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.png")], POINTS);
    save(pattern(48, 64), &root.join("images/a.png"));
    let error = error(root);
    for part in ["a.png", "48x64", "64x48", "rotated"] {
        assert_contains!(error, part);
    }
}

/// A JPEG whose EXIF says how to turn it.
fn save_turned(image: image::RgbImage, orientation: u8, path: &Path) {
    save(image, path);
    let jpeg = std::fs::read(path).unwrap();
    let mut segment = vec![0xFF, 0xE1, 0, 34];
    segment.extend(b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0");
    segment.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    std::fs::write(path, [&jpeg[..2], &segment, &jpeg[2..]].concat()).unwrap();
}

/// Poses belong to the pixels as stored, unless only the turned ones can be what was posed.
#[test]
fn exif_turns_a_photo_only_where_it_fits_no_other_way() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let cameras =
        "1 PINHOLE 64 48 60 61 32 24\n2 PINHOLE 48 64 61 60 24 32\n3 PINHOLE 24 32 30 30 12 16\n";
    let names = ["a.jpg", "b.jpg", "c.jpg"];
    colmap_text(
        root,
        cameras,
        &[(1, names[0]), (2, names[1]), (3, names[2])],
        POINTS,
    );
    for name in names {
        save_turned(pattern(64, 48), 6, &root.join("images").join(name));
    }
    let dataset = open(root);
    assert_eq!(dataset.unusable_photos(), [""; 0]);
    let stored = splatcore_data::picture::read(root.join("images/a.jpg"))
        .unwrap()
        .into_rgb8();
    let turned = image::imageops::rotate90(&stored);
    let views = load_all(&dataset);
    assert_eq!(views[0].photo.rgb, stored.into_raw());
    assert_eq!(views[1].photo.rgb, turned.as_raw().as_slice());
    // Declared at half the size, the camera grows with the photo.
    assert_eq!(views[2].photo.rgb, turned.into_raw());
    let camera = &views[2].camera;
    assert_eq!(
        (camera.width, camera.height, camera.fx, camera.cy),
        (48, 64, 60.0, 32.0)
    );

    // Upside down is no quarter turn.
    save_turned(pattern(64, 48), 3, &root.join("images/b.jpg"));
    assert!(error(root).contains("another shape"));
}

#[test]
fn every_unusable_photo_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names: Vec<String> = (0..9).map(|i| format!("{i}.png")).collect();
    let images: Vec<(u32, &str)> = names.iter().map(|name| (1, name.as_str())).collect();
    colmap_text(root, PINHOLE, &images, POINTS);
    for name in &names {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    let spoil = |i: usize| std::fs::write(root.join("images").join(&names[i]), "no image").unwrap();
    spoil(3);
    assert!(error(root).contains("3.png") && !error(root).contains("the same goes"));
    spoil(5);
    assert!(
        error(root).ends_with("(the same goes for 5.png)"),
        "{}",
        error(root)
    );
    // Others may have another defect.
    save(pattern(48, 48), &root.join("images/1.png"));
    let said = error(root);
    assert!(
        said.contains("/1.png")
            && said.ends_with(" (another defect is that of 2 others: 3.png, 5.png)"),
        "{said}"
    );
    save(pattern(48, 40), &root.join("images/7.png"));
    let said = error(root);
    assert_contains!(
        said,
        "(the same goes for 7.png) (another defect is that of 2 others"
    );
    (0..9).for_each(spoil);
    let error = error(root);
    assert!(
        error.contains("/0.png")
            && error
                .ends_with("(the same goes for 8 others: 1.png, 2.png, 3.png, 4.png, 5.png, ...)"),
        "{error}"
    );
    assert_eq!(open(root).unusable_photos().len(), 9);
    for name in &names {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    // What is cut short has a header, too; so does a mask of another shape.
    let path = root.join("images/2.png");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    save(pattern(48, 48), &root.join("masks/4.png"));
    let unusable = open(root).unusable_photos();
    assert_eq!(unusable.len(), 2, "{unusable:?}");
    assert!(
        unusable[0].contains("2.png: the PNG is cut short"),
        "{unusable:?}"
    );
    assert!(unusable[1].contains("the mask is 48x48"), "{unusable:?}");
}

/// What a program has put behind a photo does not make it cut short.
#[test]
fn an_end_far_before_that_of_the_file_counts() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.png", "a.jpg"] {
        let path = folder.path().join(name);
        save(pattern(64, 48), &path);
        let whole = std::fs::read(&path).unwrap();
        let behind = vec![0; 1 << 17];
        std::fs::write(&path, [&whole[..], &behind].concat()).unwrap();
        check_end(&path).unwrap();
        let cut = &whole[..whole.len() - 12];
        std::fs::write(&path, [cut, &behind].concat()).unwrap();
        let error = check_end(&path).unwrap_err().to_string();
        assert!(error.contains("is cut short"), "{error}");
    }
}

#[test]
fn a_mask_of_another_shape_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.png")], POINTS);
    save(pattern(64, 48), &root.join("images/a.png"));
    save(GrayImage::new(48, 64), &root.join("masks/a.png"));
    let error = error(root);
    for part in ["masks/a.png", "48x64", "64x48"] {
        assert_contains!(error, part);
    }
}

#[test]
fn masks_are_found_by_either_name_and_follow_the_photo() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names = ["a.jpg", "sub/b.png", "c.png", "d.png"];
    colmap_text(root, PINHOLE, &names.map(|n| (1, n)), POINTS);
    for name in names {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    let left =
        |w: u32, h: u32| GrayImage::from_fn(w, h, |x, _| Luma([if x < w / 2 { 255 } else { 20 }]));
    save(left(64, 48), &root.join("masks/a.jpg.png"));
    save(left(32, 24), &root.join("masks/sub/b.png"));
    save(left(64, 48), &root.join("masks/c.png.png"));
    let dataset = open(root);
    assert_eq!(dataset.info().masks, 3);
    for view in &load_all(&dataset)[..] {
        match &view.photo.mask {
            None => assert_eq!(view.name, "d.png"),
            Some(mask) => {
                assert_eq!(mask.len(), 64 * 48);
                assert_eq!((mask[31], mask[32]), (1, 0), "{}", view.name);
                assert_eq!(view.photo.counted_pixels(), 32 * 48, "{}", view.name);
            }
        }
    }
    let half = LoadOptions {
        max_size: Some(32),
        ..LoadOptions::default()
    };
    let view = &dataset.load_views(&[0], &half, &|_, _| {}).unwrap()[0];
    assert_eq!((view.photo.width, view.photo.height), (32, 24));
    assert_eq!(view.photo.counted_pixels(), 16 * 24);
}

#[test]
fn a_distorted_photo_of_a_known_scene_comes_out_straight() {
    // What each pixel shows is a function of its ray alone, so the right answer is known
    // everywhere.
    let scene = |ray: [f64; 2]| -> [f64; 3] {
        [ray[0], ray[1], ray[0] + ray[1]].map(|v| 127.0 + 100.0 * (9.0 * v).sin())
    };
    for line in [
        "1 OPENCV 320 240 260 262 165 118 -0.2 0.05 0.001 -0.002\n",
        "1 OPENCV_FISHEYE 320 240 160 161 158 121 0.02 -0.01 0.001 0\n",
        "1 SIMPLE_RADIAL 320 240 300 160 120 0.15\n",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        colmap_text(root, line, &[(1, "a.png")], POINTS);
        save(pattern(320, 240), &root.join("images/a.png"));
        let source = open(root).entries[0].camera.clone();
        let photo = image::RgbImage::from_fn(320, 240, |x, y| {
            let ray = source.ray([x as f64 + 0.5, y as f64 + 0.5]).unwrap();
            Rgb(scene(ray).map(|v| v.round() as u8))
        });
        save(photo, &root.join("images/a.png"));
        let view = &load_all(&open(root))[0];
        let c = &view.camera;
        let mut worst = 0.0f64;
        for y in 0..240u32 {
            for x in 0..320u32 {
                let ray = [
                    (x as f64 + 0.5 - c.cx) / c.fx,
                    (y as f64 + 0.5 - c.cy) / c.fy,
                ];
                let at = (y * 320 + x) as usize * 3;
                for (channel, want) in scene(ray).into_iter().enumerate() {
                    worst = worst.max((view.photo.rgb[at + channel] as f64 - want).abs());
                }
            }
        }
        assert!(worst < 2.0, "{line}: off by {worst} of 255");
        assert!(view.photo.mask.is_none());
    }
}

#[test]
fn order_and_progress_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names: Vec<String> = (0..9).map(|i| format!("{i}.png")).collect();
    colmap_text(
        root,
        PINHOLE,
        &names.iter().map(|n| (1, n.as_str())).collect::<Vec<_>>(),
        POINTS,
    );
    for name in &names {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    let calls = std::sync::Mutex::new(Vec::new());
    let views = open(root)
        .load_views(&[5, 2, 7], &LoadOptions::default(), &|done, of| {
            calls.lock().unwrap().push((done, of))
        })
        .unwrap();
    assert_eq!(
        views.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(),
        ["5.png", "2.png", "7.png"]
    );
    let mut calls = calls.into_inner().unwrap();
    calls.sort();
    assert_eq!(calls, [(1, 3), (2, 3), (3, 3)]);
}

#[test]
fn unusable_photos_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.jpg")], POINTS);
    let path = root.join("images/a.jpg");
    save(pattern(64, 48), &path);
    let good = std::fs::read(&path).unwrap();
    load_all(&open(root));

    std::fs::write(&path, []).unwrap();
    assert!(error(root).contains("0 bytes"));
    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert!(error(root).contains("cut short"));
    std::fs::write(&path, b"not an image at all").unwrap();
    assert!(error(root).contains("JPEG, PNG, WebP, TIFF or EXR"));

    // The same JPEG with a frame header that declares four components.
    let frame = good.windows(2).position(|w| w == [0xFF, 0xC0]).unwrap();
    let mut cmyk = good[..frame].to_vec();
    cmyk.extend([0xFF, 0xC0, 0, 20, 8, 0, 48, 0, 64, 4]);
    for component in 1..=4 {
        cmyk.extend([component, 0x11, 0]);
    }
    let length = u16::from_be_bytes([good[frame + 2], good[frame + 3]]) as usize;
    cmyk.extend(&good[frame + 2 + length..]);
    std::fs::write(&path, &cmyk).unwrap();
    assert!(error(root).contains("CMYK"));

    save(pattern(64, 48), &root.join("images/b.png"));
    let png = std::fs::read(root.join("images/b.png")).unwrap();
    std::fs::write(&path, &png[..png.len() / 2]).unwrap();
    assert!(error(root).contains("cannot be decoded"));
}
