//! From a frame's numbers to a camera.

use super::json::Intrinsics;
use crate::dataset::colmap::LARGEST_SIDE;
use crate::dataset::lens::Lens;
use crate::dataset::lens_camera::LensCamera;
use splatcore_core::Camera;

/// Models whose formula is OpenCV's with some coefficients 0. A model that is not named is one of
/// these too.
const PERSPECTIVE: [&str; 7] = [
    "OPENCV",
    "FULL_OPENCV",
    "PINHOLE",
    "SIMPLE_PINHOLE",
    "SIMPLE_RADIAL",
    "RADIAL",
    "PERSPECTIVE",
];
const FISHEYE: [&str; 6] = [
    "OPENCV_FISHEYE",
    "FISHEYE",
    "SIMPLE_FISHEYE",
    "SIMPLE_RADIAL_FISHEYE",
    "RADIAL_FISHEYE",
    "PERSPECTIVE_FISHEYE",
];

/// The lens that the coefficients describe, or the name of a model that is not known.
pub(super) fn lens(i: &Intrinsics) -> Result<Lens, String> {
    let model = i.camera_model.as_deref().unwrap_or("OPENCV");
    let fisheye = FISHEYE.contains(&model) || i.is_fisheye == Some(true);
    if !fisheye && !PERSPECTIVE.contains(&model) {
        return Err(model.to_owned());
    }
    let value = |v: Option<f64>| v.unwrap_or(0.0);
    let [k1, k2, k3, k4, k5, k6] = [i.k1, i.k2, i.k3, i.k4, i.k5, i.k6].map(value);
    if fisheye {
        return Ok(Lens::Fisheye {
            k: [k1, k2, k3, k4],
            p: [0.0; 2],
            s: [0.0; 2],
        });
    }
    let lens = Lens::OpenCv {
        k: [k1, k2, k3, k4, k5, k6],
        p: [value(i.p1), value(i.p2)],
    };
    Ok(lens.simplified())
}

/// The declared size, if both sides are declared and make sense.
pub(super) fn size(i: &Intrinsics) -> Option<(u32, u32)> {
    let side = |v: f64| (v >= 1.0 && v <= LARGEST_SIDE as f64).then_some(v.round() as u32);
    Some((side(i.w?)?, side(i.h?)?))
}

/// Camera of a frame at a size. Errors say what is missing or wrong.
pub(super) fn camera(
    i: &Intrinsics,
    lens: Lens,
    size: (u32, u32),
    matrix: &[Vec<f64>],
) -> Result<LensCamera, String> {
    let (width, height) = (size.0 as f64, size.1 as f64);
    let from_angle = |side: f64, angle: f64| 0.5 * side / (0.5 * angle).tan();
    let fx = i.fl_x.or(i.camera_angle_x.map(|a| from_angle(width, a)));
    let fy = i.fl_y.or(i.camera_angle_y.map(|a| from_angle(height, a)));
    let (fx, fy) = match (fx, fy) {
        (Some(fx), Some(fy)) => (fx, fy),
        (Some(f), None) | (None, Some(f)) => (f, f),
        (None, None) => return Err("neither fl_x nor camera_angle_x is given".into()),
    };
    let (rotation, translation) = world_to_camera(matrix)?;
    Ok(LensCamera {
        camera: Camera {
            width: size.0,
            height: size.1,
            fx,
            fy,
            cx: i.cx.unwrap_or(width / 2.0),
            cy: i.cy.unwrap_or(height / 2.0),
            rotation,
            translation,
        },
        lens,
    })
}

type Pose = ([[f64; 3]; 3], [f64; 3]);

/// World-to-camera pose in OpenCV axes from camera-to-world in OpenGL axes. A uniform scale of the
/// rotation is divided out.
pub(super) fn world_to_camera(matrix: &[Vec<f64>]) -> Result<Pose, String> {
    if !(3..=4).contains(&matrix.len()) || matrix.iter().any(|row| row.len() != 4) {
        return Err("transform_matrix is not 4x4 or 3x4".into());
    }
    if matrix.iter().flatten().any(|v| !v.is_finite()) {
        return Err("transform_matrix is not finite".into());
    }
    let m = |r: usize, c: usize| matrix[r][c];
    // Columns of the camera-to-world rotation are rows of its inverse; y and z change sign with the
    // axes.
    let sign = [1.0, -1.0, -1.0];
    let rows: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| sign[i] * m(j, i)));
    let det = rows[0][0] * (rows[1][1] * rows[2][2] - rows[1][2] * rows[2][1])
        - rows[0][1] * (rows[1][0] * rows[2][2] - rows[1][2] * rows[2][0])
        + rows[0][2] * (rows[1][0] * rows[2][1] - rows[1][1] * rows[2][0]);
    let scale = det.abs().cbrt();
    if !(scale > 1e-9 && scale.is_finite()) {
        return Err("the rotation in transform_matrix is degenerate".into());
    }
    let rotation = rows.map(|row| row.map(|v| v / scale));
    let eye = [m(0, 3), m(1, 3), m(2, 3)];
    let translation = std::array::from_fn(|i| {
        -(rotation[i][0] * eye[0] + rotation[i][1] * eye[1] + rotation[i][2] * eye[2])
    });
    Ok((rotation, translation))
}
