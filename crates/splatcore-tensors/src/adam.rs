//! Adam without bias correction, in place and only for the rows that were seen: the rule of
//! gsplat's SelectiveAdam and of INRIA's SparseGaussianAdam.

use crate::error::{check_len, check_maybe};
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;

/// Rows that a task takes at least.
const ROWS: usize = 1024;

/// How a step is taken.
#[derive(Clone, Copy, Debug)]
pub struct Rates<F> {
    /// The learning rate.
    pub lr: F,
    /// The decay of the mean of gradients.
    pub b1: F,
    /// The decay of the mean of squared gradients.
    pub b2: F,
    /// Added to the root of the mean square.
    pub eps: F,
}

/// Takes one step of `param` `[n, D]` against `grad` `[n, D]` and updates the means `exp_avg` and
/// `exp_avg_sq` `[n, D]`. Rows whose `valid` `[n]` is 0 stay as they are.
///
/// # Errors
/// A length that does not fit.
pub fn step<F: Real>(
    channels: usize,
    param: &mut [F],
    grad: &[F],
    exp_avg: &mut [F],
    exp_avg_sq: &mut [F],
    valid: Option<&[u8]>,
    rates: &Rates<F>,
) -> Result {
    let n = param.len().checked_div(channels).unwrap_or(0);
    check_len("param", param, &[n, channels])?;
    check_len("grad", grad, &[n, channels])?;
    check_len("exp_avg", exp_avg, &[n, channels])?;
    check_len("exp_avg_sq", exp_avg_sq, &[n, channels])?;
    if channels == 0 {
        return Ok(());
    }
    check_maybe("valid", valid, &[n])?;
    let rows = param.par_chunks_exact_mut(channels);
    let rows = rows.zip(grad.par_chunks_exact(channels));
    let rows = rows.zip(exp_avg.par_chunks_exact_mut(channels));
    let rows = rows.zip(exp_avg_sq.par_chunks_exact_mut(channels));
    rows.enumerate()
        .with_min_len(ROWS)
        .each(|(row, (((param, grad), mean), square))| {
            if valid.is_none_or(|valid| valid[row] != 0) {
                for k in 0..channels {
                    let g = grad[k];
                    mean[k] = rates.b1 * mean[k] + (F::one() - rates.b1) * g;
                    square[k] = rates.b2 * square[k] + (F::one() - rates.b2) * g * g;
                    param[k] -= rates.lr * mean[k] / (square[k].sqrt() + rates.eps);
                }
            }
        });
    Ok(())
}
