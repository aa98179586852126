//! The axes of an SPZ file, and the way from them to PLY's.
//!
//! The specification says x right, y up, z back (RUB). A file may name other axes by the extension
//! SPZ_ADOBE_coordinate_system: type 0xADBE0003, a u32 of 1 to 16. Systems 1 to 8 have x to the
//! left or right, y down or up, z back or front; 9 to 16 are the same after a quarter turn about x.
//! PLY has x right, y down, z front (RDF, 6).
//!
//! Niantic's library calls 9, 10, 15 and 16 LFD, RFD, LBU and RBU, but converts them, both ways, as
//! LBU, RBU, LFD and RFD (@adobe/spz 0.2.3, scripts/check-formats). Its files and viewers count, so
//! here they have those meanings.

use splatcore_core::sh;

/// Type of the extension that names the axes.
pub const EXTENSION: u32 = 0xadbe_0003;

/// Axes that SPZ files are written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// x right, y up, z back: the specification's.
    #[default]
    Rub,
    /// x right, y down, z front: PLY's, which some programs write and expect.
    Rdf,
}

/// Which axes an SPZ file is taken to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpzAxes {
    /// Those that the file names; x right, y up, z back if it names none.
    #[default]
    Auto,
    /// x right, y up, z back, whatever the file says.
    Rub,
    /// x right, y down, z front, whatever the file says.
    Rdf,
}

/// A coordinate system by its number in the extension, 1 to 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System(u32);

impl System {
    pub const RUB: Self = Self(4);
    pub const RDF: Self = Self(6);

    /// The system of a number; 0 stands for none.
    pub fn new(number: u32) -> Option<Self> {
        (1..=16).contains(&number).then_some(Self(number))
    }

    /// The number in the extension.
    pub fn number(self) -> u32 {
        self.0
    }

    /// "x right, y up, z back".
    pub fn words(self) -> String {
        let bits = self.0 - 1;
        let bit = |bit: u32| (bits >> bit & 1) as usize;
        let side = ["left", "right"][bit(0)];
        let [y, z] = match bit(3) {
            0 => [["down", "up"][bit(1)], ["back", "front"][bit(2)]],
            _ => [["back", "front"][bit(1)], ["up", "down"][bit(2)]],
        };
        format!("x {side}, y {y}, z {z}")
    }
}

impl From<Axes> for System {
    fn from(axes: Axes) -> Self {
        match axes {
            Axes::Rub => Self::RUB,
            Axes::Rdf => Self::RDF,
        }
    }
}

/// What takes Gaussians from a system's axes to PLY's. For [`System::RUB`] and [`System::RDF`] it
/// also takes them back.
pub struct Change {
    /// Signs of x, y, z.
    flips: [f32; 3],
    /// Signs of the basis functions.
    signs: [f32; sh::coefficients(sh::MAX_STORED_DEGREE)],
    /// A quarter turn about x, after the flips: (x, y, z) becomes (x, z, -y).
    turn: Option<sh::Rotation>,
}

impl Change {
    pub fn new(from: System) -> Self {
        let bits = from.0 - 1;
        let sign = |bit: u32| if bits >> bit & 1 == 1 { 1.0 } else { -1.0 };
        let flips = [sign(0), -sign(1), sign(2)];
        let quarter = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]];
        Self {
            flips,
            signs: signs(flips),
            turn: (bits & 8 != 0).then(|| sh::Rotation::new(quarter)),
        }
    }

    pub fn mean(&self, mean: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = std::array::from_fn(|c| mean[c] * self.flips[c]);
        match self.turn {
            Some(_) => [x, z, -y],
            None => [x, y, z],
        }
    }

    /// A unit quaternion w, x, y, z. A mirrored Gaussian is one whose own axes are mirrored too, so
    /// its scales stay as they are.
    pub fn rotation(&self, [w, x, y, z]: [f32; 4]) -> [f32; 4] {
        let [a, b, c] = self.flips;
        let [x, y, z] = [x * b * c, y * a * c, z * a * b];
        match self.turn {
            Some(_) => [w + x, x - w, y + z, z - y].map(|v| v * std::f32::consts::FRAC_1_SQRT_2),
            None => [w, x, y, z],
        }
    }

    /// All coefficients of a Gaussian, of any degree.
    pub fn sh(&self, coefficients: &mut [[f32; 3]]) {
        for (coefficient, sign) in coefficients.iter_mut().zip(self.signs) {
            *coefficient = coefficient.map(|v| v * sign);
        }
        if let Some(turn) = &self.turn {
            turn.apply(coefficients);
        }
    }

    /// The sign of coefficient `k`; for changes without a turn.
    pub fn sign(&self, k: usize) -> f32 {
        self.signs[k]
    }
}

