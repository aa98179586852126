//! COLMAP models made on the spot.

use std::path::Path;

/// Writes a model of photos that stand on a circle around the origin and look at it; each shows
/// `points` points, which all have the same reprojection error.
pub fn write(folder: &Path, names: &[&str], points: u64, error: f64) {
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
        let half = i as f64 * std::f64::consts::PI / names.len() as f64;
        for value in [half.cos(), 0.0, half.sin(), 0.0, 0.0, 0.0, 5.0] {
            images.extend(value.to_le_bytes());
        }
        images.extend(1u32.to_le_bytes());
        images.extend(name.as_bytes());
        images.push(0);
        images.extend(0u64.to_le_bytes());
    }
    let mut cloud = points.to_le_bytes().to_vec();
    for point in 0..points {
        cloud.extend(point.to_le_bytes());
        for axis in 0..3 {
            cloud.extend(((point + axis) as f64 * 0.1).sin().to_le_bytes());
        }
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
