//! Colours from real spherical harmonics of degree 0 to 4, with the signs that the field uses
//! (Condon-Shortley; degree 1 is -y, z, -x).

use crate::error::{check_len, check_maybe, wrong};
use crate::parallel::Work;
use crate::{Real, Result};
use rayon::prelude::*;

/// The highest degree.
pub const MAX_DEGREE: u32 = 4;
/// Basis functions of the highest degree.
const FUNCTIONS: usize = 25;
/// Rows that a task takes at least.
const ROWS: usize = 256;

/// Directions and coefficients.
#[derive(Clone, Copy, Debug)]
pub struct Harmonics<'a, F> {
    /// The degree up to which is evaluated, at most 4.
    pub degree: u32,
    /// K: coefficients of each channel, at least (degree + 1)².
    pub coefficients: usize,
    /// D: channels.
    pub channels: usize,
    /// `[n, 3]`, of any length. A direction of length 0 gives the constant part and z² terms.
    pub dirs: &'a [F],
    /// `[n, K, D]`.
    pub coeffs: &'a [F],
    /// `[n]`: rows that are 0 get no colour and no gradient.
    pub masks: Option<&'a [u8]>,
}

impl<F: Real> Harmonics<'_, F> {
    fn check(&self) -> Result<usize> {
        if self.degree > MAX_DEGREE {
            return wrong("degree", "0 to 4", self.degree);
        }
        let needed = self.used();
        if self.coefficients < needed {
            return wrong(
                "coeffs",
                format_args!(
                    "of {needed} or more coefficients for degree {}",
                    self.degree
                ),
                self.coefficients,
            );
        }
        let n = self.dirs.len() / 3;
        check_len("dirs", self.dirs, &[n, 3])?;
        check_len(
            "coeffs",
            self.coeffs,
            &[n, self.coefficients, self.channels],
        )?;
        check_maybe("masks", self.masks, &[n])?;
        Ok(n)
    }

    fn used(&self) -> usize {
        (self.degree as usize + 1).pow(2)
    }

    fn masked(&self, row: usize) -> bool {
        self.masks.is_some_and(|masks| masks[row] == 0)
    }

    /// The unit direction of a row, and 1 / its length.
    fn direction(&self, row: usize) -> ([F; 3], F) {
        let dir = [0, 1, 2].map(|k| self.dirs[3 * row + k]);
        let square = dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2];
        let inverse = match square == F::zero() {
            true => F::zero(),
            false => square.sqrt().recip(),
        };
        (dir.map(|v| v * inverse), inverse)
    }
}

/// Writes sums of harmonics `[n, D]`; with `as_colors` max(sum + 1/2, 0), the colours of Kerbl et
/// al. 2023.
///
/// # Errors
/// A degree above 4, or a length that does not fit.
pub fn forward<F: Real>(input: &Harmonics<'_, F>, as_colors: bool, colors: &mut [F]) -> Result {
    let n = input.check()?;
    let (d, used) = (input.channels, input.used());
    check_len("colors", colors, &[n, d])?;
    if d == 0 {
        return Ok(());
    }
    let rows = colors.par_chunks_exact_mut(d).enumerate();
    rows.with_min_len(ROWS).each(|(row, color)| {
        color.fill(F::zero());
        if !input.masked(row) {
            let basis = basis(input.degree, &input.direction(row).0);
            let coeffs = &input.coeffs[row * input.coefficients * d..][..used * d];
            for (coeff, &weight) in coeffs.chunks_exact(d).zip(&basis) {
                let sums = color.iter_mut().zip(coeff);
                sums.for_each(|(sum, &c)| *sum += weight * c);
            }
        }
        if as_colors {
            let colour = |sum: F| (sum + F::of(0.5)).max(F::zero());
            color.iter_mut().for_each(|sum| *sum = colour(*sum));
        }
    });
    Ok(())
}

