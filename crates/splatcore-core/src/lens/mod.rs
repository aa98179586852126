//! How a lens bends light: from the ideal pinhole's image plane (x/z, y/z) to the real one, and
//! back.
//!
//! | question | file |
//! | --- | --- |
//! | in which planes do lenses act, and where in them is a point | `plane.rs` |
//! | where does a ray land, which ray lands here, where does a lens fold | `rays.rs` |
//! | what do the models have in common that are polynomials | `polynomial.rs` |
//! | how does the image change with the coefficients | `coefficients.rs` |
//! | which lens is an f-theta camera whose polynomial is of pixels | `f_theta.rs` |
//! | what does a camera with a lens see | `of_camera.rs` |
//! | where in the image is a point, and how does that change with the point | `projection.rs` |
//! | the same where rows are read while the camera moves | `moving.rs`, `rolling.rs` |
//! | which splat is a Gaussian there | `unscented.rs` |
//!
//! A new model is a variant here. All that names models is in this file and, for models that are no
//! polynomial, in `rays.rs`. A model that acts in no known plane is a plane too, in `plane.rs` and
//! in the CUDA crate's `ops/shared/lens.cuh`. Backends know planes, not models.

mod coefficients;
mod f_theta;
mod moving;
mod of_camera;
mod plane;
mod polynomial;
mod projection;
mod rays;
mod rolling;
#[cfg(test)]
mod tests;
mod unscented;

use serde::{Deserialize, Serialize};

pub use coefficients::{COEFFICIENTS, POWERS};
pub use f_theta::{FThetaCamera, Reference};
pub use plane::Plane;
pub use polynomial::Polynomial;
pub use projection::Projection;
pub use rolling::Rolling;
pub use unscented::{Unscented, UnscentedGradient};

/// A lens, acting on the image plane at distance 1 (a ray (x/z, y/z) in camera axes, x right, y
/// down).
///
/// The formulas are those of OpenCV and COLMAP (`src/colmap/sensor/models`); several of COLMAP's
/// models are one variant here with some coefficients 0.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Lens {
    /// None: a pinhole.
    #[default]
    Pinhole,
    /// OpenCV's rational model: `(1 + k1 r² + k2 r⁴ + k3 r⁶) / (1 + k4 r² + k5 r⁴ + k6 r⁶)`,
    /// tangential p1, p2 and thin prism s1 to s4.
    #[serde(rename = "opencv")]
    OpenCv {
        /// k1 to k6.
        k: [f64; 6],
        /// p1, p2.
        p: [f64; 2],
        /// s1 to s4: `s1 r² + s2 r⁴` along x, `s3 r² + s4 r⁴` along y.
        s: [f64; 4],
    },
    /// Brown's model as Metashape (manual, appendix "Camera models") and RealityScan write it:
    /// radial `1 + k1 r² + k2 r⁴ + k3 r⁶ + k4 r⁸`, tangential (p1 and p2 change places against
    /// OpenCV) times `1 + p3 r² + p4 r⁴`, then `x + skew y`. It acts in the image plane, or in the
    /// theta plane of an equidistant fisheye.
    Brown {
        /// k1 to k4.
        k: [f64; 4],
        /// p1 to p4.
        p: [f64; 4],
        /// Metashape's b2 over the focal length along x.
        skew: f64,
        /// Rays are bent to the theta plane first.
        fisheye: bool,
    },
    /// Equidistant fisheye: radius `theta (1 + k1 theta² + k2 theta⁴ + k3 theta⁶ + k4 theta⁸)`,
    /// then tangential p1, p2 and thin prism sx, sy (Weng et al. 1992) in the theta plane.
    Fisheye {
        /// k1 to k4.
        k: [f64; 4],
        /// p1, p2.
        p: [f64; 2],
        /// sx1, sy1.
        s: [f64; 2],
    },
    /// Equidistant fisheye with six radial terms, then tangential and thin prism terms of the bent
    /// point (Project Aria's FISHEYE624).
    RadTanThinPrism {
        /// k0 to k5.
        k: [f64; 6],
        /// p0, p1.
        p: [f64; 2],
        /// s0 to s3.
        s: [f64; 4],
    },
    /// NVIDIA's f-theta ([`FThetaCamera`]): radius `theta (1 + k[0] theta + k[1] theta² + ...)` of
    /// all powers, then x' and y' of the real image plane are `x + skew[0] y` and `y + skew[1] x`.
    FTheta {
        /// Coefficients of theta¹ to theta¹² in the factor.
        k: [f64; 12],
        /// Of y added to x, of x added to y.
        skew: [f64; 2],
        /// Radians from the axis beyond which there is no image.
        max_angle: Option<f64>,
    },
    /// Field-of-view model (Devernay and Faugeras 2001): radius `atan(2 r tan(omega / 2)) / omega`.
    Fov {
        /// In radians, not 0.
        omega: f64,
    },
    /// Division model (Fitzgibbon 2001): undistorted = distorted / (1 + k r²).
    Division {
        /// The one coefficient.
        k: f64,
    },
    /// Enhanced unified camera model (Khomutenko et al. 2016).
    Eucm {
        /// In [0, 1].
        alpha: f64,
        /// Positive.
        beta: f64,
    },
    /// Longitude to the right and latitude downwards, in radians: focal lengths are pixels a
    /// radian. All around it is an image of 2 pi focal lengths by pi.
    Equirectangular,
    /// Parallel rays along the axis: focal lengths are pixels a scene unit.
    Orthographic,
}

