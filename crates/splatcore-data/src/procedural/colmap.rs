//! COLMAP's text model: `cameras.txt`, `images.txt`, `points3D.txt`.
//!
//! Format: <https://colmap.github.io/format.html>. Poses are world to camera, quaternions w x y z;
//! image ids and point ids count from 1.

use super::render::Point;
use crate::DataError;
use crate::file::write_atomically;
use splatcore_core::Camera;
use std::io::Write;
use std::path::Path;

/// Writes the three files into `folder`; `names[i]` is the photo of `cameras[i]`, and all cameras
/// share the intrinsics of the first. `images.txt` comes last: without it a folder is no dataset.
pub(super) fn write(
    folder: &Path,
    cameras: &[Camera],
    names: &[String],
    points: &[Point],
) -> Result<(), DataError> {
    write_atomically(&folder.join("cameras.txt"), |w| {
        writeln!(w, "# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[] (fx fy cx cy)")?;
        match cameras.first() {
            Some(c) => writeln!(
                w,
                "1 PINHOLE {} {} {} {} {} {}",
                c.width, c.height, c.fx, c.fy, c.cx, c.cy
            ),
            None => Ok(()),
        }
    })?;

    // The index of each observation within its image, as it will stand in images.txt.
    let mut seen: Vec<Vec<(usize, [f64; 2])>> = vec![Vec::new(); cameras.len()];
    write_atomically(&folder.join("points3D.txt"), |w| {
        writeln!(
            w,
            "# POINT3D_ID X Y Z R G B ERROR TRACK[] (IMAGE_ID POINT2D_IDX)"
        )?;
        for (i, point) in points.iter().enumerate() {
            let ([x, y, z], [r, g, b]) = (point.position, point.colour);
            write!(
                w,
                "{} {x:.7} {y:.7} {z:.7} {r} {g} {b} {:.4}",
                i + 1,
                point.error
            )?;
            for &(view, pixel) in &point.track {
                write!(w, " {} {}", view + 1, seen[view].len())?;
                seen[view].push((i + 1, pixel));
            }
            writeln!(w)?;
        }
        Ok(())
    })?;

    write_atomically(&folder.join("images.txt"), |w| {
        writeln!(w, "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME")?;
        writeln!(w, "# POINTS2D[] (X Y POINT3D_ID)")?;
        for (i, (camera, name)) in cameras.iter().zip(names).enumerate() {
            let [qw, qx, qy, qz] = quaternion(&camera.rotation);
            let [tx, ty, tz] = camera.translation;
            writeln!(w, "{} {qw} {qx} {qy} {qz} {tx} {ty} {tz} 1 {name}", i + 1)?;
            let line: Vec<String> = seen[i]
                .iter()
                .map(|(id, [x, y])| format!("{x:.3} {y:.3} {id}"))
                .collect();
            writeln!(w, "{}", line.join(" "))?;
        }
        Ok(())
    })
}

/// Quaternion w x y z, w not negative, of a rotation matrix in rows. The largest of the four
/// components is found first, so that nothing divides by a small number (Shepperd 1978).
pub(super) fn quaternion(m: &[[f64; 3]; 3]) -> [f64; 4] {
    let trace = m[0][0] + m[1][1] + m[2][2];
    let fours = [trace, m[0][0], m[1][1], m[2][2]].map(|d| 1.0 + 2.0 * d - trace);
    let largest = (0..4).fold(0, |best, i| if fours[i] > fours[best] { i } else { best });
    // Products of pairs of components, times four.
    let (wx, wy, wz) = (m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]);
    let (xy, xz, yz) = (m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]);
    let q = match largest {
        0 => [fours[0], wx, wy, wz],
        1 => [wx, fours[1], xy, xz],
        2 => [wy, xy, fours[2], yz],
        _ => [wz, xz, yz, fours[3]],
    };
    let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let sign = if q[0] < 0.0 { -1.0 } else { 1.0 };
    q.map(|v| sign * v / norm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::camera::rotation_from_quaternion;
    use splatcore_core::random::Rng;

    #[test]
    fn quaternions_give_their_rotation_back() {
        let mut rng = Rng::new(1, 1);
        for i in 0..200 {
            let mut q: [f64; 4] = std::array::from_fn(|_| rng.normal() as f64);
            // Half turns about an axis, where w is 0 and a naive formula fails.
            if i % 4 == 0 {
                q[0] = 0.0;
            }
            let rotation = rotation_from_quaternion(q).unwrap();
            let back = rotation_from_quaternion(quaternion(&rotation)).unwrap();
            for (a, b) in rotation.iter().flatten().zip(back.iter().flatten()) {
                assert!((a - b).abs() < 1e-12, "{q:?}");
            }
        }
    }
}
