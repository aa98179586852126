//! Real datasets, where the shared data is at hand.

use crate::dataset_support::{open, shared, shared_all};

use splatcore_core::{Image, Lens, Photo, metrics};
use splatcore_data::dataset::{
    Dataset, Format, LoadOptions, OpenOptions, Split, colmap, undistort,
};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn the_binary_and_the_text_model_of_sceaux_agree() {
    let Some([bin, txt]) = shared_all(["formats/colmap/sceaux_bin", "formats/colmap/sceaux_txt"])
    else {
        return;
    };
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).unwrap();
    let a = colmap::parse_cameras_bin(&read(&bin, "cameras.bin"), &bin).unwrap();
    let b = colmap::parse_cameras_txt(&read(&txt, "cameras.txt"), &txt).unwrap();
    assert_eq!((a.len(), b.len()), (1, 1));
    assert!((a[0].camera.fx - b[0].camera.fx).abs() < 0.01);
    let k = |c: &colmap::ColmapCamera| match c.camera.lens {
        Lens::OpenCv { k, .. } => k[0],
        other => panic!("{other:?}"),
    };
    assert!((k(&a[0]) - k(&b[0])).abs() < 1e-6 && (k(&a[0]) + 0.164224).abs() < 1e-6);

    let mut a = colmap::parse_images_bin(&read(&bin, "images.bin"), &bin).unwrap();
    let mut b = colmap::parse_images_txt(&read(&txt, "images.txt"), &txt).unwrap();
    a.sort_by(|x, y| x.name.cmp(&y.name));
    b.sort_by(|x, y| x.name.cmp(&y.name));
    assert_eq!((a.len(), b.len()), (11, 11));
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((&a.name, a.camera), (&b.name, b.camera));
        let off = (0..4).map(|i| (a.quaternion[i] - b.quaternion[i]).abs());
        assert!(off.fold(0.0, f64::max) < 1e-5);
        let off = (0..3).map(|i| (a.translation[i] - b.translation[i]).abs());
        assert!(off.fold(0.0, f64::max) < 1e-4);
    }

    let a = colmap::parse_points_bin(&read(&bin, "points3D.bin"), &bin).unwrap();
    let b = colmap::parse_points_txt(&read(&txt, "points3D.txt"), &txt).unwrap();
    assert_eq!((a.positions.len(), b.positions.len()), (7862, 7862));
    let sorted = |p: &splatcore_data::dataset::Points| {
        let mut rows: Vec<_> = p.positions.iter().copied().zip(p.colours.clone()).collect();
        rows.sort_by(|x, y| x.0[0].total_cmp(&y.0[0]));
        rows
    };
    for (a, b) in sorted(&a).into_iter().zip(sorted(&b)) {
        // Six digits in the text: rows with nearly equal x may trade places.
        assert!((a.0[0] - b.0[0]).abs() <= 1e-5 * a.0[0].abs().max(1.0));
    }
    let sum = |p: &splatcore_data::dataset::Points| -> (f64, u64) {
        let z = p.positions.iter().map(|v| v[2] as f64).sum();
        (z, p.colours.iter().flatten().map(|&c| c as u64).sum())
    };
    let (a, b) = (sum(&a), sum(&b));
    assert!((a.0 - b.0).abs() < 1e-4 * a.0.abs());
    assert_eq!(a.1, b.1);
}

