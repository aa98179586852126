//! The directions from cameras to Gaussians, at which harmonics are evaluated.

use crate::error::{check_len, check_maybe, wrong};
use crate::parallel::{ROWS, Work};
use crate::rows::is_drawn;
use crate::{Real, Result};
use rayon::prelude::*;

/// Gaussians and cameras.
#[derive(Clone, Copy, Debug)]
pub struct Views<'a, F> {
    /// B.
    pub batches: usize,
    /// C.
    pub cameras: usize,
    /// N.
    pub gaussians: usize,
    /// `[B, N, 3]`, in the world.
    pub means: &'a [F],
    /// `[B, C, 4, 4]`, world to camera.
    pub viewmats: &'a [F],
    /// `[B, C, N, 2]`, in pixels.
    pub radii: Option<&'a [i32]>,
}

/// Writes a mean less its camera's centre, `[B, C, N, 3]`, and whether both radii are positive,
/// `[B, C, N]`. The centre is the last column of the inverse of `viewmats`.
///
/// # Errors
/// A length that does not fit, a matrix without an inverse, masks without radii.
pub fn forward<F: Real>(views: &Views<'_, F>, dirs: &mut [F], masks: Option<&mut [u8]>) -> Result {
    let (b, c, n) = (views.batches, views.cameras, views.gaussians);
    check_len("means", views.means, &[b, n, 3])?;
    check_len("viewmats", views.viewmats, &[b, c, 4, 4])?;
    check_maybe("radii", views.radii, &[b, c, n, 2])?;
    check_len("dirs", dirs, &[b, c, n, 3])?;
    check_maybe("masks", masks.as_deref(), &[b, c, n])?;
    let mut centres = Vec::with_capacity(b * c);
    for (camera, viewmat) in views.viewmats.as_chunks::<16>().0.iter().enumerate() {
        match centre(viewmat) {
            Some(centre) => centres.push(centre),
            None => return wrong("viewmats", "invertible", format_args!("camera {camera}")),
        }
    }
    let rows = dirs.as_chunks_mut::<3>().0.par_iter_mut().enumerate();
    rows.with_min_len(ROWS).each(|(row, dir)| {
        let (camera, gaussian) = (row / n, row % n);
        let mean = &views.means[3 * (camera / c * n + gaussian)..][..3];
        *dir = std::array::from_fn(|k| mean[k] - centres[camera][k]);
    });
    match (masks, views.radii) {
        (None, _) => Ok(()),
        (Some(_), None) => wrong("radii", "given with masks", "None"),
        (Some(masks), Some(radii)) => {
            let rows = masks.par_iter_mut().zip(radii.as_chunks::<2>().0);
            rows.with_min_len(ROWS)
                .each(|(mask, radii)| *mask = u8::from(is_drawn(radii)));
            Ok(())
        }
    }
}

/// The first three values of the last column of a matrix's inverse; `None` if it has none.
fn centre<F: Real>(viewmat: &[F; 16]) -> Option<[F; 3]> {
    // By Cramer's rule: cofactors of the last row, over the determinant.
    let cofactors = [0, 1, 2, 3].map(|column| {
        let [x, y, z] = [0, 1, 2].map(|k| k + usize::from(k >= column));
        let at = |row: usize, column: usize| viewmat[4 * row + column];
        let minor = at(0, x) * (at(1, y) * at(2, z) - at(1, z) * at(2, y))
            - at(0, y) * (at(1, x) * at(2, z) - at(1, z) * at(2, x))
            + at(0, z) * (at(1, x) * at(2, y) - at(1, y) * at(2, x));
        if column % 2 == 0 { -minor } else { minor }
    });
    let last = &viewmat[12..];
    let determinant = (0..4).fold(F::zero(), |sum, k| sum + last[k] * cofactors[k]);
    let inverse = determinant.recip();
    let centre = [0, 1, 2].map(|k| cofactors[k] * inverse);
    centre.iter().all(|v| v.is_finite()).then_some(centre)
}
