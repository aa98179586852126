//! [`Selected`]: some Gaussians, in an order.

use crate::DataError;
use crate::scene::rows::{Extra, Rows, in_pieces};
use splatcore_core::Gaussians;

/// Rows `order[0]`, `order[1]`, and so on, of other rows.
pub struct Selected {
    rows: Box<dyn Rows>,
    order: Vec<u32>,
}

impl Selected {
    /// Selects; every entry of `order` is below `rows.len()`.
    pub fn new(rows: Box<dyn Rows>, order: Vec<u32>) -> Self {
        debug_assert!(order.iter().all(|&i| (i as usize) < rows.len()));
        Self { rows, order }
    }

    fn translated(&self, which: &[u32]) -> Vec<u32> {
        which.iter().map(|&i| self.order[i as usize]).collect()
    }
}

impl Rows for Selected {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn sh_degree(&self) -> u8 {
        self.rows.sh_degree()
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        self.rows.gather(&self.translated(which), to)
    }

    fn extras(&self) -> &[Extra] {
        self.rows.extras()
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) -> Result<(), DataError> {
        self.rows.gather_extras(&self.translated(which), to)
    }
}

/// The rows, in order, for which `keep` holds; it is given a piece and an index in it.
///
/// # Errors
/// If the rows cannot be read.
pub fn matching(
    rows: &dyn Rows,
    mut keep: impl FnMut(&Gaussians, usize) -> bool,
) -> Result<Vec<u32>, DataError> {
    let mut kept = Vec::new();
    in_pieces(rows, |start, piece| {
        let matches = (0..piece.len()).filter(|&i| keep(piece, i));
        kept.extend(matches.map(|i| (start + i) as u32));
        Ok::<(), DataError>(())
    })?;
    Ok(kept)
}