/// The sign of each basis function when the axes flip: each is even or odd in x, y and z.
fn signs(flips: [f32; 3]) -> [f32; sh::coefficients(sh::MAX_STORED_DEGREE)] {
    // On a node of no function.
    let direction: [f64; 3] = [0.48, -0.6, 0.64];
    let flipped = std::array::from_fn(|c| direction[c] * f64::from(flips[c]));
    let values = |d| [&sh::basis(d)[..], &sh::basis_4(d)].concat();
    let (before, after) = (values(direction), values(flipped));
    std::array::from_fn(|k| (before[k] * after[k]).signum() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::camera::rotation_from_quaternion;

    /// Where x, y and z of the 16 systems point.
    const NAMES: [&str; 16] = [
        "LDB", "RDB", "LUB", "RUB", "LDF", "RDF", "LUF", "RUF", "LBU", "RBU", "LFU", "RFU", "LBD",
        "RBD", "LFD", "RFD",
    ];

    /// A letter as a direction in PLY's axes.
    fn direction(letter: char) -> [f64; 3] {
        match letter {
            'R' => [1.0, 0.0, 0.0],
            'L' => [-1.0, 0.0, 0.0],
            'D' => [0.0, 1.0, 0.0],
            'U' => [0.0, -1.0, 0.0],
            'F' => [0.0, 0.0, 1.0],
            _ => [0.0, 0.0, -1.0],
        }
    }

    fn matrix(q: [f64; 4]) -> [[f64; 3]; 3] {
        rotation_from_quaternion(q).unwrap()
    }

    fn times(a: [[f64; 3]; 3], b: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        std::array::from_fn(|r| std::array::from_fn(|c| (0..3).map(|k| a[r][k] * b[k][c]).sum()))
    }

    /// R diag(s²) Rᵀ.
    fn covariance(r: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let squares = [0.25, 1.0, 9.0];
        std::array::from_fn(|i| {
            std::array::from_fn(|j| (0..3).map(|k| r[i][k] * squares[k] * r[j][k]).sum())
        })
    }

    fn close(a: [[f64; 3]; 3], b: [[f64; 3]; 3]) -> bool {
        let pairs = a.as_flattened().iter().zip(b.as_flattened());
        pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5)
    }

    /// Means, covariances and colours of every system, against the matrix that its name spells.
    #[test]
    fn every_system_goes_to_plys_axes() {
        let q = [0.5f32, -0.1, 0.7, 0.5];
        let sh: Vec<[f32; 3]> = (0..25)
            .map(|k| [(k as f32 * 0.7).sin(), 0.5, -0.25])
            .collect();
        for (i, name) in NAMES.iter().enumerate() {
            let system = System::new(i as u32 + 1).unwrap();
            let change = Change::new(system);
            let columns: Vec<[f64; 3]> = name.chars().map(direction).collect();
            // Column k is where the file's axis k points.
            let p: [[f64; 3]; 3] = std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r]));
            let of = |v: [f64; 3]| p.map(|row| (0..3).map(|c| row[c] * v[c]).sum::<f64>());
            let mean = change.mean([0.5, -2.0, 3.0]).map(f64::from);
            assert_eq!(mean, of([0.5, -2.0, 3.0]), "{name}");
            let got = covariance(matrix(change.rotation(q).map(f64::from)));
            let want = covariance(times(p, matrix(q.map(f64::from))));
            assert!(close(got, want), "{name}: {got:?} {want:?}");
            let mut turned = sh.clone();
            change.sh(&mut turned);
            let colour = |sh: &[[f32; 3]], d| {
                let values = [&sh::basis(d)[..], &sh::basis_4(d)].concat();
                let terms = sh.iter().zip(values).map(|(k, v)| f64::from(k[0]) * v);
                terms.sum::<f64>()
            };
            for d in [[0.6, 0.0, 0.8], [-0.48, 0.6, 0.64], [0.36, -0.48, -0.8]] {
                let (was, is) = (colour(&sh, d), colour(&turned, of(d)));
                assert!((was - is).abs() < 1e-5, "{name}: {was} {is}");
            }
        }
    }

    #[test]
    fn systems_are_named() {
        for (number, words) in [
            (4, "x right, y up, z back"),
            (6, "x right, y down, z front"),
            (11, "x left, y front, z up"),
            (14, "x right, y back, z down"),
            (16, "x right, y front, z down"),
        ] {
            assert_eq!(System::new(number).unwrap().words(), words);
        }
        assert_eq!((System::new(0), System::new(17)), (None, None));
        assert_eq!(System::from(Axes::Rdf).number(), 6);
    }
}
