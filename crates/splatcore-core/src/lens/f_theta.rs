//! NVIDIA's f-theta cameras: a polynomial of all powers between the angle from the axis and the
//! distance in the image, in pixels, and a linear map (DriveWorks, `dwFThetaCameraConfig`; NCore).
//!
//! Files give the polynomial in one of two directions. From angles to pixels it is a [`Lens`] as it
//! is; the inverse of the other one is no polynomial, but over the photo one of a higher degree is
//! as near to it as rounding in the kernels ([`TOLERANCE`]).

use super::Lens;
use crate::camera::Camera;
use std::f64::consts::PI;

/// The highest degree of a polynomial from angles to pixels.
const MAX_DEGREE: usize = 13;
/// Pixels by which the polynomial of the lens may differ from the inverse of the file's; the lowest
/// degree is taken that keeps to it.
const TOLERANCE: f64 = 1e-3;
/// A file's polynomial whose inverse no polynomial follows to this many pixels is refused.
const MAX_ERROR: f64 = 0.05;
/// Pixels that a point on the axis may be off the principal point.
const MAX_CONSTANT: f64 = 0.01;
/// The inverse is followed to this many times the angle of the photo's farthest corner.
const BEYOND: f64 = 1.2;
/// It ends where angles grow with the distance by less than one of these shares of their growth on
/// the axis: the first with which a polynomial follows it.
const MIN_GROWTHS: [f64; 4] = [0.1, 0.2, 0.35, 0.5];
/// Steps from the axis to the farthest corner.
const STEPS: usize = 256;

/// In which direction a polynomial goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// From radians to pixels.
    AngleToPixels,
    /// From pixels to radians.
    PixelsToAngle,
}

/// An f-theta camera as files give it.
#[derive(Clone, Debug, PartialEq)]
pub struct FThetaCamera {
    /// The direction of the polynomial.
    pub reference: Reference,
    /// Its coefficients, that of power 0 first.
    pub polynomial: Vec<f64>,
    /// c, d, e of the map ((c, d), (e, 1)) of pixels about the principal point.
    pub linear: [f64; 3],
    /// Radians from the axis beyond which there is no image.
    pub max_angle: Option<f64>,
}

