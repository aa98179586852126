//! Spherical harmonics as halves, for scenes that are only rendered.
//!
//! A Gaussian at SH degree 3 takes 140 bytes so, not 236, and `project` reads 140 for each in view.
//! A half has 11 bits: a colour moves by 1.2e-4 at most for a base coefficient of 1.8 (white or
//! black) and by less for the others, which are smaller; an image by less still, for errors of
//! many Gaussians average out. Everything else stays f32: means and shapes decide where a Gaussian
//! is, and are a fifth of the bytes. Degree 0 stays f32 too: it has nothing to gain.

use splatcore_core::{Gaussians, sh};

/// Largest half.
const MAX: f32 = 65504.0;

/// Halves of a row, filled up so that rows are whole pieces of 16 bytes.
pub fn row(sh_degree: u8) -> usize {
    (3 * sh::coefficients(sh_degree)).next_multiple_of(8)
}

/// The harmonics in rows of halves; what is beyond their range becomes the largest there is.
pub fn harmonics(scene: &Gaussians) -> Vec<u16> {
    let row = row(scene.sh_degree);
    let mut rows = vec![0u16; row * scene.len()];
    for (to, from) in rows
        .chunks_exact_mut(row)
        .zip(scene.sh.chunks_exact(scene.coefficients()))
    {
        for (half, &value) in to.iter_mut().zip(from.as_flattened()) {
            *half = nearest(value.clamp(-MAX, MAX));
        }
    }
    rows
}

/// The nearest half, of two as near the even one, of a value within their range.
fn nearest(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Below 2^-14 a half is a multiple of 2^-24: adding 2^-1 to the magnitude, an f32 whose last
    // bit is worth that, rounds.
    if magnitude < (127 - 14) << 23 {
        let shifted = f32::from_bits(magnitude) + 0.5;
        return sign | (shifted.to_bits() - 0.5f32.to_bits()) as u16;
    }
    // Thirteen bits fewer: half of their unit, less a little for the even ones, so that they keep
    // what lies half-way.
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a finite half.
    fn value(half: u16) -> f64 {
        let (exponent, fraction) = ((half >> 10 & 31) as i32, (half & 0x3ff) as f64);
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-24),
            _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        if half & 0x8000 == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    #[test]
    fn every_half_comes_back_and_what_lies_between_goes_to_the_nearest() {
        for half in 0..0x7c00u16 {
            let at = value(half);
            assert_eq!(nearest(at as f32), half);
            assert_eq!(nearest(-at as f32), half | 0x8000);
            if half == 0x7bff {
                break;
            }
            let middle = (at + value(half + 1)) / 2.0;
            assert_eq!(nearest(middle as f32), half + half % 2, "{middle}");
            assert_eq!(nearest((middle as f32).next_down()), half);
            assert_eq!(nearest((middle as f32).next_up()), half + 1);
        }
    }

    #[test]
    fn rows_are_whole_pieces() {
        assert_eq!([1, 2, 3].map(row), [16, 32, 48]);
        let mut scene = Gaussians::zeros(2, 1);
        scene.sh[4] = [1.0, -2.0, 1e9];
        let rows = harmonics(&scene);
        assert_eq!(rows.len(), 32);
        assert_eq!(rows[16..20], [0x3c00, 0xc000, 0x7bff, 0]);
    }
}
