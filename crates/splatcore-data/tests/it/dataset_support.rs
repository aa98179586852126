//! What the dataset tests share: the folder of real data, and small datasets made on the spot.

use image::{Rgb, RgbImage};
use proptest::prelude::*;
use proptest::sample::Index;
use splatcore_core::View;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions};
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
pub use splatcore_test_support::{shared, shared_all};
use std::path::Path;
use tempfile::TempDir;

/// Photos stay as they were taken.
pub fn as_taken() -> LoadOptions {
    LoadOptions {
        keep_lens: true,
        ..LoadOptions::default()
    }
}

/// A smooth pattern that tells positions apart.
pub fn pattern(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let wave = |v: u32, n: f64| (127.5 + 100.0 * (v as f64 / n).sin()) as u8;
        Rgb([wave(x, 7.0), wave(y, 9.0), wave(x + y, 11.0)])
    })
}

/// A COLMAP text dataset: `cameras` lines, and one image line `camera name` each.
pub fn colmap_text(root: &Path, cameras: &str, images: &[(u32, &str)], points: &str) {
    let model = root.join("sparse/0");
    std::fs::create_dir_all(&model).unwrap();
    std::fs::write(model.join("cameras.txt"), cameras).unwrap();
    let lines: String = images
        .iter()
        .enumerate()
        .map(|(i, (camera, name))| format!("{} 1 0 0 0 {i} 0 4 {camera} {name}\n\n", i + 1))
        .collect();
    std::fs::write(model.join("images.txt"), format!("# comment\n{lines}")).unwrap();
    std::fs::write(model.join("points3D.txt"), points).unwrap();
}

/// Photos of 16 x 12 pixels of a camera at (-i, 0, -4) that looks along z, and points.
pub fn photos(root: &Path, names: &[&str], points: &str) {
    let images: Vec<(u32, &str)> = names.iter().map(|name| (1, *name)).collect();
    colmap_text(root, "1 PINHOLE 16 12 20 20 8 6\n", &images, points);
    for name in names {
        save(pattern(16, 12), &root.join("images").join(name));
    }
}