/// Why a polynomial is that of no camera: what it has, and what one has there.
pub type Unusable = (String, &'static str);

impl FThetaCamera {
    /// A camera's numbers, if its lens is one.
    pub fn of(camera: &Camera) -> Option<Self> {
        let Lens::FTheta { k, skew, max_angle } = camera.lens else {
            return None;
        };
        let mut polynomial = vec![0.0, camera.fy];
        polynomial.extend(k.map(|k| camera.fy * k));
        let used = polynomial.iter().rposition(|&c| c != 0.0).unwrap_or(1);
        polynomial.truncate(used + 1);
        let stretch = camera.fx / camera.fy;
        Some(Self {
            reference: Reference::AngleToPixels,
            polynomial,
            linear: [stretch, stretch * skew[0], skew[1]],
            max_angle,
        })
    }

    /// The camera with this lens: of its size, its principal point and its pose; focal lengths and
    /// lens are replaced. Finite numbers and a map with an inverse and c > 0 are required.
    ///
    /// # Errors
    /// If the polynomial is that of no camera.
    pub fn camera(&self, camera: Camera) -> Result<Camera, Unusable> {
        let [c, d, e] = self.linear;
        let last = self.polynomial.iter().rposition(|&c| c != 0.0);
        let given = &self.polynomial[..last.map_or(0, |last| last + 1)];
        let (constant, first) = match given {
            &[constant, first, ..] if first > 0.0 => (constant, first),
            _ => return Err(("no linear term".into(), "a positive one")),
        };
        let pixels_off = match self.reference {
            Reference::AngleToPixels => constant,
            Reference::PixelsToAngle => constant / first,
        };
        if pixels_off.abs() > MAX_CONSTANT {
            return Err((format!("a constant term of {constant}"), "none"));
        }
        let (forward, max_angle) = match self.reference {
            Reference::AngleToPixels if given.len() > MAX_DEGREE + 1 => {
                let degree = format!("a degree of {}", given.len() - 1);
                return Err((degree, "13 at most"));
            }
            Reference::AngleToPixels => (given[1..].to_vec(), self.max_angle),
            Reference::PixelsToAngle => {
                let farthest = farthest(&camera, self.linear);
                inverse(given, farthest, self.max_angle)?
            }
        };
        let mut k = [0.0; 12];
        for (k, c) in k.iter_mut().zip(&forward[1..]) {
            *k = c / forward[0];
        }
        Ok(Camera {
            fx: c * forward[0],
            fy: forward[0],
            lens: Lens::FTheta {
                k,
                skew: [d / c, e],
                max_angle,
            },
            ..camera
        })
    }
}

/// The distance of the farthest corner from the principal point, before the linear map.
fn farthest(camera: &Camera, [c, d, e]: [f64; 3]) -> f64 {
    let (w, h) = (f64::from(camera.width), f64::from(camera.height));
    let corners = [(0.0, 0.0), (w, 0.0), (0.0, h), (w, h)];
    let distance = |(x, y): (f64, f64)| {
        let (x, y) = (x - camera.cx, y - camera.cy);
        (x - d * y).hypot(c * y - e * x) / (c - d * e).abs()
    };
    corners.into_iter().map(distance).fold(0.0, f64::max)
}

/// The polynomial that is nearest to the inverse of another one (with a positive linear term) over
/// the photo, its coefficient of power 1 first, and the angle at which it ends, if it does.
fn inverse(
    given: &[f64],
    farthest: f64,
    max_angle: Option<f64>,
) -> Result<(Vec<f64>, Option<f64>), Unusable> {
    for growth in MIN_GROWTHS {
        let (end, ends) = range(given, farthest, max_angle, growth);
        let (error, fitted) = nearest(given, end);
        let most = angle(given, end).0;
        if error <= MAX_ERROR && fitted[0] > 0.0 {
            let max_angle = match ends {
                true => Some(max_angle.map_or(most, |angle| angle.min(most))),
                false => max_angle,
            };
            return Ok((fitted, max_angle));
        }
    }
    Err((
        "an inverse that no polynomial of degree 13 follows".into(),
        "angles that grow smoothly with the distance",
    ))
}

/// The polynomial of the lowest degree within [`TOLERANCE`] up to a distance, else the best; and
/// its error in pixels.
fn nearest(given: &[f64], end: f64) -> (f64, Vec<f64>) {
    let most = angle(given, end).0;
    let mut best = (f64::INFINITY, vec![0.0]);
    for terms in 3..=MAX_DEGREE {
        let fitted = interpolated(given, end, most, terms);
        let error = (1..=STEPS).map(|i| {
            let r = end * i as f64 / STEPS as f64;
            let at = angle(given, r).0;
            (fitted.iter().rev().fold(0.0, |sum, c| (sum + c) * at) - r).abs()
        });
        let error = error.fold(0.0, f64::max);
        if error < best.0 {
            best = (error, fitted);
        }
        if best.0 <= TOLERANCE {
            break;
        }
    }
    best
}

/// The angle at a distance, and how it grows there; 0 at the distance 0.
fn angle(given: &[f64], r: f64) -> (f64, f64) {
    let (value, slope) = given[1..]
        .iter()
        .rev()
        .fold((0.0, 0.0), |(value, slope), c| {
            (c + r * value, value + r * slope)
        });
    (r * value, value + r * slope)
}

/// Up to which distance the inverse is followed, and whether there is none further out.
fn range(given: &[f64], farthest: f64, max_angle: Option<f64>, least: f64) -> (f64, bool) {
    let most = max_angle.unwrap_or(PI).min(PI);
    let step = farthest / STEPS as f64;
    let mut end: f64 = 0.0;
    let mut corner = None;
    for i in 1..=2 * STEPS {
        let r = step * i as f64;
        let (angle, growth) = angle(given, r);
        // Also of a number that is none.
        if !(growth >= least * given[1] && angle.is_finite()) {
            return (end.max(1e-3 * step), true);
        }
        end = r;
        if i == STEPS {
            corner = Some(angle);
        }
        if angle >= most || corner.is_some_and(|corner| angle >= BEYOND * corner) {
            break;
        }
    }
    (end, false)
}

/// The polynomial through the inverse at as many distances as it has terms, which crowd together at
/// both ends (Chebyshev's nodes), by Newton's divided differences.
fn interpolated(given: &[f64], end: f64, most: f64, terms: usize) -> Vec<f64> {
    let node = |i: usize| 0.5 - 0.5 * ((i as f64 + 0.5) / terms as f64 * PI).cos();
    let at: Vec<f64> = (0..terms).map(node).collect();
    // Of the distance over the angle, which both are shares of the largest.
    let mut differences: Vec<f64> = at
        .iter()
        .map(|share| distance(given, end, share * most) / share)
        .collect();
    for order in 1..terms {
        for i in (order..terms).rev() {
            let change = differences[i] - differences[i - 1];
            differences[i] = change / (at[i] - at[i - order]);
        }
    }
    let mut sum = vec![0.0; terms];
    for (difference, at) in differences.iter().zip(&at).rev() {
        for k in (1..terms).rev() {
            sum[k] = sum[k - 1] - at * sum[k];
        }
        sum[0] = difference - at * sum[0];
    }
    let mut unit = 1.0;
    for term in &mut sum {
        unit *= most;
        *term /= unit;
    }
    sum
}

/// The distance, up to `end`, at which an angle is seen, by halving.
fn distance(given: &[f64], end: f64, wanted: f64) -> f64 {
    let (mut low, mut high) = (0.0, end);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match angle(given, middle).0 < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A front camera's calibration as NCore writes it, from pixels to angles.
    const BACKWARD: [f64; 6] = [
        0.0,
        2.1087e-3,
        1.4248e-7,
        -8.0648e-10,
        2.4851e-12,
        -1.7939e-15,
    ];

    fn size(width: u32, height: u32) -> Camera {
        let camera = Camera::look_at(
            [0.0; 3],
            [0.0, 0.0, 1.0],
            [0.0, -1.0, 0.0],
            1.0,
            width,
            height,
        );
        Camera {
            cx: 0.5 * f64::from(width) - 3.0,
            cy: 0.5 * f64::from(height) + 5.0,
            ..camera
        }
    }

    fn given(reference: Reference, polynomial: &[f64]) -> FThetaCamera {
        FThetaCamera {
            reference,
            polynomial: polynomial.to_vec(),
            linear: [0.9997, 6e-4, -1e-3],
            max_angle: None,
        }
    }

    /// By the formula of the files themselves, both ways.
    #[test]
    fn points_are_where_the_files_formula_has_them() {
        let forward = [0.0, 473.6, -9.59, 24.95, -42.34, 15.14];
        for (reference, polynomial, tolerance) in [
            (Reference::AngleToPixels, forward, 1e-9),
            (Reference::PixelsToAngle, BACKWARD, 1.1 * TOLERANCE),
        ] {
            let of_file = given(reference, &polynomial);
            let [c, d, e] = of_file.linear;
            let camera = of_file.camera(size(960, 740)).unwrap();
            assert_eq!((camera.defect(), camera.lens.name()), (None, "f-theta"));
            for i in 0..=600 {
                let (sin, cos) = (0.61 * i as f64).sin_cos();
                let value = i as f64 / 600.0;
                let by = |x: f64| polynomial.iter().rev().fold(0.0, |sum, c| sum * x + c);
                let (angle, r) = match reference {
                    Reference::AngleToPixels => (1.3 * value, by(1.3 * value)),
                    Reference::PixelsToAngle => (by(600.0 * value), 600.0 * value),
                };
                let [x, y] = [r * cos, r * sin];
                let want = [camera.cx + c * x + d * y, camera.cy + e * x + y];
                let ray = [angle.sin() * cos, angle.sin() * sin, angle.cos()];
                let got = camera.project(ray).unwrap();
                let off = (got[0] - want[0]).hypot(got[1] - want[1]);
                assert!(off < tolerance, "{reference:?}, {r} pixels: off by {off}");
                let back = camera.direction(got).unwrap();
                assert!((0..3).all(|k| (back[k] - ray[k]).abs() < 1e-8));
            }
            // What is written is what was read.
            let written = FThetaCamera::of(&camera).unwrap();
            let again = written.camera(size(960, 740)).unwrap();
            assert!((again.fx - camera.fx).abs() < 1e-9);
            let at = [0.3, -0.2, 1.0];
            let [one, other] = [&camera, &again].map(|camera| camera.project(at).unwrap());
            assert!((one[0] - other[0]).hypot(one[1] - other[1]) < 1e-9);
        }
    }

    /// A circle smaller than the photo: by the angle that the file gives, or where its polynomial
    /// turns back.
    #[test]
    fn beyond_the_largest_angle_there_is_no_image() {
        let circle = FThetaCamera {
            max_angle: Some(0.8),
            ..given(Reference::PixelsToAngle, &BACKWARD)
        };
        // Its slope is 0 at 500 pixels.
        let turning = given(Reference::PixelsToAngle, &[0.0, 2e-3, 0.0, -2e-3 / 7.5e5]);
        for (of_file, inside, outside) in [(circle, 370.0, 400.0), (turning, 300.0, 520.0)] {
            let camera = of_file.camera(size(1200, 1200)).unwrap();
            let seen = |r: f64| camera.direction([camera.cx + r, camera.cy]).is_some();
            assert!(seen(inside) && !seen(outside), "{of_file:?}");
        }
    }

    #[test]
    fn polynomials_of_no_camera_are_refused() {
        let refused = |reference, polynomial: &[f64]| {
            let answer = given(reference, polynomial).camera(size(64, 48));
            answer.expect_err("it is no camera").0
        };
        use Reference::{AngleToPixels, PixelsToAngle};
        for reference in [AngleToPixels, PixelsToAngle] {
            for polynomial in [&[][..], &[0.0], &[0.0, 0.0, 0.0], &[0.0, -3.0]] {
                assert_eq!(refused(reference, polynomial), "no linear term");
            }
            assert!(refused(reference, &[1.0, 1.0]).contains("constant"));
        }
        let mut long = [0.1; 15];
        long[0] = 0.0;
        assert!(refused(AngleToPixels, &long).contains("degree of 14"));
        // Angles that do not grow, and such as overflow.
        let _ = given(PixelsToAngle, &[0.0, 1e-3, -1.0]).camera(size(64, 48));
        let _ = given(PixelsToAngle, &[0.0, 1e-300, 1e300, 1e308]).camera(size(64, 48));
    }
}
