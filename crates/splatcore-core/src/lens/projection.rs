//! Where in the image of a camera with a lens a point is, and how that changes with the point: what
//! a renderer needs, for points beyond the image too.

use super::rolling::Rolling;
use super::{COEFFICIENTS, Plane, Polynomial};
use crate::camera::Camera;
use std::f64::consts::PI;

/// The lens is continued beyond the farthest corner of the image by this share of its angle.
/// Further out its polynomial means nothing: the image grows in proportion to the angle from there.
const MARGIN: f64 = 0.15;
/// Beyond `max_angle`, a Gaussian's centre may lie by this share of what is left to the axis behind
/// the camera, and its sigma points by that.
const CENTRE_SHARE: f64 = 0.25;
const SIGMA_SHARE: f64 = 0.5;
/// Beyond `max_angle` the image grows with the angle at least by this share of its mean growth.
const MIN_GROWTH: f64 = 0.1;
/// Less than the cosine of any angle.
const ANY_COSINE: f64 = -2.0;

/// A camera's projection of points in its axes (x right, y down, z forward) to pixels, by a
/// polynomial lens.
///
/// A point at an angle of more than `max_angle` from the axis is where the point at `max_angle` of
/// the same azimuth is, and further out by `slope` times the rest of the angle. So every point has
/// a place, but for those on the axis behind the camera. In planes in which every point has a place
/// anyway (`Plane::is_straight`) nothing is beyond `max_angle`, which is the plane's.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The lens.
    pub polynomial: Polynomial,
    /// Focal lengths in pixels.
    pub focal: [f64; 2],
    /// Principal point in pixels.
    pub centre: [f64; 2],
    /// Radians from the axis up to which the polynomial is used.
    pub max_angle: f64,
    /// `max_angle` in the polynomial's plane.
    pub edge: f64,
    /// How far out a point moves for a radian beyond `max_angle`, on the real image plane.
    pub slope: f64,
    /// Cosine of the angle from the axis at which a Gaussian's centre may be at most.
    pub centre_cosine: f64,
    /// The same for its sigma points.
    pub sigma_cosine: f64,
    /// Pixels along x after which places repeat; 0 if they do not.
    pub period: f64,
    /// Of a rolling shutter.
    pub rolling: Option<Rolling>,
}

/// A point about the axis.
struct Place {
    /// Distance from the axis.
    r: f64,
    /// Unit vector away from the axis, (1, 0) on it.
    outwards: [f64; 2],
    /// Radians beyond `max_angle`, or 0.
    beyond: f64,
    /// Where in the polynomial's plane, and that over `r`.
    plane: [f64; 2],
    ratio: f64,
    /// Its distance from the axis by the angle from the axis; 0 beyond.
    growth: f64,
    /// Squared distance from the camera.
    square: f64,
}

impl Projection {
    /// `None` for a lens that is no polynomial.
    pub fn new(camera: &Camera) -> Option<Self> {
        let polynomial = camera.lens.polynomial()?;
        let (focal, centre) = ([camera.fx, camera.fy], [camera.cx, camera.cy]);
        let limit = polynomial.plane.max_angle();
        if polynomial.plane.is_straight() {
            let cosine = |angle: f64| match angle < PI {
                true => angle.cos(),
                false => ANY_COSINE,
            };
            return Some(Self {
                polynomial,
                focal,
                centre,
                max_angle: limit,
                edge: limit,
                slope: 0.0,
                centre_cosine: cosine(limit),
                sigma_cosine: cosine(limit + SIGMA_SHARE * (PI - limit)),
                period: polynomial.plane.period() * camera.fx,
                rolling: Rolling::of(camera),
            });
        }
        let in_angles = polynomial.plane == Plane::Angle;
        let to_plane = |angle: f64| if in_angles { angle } else { angle.tan() };
        let to_angle = |plane: f64| if in_angles { plane } else { plane.atan() };
        let fold = to_angle(polynomial.fold(to_plane(limit)));
        let corner = |x: f64, y: f64| {
            let target = [(x - centre[0]) / focal[0], (y - centre[1]) / focal[1]];
            polynomial
                .unbend(target)
                .map(|[x, y]| to_angle(x.hypot(y)) * (1.0 + MARGIN))
        };
        let (w, h) = (f64::from(camera.width), f64::from(camera.height));
        let corners = [(0.0, 0.0), (w, 0.0), (0.0, h), (w, h)].map(|(x, y)| corner(x, y));
        let most = polynomial.max_radius.map_or(PI, to_angle);
        let farthest = corners
            .iter()
            .try_fold(0.0f64, |farthest, c| c.map(|c| farthest.max(c)))
            .map(|farthest| farthest.min(most))
            .filter(|&farthest| farthest < fold);
        let max_angle = farthest.unwrap_or(fold.min(most));
        let edge = to_plane(max_angle);
        let (radial, radial_slope) = polynomial.radial(edge * edge);
        let by_plane = radial + 2.0 * edge * edge * radial_slope;
        let by_angle = match in_angles {
            false => by_plane * (1.0 + edge * edge),
            true => by_plane,
        };
        // What lies beyond a fold is not drawn: the model does not know where it would be.
        let rest = PI - max_angle;
        let centre_angle = match farthest {
            Some(_) => max_angle + CENTRE_SHARE * rest,
            None => max_angle,
        };
        Some(Self {
            polynomial,
            focal,
            centre,
            max_angle,
            edge,
            slope: by_angle.max(MIN_GROWTH * radial * edge / max_angle),
            centre_cosine: centre_angle.cos(),
            sigma_cosine: (max_angle + SIGMA_SHARE * rest).cos(),
            period: 0.0,
            rolling: Rolling::of(camera),
        })
    }

