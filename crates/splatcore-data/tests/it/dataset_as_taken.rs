//! Photos that keep their lens.

use crate::dataset_support::{self, as_taken, open};
use splatcore_core::Lens;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions};
use splatcore_data::procedural::ProceduralOptions;
use std::path::Path;

const OPENCV: Lens = Lens::OpenCv {
    k: [-0.25, 0.08, 0.0, 0.0, 0.0, 0.0],
    p: [0.002, -0.003],
    s: [0.0; 4],
};
const FISHEYE: Lens = Lens::Fisheye {
    k: [0.02, -0.01, 0.004, -0.001],
    p: [0.0; 2],
    s: [0.0; 2],
};
/// Its image ends where the polynomial turns back, inside the photo.
const CIRCLE: Lens = Lens::Fisheye {
    k: [0.0, -0.2, 0.0, 0.0],
    p: [0.0; 2],
    s: [0.0; 2],
};
fn painted(lens: Lens) -> (tempfile::TempDir, Dataset) {
    dataset_support::painted(&ProceduralOptions {
        width: 96,
        height: 72,
        views: 4,
        samples: 2,
        points: 300,
        lens,
        field_of_view: 80.0,
        ..ProceduralOptions::default()
    })
}

/// Mean difference, in 255ths, between points and the pixels where views show them.
fn off(dataset: &Dataset, options: &LoadOptions) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for view in dataset
        .load_views(&[0, 1, 2, 3], options, &|_, _| {})
        .unwrap()
    {
        let points = &dataset.points;
        for (point, colour) in points.positions.iter().zip(&points.colours) {
            let place = point.map(f64::from);
            if !view.camera.sees(place) {
                continue;
            }
            let [x, y] = view.camera.project(place).unwrap();
            let pixel = (y as usize).min(71) * 96 + (x as usize).min(95);
            for (channel, &value) in colour.iter().enumerate() {
                sum += (f64::from(view.photo.rgb[3 * pixel + channel]) - f64::from(value)).abs();
                count += 1;
            }
        }
    }
    assert!(count > 900, "only {count} numbers are compared");
    sum / f64::from(count)
}

#[test]
fn photos_stay_and_cameras_know_their_lens() {
    for lens in [OPENCV, FISHEYE] {
        let (folder, dataset) = painted(lens);
        assert_eq!(dataset.entries[0].camera.lens, lens);
        let views = dataset
            .load_views(&[0, 1], &as_taken(), &|_, _| {})
            .unwrap();
        let file =
            splatcore_data::picture::read(folder.path().join("images/view_0000.png")).unwrap();
        assert_eq!(&views[0].photo.rgb, file.to_rgb8().as_raw());
        assert_eq!(views[0].camera, dataset.entries[0].camera);
        assert!(views[0].photo.mask.is_none());
        assert_eq!(
            dataset.cameras(&[1], &as_taken()).unwrap()[0],
            views[1].camera
        );
        // Points are where both say, the lens and the pinhole that it is resampled to.
        let [kept, resampled] =
            [as_taken(), LoadOptions::default()].map(|options| off(&dataset, &options));
        let mut without = open(folder.path());
        for entry in &mut without.entries {
            entry.camera.lens = Lens::Pinhole;
        }
        let wrong = off(&without, &as_taken());
        assert!(
            kept < 0.8 * wrong && resampled < 0.8 * wrong,
            "{}: {kept:.1} as taken, {resampled:.1} resampled, {wrong:.1} without the lens",
            lens.name()
        );
    }
}

#[test]
fn pixels_beyond_the_image_circle_do_not_count() {
    let (_folder, dataset) = painted(CIRCLE);
    let half = LoadOptions {
        max_size: Some(48),
        ..as_taken()
    };
    let view = &dataset.load_views(&[0], &half, &|_, _| {}).unwrap()[0];
    let mask = view.photo.mask.as_ref().unwrap();
    for (i, &counts) in mask.iter().enumerate() {
        let pixel = [(i % 48) as f64 + 0.5, (i / 48) as f64 + 0.5];
        let imaged = view.camera.direction(pixel).is_some();
        assert_eq!(counts == 1, imaged, "{pixel:?}");
    }
    let share = mask.iter().filter(|&&counts| counts == 1).count() as f64 / mask.len() as f64;
    assert!((0.2..0.95).contains(&share), "{share} of the photo counts");
}

#[test]
fn a_lens_that_is_no_polynomial_is_refused_by_name() {
    let (folder, _) = painted(Lens::Pinhole);
    let cameras = folder.path().join("sparse/0/cameras.txt");
    std::fs::write(&cameras, "1 FOV 96 72 60 60 48 36 0.9\n").unwrap();
    let dataset = Dataset::open(Path::new(folder.path()), &OpenOptions::default()).unwrap();
    assert!(
        dataset
            .load_views(&[0], &LoadOptions::default(), &|_, _| {})
            .is_ok()
    );
    let error = dataset
        .load_views(&[0], &as_taken(), &|_, _| {})
        .unwrap_err();
    assert_contains!(error, "view_0000.png", "'fov'", "undistorted");
    assert!(dataset.cameras(&[0], &as_taken()).is_err());
}
