//! COLMAP's text model: `cameras.txt`, `images.txt`, `points3D.txt`.
//!
//! Format: <https://colmap.github.io/format.html>. Poses are world to camera, quaternions w x y z;
//! image ids and point ids count from 1.

use super::render::Point;
use crate::DataError;
use crate::dataset::colmap::camera_model;
use crate::file::write_atomically;
use splatcore_core::Camera;
use splatcore_core::linear::quaternion_from_rotation;
use std::io::Write;
use std::path::Path;

/// Writes the three files into `folder`; `names[i]` is the photo of `cameras[i]`, and all cameras
/// share the intrinsics of the first. `images.txt` comes last: without it a folder is no dataset.
/// Of a lens that COLMAP does not have only the points are written.
pub(super) fn write(
    folder: &Path,
    cameras: &[Camera],
    names: &[String],
    points: &[Point],
) -> Result<(), DataError> {
    let model = cameras.first().and_then(camera_model);
    if let Some(model) = &model {
        write_atomically(&folder.join("cameras.txt"), |w| {
            writeln!(w, "# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[] (fx fy cx cy)")?;
            writeln!(w, "1 {model}")
        })?;
    }

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

    if model.is_none() {
        return Ok(());
    }
    write_atomically(&folder.join("images.txt"), |w| {
        writeln!(w, "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME")?;
        writeln!(w, "# POINTS2D[] (X Y POINT3D_ID)")?;
        for (i, (camera, name)) in cameras.iter().zip(names).enumerate() {
            let [qw, qx, qy, qz] = quaternion_from_rotation(&camera.rotation);
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