    /// Whether the depth of a point is its distance from the camera and not z: if Gaussians beside
    /// the camera or behind it may be drawn. With z the order of splats, and so the scene, is that
    /// of pinholes, through which others look at it.
    pub fn depth_is_distance(&self) -> bool {
        self.polynomial.plane.shows_behind() && self.centre_cosine < 0.0
    }

    /// What splats are sorted by, and what must be beyond the near plane: z, or the distance from
    /// the camera.
    pub fn depth(&self, view: [f64; 3]) -> f64 {
        match self.depth_is_distance() {
            false => view[2],
            true => length(view),
        }
    }

    /// Its derivative.
    pub fn depth_gradient(&self, view: [f64; 3]) -> [f64; 3] {
        match self.depth_is_distance() {
            false => [0.0, 0.0, 1.0],
            true => view.map(|v| v / length(view)),
        }
    }

    /// Whether a Gaussian with its centre here may be drawn, the near plane aside.
    pub fn sees_centre(&self, view: [f64; 3]) -> bool {
        view[2] >= self.centre_cosine * length(view)
    }

    /// Whether a sigma point has a place that means something.
    pub fn sees_sigma_point(&self, view: [f64; 3]) -> bool {
        view[2] >= self.sigma_cosine * length(view)
    }

    /// The pixel of a point in camera axes, in or out of the image, of a global shutter.
    pub(super) fn project_still(&self, view: [f64; 3]) -> [f64; 2] {
        if let Some((place, _)) = self.polynomial.plane.place(view) {
            return self.to_pixel(place);
        }
        let place = self.place(view);
        self.pixel(&place)
    }

    /// The same, and its derivative by the point.
    pub(super) fn jacobian_still(&self, view: [f64; 3]) -> ([f64; 2], [[f64; 3]; 2]) {
        if let Some((place, rows)) = self.polynomial.plane.place(view) {
            let rows = std::array::from_fn(|i| rows[i].map(|v| v * self.focal[i]));
            return (self.to_pixel(place), rows);
        }
        let place = self.place(view);
        let ([ex, ey], z) = (place.outwards, view[2]);
        let across = [-ey, ex];
        // Of the angle from the axis.
        let by_view = [ex * z, ey * z, -place.r].map(|v| v / place.square);
        let of = |along: f64, around: f64| -> [[f64; 3]; 2] {
            std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    let turn = if j < 2 { across[i] * across[j] } else { 0.0 };
                    along * place.outwards[i] * by_view[j] + around * turn
                })
            })
        };
        let of_plane = of(place.growth, place.ratio);
        let bend = self.polynomial.jacobian(place.plane);
        let mut rows: [[f64; 3]; 2] = std::array::from_fn(|i| {
            std::array::from_fn(|j| bend[i][0] * of_plane[0][j] + bend[i][1] * of_plane[1][j])
        });
        if place.beyond > 0.0 {
            let more = of(self.slope, self.slope * place.beyond / place.r);
            rows = std::array::from_fn(|i| std::array::from_fn(|j| rows[i][j] + more[i][j]));
        }
        let rows = std::array::from_fn(|i| rows[i].map(|v| v * self.focal[i]));
        (self.pixel(&place), rows)
    }

    /// See [`Projection::by_coefficients`].
    pub(super) fn by_coefficients_still(&self, view: [f64; 3]) -> [[f64; 2]; COEFFICIENTS] {
        if self.polynomial.plane.is_straight() {
            return [[0.0; 2]; COEFFICIENTS];
        }
        let terms = self.polynomial.by_coefficients(self.place(view).plane);
        terms.map(|[x, y]| [self.focal[0] * x, self.focal[1] * y])
    }

    /// A pixel, so many periods further that it is the nearest to another one: the sigma points of
    /// a Gaussian behind a panorama's camera lie about its mean, not at both ends of the image.
    pub fn beside(&self, [x, y]: [f64; 2], other: [f64; 2]) -> [f64; 2] {
        match self.period > 0.0 {
            true => [x - self.period * ((x - other[0]) / self.period).round(), y],
            false => [x, y],
        }
    }

    fn to_pixel(&self, place: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|i| self.focal[i] * place[i] + self.centre[i])
    }

    fn pixel(&self, place: &Place) -> [f64; 2] {
        let bent = self.polynomial.bend(place.plane);
        let further = self.slope * place.beyond;
        [0, 1].map(|i| self.focal[i] * (bent[i] + further * place.outwards[i]) + self.centre[i])
    }

    fn place(&self, [x, y, z]: [f64; 3]) -> Place {
        let across = x * x + y * y;
        let r = across.sqrt();
        let on_axis = r < 1e-12 * z.abs();
        let outwards = match on_axis {
            true => [1.0, 0.0],
            false => [x / r, y / r],
        };
        let square = across + z * z;
        // Without an angle, of which only fisheyes need one here.
        let in_plane = self.polynomial.plane == Plane::Image && z > 0.0 && r <= self.edge * z;
        let angle = if in_plane { 0.0 } else { r.atan2(z) };
        let (ratio, growth) = match angle <= self.max_angle {
            _ if in_plane => (1.0 / z, square / (z * z)),
            false => (self.edge / r, 0.0),
            true if on_axis => (1.0 / z, 1.0),
            true => (angle / r, 1.0),
        };
        Place {
            r,
            outwards,
            beyond: (angle - self.max_angle).max(0.0),
            plane: [x * ratio, y * ratio],
            ratio,
            growth,
            square,
        }
    }
}

fn length([x, y, z]: [f64; 3]) -> f64 {
    (x * x + y * y + z * z).sqrt()
}
