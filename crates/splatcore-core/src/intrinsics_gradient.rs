//! The gradient of a scalar with respect to a camera's intrinsics.
//!
//! Whatever the lens, `pixel = focal length * plane + principal point`. So all pixels of a splat's
//! sigma points move with the focal lengths in proportion to their distance from the principal
//! point, and a splat's mean and covariance with them; a principal point moves the mean alone. Of a
//! pinhole only the clamp of EWA's Jacobian, which has a limit in pixels, does not follow. The
//! coefficients of a lens move each sigma point by itself.
//!
//! A lens is continued beyond the image (`lens/projection.rs`). Where that begins, and how fast the
//! image grows there, is held: points beyond move with the polynomial at the place where it ends.

use crate::lens::COEFFICIENTS;

/// dL/d(intrinsics), in units that do not depend on the size of the image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntrinsicsGradient {
    /// By the logarithms of the focal lengths along x and y.
    pub focal: [f64; 2],
    /// By the principal point, x as a share of the width, y of the height.
    pub centre: [f64; 2],
    /// By the coefficients of the lens's polynomial
    /// ([`Polynomial::coefficients`](crate::lens::Polynomial::coefficients)); 0 of a pinhole.
    pub lens: [f64; COEFFICIENTS],
}

impl IntrinsicsGradient {
    /// Numbers of a gradient.
    pub const NUMBERS: usize = 4 + COEFFICIENTS;

    /// In the order of the fields.
    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let all = [&self.focal[..], &self.centre, &self.lens];
        let mut all = all.into_iter().flatten().copied();
        std::array::from_fn(|_| all.next().unwrap_or(0.0))
    }
}

impl From<[f64; IntrinsicsGradient::NUMBERS]> for IntrinsicsGradient {
    fn from(numbers: [f64; Self::NUMBERS]) -> Self {
        let [fx, fy, cx, cy, lens @ ..] = numbers;
        Self {
            focal: [fx, fy],
            centre: [cx, cy],
            lens,
        }
    }
}
