//! [`WithDegree`]: another degree of the spherical harmonics.

use crate::DataError;
use crate::scene::rows::{Extra, Rows};
use splatcore_core::{Gaussians, sh};

/// Rows with another degree: higher coefficients are cut, or added as zeros.
pub struct WithDegree {
    rows: Box<dyn Rows>,
    degree: u8,
}

impl WithDegree {
    /// Gives `rows` a degree of 0 to 4.
    pub fn new(rows: Box<dyn Rows>, degree: u8) -> Self {
        Self { rows, degree }
    }
}

impl Rows for WithDegree {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn sh_degree(&self) -> u8 {
        self.degree
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        let mut own = Gaussians::empty(self.rows.sh_degree());
        self.rows.gather(which, &mut own)?;
        let keep = own.coefficients().min(sh::coefficients(self.degree));
        let (start, k) = (to.len(), to.coefficients());
        to.resize(start + own.len());
        to.means[start..].copy_from_slice(&own.means);
        to.log_scales[start..].copy_from_slice(&own.log_scales);
        to.rotations[start..].copy_from_slice(&own.rotations);
        to.opacity_logits[start..].copy_from_slice(&own.opacity_logits);
        for (i, row) in to.sh[start * k..].chunks_exact_mut(k).enumerate() {
            row[..keep].copy_from_slice(&own.sh_of(i)[..keep]);
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