/// Gradients of what [`forward`] wrote.
#[derive(Clone, Copy, Debug)]
pub struct Upstream<'a, F> {
    /// `[n, D]`.
    pub v_colors: &'a [F],
    /// `[n, D]`: what was written, if that was with `as_colors`. Where it is 0, no gradient goes
    /// through.
    pub colors: Option<&'a [F]>,
}

impl<F: Real> Upstream<'_, F> {
    /// Of a row's channels.
    fn row(&self, row: usize, channels: usize) -> impl Iterator<Item = F> {
        (row * channels..(row + 1) * channels).map(|i| {
            match self.colors.is_none_or(|colors| colors[i] > F::zero()) {
                true => self.v_colors[i],
                false => F::zero(),
            }
        })
    }
}

/// The gradients of coefficients `[n, K, D]` and directions `[n, 3]` from those of colours
/// `[n, D]`.
///
/// # Errors
/// As [`forward`].
pub fn backward<F: Real>(
    input: &Harmonics<'_, F>,
    upstream: &Upstream<'_, F>,
    v_coeffs: &mut [F],
    v_dirs: Option<&mut [F]>,
) -> Result {
    let n = input.check()?;
    let (d, used) = (input.channels, input.used());
    check_len("v_colors", upstream.v_colors, &[n, d])?;
    check_maybe("colors", upstream.colors, &[n, d])?;
    check_len("v_coeffs", v_coeffs, &[n, input.coefficients, d])?;
    check_maybe("v_dirs", v_dirs.as_deref(), &[n, 3])?;
    if d == 0 {
        v_dirs.into_iter().for_each(|out| out.fill(F::zero()));
        return Ok(());
    }
    let rows = v_coeffs.par_chunks_exact_mut(input.coefficients * d);
    let rows = rows.enumerate().with_min_len(ROWS);
    rows.each(|(row, v_coeff)| {
        v_coeff.fill(F::zero());
        if input.masked(row) {
            return;
        }
        let basis = basis(input.degree, &input.direction(row).0);
        for (out, &weight) in v_coeff.chunks_exact_mut(d).zip(&basis).take(used) {
            let values = out.iter_mut().zip(upstream.row(row, d));
            values.for_each(|(out, v)| *out = weight * v);
        }
    });
    if let Some(v_dirs) = v_dirs {
        let rows = v_dirs.par_chunks_exact_mut(3).enumerate();
        rows.with_min_len(ROWS).each(|(row, v_dir)| {
            v_dir.copy_from_slice(&direction_gradient(input, upstream, row));
        });
    }
    Ok(())
}

/// The gradient of a row's direction.
fn direction_gradient<F: Real>(
    input: &Harmonics<'_, F>,
    upstream: &Upstream<'_, F>,
    row: usize,
) -> [F; 3] {
    let mut v_unit = [F::zero(); 3];
    if input.masked(row) || input.degree == 0 {
        return v_unit;
    }
    let (d, used) = (input.channels, input.used());
    let (unit, inverse) = input.direction(row);
    let slopes = slopes(input.degree, &unit);
    let coeffs = &input.coeffs[row * input.coefficients * d..][..used * d];
    for (coeff, slope) in coeffs.chunks_exact(d).zip(&slopes) {
        let pairs = coeff.iter().zip(upstream.row(row, d));
        let v_basis = pairs.fold(F::zero(), |sum, (&c, v)| sum + c * v);
        (0..3).for_each(|k| v_unit[k] += v_basis * slope[k]);
    }
    let radial = (0..3).fold(F::zero(), |sum, k| sum + v_unit[k] * unit[k]);
    std::array::from_fn(|k| (v_unit[k] - radial * unit[k]) * inverse)
}

// The factors of the basis functions, named by degree and order.
const N00: f64 = 0.282_094_791_773_878_14;
const N1: f64 = 0.488_602_511_902_919_9;
const N20: f64 = 0.315_391_565_252_520_05;
const N21: f64 = 1.092_548_430_592_079_2;
const N22: f64 = 0.546_274_215_296_039_6;
const N30: f64 = 0.373_176_332_590_115_4;
const N31: f64 = 0.457_045_799_464_465_8;
const N32: f64 = 1.445_305_721_320_277;
const N33: f64 = 0.590_043_589_926_643_5;
const N40: f64 = 0.105_785_546_915_204_31;
const N41: f64 = 0.669_046_543_557_289_2;
const N42: f64 = 0.473_087_347_878_780_04;
const N43: f64 = 1.770_130_769_779_930_4;
const N44: f64 = 0.625_835_735_449_176_1;