impl Lens {
    /// The same lens, or [`Lens::Pinhole`] when its coefficients do nothing.
    pub fn simplified(self) -> Self {
        let idle = match self {
            Lens::Pinhole => true,
            Lens::OpenCv { k, p, s } => k.iter().chain(&p).chain(&s).all(|&v| v == 0.0),
            Lens::Brown {
                k,
                p,
                skew,
                fisheye,
            } => !fisheye && skew == 0.0 && k.iter().chain(&p).all(|&v| v == 0.0),
            Lens::Fov { omega } => omega.abs() < 1e-7,
            Lens::Division { k } => k == 0.0,
            Lens::Eucm { alpha, .. } => alpha == 0.0,
            Lens::Fisheye { .. }
            | Lens::RadTanThinPrism { .. }
            | Lens::FTheta { .. }
            | Lens::Equirectangular
            | Lens::Orthographic => false,
        };
        if idle { Lens::Pinhole } else { self }
    }

    /// Short name for `info`.
    pub fn name(&self) -> &'static str {
        match self {
            Lens::Pinhole => "pinhole",
            Lens::OpenCv { p, s, .. } if p.iter().chain(s).all(|&v| v == 0.0) => "radial",
            Lens::OpenCv { .. } => "opencv",
            Lens::Brown { fisheye: true, .. } => "brown-fisheye",
            Lens::Brown { .. } => "brown",
            Lens::Fisheye { .. } => "fisheye",
            Lens::RadTanThinPrism { .. } => "rad-tan-thin-prism-fisheye",
            Lens::FTheta { .. } => "f-theta",
            Lens::Fov { .. } => "fov",
            Lens::Division { .. } => "division",
            Lens::Eucm { .. } => "eucm",
            Lens::Equirectangular => "equirectangular",
            Lens::Orthographic => "orthographic",
        }
    }

    /// Whether rays are bent to the plane of angles first, so that they may come from behind.
    pub fn is_fisheye(&self) -> bool {
        match self {
            Lens::Fisheye { .. } | Lens::RadTanThinPrism { .. } | Lens::FTheta { .. } => true,
            Lens::Brown { fisheye, .. } => *fisheye,
            _ => false,
        }
    }

    /// Whether a pinhole shows some of what the lens shows, so that its photos can be resampled.
    pub fn has_pinhole_view(&self) -> bool {
        *self != Lens::Orthographic
    }

    /// The coefficients by the names of the formula.
    pub fn coefficients(&self) -> Vec<(&'static str, f64)> {
        let named = |names: &[&'static str], values: &[f64]| -> Vec<(&'static str, f64)> {
            names.iter().copied().zip(values.iter().copied()).collect()
        };
        const K: [&str; 12] = [
            "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11", "k12",
        ];
        const P: [&str; 4] = ["p1", "p2", "p3", "p4"];
        const S: [&str; 4] = ["s1", "s2", "s3", "s4"];
        match self {
            Lens::Pinhole | Lens::Equirectangular | Lens::Orthographic => Vec::new(),
            Lens::OpenCv { k, p, s } => [named(&K, k), named(&P, p), named(&S, s)].concat(),
            Lens::Brown { k, p, skew, .. } => {
                [named(&K, k), named(&P, p), vec![("skew", *skew)]].concat()
            }
            Lens::Fisheye { k, p, s } => [named(&K, k), named(&P, p), named(&S, s)].concat(),
            Lens::RadTanThinPrism { k, p, s } => {
                [named(&K, k), named(&P, p), named(&S, s)].concat()
            }
            Lens::FTheta { k, skew, max_angle } => {
                let limit = max_angle.map(|angle| ("max_angle", angle));
                let linear = [("skew", skew[0]), ("skew of y", skew[1])];
                [named(&K, k), linear.to_vec(), Vec::from_iter(limit)].concat()
            }
            Lens::Fov { omega } => vec![("omega", *omega)],
            Lens::Division { k } => vec![("k", *k)],
            Lens::Eucm { alpha, beta } => vec![("alpha", *alpha), ("beta", *beta)],
        }
    }

    /// The polynomial of the model; `None` for models that are none (`Fov`, `Division`, `Eucm`).
    pub fn polynomial(&self) -> Option<Polynomial> {
        let six = |k: [f64; 4]| [k[0], k[1], k[2], k[3], 0.0, 0.0];
        let none = Polynomial::default();
        Some(match *self {
            Lens::Pinhole => none,
            Lens::OpenCv { k, p, s } => Polynomial {
                radial: [k[0], k[1], k[2], 0.0, 0.0, 0.0],
                divisor: [k[3], k[4], k[5]],
                tangential: p,
                prism: s,
                ..none
            },
            Lens::Brown {
                k,
                p,
                skew,
                fisheye,
            } => Polynomial {
                plane: if fisheye { Plane::Angle } else { Plane::Image },
                radial: six(k),
                tangential: [p[1], p[0]],
                growth: [p[2], p[3]],
                skew: [skew, 0.0],
                ..none
            },
            Lens::Fisheye { k, p, s } => Polynomial {
                plane: Plane::Angle,
                radial: six(k),
                tangential: p,
                prism: [s[0], 0.0, s[1], 0.0],
                ..none
            },
            Lens::RadTanThinPrism { k, p, s } => Polynomial {
                plane: Plane::Angle,
                radial: k,
                tangential: [p[1], p[0]],
                prism: s,
                radial_first: true,
                ..none
            },
            Lens::FTheta { k, skew, max_angle } => Polynomial {
                plane: Plane::Angle,
                radial: std::array::from_fn(|i| k[2 * i + 1]),
                odd: std::array::from_fn(|i| k[2 * i]),
                skew,
                max_radius: max_angle,
                ..none
            },
            Lens::Equirectangular => Polynomial {
                plane: Plane::Sphere,
                ..none
            },
            Lens::Orthographic => Polynomial {
                plane: Plane::Parallel,
                ..none
            },
            Lens::Fov { .. } | Lens::Division { .. } | Lens::Eucm { .. } => return None,
        })
    }

    /// The lens whose polynomial has these added to its [`Polynomial::coefficients`]; what the
    /// model has no coefficient for is left out.
    pub fn adjusted(self, by: &[f64; COEFFICIENTS]) -> Self {
        let add = |k: &mut [f64], by: &[f64]| {
            k.iter_mut().zip(by).for_each(|(k, more)| *k += more);
        };
        let (radial, odd, divisor) = (&by[..6], &by[6..12], &by[12..15]);
        let (tangential, growth, prism, skew_by) =
            (&by[15..17], &by[17..19], &by[19..23], &by[23..]);
        let swapped = [tangential[1], tangential[0]];
        let mut lens = self;
        match &mut lens {
            Lens::OpenCv { k, p, s } => {
                add(&mut k[..3], radial);
                add(&mut k[3..], divisor);
                add(p, tangential);
                add(s, prism);
            }
            Lens::Brown { k, p, skew, .. } => {
                add(k, radial);
                add(&mut p[..2], &swapped);
                add(&mut p[2..], growth);
                *skew += skew_by[0];
            }
            Lens::Fisheye { k, p, s } => {
                add(k, radial);
                add(p, tangential);
                add(s, &[prism[0], prism[2]]);
            }
            Lens::RadTanThinPrism { k, p, s } => {
                add(k, radial);
                add(p, &swapped);
                add(s, prism);
            }
            Lens::FTheta { k, skew, .. } => {
                for (i, pair) in k.chunks_mut(2).enumerate() {
                    add(pair, &[odd[i], radial[i]]);
                }
                add(skew, skew_by);
            }
            Lens::Pinhole
            | Lens::Fov { .. }
            | Lens::Division { .. }
            | Lens::Eucm { .. }
            | Lens::Equirectangular
            | Lens::Orthographic => {}
        }
        lens
    }

    /// What makes the coefficients unusable, or `None`.
    pub fn defect(&self) -> Option<String> {
        let finite = match self {
            Lens::Pinhole | Lens::Equirectangular | Lens::Orthographic => true,
            Lens::OpenCv { k, p, s } => k.iter().chain(p).chain(s).all(|v| v.is_finite()),
            Lens::Brown { k, p, skew, .. } => {
                skew.is_finite() && k.iter().chain(p).all(|v| v.is_finite())
            }
            Lens::Fisheye { k, p, s } => k.iter().chain(p).chain(s).all(|v| v.is_finite()),
            Lens::RadTanThinPrism { k, p, s } => k.iter().chain(p).chain(s).all(|v| v.is_finite()),
            Lens::FTheta { k, skew, max_angle } => {
                let limit = max_angle.unwrap_or(1.0);
                k.iter().chain(skew).all(|v| v.is_finite()) && limit.is_finite() && limit > 0.0
            }
            Lens::Fov { omega } => omega.is_finite() && omega.abs() < std::f64::consts::PI,
            Lens::Division { k } => k.is_finite(),
            Lens::Eucm { alpha, beta } => {
                (0.0..=1.0).contains(alpha) && *beta > 0.0 && beta.is_finite()
            }
        };
        (!finite).then(|| format!("the lens coefficients are not usable ({self:?})"))
    }
}
