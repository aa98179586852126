//! Which way is up: as it was typed, as a format names it, or as the cameras show it.

mod of_cameras;
mod of_planes;
mod of_scene;

pub use of_cameras::of_cameras;
pub use of_planes::of_planes;
pub use of_scene::of_scene;

use serde::{Deserialize, Serialize};
use splatcore_core::Gaussians;
use splatcore_core::camera::{cross, dot, normalize};
use splatcore_data::dataset::{Dataset, Format};
use std::fmt;
use std::str::FromStr;

/// A direction that is up, and how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Up {
    /// Unit length, world axes.
    pub direction: [f64; 3],
    /// How it is known.
    pub from: Evidence,
}

/// How a direction that is up is known, from the surest to none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Somebody said so.
    Chosen,
    /// The dataset's format names it.
    Format,
    /// The cameras of the photos share it, and what is level or upright among their points.
    Cameras,
    /// Most of what is long in the scene lies along it, or most of what is flat faces it.
    Scene,
    /// Nothing tells; most scenes have y down.
    Assumed,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Evidence::Chosen => "as chosen",
            Evidence::Format => "as the dataset's format says",
            Evidence::Cameras => "as the photos show",
            Evidence::Scene => "as what is level or upright in the scene shows",
            Evidence::Assumed => "assumed, as in most scenes",
        })
    }
}

impl fmt::Display for Up {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", Direction(self.direction), self.from)
    }
}

impl Up {
    /// Up in most scenes.
    pub const ASSUMED: Self = Self {
        direction: [0.0, -1.0, 0.0],
        from: Evidence::Assumed,
    };

    /// Up of a dataset: gravity where its format names it, else what its cameras share and what is
    /// level or upright among its points.
    pub fn of_dataset(dataset: &Dataset) -> Self {
        // ARKit's world, which all keep: y against gravity.
        let of_arkit = [Format::Polycam, Format::Record3d, Format::Arkit];
        if of_arkit.contains(&dataset.format) {
            return Self {
                direction: [0.0, 1.0, 0.0],
                from: Evidence::Format,
            };
        }
        let cameras = || dataset.entries.iter().map(|entry| &entry.camera);
        let rotations: Vec<_> = cameras().map(|camera| camera.rotation).collect();
        let positions: Vec<_> = cameras().map(|camera| camera.position()).collect();
        let points = match dataset.points.random {
            true => &[][..],
            false => &dataset.points.positions,
        };
        Self::of_photos(of_planes(&rotations, &positions, points))
    }

    /// What a scene shows by itself.
    pub fn of_scene(scene: &Gaussians) -> Self {
        match of_scene(scene) {
            Some(direction) => Self {
                direction,
                from: Evidence::Scene,
            },
            None => Self::ASSUMED,
        }
    }

    /// What cameras share, by their world-to-camera rotations.
    pub fn of_rotations(rotations: impl Iterator<Item = [[f64; 3]; 3]>) -> Self {
        Self::of_photos(of_cameras(&rotations.collect::<Vec<_>>()))
    }

    fn of_photos(found: Option<[f64; 3]>) -> Self {
        match found {
            Some(direction) => Self {
                direction,
                from: Evidence::Cameras,
            },
            None => Self::ASSUMED,
        }
    }
}

/// A direction of the world as it is typed: an axis, or three numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction(pub [f64; 3]);

impl Direction {
    /// As somebody's choice of up.
    pub fn chosen(self) -> Up {
        Up {
            direction: self.0,
            from: Evidence::Chosen,
        }
    }
}

/// Two unit axes of the ground that `up`, of unit length, stands on. For an axis of the world they
/// are the next two axes.
pub fn ground(up: [f64; 3]) -> [[f64; 3]; 2] {
    let axis = (0..3).fold(0, |best, k| {
        if up[k].abs() > up[best].abs() {
            k
        } else {
            best
        }
    });
    let mut next = [0.0; 3];
    next[(axis + 1) % 3] = 1.0;
    let along = dot(next, up);
    let flat = std::array::from_fn(|k| next[k] - along * up[k]);
    let first = normalize(flat).unwrap_or(next);
    let sign = up[axis].signum();
    [first, cross(up, first).map(|v| sign * v)]
}

