//! [`Moved`]: Gaussians moved, rotated, scaled.

use super::similarity::Similarity;
use crate::DataError;
use crate::scene::rows::{Extra, Rows};
use splatcore_core::linear::quaternion_product;
use splatcore_core::{Gaussians, sh};

/// Rows whose Gaussians are mapped by a similarity: means, sizes, rotations, and spherical
/// harmonics, so that the scene looks from the mapped cameras as it did before.
pub struct Moved {
    rows: Box<dyn Rows>,
    map: Similarity,
    rotates: bool,
    quaternion: [f64; 4],
    harmonics: sh::Rotation,
}

impl Moved {
    /// Maps the Gaussians of `rows`.
    pub fn new(rows: Box<dyn Rows>, map: Similarity) -> Self {
        Self {
            rows,
            map,
            rotates: map.rotation != Similarity::IDENTITY.rotation,
            quaternion: map.quaternion(),
            harmonics: sh::Rotation::new(map.rotation),
        }
    }
}

impl Rows for Moved {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn sh_degree(&self) -> u8 {
        self.rows.sh_degree()
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        let start = to.len();
        self.rows.gather(which, to)?;
        let log_scale = self.map.scale.ln() as f32;
        for i in start..to.len() {
            to.means[i] = self.map.point(to.means[i].map(f64::from)).map(|v| v as f32);
            to.log_scales[i] = to.log_scales[i].map(|s| s + log_scale);
        }
        if !self.rotates {
            return Ok(());
        }
        for rotation in &mut to.rotations[start..] {
            *rotation =
                quaternion_product(self.quaternion, rotation.map(f64::from)).map(|v| v as f32);
        }
        let k = to.coefficients();
        for coefficients in to.sh[start * k..].chunks_exact_mut(k) {
            self.harmonics.apply(coefficients);
        }
        Ok(())
    }

    fn extras(&self) -> &[Extra] {
        self.rows.extras()
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) -> Result<(), DataError> {
        self.rows.gather_extras(which, to)
    }
}
