//! Spherical harmonics as halves, of scenes that are only rendered, and of those that learn so
//! ([`Moments::Small`](crate::Moments::Small)).
//!
//! A Gaussian at SH degree 3 takes 140 bytes so, not 236, and `project` reads 140 for each in view.
//! A half has 11 bits: a colour moves by 1.2e-4 at most for a base coefficient of 1.8 (white or
//! black) and by less for the others, which are smaller; an image by less still, for errors of
//! many Gaussians average out. Everything else stays f32: means and shapes decide where a Gaussian
//! is, and are a fifth of the bytes. Degree 0 stays f32 too: it has nothing to gain.

use half::f16;
use splatcore_core::{Gaussians, sh};

/// Halves of a row, filled up so that rows are whole pieces of 16 bytes.
pub fn row(sh_degree: u8) -> usize {
    (3 * sh::coefficients(sh_degree)).next_multiple_of(8)
}

/// The nearest half; of what is beyond their range the largest there is.
pub fn bits(value: f32) -> u16 {
    f16::from_f32(value.clamp(f16::MIN.into(), f16::MAX.into())).to_bits()
}

/// The number of a half.
pub fn number(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
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
            *half = bits(value);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

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
