//! Photos of 360 degrees: cut into parts as they were taken, or into the faces of a cube.

use crate::dataset_support::{self, as_taken};
use splatcore_core::{Camera, Lens, View, panorama};
use splatcore_data::dataset::{Dataset, LoadOptions};
use splatcore_data::procedural::{ProceduralOptions, World, encode_srgb};
use tempfile::TempDir;

fn painted() -> (TempDir, Dataset) {
    dataset_support::painted(&ProceduralOptions {
        width: 192,
        height: 96,
        views: 3,
        points: 200,
        lens: Lens::Equirectangular,
        ..ProceduralOptions::default()
    })
}

/// Mean difference of a view's pixels to what the world shows there, in steps of 8 bits.
fn off(view: &View) -> f64 {
    let (world, camera) = (World::new(), &view.camera);
    let mut sum = 0.0;
    for (i, pixel) in view.photo.rgb.chunks_exact(3).enumerate() {
        let [x, y] = [i as u32 % camera.width, i as u32 / camera.width];
        let direction = camera
            .direction([x, y].map(|v| f64::from(v) + 0.5))
            .unwrap();
        let r = &camera.rotation;
        let ray = std::array::from_fn(|k| (0..3).map(|j| r[j][k] * direction[j]).sum::<f64>());
        let seen = world.look(camera.position(), ray).colour;
        for (&got, want) in pixel.iter().zip(seen) {
            sum += (f64::from(got) - 255.0 * encode_srgb(want.clamp(0.0, 1.0))).abs();
        }
    }
    sum / view.photo.rgb.len() as f64
}

fn names(views: &[View]) -> Vec<&str> {
    views.iter().map(|view| view.name.as_str()).collect()
}

/// The middle keeps its pixels; every part shows what the world shows where its camera looks.
#[test]
fn a_panorama_as_taken_is_four_views() {
    let (folder, dataset) = painted();
    assert!(dataset.findings.is_empty(), "{:?}", dataset.findings);
    assert_eq!(dataset.info().lenses, ["equirectangular"]);
    assert!(panorama::is_whole(&dataset.entries[0].camera));
    let views = dataset.load_views(&[1], &as_taken(), &|_, _| {}).unwrap();
    let parts = ["left", "right", "up", "down"];
    assert_eq!(
        names(&views),
        parts.map(|part| format!("view_0001-{part}.png"))
    );
    let photo = splatcore_data::picture::read(folder.path().join("images/view_0001.png"))
        .unwrap()
        .to_rgb8();
    for (view, from) in views.iter().zip([0, 96]) {
        assert_eq!([view.photo.width, view.photo.height], [96, 64]);
        let cut = image::imageops::crop_imm(&photo, from, 16, 96, 64).to_image();
        assert!(
            view.photo.rgb == cut.into_raw(),
            "{}: its pixels changed",
            view.name
        );
    }
    for view in &views {
        // Of edges within pixels, and of the caps' interpolation.
        assert!(off(view) < 8.0, "{}: {}", view.name, off(view));
    }
    let cameras: Vec<Camera> = views.iter().map(|view| view.camera.clone()).collect();
    assert_eq!(dataset.cameras(&[1], &as_taken()).unwrap(), cameras);
    assert_eq!(dataset.view_count(1, &as_taken()), 4);
}

#[test]
fn a_panorama_undistorted_is_a_cube() {
    let (_folder, dataset) = painted();
    let options = LoadOptions {
        max_size: Some(128),
        ..LoadOptions::default()
    };
    let views = dataset.load_views(&[0, 2], &options, &|_, _| {}).unwrap();
    assert_eq!(views.len(), 12);
    assert_eq!(views[6].name, "view_0002-front.png");
    assert_eq!(dataset.view_count(0, &options), 6);
    for view in &views {
        assert_eq!(view.camera.lens, Lens::Pinhole);
        assert_eq!(view.photo.width, 41, "128 pixels over pi");
        assert!(
            view.photo.mask.is_none() && off(view) < 9.0,
            "{}: {}",
            view.name,
            off(view)
        );
    }
}

/// No pinhole sees along parallel rays.
#[test]
fn an_orthographic_photo_is_kept_or_refused() {
    let (_folder, mut dataset) = painted();
    dataset.entries[0].camera.lens = Lens::Orthographic;
    assert_eq!(
        dataset
            .load_views(&[0], &as_taken(), &|_, _| {})
            .unwrap()
            .len(),
        1
    );
    let error = dataset.load_views(&[0], &LoadOptions::default(), &|_, _| {});
    assert_contains!(error.unwrap_err(), "view_0000.png", "orthographic");
}
