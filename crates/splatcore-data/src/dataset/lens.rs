//! How a lens bends light: from the ideal pinhole's image plane (x/z, y/z) to the real one, and
//! back.

/// A lens, acting on the image plane at distance 1 (a ray (x/z, y/z) in camera axes, x right, y
/// down).
///
/// The formulas are those of OpenCV and COLMAP (`src/colmap/sensor/models`); several of COLMAP's
/// models are one variant here with some coefficients 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// None: a pinhole.
    None,
    /// OpenCV's rational model: `(1 + k1 r² + k2 r⁴ + k3 r⁶) / (1 + k4 r² + k5 r⁴ + k6 r⁶)` and
    /// tangential p1, p2.
    OpenCv {
        /// k1 to k6.
        k: [f64; 6],
        /// p1, p2.
        p: [f64; 2],
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
}

type Point = [f64; 2];

impl Lens {
    /// The same lens, or [`Lens::None`] when its coefficients do nothing.
    pub fn simplified(self) -> Self {
        let idle = match self {
            Lens::None => true,
            Lens::OpenCv { k, p } => k.iter().chain(&p).all(|&v| v == 0.0),
            Lens::Brown {
                k,
                p,
                skew,
                fisheye,
            } => !fisheye && skew == 0.0 && k.iter().chain(&p).all(|&v| v == 0.0),
            Lens::Fov { omega } => omega.abs() < 1e-7,
            Lens::Division { k } => k == 0.0,
            Lens::Eucm { alpha, .. } => alpha == 0.0,
            Lens::Fisheye { .. } | Lens::RadTanThinPrism { .. } => false,
        };
        if idle { Lens::None } else { self }
    }

