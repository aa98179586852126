//! From a frame's numbers to a camera.

use super::f_theta;
use super::json::Intrinsics;
use crate::dataset::finding::Finding;
use crate::dataset::plausible::values;
use crate::dataset::pose::{Axes, Pose};
use crate::words::quoted;
use splatcore_core::{Camera, Lens, panorama};
use std::f64::consts::PI;

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
/// Equidistant fisheyes.
const FISHEYE: [&str; 7] = [
    "OPENCV_FISHEYE",
    "FISHEYE",
    "SIMPLE_FISHEYE",
    "SIMPLE_RADIAL_FISHEYE",
    "RADIAL_FISHEYE",
    "PERSPECTIVE_FISHEYE",
    "THIN_PRISM_FISHEYE",
];
/// Project Aria's, two names for one.
const FISHEYE624: [&str; 2] = ["FISHEYE624", "RAD_TAN_THIN_PRISM_FISHEYE"];
/// Models of nerfstudio whose rays begin at many places.
const STEREO: [&str; 4] = [
    "OMNIDIRECTIONALSTEREO_L",
    "OMNIDIRECTIONALSTEREO_R",
    "VR180_L",
    "VR180_R",
];
/// A panorama this near to twice as wide as high shows all around.
const ASPECT_OFF: f64 = 0.01;

/// What is wrong with a frame's lens, and what to do.
#[derive(Debug, PartialEq)]
pub(super) struct LensProblem {
    pub problem: String,
    pub remedy: &'static str,
    /// The same of a photo.
    pub finding: Box<Finding>,
}

/// The lens that the coefficients describe; that of an f-theta camera depends on its size
/// ([`f_theta::camera`]).
pub(super) fn lens(i: &Intrinsics) -> Result<Lens, LensProblem> {
    if f_theta::is_meant(i) {
        return Ok(Lens::Pinhole);
    }
    let spelled = i.camera_model.as_deref().unwrap_or("OPENCV");
    let model = spelled.to_ascii_uppercase();
    let is = |models: &[&str]| models.contains(&model.as_str());
    if is(&FISHEYE624) {
        return fisheye624(i);
    }
    match model.as_str() {
        "EQUIRECTANGULAR" => return Ok(Lens::Equirectangular),
        "ORTHOPHOTO" => return Ok(Lens::Orthographic),
        _ => {}
    }
    if is(&STEREO) {
        return Err(LensProblem {
            problem: format!("the camera model {model} has an eye for each column of the photo"),
            remedy: "render or export the photos as EQUIRECTANGULAR, from one place each",
            finding: Box::new(Finding::refused(
                "camera_model",
                model,
                "EQUIRECTANGULAR, from one place",
            )),
        });
    }
    let fisheye = is(&FISHEYE) || i.is_fisheye == Some(true);
    if !fisheye && !is(&PERSPECTIVE) {
        return Err(LensProblem {
            problem: format!("unknown camera model {}", quoted(spelled)),
            remedy: "undistort the photos, or use OPENCV, OPENCV_FISHEYE, FISHEYE624, FTHETA, \
                     PINHOLE, EQUIRECTANGULAR or ORTHOPHOTO",
            finding: Box::new(Finding::refused(
                "camera_model",
                quoted(spelled),
                "OPENCV, OPENCV_FISHEYE, FISHEYE624, FTHETA, PINHOLE, EQUIRECTANGULAR or \
                 ORTHOPHOTO; undistort the photo otherwise",
            )),
        });
    }
    let listed = i.distortion_params.as_deref().unwrap_or_default();
    // nerfstudio's order of a list: k1, k2, k3, k4, p1, p2.
    let value = |own: Option<f64>, at: usize| own.or(listed.get(at).copied()).unwrap_or(0.0);
    let k = [
        value(i.k1, 0),
        value(i.k2, 1),
        value(i.k3, 2),
        value(i.k4, 3),
    ];
    let p = [value(i.p1, 4), value(i.p2, 5)];
    if fisheye {
        return Ok(match model.as_str() {
            "THIN_PRISM_FISHEYE" => Lens::Fisheye {
                k,
                p,
                s: [i.sx1.unwrap_or(0.0), i.sy1.unwrap_or(0.0)],
            },
            _ => Lens::Fisheye {
                k,
                p: [0.0; 2],
                s: [0.0; 2],
            },
        });
    }
    let [k1, k2, k3, k4] = k;
    let lens = Lens::OpenCv {
        k: [k1, k2, k3, k4, i.k5.unwrap_or(0.0), i.k6.unwrap_or(0.0)],
        p,
        s: [0.0; 4],
    };
    Ok(lens.simplified())
}

