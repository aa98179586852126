//! What EXIF data say of photos' exposures.

use crate::dataset_support::{colmap_text, open, pattern, save};
use splatcore_data::dataset::Exposures;
use std::path::Path;

/// EXIF data: the offset of their directory, then exposure time and f-number as fractions and the
/// ISO speed, big-endian or little-endian.
fn tiff(big: bool, time: [u32; 2], f_number: [u32; 2], speed: u16) -> Vec<u8> {
    let two = |v: u16| {
        if big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let four = |v: u32| {
        if big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let entry = |tag: u16, kind: u16, value: [u8; 4]| {
        [&two(tag)[..], &two(kind), &four(1), &value].concat()
    };
    let short = |v: u16| [two(v), [0; 2]].concat().try_into().unwrap();
    let (start, values) = (26, 26 + 2 + 3 * 12 + 4);
    let mut all = if big {
        b"MM\0*".to_vec()
    } else {
        b"II*\0".to_vec()
    };
    all.extend(four(8));
    all.extend([&two(1)[..], &entry(0x8769, 4, four(start)), &four(0)].concat());
    all.extend(two(3));
    all.extend(entry(0x829A, 5, four(values)));
    all.extend(entry(0x829D, 5, four(values + 8)));
    all.extend(entry(0x8827, 3, short(speed)));
    all.extend(four(0));
    all.extend([time, f_number].concat().into_iter().flat_map(four));
    all
}

fn save_with(exif: Option<&[u8]>, path: &Path) {
    save(pattern(64, 48), path);
    let jpeg = std::fs::read(path).unwrap();
    let Some(exif) = exif else {
        return;
    };
    let mut segment = vec![0xFF, 0xE1];
    segment.extend((exif.len() as u16 + 8).to_be_bytes());
    segment.extend(b"Exif\0\0");
    segment.extend(exif);
    std::fs::write(path, [&jpeg[..2], &segment, &jpeg[2..]].concat()).unwrap();
}

fn exposures(photos: &[Option<Vec<u8>>]) -> Exposures {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let names: Vec<String> = (0..photos.len()).map(|i| format!("{i}.jpg")).collect();
    let images: Vec<(u32, &str)> = names.iter().map(|name| (1, name.as_str())).collect();
    colmap_text(root, "1 PINHOLE 64 48 60 61 32 24\n", &images, "");
    for (photo, name) in photos.iter().zip(&names) {
        save_with(photo.as_deref(), &root.join("images").join(name));
    }
    let all: Vec<usize> = (0..photos.len()).collect();
    open(root).exposures(&all)
}

#[test]
fn stops_are_of_time_aperture_and_speed() {
    let found = exposures(&[
        Some(tiff(true, [1, 100], [4, 1], 100)),
        Some(tiff(false, [1, 50], [4, 1], 100)),
        Some(tiff(true, [1, 100], [8, 1], 100)),
        Some(tiff(false, [10, 1000], [40, 10], 400)),
        Some(tiff(true, [1, 100], [4, 1], 100)),
        None,
    ]);
    let wanted = [Some(0.0), Some(1.0), Some(-2.0), Some(2.0), Some(0.0), None];
    for (found, wanted) in found.stops.iter().zip(wanted) {
        let off = found.unwrap_or(9.0) - wanted.unwrap_or(9.0);
        assert!(
            found.is_some() == wanted.is_some() && off.abs() < 1e-5,
            "{found:?} {wanted:?}"
        );
    }
    assert!(found.nonsense.is_empty());
}

#[test]
fn nonsense_is_named_and_ignored() {
    let right = || Some(tiff(true, [1, 100], [4, 1], 100));
    let mut broken = tiff(true, [1, 100], [4, 1], 100);
    broken.truncate(30);
    let found = exposures(&[
        right(),
        Some(tiff(true, [0, 1], [4, 1], 100)),
        Some(tiff(true, [1, 0], [4, 1], 100)),
        Some(tiff(true, [1, 100], [0, 0], 100)),
        Some(tiff(true, [1, 100], [4, 1], 0)),
        // Possible, but no photo of this capture.
        Some(tiff(true, [600, 1], [1, 1], 100)),
        right(),
        Some(broken),
        right(),
    ]);
    assert_eq!(
        found.nonsense,
        ["1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg"]
    );
    let known: Vec<bool> = found.stops.iter().map(Option::is_some).collect();
    let of = |i: usize| [0, 6, 8].contains(&i);
    assert_eq!(known, (0..9).map(of).collect::<Vec<bool>>());
    assert_eq!(exposures(&[None, None]).stops, [None, None]);
}
