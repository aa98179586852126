//! From rays to the real image plane and back.

use super::{Lens, Plane};
use crate::camera::normalize;

type Point = [f64; 2];

impl Lens {
    /// Where a ray lands on the real image plane; `None` where the lens forms no image.
    pub fn distort(&self, ray: Point) -> Option<Point> {
        let r2 = ray[0] * ray[0] + ray[1] * ray[1];
        let bent = match *self {
            Lens::Pinhole => ray,
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
            _ => {
                let polynomial = self.polynomial()?;
                match polynomial.plane {
                    Plane::Image => polynomial.bend(ray),
                    Plane::Angle => {
                        let r = r2.sqrt();
                        let scale = if r < 1e-9 { 1.0 } else { r.atan() / r };
                        let plane = ray.map(|v| v * scale);
                        if !polynomial.reaches(plane) {
                            return None;
                        }
                        polynomial.bend(plane)
                    }
                    straight => straight.of_ray(ray)?,
                }
            }
        };
        bent.iter().all(|v| v.is_finite()).then_some(bent)
    }

    /// The ray that lands on a point of the real image plane; `None` where there is none within 90
    /// degrees of the axis. Polynomials are inverted by Newton's method to 1e-10.
    pub fn undistort(&self, point: Point) -> Option<Point> {
        let r2 = point[0] * point[0] + point[1] * point[1];
        let ray = match *self {
            Lens::Pinhole => point,
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
            _ => {
                let polynomial = self.polynomial()?;
                let plane = polynomial.unbend(point)?;
                match polynomial.plane {
                    Plane::Image => plane,
                    Plane::Angle => {
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
                    straight => {
                        let [x, y, z] = straight.direction(plane)?;
                        if z <= 0.0 {
                            return None;
                        }
                        [x / z, y / z]
                    }
                }
            }
        };
        ray.iter().all(|v| v.is_finite()).then_some(ray)
    }

    /// The direction of the ray that lands on a point of the real image plane, unit length, camera
    /// axes: beyond 90 degrees too for a lens that sees there.
    pub fn direction(&self, point: Point) -> Option<[f64; 3]> {
        let polynomial = self.polynomial().unwrap_or_default();
        if polynomial.plane.is_straight() {
            return polynomial.plane.direction(point);
        }
        if polynomial.plane == Plane::Angle {
            let plane = polynomial.unbend(point)?;
            let theta = plane[0].hypot(plane[1]);
            if theta > std::f64::consts::PI {
                return None;
            }
            let scale = if theta < 1e-9 {
                1.0
            } else {
                theta.sin() / theta
            };
            return Some([plane[0] * scale, plane[1] * scale, theta.cos()]);
        }
        let [x, y] = self.undistort(point)?;
        normalize([x, y, 1.0])
    }

    /// Where a point in camera axes lands on the real image plane; `None` where the lens forms no
    /// image of it. A fisheye and a panorama image points behind the camera too.
    pub fn image(&self, [x, y, z]: [f64; 3]) -> Option<Point> {
        let polynomial = self.polynomial().unwrap_or_default();
        if let Some((place, _)) = polynomial.plane.place([x, y, z]) {
            let behind = z <= 0.0 && !polynomial.plane.shows_behind();
            return (!behind && place.iter().all(|v| v.is_finite())).then_some(place);
        }
        if polynomial.plane == Plane::Angle {
            let r = x.hypot(y);
            let scale = if r < 1e-9 * z {
                1.0 / z
            } else {
                r.atan2(z) / r
            };
            let plane = [x * scale, y * scale];
            if !polynomial.reaches(plane) {
                return None;
            }
            let bent = polynomial.bend(plane);
            return bent.iter().all(|v| v.is_finite()).then_some(bent);
        }
        if z <= 0.0 {
            return None;
        }
        self.distort([x / z, y / z])
    }

    /// Largest |ray| up to which the mapping does not fold back on itself, searched to 89 degrees
    /// off axis in steps of 0.25 degrees. Beyond it several rays land on one pixel and the model
    /// means nothing.
    pub fn fold_radius(&self) -> f64 {
        if matches!(self, Lens::Pinhole) {
            return f64::INFINITY;
        }
        const DIRECTIONS: usize = 16;
        let mut last = 0.0;
        for step in 1..=356 {
            let radius = (step as f64 * 0.25f64.to_radians()).tan();
            for d in 0..DIRECTIONS {
                let (sin, cos) = (d as f64 * std::f64::consts::TAU / DIRECTIONS as f64).sin_cos();
                let ray = [radius * cos, radius * sin];
                // Beyond the largest angle of a lens that has one no ray lands anywhere.
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
