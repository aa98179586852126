//! Opacities and scales of Gaussians that are split into equal copies at one place
//! ("3D Gaussian Splatting as Markov Chain Monte Carlo", Kheradmand et al. 2024, equation 9).

use crate::error::{check_len, wrong};
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;

/// Writes what each of `ratios` `[N]` copies of a Gaussian gets: opacities `[N]` and scales
/// `[N, 3]`. `binoms` `[n_max, n_max]` are binomial coefficients; ratios outside 1 to n_max are
/// taken for the nearest of these, as gsplat takes them. Sums are in double precision. A Gaussian
/// of opacity 0 keeps its scales, the limit.
///
/// # Errors
/// A length that does not fit, or no coefficient.
pub fn relocate<F: Real>(
    opacities: &[F],
    scales: &[F],
    ratios: &[i32],
    binoms: &[F],
    new_opacities: &mut [F],
    new_scales: &mut [F],
) -> Result {
    let n = opacities.len();
    check_len("scales", scales, &[n, 3])?;
    check_len("ratios", ratios, &[n])?;
    check_len("new_opacities", new_opacities, &[n])?;
    check_len("new_scales", new_scales, &[n, 3])?;
    let most = binoms.len().isqrt();
    check_len("binoms", binoms, &[most, most])?;
    if most == 0 {
        return wrong("binoms", "of a row or more", "none");
    }
    let rows = new_opacities
        .par_iter_mut()
        .zip(new_scales.as_chunks_mut::<3>().0);
    rows.enumerate()
        .with_min_len(64)
        .each(|(row, (new_opacity, new_scale))| {
            let copies = usize::try_from(ratios[row]).unwrap_or(0).clamp(1, most);
            let opacity = opacities[row].wide();
            let each = 1.0 - (1.0 - opacity).powf(1.0 / copies as f64);
            let sum = denominator(binoms, most, copies, each);
            let factor = if sum == 0.0 { 1.0 } else { opacity / sum };
            *new_opacity = F::of(each);
            (0..3).for_each(|k| new_scale[k] = F::of(factor * scales[3 * row + k].wide()));
        });
    Ok(())
}

/// The sum over i = 1 .. copies and k = 0 .. i - 1 of
/// binom(i - 1, k) (-1)^k opacity^(k + 1) / sqrt(k + 1).
fn denominator<F: Real>(binoms: &[F], most: usize, copies: usize, opacity: f64) -> f64 {
    let mut sum = 0.0;
    for i in 0..copies {
        let mut power = opacity;
        for k in 0..=i {
            sum += binoms[i * most + k].wide() * power / ((k + 1) as f64).sqrt();
            power *= -opacity;
        }
    }
    sum
}