impl FromStr for Direction {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (sign, name) = match text.strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text.strip_prefix('+').unwrap_or(text)),
        };
        if let Some(axis) = ["x", "y", "z"].iter().position(|axis| *axis == name) {
            let mut direction = [0.0; 3];
            direction[axis] = sign;
            return Ok(Self(direction));
        }
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|n| n.trim().parse()).collect();
        let direction = match numbers.as_deref() {
            Ok(&[x, y, z]) => normalize([x, y, z]).filter(|d| d.iter().all(|v| v.is_finite())),
            _ => None,
        };
        direction
            .map(Self)
            .ok_or_else(|| format!("'{text}' is no direction; write x, -x, y, -y, z, -z or X,Y,Z"))
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, name) in ["x", "y", "z"].iter().enumerate() {
            if self.0[axis].abs() > 1.0 - 1e-9 {
                let sign = if self.0[axis] < 0.0 { "-" } else { "" };
                return write!(f, "{sign}{name}");
            }
        }
        let [x, y, z] = self.0;
        write!(f, "{x:.3},{y:.3},{z:.3}")
    }
}

/// The rotation, in rows, that turns one unit direction to another the shortest way.
pub fn turn(from: [f64; 3], to: [f64; 3]) -> [[f64; 3]; 3] {
    let cosine = dot(from, to);
    // Half a turn: about any axis that is perpendicular.
    let Some(axis) = normalize(cross(from, to)) else {
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        if cosine > 0.0 {
            return identity;
        }
        let [a, _] = ground(from);
        return std::array::from_fn(|i| {
            std::array::from_fn(|j| 2.0 * a[i] * a[j] - identity[i][j])
        });
    };
    let [x, y, z] = axis;
    let (sine, rest) = ((1.0 - cosine * cosine).max(0.0).sqrt(), 1.0 - cosine);
    [
        [
            cosine + rest * x * x,
            rest * x * y - sine * z,
            rest * x * z + sine * y,
        ],
        [
            rest * x * y + sine * z,
            cosine + rest * y * y,
            rest * y * z - sine * x,
        ],
        [
            rest * x * z - sine * y,
            rest * y * z + sine * x,
            cosine + rest * z * z,
        ],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(m: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        m.map(|row| dot(row, v))
    }

    #[test]
    fn directions_are_read_and_shown() {
        for (text, wanted) in [
            ("-y", [0.0, -1.0, 0.0]),
            ("+z", [0.0, 0.0, 1.0]),
            ("3,0,-4", [0.6, 0.0, -0.8]),
        ] {
            let Direction(found) = text.parse().unwrap();
            assert!((0..3).all(|k| (found[k] - wanted[k]).abs() < 1e-12));
        }
        for bad in ["w", "", "1,2", "0,0,0", "1,nan,0", "--y", "1,inf,0"] {
            assert!(bad.parse::<Direction>().is_err(), "{bad}");
        }
        assert_eq!(Direction([0.0, -1.0, 0.0]).to_string(), "-y");
        assert_eq!(
            Direction([0.6, 0.0, -0.8]).to_string(),
            "0.600,0.000,-0.800"
        );
    }

    #[test]
    fn the_ground_of_an_axis_is_the_other_axes() {
        for (axis, sign) in [(0, 1.0), (1, -1.0), (2, 1.0), (2, -1.0)] {
            let mut up = [0.0; 3];
            up[axis] = sign;
            let wanted = [1, 2].map(|next| {
                let mut unit = [0.0; 3];
                unit[(axis + next) % 3] = 1.0;
                unit
            });
            assert_eq!(ground(up), wanted);
        }
        let up = normalize([0.3, -0.9, 0.4]).unwrap();
        let [a, b] = ground(up);
        for (v, w, wanted) in [
            (a, a, 1.0),
            (b, b, 1.0),
            (a, b, 0.0),
            (a, up, 0.0),
            (b, up, 0.0),
        ] {
            assert!((dot(v, w) - wanted).abs() < 1e-12);
        }
    }

    #[test]
    fn a_turn_takes_one_direction_to_the_other() {
        let tilted = normalize([0.3, 0.2, 0.9]).unwrap();
        let down = [0.0, -1.0, 0.0];
        for (from, to) in [(tilted, down), (down, down), ([0.0, 1.0, 0.0], down)] {
            let m = turn(from, to);
            let found = apply(m, from);
            assert!(
                (0..3).all(|k| (found[k] - to[k]).abs() < 1e-12),
                "{found:?}"
            );
            for i in 0..3 {
                for j in 0..3 {
                    let wanted = f64::from(u8::from(i == j));
                    assert!((dot(m[i], m[j]) - wanted).abs() < 1e-12);
                }
            }
            assert!(dot(cross(m[0], m[1]), m[2]) > 0.0);
        }
    }
}
