//! How far two sets of poses of the same photos are apart, up to a similarity.

use splatcore_core::Camera;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_data::dataset::Dataset;

type Matrix = [[f64; 3]; 3];

/// The largest differences between two sets of poses.
#[derive(Debug)]
pub struct Difference {
    /// Photos that both sets hold.
    pub photos: usize,
    /// Between directions of cameras, in degrees.
    pub rotation: f64,
    /// Between positions, as a share of the cameras' mean distance from their centre.
    pub position: f64,
}

/// Compares datasets photo by photo, after the similarity that brings the positions of `a` closest
/// to those of `b` (Horn, "Closed-form solution of absolute orientation using unit quaternions",
/// JOSA A 1987).
pub fn difference(a: &Dataset, b: &Dataset) -> Difference {
    let pairs: Vec<(&Camera, &Camera)> = a
        .entries
        .iter()
        .filter_map(|entry| {
            let other = b.entries.iter().find(|other| other.name == entry.name)?;
            Some((&entry.camera, &other.camera))
        })
        .collect();
    let count = pairs.len() as f64;
    let [from, to] = [0, 1].map(|side| -> Vec<[f64; 3]> {
        let position = |pair: &(&Camera, &Camera)| {
            if side == 0 {
                pair.0.position()
            } else {
                pair.1.position()
            }
        };
        pairs.iter().map(position).collect()
    });
    let centre = |points: &[[f64; 3]]| -> [f64; 3] {
        std::array::from_fn(|i| points.iter().map(|p| p[i]).sum::<f64>() / count)
    };
    let (from_centre, to_centre) = (centre(&from), centre(&to));
    let centred = |points: &[[f64; 3]], c: [f64; 3]| -> Vec<[f64; 3]> {
        points
            .iter()
            .map(|p| std::array::from_fn(|i| p[i] - c[i]))
            .collect()
    };
    let (from, to) = (centred(&from, from_centre), centred(&to, to_centre));
    let squares = |points: &[[f64; 3]]| points.iter().flatten().map(|v| v * v).sum::<f64>();
    let scale = (squares(&to) / squares(&from)).sqrt();
    let turn = rotation(&from, &to);
    let size = to.iter().map(|p| length(*p)).sum::<f64>() / count;
    let position = from
        .iter()
        .zip(&to)
        .map(|(f, t)| {
            let moved = apply(&turn, *f).map(|v| v * scale);
            length(std::array::from_fn(|i| moved[i] - t[i])) / size
        })
        .fold(0.0, f64::max);
    // World to camera: a camera of `a` sees a point of `b`'s world turned back.
    let rotation = pairs
        .iter()
        .map(|(x, y)| {
            // The trace of (Ra turn^T) Rb^T.
            let trace: f64 = (0..3)
                .map(|i| {
                    let row = apply(&turn, x.rotation[i]);
                    (0..3).map(|k| row[k] * y.rotation[i][k]).sum::<f64>()
                })
                .sum();
            ((trace - 1.0) / 2.0).clamp(-1.0, 1.0).acos().to_degrees()
        })
        .fold(0.0, f64::max);
    Difference {
        photos: pairs.len(),
        rotation,
        position,
    }
}

/// The rotation that brings centred points closest to others.
fn rotation(from: &[[f64; 3]], to: &[[f64; 3]]) -> Matrix {
    let s = |i: usize, j: usize| from.iter().zip(to).map(|(f, t)| f[i] * t[j]).sum::<f64>();
    let (xx, yy, zz) = (s(0, 0), s(1, 1), s(2, 2));
    let (yz, zx, xy) = (s(1, 2) - s(2, 1), s(2, 0) - s(0, 2), s(0, 1) - s(1, 0));
    let (pxy, pzx, pyz) = (s(0, 1) + s(1, 0), s(2, 0) + s(0, 2), s(1, 2) + s(2, 1));
    let mut n = [
        [xx + yy + zz, yz, zx, xy],
        [yz, xx - yy - zz, pxy, pzx],
        [zx, pxy, yy - xx - zz, pyz],
        [xy, pzx, pyz, zz - xx - yy],
    ];
    // A shift makes the largest eigenvalue the largest in size; powers of the matrix then keep only
    // its vector.
    let shift: f64 = n.iter().flatten().map(|v| v.abs()).sum();
    for i in 0..4 {
        n[i][i] += shift;
    }
    for _ in 0..60 {
        let most = n.iter().flatten().fold(0.0f64, |most, v| most.max(v.abs()));
        let m: [[f64; 4]; 4] = n.map(|row| row.map(|v| v / most));
        n = std::array::from_fn(|i| {
            std::array::from_fn(|j| (0..4).map(|k| m[i][k] * m[k][j]).sum())
        });
    }
    let longest = (0..4).max_by(|&a, &b| n[a][a].total_cmp(&n[b][b])).unwrap();
    rotation_from_quaternion(n[longest]).unwrap()
}

fn apply(m: &Matrix, p: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| (0..3).map(|k| m[i][k] * p[k]).sum())
}

fn length(p: [f64; 3]) -> f64 {
    p.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[test]
fn a_similarity_is_no_difference_and_a_turned_camera_is() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg"];
    crate::model::write(&folder.path().join("sparse/0"), &names, 9, 0.5);
    for name in names {
        crate::fake::photo(&folder.path().join("images").join(name));
    }
    let a = Dataset::open(folder.path(), &Default::default()).unwrap();
    let mut b = a.clone();
    let turn = rotation_from_quaternion([0.3, -0.5, 0.7, 0.2]).unwrap();
    for entry in &mut b.entries {
        let camera = &mut entry.camera;
        // x' = 3 T x + (1, 2, 3): R' = R T^T, t' = 3 t - R' (1, 2, 3).
        camera.rotation = camera.rotation.map(|row| apply(&turn, row));
        let shift = apply(&camera.rotation, [1.0, 2.0, 3.0]);
        camera.translation = std::array::from_fn(|i| 3.0 * camera.translation[i] - shift[i]);
    }
    let none = difference(&a, &b);
    assert!(
        none.photos == 5 && none.rotation < 1e-5 && none.position < 1e-9,
        "{none:?}"
    );
    let camera = &mut b.entries[2].camera;
    let (sin, cos) = 2f64.to_radians().sin_cos();
    let old = camera.position();
    let [x, y, z] = camera.rotation;
    camera.rotation = [
        std::array::from_fn(|i| cos * x[i] + sin * y[i]),
        std::array::from_fn(|i| cos * y[i] - sin * x[i]),
        z,
    ];
    camera.translation = apply(&camera.rotation, old).map(|v| -v);
    let some = difference(&a, &b);
    assert!(
        (some.rotation - 2.0).abs() < 1e-6 && some.position < 1e-9,
        "{some:?}"
    );
}