/// The factor of each basis function times its polynomial of z alone, which goes with
/// Re or Im (x + i y)^m; and the derivative of that polynomial by z. One entry for m = 0, .. 4 of a
/// degree.
fn zonal<F: Real>(degree: usize, z: F) -> [[F; 2]; 5] {
    let f = F::of;
    let z2 = z * z;
    let zero = [F::zero(); 2];
    match degree {
        0 => [[f(N00), F::zero()], zero, zero, zero, zero],
        1 => [[f(N1) * z, f(N1)], [f(-N1), F::zero()], zero, zero, zero],
        2 => [
            [f(N20) * (f(3.0) * z2 - F::one()), f(6.0 * N20) * z],
            [f(-N21) * z, f(-N21)],
            [f(N22), F::zero()],
            zero,
            zero,
        ],
        3 => [
            [
                f(N30) * z * (f(5.0) * z2 - f(3.0)),
                f(N30) * (f(15.0) * z2 - f(3.0)),
            ],
            [f(-N31) * (f(5.0) * z2 - F::one()), f(-10.0 * N31) * z],
            [f(N32) * z, f(N32)],
            [f(-N33), F::zero()],
            zero,
        ],
        _ => [
            [
                f(N40) * ((f(35.0) * z2 - f(30.0)) * z2 + f(3.0)),
                f(N40) * z * (f(140.0) * z2 - f(60.0)),
            ],
            [
                f(-N41) * z * (f(7.0) * z2 - f(3.0)),
                f(-N41) * (f(21.0) * z2 - f(3.0)),
            ],
            [f(N42) * (f(7.0) * z2 - F::one()), f(14.0 * N42) * z],
            [f(-N43) * z, f(-N43)],
            [f(N44), F::zero()],
        ],
    }
}

/// Re and Im of (x + i y)^m for m = 0, .. 4.
fn powers<F: Real>(x: F, y: F) -> [[F; 2]; 5] {
    let mut out = [[F::one(), F::zero()]; 5];
    for m in 1..5 {
        let [re, im] = out[m - 1];
        out[m] = [x * re - y * im, x * im + y * re];
    }
    out
}

/// The basis functions up to a degree at a unit direction; the others are 0.
fn basis<F: Real>(degree: u32, dir: &[F; 3]) -> [F; FUNCTIONS] {
    let powers = powers(dir[0], dir[1]);
    let mut out = [F::zero(); FUNCTIONS];
    for l in 0..=degree as usize {
        let zonal = zonal(l, dir[2]);
        let middle = l * (l + 1);
        for m in 0..=l {
            out[middle + m] = zonal[m][0] * powers[m][0];
            if m > 0 {
                out[middle - m] = zonal[m][0] * powers[m][1];
            }
        }
    }
    out
}

/// The derivatives of the polynomials of [`basis`] by x, y and z.
fn slopes<F: Real>(degree: u32, dir: &[F; 3]) -> [[F; 3]; FUNCTIONS] {
    let powers = powers(dir[0], dir[1]);
    let mut out = [[F::zero(); 3]; FUNCTIONS];
    for l in 0..=degree as usize {
        let zonal = zonal(l, dir[2]);
        let middle = l * (l + 1);
        out[middle][2] = zonal[0][1];
        for m in 1..=l {
            // d (x + i y)^m = m (x + i y)^(m - 1) (dx + i dy).
            let times = zonal[m][0] * F::of(m as f64);
            let [re, im] = powers[m - 1].map(|v| v * times);
            out[middle + m] = [re, -im, zonal[m][1] * powers[m][0]];
            out[middle - m] = [im, re, zonal[m][1] * powers[m][1]];
        }
    }
    out
}
