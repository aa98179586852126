//! Solid shapes: where a ray meets them, their normals, boxes around them, and coordinates to paint
//! them by.

use super::vector::{V, add, along, cross, dot, length, scale, sub, unit};

/// A solid. Lengths in world units; y points down.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Sphere {
        centre: V,
        radius: f64,
    },
    /// A box turned by `yaw` radians about the vertical axis.
    Cuboid {
        centre: V,
        half: V,
        yaw: f64,
    },
    /// A capped cylinder (equal radii) or cone (one radius 0).
    Frustum {
        from: V,
        to: V,
        radii: [f64; 2],
    },
    /// `normal` is the axis of revolution, unit length.
    Torus {
        centre: V,
        normal: V,
        major: f64,
        minor: f64,
    },
}

/// Hits nearer than this are the surface that the ray leaves.
pub(super) const SKIN: f64 = 1e-6;

impl Shape {
    /// Corners of an axis-aligned box around the shape.
    pub(super) fn bounds(&self) -> [V; 2] {
        let ball =
            |centre: V, radius: f64| [centre.map(|c| c - radius), centre.map(|c| c + radius)];
        match *self {
            Shape::Sphere { centre, radius } => ball(centre, radius),
            Shape::Cuboid { centre, half, .. } => {
                let across = half[0].hypot(half[2]);
                let reach = [across, half[1], across];
                [sub(centre, reach), add(centre, reach)]
            }
            Shape::Frustum { from, to, radii } => {
                let (a, b) = (ball(from, radii[0]), ball(to, radii[1]));
                [
                    std::array::from_fn(|i| a[0][i].min(b[0][i])),
                    std::array::from_fn(|i| a[1][i].max(b[1][i])),
                ]
            }
            Shape::Torus {
                centre,
                normal,
                major,
                minor,
            } => {
                let reach = normal.map(|n| major * (1.0 - n * n).max(0.0).sqrt() + minor);
                [sub(centre, reach), add(centre, reach)]
            }
        }
    }

    /// Distance to the first surface beyond [`SKIN`] along a unit direction, entering or leaving.
    pub(super) fn hit(&self, origin: V, direction: V) -> Option<f64> {
        match *self {
            Shape::Sphere { centre, radius } => {
                let to = sub(origin, centre);
                let b = dot(to, direction);
                let root = (b * b - dot(to, to) + radius * radius).sqrt();
                // A miss makes the root NaN, which no comparison accepts.
                [-b - root, -b + root].into_iter().find(|&t| t > SKIN)
            }
            Shape::Cuboid { centre, half, yaw } => {
                let (o, d) = (turn(sub(origin, centre), -yaw), turn(direction, -yaw));
                let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
                for i in 0..3 {
                    let (a, b) = ((-half[i] - o[i]) / d[i], (half[i] - o[i]) / d[i]);
                    // f64::max and min ignore the NaN of 0 / 0.
                    enter = enter.max(a.min(b));
                    leave = leave.min(a.max(b));
                }
                let inside = enter <= leave;
                [enter, leave].into_iter().find(|&t| inside && t > SKIN)
            }
            Shape::Frustum { from, to, radii } => hit_frustum(origin, direction, from, to, radii),
            Shape::Torus {
                centre,
                normal,
                major,
                minor,
            } => hit_torus(sub(origin, centre), direction, normal, major, minor),
        }
    }

    /// Outward unit normal at a point of the surface.
    pub(super) fn normal(&self, p: V) -> V {
        match *self {
            Shape::Sphere { centre, .. } => unit(sub(p, centre)),
            Shape::Cuboid { centre, half, yaw } => {
                let local = turn(sub(p, centre), -yaw);
                let ratio: V = std::array::from_fn(|i| (local[i] / half[i]).abs());
                let axis = (0..3).fold(0, |best, i| if ratio[i] > ratio[best] { i } else { best });
                let mut n = [0.0; 3];
                n[axis] = local[axis].signum();
                turn(n, yaw)
            }
            Shape::Frustum { from, to, radii } => {
                let span = sub(to, from);
                let (axis, height) = (unit(span), length(span));
                let y = dot(sub(p, from), axis);
                let radial = along(sub(p, from), axis, -y);
                let slope = (radii[1] - radii[0]) / height;
                let edge = 1e-6 * height;
                if y < edge && length(radial) < radii[0] * (1.0 - 1e-6) {
                    scale(axis, -1.0)
                } else if y > height - edge && length(radial) < radii[1] * (1.0 - 1e-6) {
                    axis
                } else {
                    unit(along(unit(radial), axis, -slope))
                }
            }
            Shape::Torus {
                centre,
                normal,
                major,
                ..
            } => {
                let local = sub(p, centre);
                let flat = along(local, normal, -dot(local, normal));
                unit(sub(local, scale(unit(flat), major)))
            }
        }
    }

