//! The planes in which lenses act.
//!
//! The first two kinds are about the camera's axis: a polynomial bends them, up to some angle from
//! the axis. In the others every point has its place and nothing is bent. Each answer names every
//! plane, so that a new one that lacks an answer does not compile.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

type Point = [f64; 2];

/// Angles beyond the sphere's by roundings, radians.
const SLACK: f64 = 1e-9;
/// At the poles the derivative of the longitude is that at this share of the distance from them.
const POLE: f64 = 1e-12;

/// Where a polynomial acts. The numbers are those of the CUDA crate's ops/shared/lens.cuh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Plane {
    /// The image plane at distance 1: (x/z, y/z).
    #[default]
    Image = 0,
    /// What parallel rays along the axis meet: (x, y) in scene units.
    Parallel = 1,
    /// The plane of angles of an equidistant fisheye: the angle from the axis, in radians, in the
    /// direction of (x, y).
    Angle = 2,
    /// Longitude atan2(x, z) and latitude atan2(y, hypot(x, z)), downwards, in radians.
    Sphere = 3,
}

/// A place in a plane, and its derivative by the point.
pub(super) type Placed = (Point, [[f64; 3]; 2]);

impl Plane {
    /// Every point has its place, and no polynomial bends it.
    pub fn is_straight(self) -> bool {
        match self {
            Plane::Image | Plane::Angle => false,
            Plane::Parallel | Plane::Sphere => true,
        }
    }

    /// Points beside the camera and behind it have a place.
    pub fn shows_behind(self) -> bool {
        match self {
            Plane::Image | Plane::Parallel => false,
            Plane::Angle | Plane::Sphere => true,
        }
    }

    /// The largest angle from the axis, in radians, at which what is drawn lies: of planes that a
    /// polynomial bends, at which the polynomial is used.
    pub(super) fn max_angle(self) -> f64 {
        match self {
            Plane::Image => 1.48,
            Plane::Angle => 2.8,
            Plane::Parallel | Plane::Sphere => PI,
        }
    }

    /// Places repeat along x after so much; 0 if they do not.
    pub fn period(self) -> f64 {
        match self {
            Plane::Sphere => TAU,
            Plane::Image | Plane::Parallel | Plane::Angle => 0.0,
        }
    }

    /// What lies in a pixel's width: in proportion to the depth, or of parallel rays the same
    /// everywhere.
    pub fn grows_with_depth(self) -> bool {
        match self {
            Plane::Parallel => false,
            Plane::Image | Plane::Angle | Plane::Sphere => true,
        }
    }

    /// Where a point in camera axes is, for planes in which every point has a place.
    pub(super) fn place(self, [x, y, z]: [f64; 3]) -> Option<Placed> {
        match self {
            Plane::Image | Plane::Angle => None,
            Plane::Parallel => Some(([x, y], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])),
            Plane::Sphere => {
                let across = x * x + z * z;
                let square = across + y * y;
                let radius = across.sqrt();
                let kept = across.max(POLE * POLE * square);
                let share = y / (kept.sqrt() * square);
                Some((
                    [x.atan2(z), y.atan2(radius)],
                    [
                        [z / kept, 0.0, -x / kept],
                        [-x * share, radius / square, -z * share],
                    ],
                ))
            }
        }
    }

    /// Where the points of a ray from the camera's place are, for the same planes; `None` if they
    /// are not at one place.
    pub(super) fn of_ray(self, [x, y]: Point) -> Option<Point> {
        match self {
            Plane::Parallel => None,
            Plane::Image | Plane::Angle | Plane::Sphere => {
                self.place([x, y, 1.0]).map(|(place, _)| place)
            }
        }
    }

    /// The direction of a place's ray, unit length, for the same planes; `None` beyond the sphere.
    pub(super) fn direction(self, [x, y]: Point) -> Option<[f64; 3]> {
        match self {
            Plane::Image | Plane::Angle => None,
            Plane::Parallel => Some([0.0, 0.0, 1.0]),
            Plane::Sphere if x.abs() > PI + SLACK || y.abs() > FRAC_PI_2 + SLACK => None,
            Plane::Sphere => {
                let ((sin, cos), (down, level)) = (x.sin_cos(), y.sin_cos());
                Some([level * sin, down, level * cos])
            }
        }
    }
}
