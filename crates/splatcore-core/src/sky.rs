//! The sky: a background at infinity whose colour is a function of the direction alone. It is
//! learned with the scene, so that nothing near has to stand where photos show the sky.
//!
//! A pixel of transmittance T gets `T colour(d)` on top of what the scene and its plain background
//! gave it, with d the unit direction of the pixel's ray in world axes and
//!
//! ```text
//! colour(d) = 0.5 + sum over k of Y_k(d) c_k        c_k: red, green, blue
//! ```
//!
//! where Y are the real spherical harmonics of Gaussians ([`crate::sh`]), of the same degree, 3:
//! every backend, shader and file has them. The sum is not clamped, so that its gradients never
//! vanish.

use crate::camera::dot;
use crate::colour::ColourTable;
use crate::{Camera, sh};

/// Degree of the harmonics.
pub const DEGREE: u8 = 3;
/// Coefficients of each channel.
pub const COEFFICIENTS: usize = sh::coefficients(DEGREE);
/// What is learned: a row of a [`ColourTable`].
pub const NUMBERS: usize = 3 * COEFFICIENTS;

/// A sky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sky {
    /// c of the module's documentation.
    pub coefficients: [[f32; 3]; COEFFICIENTS],
}

impl Sky {
    /// The one that a learner knows, if it has learned one.
    pub fn of(table: &ColourTable) -> Option<Self> {
        let (rows, _) = table.row(0).as_chunks::<3>();
        let coefficients = rows.try_into().ok()?;
        Some(Self { coefficients })
    }

    /// The colour in a unit direction, world axes.
    pub fn colour(&self, direction: [f64; 3]) -> [f64; 3] {
        let basis = sh::basis(direction);
        std::array::from_fn(|c| {
            let terms = self.coefficients.iter().zip(basis);
            0.5 + terms.map(|(row, y)| f64::from(row[c]) * y).sum::<f64>()
        })
    }

    /// The same sky over a world that was turned: `rotation` maps old world axes to new ones.
    pub fn turned(&self, rotation: [[f64; 3]; 3]) -> Self {
        let mut turned = *self;
        sh::Rotation::new(rotation).apply(&mut turned.coefficients);
        turned
    }

    /// Whether all numbers are finite.
    pub fn is_sound(&self) -> bool {
        let numbers = self.coefficients.as_flattened();
        numbers.iter().all(|number| number.is_finite())
    }
}

/// What a step learns of the sky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkyPlan {
    /// Adam's rate of the coefficients.
    pub rate: f32,
}

/// What a learner knows of a sky at the start: grey.
pub fn fresh() -> ColourTable {
    ColourTable::fresh(1, &[0.0; NUMBERS])
}

/// Whether this is the state of a sky, or of none.
pub fn is_state(table: &ColourTable) -> bool {
    table.rows() == 0 || table.has_shape(1, NUMBERS)
}

/// Directions of the rays of all pixels of a camera, in its own axes (of a rolling shutter those in
/// the middle of the read-out): they are the same wherever it stands.
#[derive(Clone, Debug, Default)]
pub struct Rays {
    camera: Option<Camera>,
    /// `[height * width]`, unit length; zero where the lens forms no image.
    pub directions: Vec<[f32; 3]>,
}

impl Rays {
    /// Of this camera; nothing is computed for one that differs from the last in its pose alone.
    /// Returns whether they are others now.
    pub fn follow(&mut self, camera: &Camera) -> bool {
        let known = self.camera.as_ref();
        let same =
            |known: &Camera| known.same_intrinsics(camera) && known.shutter == camera.shutter;
        if known.is_some_and(same) {
            return false;
        }
        let pixels = (0..camera.height).flat_map(|y| (0..camera.width).map(move |x| [x, y]));
        self.directions.clear();
        self.directions
            .extend(pixels.map(|at| own_direction(camera, at).map(|v| v as f32)));
        self.camera = Some(camera.clone());
        true
    }
}

