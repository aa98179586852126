//! [`Shape`]: a part of space.

use std::str::FromStr;

/// A part of space, world units, its surface included.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// An axis-aligned box.
    Box {
        /// Smallest x, y, z.
        min: [f64; 3],
        /// Largest x, y, z.
        max: [f64; 3],
    },
    /// A ball.
    Sphere {
        /// Its centre.
        centre: [f64; 3],
        /// Its radius.
        radius: f64,
    },
    /// A half space: where normal · x >= offset.
    Plane {
        /// Need not be of unit length.
        normal: [f64; 3],
        /// World units times the normal's length.
        offset: f64,
    },
    /// A prism: what lies inside a polygon when seen along the third axis. A point is inside if a
    /// ray from it crosses the outline an odd number of times.
    Polygon {
        /// The two axes of the polygon's plane, 0 to 2.
        axes: [usize; 2],
        /// Corners in these axes, in order, at least three.
        corners: Vec<[f64; 2]>,
    },
}

impl Shape {
    /// Whether a point is inside.
    pub fn contains(&self, p: [f64; 3]) -> bool {
        match self {
            Shape::Box { min, max } => (0..3).all(|c| min[c] <= p[c] && p[c] <= max[c]),
            Shape::Sphere { centre, radius } => {
                let squares = (0..3).map(|c| (p[c] - centre[c]).powi(2));
                squares.sum::<f64>() <= radius * radius
            }
            Shape::Plane { normal, offset } => {
                (0..3).map(|c| normal[c] * p[c]).sum::<f64>() >= *offset
            }
            Shape::Polygon { axes, corners } => inside(corners, axes.map(|axis| p[axis])),
        }
    }
}

/// Crossing number of a ray along the first axis.
fn inside(corners: &[[f64; 2]], [u, v]: [f64; 2]) -> bool {
    let mut inside = false;
    let mut last = corners[corners.len() - 1];
    for &corner in corners {
        if (corner[1] > v) != (last[1] > v) {
            let share = (v - corner[1]) / (last[1] - corner[1]);
            if u < corner[0] + share * (last[0] - corner[0]) {
                inside = !inside;
            }
        }
        last = corner;
    }
    inside
}

impl FromStr for Shape {
    type Err = String;

    /// `box:X0,Y0,Z0,X1,Y1,Z1`, `sphere:X,Y,Z,R`, `plane:NX,NY,NZ,D`,
    /// `polygon:xz:X,Z,X,Z,X,Z,...`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "'{text}' {what}; write box:X0,Y0,Z0,X1,Y1,Z1, sphere:X,Y,Z,RADIUS, \
                 plane:NX,NY,NZ,OFFSET or polygon:xz:X,Z,X,Z,X,Z"
            )
        };
        let (kind, rest) = text.split_once(':').ok_or_else(|| wrong("is no shape"))?;
        let (axes, rest) = match kind {
            "polygon" => {
                let (axes, rest) = rest.split_once(':').ok_or_else(|| wrong("has no axes"))?;
                (axes, rest)
            }
            _ => ("", rest),
        };
        let numbers: Vec<f64> = rest
            .split(',')
            .map(|number| number.trim().parse().ok().filter(|v: &f64| v.is_finite()))
            .collect::<Option<_>>()
            .ok_or_else(|| wrong("holds what is no number"))?;
        match (kind, &numbers[..]) {
            ("box", &[a, b, c, d, e, f]) => {
                let (min, max) = ([a, b, c], [d, e, f]);
                match (0..3).all(|c| min[c] <= max[c]) {
                    true => Ok(Shape::Box { min, max }),
                    false => Err(wrong("has a corner that is smaller than the first")),
                }
            }
            ("sphere", &[x, y, z, radius]) if radius >= 0.0 => Ok(Shape::Sphere {
                centre: [x, y, z],
                radius,
            }),
            ("sphere", &[_, _, _, _]) => Err(wrong("has a negative radius")),
            ("plane", &[x, y, z, offset]) if [x, y, z] != [0.0; 3] => Ok(Shape::Plane {
                normal: [x, y, z],
                offset,
            }),
            ("plane", &[_, _, _, _]) => Err(wrong("has no direction")),
            ("polygon", numbers) => {
                let axis = |c: char| "xyz".find(c);
                let axes: Option<Vec<usize>> = axes.chars().map(axis).collect();
                let Some(&[a, b]) = axes.as_deref().filter(|axes| axes.first() != axes.last())
                else {
                    return Err(wrong("does not name two axes"));
                };
                let (corners, odd) = numbers.as_chunks::<2>();
                if corners.len() < 3 || !odd.is_empty() {
                    return Err(wrong("is no list of three corners or more"));
                }
                Ok(Shape::Polygon {
                    axes: [a, b],
                    corners: corners.to_vec(),
                })
            }
            ("box" | "sphere" | "plane", _) => Err(wrong("has not as many numbers as it needs")),
            _ => Err(wrong("is no shape")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(shape: &str, points: &[([f64; 3], bool)]) {
        let parsed: Shape = shape.parse().unwrap();
        for &(p, want) in points {
            assert_eq!(parsed.contains(p), want, "{shape} {p:?}");
        }
    }

    #[test]
    fn shapes_hold_what_they_should() {
        holds(
            "box:-1,0,0,1,2,3",
            &[
                ([0.0, 2.0, 3.0], true),
                ([0.0, 2.0, 3.1], false),
                ([-1.1, 1.0, 1.0], false),
            ],
        );
        holds(
            "sphere:1,0,0,2",
            &[([3.0, 0.0, 0.0], true), ([2.5, 1.5, 0.0], false)],
        );
        holds(
            "plane:0,-2,0,-2",
            &[([9.0, 0.9, 9.0], true), ([0.0, 1.1, 0.0], false)],
        );
        // An L in x and z, whose inner corner is outside.
        holds(
            "polygon:xz:0,0, 4,0, 4,1, 1,1, 1,4, 0,4",
            &[
                ([0.5, 99.0, 3.0], true),
                ([3.0, -5.0, 0.5], true),
                ([3.0, 0.0, 3.0], false),
                ([-0.1, 0.0, 0.5], false),
            ],
        );
    }

    #[test]
    fn wrong_shapes_say_what_is_wrong() {
        for text in [
            "box",
            "box:1,2,3",
            "box:1,0,0,0,1,1",
            "sphere:0,0,0,-1",
            "plane:0,0,0,1",
            "cone:1",
            "polygon:0,0,1,0,1,1",
            "polygon:xx:0,0,1,0,1,1",
            "polygon:xz:0,0,1,0,1",
            "polygon:xq:0,0",
            "sphere:a,b,c,d",
            "sphere:nan,0,0,1",
            "sphere:0,0,0,inf",
            "polygon:x:0,0,1,0,1,1",
        ] {
            let message = text.parse::<Shape>().unwrap_err();
            assert!(
                message.contains(text) && message.contains("sphere:X,Y,Z"),
                "{message}"
            );
        }
    }
}
