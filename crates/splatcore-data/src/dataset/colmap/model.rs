//! COLMAP's camera models and what its files hold.

use crate::dataset::found::Points;
use crate::{DataError, Place};
use splatcore_core::{Camera, Lens, panorama};
use std::collections::BTreeMap;
use std::path::Path;

/// One line of `cameras`. The pose is the identity.
#[derive(Clone, Debug, PartialEq)]
pub struct ColmapCamera {
    /// As images refer to it.
    pub id: u32,
    /// Size, intrinsics and lens.
    pub camera: Camera,
}

/// The cameras of a file.
#[derive(Debug, Default)]
pub(super) struct Cameras {
    /// Those of models that are known.
    pub known: Vec<ColmapCamera>,
    /// Of the others the id, the model, and what to say if it is needed.
    pub unknown: Vec<(u32, String, DataError)>,
}

impl Cameras {
    /// # Errors
    /// One is of a model that is not known.
    pub fn all(self) -> Result<Vec<ColmapCamera>, DataError> {
        match self.unknown.into_iter().next() {
            Some((_, _, error)) => Err(error),
            None => Ok(self.known),
        }
    }

    /// Adds one whose model is not known.
    pub fn add_unknown(&mut self, id: u32, model: String, path: &Path, place: Place) {
        let names = known();
        let remedy =
            format!("undistort the photos with COLMAP's image_undistorter, or use {names}");
        let problem = format!("unknown camera model {model}");
        let error = DataError::new(path, problem, remedy).at(place);
        self.unknown.push((id, model, error));
    }
}

/// One image of `images`, without its 2D points.
#[derive(Clone, Debug, PartialEq)]
pub struct ColmapImage {
    /// As tracks refer to it.
    pub id: u32,
    /// Path relative to the image folder.
    pub name: String,
    /// Id of its camera.
    pub camera: u32,
    /// World-to-camera rotation w, x, y, z as stored, of any length.
    pub quaternion: [f64; 4],
    /// World-to-camera translation.
    pub translation: [f64; 3],
}

/// A 2D point of an image that belongs to a 3D point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sighting {
    /// The centre of the first pixel is (0.5, 0.5).
    pub pixel: [f64; 2],
    /// Id of the 3D point.
    pub point: u64,
}

/// A 3D point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ModelPoint {
    /// As images refer to it.
    pub id: u64,
    /// World units; may be non-finite.
    pub position: [f64; 3],
    /// sRGB.
    pub colour: [u8; 3],
    /// How many 2D points its track has.
    pub photos: u64,
}

/// Tells the points of a file one after another; the path is for messages.
pub(super) type EachPoint = fn(&[u8], &Path, &mut dyn FnMut(ModelPoint)) -> Result<(), DataError>;

/// The places and colours of a file's points.
pub(super) fn points(each: EachPoint, bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    let mut points = Points::default();
    each(bytes, path, &mut |point| {
        points.positions.push(point.position.map(|v| v as f32));
        points.colours.push(point.colour);
    })?;
    Ok(points)
}

/// How well a model fits its photos.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// Number of points.
    pub points: u64,
    /// Mean over the points of their reprojection error, in pixels; points without an error (a
    /// negative or non-finite one) do not count. 0 if there are none.
    pub mean_error: f64,
    /// How many points each image shows, by the image's id.
    pub of_images: BTreeMap<u32, u64>,
}

/// id, name, number of parameters.
const MODELS: [(i32, &str, usize); 18] = [
    (0, "SIMPLE_PINHOLE", 3),
    (1, "PINHOLE", 4),
    (2, "SIMPLE_RADIAL", 4),
    (3, "RADIAL", 5),
    (4, "OPENCV", 8),
    (5, "OPENCV_FISHEYE", 8),
    (6, "FULL_OPENCV", 12),
    (7, "FOV", 5),
    (8, "SIMPLE_RADIAL_FISHEYE", 4),
    (9, "RADIAL_FISHEYE", 5),
    (10, "THIN_PRISM_FISHEYE", 12),
    (11, "RAD_TAN_THIN_PRISM_FISHEYE", 16),
    (12, "SIMPLE_DIVISION", 4),
    (13, "DIVISION", 5),
    (14, "SIMPLE_FISHEYE", 3),
    (15, "FISHEYE", 4),
    (16, "EUCM", 6),
    (EQUIRECTANGULAR, "EQUIRECTANGULAR", 2),
];