/// Writes a file, making folders.
pub fn write(root: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A `.npy` file as numpy.save writes it.
pub fn npy_file(major: u8, descr: &str, by_columns: bool, shape: &str, body: &[u8]) -> Vec<u8> {
    let order = if by_columns { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let prefix = if major == 1 { 10 } else { 12 };
    while (prefix + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([major, 0]);
    match major {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

/// Saves an image, making folders.
pub fn save(image: impl Into<image::DynamicImage>, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    image.into().save(path).unwrap();
}

/// Loads everything.
pub fn load(dataset: &Dataset, options: &LoadOptions) -> Result<Vec<View>, String> {
    let all: Vec<usize> = (0..dataset.entries.len()).collect();
    let views = dataset.load_views(&all, options, &|_, _| {});
    views.map_err(|error| error.to_string())
}

/// Loads everything without scaling.
pub fn load_all(dataset: &Dataset) -> Vec<View> {
    load(dataset, &LoadOptions::default()).unwrap()
}

/// Little-endian bytes of a COLMAP binary model with one SIMPLE_RADIAL camera, two images, three
/// points.
pub fn binary_model() -> [Vec<u8>; 3] {
    let f64s =
        |out: &mut Vec<u8>, values: &[f64]| values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    let mut cameras = 1u64.to_le_bytes().to_vec();
    cameras.extend(7u32.to_le_bytes());
    cameras.extend(2u32.to_le_bytes());
    cameras.extend(64u64.to_le_bytes());
    cameras.extend(48u64.to_le_bytes());
    f64s(&mut cameras, &[60.0, 32.0, 24.0, -0.05]);
    let mut images = 2u64.to_le_bytes().to_vec();
    for (id, name) in [(1u32, "a b/one.png"), (2, "two.png")] {
        images.extend(id.to_le_bytes());
        f64s(&mut images, &[2.0, 0.0, 0.0, 0.0, id as f64, 0.0, 4.0]);
        images.extend(7u32.to_le_bytes());
        images.extend(name.as_bytes());
        images.push(0);
        images.extend(2u64.to_le_bytes());
        images.extend([0; 48]);
    }
    let mut points = 3u64.to_le_bytes().to_vec();
    for id in 1..=3u64 {
        points.extend(id.to_le_bytes());
        f64s(
            &mut points,
            &[id as f64, 0.5, if id == 2 { f64::NAN } else { 1.0 }],
        );
        points.extend([10 * id as u8, 20, 30]);
        f64s(&mut points, &[0.1]);
        points.extend(id.to_le_bytes());
        points.extend(vec![0; 8 * id as usize]);
    }
    [cameras, images, points]
}

type Matrix = [[f64; 3]; 3];

/// Rotation about an axis by an angle (Rodrigues' formula), rows.
pub fn rotation(axis: [f64; 3], angle: f64) -> Matrix {
    let length = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
    let [x, y, z] = axis.map(|v| v / length);
    let (s, c) = angle.sin_cos();
    let cross = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    let axis = [x, y, z];
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let unit = (i == j) as u8 as f64;
            c * unit + s * cross[i][j] + (1.0 - c) * axis[i] * axis[j]
        })
    })
}

/// Matrix times vector.
pub fn times(m: Matrix, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// Sum of vectors.
pub fn plus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// Points in front of a camera, in its own axes: to the right, down, forward.
pub const IN_VIEW: [[f64; 3]; 5] = [
    [0.0, 0.0, 2.0],
    [0.31, -0.22, 1.7],
    [-0.52, 0.11, 2.4],
    [0.41, 0.43, 3.1],
    [-0.08, -0.36, 0.9],
];

/// Checks that a camera sees world points at pixels.
pub fn assert_projects(
    camera: &splatcore_core::Camera,
    pairs: impl IntoIterator<Item = ([f64; 3], [f64; 2])>,
) {
    assert_eq!(camera.defect(), None);
    let mut checked = 0;
    for (point, want) in pairs {
        let got = camera.project(point).unwrap();
        let off = (got[0] - want[0]).hypot(got[1] - want[1]);
        assert!(off < 1e-6, "{point:?} is at {got:?}, should be at {want:?}");
        checked += 1;
    }
    assert!(checked > 0);
}

/// An ascii PLY of grey points.
pub fn ply(points: &[[f64; 3]]) -> String {
    let mut text = format!(
        "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty \
         float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
        points.len()
    );
    for [x, y, z] in points {
        text += &format!("{x} {y} {z} 1 2 3\n");
    }
    text
}

/// A painted dataset, and the folder that holds it.
pub fn painted(options: &ProceduralOptions) -> (TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    write_dataset(folder.path(), options, &|_, _| {}).unwrap();
    let dataset = open(folder.path());
    (folder, dataset)
}

/// Opens a dataset with the default options.
pub fn open(root: &Path) -> Dataset {
    Dataset::open(root, &OpenOptions::default()).unwrap()
}

/// The error of opening a dataset, one line.
pub fn open_error(root: &Path) -> String {
    let error = Dataset::open(root, &OpenOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

/// Where a file is changed, by what, and how.
type Edit = (Index, u8, u8);

/// Changes of any file.
pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<Index>(), any::<u8>(), 0u8..6), 1..8)
}

/// A file after changes.
pub fn edited(mut bytes: Vec<u8>, edits: Vec<Edit>) -> Vec<u8> {
    for (at, value, kind) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match kind {
            0 => bytes[at] = value,
            1 => bytes[at] ^= 1 << (value % 8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, value),
            // A number grows.
            4 => drop(bytes.splice(at..at, *b"99")),
            _ => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(value | 0x80);
            }
        }
    }
    bytes
}