/// The direction of a pixel's ray in world axes; zero where the lens forms no image.
pub fn direction(camera: &Camera, pixel: [u32; 2]) -> [f64; 3] {
    let own = own_direction(camera, pixel);
    let axes = &camera.rotation;
    std::array::from_fn(|i| dot([axes[0][i], axes[1][i], axes[2][i]], own))
}

fn own_direction(camera: &Camera, pixel: [u32; 2]) -> [f64; 3] {
    let pixel = pixel.map(|v| f64::from(v) + 0.5);
    let direction = camera.direction(pixel).unwrap_or_default();
    match &camera.shutter {
        None => direction,
        Some(shutter) => shutter.turned_back(camera.time(pixel), direction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;
    use crate::shutter::Readout;

    fn sky() -> Sky {
        let mut rng = Rng::new(4, 1);
        Sky {
            coefficients: [(); COEFFICIENTS].map(|()| [(); 3].map(|()| rng.normal())),
        }
    }

    /// Wherever the camera stands, and whichever way it is turned, a place at infinity keeps its
    /// colour.
    #[test]
    fn a_direction_has_one_colour() {
        let sky = sky();
        let up = [0.1, -1.0, 0.0];
        let target = [5e9, -2e9, 7e9];
        let colours = [[0.0; 3], [-30.0, 4.0, -9.0]].map(|eye| {
            let camera = Camera::look_at(eye, [1.0, 0.0, 1.5], up, 1.4, 640, 480);
            let pixel = camera.project(target).unwrap();
            assert!(camera.inside(pixel));
            sky.colour(direction(&camera, pixel.map(|v| v as u32)))
        });
        for c in 0..3 {
            // A pixel is up to 3 mrad wide, in which this sky changes by some hundredths.
            assert!((colours[0][c] - colours[1][c]).abs() < 0.1, "{colours:?}");
        }
    }

    /// Each row sees the sky as a camera that stands still in the row's pose does.
    #[test]
    fn a_rolling_shutter_sees_the_sky_of_each_row() {
        let [first, last] = [[0.0, 0.0, 9.0], [1.0, 0.5, 9.0]]
            .map(|target| Camera::look_at([0.0; 3], target, [0.1, -1.0, 0.0], 0.8, 64, 48));
        let moving = Camera::rolling(&first, &last, Readout::TopToBottom);
        for pixel in [[3, 0], [60, 20], [31, 47]] {
            let still = moving.at_pixel(pixel.map(|v| f64::from(v) + 0.5));
            let (seen, want) = (direction(&moving, pixel), direction(&still, pixel));
            assert!(
                (0..3).all(|i| (seen[i] - want[i]).abs() < 1e-12),
                "{seen:?} {want:?}"
            );
        }
        let mut rays = Rays::default();
        assert!(rays.follow(&moving) && !rays.follow(&moving) && rays.follow(&first));
    }

    #[test]
    fn a_turned_world_has_a_turned_sky() {
        let (sky, turn) = (sky(), [[0.0, -0.6, 0.8], [1.0, 0.0, 0.0], [0.0, 0.8, 0.6]]);
        let turned = sky.turned(turn);
        let before = [0.48, 0.6, -0.64];
        let after = turn.map(|row| dot(row, before));
        let [want, got] = [sky.colour(before), turned.colour(after)];
        for c in 0..3 {
            assert!((want[c] - got[c]).abs() < 1e-5, "{want:?} {got:?}");
        }
    }

    #[test]
    fn a_state_is_a_row_of_all_numbers() {
        assert!(is_state(&fresh()) && is_state(&ColourTable::default()));
        assert!(!is_state(&ColourTable::fresh(2, &[0.0; NUMBERS])));
        assert!(!is_state(&ColourTable::fresh(1, &[0.0; 3])));
        let grey = Sky::of(&fresh()).unwrap();
        assert_eq!(grey.colour([0.0, 0.0, 1.0]), [0.5; 3]);
        assert_eq!(Sky::of(&ColourTable::default()), None);
    }
}