    /// The point in the shape's own coordinates, for painting: a sphere's in units of its radius, a
    /// box's turned back, a frustum's and a torus's with y along the axis.
    pub(super) fn local(&self, p: V) -> V {
        match *self {
            Shape::Sphere { centre, radius } => scale(sub(p, centre), 1.0 / radius),
            Shape::Cuboid { centre, yaw, .. } => turn(sub(p, centre), -yaw),
            Shape::Frustum { from, to, .. } => in_frame(sub(p, from), unit(sub(to, from))),
            Shape::Torus { centre, normal, .. } => in_frame(sub(p, centre), normal),
        }
    }

    /// A ball that stands for the shape when it darkens its surroundings; `None` for thin shapes.
    pub(super) fn occluder(&self) -> Option<(V, f64)> {
        match *self {
            Shape::Sphere { centre, radius } => Some((centre, radius)),
            Shape::Cuboid { centre, half, .. } => {
                Some((centre, half[0].min(half[1]).min(half[2]) * 1.1))
            }
            Shape::Frustum { from, to, radii } => {
                let radius = radii[0].max(radii[1]) * 0.8;
                (radius > 0.1).then(|| (along(from, unit(sub(to, from)), radius), radius))
            }
            Shape::Torus { .. } => None,
        }
    }
}

/// Turns about the vertical axis.
fn turn(p: V, yaw: f64) -> V {
    let (s, c) = yaw.sin_cos();
    [c * p[0] + s * p[2], p[1], c * p[2] - s * p[0]]
}

/// Coordinates in a frame whose second axis is `axis`.
fn in_frame(p: V, axis: V) -> V {
    let helper = if axis[1].abs() < 0.9 {
        [0.0, 1.0, 0.0]
    } else {
        [1.0, 0.0, 0.0]
    };
    let first = unit(cross(axis, helper));
    [dot(p, first), dot(p, axis), dot(p, cross(first, axis))]
}

fn hit_frustum(origin: V, direction: V, from: V, to: V, radii: [f64; 2]) -> Option<f64> {
    let span = sub(to, from);
    let (axis, height) = (unit(span), length(span));
    let slope = (radii[1] - radii[0]) / height;
    let o = sub(origin, from);
    let (y, dy) = (dot(o, axis), dot(direction, axis));
    // Parts of origin and direction across the axis.
    let (p, q) = (along(o, axis, -y), along(direction, axis, -dy));
    let mut nearest = f64::INFINITY;

    // Side: |p + t q| equals the radius at height y + t dy.
    let radius = radii[0] + slope * y;
    let a = dot(q, q) - slope * slope * dy * dy;
    let b = dot(p, q) - slope * dy * radius;
    let c = dot(p, p) - radius * radius;
    let root = (b * b - a * c).sqrt();
    for t in [(-b - root) / a, (-b + root) / a] {
        let at = y + t * dy;
        if t > SKIN && t < nearest && at >= 0.0 && at <= height {
            nearest = t;
        }
    }
    for (cap, radius) in [(0.0, radii[0]), (height, radii[1])] {
        let t = (cap - y) / dy;
        let across = along(p, q, t);
        if t > SKIN && t < nearest && dot(across, across) <= radius * radius {
            nearest = t;
        }
    }
    nearest.is_finite().then_some(nearest)
}

