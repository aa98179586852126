//! The first pass over the Gaussians: bounds and codebooks.

use super::codebook::{ENTRIES, Histogram};
use crate::DataError;
use crate::scene::opacity::MAX_LOGIT;
use crate::scene::rows::{PIECE, Rows};
use crate::scene::written::{Progress, WriteOptions};
use splatcore_core::Gaussians;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The highest degree that SOG holds.
const MAX_DEGREE: u8 = 3;
/// Larger coefficients mean nothing, and squares of their differences would overflow.
const MAX_COEFFICIENT: f32 = 1e9;

/// Rows as SOG can hold them: degree 3 at most, all values finite. Unsound Gaussians become
/// invisible ones, so that those after them keep their places.
pub struct Sound<'a> {
    rows: &'a dyn Rows,
    unsound: AtomicUsize,
}

impl<'a> Sound<'a> {
    pub fn new(rows: &'a dyn Rows) -> Self {
        Self {
            rows,
            unsound: AtomicUsize::new(0),
        }
    }

    /// What is lost of the Gaussians that were gathered so far.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let unsound = self.unsound.load(Ordering::Relaxed);
        if unsound > 0 {
            notes.push(format!(
                "{unsound} Gaussians with values that are not finite are written as invisible"
            ));
        }
        let degree = self.rows.sh_degree();
        if degree > MAX_DEGREE {
            notes.push(format!(
                "spherical harmonics of degree {degree} are cut to {MAX_DEGREE}: SOG has no \
                 higher ones"
            ));
        }
        notes
    }
}

impl Rows for Sound<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn sh_degree(&self) -> u8 {
        self.rows.sh_degree().min(MAX_DEGREE)
    }

    fn gather(&self, which: &[u32], to: &mut Gaussians) -> Result<(), DataError> {
        let first = to.len();
        if self.rows.sh_degree() > MAX_DEGREE {
            let mut piece = Gaussians::empty(self.rows.sh_degree());
            self.rows.gather(which, &mut piece)?;
            let piece = piece.with_sh_degree(MAX_DEGREE);
            (0..piece.len()).for_each(|i| to.push_from(&piece, i));
        } else {
            self.rows.gather(which, to)?;
        }
        let k = to.coefficients();
        for i in first..to.len() {
            let logit = &mut to.opacity_logits[i];
            if logit.is_infinite() {
                *logit = MAX_LOGIT.copysign(*logit);
            }
            if !to.is_sound(i) {
                self.unsound.fetch_add(1, Ordering::Relaxed);
                to.means[i] = [0.0; 3];
                to.log_scales[i] = [0.0; 3];
                to.rotations[i] = [1.0, 0.0, 0.0, 0.0];
                to.opacity_logits[i] = -MAX_LOGIT;
                to.sh[i * k..(i + 1) * k].fill([0.0; 3]);
            }
            for v in to.sh[i * k..(i + 1) * k].as_flattened_mut() {
                *v = v.clamp(-MAX_COEFFICIENT, MAX_COEFFICIENT);
            }
        }
        Ok(())
    }
}

/// What the whole scene decides of each Gaussian's bytes.
pub struct Survey {
    /// Bounds of [`log`] of the coordinates.
    pub mins: [f64; 3],
    pub maxs: [f64; 3],
    pub scales: [f32; ENTRIES],
    pub colours: [f32; ENTRIES],
}

/// sign(x) ln(1 + |x|).
pub fn log(x: f32) -> f64 {
    let x = f64::from(x);
    x.abs().ln_1p().copysign(x)
}

/// Reads all Gaussians of an order once.
pub fn survey(
    rows: &dyn Rows,
    order: &[u32],
    options: &WriteOptions,
    progress: Progress,
) -> Result<Survey, DataError> {
    let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); 3];
    let (mut scales, mut colours) = (Histogram::new(), Histogram::new());
    let mut piece = Gaussians::empty(rows.sh_degree());
    let mut done = 0;
    for which in order.chunks(PIECE) {
        piece.retain(|_| false);
        rows.gather(which, &mut piece)?;
        for (i, &row) in which.iter().enumerate() {
            let weight = f64::from(options.weight(row));
            for c in 0..3 {
                let at = log(piece.means[i][c]);
                bounds[c] = (bounds[c].0.min(at), bounds[c].1.max(at));
                scales.add(piece.log_scales[i][c], weight);
                colours.add(piece.sh_of(i)[0][c], weight);
            }
        }
        done += which.len();
        progress("surveying", done as u64, order.len() as u64);
    }
    if order.is_empty() {
        bounds = [(0.0, 0.0); 3];
    }
    let (scales, colours) = rayon::join(|| scales.codebook(), || colours.codebook());
    Ok(Survey {
        mins: bounds.map(|b| b.0),
        maxs: bounds.map(|b| b.1),
        scales,
        colours,
    })
}