/// The text file, read by its columns, is the independent witness.
#[test]
fn observations_of_the_binary_model_are_those_of_the_text() {
    let Some([bin, txt]) = shared_all(["formats/colmap/sceaux_bin", "formats/colmap/sceaux_txt"])
    else {
        return;
    };
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).unwrap();
    let found = colmap::parse_observations_bin(&read(&bin, "points3D.bin"), &bin).unwrap();
    let text = String::from_utf8(read(&txt, "points3D.txt")).unwrap();
    let (mut errors, mut of_images) = (Vec::new(), BTreeMap::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        errors.push(columns[7].parse::<f64>().unwrap());
        for image in columns[8..].iter().step_by(2) {
            *of_images
                .entry(image.parse::<u32>().unwrap())
                .or_insert(0u64) += 1;
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert_eq!(found.points, errors.len() as u64);
    assert!(
        (found.mean_error - mean).abs() < 1e-5,
        "{}",
        found.mean_error
    );
    assert_eq!(found.of_images, of_images);
    let images = colmap::parse_images_bin(&read(&bin, "images.bin"), &bin).unwrap();
    assert!(images.iter().all(|image| of_images.contains_key(&image.id)));
}

#[test]
fn a_model_without_photos_says_where_they_were_looked_for() {
    let Some(path) = shared("formats/colmap/sceaux_bin") else {
        return;
    };
    let error = Dataset::open(&path, &OpenOptions::default()).unwrap_err();
    assert_contains!(error, "none of the 11 listed images", "name their folder");
}

#[test]
fn bonsai_is_scaled_as_usual() {
    let Some(path) = shared("posed/bonsai") else {
        return;
    };
    let dataset = open(&path);
    let info = dataset.info();
    assert_eq!(
        (info.images, info.missing, info.cameras, info.points),
        (252, 0, 1, 71_343)
    );
    assert_eq!(dataset.format, Format::ColmapBinary);
    let (train, test) = (
        dataset.select(Split::Train, 8),
        dataset.select(Split::Test, 8),
    );
    assert_eq!((train.len(), test.len(), test[1]), (220, 32, 8));
    let options = LoadOptions {
        max_size: Some(400),
        ..LoadOptions::default()
    };
    let views = dataset
        .load_views(&test[..2], &options, &|_, _| {})
        .unwrap();
    let declared = &dataset.entries[0].camera;
    let camera = &views[0].camera;
    assert_eq!((views[0].photo.width, views[0].photo.height), (400, 267));
    assert_eq!((camera.width, camera.height), (400, 267));
    assert!((camera.fx - declared.fx * 0.5).abs() < 1e-9);
    assert!((camera.fy - declared.fy * 267.0 / 533.0).abs() < 1e-9);
    assert!(views[0].photo.mask.is_none());
    // The same dataset through its model's folder.
    let again = open(&path.join("sparse/0"));
    assert_eq!(again.entries.len(), 252);
    assert_eq!(again.root, std::fs::canonicalize(&path).unwrap());
    // Most points lie in most photos' view: poses and points belong together.
    let seen = dataset
        .points
        .positions
        .iter()
        .filter(|p| views[0].camera.to_view(p.map(|v| v as f64))[2] > 0.0);
    assert!(seen.count() > 35_000);
}

#[test]
fn chair_has_declared_splits_and_points_like_inrias() {
    let Some(path) = shared("posed/chair") else {
        return;
    };
    let dataset = open(&path);
    assert_eq!(dataset.format, Format::TransformsSplit);
    assert_eq!(dataset.select(Split::Train, 8).len(), 100);
    let test = dataset.select(Split::Test, 8);
    assert_eq!(test.len(), 10);
    assert!(dataset.entries[test[0]].name.starts_with("test/r_"));
    let camera = &dataset.entries[0].camera;
    assert!((camera.fx - 1111.111).abs() < 0.01 && camera.cx == 400.0 && camera.width == 800);
    assert_eq!(dataset.info().declared_splits, Some([100, 10]));

    // INRIA draws 100,000 points in [-1.3, 1.3]³ for these scenes.
    let points = &dataset.points;
    assert!(points.random && points.positions.len() == 50_000);
    for axis in 0..3 {
        let of =
            |f: fn(f32, f32) -> f32| points.positions.iter().map(|p| p[axis]).reduce(f).unwrap();
        let (low, high) = (of(f32::min), of(f32::max));
        assert!(
            (-1.6..-1.0).contains(&low) && (1.0..1.6).contains(&high),
            "axis {axis}: {low} to {high}"
        );
    }

    let white = LoadOptions {
        max_size: None,
        background: [1.0; 3],
        ..LoadOptions::default()
    };
    let on_white = dataset.load_views(&test[..1], &white, &|_, _| {}).unwrap();
    let on_black = dataset
        .load_views(&test[..1], &LoadOptions::default(), &|_, _| {})
        .unwrap();
    assert_eq!(&on_white[0].photo.rgb[..3], &[255; 3]);
    assert_eq!(&on_black[0].photo.rgb[..3], &[0; 3]);
}

#[test]
fn every_random_point_is_seen() {
    let Some([chair, fox]) = shared_all(["posed/chair", "posed/fox"]) else {
        return;
    };
    for path in [chair, fox] {
        let dataset = open(&path);
        for p in dataset.points.positions.iter().step_by(17) {
            let seen = dataset
                .entries
                .iter()
                .any(|e| e.camera.sees(p.map(|v| v as f64)));
            assert!(seen, "{}: no camera sees {p:?}", path.display());
        }
        let same = open(&path);
        assert_eq!(same.points, dataset.points, "the seed decides");
    }
}

/// Mean difference of two photos in dB where the second, rendered by another camera of the same
/// pose, is resampled to the first.
#[test]
fn fox_comes_out_as_the_photos_that_another_program_undistorted() {
    let Some([fox, reference]) = shared_all(["posed/fox", "posed/fox_colmap"]) else {
        return;
    };
    let fox = open(&fox);
    assert_eq!((fox.entries.len(), fox.missing.len()), (50, 17));
    assert_eq!(fox.entries[0].name, "images/0001.jpg");
    let reference = open(&reference);
    assert_eq!(
        (reference.entries.len(), reference.points.positions.len()),
        (50, 23_153)
    );

    for i in [0, 49] {
        // The poses are the same, through another convention.
        let (a, b) = (&fox.entries[i].camera, &reference.entries[i].camera);
        assert_eq!(
            fox.entries[i].name,
            format!("images/{}", reference.entries[i].name)
        );
        for r in 0..3 {
            assert!((a.translation[r] - b.translation[r]).abs() < 1e-4);
            for c in 0..3 {
                assert!((a.rotation[r][c] - b.rotation[r][c]).abs() < 1e-4);
            }
        }
        // Undistorted with the reference's own camera, the pixels are the reference's: bicubic
        // both, the reference then JPEG, which alone costs 49 dB.
        let given = &reference
            .load_views(&[i], &LoadOptions::default(), &|_, _| {})
            .unwrap()[0];
        let photo = splatcore_data::picture::read(&fox.entries[i].image)
            .unwrap()
            .into_rgb8();
        let (ours, mask) =
            undistort::undistort(&fox.entries[i].camera, &given.camera, &photo, None);
        let psnr = difference(&ours, &given.photo);
        eprintln!("fox {i}: {psnr:.2} dB against the reference's undistorted photo");
        assert!(psnr > 44.0, "photo {i}: {psnr:.2} dB");
        assert!(mask.is_none());
        // The view that is trained on: a camera of our own choice, as wide as or wider than the
        // reference's.
        let view = &fox
            .load_views(&[i], &LoadOptions::default(), &|_, _| {})
            .unwrap()[0];
        eprintln!(
            "fox {i}: focal {:.2} (the reference has {:.2})",
            view.camera.fx, given.camera.fx
        );
        assert!(view.photo.mask.is_none());
        assert_eq!((view.camera.cx, view.camera.cy), (540.0, 960.0));
        assert!(view.camera.fx <= given.camera.fx);
        // Resampled once more, from our camera to the reference's.
        let photo = image::RgbImage::from_raw(1080, 1920, view.photo.rgb.clone()).unwrap();
        let (twice, _) = undistort::undistort(&view.camera, &given.camera, &photo, None);
        let psnr = difference(&twice, &given.photo);
        eprintln!("fox {i}: {psnr:.2} dB when our view is resampled to the reference's camera");
        assert!(psnr > 38.0, "photo {i}: {psnr:.2} dB");
    }
}

fn difference(ours: &image::RgbImage, given: &Photo) -> f64 {
    let data = ours
        .pixels()
        .map(|p| p.0.map(|v| v as f32 / 255.0))
        .collect();
    let image = Image {
        width: ours.width(),
        height: ours.height(),
        data,
    };
    metrics::psnr(&image, given)
}