    /// Short name for `info`.
    pub fn name(&self) -> &'static str {
        match self {
            Lens::None => "pinhole",
            Lens::OpenCv { p: [0.0, 0.0], .. } => "radial",
            Lens::OpenCv { .. } => "opencv",
            Lens::Brown { fisheye: true, .. } => "brown-fisheye",
            Lens::Brown { .. } => "brown",
            Lens::Fisheye { .. } => "fisheye",
            Lens::RadTanThinPrism { .. } => "rad-tan-thin-prism-fisheye",
            Lens::Fov { .. } => "fov",
            Lens::Division { .. } => "division",
            Lens::Eucm { .. } => "eucm",
        }
    }

    /// Whether rays are bent to the plane of angles first, so that they may come from behind.
    pub fn is_fisheye(&self) -> bool {
        match self {
            Lens::Fisheye { .. } | Lens::RadTanThinPrism { .. } => true,
            Lens::Brown { fisheye, .. } => *fisheye,
            _ => false,
        }
    }

    /// The coefficients by the names of the formula.
    pub fn coefficients(&self) -> Vec<(&'static str, f64)> {
        let named = |names: &[&'static str], values: &[f64]| -> Vec<(&'static str, f64)> {
            names.iter().copied().zip(values.iter().copied()).collect()
        };
        const K: [&str; 6] = ["k1", "k2", "k3", "k4", "k5", "k6"];
        const P: [&str; 4] = ["p1", "p2", "p3", "p4"];
        const S: [&str; 4] = ["s1", "s2", "s3", "s4"];
        match self {
            Lens::None => Vec::new(),
            Lens::OpenCv { k, p } => [named(&K, k), named(&P, p)].concat(),
            Lens::Brown { k, p, skew, .. } => {
                [named(&K, k), named(&P, p), vec![("skew", *skew)]].concat()
            }
            Lens::Fisheye { k, p, s } => [named(&K, k), named(&P, p), named(&S, s)].concat(),
            Lens::RadTanThinPrism { k, p, s } => {
                [named(&K, k), named(&P, p), named(&S, s)].concat()
            }
            Lens::Fov { omega } => vec![("omega", *omega)],
            Lens::Division { k } => vec![("k", *k)],
            Lens::Eucm { alpha, beta } => vec![("alpha", *alpha), ("beta", *beta)],
        }
    }

    /// What makes the coefficients unusable, or `None`.
    pub fn defect(&self) -> Option<String> {
        let finite = match self {
            Lens::None => true,
            Lens::OpenCv { k, p } => k.iter().chain(p).all(|v| v.is_finite()),
            Lens::Brown { k, p, skew, .. } => {
                skew.is_finite() && k.iter().chain(p).all(|v| v.is_finite())
            }
            Lens::Fisheye { k, p, s } => k.iter().chain(p).chain(s).all(|v| v.is_finite()),
            Lens::RadTanThinPrism { k, p, s } => k.iter().chain(p).chain(s).all(|v| v.is_finite()),
            Lens::Fov { omega } => omega.is_finite() && omega.abs() < std::f64::consts::PI,
            Lens::Division { k } => k.is_finite(),
            Lens::Eucm { alpha, beta } => {
                (0.0..=1.0).contains(alpha) && *beta > 0.0 && beta.is_finite()
            }
        };
        (!finite).then(|| format!("the lens coefficients are not usable ({self:?})"))
    }

    /// Where a ray lands on the real image plane; `None` where the lens forms no image.
    pub fn distort(&self, ray: Point) -> Option<Point> {
        let r2 = ray[0] * ray[0] + ray[1] * ray[1];
        let bent = match *self {
            Lens::None => ray,
            Lens::OpenCv { .. } | Lens::Brown { fisheye: false, .. } => self.bend(ray),
            Lens::Fisheye { .. } | Lens::RadTanThinPrism { .. } | Lens::Brown { .. } => {
                let r = r2.sqrt();
                let scale = if r < 1e-9 { 1.0 } else { r.atan() / r };
                self.bend(ray.map(|v| v * scale))
            }
            Lens::Fov { omega } => {
                let r = r2.sqrt();
                let slope = 2.0 * (omega / 2.0).tan();
                let scale = if r < 1e-9 {
                    slope / omega
                } else {
                    (r * slope).atan() / (r * omega)
                };
                ray.map(|v| v * scale)
            }
            Lens::Division { k } => {
                // The smaller root of k r² - r/rho + 1 = 0, which is 1 for k = 0.
                let root = 1.0 - 4.0 * r2 * k;
                if root < 0.0 {
                    return None;
                }
                ray.map(|v| 2.0 * v / (1.0 + root.sqrt()))
            }
            Lens::Eucm { alpha, beta } => {
                let depth = alpha * (beta * r2 + 1.0).sqrt() + (1.0 - alpha);
                ray.map(|v| v / depth)
            }
        };
        bent.iter().all(|v| v.is_finite()).then_some(bent)
    }

    /// The ray that lands on a point of the real image plane; `None` where there is none within 90
    /// degrees of the axis. Polynomials are inverted by Newton's method to 1e-10.
    pub fn undistort(&self, point: Point) -> Option<Point> {
        let r2 = point[0] * point[0] + point[1] * point[1];
        let ray = match *self {
            Lens::None => point,
            Lens::OpenCv { .. } | Lens::Brown { fisheye: false, .. } => self.unbend(point)?,
            Lens::Fisheye { .. } | Lens::RadTanThinPrism { .. } | Lens::Brown { .. } => {
                let plane = self.unbend(point)?;
                let theta = plane[0].hypot(plane[1]);
                if theta >= std::f64::consts::FRAC_PI_2 {
                    return None;
                }
                let scale = if theta < 1e-9 {
                    1.0
                } else {
                    theta.tan() / theta
                };
                plane.map(|v| v * scale)
            }
            Lens::Fov { omega } => {
                let r = r2.sqrt();
                let angle = r * omega;
                if angle.abs() >= std::f64::consts::FRAC_PI_2 {
                    return None;
                }
                let slope = 2.0 * (omega / 2.0).tan();
                let scale = if r < 1e-9 {
                    omega / slope
                } else {
                    angle.tan() / (r * slope)
                };
                point.map(|v| v * scale)
            }
            Lens::Division { k } => {
                let depth = 1.0 + k * r2;
                if depth <= 0.0 {
                    return None;
                }
                point.map(|v| v / depth)
            }
            Lens::Eucm { alpha, beta } => {
                let root = 1.0 - (2.0 * alpha - 1.0) * beta * r2;
                if root < 0.0 {
                    return None;
                }
                let depth = (1.0 - alpha * alpha * beta * r2) / (alpha * root.sqrt() + 1.0 - alpha);
                if depth <= 1e-12 {
                    return None;
                }
                point.map(|v| v / depth)
            }
        };
        ray.iter().all(|v| v.is_finite()).then_some(ray)
    }

    /// Largest |ray| up to which the mapping does not fold back on itself, searched to 89 degrees
    /// off axis in steps of 0.25 degrees. Beyond it several rays land on one pixel and the model
    /// means nothing.
    pub fn fold_radius(&self) -> f64 {
        if matches!(self, Lens::None) {
            return f64::INFINITY;
        }
        const DIRECTIONS: usize = 16;
        let mut last = 0.0;
        for step in 1..=356 {
            let radius = (step as f64 * 0.25f64.to_radians()).tan();
            for d in 0..DIRECTIONS {
                let (sin, cos) = (d as f64 * std::f64::consts::TAU / DIRECTIONS as f64).sin_cos();
                let ray = [radius * cos, radius * sin];
                let unfolded =
                    jacobian(|r| self.distort(r), ray).is_some_and(|j| determinant(j) > 0.0);
                if !unfolded {
                    return last;
                }
            }
            last = radius;
        }
        last
    }

    /// The polynomial part, in the plane where it acts (the image plane, or the theta plane of a
    /// fisheye).
    fn bend(&self, [x, y]: Point) -> Point {
        let r2 = x * x + y * y;
        match *self {
            Lens::OpenCv { k, p } => {
                let radial = (1.0 + r2 * (k[0] + r2 * (k[1] + r2 * k[2])))
                    / (1.0 + r2 * (k[3] + r2 * (k[4] + r2 * k[5])));
                [
                    x * radial + 2.0 * p[0] * x * y + p[1] * (r2 + 2.0 * x * x),
                    y * radial + 2.0 * p[1] * x * y + p[0] * (r2 + 2.0 * y * y),
                ]
            }
            Lens::Brown { k, p, skew, .. } => {
                let radial = 1.0 + r2 * (k[0] + r2 * (k[1] + r2 * (k[2] + r2 * k[3])));
                let more = 1.0 + r2 * (p[2] + r2 * p[3]);
                let bent_y = y * radial + more * (p[1] * (r2 + 2.0 * y * y) + 2.0 * p[0] * x * y);
                let bent_x = x * radial + more * (p[0] * (r2 + 2.0 * x * x) + 2.0 * p[1] * x * y);
                [bent_x + skew * bent_y, bent_y]
            }
            Lens::Fisheye { k, p, s } => {
                let radial = 1.0 + r2 * (k[0] + r2 * (k[1] + r2 * (k[2] + r2 * k[3])));
                [
                    x * radial + 2.0 * p[0] * x * y + p[1] * (r2 + 2.0 * x * x) + s[0] * r2,
                    y * radial + 2.0 * p[1] * x * y + p[0] * (r2 + 2.0 * y * y) + s[1] * r2,
                ]
            }
            Lens::RadTanThinPrism { k, p, s } => {
                let radial = 1.0 + r2 * k.iter().rev().fold(0.0, |sum, &k| k + sum * r2);
                let (x, y) = (x * radial, y * radial);
                let r2 = x * x + y * y;
                [
                    x + 2.0 * p[1] * x * y + p[0] * (r2 + 2.0 * x * x) + r2 * (s[0] + s[1] * r2),
                    y + 2.0 * p[0] * x * y + p[1] * (r2 + 2.0 * y * y) + r2 * (s[2] + s[3] * r2),
                ]
            }
            _ => [x, y],
        }
    }

    /// Inverse of [`Lens::bend`] by damped Newton steps from the point itself.
    fn unbend(&self, target: Point) -> Option<Point> {
        let miss = |a: Point| {
            let b = self.bend(a);
            [b[0] - target[0], b[1] - target[1]]
        };
        let size = |a: Point| a[0].hypot(a[1]);
        let tolerance = 1e-10 * (1.0 + size(target));
        let mut at = target;
        let mut error = miss(at);
        for _ in 0..60 {
            if size(error) <= tolerance * 1e-4 {
                break;
            }
            let j = jacobian(|a| Some(self.bend(a)), at)?;
            let det = determinant(j);
            if det.abs() < 1e-12 {
                return None;
            }
            let step = [
                (j[1][1] * error[0] - j[0][1] * error[1]) / det,
                (j[0][0] * error[1] - j[1][0] * error[0]) / det,
            ];
            let mut share = 1.0;
            loop {
                let next = [at[0] - share * step[0], at[1] - share * step[1]];
                let next_error = miss(next);
                if size(next_error) < size(error) {
                    (at, error) = (next, next_error);
                    break;
                }
                share *= 0.5;
                if share < 1e-6 {
                    // No step helps: this is the minimum, or rounding.
                    return (size(error) <= tolerance).then_some(at);
                }
            }
        }
        let unfolded = determinant(jacobian(|a| Some(self.bend(a)), at)?) > 0.0;
        (unfolded && size(error) <= tolerance).then_some(at)
    }
}

/// Jacobian by central differences, `[d out / d in]` rows = outputs.
fn jacobian(f: impl Fn(Point) -> Option<Point>, at: Point) -> Option<[[f64; 2]; 2]> {
    let h = 1e-6 * (1.0 + at[0].abs().max(at[1].abs()));
    let mut j = [[0.0; 2]; 2];
    for c in 0..2 {
        let (mut low, mut high) = (at, at);
        low[c] -= h;
        high[c] += h;
        let (low, high) = (f(low)?, f(high)?);
        for r in 0..2 {
            j[r][c] = (high[r] - low[r]) / (2.0 * h);
        }
    }
    j.iter().flatten().all(|v| v.is_finite()).then_some(j)
}

fn determinant(j: [[f64; 2]; 2]) -> f64 {
    j[0][0] * j[1][1] - j[0][1] * j[1][0]
}
