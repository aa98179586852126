//! Maps of normals: formats, axes, masks, beside depths, and what is refused.

use crate::dataset_support::{self, npy_file, open, photos, save, write};
use image::{GrayImage, ImageBuffer, Luma, Rgb};
use splatcore_core::View;
use splatcore_core::camera::dot;
use splatcore_core::depth::DepthMap;
use splatcore_data::dataset::{DepthOptions, LoadOptions, NormalFrame, NormalOptions};
use std::path::Path;

const WIDTH: u32 = 8;
const HEIGHT: u32 = 6;

/// Camera axes of OpenCV, towards the camera; one unknown.
fn normal(i: u32) -> [f32; 3] {
    let (x, y) = (
        0.05 * (i % WIDTH) as f32 - 0.2,
        0.1 - 0.06 * (i / WIDTH) as f32,
    );
    match i {
        11 => [0.0; 3],
        _ => [x, y, -(1.0 - x * x - y * y).sqrt()],
    }
}

fn normals() -> Vec<[f32; 3]> {
    (0..WIDTH * HEIGHT).map(normal).collect()
}

/// A number of an image of integers up to `most`.
fn number(value: f32, most: f32) -> f32 {
    (0.5 * value + 0.5) * most + 0.5
}

fn png8() -> ImageBuffer<Rgb<u8>, Vec<u8>> {
    ImageBuffer::from_fn(WIDTH, HEIGHT, |x, y| {
        Rgb(normal(x + WIDTH * y).map(|v| number(v, 255.0) as u8))
    })
}

fn png16() -> ImageBuffer<Rgb<u16>, Vec<u16>> {
    ImageBuffer::from_fn(WIDTH, HEIGHT, |x, y| {
        Rgb(normal(x + WIDTH * y).map(|v| number(v, 65535.0) as u16))
    })
}

fn npy(shape: &str, values: &[f32]) -> Vec<u8> {
    let body: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy_file(1, "<f4", false, shape, &body)
}

/// x of all pixels, then y, then z.
fn planes() -> Vec<f32> {
    (0..3)
        .flat_map(|k| normals().into_iter().map(move |n| n[k]))
        .collect()
}

fn load(root: &Path, frame: NormalFrame, depths: bool) -> Result<Vec<View>, String> {
    let options = LoadOptions {
        normals: Some(NormalOptions {
            folder: None,
            frame,
        }),
        depths: depths.then(DepthOptions::default),
        ..LoadOptions::default()
    };
    dataset_support::load(&open(root), &options)
}

fn map_of(view: &View) -> &DepthMap {
    let map = view.photo.depth.as_ref().expect("a map");
    assert!(map.is_sound());
    map
}

fn is_what_was_written(map: &DepthMap, tolerance: f32) {
    assert_eq!([map.width, map.height], [WIDTH, HEIGHT]);
    assert!(map.inverse.iter().all(|&q| q == 0.0));
    for (i, (found, wanted)) in map.normals.iter().zip(normals()).enumerate() {
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < tolerance, "{i}: {found} {wanted}");
        }
    }
}

#[test]
fn all_formats_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(
        root,
        &[
            "a.png", "b.png", "c.png", "d.png", "e.png", "f.png", "g.png",
        ],
        "",
    );
    let values = normals();
    save(png8(), &root.join("normals/a.png"));
    save(png16(), &root.join("normal/b.png"));
    write(
        root,
        "normals/c.npy",
        npy("(6, 8, 3)", values.as_flattened()),
    );
    write(root, "normals/d.npy", npy("(1, 3, 6, 8)", &planes()));
    let mut colmap = b"8&6&3&".to_vec();
    colmap.extend(planes().iter().flat_map(|v| v.to_le_bytes()));
    write(root, "stereo/normal_maps/e.png.geometric.bin", &colmap);
    let pixel = |x: usize, y: usize| {
        let [x, y, z] = normal(x as u32 + WIDTH * y as u32);
        (x, y, z)
    };
    let exr = root.join("normals/f.exr");
    exr::prelude::write_rgb_file(exr, WIDTH as usize, HEIGHT as usize, pixel).unwrap();
    let views = load(root, NormalFrame::OpenCv, false).unwrap();
    is_what_was_written(map_of(&views[0]), 0.01);
    is_what_was_written(map_of(&views[1]), 1e-4);
    for view in &views[2..6] {
        is_what_was_written(map_of(view), 1e-6);
    }
    assert!(views[6].photo.depth.is_none());
}

