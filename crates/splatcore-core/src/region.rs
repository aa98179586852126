//! The part of a scene that a run is about: a box, in which the set of Gaussians grows.

use crate::Camera;
use crate::camera::dot;
use crate::linear::{eigen, nearest_to_lines};
use crate::ranked::median;
use std::fmt;
use std::str::FromStr;

/// A box along the axes of the world, its faces included, world units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The corner with the smallest coordinates.
    pub low: [f32; 3],
    /// The corner with the largest.
    pub high: [f32; 3],
}

/// Half the side of [`Region::looked_at`], in distances of the cameras.
const HALF_SIDE: f64 = 0.5;
/// A camera looks at a point if its axis is off by less than this, as a cosine: 25 degrees.
const AT: f64 = 0.906;
/// So many of the cameras must look at it.
const MOST: f64 = 0.9;
/// The axes of cameras that look the same way meet nowhere. Smallest eigenvalue of the mean of I -
/// d d^T over the axes d: about the mean squared sine of their angles to one direction.
const MIN_SPREAD: f64 = 0.05;

impl Region {
    /// Whether a point lies in it. One that is not finite lies in none.
    pub fn contains(&self, point: [f32; 3]) -> bool {
        (0..3).all(|k| self.low[k] <= point[k] && point[k] <= self.high[k])
    }

    /// The part at which cameras look from around: a cube about the point that is nearest to their
    /// axes (least squares), reaching half as far as the middle camera is away. `None` if they do
    /// not look at one place: if their axes point the same way, or if one camera in ten or more has
    /// the point behind it or off its axis by more than 25 degrees.
    pub fn looked_at<'a>(cameras: impl IntoIterator<Item = &'a Camera>) -> Option<Self> {
        let rays: Vec<[[f64; 3]; 2]> = cameras
            .into_iter()
            .map(|camera| [camera.position(), camera.forward()])
            .collect();
        let centre = nearest_point(&rays)?;
        let mut distances = Vec::with_capacity(rays.len());
        let mut looking = 0;
        for [position, forward] in &rays {
            let to = [0, 1, 2].map(|k| centre[k] - position[k]);
            let distance = dot(to, to).sqrt();
            looking += usize::from(dot(to, *forward) > AT * distance);
            distances.push(distance);
        }
        if (looking as f64) < MOST * rays.len() as f64 {
            return None;
        }
        let half = HALF_SIDE * median(distances)?;
        let corner = |side: f64| centre.map(|c| (c + side * half) as f32);
        let (low, high) = (corner(-1.0), corner(1.0));
        let sound = (0..3).all(|k| low[k].is_finite() && low[k] < high[k]);
        sound.then_some(Self { low, high })
    }
}

/// The point with the least sum of squared distances from lines (a point and a unit direction
/// each); `None` if they are nearly parallel.
fn nearest_point(lines: &[[[f64; 3]; 2]]) -> Option<[f64; 3]> {
    let (a, b) = nearest_to_lines(lines);
    let (values, vectors) = eigen(a);
    if !values.iter().all(|value| *value >= MIN_SPREAD) {
        return None;
    }
    let mut point = [0.0; 3];
    for (value, vector) in values.iter().zip(&vectors) {
        let along = dot(*vector, b) / value;
        for k in 0..3 {
            point[k] += along * vector[k];
        }
    }
    Some(point)
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b, c], [d, e, g]) = (self.low, self.high);
        write!(f, "{a},{b},{c},{d},{e},{g}")
    }
}

impl FromStr for Region {
    type Err = String;

    /// `X0,Y0,Z0,X1,Y1,Z1`, also with `box:` before it.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "'{text}' {what}; write two corners as X0,Y0,Z0,X1,Y1,Z1, for example \
                 -1,-1,-1,1,1,1"
            )
        };
        let numbers = text.strip_prefix("box:").unwrap_or(text).split(',');
        let numbers: Option<Vec<f32>> = numbers
            .map(|number| number.trim().parse().ok().filter(|v: &f32| v.is_finite()))
            .collect();
        let Some(&[a, b, c, d, e, f]) = numbers.as_deref() else {
            return Err(wrong("is no box of six numbers"));
        };
        let (low, high) = ([a, b, c], [d, e, f]);
        match (0..3).all(|k| low[k] < high[k]) {
            true => Ok(Self { low, high }),
            false => Err(wrong("has a corner that is not larger than the first")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looking(from: [f64; 3], at: [f64; 3]) -> Camera {
        Camera::look_at(from, at, [0.0, -1.0, 0.0], 0.8, 40, 30)
    }

    /// `count` cameras around a point, at a distance of 4.
    fn ring(count: usize, at: [f64; 3], aim: [f64; 3]) -> Vec<Camera> {
        let angle = |i: usize| std::f64::consts::TAU * i as f64 / count as f64;
        let from = |i: usize| {
            let (sin, cos) = angle(i).sin_cos();
            [at[0] + 4.0 * cos, at[1] - 1.0, at[2] + 4.0 * sin]
        };
        (0..count).map(|i| looking(from(i), aim)).collect()
    }

    #[test]
    fn faces_are_inside() {
        let region: Region = "-1,0,2,1,0.5,3".parse().unwrap();
        assert!(region.contains([-1.0, 0.5, 2.5]) && region.contains([1.0, 0.0, 3.0]));
        for outside in [[-1.1, 0.2, 2.5], [0.0, 0.6, 2.5], [0.0, 0.2, 3.1]] {
            assert!(!region.contains(outside), "{outside:?}");
        }
        assert!(!region.contains([f32::NAN, 0.2, 2.5]));
    }

    #[test]
    fn text_gives_the_box_back() {
        let region = Region {
            low: [-1.5, 0.1, 1e-7],
            high: [2.0, 0.3, 1e9],
        };
        assert_eq!(region.to_string().parse(), Ok(region));
        assert_eq!(format!("box:{region}").parse(), Ok(region));
        for wrong in ["", "1,2,3", "0,0,0,1,1,x", "0,0,0,1,0,1", "0,0,0,1,1,inf"] {
            assert!(wrong.parse::<Region>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn cameras_around_a_thing_look_at_it() {
        let aim = [3.0, 1.0, -2.0];
        let region = Region::looked_at(&ring(12, aim, aim)).unwrap();
        let distance = 17.0f64.sqrt();
        for k in 0..3 {
            let [low, high] = [region.low[k], region.high[k]].map(f64::from);
            assert!((0.5 * (low + high) - aim[k]).abs() < 1e-4, "{region}");
            assert!((high - low - distance).abs() < 1e-4, "{region}");
        }
    }

    #[test]
    fn cameras_that_look_elsewhere_say_nothing() {
        // Outwards; along a corridor; one camera; none.
        let outwards: Vec<Camera> = ring(12, [0.0; 3], [0.0; 3])
            .iter()
            .map(|camera| {
                let position = camera.position();
                looking(position, position.map(|v| 2.0 * v))
            })
            .collect();
        assert_eq!(Region::looked_at(&outwards), None);
        let along: Vec<Camera> = (0..9)
            .map(|i| looking([0.0, 0.0, f64::from(i)], [0.1, 0.0, 50.0]))
            .collect();
        assert_eq!(Region::looked_at(&along), None);
        assert_eq!(Region::looked_at(&along[..1]), None);
        assert_eq!(Region::looked_at(&[]), None);
    }
}
