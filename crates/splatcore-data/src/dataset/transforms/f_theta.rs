//! Cameras of NVIDIA's f-theta model, whose polynomial is of pixels.

use super::f_theta_keys::Keys;
use super::json::Intrinsics;
use crate::dataset::finding::{Finding, number};
use crate::words::quoted;
use serde::Deserialize;
use splatcore_core::Camera;
use splatcore_core::lens::{FThetaCamera, Reference};

/// Names of the model, in capitals.
const NAMES: [&str; 3] = ["FTHETA", "F_THETA", "F-THETA"];
const FORWARD: &str = "angle_to_pixeldist_poly";
const BACKWARD: &str = "pixeldist_to_angle_poly";

/// Whether the numbers are of this model: by its name, or by its keys where no model is named.
pub(super) fn is_meant(i: &Intrinsics) -> bool {
    let keys = &i.f_theta;
    match &i.camera_model {
        Some(spelled) => NAMES.contains(&spelled.to_ascii_uppercase().as_str()),
        None => {
            keys.ftheta_p1.is_some()
                || keys.angle_to_pixeldist_poly.is_some()
                || keys.pixeldist_to_angle_poly.is_some()
        }
    }
}

/// The camera with its lens; focal lengths are those of the polynomial.
pub(super) fn camera(i: &Intrinsics, camera: Camera) -> Result<Camera, Finding> {
    let keys = &i.f_theta;
    let (reference, name, polynomial) = polynomial(keys)?;
    if let Some(odd) = polynomial.iter().find(|c| !c.is_finite()) {
        return Err(Finding::refused(name, number(*odd), "finite numbers"));
    }
    if let Some(angle) = keys
        .max_angle
        .filter(|&angle| angle.is_nan() || angle <= 0.0)
    {
        return Err(Finding::refused("max_angle", number(angle), "above 0"));
    }
    let linear = linear(keys)?;
    let [cx, cy] = match &keys.principal_point {
        None => [camera.cx, camera.cy],
        Some(point) => match <[f64; 2]>::deserialize(point) {
            Ok(point) => point.map(|v| v + 0.5),
            Err(_) => {
                let (value, expected) = (quoted(&point.to_string()), "two numbers");
                return Err(Finding::refused("principal_point", value, expected));
            }
        },
    };
    let model = FThetaCamera {
        reference,
        polynomial,
        linear,
        max_angle: keys.max_angle,
    };
    let camera = model.camera(Camera { cx, cy, ..camera });
    camera.map_err(|(value, expected)| Finding::refused(name, value, expected))
}

/// The one that was calibrated, if both are given.
fn polynomial(keys: &Keys) -> Result<(Reference, &'static str, Vec<f64>), Finding> {
    let forward = keys.angle_to_pixeldist_poly.clone();
    let backward = match keys.pixeldist_to_angle_poly.clone() {
        Some(backward) => Some((BACKWARD, backward)),
        None => keys
            .listed()
            .map(|listed| ("ftheta_p0 to ftheta_p5", listed)),
    };
    let wants_forward = match keys.reference_poly.as_deref() {
        Some("ANGLE_TO_PIXELDIST") => true,
        None | Some("PIXELDIST_TO_ANGLE") => false,
        Some(other) => {
            let expected = "ANGLE_TO_PIXELDIST or PIXELDIST_TO_ANGLE";
            return Err(Finding::refused("reference_poly", quoted(other), expected));
        }
    };
    match (forward, backward) {
        (Some(forward), backward) if wants_forward || backward.is_none() => {
            Ok((Reference::AngleToPixels, FORWARD, forward))
        }
        (_, Some((name, backward))) => Ok((Reference::PixelsToAngle, name, backward)),
        _ => {
            let expected = "angle_to_pixeldist_poly or pixeldist_to_angle_poly";
            Err(Finding::refused("the polynomial", "not given", expected))
        }
    }
}

/// c, d and e; all 0 stands for none.
fn linear(keys: &Keys) -> Result<[f64; 3], Finding> {
    let Some(given) = &keys.linear_cde else {
        return Ok([1.0, 0.0, 0.0]);
    };
    match <[f64; 3]>::try_from(given.as_slice()) {
        Ok([0.0, 0.0, 0.0]) => Ok([1.0, 0.0, 0.0]),
        Ok([c, d, e]) if c > 0.0 && c - d * e > 0.0 && (c + d + e).is_finite() => Ok([c, d, e]),
        _ => {
            let spelled: Vec<String> = given.iter().take(4).map(|&v| number(v)).collect();
            let expected = "c, d, e with c and c - d e above 0";
            Err(Finding::refused("linear_cde", spelled.join(" "), expected))
        }
    }
}