/// Its parameters are the size of the image, which shows all around; it has no focal length.
const EQUIRECTANGULAR: i32 = 17;

/// A side as a camera holds it. Whether it can be one is not judged here, as a camera that no photo
/// uses does no harm.
pub(super) fn side(pixels: u64) -> u32 {
    u32::try_from(pixels).unwrap_or(u32::MAX)
}

/// COLMAP's number for a model's name.
pub(super) fn id_of(name: &str) -> Option<i32> {
    MODELS.iter().find(|m| m.1 == name).map(|m| m.0)
}

/// How many parameters a model has; `None` for one that is not known.
pub fn parameter_count(id: i32) -> Option<usize> {
    MODELS.iter().find(|m| m.0 == id).map(|m| m.2)
}

/// The names of the models.
pub(super) fn known() -> String {
    let names: Vec<_> = MODELS.iter().map(|m| m.1).collect();
    format!("one of {}", names.join(", "))
}

/// The camera of a model and its parameters, in COLMAP's order. `None` if the model is unknown or
/// the number of parameters is not its own.
pub(super) fn camera(model: i32, width: u32, height: u32, parameters: &[f64]) -> Option<Camera> {
    if parameter_count(model)? != parameters.len() {
        return None;
    }
    let unposed = Camera {
        cx: 0.0,
        cy: 0.0,
        ..Camera::pinhole(width, height, 1.0)
    };
    if model == EQUIRECTANGULAR {
        return Some(panorama::whole(&unposed, width, height));
    }
    let one_focal = matches!(model, 0 | 2 | 3 | 8 | 9 | 12 | 14);
    let (fx, rest) = parameters.split_first()?;
    let (fy, rest) = if one_focal {
        (fx, rest)
    } else {
        rest.split_first()?
    };
    let ([cx, cy], rest) = rest.split_first_chunk::<2>()?;
    let lens = match (model, rest) {
        (0 | 1, []) => Lens::Pinhole,
        (2, &[k]) => Lens::OpenCv {
            k: [k, 0.0, 0.0, 0.0, 0.0, 0.0],
            p: [0.0; 2],
            s: [0.0; 4],
        },
        (3, &[k1, k2]) => Lens::OpenCv {
            k: [k1, k2, 0.0, 0.0, 0.0, 0.0],
            p: [0.0; 2],
            s: [0.0; 4],
        },
        (4, &[k1, k2, p1, p2]) => Lens::OpenCv {
            k: [k1, k2, 0.0, 0.0, 0.0, 0.0],
            p: [p1, p2],
            s: [0.0; 4],
        },
        (6, &[k1, k2, p1, p2, k3, k4, k5, k6]) => Lens::OpenCv {
            k: [k1, k2, k3, k4, k5, k6],
            p: [p1, p2],
            s: [0.0; 4],
        },
        (7, &[omega]) => Lens::Fov { omega },
        (14 | 15, []) => fisheye([0.0; 4]),
        (8, &[k]) => fisheye([k, 0.0, 0.0, 0.0]),
        (9, &[k1, k2]) => fisheye([k1, k2, 0.0, 0.0]),
        (5, &[k1, k2, k3, k4]) => fisheye([k1, k2, k3, k4]),
        (10, &[k1, k2, p1, p2, k3, k4, sx, sy]) => Lens::Fisheye {
            k: [k1, k2, k3, k4],
            p: [p1, p2],
            s: [sx, sy],
        },
        (11, &[k0, k1, k2, k3, k4, k5, p0, p1, s0, s1, s2, s3]) => Lens::RadTanThinPrism {
            k: [k0, k1, k2, k3, k4, k5],
            p: [p0, p1],
            s: [s0, s1, s2, s3],
        },
        (12 | 13, &[k]) => Lens::Division { k },
        (16, &[alpha, beta]) => Lens::Eucm { alpha, beta },
        _ => return None,
    };
    Some(Camera {
        fx: *fx,
        fy: *fy,
        cx: *cx,
        cy: *cy,
        lens: lens.simplified(),
        ..unposed
    })
}

fn fisheye(k: [f64; 4]) -> Lens {
    Lens::Fisheye {
        k,
        p: [0.0; 2],
        s: [0.0; 2],
    }
}