#[test]
fn axes_are_those_that_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png"], "");
    let camera = open(root).entries[0].camera.clone();
    let opengl: Vec<f32> = normals()
        .iter()
        .flat_map(|&[x, y, z]| [x, -y, -z])
        .collect();
    let to_world = |n: [f32; 3]| {
        let n = n.map(f64::from);
        [0, 1, 2].map(|k| dot([0, 1, 2].map(|row| camera.rotation[row][k]), n) as f32)
    };
    let world: Vec<f32> = normals().into_iter().flat_map(to_world).collect();
    for (frame, values) in [(NormalFrame::OpenGl, opengl), (NormalFrame::World, world)] {
        write(root, "normals/a.npy", npy("(6, 8, 3)", &values));
        is_what_was_written(map_of(&load(root, frame, false).unwrap()[0]), 1e-6);
    }
    // The last file is of the world; as one of a camera with z back it points away.
    write(
        root,
        "normals/a.npy",
        npy("(6, 8, 3)", normals().as_flattened()),
    );
    let error = load(root, NormalFrame::OpenGl, false).unwrap_err();
    assert_contains!(error, "a.npy", "point away");
}

#[test]
fn normals_stand_beside_depths_where_photos_count() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png", "b.png"], "");
    write(
        root,
        "normals/a.npy",
        npy("(6, 8, 3)", normals().as_flattened()),
    );
    // Twice the size.
    let depths = ImageBuffer::from_pixel(16, 12, Luma([2000u16]));
    save(depths, &root.join("depths/a.png"));
    let counts = GrayImage::from_fn(16, 12, |_, y| Luma([if y < 4 { 0 } else { 255 }]));
    save(counts, &root.join("masks/a.png"));
    let views = load(root, NormalFrame::OpenCv, true).unwrap();
    let map = map_of(&views[0]);
    assert_eq!([map.width, map.height], [16, 12]);
    for y in 0..12 {
        for x in 0..16 {
            let at = (16 * y + x) as usize;
            assert_eq!(map.inverse[at] > 0.0, y >= 4, "{x} {y}");
            let i = WIDTH * (y / 2) + x / 2;
            let wanted = if y < 4 { [0.0; 3] } else { normal(i) };
            let off = (0..3).map(|k| (map.normals[at][k] - wanted[k]).abs());
            assert!(off.fold(0.0f32, f32::max) < 1e-5, "{x} {y}");
        }
    }
    assert!(views[1].photo.depth.is_none());
}

#[test]
fn bad_maps_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    photos(root, &["a.png"], "");
    let error = load(root, NormalFrame::OpenCv, false).unwrap_err();
    assert!(error.contains("no photo has normals") && error.contains("stereo/normal_maps"));
    let says = |wanted: &str| {
        let error = load(root, NormalFrame::OpenCv, false).unwrap_err();
        assert_contains!(error, wanted);
        assert!(
            error.contains("normals/a.npy") || error.contains("normals/a.png"),
            "{error}"
        );
    };
    write(root, "normals/a.npy", npy("(6, 8)", &[0.5; 48]));
    says("three numbers for each pixel");
    write(
        root,
        "normals/a.npy",
        npy("(8, 6, 3)", normals().as_flattened()),
    );
    says("another shape");
    write(root, "normals/a.npy", npy("(6, 8, 3)", &[0.5; 100]));
    says("400 bytes follow");
    std::fs::remove_file(root.join("normals/a.npy")).unwrap();
    save(GrayImage::new(WIDTH, HEIGHT), &root.join("normals/a.png"));
    says("one number a pixel");
}
