//! A COLMAP model as text, which COLMAP, INRIA's and gsplat's programs read: cameras, images and
//! points, without the points' tracks.

use crate::DataError;
use crate::dataset::found::Points;
use crate::file::write_atomically;
use splatcore_core::linear::quaternion_from_rotation;
use splatcore_core::{Camera, Lens, panorama};
use std::io::Write;
use std::path::Path;

/// Writes `cameras.txt`, `points3D.txt` and at last `images.txt` into a folder that exists; photos
/// by their names below the folder of images. Photos with the same intrinsics share a camera.
///
/// # Errors
/// If COLMAP has no model of a lens, or the disk does not take the files.
pub fn write(folder: &Path, photos: &[(&str, &Camera)], points: &Points) -> Result<(), DataError> {
    let mut cameras: Vec<(&Camera, String)> = Vec::new();
    let mut camera_of = Vec::with_capacity(photos.len());
    for (name, camera) in photos {
        let known = cameras.iter().position(|(c, _)| c.same_intrinsics(camera));
        camera_of.push(match known {
            Some(at) => at + 1,
            None => {
                cameras.push((
                    camera,
                    model(camera).ok_or_else(|| unknown(folder, name, camera))?,
                ));
                cameras.len()
            }
        });
    }
    write_atomically(&folder.join("cameras.txt"), |w| {
        writeln!(w, "# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]")?;
        for (at, (_, line)) in cameras.iter().enumerate() {
            writeln!(w, "{} {line}", at + 1)?;
        }
        Ok(())
    })?;
    write_atomically(&folder.join("points3D.txt"), |w| {
        writeln!(w, "# POINT3D_ID X Y Z R G B ERROR TRACK[] (none)")?;
        let colours = points.colours.iter().chain(std::iter::repeat(&[128; 3]));
        for (at, ([x, y, z], [r, g, b])) in points.positions.iter().zip(colours).enumerate() {
            writeln!(w, "{} {x} {y} {z} {r} {g} {b} 0", at + 1)?;
        }
        Ok(())
    })?;
    write_atomically(&folder.join("images.txt"), |w| {
        writeln!(w, "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME")?;
        writeln!(w, "# POINTS2D[] (none)")?;
        for (at, ((name, camera), number)) in photos.iter().zip(&camera_of).enumerate() {
            let [qw, qx, qy, qz] = quaternion_from_rotation(&camera.rotation);
            let [tx, ty, tz] = camera.translation;
            writeln!(
                w,
                "{} {qw} {qx} {qy} {qz} {tx} {ty} {tz} {number} {name}\n",
                at + 1
            )?;
        }
        Ok(())
    })
}

fn unknown(folder: &Path, name: &str, camera: &Camera) -> DataError {
    let problem = format!(
        "COLMAP has no camera model for the lens '{}' of '{name}'",
        camera.lens.name()
    );
    DataError::new(folder, problem, "undistort the photos")
}

/// Model, size and parameters as a line of `cameras.txt` has them; `None` if COLMAP has no model of
/// the lens.
pub fn model(camera: &Camera) -> Option<String> {
    let (w, h) = (camera.width, camera.height);
    if panorama::is_whole(camera) {
        return Some(format!("EQUIRECTANGULAR {w} {h} {w} {h}"));
    }
    let (name, coefficients): (&str, Vec<f64>) = match camera.lens {
        Lens::Pinhole => ("PINHOLE", Vec::new()),
        Lens::OpenCv { k, p, s } if s == [0.0; 4] => match k[2..] == [0.0; 4] {
            true => ("OPENCV", vec![k[0], k[1], p[0], p[1]]),
            false => {
                let rest = [k[0], k[1], p[0], p[1], k[2], k[3], k[4], k[5]];
                ("FULL_OPENCV", rest.to_vec())
            }
        },
        Lens::Fisheye { k, p, s } if (p, s) == ([0.0; 2], [0.0; 2]) => {
            ("OPENCV_FISHEYE", k.to_vec())
        }
        Lens::Fisheye { k, p, s } => {
            let all = [k[0], k[1], p[0], p[1], k[2], k[3], s[0], s[1]];
            ("THIN_PRISM_FISHEYE", all.to_vec())
        }
        Lens::RadTanThinPrism { k, p, s } => {
            let all = k.into_iter().chain(p).chain(s);
            ("RAD_TAN_THIN_PRISM_FISHEYE", all.collect())
        }
        _ => return None,
    };
    let mut line = format!(
        "{name} {w} {h} {} {} {} {}",
        camera.fx, camera.fy, camera.cx, camera.cy
    );
    for coefficient in coefficients {
        line.push_str(&format!(" {coefficient}"));
    }
    Some(line)
}