/// Walks along the ray by the exact distance to the torus, which never oversteps; `o` is relative
/// to the centre.
fn hit_torus(o: V, direction: V, normal: V, major: f64, minor: f64) -> Option<f64> {
    let reach = major + minor;
    let b = dot(o, direction);
    let root = (b * b - dot(o, o) + reach * reach).sqrt();
    if root.is_nan() || -b + root <= SKIN {
        return None;
    }
    let distance = |p: V| {
        let y = dot(p, normal);
        let across = (dot(p, p) - y * y).max(0.0).sqrt();
        (across - major).hypot(y) - minor
    };
    let (mut t, end) = ((-b - root).max(0.0), -b + root);
    // A ray that starts on the surface first has to leave it.
    if t == 0.0 && distance(o).abs() < 1e-5 {
        t = 1e-4;
    }
    // A ray at a small angle to the surface comes closer by a small share a step.
    for _ in 0..2000 {
        let d = distance(along(o, direction, t)).abs();
        if d < 1e-6 {
            return (t > SKIN).then_some(t);
        }
        t += d;
        if t > end {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn shapes() -> Vec<Shape> {
        vec![
            Shape::Sphere {
                centre: [0.2, -0.3, 0.1],
                radius: 0.7,
            },
            Shape::Cuboid {
                centre: [0.1, 0.2, -0.1],
                half: [0.5, 0.3, 0.8],
                yaw: 0.6,
            },
            Shape::Frustum {
                from: [0.0, 0.5, 0.1],
                to: [0.3, -0.7, 0.0],
                radii: [0.4, 0.4],
            },
            Shape::Frustum {
                from: [0.0, 0.5, 0.0],
                to: [0.2, -0.6, 0.1],
                radii: [0.6, 0.0],
            },
            Shape::Torus {
                centre: [0.1, 0.0, 0.0],
                normal: unit([0.2, 1.0, 0.4]),
                major: 0.6,
                minor: 0.2,
            },
        ]
    }

    /// Whether a point lies inside, from each shape's definition rather than from its ray code.
    fn inside(shape: &Shape, p: V) -> bool {
        let l = shape.local(p);
        match *shape {
            Shape::Sphere { .. } => length(l) < 1.0,
            Shape::Cuboid { half, .. } => (0..3).all(|i| l[i].abs() < half[i]),
            Shape::Frustum { from, to, radii } => {
                let h = length(sub(to, from));
                let r = radii[0] + (radii[1] - radii[0]) * l[1] / h;
                l[1] > 0.0 && l[1] < h && l[0].hypot(l[2]) < r
            }
            Shape::Torus { major, minor, .. } => (l[0].hypot(l[2]) - major).hypot(l[1]) < minor,
        }
    }

    #[test]
    fn rays_stop_where_inside_begins() {
        let mut rng = Rng::new(3, 0);
        let mut point =
            |size: f64| -> V { std::array::from_fn(|_| size * (rng.uniform() as f64 * 2.0 - 1.0)) };
        for shape in shapes() {
            let mut hits = 0;
            for _ in 0..400 {
                let origin = scale(unit(point(1.0)), 3.0);
                let direction = unit(sub(point(0.8), origin));
                let first = shape.hit(origin, direction);
                let step = 1e-3;
                let march = (0..6000)
                    .map(|i| i as f64 * step)
                    .find(|&t| inside(&shape, along(origin, direction, t)));
                match (first, march) {
                    (Some(t), Some(m)) => {
                        assert!((t - m).abs() <= step + 1e-4, "{shape:?}: {t} against {m}");
                        let p = along(origin, direction, t);
                        let n = shape.normal(p);
                        assert!(
                            (length(n) - 1.0).abs() < 1e-9 && dot(n, direction) < 1e-3,
                            "{shape:?}"
                        );
                        assert!(
                            !inside(&shape, along(p, n, 1e-4)),
                            "{shape:?}: the normal points inwards"
                        );
                        let [low, high] = shape.bounds();
                        assert!(
                            (0..3).all(|i| p[i] >= low[i] - 1e-6 && p[i] <= high[i] + 1e-6),
                            "{shape:?}"
                        );
                        hits += 1;
                    }
                    // A graze shorter than the step may be missed by the march, never by the ray.
                    (None, Some(m)) => panic!("{shape:?}: missed a hit at {m}"),
                    _ => {}
                }
            }
            assert!(hits > 50, "{shape:?}: only {hits} hits");
        }
    }

    #[test]
    fn rays_from_the_surface_outwards_do_not_hit_it_again() {
        for shape in &shapes()[..4] {
            let origin = [0.3, -3.0, 0.2];
            let direction = unit(sub([0.1, 0.0, 0.0], origin));
            let t = shape.hit(origin, direction).unwrap();
            let p = along(origin, direction, t);
            assert_eq!(
                shape.hit(along(p, shape.normal(p), 1e-4), shape.normal(p)),
                None
            );
        }
    }
}
