//! COLMAP models made on the spot.

use std::path::Path;

/// Writes a model of photos that stand on a circle around the origin and look at it; each shows
/// `points` points, which all have the same reprojection error.
pub fn write(folder: &Path, names: &[&str], points: u64, error: f64) {
    let half = |i: usize| i as f64 * std::f64::consts::PI / names.len() as f64;
    let turned = (0..names.len()).map(|i| [half(i).cos(), 0.0, half(i).sin(), 0.0]);
    let turned: Vec<_> = turned.collect();
    write_seen(folder, names, &turned, (points, error), &|_, _| None);
}

/// The same with the photos' rotations, as quaternions `w, x, y, z`, and with where each photo, by
/// its number, shows a point.
pub fn write_seen(
    folder: &Path,
    names: &[&str],
    rotations: &[[f64; 4]],
    (points, error): (u64, f64),
    see: &dyn Fn(usize, [f64; 3]) -> Option<[f64; 2]>,
) {
    let place = |point: u64| [0, 1, 2].map(|axis| ((point + axis) as f64 * 0.1).sin());
    std::fs::create_dir_all(folder).unwrap();
    let mut cameras = 1u64.to_le_bytes().to_vec();
    cameras.extend(1u32.to_le_bytes());
    cameras.extend(1u32.to_le_bytes()); // PINHOLE
    cameras.extend(64u64.to_le_bytes());
    cameras.extend(48u64.to_le_bytes());
    for parameter in [60.0f64, 60.0, 32.0, 24.0] {
        cameras.extend(parameter.to_le_bytes());
    }
    let mut images = (names.len() as u64).to_le_bytes().to_vec();
    for (i, name) in names.iter().enumerate() {
        images.extend((i as u32 + 1).to_le_bytes());
        for value in rotations[i].into_iter().chain([0.0, 0.0, 5.0]) {
            images.extend(value.to_le_bytes());
        }
        images.extend(1u32.to_le_bytes());
        images.extend(name.as_bytes());
        images.push(0);
        let seen = (0..points).filter_map(|point| see(i, place(point)).map(|at| (at, point)));
        let seen: Vec<_> = seen.collect();
        images.extend((seen.len() as u64).to_le_bytes());
        for (pixel, point) in seen {
            images.extend(pixel.into_iter().flat_map(f64::to_le_bytes));
            images.extend(point.to_le_bytes());
        }
    }
    let mut cloud = points.to_le_bytes().to_vec();
    for point in 0..points {
        cloud.extend(point.to_le_bytes());
        cloud.extend(place(point).into_iter().flat_map(f64::to_le_bytes));
        cloud.extend([200, 100, 50]);
        cloud.extend(error.to_le_bytes());
        cloud.extend((names.len() as u64).to_le_bytes());
        for i in 0..names.len() {
            cloud.extend((i as u32 + 1).to_le_bytes());
            cloud.extend((point as u32).to_le_bytes());
        }
    }
    for (name, bytes) in [
        ("cameras.bin", cameras),
        ("images.bin", images),
        ("points3D.bin", cloud),
    ] {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
