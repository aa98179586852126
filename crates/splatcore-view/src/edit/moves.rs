//! [`Moves`]: scale and up, which are applied when the scene is saved.

use splatcore_data::scene::edit::{Similarity, normal_of_three};

/// Up in files: most programs take y as down.
pub const FILE_UP: [f64; 3] = [0.0, -1.0, 0.0];

/// Which direction is up.
#[derive(Clone, Debug, PartialEq)]
pub enum Up {
    /// This one.
    Direction([f64; 3]),
    /// That from which three points, which are not on a line, lie counter-clockwise.
    Plane([[f64; 3]; 3]),
}

impl Up {
    /// The direction, unit length; none of points on a line, or of no direction.
    pub fn direction(&self) -> Option<[f64; 3]> {
        match *self {
            Up::Direction(direction) => splatcore_core::camera::normalize(direction),
            Up::Plane(points) => normal_of_three(points),
        }
    }
}

/// How a scene is scaled and turned; world points are those of the scene as it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moves {
    /// Two points and how far apart they are to be.
    pub metric: Option<([[f64; 3]; 2], f64)>,
    /// What is up in the scene and becomes -y.
    pub up: Option<Up>,
}

impl Moves {
    /// What lengths are multiplied by.
    pub fn scale(&self) -> f64 {
        let Some(([a, b], length)) = self.metric else {
            return 1.0;
        };
        length / (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt()
    }

    /// The map that is applied.
    pub fn similarity(&self) -> Similarity {
        let scale = Similarity::scale(self.scale());
        match self.up.as_ref().and_then(Up::direction) {
            Some(up) => scale.then(&Similarity::between(up, FILE_UP)),
            None => scale,
        }
    }

    /// The actions of `splatcore convert` that do the same.
    pub fn command(&self) -> String {
        let numbers = |points: &[[f64; 3]]| {
            let numbers = points.iter().flatten().map(|v| format!("{v:.6}"));
            numbers.collect::<Vec<_>>().join(",")
        };
        let mut words = Vec::new();
        if let Some((points, length)) = &self.metric {
            words.push(format!("--metric {}={length}", numbers(points)));
        }
        match &self.up {
            Some(Up::Direction(direction)) => {
                words.push(format!("--up {}", numbers(&[*direction])))
            }
            Some(Up::Plane(points)) => words.push(format!("--up plane:{}", numbers(points))),
            None => {}
        }
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_and_up_are_one_map() {
        let moves = Moves {
            metric: Some(([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]], 5.0)),
            up: Some(Up::Plane([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])),
        };
        let point = moves.similarity().point([0.0, 0.0, 2.0]);
        assert!((0..3).all(|c| (point[c] - [0.0, -5.0, 0.0][c]).abs() < 1e-12));
        assert_eq!(
            moves.command(),
            "--metric 0.000000,0.000000,1.000000,0.000000,0.000000,3.000000=5 \
             --up plane:0.000000,0.000000,0.000000,1.000000,0.000000,0.000000,0.000000,1.000000,\
             0.000000"
        );
        assert_eq!(Moves::default().similarity(), Similarity::IDENTITY);
        assert_eq!(Moves::default().command(), "");
    }
}
