//! [`Selected`]: some Gaussians, in an order.

use crate::scene::rows::{Extra, Rows, in_pieces};
use splatcore_core::Gaussians;
use std::convert::Infallible;

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

    fn gather(&self, which: &[u32], to: &mut Gaussians) {
        self.rows.gather(&self.translated(which), to);
    }

    fn extras(&self) -> &[Extra] {
        self.rows.extras()
    }

    fn gather_extras(&self, which: &[u32], to: &mut Vec<u8>) {
        self.rows.gather_extras(&self.translated(which), to);
    }
}

/// The rows, in order, for which `keep` holds; it is given a piece and an index in it.
pub fn matching(rows: &dyn Rows, mut keep: impl FnMut(&Gaussians, usize) -> bool) -> Vec<u32> {
    let mut kept = Vec::new();
    let Ok(()) = in_pieces(rows, |start, piece| {
        let matches = (0..piece.len()).filter(|&i| keep(piece, i));
        kept.extend(matches.map(|i| (start + i) as u32));
        Ok::<(), Infallible>(())
    });
    kept
}
