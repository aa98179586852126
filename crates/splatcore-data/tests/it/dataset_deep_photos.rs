//! Photos of more than 8 bits, and of formats that have no decoder here.

use crate::dataset_support::{colmap_text, load_all, open, pattern, save};
use image::{ImageBuffer, Rgb, Rgba};
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions};
use std::path::Path;

const PINHOLE: &str = "1 PINHOLE 64 48 60 61 32 24\n";
const POINTS: &str = "1 0 0 1 9 8 7 0.1 1 1\n";

/// Linear light of the sRGB values beside it (IEC 61966-2-1), and what lies outside.
const LINEAR: [(f32, u8); 6] = [
    (0.0, 0),
    (0.014_443_8, 32),
    (0.215_861, 128),
    (1.0, 255),
    (12.5, 255),
    (-0.3, 0),
];

fn load_error(dataset: &Dataset) -> String {
    let error = dataset.load_views(&[0], &LoadOptions::default(), &|_, _| {});
    let error = error.unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn tiff_of_8_and_16_bits_keeps_its_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "deep.tif"), (1, "shallow")], POINTS);
    let photo = pattern(64, 48);
    let deep = ImageBuffer::from_fn(64, 48, |x, y| {
        // Rounded, and not cut, to 8 bits.
        Rgb(photo.get_pixel(x, y).0.map(|v| v as u16 * 257 - 100))
    });
    save(
        image::DynamicImage::ImageRgb16(deep),
        &root.join("images/deep.tif"),
    );
    save(photo.clone(), &root.join("images/shallow.TIFF"));
    let dataset = open(root);
    assert_eq!(dataset.entries[1].name, "shallow.TIFF");
    for view in load_all(&dataset) {
        assert_eq!(&view.photo.rgb, photo.as_raw(), "{}", view.name);
    }
}

#[test]
fn exr_is_put_on_srgbs_curve_and_its_alpha_is_associated() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "alpha.exr"), (1, "light.exr")], POINTS);
    let light = ImageBuffer::from_fn(64, 48, |x, y| {
        Rgb([0, 1, 2].map(|c: usize| LINEAR[(x as usize + y as usize + c) % 6].0))
    });
    save(
        image::DynamicImage::ImageRgb32F(light),
        &root.join("images/light.exr"),
    );
    // Half covered by light of sRGB 128.
    let alpha = ImageBuffer::from_fn(64, 48, |_, _| Rgba([0.5 * 0.215_861; 4].map(|v| v)));
    let alpha = ImageBuffer::from_fn(64, 48, |x, y| {
        let Rgba([r, g, b, _]) = *alpha.get_pixel(x, y);
        Rgba([r, g, b, 0.5f32])
    });
    save(
        image::DynamicImage::ImageRgba32F(alpha),
        &root.join("images/alpha.exr"),
    );
    let dataset = open(root);
    assert!(dataset.unusable_photos().is_empty());
    let views = load_all(&dataset);
    for (i, pixel) in views[1].photo.rgb.chunks_exact(3).enumerate() {
        let wanted = [0, 1, 2].map(|c| LINEAR[(i % 64 + i / 64 + c) % 6].1);
        assert_eq!(pixel, wanted);
    }
    // 128 half over black, then half over white.
    assert!(
        views[0].photo.rgb.iter().all(|&v| v == 64),
        "{:?}",
        &views[0].photo.rgb[..3]
    );
    let white = LoadOptions {
        background: [1.0; 3],
        ..LoadOptions::default()
    };
    let views = dataset.load_views(&[0], &white, &|_, _| {}).unwrap();
    assert!(views[0].photo.rgb.iter().all(|&v| v.abs_diff(191) <= 1));
    let kept = LoadOptions {
        keep_alpha: true,
        keep_lens: false,
        ..LoadOptions::default()
    };
    let views = dataset.load_views(&[0], &kept, &|_, _| {}).unwrap();
    assert!(
        views[0]
            .photo
            .alpha
            .as_ref()
            .unwrap()
            .iter()
            .all(|&v| v == 128)
    );
    assert!(views[0].photo.rgb.iter().all(|&v| v == 64));
}

#[test]
fn photos_without_a_decoder_say_how_to_convert_them() {
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic and so on";
    let avif = b"\0\0\0\x18ftypavif\0\0\0\0mif1avif and so on";
    for (name, bytes, parts) in [
        ("IMG_1.HEIC", &heic[..], ["HEIC", "heif-convert"]),
        ("a.avif", avif, ["AVIF", "avifdec"]),
        ("a.jxl", b"\xff\x0a\0\0", ["JPEG XL", "djxl"]),
        ("a.nef", b"MM\0*\0\0\0\x08", ["raw", "develop"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        colmap_text(root, PINHOLE, &[(1, name)], POINTS);
        let path = root.join("images").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let dataset = open(root);
        for line in [load_error(&dataset), dataset.unusable_photos().remove(0)] {
            assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        }
        // Also where the name has no ending, as with labels of Metashape.
        let stem = Path::new(name).file_stem().unwrap().to_str().unwrap();
        if name != "a.nef" {
            colmap_text(root, PINHOLE, &[(1, stem)], POINTS);
            assert_eq!(open(root).entries.len(), 1, "{name}");
        }
        // Without cameras the photos are the matter, not the missing cameras.
        std::fs::remove_dir_all(root.join("sparse")).unwrap();
        let error = Dataset::open(root, &OpenOptions::default()).unwrap_err();
        let line = error.to_string();
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        assert!(line.contains(name) && error.depends_on.is_none(), "{line}");
    }
}

#[test]
fn deep_photos_that_are_cut_short_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a.tif", "a.exr"] {
        colmap_text(root, PINHOLE, &[(1, name)], POINTS);
        let path = root.join("images").join(name);
        match name {
            "a.tif" => save(pattern(64, 48), &path),
            _ => save(
                image::DynamicImage::ImageRgb8(pattern(64, 48)).into_rgb32f(),
                &path,
            ),
        }
        load_all(&open(root));
        let good = std::fs::read(&path).unwrap();
        for cut in [good.len() / 2, good.len() / 8, 9] {
            std::fs::write(&path, &good[..cut]).unwrap();
            let line = load_error(&open(root));
            assert!(
                line.contains("cannot be decoded") || line.contains("not an image"),
                "{line}"
            );
        }
    }
}

#[test]
fn an_exr_that_declares_more_than_it_can_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    colmap_text(root, PINHOLE, &[(1, "a.exr")], POINTS);
    let path = root.join("images/a.exr");
    let photo = image::DynamicImage::ImageRgb8(pattern(64, 48)).into_rgb32f();
    save(photo, &path);
    let mut bytes = std::fs::read(&path).unwrap();
    let after = |bytes: &[u8], name: &[u8]| {
        let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
        // The value follows name, type and size.
        at + name.len() + 4
    };
    for name in [&b"dataWindow\0box2i\0"[..], b"displayWindow\0box2i\0"] {
        let corner = after(&bytes, name) + 8;
        bytes[corner..corner + 4].copy_from_slice(&5999i32.to_le_bytes());
        bytes[corner + 4..corner + 8].copy_from_slice(&5999i32.to_le_bytes());
    }
    let chunks = after(&bytes, b"chunkCount\0int\0");
    // Tiles of 64x64 pixels.
    let more = 94i32 * 94;
    bytes[chunks..chunks + 4].copy_from_slice(&more.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let line = load_error(&open(root));
    assert_contains!(line, "6000x6000 pixels declared");
}
