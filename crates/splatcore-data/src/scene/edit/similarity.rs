//! [`Similarity`]: a rotation, a scale and a translation.

use splatcore_core::camera::{cross, dot, length};
use splatcore_core::linear::quaternion_from_rotation;

/// A map of world points, x to scale R x + translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// R, a rotation, `[row][column]`.
    pub rotation: [[f64; 3]; 3],
    /// Above 0.
    pub scale: f64,
    /// World units, after the scale.
    pub translation: [f64; 3],
}

impl Similarity {
    /// Changes nothing.
    pub const IDENTITY: Self = Self {
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        scale: 1.0,
        translation: [0.0; 3],
    };

    /// Moves by a vector, world units.
    pub fn translation(by: [f64; 3]) -> Self {
        Self {
            translation: by,
            ..Self::IDENTITY
        }
    }

    /// Scales about the origin; `by` is above 0.
    pub fn scale(by: f64) -> Self {
        Self {
            scale: by,
            ..Self::IDENTITY
        }
    }

    /// Rotates about an axis through the origin by an angle in degrees, counter-clockwise for one
    /// who looks against the axis. (Rodrigues' formula.)
    pub fn rotation(axis: [f64; 3], degrees: f64) -> Self {
        let [x, y, z] = unit(axis);
        // Quarter turns are exact: a scene turned back is the scene.
        let (s, c) = match degrees.rem_euclid(360.0) {
            0.0 => (0.0, 1.0),
            90.0 => (1.0, 0.0),
            180.0 => (0.0, -1.0),
            270.0 => (-1.0, 0.0),
            degrees => degrees.to_radians().sin_cos(),
        };
        let t = 1.0 - c;
        Self {
            rotation: [
                [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
                [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
                [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
            ],
            ..Self::IDENTITY
        }
    }

    /// The smallest rotation that turns direction `from` into `to`; half a turn about an axis of
    /// its own choice if they are opposite.
    pub fn between(from: [f64; 3], to: [f64; 3]) -> Self {
        let (a, b) = (unit(from), unit(to));
        let axis = cross(a, b);
        let (sine, cosine) = (length(axis), dot(a, b));
        if sine > 1e-12 {
            return Self::rotation(axis, sine.atan2(cosine).to_degrees());
        }
        if cosine > 0.0 {
            return Self::IDENTITY;
        }
        // Any axis across: the world axis that is farthest from `a` gives one.
        let least = (0..3).min_by(|&i, &j| a[i].abs().total_cmp(&a[j].abs()));
        let mut other = [0.0; 3];
        other[least.unwrap_or(0)] = 1.0;
        Self::rotation(cross(a, other), 180.0)
    }

    /// First this, then `next`.
    pub fn then(&self, next: &Self) -> Self {
        let rotation = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                (0..3)
                    .map(|k| next.rotation[i][k] * self.rotation[k][j])
                    .sum()
            })
        });
        Self {
            rotation,
            scale: self.scale * next.scale,
            translation: next.point(self.translation),
        }
    }

    /// Where a world point goes.
    pub fn point(&self, p: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|i| self.scale * dot(self.rotation[i], p) + self.translation[i])
    }

    /// The map as the 4x4 matrix that multiplies columns, `[row][column]`.
    pub fn matrix(&self) -> [[f64; 4]; 4] {
        let mut matrix = [[0.0; 4]; 4];
        for i in 0..3 {
            for j in 0..3 {
                matrix[i][j] = self.scale * self.rotation[i][j];
            }
            matrix[i][3] = self.translation[i];
        }
        matrix[3][3] = 1.0;
        matrix
    }

    /// R as a unit quaternion w, x, y, z.
    pub fn quaternion(&self) -> [f64; 4] {
        quaternion_from_rotation(&self.rotation)
    }
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = length(a);
    a.map(|v| v / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: [f64; 3], b: [f64; 3]) -> bool {
        (0..3).all(|i| (a[i] - b[i]).abs() < 1e-12)
    }

    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y_exactly() {
        let turn = Similarity::rotation([0.0, 0.0, 2.0], 90.0);
        assert_eq!(turn.point([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0]);
        let back = turn.then(&Similarity::rotation([0.0, 0.0, 1.0], -90.0));
        assert_eq!(back, Similarity::IDENTITY);
    }

    #[test]
    fn maps_apply_in_order() {
        let both = Similarity::translation([1.0, 0.0, 0.0])
            .then(&Similarity::scale(2.0))
            .then(&Similarity::rotation([0.0, 0.0, 1.0], 90.0));
        assert!(near(both.point([1.0, 1.0, 1.0]), [-2.0, 4.0, 2.0]));
        let matrix = both.matrix();
        let p = [1.0, 1.0, 1.0, 1.0];
        let by_matrix = std::array::from_fn(|i| (0..4).map(|j| matrix[i][j] * p[j]).sum());
        assert!(near(by_matrix, [-2.0, 4.0, 2.0]));
    }

    #[test]
    fn between_turns_one_direction_into_the_other() {
        for (from, to) in [
            ([0.0, 0.0, 3.0], [0.0, -1.0, 0.0]),
            ([1.0, 2.0, -3.0], [-1.0, 0.5, 0.2]),
            ([0.0, 1.0, 0.0], [0.0, -1.0, 0.0]),
            ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]),
        ] {
            let turned = Similarity::between(from, to).point(unit(from));
            assert!(near(turned, unit(to)), "{from:?} {to:?} {turned:?}");
        }
    }
}