fn fisheye624(i: &Intrinsics) -> Result<Lens, LensProblem> {
    let listed = i.distortion_params.as_deref().unwrap_or_default();
    let Ok(&[k0, k1, k2, k3, k4, k5, p0, p1, s0, s1, s2, s3]) = <&[f64; 12]>::try_from(listed)
    else {
        return Err(LensProblem {
            problem: format!(
                "FISHEYE624 needs 12 numbers in distortion_params, {} are given",
                listed.len()
            ),
            remedy: "write k0 to k5, p0, p1 and s0 to s3, as nerfstudio does for Project Aria",
            finding: Box::new(Finding::refused(
                "distortion_params",
                format!("{} numbers", listed.len()),
                "k0 to k5, p0, p1 and s0 to s3 of FISHEYE624",
            )),
        });
    };
    Ok(Lens::RadTanThinPrism {
        k: [k0, k1, k2, k3, k4, k5],
        p: [p0, p1],
        s: [s0, s1, s2, s3],
    })
}

/// The declared size, if both sides are declared.
pub(super) fn size(i: &Intrinsics) -> Option<Result<(u32, u32), Finding>> {
    Some(values::size(i.w?, i.h?))
}

/// Camera of a frame at a size; else what is missing or wrong.
pub(super) fn camera(
    i: &Intrinsics,
    lens: Lens,
    size: (u32, u32),
    pose: Option<(&str, &[Vec<f64>])>,
) -> Result<Camera, Finding> {
    let (width, height) = (size.0 as f64, size.1 as f64);
    let whole = lens == Lens::Equirectangular && (width / (2.0 * height) - 1.0).abs() < ASPECT_OFF;
    let from_angle = |side: f64, angle: f64| 0.5 * side / (0.5 * angle).tan();
    let fx = i.fl_x.or(i.camera_angle_x.map(|a| from_angle(width, a)));
    let fy = i.fl_y.or(i.camera_angle_y.map(|a| from_angle(height, a)));
    let (fx, fy) = match (fx, fy) {
        (Some(fx), Some(fy)) => (fx, fy),
        (Some(f), None) | (None, Some(f)) => (f, f),
        // What files say of it is of no use, and replaced below.
        (None, None) if whole || f_theta::is_meant(i) => (1.0, 1.0),
        (None, None) => {
            let expected = "fl_x or camera_angle_x";
            return Err(Finding::refused("the focal length", "not given", expected));
        }
    };
    let Some((name, matrix)) = pose else {
        let expected = "the pose of the camera";
        return Err(Finding::refused("transform_matrix", "not given", expected));
    };
    let pose = self::pose(name, matrix)?;
    // nerfstudio's focal length of a panorama is the side over which an angle grows by pi.
    let (fx, fy) = match lens {
        Lens::Equirectangular => (fx / PI, fy / PI),
        _ => (fx, fy),
    };
    let camera = Camera {
        width: size.0,
        height: size.1,
        fx,
        fy,
        cx: i.cx.unwrap_or(width / 2.0),
        cy: i.cy.unwrap_or(height / 2.0),
        rotation: pose.rotation,
        translation: pose.translation,
        lens,
        shutter: None,
    };
    if f_theta::is_meant(i) {
        return f_theta::camera(i, camera);
    }
    Ok(match whole {
        true => panorama::whole(&camera, size.0, size.1),
        false => camera,
    })
}

/// The pose that a matrix called `name` is.
pub(super) fn pose(name: &str, matrix: &[Vec<f64>]) -> Result<Pose, Finding> {
    let rows = rows(matrix)
        .ok_or_else(|| Finding::refused(name, "not 4x4 or 3x4", "rows of four numbers"))?;
    if let Some(last) = matrix.get(3) {
        values::last_row(name, last)?;
    }
    Pose::from_camera_to_world(&rows, Axes::OpenGl)
        .map_err(|problem| values::no_pose(name, problem))
}

/// The upper three rows of a 3x4 or 4x4 matrix.
pub(super) fn rows(matrix: &[Vec<f64>]) -> Option<[[f64; 4]; 3]> {
    if !(3..=4).contains(&matrix.len()) || matrix.iter().any(|row| row.len() != 4) {
        return None;
    }
    let mut rows = [[0.0; 4]; 3];
    for (row, given) in rows.iter_mut().zip(matrix) {
        *row = given.as_slice().try_into().ok()?;
    }
    Some(rows)
}
