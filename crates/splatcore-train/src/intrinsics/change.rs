//! A change of a camera's intrinsics.

use splatcore_core::lens::{POWERS, Projection};
use splatcore_core::{Camera, IntrinsicsGradient};

/// Numbers of a lens, in the order and the units of [`IntrinsicsGradient`].
pub type Numbers = [f64; IntrinsicsGradient::NUMBERS];

/// What has become of the intrinsics that some photos share.
#[derive(Clone, Debug, PartialEq)]
pub struct LensChange {
    /// Views of these photos.
    pub photos: Vec<usize>,
    /// One of their cameras, as the dataset has it.
    pub before: Camera,
    /// The same with the present intrinsics.
    pub after: Camera,
    /// A number has been at its limit.
    pub at_limit: bool,
}

impl LensChange {
    /// A camera as its lens is now known; as it is if none of the lenses is its.
    pub fn of(changes: &[Self], camera: &Camera) -> Camera {
        let known = changes
            .iter()
            .find(|lens| lens.before.same_intrinsics(camera));
        known.map_or_else(
            || camera.clone(),
            |lens| Camera {
                rotation: camera.rotation,
                translation: camera.translation,
                shutter: camera.shutter,
                ..lens.after.clone()
            },
        )
    }

    /// The dataset's camera of a photo that was made smaller by resizing alone, with what was found
    /// of the smaller one.
    pub fn of_original(&self, original: &Camera) -> Camera {
        let (before, after) = (&self.before, &self.after);
        Camera {
            fx: original.fx * after.fx / before.fx,
            fy: original.fy * after.fy / before.fy,
            cx: original.cx + (after.cx - before.cx) * original.fx / before.fx,
            cy: original.cy + (after.cy - before.cy) * original.fy / before.fy,
            lens: after.lens,
            ..original.clone()
        }
    }
}

/// A camera after a change, whose numbers are in the order and the units of
/// [`splatcore_core::IntrinsicsGradient`].
pub(super) fn changed(camera: &Camera, by: &Numbers) -> Camera {
    if *by == [0.0; _] {
        return camera.clone();
    }
    let [fx, fy, cx, cy, lens @ ..] = by;
    Camera {
        fx: camera.fx * fx.exp(),
        fy: camera.fy * fy.exp(),
        cx: camera.cx + cx * f64::from(camera.width),
        cy: camera.cy + cy * f64::from(camera.height),
        lens: camera.lens.adjusted(lens),
        ..camera.clone()
    }
}

/// By how much each number moves where the rate is 1. A coefficient that the dataset has as 0 stays
/// 0. Where a lens shows points further than 1 from the axis of its plane, high powers grow beyond
/// all measure: there a coefficient moves by as much less as its term grows faster than the
/// distance, so that no rate moves the image's edge by more than this share of its distance.
pub(super) fn scales(camera: &Camera) -> Numbers {
    let mut scales = [1.0; _];
    let polynomial = camera.lens.polynomial().unwrap_or_default();
    let edge = Projection::new(camera).map_or(1.0, |projection| projection.edge.max(1.0));
    let coefficients = polynomial.coefficients().into_iter().zip(POWERS);
    for (scale, (coefficient, power)) in scales[4..].iter_mut().zip(coefficients) {
        *scale = match coefficient {
            0.0 => 0.0,
            _ => edge.powi(1 - power),
        };
    }
    scales
}
